/* SPDX-License-Identifier: MIT */
/*
 * calibrate.c - measures this machine (target/host_calibration.h), in about a
 * second. Two ways of doing something are timed in turns, so that other
 * processes disturb both.
 *
 * 256 or 512 bits: some CPUs lower their frequency for wide multiplications.
 * It takes them a fraction of a millisecond, so a chain of fma runs for longer
 * than that before its rate counts.
 *
 * Non-temporal stores: a result is written again and again. While it fits the
 * cache, with what it is computed from, cached stores are faster
 * (run/store_threshold.h).
 */
#include <math.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fpenv.h"
#include "jit.h"
#include "run/roof.h"
#include "run/store_threshold.h"
#include "run/team.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static double min_of(double a, double b)
{
    return a < b ? a : b;
}

#if defined(__x86_64__)

/* -- Width ----------------------------------------------------------------- */

enum { CHAINS = 10, WIDTH_STEPS = 1 << 17, WIDTH_ROUNDS = 24, SETTLING = 4 };

/* Chains of fma; returns a number that depends on all. */
#define DEFINE_CHAINS(BITS, ATTRIBUTE, VECTOR, SET1, FMA, FIRST) \
    ATTRIBUTE static float chains_##BITS(void) \
    { \
        VECTOR chain[CHAINS]; \
        const VECTOR a = SET1(0.5F), b = SET1(1.0F); \
        for (int i = 0; i < CHAINS; i++) \
            chain[i] = SET1((float)i); \
        for (int step = 0; step < WIDTH_STEPS; step++) { \
            _Pragma("GCC unroll 10") for (int i = 0; i < CHAINS; i++) \
                chain[i] = FMA(chain[i], a, b); \
        } \
        for (int i = 1; i < CHAINS; i++) \
            chain[0] = FMA(chain[i], a, chain[0]); \
        return FIRST(chain[0]); \
    }

DEFINE_CHAINS(256, __attribute__((target("avx2,fma"))), __m256, _mm256_set1_ps,
              _mm256_fmadd_ps, _mm256_cvtss_f32)
DEFINE_CHAINS(512, __attribute__((target("avx512f"))), __m512, _mm512_set1_ps,
              _mm512_fmadd_ps, _mm512_cvtss_f32)

static volatile float sink; /* so that no work is dead */

/* Nanoseconds of chains after the frequency has settled. */
static double time_chains(float (*chains)(void))
{
    double best = HUGE_VAL;
    for (int i = 0; i < WIDTH_ROUNDS; i++) {
        const uint64_t begin = tgi_clock_ns();
        sink = chains();
        if (i >= SETTLING)
            best = min_of(best, (double)(tgi_clock_ns() - begin));
    }
    return best;
}

/* 512 bits must be faster by more than noise. */
static void measure_width(tgi_calibration *c)
{
    enum { MIN_PERCENT = 105 };
    if (!__builtin_cpu_supports("avx512f"))
        return;
    const double wide = time_chains(chains_512);
    const double narrow = time_chains(chains_256);
    /* A step of 512 bits does twice the work. */
    c->wide_percent = (int64_t)(200 * narrow / wide);
    if (c->wide_percent > 1000)
        c->wide_percent = 1000;
    c->vector_bits = c->wide_percent >= MIN_PERCENT ? 512 : 256;
}

/* -- Memory ---------------------------------------------------------------- */

#define MIN_RESULT_BYTES ((size_t)512 << 10)
#define MAX_RESULT_BYTES (MIN_RESULT_BYTES << (N_STORE_SIZES - 1))
enum { STORE_ROUNDS = 11, N_STORE_SIZES = 8 };

/* y = a x, by pairs of cache lines, and with prefetches as compiled code has
   them: a stream of stores is written line by line, while others wait. */
__attribute__((target("avx2"))) static void
scale(float *y, const float *x, size_t n, bool is_non_temporal)
{
    enum { LANES = 8, GROUP = 4, AHEAD = 16 * GROUP * LANES };
    const __m256 a = _mm256_set1_ps(0.5F);
    for (size_t i = 0; i < n; i += GROUP * LANES) {
        __m256 product[GROUP];
        __builtin_prefetch(x + i + AHEAD);
        __builtin_prefetch(x + i + AHEAD + 2 * LANES);
        for (int k = 0; k < GROUP; k++)
            product[k] = _mm256_mul_ps(a, _mm256_load_ps(x + i + k * LANES));
        for (int k = 0; k < GROUP; k++)
            if (is_non_temporal)
                _mm256_stream_ps(y + i + k * LANES, product[k]);
            else
                _mm256_store_ps(y + i + k * LANES, product[k]);
    }
    _mm_sfence();
}

static double time_scale(float *y, const float *x, size_t n,
                         bool is_non_temporal)
{
    const size_t n_runs = MAX_RESULT_BYTES / 4 / (n * sizeof(*x)) + 1;
    const uint64_t begin = tgi_clock_ns();
    for (size_t i = 0; i < n_runs; i++)
        scale(y, x, n, is_non_temporal);
    return (double)(tgi_clock_ns() - begin) / (double)n_runs;
}

/* Per cent of the time of cached stores that non-temporal ones take: the median
   of rounds, each of which has both. */
static double compare_stores(float *y, const float *x, size_t bytes)
{
    double percent[STORE_ROUNDS];
    const size_t n = bytes / sizeof(*x);
    for (int round = 0; round < STORE_ROUNDS; round++) {
        const double cached = time_scale(y, x, n, false);
        percent[round] = 100 * time_scale(y, x, n, true) / cached;
    }
    return tgi_median_of(percent, STORE_ROUNDS);
}

static void measure_stores(tgi_calibration *c, float *y, const float *x)
{
    double percent[N_STORE_SIZES];
    for (int i = 0; i < N_STORE_SIZES; i++)
        percent[i] = compare_stores(y, x, MIN_RESULT_BYTES << i);
    c->non_temporal_bytes = tgi_store_threshold(percent, N_STORE_SIZES,
                                                (int64_t)MIN_RESULT_BYTES);
}

/* Makes a random cycle of the cache lines of an array: each has the address of
   the next one. */
static void make_cycle(void **array, size_t n_lines)
{
    enum { LINE = 64 / sizeof(void *) };
    uint64_t state = 1;
    for (size_t i = 0; i < n_lines; i++)
        array[i * LINE] = &array[i * LINE];
    for (size_t i = n_lines - 1; i > 0; i--) { /* Sattolo's shuffle */
        state = state * 6364136223846793005u + 1442695040888963407u;
        const size_t k = (size_t)(state >> 33) % i;
        void *next = array[i * LINE];
        array[i * LINE] = array[k * LINE];
        array[k * LINE] = next;
    }
}

/* Nanoseconds to follow the cycle of an array of so many bytes by a line. */
static double time_line(void **array, size_t bytes)
{
    enum { HOPS = 1 << 15, ROUNDS = 5 };
    void *volatile end;
    double best = HUGE_VAL;
    make_cycle(array, bytes / 64);
    for (int round = 0; round < ROUNDS; round++) {
        void **at = array;
        const uint64_t begin = tgi_clock_ns();
        for (int i = 0; i < HOPS; i++)
            at = *at;
        end = at;
        best = min_of(best, (double)(tgi_clock_ns() - begin) / HOPS);
    }
    (void)end;
    return best;
}

/* The largest array whose lines are, on the average, closer to those of one
   that certainly fits L2 than to those of one that does not. */
static void measure_l2(tgi_calibration *c, void **array)
{
    enum { FIRST = 128 << 10, LAST = 4 << 20, BEYOND = 6 << 20 };
    const double near = time_line(array, FIRST);
    const double middle = (near + time_line(array, BEYOND)) / 2;
    int64_t fits = FIRST;
    for (size_t bytes = FIRST; bytes <= LAST; bytes *= 2)
        for (size_t size = bytes; size < 2 * bytes; size += bytes / 2) {
            if (time_line(array, size) > middle) {
                c->l2_bytes = middle > 2 * near ? fits : 0;
                return;
            }
            fits = (int64_t)size;
        }
}

static void measure_memory(tgi_calibration *c)
{
    /* No load has the same distance from a page as the next store. */
    const size_t gap = 1984, n = MAX_RESULT_BYTES / sizeof(float) + gap / 4;
    const size_t total = 2 * n * sizeof(float);
    float *x = tgi_buffer_alloc(total);
    if (!x || !__builtin_cpu_supports("avx2")) {
        if (x)
            tgi_buffer_free(x, total);
        return;
    }
    for (size_t i = 0; i < 2 * n; i++)
        x[i] = 1;
    measure_stores(c, x + n, x);
    measure_l2(c, (void **)(void *)x);
    tgi_buffer_free(x, total);
}

#else /* not x86-64 */

static void measure_width(tgi_calibration *c)
{
    (void)c;
}

static void measure_memory(tgi_calibration *c)
{
    (void)c;
}

#endif

/* -- Teams ----------------------------------------------------------------- */

enum { BARRIERS = 64, TEAM_ROUNDS = 2000 };

static void do_nothing(tgi_frame *frame, int64_t thread, int64_t n_threads)
{
    (void)frame, (void)thread, (void)n_threads;
}

static void wait_often(tgi_frame *frame, int64_t thread, int64_t n_threads)
{
    (void)thread, (void)n_threads;
    for (int i = 0; i < BARRIERS; i++)
        frame->barrier(frame);
}

/* Nanoseconds of a run of a team, at best over batches of a few: a single one
   may be disturbed, and the best single one is luck. */
static double time_team(tgi_entry *entry, int n_threads, int n_rounds)
{
    enum { BATCH = 20 };
    tgi_frame frame = {.buffers = NULL};
    double best = HUGE_VAL;
    for (int i = 0; i < n_rounds; i += BATCH) {
        const uint64_t begin = tgi_clock_ns();
        for (int k = 0; k < BATCH; k++)
            tgi_team_run(entry, &frame, n_threads);
        best = min_of(best, (double)(tgi_clock_ns() - begin) / BATCH);
    }
    return best;
}

static void measure_team(tgi_calibration *c)
{
    const int n_threads = tgi_team_size(0);
    if (n_threads < 2)
        return;
    const double start = time_team(do_nothing, n_threads, TEAM_ROUNDS);
    const double waits = time_team(wait_often, n_threads, TEAM_ROUNDS / 10);
    c->team_ns = (int64_t)fmax(start, 1);
    c->barrier_ns = (int64_t)fmax((waits - start) / BARRIERS, 1);
}

/* -- Entry point ----------------------------------------------------------- */

static int64_t megabytes(double bytes)
{
    return (int64_t)(bytes / 1e6);
}

void tgi_calibrate(tgi_calibration *out, int *out_n_cpus)
{
    enum { L2 = 1, MEMORY = TGI_ROOF_LEVELS - 1 };
    const uint32_t mode = tgi_fpenv_begin();
    *out = (tgi_calibration){0};
    *out_n_cpus = tgi_team_size(0);
    measure_width(out);
    measure_memory(out);
    measure_team(out);
    tgi_fpenv_end(mode);
    const tgi_roof *roof = tgi_roof_get();
    out->l2_bandwidth = megabytes(roof->teams[0].bandwidth[L2]);
    out->l2_bandwidth_team = megabytes(roof->teams[1].bandwidth[L2]);
    out->memory_bandwidth = megabytes(roof->teams[0].bandwidth[MEMORY]);
    out->memory_bandwidth_team = megabytes(roof->teams[1].bandwidth[MEMORY]);
}

int tgi_calibration_cpus(void)
{
    return tgi_team_size(0);
}

/* SPDX-License-Identifier: MIT */
/*
 * roof.c - see roof.h. Both measurements run on a team, as kernels do: y += a x
 * over arrays of several sizes, which loads two elements and stores one, and
 * independent chains of fma in registers. Each thread times itself, and its
 * best round counts, so that other processes disturb little.
 */
#include "run/roof.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/at_fork.h"
#include "base/clock.h"
#include "run/team.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    CHAINS = 12,             /* of fma: latency times ports, or more */
    FMA_ROUNDS = 1 << 15,    /* of CHAINS */
    BANDWIDTH_BYTES = 1 << 25, /* of a round; small arrays are repeated */
    ROUNDS = 12,
    MAX_ROUNDS = 5 * ROUNDS
};

/* -- Loops ----------------------------------------------------------------- */

/* y += a x over n elements, a multiple of 16; returns a number that depends on
   the chains. */
typedef struct loops {
    void (*axpy)(float *y, const float *x, ptrdiff_t n);
    float (*fma)(void);
    int lanes;
} loops;

/* The loops for a vector type, given its intrinsics. */
#define DEFINE_LOOPS(NAME, ATTRIBUTE, VECTOR, LANES, SET1, LOAD, STORE, FMA, \
                     FIRST) \
    ATTRIBUTE static void axpy_##NAME(float *y, const float *x, ptrdiff_t n) \
    { \
        const VECTOR a = SET1(1e-9F); \
        for (ptrdiff_t i = 0; i < n; i += (LANES)) \
            STORE(y + i, FMA(a, LOAD(x + i), LOAD(y + i))); \
    } \
    ATTRIBUTE static float fma_##NAME(void) \
    { \
        VECTOR chain[CHAINS]; \
        const VECTOR a = SET1(0.5F), b = SET1(1.0F); \
        for (int i = 0; i < CHAINS; i++) \
            chain[i] = SET1((float)i); \
        for (int round = 0; round < FMA_ROUNDS; round++) { \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) \
                chain[i] = FMA(chain[i], a, b); \
        } \
        for (int i = 1; i < CHAINS; i++) \
            chain[0] = FMA(chain[i], a, chain[0]); \
        return FIRST(chain[0]); \
    }

#define PLAIN(x) (x)
#define LOAD_ELEMENT(address) (*(address))
#define STORE_ELEMENT(address, value) (*(address) = (value))
DEFINE_LOOPS(plain, , float, 1, PLAIN, LOAD_ELEMENT, STORE_ELEMENT, fmaf,
             PLAIN)

#if defined(__x86_64__)
DEFINE_LOOPS(avx2, __attribute__((target("avx2,fma"))), __m256, 8,
             _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps,
             _mm256_fmadd_ps, _mm256_cvtss_f32)
DEFINE_LOOPS(avx512, __attribute__((target("avx512f"))), __m512, 16,
             _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps,
             _mm512_fmadd_ps, _mm512_cvtss_f32)
#endif

static loops choose_loops(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return (loops){axpy_avx512, fma_avx512, 16};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (loops){axpy_avx2, fma_avx2, 8};
#endif
    return (loops){axpy_plain, fma_plain, 1};
}

/* -- Teams ----------------------------------------------------------------- */

typedef struct job {
    tgi_frame frame; /* first: its address is that of the job */
    loops loops;
    int level; /* -1: the chains of fma */
    float *memory;
    ptrdiff_t n; /* elements of one array of one thread */
    int n_repetitions;
    uint64_t *best_ns; /* by thread */
    _Atomic float sum; /* so that no work is dead */
} job;

static void run_job(tgi_frame *frame, int64_t thread, int64_t n_threads)
{
    job *j = (job *)frame;
    (void)n_threads;
    float *y = j->memory + 2 * thread * j->n;
    const uint64_t begin = tgi_clock_ns();
    if (j->level < 0)
        j->sum = j->loops.fma();
    for (int i = 0; i < j->n_repetitions; i++)
        j->loops.axpy(y, y + j->n, j->n);
    const uint64_t ns = tgi_clock_ns() - begin;
    if (ns < j->best_ns[thread])
        j->best_ns[thread] = ns;
}

static bool have_all_run(const job *j, int n_threads)
{
    int n = 0;
    while (n < n_threads && j->best_ns[n] != UINT64_MAX)
        n++;
    return n == n_threads;
}

/* The rate of a team whose threads do so much work in a round. While other
   calls use the threads, a team may have fewer than wanted: such rounds are
   repeated. */
static double measure(job *j, int n_threads, double work)
{
    double rate = 0;
    for (int t = 0; t < n_threads; t++)
        j->best_ns[t] = UINT64_MAX;
    for (int round = 0;
         round < ROUNDS ||
         (round < MAX_ROUNDS && !have_all_run(j, n_threads));
         round++)
        tgi_team_run(run_job, &j->frame, n_threads);
    for (int t = 0; t < n_threads; t++)
        rate += 1e9 * work / ((double)j->best_ns[t] + 1);
    return rate;
}

static void measure_team(tgi_roof *roof, tgi_roof_team *team, job *j)
{
    j->level = -1;
    j->n = j->n_repetitions = 0;
    team->flops = measure(j, team->n_threads,
                          2.0 * CHAINS * FMA_ROUNDS * j->loops.lanes);
    for (j->level = 0; j->level < TGI_ROOF_LEVELS; j->level++) {
        const double bytes = roof->level_bytes[j->level];
        j->n = (ptrdiff_t)bytes / 2 / (ptrdiff_t)sizeof(float);
        j->n_repetitions =
            bytes < BANDWIDTH_BYTES ? (int)(BANDWIDTH_BYTES / bytes) : 1;
        team->bandwidth[j->level] =
            measure(j, team->n_threads, 1.5 * bytes * j->n_repetitions);
    }
}

/* A team can do what one thread can; a lower rate was disturbed. */
static void raise_to_one_thread(tgi_roof *roof)
{
    const tgi_roof_team *one = &roof->teams[0];
    for (int t = 1; t < TGI_ROOF_TEAMS; t++) {
        tgi_roof_team *team = &roof->teams[t];
        team->flops = fmax(team->flops, one->flops);
        for (int i = 0; i < TGI_ROOF_LEVELS; i++)
            team->bandwidth[i] = fmax(team->bandwidth[i], one->bandwidth[i]);
    }
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
TGI_LOCK_ACROSS_FORK(&lock, (void)0)

static tgi_roof measured; /* guarded until it has threads */

/* Lock held. */
static void measure_roof(void)
{
    /* The first three fit into typical caches of one core. */
    tgi_roof roof = {.level_bytes = {1 << 14, 1 << 18, 1 << 22, 1 << 26}};
    const int n_threads = tgi_team_size(0);
    /* The last level is shared: its bytes are those of all threads. */
    const size_t total = (size_t)roof.level_bytes[TGI_ROOF_LEVELS - 1] +
                         (size_t)n_threads * (1 << 22);
    roof.level_bytes[TGI_ROOF_LEVELS - 1] /= n_threads;
    if (roof.level_bytes[3] < 2 * roof.level_bytes[2])
        roof.level_bytes[3] = roof.level_bytes[2];
    job j = {.loops = choose_loops(),
             .memory = tgi_buffer_alloc(total),
             .best_ns = tgi_alloc((size_t)n_threads * sizeof(*j.best_ns))};
    if (!j.memory || !j.best_ns) {
        if (j.memory)
            tgi_buffer_free(j.memory, total);
        tgi_free(j.best_ns);
        return;
    }
    for (size_t i = 0; i < total / sizeof(float); i++)
        j.memory[i] = 1;
    for (int t = 0; t < TGI_ROOF_TEAMS; t++) {
        roof.teams[t].n_threads = t ? n_threads : 1;
        measure_team(&roof, &roof.teams[t], &j);
    }
    raise_to_one_thread(&roof);
    tgi_buffer_free(j.memory, total);
    tgi_free(j.best_ns);
    measured = roof;
}

const tgi_roof *tgi_roof_get(void)
{
    pthread_mutex_lock(&lock);
    if (!measured.teams[0].n_threads)
        measure_roof();
    pthread_mutex_unlock(&lock);
    return &measured;
}

double tgi_roof_seconds(const tgi_roof *roof, int n_threads, double bytes,
                        double flops, unsigned element_bytes)
{
    const tgi_roof_team *team = &roof->teams[n_threads > 1];
    int level = 0;
    while (level < TGI_ROOF_LEVELS - 1 &&
           bytes / n_threads > roof->level_bytes[level])
        level++;
    if (team->flops <= 0 || team->bandwidth[level] <= 0)
        return 0;
    /* Peak rates are inversely proportional to the size of elements. */
    const double width = element_bytes > 4 ? element_bytes / 4.0 : 1;
    const double computing = flops * width / team->flops;
    const double moving = bytes / team->bandwidth[level];
    return computing > moving ? computing : moving;
}

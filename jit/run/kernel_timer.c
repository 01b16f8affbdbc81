/* SPDX-License-Identifier: MIT */
/*
 * kernel_timer.c - times schedules of one kernel (tune.h).
 *
 * The kernel is compiled as a program of its own: the loops of the program with
 * one step, which runs it. So nothing else of the program happens: no
 * assignment, print, assert or host call. Its buffers are scratch memory, which
 * is filled with harmless numbers: indices are in range, floats between 1/2 and
 * 3/2, so that no kernel runs on denormals that it would not meet.
 *
 * Two schedules are timed in turns, so that what else the machine does disturbs
 * both; the best time of each counts.
 */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fpenv.h"
#include "compile.h"
#include "jit.h"
#include "memory/memory_plan.h"
#include "run/native_cancel.h"
#include "run/team.h"
#include "run/work_share.h"

enum {
    ROUNDS = 7,
    MIN_ROUNDS = 2, /* after them, a schedule that is much slower is out */
    MUCH_SLOWER = 110, /* per cent of the best time */
    SAMPLE_NS = 50000, /* of a round, at least */
    MAX_RUNS = 4096,   /* of a round */
    /* Of a kernel that reads what it writes: its values must not drift to
       denormals. */
    MAX_DRIFTING_RUNS = 64,
    MAX_INTEGER = 61 /* of integers that are no indices */
};

#define MAX_BENCH_BYTES ((int64_t)1 << 30)

typedef struct bench {
    tgi_loops alone; /* the kernel, as a program */
    tgi_kernel_loops *kernel;
    tgi_loop_step step;
    const tgi_jit_options *options;
    int n_threads;
    bool is_drifting;
    int64_t max_index; /* of the indices that it reads, plus one */
    int64_t *sizes;    /* by buffer: bytes of its memory; 0: none of ours */
    void **buffers;    /* by buffer */
    int64_t *unchanged; /* zeros, for the frame */
    tgi_frame frame;
    tgi_code *best, *last; /* code of the best schedule, and of the last */
} bench;

/* The address of buffers without elements. */
static _Alignas(TGI_BUFFER_ALIGN) char no_elements[TGI_BUFFER_ALIGN];

/* -- Which kernels can be timed -------------------------------------------- */

static bool is_index(const tgi_kernel_loops *k, uint32_t inst)
{
    return !inst || k->insts.data[inst].kind == TGI_INST_INDEX ||
           k->insts.data[inst].kind == TGI_INST_OFFSET;
}

/* True if the addresses of a kernel do not depend on data, except through an
   INDEX, which clamps: any contents of its buffers are safe then. */
static bool has_safe_accesses(const tgi_loops *loops, const tgi_kernel_loops *k)
{
    bool is_safe = !k->is_straightline;
    for (size_t i = 0; i < k->accesses.n; i++) {
        const tgi_access *access = &k->accesses.data[i];
        const int place = tgi_loops_buffer(loops, access->buffer)->place;
        is_safe &= is_index(k, access->index) && is_index(k, access->shift) &&
                   place != TGI_PLACE_SSA && place != TGI_PLACE_STACK;
    }
    return is_safe;
}

/* -- Memory ---------------------------------------------------------------- */

/* The largest number that is a valid index of all gathers, plus one. */
static int64_t find_max_index(const tgi_kernel_loops *k, const int64_t *values)
{
    int64_t max = MAX_INTEGER;
    for (uint32_t i = 1; i < k->insts.n; i++)
        if (k->insts.data[i].kind == TGI_INST_INDEX) {
            const int64_t extent =
                tgi_dim_value(k->insts.data[i].dim, values);
            if (max == MAX_INTEGER || extent < max)
                max = extent;
        }
    return max > 0 ? max : 1;
}

/* Marks the buffers of the kernel in `sizes`: 1 is read, 2 is written. */
static void mark_buffers(bench *b)
{
    const tgi_kernel_loops *k = b->kernel;
    for (uint32_t i = 1; i < k->insts.n; i++)
        if (k->insts.data[i].kind == TGI_INST_LOAD)
            b->sizes[tgi_buffer_id_index(
                k->accesses.data[k->insts.data[i].number].buffer)] |= 1;
    for (size_t i = 0; i < k->stores.n; i++)
        b->sizes[tgi_buffer_id_index(
            k->accesses.data[k->stores.data[i].access].buffer)] |= 2;
    for (size_t i = 0; i < k->offsets.n; i++)
        if (!tgi_buffer_id_is_none(k->offsets.data[i].memory))
            b->sizes[tgi_buffer_id_index(k->offsets.data[i].memory)] |= 2;
}

/* Replaces the marks by sizes. False if they exceed the limit. */
static bool find_sizes(bench *b, const tgi_kernel_job *job)
{
    int64_t total = 0;
    for (size_t i = 0; i < b->alone.buffers.n; i++) {
        const tgi_loop_buffer *buffer = &b->alone.buffers.data[i];
        const bool is_used = b->sizes[i] != 0;
        int64_t bytes;
        if (b->sizes[i] == 3 && buffer->place != TGI_PLACE_SCRATCH)
            b->is_drifting = true;
        b->sizes[i] = 0;
        if (!is_used || buffer->place == TGI_PLACE_CONSTANT)
            continue;
        const int64_t n_copies =
            buffer->place == TGI_PLACE_SCRATCH ? b->n_threads : 1;
        if (__builtin_mul_overflow(tgi_dim_value(buffer->count, job->values),
                                   tgi_dtype_bytes((tg_dtype)buffer->dtype),
                                   &bytes) ||
            bytes > MAX_BENCH_BYTES)
            return false;
        bytes = (bytes + TGI_BUFFER_ALIGN - 1) & -(int64_t)TGI_BUFFER_ALIGN;
        b->sizes[i] = bytes * n_copies;
        total += b->sizes[i];
        if (total > MAX_BENCH_BYTES)
            return false;
    }
    return !job->memory_limit || (uint64_t)total <= job->memory_limit;
}

/* Numbers without a pattern: a linear congruential generator. */
static uint32_t next_number(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static void fill(const bench *b, size_t number)
{
    const tgi_loop_buffer *buffer = &b->alone.buffers.data[number];
    const size_t element = (size_t)tgi_dtype_bytes((tg_dtype)buffer->dtype);
    const size_t n = (size_t)b->sizes[number] / element;
    char *at = b->buffers[number];
    uint32_t state = (uint32_t)number;
    for (size_t i = 0; i < n; i++, at += element) {
        const uint32_t bits = next_number(&state);
        const double unit = (double)bits / (1 << 24);
        if (buffer->dtype == TG_F64) {
            const double value = 0.5 + unit;
            memcpy(at, &value, sizeof(value));
        } else if (buffer->dtype == TG_F32) {
            const float value = 0.5F + (float)unit;
            memcpy(at, &value, sizeof(value));
        } else {
            const int64_t below = buffer->place == TGI_PLACE_COUNTER ? 1
                                  : buffer->dtype == TG_BOOL         ? 2
                                                             : b->max_index;
            const uint64_t value = (uint64_t)(unit * (double)below);
            memcpy(at, &value, element); /* little-endian */
        }
    }
}

static void fill_all(const bench *b)
{
    for (size_t i = 0; i < b->alone.buffers.n; i++)
        if (b->sizes[i])
            fill(b, i);
}

static bool alloc_memory(bench *b)
{
    for (size_t i = 0; i < b->alone.buffers.n; i++) {
        const tgi_loop_buffer *buffer = &b->alone.buffers.data[i];
        b->buffers[i] = no_elements;
        if (b->sizes[i])
            b->buffers[i] = tgi_buffer_alloc((size_t)b->sizes[i]);
        else if (buffer->place == TGI_PLACE_CONSTANT && buffer->count)
            b->buffers[i] = (void *)(uintptr_t)tgi_graph_constant(
                buffer->graph, buffer->node);
        if (!b->buffers[i])
            return false;
    }
    fill_all(b);
    return true;
}

static void free_memory(bench *b)
{
    for (size_t i = 0; i < b->alone.buffers.n; i++)
        if (b->sizes && b->buffers && b->sizes[i] && b->buffers[i])
            tgi_buffer_free(b->buffers[i], (size_t)b->sizes[i]);
}

/* -- Runs ------------------------------------------------------------------ */

/* Nanoseconds of `n` runs. */
static uint64_t time_runs(bench *b, const tgi_code *code, unsigned n)
{
    if (b->is_drifting)
        fill_all(b);
    const uint64_t begin = tgi_clock_ns();
    for (unsigned i = 0; i < n; i++)
        if (b->n_threads == 1)
            code->entry(&b->frame, 0, 1);
        else
            tgi_team_run(code->entry, &b->frame, b->n_threads);
    return tgi_clock_ns() - begin;
}

/* Runs of a round: enough for the clock. */
static unsigned choose_runs(bench *b)
{
    const unsigned max = b->is_drifting ? MAX_DRIFTING_RUNS : MAX_RUNS;
    unsigned n = 1;
    time_runs(b, b->last, 1); /* touches code and memory */
    while (n < max && time_runs(b, b->last, n) < SAMPLE_NS)
        n *= 2;
    return n;
}

static uint64_t min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool time_both(bench *b, uint64_t out_ns[2])
{
    const unsigned n = choose_runs(b);
    out_ns[0] = out_ns[1] = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        out_ns[0] = min(out_ns[0], time_runs(b, b->last, n));
        out_ns[1] = min(out_ns[1], time_runs(b, b->best, n));
        if (round + 1 >= MIN_ROUNDS &&
            out_ns[0] * 100 > out_ns[1] * MUCH_SLOWER)
            break;
    }
    for (int i = 0; i < 2; i++)
        out_ns[i] /= n;
    return true;
}

/* -- The timer ------------------------------------------------------------- */

/* Compiles the current schedule of the kernel. */
static bool compile(bench *b, tgi_code **out_code)
{
    return tgi_compile_alone(&b->alone, b->options, out_code) == TG_OK;
}

static void bench_end(void *user)
{
    bench *b = user;
    tgi_error_copy error;
    tgi_error_save(&error);
    free_memory(b);
    tgi_code_release(b->best);
    tgi_code_release(b->last);
    tgi_free(b->sizes);
    tgi_free(b->buffers);
    tgi_free(b->unchanged);
    tgi_free(b);
    tgi_error_restore(&error);
}

static bool bench_init(bench *b, const tgi_kernel_job *job)
{
    const size_t n = b->alone.buffers.n;
    b->sizes = tgi_alloc_zero((n + 1) * sizeof(*b->sizes));
    b->buffers = tgi_alloc_zero((n + 1) * sizeof(*b->buffers));
    b->unchanged = tgi_alloc_zero((b->alone.memo_params.n + 1) *
                                  sizeof(*b->unchanged));
    if (!b->sizes || !b->buffers || !b->unchanged)
        return false;
    mark_buffers(b);
    if (!find_sizes(b, job)) {
        memset(b->sizes, 0, n * sizeof(*b->sizes));
        return false;
    }
    b->max_index = find_max_index(b->kernel, job->values);
    b->frame = (tgi_frame){.buffers = b->buffers,
                           .dims = job->values,
                           .grain = job->grain,
                           .share = tgi_work_share,
                           .unchanged = b->unchanged,
                           .cancel_word = &tgi_native_no_word};
    return alloc_memory(b) && compile(b, &b->best);
}

static void *bench_begin(const tgi_kernel_job *job)
{
    tgi_kernel_loops *kernel = job->loops->kernels.data[job->kernel];
    tgi_error_copy error;
    if (!has_safe_accesses(job->loops, kernel))
        return NULL;
    tgi_error_save(&error);
    bench *b = tgi_alloc_zero(sizeof(*b));
    if (!b)
        return NULL;
    b->alone = *job->loops;
    b->kernel = kernel;
    b->alone.kernels.data = &b->kernel;
    b->alone.kernels.n = 1;
    b->step = (tgi_loop_step){.kind = TGI_STEP_RUN,
                              .kernel = tgi_kernel_id_from(0)};
    b->alone.steps.data = &b->step;
    b->alone.steps.n = 1;
    b->alone.hosts.n = b->alone.controls.n = 0;
    b->options = job->options;
    b->n_threads = job->n_threads;
    if (bench_init(b, job))
        return b;
    bench_end(b);
    tgi_error_restore(&error);
    return NULL;
}

static bool bench_time(void *user, uint64_t out_ns[2])
{
    bench *b = user;
    tgi_code_release(b->last);
    b->last = NULL;
    if (!compile(b, &b->last))
        return false;
    const uint32_t mode = tgi_fpenv_begin();
    const bool is_fine = time_both(b, out_ns);
    tgi_fpenv_end(mode);
    return is_fine;
}

static void bench_keep(void *user)
{
    bench *b = user;
    tgi_code_release(b->best);
    b->best = b->last;
    b->last = NULL;
}

const tgi_kernel_timer tgi_scratch_timer = {.begin = bench_begin,
                                            .time = bench_time,
                                            .keep = bench_keep,
                                            .end = bench_end,
                                            .now = tgi_clock_ns,
                                            .team_size = tgi_team_size};

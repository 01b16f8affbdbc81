/* SPDX-License-Identifier: MIT */
/*
 * tune.h - measured planning: times several verified schedules of each kernel
 * and keeps the fastest. All of them give the same bits, so only the clock can
 * tell a measured plan from an estimated one.
 *
 * The search is here, and knows no clock. A tgi_kernel_timer does the rest:
 * jit/run/kernel_timer.c compiles a kernel alone and runs it on scratch memory.
 */
#ifndef TGI_TUNE_H
#define TGI_TUNE_H

#include "base/strbuf.h"
#include "schedule/hints.h"

struct tgi_jit_options; /* jit.h */

/* A kernel to be timed. */
typedef struct tgi_kernel_job {
    const tgi_loops *loops;
    size_t kernel;
    const int64_t *values; /* of the loops' extents */
    int n_threads;         /* of a team */
    int64_t grain;         /* as in the frame */
    uint64_t memory_limit; /* of its scratch memory, in bytes */
    const struct tgi_jit_options *options; /* of its compiles */
} tgi_kernel_job;

typedef struct tgi_kernel_timer {
    /* Prepares to time schedules of a kernel, whose current one is the best so
       far. NULL if it cannot be timed. */
    void *(*begin)(const tgi_kernel_job *job);
    /* Times the current schedule of the kernel and, in turns, the best so far:
       nanoseconds of a run, in this order. False if it cannot be timed. */
    bool (*time)(void *bench, uint64_t out_ns[2]);
    /* The schedule timed last is the best so far. */
    void (*keep)(void *bench);
    void (*end)(void *bench);
    uint64_t (*now)(void); /* nanoseconds, for the budget */
    int (*team_size)(int wanted); /* as tgi_team_size */
} tgi_kernel_timer;

/* How schedules are planned. */
typedef struct tgi_tuning {
    const tgi_kernel_timer *timer; /* NULL: they are estimated */
    uint64_t budget_ns;            /* of one program; at least */
    /* Of calls, as in tgi_native_options. */
    int threads;
    int64_t grain;
    uint64_t memory_limit;
} tgi_tuning;

/*
 * Appends what distinguishes the plans of loops with estimated schedules: the
 * threads of a call whose extents in the graph have these values, and their
 * orders of magnitude, because a generalised trace has one plan for many
 * extents.
 */
void tgi_tune_key(const tgi_loops *loops, const int64_t *graph_values,
                  const tgi_tuning *tuning, tgi_strbuf *out);

/*
 * Replaces schedules by faster ones, and appends the plan to `out_plan`. Adds
 * the number of schedules timed to *n_timed. On failure (out of memory) all
 * schedules are as they were. A compile that fails, or a kernel that cannot be
 * timed, is no failure.
 */
tg_status tgi_tune(tgi_loops *loops, const int64_t *graph_values,
                   const tgi_target *target,
                   const struct tgi_jit_options *options, tgi_strbuf *out_plan,
                   uint64_t *n_timed);

/*
 * Replaces the schedules of loops by those of a plan, for dumps: code that is
 * found has its schedules already. Arbitrary bytes are accepted; schedules of a
 * plan that does not fit the loops stay as they are.
 */
tg_status tgi_tune_apply(tgi_loops *loops, const tgi_target *target,
                         const void *plan, size_t plan_bytes);

#endif /* TGI_TUNE_H */

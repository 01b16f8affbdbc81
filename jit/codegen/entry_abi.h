/* SPDX-License-Identifier: MIT */
/*
 * entry_abi.h - what compiled code and the one who calls it agree on.
 *
 * A compiled function has one entry. Every thread of a team calls it with the
 * same frame and its own number; it returns when that thread has nothing left
 * to do. Kernels are split among the threads, dependent ones have a barrier
 * between them. With one thread no barrier is ever called.
 *
 * Generated code reads the frame by the numbers of its members, which
 * jit/llvm/emit/llvm_frame.c repeats as an LLVM type; tests compare the two.
 */
#ifndef TGI_ENTRY_ABI_H
#define TGI_ENTRY_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef struct tgi_frame tgi_frame;

/* begin … end - 1 */
typedef struct tgi_range {
    int64_t begin, end;
} tgi_range;

struct tgi_frame {
    /* By number of the plan: parameters, results, temporaries, constants. */
    void *const *buffers;
    /* Values of all expressions of the dims table (tgi_dims_evaluate). */
    const int64_t *dims;
    /* Work, in picoseconds, that a thread must have to take part; 0: any. */
    int64_t grain;
    /* Which of n_items items of a kernel a thread of a team does, if each
       takes that many picoseconds (work_share.c). */
    tgi_range (*share)(const tgi_frame *frame, int64_t thread,
                       int64_t n_threads, int64_t n_items, int64_t item_cost);
    /* Returns when all threads of the team have called it. */
    void (*barrier)(tgi_frame *frame);
    /* Does step `step` of the plan that needs the host (a print or a host
       call). Called by thread 0 alone, between barriers; false ends the
       call. */
    int32_t (*host)(tgi_frame *frame, int64_t step);
    /* Where a check failed: its number + 1 (0: none so far) and the first
       position at which it did. Threads take the minimum of positions. */
    int64_t failed_check;
    int64_t failed_position;
    /* By number of what is kept (loops.h): not 0 if the variable is as it was
       when it was last made. NULL if there is nothing of the kind. */
    const int64_t *unchanged;
    /* By number of loops that have stacks: trips there is room for. Changes
       only when all threads wait. NULL if there are none. */
    const int64_t *capacity;
    /* Makes room for more than `trips` trips of such a loop: sets its capacity,
       and the addresses of its stacks in `buffers`. Called by thread 0 alone,
       between barriers; false ends the call. */
    int32_t (*grow)(tgi_frame *frame, int64_t number, int64_t trips);
    /* Not for compiled code: what the barrier counts with (jit/run/team.c). */
    struct tgi_team *team;
    /* Not for compiled code: whom the callbacks above work for. */
    void *user;
};

typedef void tgi_entry(tgi_frame *frame, int64_t thread, int64_t n_threads);

/*
 * What exported functions that have a team call, in libtgjit-aot (aot.c): runs
 * `entry` on as many threads as there are, n_threads at most. The number in
 * its name rises with every change of the frame, so that objects and a library
 * that do not fit each other do not link.
 */
#define TGI_AOT_RUN tgjit_aot_run_3
void TGI_AOT_RUN(tgi_entry *entry, tgi_frame *frame, int32_t n_threads);

#endif /* TGI_ENTRY_ABI_H */

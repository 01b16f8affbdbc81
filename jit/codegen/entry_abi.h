/* SPDX-License-Identifier: MIT */
/*
 * entry_abi.h - the ABI between compiled code and its caller.
 *
 * A program has one entry. Every thread of a team calls it with the same frame
 * and its own number; it returns when that thread is done. The work items of a
 * kernel are divided among the threads; a barrier separates dependent kernels.
 * With one thread, no barrier is called.
 *
 * Generated code accesses the members of the frame by index. In
 * jit/llvm/emit/llvm_frame.c the same structure is an LLVM type; the offsets
 * are asserted there.
 */
#ifndef TGI_ENTRY_ABI_H
#define TGI_ENTRY_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef struct tgi_frame tgi_frame;

/* Half-open: begin … end - 1. */
typedef struct tgi_range {
    int64_t begin, end;
} tgi_range;

struct tgi_frame {
    /* By buffer: parameters, results, temporaries, constants. */
    void *const *buffers;
    /* Values of all extent expressions (tgi_dims_evaluate). */
    const int64_t *dims;
    /* Minimal work of a participating thread, in picoseconds; 0: none. */
    int64_t grain;
    /* The work items, of n_items of a kernel, that a thread executes if each
       takes item_cost picoseconds (work_share.c). */
    tgi_range (*share)(const tgi_frame *frame, int64_t thread,
                       int64_t n_threads, int64_t n_items, int64_t item_cost);
    /* Returns when all threads of the team have called it. */
    void (*barrier)(tgi_frame *frame);
    /* Runs host step `step`: a print, a failed assert or a host call. Called
       by thread 0 only, between barriers; false ends the call. */
    int32_t (*host)(tgi_frame *frame, int64_t step);
    /* A failed check: its number + 1 (0: none), the smallest position at which
       it failed, over all threads, and the index at that position, extended to
       64 bits. */
    int64_t failed_check;
    int64_t failed_position;
    int64_t failed_index;
    /* By memoised operand (loops.h): nonzero if its variable is unchanged since
       it was computed. NULL if there are none. */
    const int64_t *unchanged;
    /* By loop with unbounded stacks: the iterations that fit. Changes only
       while all threads wait at a barrier. NULL if there are none. */
    const int64_t *capacity;
    /* Grows the stacks of such a loop beyond `iterations`: sets its capacity,
       and the addresses in `buffers`. Called by thread 0 only, between
       barriers; false ends the call. */
    int32_t (*grow)(tgi_frame *frame, int64_t number, int64_t iterations);
    /* Called by each thread after each kernel, barrier and host step, with its
       number in the steps of the loops; after a straight-line group, with that
       of its first step. NULL: none; set by profiled runs only. Programs of one
       kernel do not call it (tgi_loops_are_single). */
    void (*step_done)(tgi_frame *frame, int64_t thread, int64_t step);
    /* Polls the function of tg_host_poll on thread 0, and returns the end of the
       work items, of those up to `end`, that a thread executes before it calls
       this again. NULL: it executes all at once. Only set by a host step. */
    int64_t (*poll)(tgi_frame *frame, int64_t thread, int64_t begin,
                    int64_t end, int64_t item_cost);
    /* The call may have to end early if this word differs from cancel_seen … */
    const _Atomic int64_t *cancel_word;
    int64_t cancel_seen;
    /* … which this decides (TGI_CANCEL_…): nonzero if it must. All threads of a
       team get the same answer between two barriers. */
    int32_t (*must_end)(tgi_frame *frame, int64_t how);
    /* Not for compiled code: the state of the barrier (jit/run/team.c). */
    struct tgi_team *team;
    /* Not for compiled code: context of `host` and `grow`. */
    void *user;
};

/* Who asks frame->must_end: a thread of a team, about the last barrier; a thread
   that decides for itself, as the others wait for it or do not exist; the last
   thread to arrive at a barrier, for all. */
enum { TGI_CANCEL_AGREED, TGI_CANCEL_ALONE, TGI_CANCEL_AT_BARRIER };

typedef void tgi_entry(tgi_frame *frame, int64_t thread, int64_t n_threads);

/*
 * Called by exported functions with a team; in libtgjit-aot (aot.c). Runs
 * `entry` on at most n_threads threads. The number in its name is incremented
 * with every change of the frame, so that incompatible objects and libraries do
 * not link.
 */
#define TGI_AOT_RUN tgjit_aot_run_7
void TGI_AOT_RUN(tgi_entry *entry, tgi_frame *frame, int32_t n_threads);

#endif /* TGI_ENTRY_ABI_H */

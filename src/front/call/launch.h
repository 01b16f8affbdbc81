/* SPDX-License-Identifier: MIT */
/*
 * launch.h - a concrete function with its runner and buffers. tg_call runs a
 * launch once, a bound call many times.
 */
#ifndef TGI_LAUNCH_H
#define TGI_LAUNCH_H

#include "front/call/function_object.h"
#include "front/object/result_slot.h"

/* A variable passed by value to a call that also writes it: copied before each
   run. */
typedef struct tgi_snapshot {
    const tg_variable *variable;
    void *buffer; /* owned */
} tgi_snapshot;

/* The element of a plain number. */
typedef struct tgi_launch_number {
    _Alignas(8) char element[8];
} tgi_launch_number;

/*
 * The variables of a call. At most one of each per parameter, in arrays of the
 * launch. A bound launch retains them. Otherwise they live as long as the call:
 * arguments are the caller's, captured variables those of the trace.
 */
typedef struct tgi_launch_state {
    tg_group **groups;       /* ascending ids, distinct */
    tg_variable **written;   /* of `variables` */
    tg_variable **variables; /* read or written */
    size_t n_groups, n_written, n_variables;
    bool is_retained;
    TGI_VEC(tgi_snapshot) snapshots;
} tgi_launch_state;

/* Enough for the arrays of most calls: about 15 parameters. */
enum { TGI_LAUNCH_INLINE_BYTES = 1024 };

/* Has pointers into itself: must not be moved after init. */
typedef struct tgi_launch {
    tg_concrete *concrete; /* retained */
    tgi_runner *runner;
    int64_t *symbols;

    void **params;                 /* by parameter of the graph: buffer … */
    int64_t *param_bytes;          /* … its size … */
    tg_variable **param_variables; /* … and its variable, or NULL */
    void **results;                /* by result: buffer, or NULL */
    size_t n_params, n_results;

    tgi_launch_state state;
    tgi_launch_number *numbers; /* storage of plain numbers */
    bool is_initialised;        /* all variables have values */
    bool is_dumped;             /* as a reproducer */

    void *arrays; /* storage of the arrays above: `inline_arrays` or owned */
    _Alignas(8) char inline_arrays[TGI_LAUNCH_INLINE_BYTES];
} tgi_launch;

/* Prepares a launch. The arguments must match the concrete function. Takes
   over the caller's reference to it, also on failure. `is_bound`: the launch
   outlives the call, and runs often enough to wait for its code. Checks numbers
   as below. */
tg_status tgi_launch_init(tgi_launch *launch, tg_concrete *concrete,
                          const tgi_args *args, bool is_bound, tg_site site);

/* Fails with TG_ERROR_DTYPE if a number is not representable in a dtype that
   the graph converts it to. */
tg_status tgi_launch_check_numbers(const tgi_launch *launch, tg_site site);
void tgi_launch_deinit(tgi_launch *launch);

/* As deinit, but returns the runner to the pool. */
void tgi_launch_end(tgi_launch *launch);

/* Binds the buffers to the runner; to be repeated after one has changed. */
tg_status tgi_launch_bind(tgi_launch *launch);

/* Locks the groups, runs, unlocks. Fails with TG_ERROR_BUSY if this thread
   holds one of the locks. */
tg_status tgi_launch_run(tgi_launch *launch);

/*
 * Chooses and binds the result buffers. Fills launch->results and `tensors`
 * (n_results elements): a new tensor, the user's (checked, borrowed), or NULL
 * if the result is not requested. On failure, new tensors may be among them;
 * the caller releases them.
 */
tg_status tgi_launch_bind_results(tgi_launch *launch,
                                  const tg_result *results, size_t n_results,
                                  tg_tensor **tensors, tg_site site);

/* Fails if a result overlaps another result, a variable, or a part of an
   argument. */
tg_status tgi_launch_check_overlap(const tgi_launch *launch, tg_site site);

#endif /* TGI_LAUNCH_H */

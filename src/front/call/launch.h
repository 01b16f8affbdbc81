/* SPDX-License-Identifier: MIT */
/*
 * launch.h - a concrete function with its buffers settled: what tg_call runs
 * once and a bound call runs many times.
 */
#ifndef TGI_LAUNCH_H
#define TGI_LAUNCH_H

#include "front/call/function_object.h"

/* The value of a variable the call also writes: copied before each run. */
typedef struct tgi_snapshot {
    const tg_variable *variable;
    void *buffer; /* owned */
} tgi_snapshot;

/* Plain numbers live here for as long as the launch. */
typedef struct tgi_launch_number {
    _Alignas(8) char element[8];
} tgi_launch_number;

/* What a call touches beside its operands and results. */
typedef struct tgi_launch_state {
    TGI_VEC(tg_group *) groups;     /* ascending ids, each once, retained */
    TGI_VEC(tg_variable *) written; /* lent by params' owners */
    TGI_VEC(tg_variable *) variables; /* all it reads or writes; retained */
    TGI_VEC(tgi_snapshot) copies;
} tgi_launch_state;

/* Most calls need no more room than this for their arrays. */
enum { TGI_LAUNCH_INLINE_BYTES = 512 };

/* Does not move once it is prepared. */
typedef struct tgi_launch {
    tg_concrete *concrete; /* retained */
    tgi_runner *runner;
    int64_t *symbols;

    void **params;  /* per parameter of the graph … */
    int64_t *param_bytes; /* … and its size */
    tg_variable **param_variables; /* … and whose contents it is, or NULL */
    void **results; /* per result, or NULL */
    size_t n_params, n_results;

    tgi_launch_state state;
    tgi_launch_number *numbers; /* one for each parameter that is one */
    bool all_set; /* no variable waits for its initial value any more */
    bool is_dumped; /* as a program */

    void *room; /* of the arrays above: `small`, or allocated */
    _Alignas(8) char small[TGI_LAUNCH_INLINE_BYTES];
} tgi_launch;

/* Prepares it; arguments must fit the concrete function, the caller's
   reference to which it takes over, also if it fails. `is_eager`: it runs often
   enough to wait for its code. Numbers are checked as below. */
tg_status tgi_launch_init(tgi_launch *launch, tg_concrete *concrete,
                          const tgi_args *args, bool is_eager, tg_site site);

/* TG_OK, or the error if a number does not fit a type it is converted to. */
tg_status tgi_launch_check_numbers(const tgi_launch *launch, tg_site site);
void tgi_launch_deinit(tgi_launch *launch);

/* Gives the runner back for others; then deinit. */
void tgi_launch_end(tgi_launch *launch);

/* Settles the buffers of later runs; anew after one has changed. */
tg_status tgi_launch_bind(tgi_launch *launch);

/* Locks, runs, unlocks. */
tg_status tgi_launch_run(tgi_launch *launch);

/*
 * The tensors results go to: fills launch->results and `tensors` (n_results
 * entries: new ones, those the user gave, lent and checked, or NULL). If it
 * fails, new ones may be among them too.
 */
tg_status tgi_launch_bind_results(tgi_launch *launch,
                                  tg_tensor **const *results, size_t n_results,
                                  tg_tensor **tensors, tg_site site);

/* TG_OK, or the error if result memory overlaps what it may not. */
tg_status tgi_launch_check_overlap(const tgi_launch *launch, tg_site site);

#endif /* TGI_LAUNCH_H */

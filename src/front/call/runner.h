/* SPDX-License-Identifier: MIT */
/*
 * runner.h - a trace ready to run for one set of extents: compiled code with
 * its memory, or an interpreter instance, with the same result bits. One thread
 * at a time uses a runner.
 */
#ifndef TGI_RUNNER_H
#define TGI_RUNNER_H

#include "interp/interp.h"
#include "ir/graph.h"
#include "jit.h"
#include "tgjit/function.h"

typedef struct tgi_runner tgi_runner;

/*
 * Evaluates the extents, checks them, and prepares compiled code or an
 * interpreter. Unless `is_eager`, the runner may be a stopgap: an interpreter
 * that serves one call while the code is compiled in the background.
 */
tg_status tgi_runner_create(tg_concrete *concrete, const int64_t *symbols,
                            bool is_eager, tgi_runner **out_runner);
void tgi_runner_destroy(tgi_runner *runner);

/* True if the runner was created for these symbolic extents. */
bool tgi_runner_has_symbols(const tgi_runner *runner, const int64_t *symbols);
/* A stopgap is destroyed after its call: the next one may find code. */
bool tgi_runner_is_stopgap(const tgi_runner *runner);

/* The type of a result, and its size in bytes. */
typedef struct tgi_runner_result {
    tg_dtype dtype;
    int rank;
    int64_t dims[TG_MAX_RANK];
    int64_t bytes;
} tgi_runner_result;

const tgi_runner_result *tgi_runner_results(const tgi_runner *runner);

/*
 * Sets the buffers of later runs, with the rules of tgi_interp_run. The arrays
 * are borrowed until the next bind. tgi_runner_is_bound: the last successful
 * bind was to the same buffers, perhaps in other arrays.
 */
bool tgi_runner_is_bound(const tgi_runner *runner, void *const *params,
                         void *const *results);
tg_status tgi_runner_bind(tgi_runner *runner, void *const *params,
                          void *const *results);
tg_status tgi_runner_run(tgi_runner *runner);

/* Runs of compiled code record their prints and host calls; NULL: not. */
void tgi_runner_set_host_log(tgi_runner *runner, tgi_host_log *log);

/* The same, timed: fills all of `call` but its total. `trace` may be NULL. The
   samples are valid until the next run. */
tg_status tgi_runner_run_profiled(tgi_runner *runner, tgi_profile_trace *trace,
                                  tgi_profile_call *call);

/* Bytes of temporaries. *out_peak, if not NULL, is the peak of the bytes live
   at once; 0 if unknown. */
uint64_t tgi_runner_bytes(const tgi_runner *runner, uint64_t *out_peak);

/* The compiled program of the runner; NULL if it interprets. */
const tgi_native *tgi_runner_native(const tgi_runner *runner);
/* The same, but NULL if the program memoises nothing made from variables. */
tgi_native *tgi_runner_memoising_native(const tgi_runner *runner);

#endif /* TGI_RUNNER_H */

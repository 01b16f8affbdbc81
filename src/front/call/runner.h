/* SPDX-License-Identifier: MIT */
/*
 * runner.h - a trace ready to run for one set of extents: compiled if that is
 * wanted and can be done, else interpreted, with the same bits. One thread at
 * a time uses a runner; idle ones wait in their trace for the next call.
 */
#ifndef TGI_RUNNER_H
#define TGI_RUNNER_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "interp/interp.h"
#include "ir/graph.h"
#include "jit.h"

typedef struct tgi_runner tgi_runner;

/* A variant of the trace: the values it was compiled for, and its program;
   NULL if it cannot be compiled. */
typedef struct tgi_runner_variant {
    int64_t *values;
    tgi_program *program;
} tgi_runner_variant;

/*
 * What runners of one trace share. Each variant is compiled once: one thread
 * compiles, the others wait for it. The lock is not held meanwhile, as log
 * callbacks are user code.
 */
typedef struct tgi_runners {
    /* An idle one that is had without the lock, or NULL: most traces are
       called by one thread. */
    _Atomic(tgi_runner *) handy;
    pthread_mutex_t lock; /* guards all below */
    TGI_VEC(tgi_runner *) idle;
    TGI_VEC(tgi_runner_variant) variants;
    atomic_bool has_told_size; /* that it is too long to be compiled */
    pid_t queued; /* the process in whose queue a variant is; 0: none … */
    size_t queued_work; /* … and how much work that is (jit.h) */
    pid_t compiler; /* the process whose thread compiles now; 0: none */
    pthread_cond_t compiled;
} tgi_runners;

void tgi_runners_init(tgi_runners *runners);
void tgi_runners_deinit(tgi_runners *runners);
/* Memory they hold on to. */
size_t tgi_runners_bytes(tgi_runners *runners);

/* Compiles in the background for extents of these values: see
   compile_queue.h. */
void tgi_runners_compile(tg_concrete *concrete, const int64_t *values);
/* True if this thread is in a compile: a log has called. */
bool tgi_runners_is_compiling(void);

/*
 * A runner for these extents, given back after use. If it is not `is_eager`,
 * one that interprets may stand in while code is compiled in the background:
 * until the compiler is likely to be done sooner.
 */
tg_status tgi_runner_acquire(tg_concrete *concrete, const int64_t *symbols,
                             bool is_eager, tgi_runner **out_runner);
void tgi_runner_release(tg_concrete *concrete, tgi_runner *runner);
void tgi_runner_destroy(tgi_runner *runner);

/* Extents of result i, and its size. */
const int64_t *tgi_runner_result_dims(const tgi_runner *runner, size_t result);
int64_t tgi_runner_result_bytes(const tgi_runner *runner, size_t result);

/*
 * Sets the buffers of later runs, with the rules of tgi_interp_run; the arrays
 * must stay where they are. It is bound to the same buffers if that has been
 * done before, perhaps with other arrays, and none was set since.
 */
bool tgi_runner_is_bound(const tgi_runner *runner, void *const *params,
                         void *const *results);
tg_status tgi_runner_bind(tgi_runner *runner, void *const *params,
                          void *const *results);
tg_status tgi_runner_run(tgi_runner *runner);

/* Bytes of temporaries; *out_peak_bytes, if not NULL: of those in use at once, 0 if
   that is not known. */
uint64_t tgi_runner_bytes(const tgi_runner *runner, uint64_t *out_peak_bytes);

/* The compiled program behind it, or NULL. */
const tgi_native *tgi_runner_native(const tgi_runner *runner);
/* Its native code, if that keeps what it makes of variables; or NULL. */
tgi_native *tgi_runner_memoising_native(const tgi_runner *runner);

#endif /* TGI_RUNNER_H */

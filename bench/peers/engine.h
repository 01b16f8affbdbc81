/* SPDX-License-Identifier: MIT */
/*
 * engine.h - engines in Python (NumPy, PyTorch, TensorFlow, JAX, …) as back
 * ends. A worker, peers/worker.py, is a process for one engine and number of
 * threads; it lives until the end of the program and computes one case at a
 * time. It is stopped between requests, because idle threads of some engines
 * spin for long. Inputs and results are files. A worker that fails is started
 * anew for the next case.
 *
 * The worker answers each line of standard input with one line:
 *
 *   hello                        ready
 *   prepare NAME DIR SPEC… -> SPEC…
 *                                ready
 *   check N                      done   after N runs from the initial state,
 *                                       with the results of the last one
 *   time N                       SECONDS of N runs
 *   release                      done
 *
 * or, if it cannot, with "error MESSAGE". NAME is an expression
 * (peers/expressions.py). Input i is the file DIR/in<i>, result i DIR/out<i>:
 * elements in row-major order. A SPEC is [ROLE:]DTYPE:EXTENTxEXTENT…, such as
 * f32:8x56x56x64; a scalar has no extents. The role is "variable" for inputs
 * that runs update, "index" for floats that are used as integers.
 */
#ifndef BENCH_PEERS_ENGINE_H
#define BENCH_PEERS_ENGINE_H

#include "tensor_case.h"

/* Inputs and results of a case at one size, in a temporary directory. */
typedef struct engine_files engine_files;

engine_files *engine_files_create(const tensor_case *what,
                                  const case_size *size, void *const *inputs,
                                  reason *out_why);
void engine_files_release(engine_files *files);

/* A case that a worker has prepared. */
typedef struct engine_run engine_run;

engine_run *engine_run_start(const engine_files *files, backend which,
                             int threads, reason *out_why);
void engine_run_stop(engine_run *run);

/* Runs n times from the initial state and reads the last results. */
bool engine_run_check(engine_run *run, int n, void *const *results,
                      reason *out_why);

bool engine_run_time(engine_run *run, int64_t iterations, double *out_seconds,
                     reason *out_why);

/* Starts a worker without waiting for it, so that several import their
   libraries at a time; waits for all of them. */
void engine_start(backend which, int threads);
void engines_wait(void);

/* Ends all workers. */
void engines_end(void);

#endif /* BENCH_PEERS_ENGINE_H */

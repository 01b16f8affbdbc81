/* SPDX-License-Identifier: MIT */
/*
 * interp.h - the reference interpreter. It runs a graph node by node, before or
 * after any pass, and defines the results that compiled code must reproduce.
 *
 * An instance is prepared for one set of extents: buffers are placed and
 * kernels chosen then, so that a run neither allocates (except for unbounded
 * stacks) nor looks anything up. One thread at a time uses an instance.
 */
#ifndef TGI_INTERP_H
#define TGI_INTERP_H

#include "ir/graph.h"
#include "runtime/host.h"

typedef struct tgi_interp tgi_interp;

/*
 * Prepares `graph` (retained) for the given symbols: evaluates extents, runs
 * the checks of the graph and of its callees, places buffers. Fails with
 * TG_ERROR_OUT_OF_MEMORY if temporaries exceed `memory_limit` bytes (0: no
 * limit).
 */
tg_status tgi_interp_create(const tgi_graph *graph, const int64_t *symbols,
                            const tgi_host *host, uint64_t memory_limit,
                            tgi_interp **out_interp);
void tgi_interp_destroy(tgi_interp *interp);

/* Extents of a result, owned by the interpreter, and its size in bytes. */
const int64_t *tgi_interp_result_dims(const tgi_interp *interp, size_t result);
int64_t tgi_interp_result_bytes(const tgi_interp *interp, size_t result);

/*
 * Runs the graph. `params` has a dense buffer for every parameter, variables
 * included (NULL is allowed if it has no elements), `results` one for every
 * result, or NULL to drop it. The buffer of a variable that is written must not
 * overlap another parameter. Results are written last, and only on success, so
 * they may be buffers of parameters. The caller holds the locks of the
 * variables and has set the floating-point mode.
 */
tg_status tgi_interp_run(tgi_interp *interp, void *const *params,
                         void *const *results);

/* Kinds of values that a run may look for. */
enum { TGI_CHECK_NAN = 1, TGI_CHECK_INF = 2 };

/* Later runs fail with TG_ERROR_ASSERT at the first node that makes a value of
   these kinds from operands without one. */
void tgi_interp_set_checks(tgi_interp *interp, unsigned kinds);

/* Times of all nodes of an operation. */
typedef struct tgi_op_time {
    uint64_t n, ns, min_ns;
} tgi_op_time;

/* The same, adding times by operation to `times`, which has TGI_OPS elements.
   Nodes that own graphs take no time themselves. */
tg_status tgi_interp_run_timed(tgi_interp *interp, void *const *params,
                               void *const *results, tgi_op_time *times);

/* Bytes of temporaries, unbounded stacks excluded. */
uint64_t tgi_interp_bytes(const tgi_interp *interp);

#endif /* TGI_INTERP_H */

/* SPDX-License-Identifier: MIT */
/*
 * interp.h - the reference interpreter: runs a graph, before or after any
 * pass, node by node. It defines what compiled code must compute.
 *
 * An instance is prepared for one set of extents: all buffers are placed and
 * all kernels chosen then, so that running allocates and looks up nothing.
 * One thread at a time uses an instance.
 */
#ifndef TGI_INTERP_H
#define TGI_INTERP_H

#include "ir/graph.h"
#include "runtime/host.h"

typedef struct tgi_interp tgi_interp;

/*
 * Prepares `graph` (retained) for the given symbols: evaluates extents, runs
 * the graph's checks and those of its callees, places buffers. More than
 * `memory_limit` bytes (0: no limit) is an out-of-memory error.
 */
tg_status tgi_interp_create(const tgi_graph *graph, const int64_t *symbols,
                            const tgi_host *host, uint64_t memory_limit,
                            tgi_interp **out_interp);
void tgi_interp_destroy(tgi_interp *interp);

/* Extents of result i, and its size. */
const int64_t *tgi_interp_result_dims(const tgi_interp *interp, size_t result);
int64_t tgi_interp_result_bytes(const tgi_interp *interp, size_t result);

/*
 * Runs it. `params` has a dense buffer for every parameter (variables too; of
 * no elements it may be NULL), `results` one for every result or NULL. No
 * buffer of a variable that is written overlaps another parameter. Results
 * are written last and only if all went well, so they may be buffers of
 * parameters. The caller holds the locks of variables and has set the
 * floating-point mode.
 */
tg_status tgi_interp_run(tgi_interp *interp, void *const *params,
                         void *const *results);

/* Bytes of temporaries. */
uint64_t tgi_interp_bytes(const tgi_interp *interp);

#endif /* TGI_INTERP_H */

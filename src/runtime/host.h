/* SPDX-License-Identifier: MIT */
/*
 * host.h - run-time services that reach the outside, for the interpreter and
 * compiled code alike: prints, failed asserts, host calls, and the error of
 * loops that exceed their limit.
 */
#ifndef TGI_HOST_H
#define TGI_HOST_H

#include "base/cancel.h"
#include "ir/graph.h"
#include "runtime/host_log.h"
#include "runtime/host_poll.h"
#include "runtime/view.h"

/* The sink for tg_print. */
typedef struct tgi_host {
    void (*print)(const char *text, void *user);
    void *user;
    tgi_host_log *log; /* records or replays a run; or NULL */
    tgi_host_poller *poller; /* of the run; or NULL */
    const tgi_cancel_word *cancel_word; /* of the context; or NULL */
    const tgi_cancel *cancel;           /* of the run; or NULL */
} tgi_host;

/*
 * Runs a PRINT or FAIL node: formats its text, and prints it to the sink, or
 * fails with TG_ERROR_ASSERT at the site of the node. `values` are its inputs.
 */
tg_status tgi_host_print(const tgi_host *host, const tgi_node *node,
                         const tgi_view *values);

/*
 * The buffers that a HOST node passes to its function, inputs then outputs,
 * with all but their data set. Allocated in the arena, so that a run needs no
 * memory; NULL when out of memory (recorded).
 */
tg_host_buffer *tgi_host_prepare(const tgi_graph *graph, const tgi_node *node,
                                 const int64_t *extents, tgi_arena *arena);

/*
 * Calls the function of a HOST node. The data of all `buffers` is set, dense
 * and never NULL. Records a failure at the site of the node.
 */
tg_status tgi_host_call(const tgi_host *host, const tgi_node *node,
                        const tg_host_buffer *buffers);

/* Records that a loop has exceeded its limit of iterations. */
tg_status tgi_loop_limit_fail(const tgi_node *loop, int64_t limit);

#endif /* TGI_HOST_H */

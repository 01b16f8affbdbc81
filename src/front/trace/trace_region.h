/* SPDX-License-Identifier: MIT */
/*
 * trace_region.h - branches and bodies of loops while they are traced: graphs
 * inside the graph of a function, each recorded by a trace of its own that
 * knows the one around it.
 *
 * What the callback of a region uses of the graphs around it is captured: it
 * becomes one more parameter of the region and one more input of the node
 * that owns it. All regions of a node have the same parameters, so what one
 * captures the others get, too.
 */
#ifndef TGI_TRACE_REGION_H
#define TGI_TRACE_REGION_H

#include "front/trace/trace_state.h"
#include "tgjit/function.h"

/* A SWITCH or LOOP in the making. */
typedef struct tgi_control {
    tgi_operation o;
    TGI_VEC(tgi_ref) inputs; /* of the node: fixed ones, then captured ones */
    size_t n_fixed;
    bool has_arguments; /* fixed inputs are those of a call: numbers stay so */
    TGI_VEC(tgi_graph *) graphs; /* retained */
} tgi_control;

/* False if there is no trace, or it has failed. Ended in any case. */
bool tgi_control_begin(tgi_control *c, const char *name, tg_site site);
void tgi_control_end(tgi_control *c);

/* One more fixed input; 0 stands for a failure that is recorded. */
bool tgi_control_add_input(tgi_control *c, tgi_ref ref);

/*
 * Traces a region: `callback` sees the fixed inputs from `first` on. Gives the
 * trace, still current, whose results are what it returned, or NULL. Closed
 * by tgi_control_close, which makes it graph number graphs.n.
 */
tg_trace *tgi_control_open(tgi_control *c, const char *name,
                           tg_callback *callback, void *user, size_t first);
bool tgi_control_close(tgi_control *c, tg_trace *t);

/*
 * Gives a result of a region that dtype, if it is a plain number; false if
 * its type is another in the end, which the caller reports.
 */
bool tgi_control_convert_result(tgi_control *c, tgi_graph *graph,
                                tgi_ref *result, tg_dtype dtype,
                                tgi_shape_ref shape);

/* Adds the node and writes its first n_results results. */
void tgi_control_finish(tgi_control *c, tgi_op op, size_t n_carried,
                        int64_t flags, tg_value *out_results,
                        size_t n_results);

/* The node for result `index` of a region, or TGI_RESULT_ITERATIONS or
   TGI_RESULT_STACK_BASE, in the graph it is in; 0 on failure (recorded). */
tgi_ref tgi_region_result(tgi_graph *graph, tgi_ref region, int64_t index);

#endif /* TGI_TRACE_REGION_H */

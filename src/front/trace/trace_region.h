/* SPDX-License-Identifier: MIT */
/*
 * trace_region.h - tracing of branches and loop bodies: graphs inside the graph
 * of a function, each recorded by its own trace, which knows the enclosing one.
 *
 * A value of an enclosing graph that a region's callback uses is captured: it
 * becomes a parameter of the region and an input of the node that owns it. All
 * regions of a node have the same parameters, so a capture of one becomes a
 * parameter of all.
 */
#ifndef TGI_TRACE_REGION_H
#define TGI_TRACE_REGION_H

#include "front/trace/trace_state.h"
#include "tgjit/function.h"

/* A SWITCH or LOOP under construction. */
typedef struct tgi_control {
    tgi_operation o;
    TGI_VEC(tgi_ref) inputs; /* of the node: fixed inputs, then captures */
    size_t n_fixed;
    bool has_arguments; /* fixed inputs are arguments of a call: numbers stay
                           weakly typed */
    TGI_VEC(tgi_graph *) graphs; /* retained */
} tgi_control;

/* False if there is no trace, or it has failed. Call end in any case. */
bool tgi_control_begin(tgi_control *c, const char *name, tg_site site);
void tgi_control_end(tgi_control *c);

/* Adds a fixed input; a ref of 0 stands for a failure (recorded). */
bool tgi_control_add_input(tgi_control *c, tgi_ref ref);

/*
 * Traces a region: `callback` gets the fixed inputs from `first` on. Returns
 * the trace, which is still current and holds the callback's results, or NULL.
 * tgi_control_close ends it and appends its graph.
 */
tg_trace *tgi_control_open(tgi_control *c, const char *name,
                           tg_callback *callback, void *user, size_t first);
bool tgi_control_close(tgi_control *c, tg_trace *t);

/*
 * Converts a weakly typed result of a region to `dtype`. False if its type then
 * still differs, which the caller reports.
 */
bool tgi_control_convert_result(tgi_control *c, tgi_graph *graph,
                                tgi_ref *result, tg_dtype dtype,
                                tgi_shape_ref shape);

/* Adds the node and writes its first n_results results. Failures stick to the
   trace. */
void tgi_control_finish(tgi_control *c, tgi_op op, size_t n_carried,
                        int64_t flags, tg_value *out_results,
                        size_t n_results);

/* Adds the RESULT node for result `index` of a region, or for
   TGI_RESULT_ITERATIONS or TGI_RESULT_STACK_BASE; 0 on failure (recorded). */
tgi_ref tgi_region_result(tgi_graph *graph, tgi_ref region, int64_t index);

#endif /* TGI_TRACE_REGION_H */

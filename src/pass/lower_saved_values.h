/* SPDX-License-Identifier: MIT */
/*
 * lower_saved_values.h - the end of tracing: what gradients have asked of loops becomes
 * what loops can do.
 *
 * While a function is traced, the body of a loop may have results behind those
 * it carries: they are kept for every trip, and RESULT nodes pick them, with
 * the trips in front of their axes; TGI_RESULT_ITERATIONS picks the number of
 * trips done. So something more can be asked of a loop that stands in the
 * graph already without any change to its inputs. When all is recorded, they
 * become carried values: a stack that the body puts one more into, and a
 * counter. What nobody picks is dropped.
 */
#ifndef TGI_LOWER_SAVED_VALUES_H
#define TGI_LOWER_SAVED_VALUES_H

#include "ir/graph.h"

/* The graph itself, retained, if there is nothing to do. */
tg_status tgi_graph_lower_saved(const tgi_graph *in, tgi_graph **out_graph);

#endif /* TGI_LOWER_SAVED_VALUES_H */

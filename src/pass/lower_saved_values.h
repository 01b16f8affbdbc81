/* SPDX-License-Identifier: MIT */
/*
 * lower_saved_values.h - the last step of tracing: lowers values that loops
 * save per iteration to carried values.
 *
 * While a function is traced, the body of a loop may have results beyond the
 * carried ones. These are saved for every iteration; a RESULT node that picks
 * one has the iterations as its first axis. TGI_RESULT_ITERATIONS picks the
 * number of iterations. So more values of an existing loop can be saved without
 * changing its inputs. Lowering turns each picked one into a carried stack that
 * the body pushes to, and the number of iterations into a carried counter;
 * others are dropped.
 */
#ifndef TGI_LOWER_SAVED_VALUES_H
#define TGI_LOWER_SAVED_VALUES_H

#include "ir/graph.h"

/* Returns `in` itself, retained, if there is nothing to lower. */
tg_status tgi_graph_lower_saved(const tgi_graph *in, tgi_graph **out_graph);

#endif /* TGI_LOWER_SAVED_VALUES_H */

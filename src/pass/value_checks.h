/* SPDX-License-Identifier: MIT */
/*
 * value_checks.h - makes a graph detect NaNs and infinities (TGJIT_CHECK), so
 * that compiled code, which does not store all values, can look for them.
 */
#ifndef TGI_VALUE_CHECKS_H
#define TGI_VALUE_CHECKS_H

#include "ir/graph.h"

/*
 * A copy of `in` that fails as an assert does if an operation has computed a
 * value of one of these kinds (TGI_CHECK_… of interp.h). It fails before the
 * next print, host call or loop, and at the latest at the end of the graph or
 * region. It may also fail if the value came from an operand: the caller runs
 * such a call again, interpreted, to decide. Where the graph does not fail, its
 * results and effects are those of `in`.
 */
tg_status tgi_graph_add_value_checks(const tgi_graph *in, unsigned kinds,
                                     tgi_graph **out_graph);

#endif /* TGI_VALUE_CHECKS_H */

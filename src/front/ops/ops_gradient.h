/* SPDX-License-Identifier: MIT */
/*
 * ops_gradient.h - gradients between nodes; shared by ops_gradient.c and
 * ops_derivative.c.
 */
#ifndef TGI_OPS_GRADIENT_H
#define TGI_OPS_GRADIENT_H

#include "gradient/gradient_tape.h"
#include "tgjit/gradient.h"

/*
 * Builds gradients of nodes of tape->graph in the graph of tape->t, where the
 * seeds already are. False after a failure, which sticks.
 */
bool tgi_gradients(tgi_tape *tape, const tgi_refs *targets,
                   const tgi_refs *seeds, const tgi_refs *sources,
                   tg_unconnected unconnected, tg_value *out_gradients);

#endif /* TGI_OPS_GRADIENT_H */

/* SPDX-License-Identifier: MIT */
/*
 * ops_gradient.h - gradients by nodes: between ops_gradient.c and
 * ops_derivative.c, which makes other derivatives of them.
 */
#ifndef TGI_OPS_GRADIENT_H
#define TGI_OPS_GRADIENT_H

#include "gradient/gradient_tape.h"
#include "tgjit/gradient.h"

/*
 * Gradients of nodes of tape->graph, in the graph of tape->t: seeds are there
 * already. False after a failure, which sticks.
 */
bool tgi_gradients(tgi_tape *tape, const tgi_refs *targets,
                   const tgi_refs *seeds, const tgi_refs *sources,
                   tg_unconnected unconnected, tg_value *out_gradients);

#endif /* TGI_OPS_GRADIENT_H */

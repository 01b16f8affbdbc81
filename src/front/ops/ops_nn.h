/* SPDX-License-Identifier: MIT */
/*
 * ops_nn.h - neural-network functions as part of other operations.
 */
#ifndef TGI_OPS_NN_H
#define TGI_OPS_NN_H

#include "build/build.h"

/* e * (1 / sum(e)) along the axis, where e = exp(x - max(x)); 0 on error. */
tgi_ref tgi_build_softmax(tgi_builder *b, tgi_ref x, int axis);
/* d - log(sum(exp(d))) along the axis, where d = x - max(x); 0 on error. */
tgi_ref tgi_build_log_softmax(tgi_builder *b, tgi_ref x, int axis);

#endif /* TGI_OPS_NN_H */

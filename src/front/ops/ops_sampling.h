/* SPDX-License-Identifier: MIT */
/*
 * ops_sampling.h - the weights of resampling, which tg_resize and
 * tg_grid_sample share.
 */
#ifndef TGI_OPS_SAMPLING_H
#define TGI_OPS_SAMPLING_H

#include "build/build.h"

enum { TGI_MAX_TAPS = 4 };

/* The elements whose weighted sum is a sample along one axis. */
typedef struct tgi_taps {
    int n;
    int offset[TGI_MAX_TAPS];     /* from floor(position) */
    tgi_ref weight[TGI_MAX_TAPS]; /* of the dtype of the position */
} tgi_taps;

/* Two taps of linear interpolation for the fraction `t` in [0, 1). */
tgi_taps tgi_build_linear_taps(tgi_builder *b, tgi_ref t);
/* Four taps of cubic interpolation; `a` is the parameter of the kernel. */
tgi_taps tgi_build_cubic_taps(tgi_builder *b, tgi_ref t, double a);

#endif /* TGI_OPS_SAMPLING_H */

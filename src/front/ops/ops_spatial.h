/* SPDX-License-Identifier: MIT */
/*
 * ops_spatial.h - what convolutions and pooling share: padding and layouts; and
 * convolutions as part of another operation.
 */
#ifndef TGI_OPS_SPATIAL_H
#define TGI_OPS_SPATIAL_H

#include "build/build.h"
#include "front/trace/trace_state.h"
#include "tgjit/ops_conv.h"

/* The spatial axes of an operand; arrays by spatial axis. */
typedef struct tgi_spatial {
    int first, n;
    const tgi_dim *window;
    const int64_t *stride, *dilation;
    tg_padding padding;
    const int64_t *low, *high; /* EXPLICIT */
} tgi_spatial;

/* Pads the spatial axes of x with `value`, as the padding demands; 0 and an
   error if it is invalid. */
tgi_ref tgi_build_spatial_pad(tgi_builder *b, tgi_ref x,
                              const tgi_spatial *spatial, tgi_ref value);
/* The same for one axis: its padding. */
bool tgi_build_spatial_padding(tgi_builder *b, tgi_dim extent,
                               const tgi_spatial *spatial, int i,
                               tgi_dim *out_low, tgi_dim *out_high);

/* Fails if it is neither of the two. */
bool tgi_build_check_layout(tgi_builder *b, tg_layout layout);
/* Moves the axis of channels from the second to the last place, and back. */
tgi_ref tgi_build_channels_last(tgi_builder *b, tgi_ref x);
tgi_ref tgi_build_channels_first(tgi_builder *b, tgi_ref x);

/* Copies the options; zeros become 1. False if one is invalid (recorded). */
bool tgi_conv_options_read(tgi_operation *o, const tg_conv_options *options,
                           tg_conv_options *out);
/* tg_conv with options that were read. */
tgi_ref tgi_build_spatial_conv(tgi_builder *b, tgi_ref x, tgi_ref w,
                               int n_spatial, const tg_conv_options *options);

#endif /* TGI_OPS_SPATIAL_H */

/* SPDX-License-Identifier: MIT */
/*
 * op_windows.h - the attributes that convolutions and pooling share.
 */
#ifndef TGI_OP_WINDOWS_H
#define TGI_OP_WINDOWS_H

#include "onnx_run.h"

/* By spatial axis. */
typedef struct tgi_onnx_windows {
    int n_spatial;
    int64_t extent[TG_MAX_SPATIAL]; /* of the operand; may be symbols */
    int64_t kernel[TG_MAX_SPATIAL], stride[TG_MAX_SPATIAL];
    int64_t dilation[TG_MAX_SPATIAL];
    tg_padding padding; /* SAME for unknown extents, else EXPLICIT */
    int64_t low[TG_MAX_SPATIAL], high[TG_MAX_SPATIAL];
    int64_t extra[TG_MAX_SPATIAL]; /* of `high`: what ceil_mode adds */
} tgi_onnx_windows;

/*
 * Reads the windows over x, which has channels first. Kernel extents are those
 * of the attribute, or else of the filters w, unless w is invalid. False with
 * the trace failed.
 */
bool tgi_onnx_read_windows(const tgi_onnx_call *c, tg_value x, tg_value w,
                           tgi_onnx_windows *out);

/* Extent of the axis that the windows give, for known extents. */
int64_t tgi_onnx_window_count(const tgi_onnx_windows *s, int axis);

/* Convolution with the windows of the node, without a bias. */
tg_value tgi_onnx_convolve(const tgi_onnx_call *c, tg_value x, tg_value w);

/* y + bias, one number per channel, which is axis 1. */
tg_value tgi_onnx_add_bias(const tgi_onnx_call *c, tg_value y, tg_value bias);

#endif /* TGI_OP_WINDOWS_H */

/* SPDX-License-Identifier: MIT */
/*
 * ops_conv.h - sliding windows, convolution and pooling.
 *
 * Options are given by name; what is omitted has its default:
 *
 *     tg_conv2d(x, w)
 *     tg_conv2d(x, w, .stride = {2, 2}, .padding = TG_PADDING_SAME)
 *     tg_max_pool(x, .window = {2, 2})
 */
#ifndef TGJIT_OPS_CONV_H
#define TGJIT_OPS_CONV_H

#include "ops.h"

TG_BEGIN_DECLS

/* Spatial axes, at most: all but those of examples and channels. */
#define TG_MAX_SPATIAL (TG_MAX_RANK - 2)

typedef enum tg_padding {
    TG_PADDING_VALID, /* none: windows lie within the operand */
    TG_PADDING_SAME,  /* ceil(extent / stride) windows, the operand centred */
    TG_PADDING_EXPLICIT /* `low` and `high` elements */
} tg_padding;

typedef enum tg_layout {
    TG_CHANNELS_LAST, /* NHWC; filters HWIO */
    TG_CHANNELS_FIRST /* NCHW; filters OIHW */
} tg_layout;

typedef struct tg_conv_options {
    size_t struct_bytes; /* set by the macros */
    /* By spatial axis; 0 means 1. */
    int64_t stride[TG_MAX_SPATIAL], dilation[TG_MAX_SPATIAL];
    tg_padding padding;
    int64_t low[TG_MAX_SPATIAL], high[TG_MAX_SPATIAL]; /* EXPLICIT */
    /* Channels and filters are divided into so many groups, which are convolved
       separately; 0 means 1. As many groups as channels: a depthwise
       convolution. */
    int64_t groups;
    tg_layout layout;
    /* The operand and the filters have so many leading axes in common, which
       are not convolved. CHANNELS_LAST and no groups only. */
    int batch;
} tg_conv_options;

/*
 * Convolution (cross-correlation, as in all frameworks) of examples with
 * n_spatial spatial axes; -1: as many as the operand has. Channels last:
 *
 *     x [example, spatial …, channel]
 *     w [spatial …, channel / groups, filter]
 *     result [example, spatial …, filter]
 *
 * Every element of the result is a sum in the order of a matrix product
 * (docs/NUMERICS.md), over the spatial axes of the window, then the channels.
 * Padding counts as zeros.
 */
TG_API tg_value tg_conv_at(tg_operand x, tg_operand w, int n_spatial,
                           const tg_conv_options *options, tg_site site);

/*
 * The transpose of tg_conv with the same options and filters: its gradient with
 * respect to the operand, x in place of the gradient. Filters have shape
 * [spatial …, filter, channel] (channels first: [channel, filter, spatial …]).
 * The extents of the result are (extent - 1) * stride + window - padding; SAME:
 * extent * stride.
 */
TG_API tg_value tg_conv_transpose_at(tg_operand x, tg_operand w, int n_spatial,
                                     const tg_conv_options *options, tg_site site);

typedef struct tg_pool_options {
    size_t struct_bytes; /* set by the macros */
    int64_t window[TG_MAX_SPATIAL];   /* by spatial axis; 0 means 1 */
    int64_t stride[TG_MAX_SPATIAL];   /* 0: as large as the window */
    int64_t dilation[TG_MAX_SPATIAL]; /* 0 means 1 */
    tg_padding padding;
    int64_t low[TG_MAX_SPATIAL], high[TG_MAX_SPATIAL]; /* EXPLICIT */
    bool counts_padding; /* tg_avg_pool: divide by the size of the window */
    double p;            /* tg_lp_pool: the exponent; 0 means 2 */
    tg_layout layout;
} tg_pool_options;

/* The maximum, the mean, and the p-norm of each window, over the spatial axes
   of x: all but the first and that of channels. */
TG_API tg_value tg_max_pool_at(tg_operand x, const tg_pool_options *options,
                               tg_site site);
TG_API tg_value tg_avg_pool_at(tg_operand x, const tg_pool_options *options,
                               tg_site site);
TG_API tg_value tg_lp_pool_at(tg_operand x, const tg_pool_options *options,
                              tg_site site);
/* The same over all spatial axes, which the result keeps with extent 1. */
TG_API tg_value tg_global_max_pool_at(tg_operand x, tg_layout layout,
                                      tg_site site);
TG_API tg_value tg_global_avg_pool_at(tg_operand x, tg_layout layout,
                                      tg_site site);

/*
 * Sliding windows over n axes, which must be different: element i of the
 * windows that start at multiples of `stride`, `dilation` elements apart. The
 * result has an axis of each at the end, in the order of `axes`. No element is
 * copied. `strides` or `dilations` may be NULL: all are 1.
 */
TG_API tg_value tg_windows_at(tg_operand x, int n, const int *axes,
                              const int64_t *sizes, const int64_t *strides,
                              const int64_t *dilations, tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define TG_CONV_(f, x, w, n, ...) \
    TG_CONV_2(f, TG_NEW_NAME(tgi_x_), TG_NEW_NAME(tgi_w_), x, w, n, \
              __VA_ARGS__)
#define TG_CONV_2(f, first, second, x, w, n, ...) \
    __extension__({ \
        tg_operand first = TG_IN(x); \
        tg_operand second = TG_IN(w); \
        f(first, second, n, \
          &(const tg_conv_options){.struct_bytes = sizeof(tg_conv_options), \
                                   __VA_ARGS__}, \
          TG_HERE); \
    })
#define tg_conv(x, w, ...) TG_CONV_(tg_conv_at, x, w, -1, __VA_ARGS__)
#define tg_conv1d(x, w, ...) TG_CONV_(tg_conv_at, x, w, 1, __VA_ARGS__)
#define tg_conv2d(x, w, ...) TG_CONV_(tg_conv_at, x, w, 2, __VA_ARGS__)
#define tg_conv3d(x, w, ...) TG_CONV_(tg_conv_at, x, w, 3, __VA_ARGS__)
#define tg_conv_transpose(x, w, ...) \
    TG_CONV_(tg_conv_transpose_at, x, w, -1, __VA_ARGS__)
#define tg_conv2d_transpose(x, w, ...) \
    TG_CONV_(tg_conv_transpose_at, x, w, 2, __VA_ARGS__)
#define TG_POOL_(f, x, ...) \
    f(TG_IN(x), \
      &(const tg_pool_options){.struct_bytes = sizeof(tg_pool_options), \
                               __VA_ARGS__}, \
      TG_HERE)
#define tg_max_pool(x, ...) TG_POOL_(tg_max_pool_at, x, __VA_ARGS__)
#define tg_avg_pool(x, ...) TG_POOL_(tg_avg_pool_at, x, __VA_ARGS__)
#define tg_lp_pool(x, ...) TG_POOL_(tg_lp_pool_at, x, __VA_ARGS__)
#define tg_global_max_pool(x, layout) \
    tg_global_max_pool_at(TG_IN(x), layout, TG_HERE)
#define tg_global_avg_pool(x, layout) \
    tg_global_avg_pool_at(TG_IN(x), layout, TG_HERE)
/* tg_windows(x, n, axes, sizes, strides, dilations) */
#define tg_windows(x, ...) tg_windows_at(TG_IN(x), __VA_ARGS__, TG_HERE)
#else
inline tg_value tg_conv(tg_in x, tg_in w, tg_conv_options options = {},
                        tg_site site = TG_HERE)
{
    options.struct_bytes = sizeof(options);
    return tg_conv_at(x, w, -1, &options, site);
}
inline tg_value tg_conv1d(tg_in x, tg_in w, tg_conv_options options = {},
                          tg_site site = TG_HERE)
{
    options.struct_bytes = sizeof(options);
    return tg_conv_at(x, w, 1, &options, site);
}
inline tg_value tg_conv2d(tg_in x, tg_in w, tg_conv_options options = {},
                          tg_site site = TG_HERE)
{
    options.struct_bytes = sizeof(options);
    return tg_conv_at(x, w, 2, &options, site);
}
inline tg_value tg_conv3d(tg_in x, tg_in w, tg_conv_options options = {},
                          tg_site site = TG_HERE)
{
    options.struct_bytes = sizeof(options);
    return tg_conv_at(x, w, 3, &options, site);
}
inline tg_value tg_conv_transpose(tg_in x, tg_in w,
                                  tg_conv_options options = {},
                                  tg_site site = TG_HERE)
{
    options.struct_bytes = sizeof(options);
    return tg_conv_transpose_at(x, w, -1, &options, site);
}
inline tg_value tg_conv2d_transpose(tg_in x, tg_in w,
                                    tg_conv_options options = {},
                                    tg_site site = TG_HERE)
{
    options.struct_bytes = sizeof(options);
    return tg_conv_transpose_at(x, w, 2, &options, site);
}
inline tg_value tg_max_pool(tg_in x, tg_pool_options options = {},
                            tg_site site = TG_HERE)
{
    options.struct_bytes = sizeof(options);
    return tg_max_pool_at(x, &options, site);
}
inline tg_value tg_avg_pool(tg_in x, tg_pool_options options = {},
                            tg_site site = TG_HERE)
{
    options.struct_bytes = sizeof(options);
    return tg_avg_pool_at(x, &options, site);
}
inline tg_value tg_lp_pool(tg_in x, tg_pool_options options = {},
                           tg_site site = TG_HERE)
{
    options.struct_bytes = sizeof(options);
    return tg_lp_pool_at(x, &options, site);
}
inline tg_value tg_global_max_pool(tg_in x,
                                   tg_layout layout = TG_CHANNELS_LAST,
                                   tg_site site = TG_HERE)
{
    return tg_global_max_pool_at(x, layout, site);
}
inline tg_value tg_global_avg_pool(tg_in x,
                                   tg_layout layout = TG_CHANNELS_LAST,
                                   tg_site site = TG_HERE)
{
    return tg_global_avg_pool_at(x, layout, site);
}
inline tg_value tg_windows(tg_in x, int n, const int *axes,
                           const int64_t *sizes,
                           const int64_t *strides = nullptr,
                           const int64_t *dilations = nullptr,
                           tg_site site = TG_HERE)
{
    return tg_windows_at(x, n, axes, sizes, strides, dilations, site);
}
#endif

#endif /* TGJIT_OPS_CONV_H */

/* SPDX-License-Identifier: MIT */
/*
 * ops_resize.h - resampling: images of another size, and images sampled at any
 * positions. Composed of gathers and weighted sums; gradients flow to the
 * elements and, for tg_grid_sample, to the positions.
 *
 *     tg_resize(x, TG_AXES(1, 2), TG_DIMS(64, 64))               nearest
 *     tg_resize(x, TG_AXES(1, 2), TG_DIMS(64, 64), .mode = TG_RESIZE_LINEAR)
 */
#ifndef TGJIT_OPS_RESIZE_H
#define TGJIT_OPS_RESIZE_H

#include "ops.h"

TG_BEGIN_DECLS

typedef enum tg_resize_mode {
    TG_RESIZE_NEAREST,
    TG_RESIZE_LINEAR, /* of the two nearest elements along each axis */
    TG_RESIZE_CUBIC   /* of the four nearest; Keys' kernel */
} tg_resize_mode;

/*
 * The position in x, of extent n, of element i of the result, of extent m and
 * scale s = m / n, or as given.
 */
typedef enum tg_resize_position {
    TG_POSITION_HALF_PIXEL,         /* (i + 0.5) / s - 0.5 */
    TG_POSITION_PYTORCH_HALF_PIXEL, /* the same; 0 if m is 1 */
    TG_POSITION_ASYMMETRIC,         /* i / s */
    TG_POSITION_ALIGN_CORNERS,      /* i * (n - 1) / (n * s - 1); 0 if m is 1 */
    TG_POSITION_HALF_PIXEL_NN,      /* (i + 0.5) / s, for NEAREST_FLOOR */
    TG_POSITION_CROP /* `crop_start` to `crop_end`, fractions of n - 1 */
} tg_resize_position;

typedef enum tg_nearest {
    TG_NEAREST_ROUND_PREFER_FLOOR, /* halves down */
    TG_NEAREST_ROUND_PREFER_CEIL,  /* halves up */
    TG_NEAREST_FLOOR,
    TG_NEAREST_CEIL
} tg_nearest;

typedef struct tg_resize_options {
    size_t struct_bytes; /* set by the macros */
    tg_resize_mode mode;
    tg_resize_position position;
    tg_nearest nearest;
    double cubic_a;        /* of Keys' kernel; 0 means -0.75 */
    bool excludes_outside; /* elements beyond the ends get weight 0, and the
                              others are scaled up; else the ends extend */
    /* In the order of the axes. 0 means the ratio of the extents. */
    double scale[TG_MAX_RANK];
    double crop_start[TG_MAX_RANK], crop_end[TG_MAX_RANK]; /* CROP */
    double outside; /* CROP: the result at positions outside of x */
} tg_resize_options;

/*
 * Resamples x along axes, to the extents `sizes`, one per axis in their order.
 * LINEAR and CUBIC need float dtypes. Positions and weights are computed in
 * f64; the sums of one axis after the other, in the dtype of x.
 */
TG_API tg_value tg_resize_at(tg_operand x, tg_axes axes, int n_sizes,
                             const int64_t *sizes,
                             const tg_resize_options *options, tg_site site);

/* -- Sampling at given positions ------------------------------------------- */

typedef enum tg_sample_outside {
    TG_SAMPLE_ZEROS,     /* elements outside of x are 0 */
    TG_SAMPLE_BORDER,    /* positions are clamped to x */
    TG_SAMPLE_REFLECTION /* positions are reflected at the ends of x */
} tg_sample_outside;

typedef struct tg_sample_options {
    size_t struct_bytes; /* set by the macros */
    tg_resize_mode mode; /* as TG_RESIZE_…; nearest takes halves to even */
    tg_sample_outside outside;
    /* -1 and 1 are the centres of the first and the last element; else their
       outer edges. */
    bool aligns_corners;
} tg_sample_options;

/*
 * Samples x [n, channel, spatial …] at the positions `grid` [n, place …,
 * n_spatial]: n positions per place, from -1 to 1, that of the last spatial
 * axis first. The result is [n, channel, place …]. One to three spatial axes.
 */
TG_API tg_value tg_grid_sample_at(tg_operand x, tg_operand grid,
                                  const tg_sample_options *options,
                                  tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define tg_resize(x, axes, sizes, ...) \
    TG_RESIZE_(x, axes, sizes, .struct_bytes = sizeof(tg_resize_options), \
               __VA_ARGS__)
#define TG_RESIZE_(x, axes, n_sizes, sizes, ...) \
    tg_resize_at(TG_IN(x), axes, n_sizes, sizes, \
                 &(const tg_resize_options){__VA_ARGS__}, TG_HERE)
#define tg_grid_sample(x, grid, ...) \
    tg_grid_sample_at( \
        TG_IN(x), TG_IN(grid), \
        &(const tg_sample_options){.struct_bytes = sizeof(tg_sample_options), \
                                   __VA_ARGS__}, \
        TG_HERE)
#else
inline tg_value tg_resize(tg_in x, tg_axes axes, tg_dims sizes,
                          tg_resize_options options = {},
                          tg_site site = TG_HERE)
{
    options.struct_bytes = sizeof(options);
    return tg_resize_at(x, axes, (int)sizes.size(), sizes.begin(), &options,
                        site);
}
inline tg_value tg_grid_sample(tg_in x, tg_in grid,
                               tg_sample_options options = {},
                               tg_site site = TG_HERE)
{
    options.struct_bytes = sizeof(options);
    return tg_grid_sample_at(x, grid, &options, site);
}
#endif

#endif /* TGJIT_OPS_RESIZE_H */

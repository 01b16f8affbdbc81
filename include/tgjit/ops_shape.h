/* SPDX-License-Identifier: MIT */
/*
 * ops_shape.h - shapes, order and repetition of elements, and constants with a
 * pattern, composed of the operations of ops.h. Negative axes count from the
 * last.
 */
#ifndef TGJIT_OPS_SHAPE_H
#define TGJIT_OPS_SHAPE_H

#include "ops.h"

TG_BEGIN_DECLS

/* -- Axes ------------------------------------------------------------------ */

/* Merges the axes `first` to `last`, both included, into one. A scalar becomes
   a vector of one element. */
TG_API tg_value tg_flatten_at(tg_operand x, int first, int last, tg_site site);

/* Removes axes, whose extents must be 1. TG_ALL_AXES: all with extent 1, which
   must be known while tracing. */
TG_API tg_value tg_squeeze_at(tg_operand x, tg_axes axes, tg_site site);

/* Inserts an axis of extent 1; axis -1 makes it the last of the result. */
TG_API tg_value tg_expand_dims_at(tg_operand x, int axis, tg_site site);

/*
 * Cuts x along an axis and writes the parts to out_parts. `sizes` are their
 * extents, which must add up to that of the axis; NULL: equal parts. An unknown
 * extent is checked at the call. On failure all parts are invalid.
 */
TG_API void tg_split_at(tg_operand x, int axis, size_t n_parts,
                        const int64_t *sizes, tg_value *out_parts,
                        tg_site site);

/* -- Order and repetition -------------------------------------------------- */

/* Reverses the order of elements along axes. */
TG_API tg_value tg_reverse_at(tg_operand x, tg_axes axes, tg_site site);

/*
 * Reverses the first lengths[i] elements along `sequence_axis` of slice i of
 * `batch_axis`. Lengths are integers, one per slice; they are clamped to the
 * extent.
 */
TG_API tg_value tg_reverse_sequence_at(tg_operand x, tg_operand lengths,
                                       int batch_axis, int sequence_axis,
                                       tg_site site);

/* The whole of x, repeats[i] times along axis i; one number per axis. */
TG_API tg_value tg_tile_at(tg_operand x, int n_repeats, const int64_t *repeats,
                           tg_site site);

/* Each element along an axis `repeats` times in succession. */
TG_API tg_value tg_repeat_at(tg_operand x, int64_t repeats, int axis,
                             tg_site site);

/* Elements around those of x, as tg_pad, taken from x itself. */
typedef enum tg_pad_kind {
    TG_PAD_EDGE = 0,      /* the first and the last: a a a [a b c d] d d d */
    TG_PAD_REFLECT = 1,   /* mirrored at them:       d c b [a b c d] c b a */
    TG_PAD_SYMMETRIC = 2, /* mirrored with them:     c b a [a b c d] d c b */
    TG_PAD_WRAP = 3       /* from the other end:     b c d [a b c d] a b c */
} tg_pad_kind;

/* Any number of elements; an empty axis is an error. The second form takes one
   low and one high per axis, for the first axes of x. */
TG_API tg_value tg_pad_from_at(tg_operand x, int axis, int64_t low,
                               int64_t high, tg_pad_kind kind, tg_site site);
TG_API tg_value tg_pad_from_axes_at(tg_operand x, int n_low, const int64_t *low,
                                    int n_high, const int64_t *high,
                                    tg_pad_kind kind, tg_site site);

/* -- Blocks ---------------------------------------------------------------- */

typedef enum tg_block_flags {
    TG_BLOCK_CHANNELS_LAST = 0,
    TG_BLOCK_CHANNELS_FIRST = 1,
    /* The channel is the slower part of an index of depth; else the position
       in the block is. */
    TG_BLOCK_CHANNEL_MAJOR = 2
} tg_block_flags;

/*
 * Moves groups of block * block channels into blocks of two spatial axes, and
 * back: [n, h, w, c * block²] and [n, h * block, w * block, c].
 */
TG_API tg_value tg_depth_to_space_at(tg_operand x, int64_t block,
                                     unsigned flags, tg_site site);
TG_API tg_value tg_space_to_depth_at(tg_operand x, int64_t block,
                                     unsigned flags, tg_site site);

/* -- Constants with a pattern ---------------------------------------------- */

/* start, start + step, … before stop: element i is start + i * step, for halves
   rounded once. Integer dtypes need integral numbers. The dtype must be able to
   hold start, step and the last element. */
TG_API tg_value tg_arange_at(tg_dtype dtype, double start, double stop,
                             double step, tg_site site);

/* `n` numbers at equal distances, of which the first is `start` and the last
   `stop`: float scalars of one dtype. */
TG_API tg_value tg_linspace_at(tg_operand start, tg_operand stop, int64_t n,
                               tg_site site);

/* 1 where column - row is `diagonal`, else 0. */
TG_API tg_value tg_eye_at(tg_dtype dtype, int64_t n_rows, int64_t n_columns,
                          int64_t diagonal, tg_site site);

/* Bool, true where column - row <= diagonal. */
TG_API tg_value tg_triangle_at(int64_t n_rows, int64_t n_columns,
                               int64_t diagonal, tg_site site);

/* The matrices of the last two axes with zeros above (tril) or below (triu) the
   diagonal; `diagonal` counts upwards. */
TG_API tg_value tg_tril_at(tg_operand x, int64_t diagonal, tg_site site);
TG_API tg_value tg_triu_at(tg_operand x, int64_t diagonal, tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define tg_flatten(x, first, last) tg_flatten_at(TG_IN(x), first, last, TG_HERE)
#define tg_squeeze(x, axes) tg_squeeze_at(TG_IN(x), axes, TG_HERE)
#define tg_expand_dims(x, axis) tg_expand_dims_at(TG_IN(x), axis, TG_HERE)
#define tg_split(x, axis, out_parts, n_parts) \
    tg_split_at(TG_IN(x), axis, n_parts, NULL, out_parts, TG_HERE)
#define tg_split_sizes(x, axis, sizes, out_parts, n_parts) \
    tg_split_at(TG_IN(x), axis, n_parts, sizes, out_parts, TG_HERE)
#define tg_reverse(x, axes) tg_reverse_at(TG_IN(x), axes, TG_HERE)
#define tg_reverse_sequence(x, lengths, batch_axis, sequence_axis) \
    tg_reverse_sequence_at(TG_IN(x), TG_IN(lengths), batch_axis, \
                           sequence_axis, TG_HERE)
#define tg_tile(x, ...) tg_tile_at(TG_IN(x), __VA_ARGS__, TG_HERE)
#define tg_repeat(x, repeats, axis) \
    tg_repeat_at(TG_IN(x), repeats, axis, TG_HERE)
#define tg_pad_from(x, axis, low, high, kind) \
    tg_pad_from_at(TG_IN(x), axis, low, high, kind, TG_HERE)
/* low and high are TG_DIMS. */
#define tg_pad_from_axes(x, low, high, kind) \
    tg_pad_from_axes_at(TG_IN(x), low, high, kind, TG_HERE)
#define tg_depth_to_space(x, block, flags) \
    tg_depth_to_space_at(TG_IN(x), block, flags, TG_HERE)
#define tg_space_to_depth(x, block, flags) \
    tg_space_to_depth_at(TG_IN(x), block, flags, TG_HERE)
#define tg_arange(dtype, start, stop, step) \
    tg_arange_at(dtype, start, stop, step, TG_HERE)
#define tg_linspace(start, stop, n) \
    tg_linspace_at(TG_IN(start), TG_IN(stop), n, TG_HERE)
#define tg_eye(dtype, n_rows, n_columns, diagonal) \
    tg_eye_at(dtype, n_rows, n_columns, diagonal, TG_HERE)
#define tg_triangle(n_rows, n_columns, diagonal) \
    tg_triangle_at(n_rows, n_columns, diagonal, TG_HERE)
#define tg_tril(x, diagonal) tg_tril_at(TG_IN(x), diagonal, TG_HERE)
#define tg_triu(x, diagonal) tg_triu_at(TG_IN(x), diagonal, TG_HERE)
#else
inline tg_value tg_flatten(tg_in x, int first, int last, tg_site site = TG_HERE)
{
    return tg_flatten_at(x, first, last, site);
}
TG_DEFINE_REDUCTION(squeeze)
TG_DEFINE_BY_AXIS(expand_dims)
inline void tg_split(tg_in x, int axis, tg_value *out_parts, size_t n_parts,
                     tg_site site = TG_HERE)
{
    tg_split_at(x, axis, n_parts, nullptr, out_parts, site);
}
inline void tg_split_sizes(tg_in x, int axis, const int64_t *sizes,
                           tg_value *out_parts, size_t n_parts,
                           tg_site site = TG_HERE)
{
    tg_split_at(x, axis, n_parts, sizes, out_parts, site);
}
TG_DEFINE_REDUCTION(reverse)
inline tg_value tg_reverse_sequence(tg_in x, tg_in lengths, int batch_axis,
                                    int sequence_axis, tg_site site = TG_HERE)
{
    return tg_reverse_sequence_at(x, lengths, batch_axis, sequence_axis, site);
}
TG_DEFINE_BY_DIMS(tile)
inline tg_value tg_repeat(tg_in x, int64_t repeats, int axis,
                          tg_site site = TG_HERE)
{
    return tg_repeat_at(x, repeats, axis, site);
}
inline tg_value tg_pad_from(tg_in x, int axis, int64_t low, int64_t high,
                            tg_pad_kind kind, tg_site site = TG_HERE)
{
    return tg_pad_from_at(x, axis, low, high, kind, site);
}
inline tg_value tg_pad_from_axes(tg_in x, tg_dims low, tg_dims high,
                                 tg_pad_kind kind, tg_site site = TG_HERE)
{
    return tg_pad_from_axes_at(x, (int)low.size(), low.begin(),
                               (int)high.size(), high.begin(), kind, site);
}
inline tg_value tg_depth_to_space(tg_in x, int64_t block, unsigned flags,
                                  tg_site site = TG_HERE)
{
    return tg_depth_to_space_at(x, block, flags, site);
}
inline tg_value tg_space_to_depth(tg_in x, int64_t block, unsigned flags,
                                  tg_site site = TG_HERE)
{
    return tg_space_to_depth_at(x, block, flags, site);
}
inline tg_value tg_arange(tg_dtype dtype, double start, double stop,
                          double step, tg_site site = TG_HERE)
{
    return tg_arange_at(dtype, start, stop, step, site);
}
inline tg_value tg_linspace(tg_in start, tg_in stop, int64_t n,
                            tg_site site = TG_HERE)
{
    return tg_linspace_at(start, stop, n, site);
}
inline tg_value tg_eye(tg_dtype dtype, int64_t n_rows, int64_t n_columns,
                       int64_t diagonal, tg_site site = TG_HERE)
{
    return tg_eye_at(dtype, n_rows, n_columns, diagonal, site);
}
inline tg_value tg_triangle(int64_t n_rows, int64_t n_columns, int64_t diagonal,
                            tg_site site = TG_HERE)
{
    return tg_triangle_at(n_rows, n_columns, diagonal, site);
}
inline tg_value tg_tril(tg_in x, int64_t diagonal, tg_site site = TG_HERE)
{
    return tg_tril_at(x, diagonal, site);
}
inline tg_value tg_triu(tg_in x, int64_t diagonal, tg_site site = TG_HERE)
{
    return tg_triu_at(x, diagonal, site);
}
#endif

#endif /* TGJIT_OPS_SHAPE_H */

/* SPDX-License-Identifier: MIT */
/*
 * op_shape.c - shapes, order and repetition of elements.
 */
#include "onnx_known.h"

/* -- Extents as values ----------------------------------------------------- */

/* The dims of x from `start` to `end`, which count from the last if negative. */
void tgi_onnx_build_shape(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const int64_t rank = tgi_onnx_in_rank(c, 0);
    int64_t start = tgi_onnx_int(c, "start", 0);
    int64_t end = tgi_onnx_int(c, "end", rank);
    tgi_onnx_extents dims = {.dtype = TG_I64, .rank = 1, .n = 0};
    start += start < 0 ? rank : 0;
    end += end < 0 ? rank : 0;
    start = start < 0 ? 0 : start;
    end = end > rank ? rank : end;
    for (int64_t i = start; i < end; i++)
        dims.e[dims.n++] = tgi_onnx_extent_of(tg_value_dim(x, (int)i));
    if (!tgi_onnx_failed(c))
        tgi_onnx_out_extents(c, 0, &dims);
}

void tgi_onnx_build_size(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    tgi_onnx_extents size = {.dtype = TG_I64, .n = 1, .e = {{1, false}}};
    bool is_known = true;
    for (int i = 0; i < tgi_onnx_in_rank(c, 0); i++)
        is_known &= tgi_onnx_extent_mul(
            size.e[0], tgi_onnx_extent_of(tg_value_dim(x, i)), c->site,
            &size.e[0]);
    if (!tgi_onnx_failed(c) && is_known)
        tgi_onnx_out_extents(c, 0, &size);
}

/* -- Shapes ---------------------------------------------------------------- */

/* A dim of 0 is that of x, unless allowzero; -1 is inferred. */
void tgi_onnx_build_reshape(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    int64_t dims[TG_MAX_RANK];
    tgi_onnx_extents shape = {.n = 0};
    size_t n;
    if (tgi_onnx_has(c, 1)) {
        if (!tgi_onnx_known_extents(c, 1, &shape))
            return;
    } else {
        const int64_t *ints = tgi_onnx_ints(c, "shape", &n);
        for (; shape.n < n && shape.n < TG_MAX_RANK; shape.n++)
            shape.e[shape.n] = (tgi_onnx_extent){.n = ints[shape.n]};
    }
    if (shape.n > TG_MAX_RANK) {
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "%zu axes; the maximum is %d",
                      shape.n, TG_MAX_RANK);
        return;
    }
    const bool allow_zero = tgi_onnx_int(c, "allowzero", 0);
    for (size_t i = 0; i < shape.n; i++) {
        dims[i] = shape.e[i].n;
        if (shape.e[i].is_symbol || dims[i] > 0)
            continue;
        if (dims[i] < -1)
            tgi_onnx_fail(c, TG_ERROR_SHAPE, "dim %zu is %lld", i,
                          (long long)dims[i]);
        if (dims[i] == 0 && !allow_zero)
            dims[i] = tg_value_dim(x, tgi_onnx_axis(c, (int64_t)i,
                                                    tgi_onnx_in_rank(c, 0)));
    }
    tgi_onnx_out(c, 0, tg_reshape_at(TG_IN(x), (int)shape.n, dims, c->site));
}

/* A matrix, whose columns begin at the axis. */
void tgi_onnx_build_flatten(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const int rank = tgi_onnx_in_rank(c, 0);
    int64_t axis = tgi_onnx_int(c, "axis", 1);
    tgi_onnx_extent sides[2] = {{.n = 1}, {.n = 1}};
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis > rank) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "axis %lld of %d axes",
                      (long long)axis, rank);
        return;
    }
    for (int i = 0; i < rank; i++) {
        tgi_onnx_extent *side = &sides[i >= axis];
        tgi_onnx_extent_mul(*side, tgi_onnx_extent_of(tg_value_dim(x, i)),
                            c->site, side);
    }
    tgi_onnx_out(c, 0,
                 tg_reshape_at(TG_IN(x), 2,
                               (const int64_t[]){sides[0].n, sides[1].n},
                               c->site));
}

void tgi_onnx_build_squeeze(const tgi_onnx_call *c)
{
    const int rank = tgi_onnx_in_rank(c, 0);
    size_t n;
    int axis[TG_MAX_RANK];
    const int64_t *axes = tgi_onnx_ints_of(c, "axes", 1, &n);
    if (n > TG_MAX_RANK)
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "%zu axes", n);
    for (size_t i = 0; i < n && i < TG_MAX_RANK; i++)
        axis[i] = tgi_onnx_axis(c, axes[i], rank);
    if (!tgi_onnx_failed(c))
        tgi_onnx_out(c, 0,
                     tg_squeeze_at(TG_IN(tgi_onnx_in(c, 0)),
                                   axes ? tg_axes_of(n, axis) : TG_ALL_AXES,
                                   c->site));
}

void tgi_onnx_build_unsqueeze(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    size_t n;
    int64_t dims[TG_MAX_RANK];
    bool is_new[TG_MAX_RANK] = {false};
    const int64_t *axes = tgi_onnx_ints_of(c, "axes", 1, &n);
    const int rank = tgi_onnx_in_rank(c, 0) + (int)n;
    if (rank > TG_MAX_RANK) {
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "%d axes; the maximum is %d",
                      rank, TG_MAX_RANK);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const int axis = tgi_onnx_axis(c, axes[i], rank);
        if (is_new[axis])
            tgi_onnx_fail(c, TG_ERROR_SHAPE, "axis %d is inserted twice", axis);
        is_new[axis] = true;
    }
    for (int i = 0, from = 0; i < rank; i++)
        dims[i] = is_new[i] ? 1 : tg_value_dim(x, from++);
    tgi_onnx_out(c, 0, tg_reshape_at(TG_IN(x), rank, dims, c->site));
}

void tgi_onnx_build_transpose(const tgi_onnx_call *c)
{
    const int rank = tgi_onnx_in_rank(c, 0);
    int perm[TG_MAX_RANK];
    size_t n;
    const int64_t *given = tgi_onnx_ints(c, "perm", &n);
    if (given && n != (size_t)rank) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "perm has %zu axes, the input %d", n,
                      rank);
        return;
    }
    for (int i = 0; i < rank; i++)
        perm[i] = given ? tgi_onnx_axis(c, given[i], rank) : rank - 1 - i;
    tgi_onnx_out(c, 0, tg_transpose_at(TG_IN(tgi_onnx_in(c, 0)), rank, perm,
                                       c->site));
}

/* The shape broadcasts with that of x. */
void tgi_onnx_build_expand(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    int64_t dims[TG_MAX_RANK], own[TG_MAX_RANK];
    tgi_onnx_extents shape;
    const int own_rank = tgi_onnx_dims(x, own);
    if (!tgi_onnx_known_extents(c, 1, &shape))
        return;
    const int rank = (int)shape.n > own_rank ? (int)shape.n : own_rank;
    if (rank > TG_MAX_RANK) {
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "%d axes; the maximum is %d",
                      rank, TG_MAX_RANK);
        return;
    }
    for (int i = 0; i < rank; i++) {
        const int from = i - (rank - own_rank), to = i - (rank - (int)shape.n);
        const int64_t here = from >= 0 ? own[from] : 1;
        dims[i] = to >= 0 && (shape.e[to].is_symbol || shape.e[to].n != 1)
                      ? shape.e[to].n
                      : here;
    }
    tgi_onnx_out(c, 0, tg_broadcast_at(TG_IN(x), rank, dims, c->site));
}

/* -- Putting together and taking apart ------------------------------------- */

void tgi_onnx_build_concat(const tgi_onnx_call *c)
{
    const size_t n = c->node->n_inputs;
    tg_operand *parts =
        tgi_onnx_alloc(&c->frame->shared->arena, n, sizeof(*parts));
    if (!parts) {
        tgi_onnx_fail(c, TG_ERROR_OUT_OF_MEMORY, "out of memory");
        return;
    }
    for (size_t i = 0; i < n; i++)
        parts[i] = TG_IN(tgi_onnx_in(c, i));
    const int axis = tgi_onnx_axis(c, tgi_onnx_int(c, "axis", 1),
                                   tgi_onnx_in_rank(c, 0));
    tgi_onnx_out(c, 0, tg_concat_at(axis, parts, n, c->site));
}

/* Sizes are given, or equal; the last of `num_outputs` may be smaller. */
void tgi_onnx_build_split(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const size_t n = c->node->n_outputs;
    const int axis = tgi_onnx_axis(c, tgi_onnx_int(c, "axis", 0),
                                   tgi_onnx_in_rank(c, 0));
    const int64_t extent = tg_value_dim(x, axis);
    size_t n_sizes;
    const int64_t *sizes = tgi_onnx_ints_of(c, "split", 1, &n_sizes);
    tgi_onnx_arena *arena = &c->frame->shared->arena;
    tg_value *parts = tgi_onnx_alloc(arena, n + 1, sizeof(*parts));
    int64_t *equal = tgi_onnx_alloc(arena, n + 1, sizeof(*equal));
    if (!parts || !equal) {
        tgi_onnx_fail(c, TG_ERROR_OUT_OF_MEMORY, "out of memory");
        return;
    }
    if (n_sizes && n_sizes != n) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "%zu sizes for %zu outputs", n_sizes,
                      n);
        return;
    }
    if (!n_sizes && tg_dim_is_known(extent) && n) {
        const int64_t part = (extent + (int64_t)n - 1) / (int64_t)n;
        for (size_t i = 0; i < n; i++) {
            const int64_t left = extent - (int64_t)i * part;
            equal[i] = left < 0 ? 0 : left < part ? left : part;
        }
        sizes = equal;
        n_sizes = n;
    }
    tg_split_at(TG_IN(x), axis, n, n_sizes ? sizes : NULL, parts, c->site);
    for (size_t i = 0; i < n; i++)
        tgi_onnx_out(c, i, parts[i]);
}

/* Before opset 6 one axis is tiled. */
void tgi_onnx_build_tile(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const int rank = tgi_onnx_in_rank(c, 0);
    int64_t along[TG_MAX_RANK];
    size_t n;
    const int64_t *repeats;
    if (c->opset < 6) {
        const int64_t count = tgi_onnx_known_int(c, 1);
        const int axis = tgi_onnx_axis(c, tgi_onnx_known_int(c, 2), rank);
        for (int i = 0; i < rank; i++)
            along[i] = i == axis ? count : 1;
        repeats = along;
        n = (size_t)rank;
    } else {
        repeats = tgi_onnx_known_ints(c, 1, &n);
    }
    if (!tgi_onnx_failed(c))
        tgi_onnx_out(c, 0, tg_tile_at(TG_IN(x), (int)n, repeats, c->site));
}

/* -- Order ----------------------------------------------------------------- */

void tgi_onnx_build_reverse_sequence(const tgi_onnx_call *c)
{
    const int rank = tgi_onnx_in_rank(c, 0);
    const int batch = tgi_onnx_axis(c, tgi_onnx_int(c, "batch_axis", 1), rank);
    const int time = tgi_onnx_axis(c, tgi_onnx_int(c, "time_axis", 0), rank);
    tgi_onnx_out(c, 0,
                 tg_reverse_sequence_at(TG_IN(tgi_onnx_in(c, 0)),
                                        TG_IN(tgi_onnx_in(c, 1)), batch, time,
                                        c->site));
}

void tgi_onnx_build_depth_to_space(const tgi_onnx_call *c)
{
    const unsigned flags =
        TG_BLOCK_CHANNELS_FIRST |
        (tgi_onnx_is(c, "mode", "CRD", "DCR") ? TG_BLOCK_CHANNEL_MAJOR : 0);
    tgi_onnx_out(c, 0,
                 tg_depth_to_space_at(TG_IN(tgi_onnx_in(c, 0)),
                                      tgi_onnx_int(c, "blocksize", 1), flags,
                                      c->site));
}

void tgi_onnx_build_space_to_depth(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0,
                 tg_space_to_depth_at(TG_IN(tgi_onnx_in(c, 0)),
                                      tgi_onnx_int(c, "blocksize", 1),
                                      TG_BLOCK_CHANNELS_FIRST, c->site));
}

void tgi_onnx_build_trilu(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const int64_t k = tgi_onnx_has(c, 1) ? tgi_onnx_known_int(c, 1) : 0;
    tgi_onnx_out(c, 0,
                 tgi_onnx_int(c, "upper", 1)
                     ? tg_triu_at(TG_IN(x), k, c->site)
                     : tg_tril_at(TG_IN(x), k, c->site));
}

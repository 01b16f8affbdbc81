/* SPDX-License-Identifier: MIT */
/*
 * random_graph_make_shape.c - leaves, and ops that move elements: views, pads,
 * concats, gathers.
 */
#include <string.h>

#include "random/random_graph.h"

/* -- Leaves ---------------------------------------------------------------- */

/* Parameters exist from the start; names one, or another value. */
void rg_make_param(rg_maker *m, tgi_op op)
{
    rg_make_name(m, op);
}

void rg_make_name(rg_maker *m, tgi_op op)
{
    (void)op;
    static const char *const names[] = {"x", "loss", "a b", "\"\\\n"};
    rg_operand x = rg_pick_value(m);
    const char *name = names[rg_below(&m->bytes, 4)];
    (void)RG_DO(m, tg_name(x.operand.as.value, name));
}

void rg_make_constant(rg_maker *m, tgi_op op)
{
    (void)op;
    tg_dtype dtype = rg_take_dtype(&m->bytes, TGI_CLASS_ANY);
    rg_constant(m, rg_take_shape(m, dtype, 0));
}

void rg_make_typed_scalar(rg_maker *m, tgi_op op)
{
    (void)op;
    tg_dtype dtype = rg_take_dtype(&m->bytes, TGI_CLASS_ANY);
    rg_operand number = rg_immediate(m, dtype);
    rg_keep(m, (rg_type){.dtype = (uint8_t)dtype},
            RG_DO(m, tg_scalar(dtype, number.operand)));
}

/* Extents of another value, or random ones. */
static rg_type take_dims(rg_maker *m, tg_dtype dtype, int least_rank,
                         int64_t *out_dims)
{
    rg_operand like = rg_pick_value(m);
    if (like.type.rank < least_rank || rg_below(&m->bytes, 2)) {
        rg_type type = rg_take_shape(m, dtype, least_rank);
        memcpy(out_dims, type.dims, sizeof(type.dims));
        return type;
    }
    rg_type type = like.type;
    type.dtype = (uint8_t)dtype;
    type.is_weak = false;
    for (int i = 0; i < type.rank; i++)
        out_dims[i] = rg_dim(m, &like, i);
    return type;
}

void rg_make_iota(rg_maker *m, tgi_op op)
{
    (void)op;
    tg_dtype dtype = rg_take_dtype(&m->bytes, TGI_CLASS_NUM);
    int64_t dims[TG_MAX_RANK];
    rg_type type = take_dims(m, dtype, 1, dims);
    int axis = rg_below(&m->bytes, 2 * type.rank) - type.rank;
    rg_keep(m, type, RG_DO(m, tg_iota(dtype, type.rank, dims, axis)));
}

void rg_make_extent(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_pick_ranked(m);
    int axis = rg_below(&m->bytes, x.type.rank);
    rg_keep(m, (rg_type){.dtype = TG_I64},
            RG_DO(m, tg_extent(x.operand, axis)));
}

/* -- Broadcast and reshape ------------------------------------------------- */

void rg_make_broadcast(rg_maker *m, tgi_op op)
{
    (void)op;
    static const int64_t extents[16] = {2, 3, 1, 4, 5, 2, 3, 1,
                                        2, 4, 3, 2, 1, 6, 2, 0};
    rg_operand x = rg_pick_value(m);
    unsigned choice = rg_take(&m->bytes);
    int more = (int)(choice % 3);
    if (x.type.rank + more > 6)
        return;
    rg_type type = x.type;
    type.rank = (int8_t)(type.rank + more);
    type.is_weak &= type.rank == x.type.rank; /* then it is x itself */
    int64_t dims[TG_MAX_RANK];
    for (int i = 0; i < type.rank; i++) {
        bool is_new = i < more;
        if (is_new || (x.type.dims[i - more] == 1 && choice & 4)) {
            type.dims[i] = dims[i] = extents[rg_below(&m->bytes, 16)];
        } else {
            type.dims[i] = x.type.dims[i - more];
            dims[i] = rg_dim(m, &x, i - more);
        }
    }
    if (rg_is_small(m, &type))
        rg_keep(m, type, RG_DO(m, tg_broadcast(x.operand, type.rank, dims)));
}

/* A shape under construction: the numbers, and the extents passed to the
   library. */
typedef struct new_shape {
    rg_type type;
    int64_t dims[TG_MAX_RANK];
    int inferred_axis; /* the axis passed as -1, or -1 if none is */
} new_shape;

static void add_dim(new_shape *shape, int64_t number, int64_t given_size)
{
    int axis = shape->type.rank++;
    shape->type.dims[axis] = number;
    shape->dims[axis] = given_size;
}

/* Adds the axis whose extent is inferred. */
static void add_left_over(new_shape *shape, int64_t number)
{
    shape->inferred_axis = shape->type.rank;
    add_dim(shape, number, -1);
}

/* Splits an axis by a divisor of its extent. */
static void add_split(rg_maker *m, new_shape *shape, int64_t extent)
{
    int64_t factor = 2 + rg_below(&m->bytes, 2);
    bool factor_first = rg_below(&m->bytes, 2);
    if (extent % factor)
        factor = 1;
    if (factor_first)
        add_dim(shape, factor, factor);
    add_left_over(shape, extent / factor);
    if (!factor_first)
        add_dim(shape, factor, factor);
}

/* -1 is ambiguous next to a 0: pass numbers then. */
static void fix_left_over(new_shape *shape)
{
    int64_t others = 1;
    for (int i = 0; i < shape->type.rank; i++)
        if (i != shape->inferred_axis)
            others *= shape->type.dims[i];
    if (shape->inferred_axis >= 0 && others == 0)
        shape->dims[shape->inferred_axis] =
            shape->type.dims[shape->inferred_axis];
}

enum { MERGE, SPLIT, ADD_ONE, DROP_ONES, SAME, MANNERS };

void rg_make_reshape(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_pick_value(m);
    int manner = rg_below(&m->bytes, MANNERS);
    int rank = x.type.rank;
    int at = rank ? rg_below(&m->bytes, rank) : 0;
    new_shape to = {.type = {.dtype = x.type.dtype}, .inferred_axis = -1};
    for (int i = 0; i < rank; i++) {
        int64_t extent = x.type.dims[i];
        if (manner == MERGE && i == at && i + 1 < rank) {
            add_left_over(&to, extent * x.type.dims[i + 1]);
            i++;
        } else if (manner == SPLIT && i == at && rank < 6) {
            add_split(m, &to, extent);
        } else if (manner != DROP_ONES || extent != 1) {
            if (manner == ADD_ONE && i == at && rank < 6)
                add_dim(&to, 1, 1);
            add_dim(&to, extent, rg_dim(m, &x, i));
        }
    }
    fix_left_over(&to);
    to.type.is_weak = x.type.is_weak && to.type.rank == 0;
    rg_keep(m, to.type, RG_DO(m, tg_reshape(x.operand, to.type.rank, to.dims)));
}

/* Flattens a value of any extents. */
void rg_make_flat(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_pick_value(m);
    rg_type type = {
        .dtype = x.type.dtype, .rank = 1, .dims = {rg_count(&x.type)}};
    rg_keep(m, type, RG_DO(m, tg_reshape(x.operand, TG_DIMS(-1))));
}

/* -- Transpose and slice --------------------------------------------------- */

void rg_make_transpose(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_pick_value(m);
    int rank = x.type.rank;
    int perm[TG_MAX_RANK];
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    for (int i = rank - 1; i > 0; i--) {
        int other = rg_below(&m->bytes, i + 1);
        int swapped = perm[i];
        perm[i] = perm[other];
        perm[other] = swapped;
    }
    rg_type type = x.type;
    type.is_weak = false;
    for (int i = 0; i < rank; i++)
        type.dims[i] = x.type.dims[perm[i]];
    if (rank && rg_below(&m->bytes, 4) == 0)
        perm[0] -= rank; /* counted from the end */
    rg_keep(m, type, RG_DO(m, tg_transpose(x.operand, rank, perm)));
}

/* A slice of one axis, forwards or backwards. */
static rg_operand make_slice(rg_maker *m, rg_operand x)
{
    static const int64_t steps[] = {1, 2, 3, -1, -2, -3, 1, -1};
    int axis = rg_below(&m->bytes, x.type.rank);
    int64_t n = x.type.dims[axis];
    unsigned choice = rg_take(&m->bytes);
    int64_t step = steps[choice % 8];

    /* Positions low … high - 1; downwards it starts at high - 1. */
    int64_t low = rg_below(&m->bytes, (int)(n < 200 ? n : 200) + 1);
    int64_t high =
        low + rg_below(&m->bytes, (int)(n - low < 200 ? n - low : 200) + 1);
    int64_t start = step > 0 ? low : high - 1;
    int64_t stop = step > 0 ? high : low - 1;
    if (choice & 8) { /* to the end in that direction */
        high = step > 0 ? n : high;
        low = step > 0 ? low : 0;
        stop = TG_END;
    } else if ((choice & 16 && stop < n) || stop < 0) {
        stop -= n; /* from the end */
    }
    if ((choice & 32 && start < n) || start < 0)
        start -= n;

    rg_type type = x.type;
    int64_t stride = step > 0 ? step : -step;
    type.dims[axis] = (high - low + stride - 1) / stride;
    return rg_keep(m, type,
                   RG_DO(m, tg_slice(x.operand, axis, start, stop, step)));
}

void rg_make_slice(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_pick_ranked(m);
    for (int n = 1 + rg_below(&m->bytes, 2); n > 0; n--)
        x = make_slice(m, x);
}

/* Reverses an axis of any extent. */
void rg_make_reverse(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_pick_ranked(m);
    int axis = rg_below(&m->bytes, x.type.rank);
    rg_keep(m, x.type, RG_DO(m, tg_slice(x.operand, axis, -1, TG_END, -1)));
}

/* -- Pad, concat, gather --------------------------------------------------- */

void rg_make_pad(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_pick_ranked(m);
    rg_type type = x.type;
    int axis = rg_below(&m->bytes, type.rank);
    int64_t low = rg_below(&m->bytes, 4), high = rg_below(&m->bytes, 4);
    rg_operand value = rg_scalar(m, (tg_dtype)type.dtype);
    type.dims[axis] += low + high;
    if (rg_is_small(m, &type))
        rg_keep(m, type,
                RG_DO(m, tg_pad(x.operand, axis, low, high, value.operand)));
}

/* True if they can be concatenated along `axis`. */
static bool can_join(const rg_type *a, const rg_type *b, int axis)
{
    bool can = a->rank == b->rank;
    for (int i = 0; can && i < a->rank; i++)
        can = i == axis || a->dims[i] == b->dims[i];
    return can;
}

void rg_make_concat(rg_maker *m, tgi_op op)
{
    (void)op;
    enum { MAX_PARTS = 4 };
    rg_operand first = rg_pick_ranked(m);
    rg_type type = first.type;
    int axis = rg_below(&m->bytes, type.rank);
    int n = 1 + rg_below(&m->bytes, MAX_PARTS);
    int start = rg_below(&m->bytes, RG_MAX_VALUES);
    tg_operand parts[MAX_PARTS] = {first.operand};
    int n_parts = 1;
    for (int i = 0; i < m->n_values && n_parts < n; i++) {
        rg_operand part = m->values[(start + i) % m->n_values];
        rg_type joined = type;
        if (!can_join(&type, &part.type, axis))
            continue;
        joined.dims[axis] += part.type.dims[axis];
        if (!rg_is_small(m, &joined))
            continue;
        parts[n_parts++] = rg_fit_dtype(m, part, (tg_dtype)type.dtype).operand;
        type = joined;
    }
    rg_keep(m, type,
            RG_DO(m, tg_concat_at(axis, parts, (size_t)n_parts, TG_HERE)));
}

rg_operand rg_take_indices(rg_maker *m, int64_t n, bool is_checked)
{
    tg_dtype dtype = rg_take_dtype(&m->bytes, TGI_CLASS_INT);
    rg_operand x = rg_fit_dtype(m, rg_pick_value(m), dtype);
    if (x.type.is_weak) /* indices have their own dtype */
        x = rg_constant(m, rg_take_shape(m, dtype, 0));
    if (x.type.rank > 2)
        x = rg_constant(m, (rg_type){.dtype = (uint8_t)dtype,
                                     .rank = 1,
                                     .dims = {rg_below(&m->bytes, 5)}});
    if (!is_checked || n == 0 || rg_below(&m->bytes, 4) == 0)
        return x;
    int64_t most = dtype == TG_I8 ? INT8_MAX : dtype == TG_U8 ? UINT8_MAX : n;
    x.operand =
        tg_in_value(RG_DO(m, tg_clamp(x.operand, 0, n > most ? most : n - 1)));
    return x;
}

void rg_make_gather(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_pick_ranked(m);
    int axis = rg_below(&m->bytes, x.type.rank);
    tg_gather_mode mode = (tg_gather_mode)rg_below(&m->bytes, 3);
    if (mode == TG_GATHER_CLAMP && x.type.dims[axis] == 0)
        mode = TG_GATHER_ZERO;
    rg_operand indices =
        rg_take_indices(m, x.type.dims[axis], mode == TG_GATHER_CHECK);
    if (x.type.rank - 1 + indices.type.rank > 6)
        return;

    rg_type type = x.type;
    type.rank = 0;
    for (int i = 0; i < axis; i++)
        type.dims[type.rank++] = x.type.dims[i];
    for (int i = 0; i < indices.type.rank; i++)
        type.dims[type.rank++] = indices.type.dims[i];
    for (int i = axis + 1; i < x.type.rank; i++)
        type.dims[type.rank++] = x.type.dims[i];
    if (rg_is_small(m, &type))
        rg_keep(
            m, type,
            RG_DO(m, tg_gather_with(x.operand, indices.operand, axis, mode)));
}

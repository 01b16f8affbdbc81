/* SPDX-License-Identifier: MIT */
/*
 * random_graph_make_empty.c - values that are empty along one axis, mostly one
 * of extent 1, and non-empty values computed from them by sums, matmuls and so
 * on.
 */
#include "random/random_graph.h"

/* A value with axes; mostly a new one, which is likely to become a result and
   so lies next to a guard page. */
static rg_operand take_operand(rg_maker *m, unsigned classes)
{
    rg_operand x = rg_fit_classes(m, rg_pick_ranked(m), classes);
    rg_type type = x.type;
    type.is_weak = false;
    return rg_below(&m->bytes, 4)
               ? rg_keep(m, type, RG_DO(m, tg_add(x.operand, x.operand)))
               : x;
}

/* x with an added axis of extent 1. */
static rg_operand add_axis(rg_maker *m, const rg_operand *x)
{
    rg_type type = x->type;
    int64_t dims[TG_MAX_RANK];
    for (int i = 0; i < type.rank; i++)
        dims[i] = rg_dim(m, x, i);
    dims[type.rank] = 1;
    type.dims[type.rank++] = 1;
    type.is_weak = false;
    return rg_value(type, RG_DO(m, tg_reshape(x->operand, type.rank, dims)));
}

/* The start of a slice, often after the first element. A u64 literal has no
   common dtype with the literal 1. */
static tg_operand take_start(rg_maker *m)
{
    rg_operand start = rg_take_start(m);
    return rg_below(&m->bytes, 4) &&
                   !(start.type.is_weak && start.type.dtype == TG_U64)
               ? tg_in_value(RG_DO(m, tg_max(start.operand, 1)))
               : start.operand;
}

enum { DYNAMIC_SLICE, DYNAMIC_SLICE_OF_ONE, SLICE, GATHER };

static rg_operand make_empty(rg_maker *m, const rg_operand *x, int axis)
{
    rg_type type = x->type;
    tg_value empty = {0, 0};
    type.dims[axis] = 0;
    type.is_weak = false;
    static const int origins[] = {DYNAMIC_SLICE, DYNAMIC_SLICE, SLICE,
                                  DYNAMIC_SLICE, GATHER,
                                  DYNAMIC_SLICE_OF_ONE};
    int origin = origins[rg_below(&m->bytes, 6)];
    if (origin == DYNAMIC_SLICE_OF_ONE && x->type.dims[axis] == 0)
        origin = DYNAMIC_SLICE;
    const tg_operand start = take_start(m);
    switch (origin) {
    case DYNAMIC_SLICE:
        empty = RG_DO(m, tg_dynamic_slice(x->operand, axis, start, 0));
        break;
    case SLICE:
        empty = RG_DO(m, tg_slice(x->operand, axis,
                                  tg_value_dim(x->operand.as.value, axis),
                                  TG_END, 1));
        break;
    case GATHER:
        empty = RG_DO(m, tg_gather(x->operand,
                                   tg_iota(TG_I32, TG_DIMS(0), 0), axis));
        break;
    default:
        empty = RG_DO(m, tg_dynamic_slice(tg_dynamic_slice(x->operand, axis,
                                                           start, 1),
                                          axis, start, 0));
        break;
    }
    return rg_keep(m, type, empty);
}

/* A matmul along the empty axis, which must be one of the last two. The second
   operand is empty along it, too. */
static void multiply_empty(rg_maker *m, const rg_operand *empty, int axis)
{
    rg_type type = empty->type;
    const int64_t n = 1 + rg_below(&m->bytes, 20);
    const bool is_flipped = axis == type.rank - 2;
    if (is_flipped)
        type.dims[type.rank - 2] = type.dims[type.rank - 1];
    type.dims[type.rank - 1] = n;
    if (rg_is_small(m, &type))
        rg_keep(m, type,
                RG_DO(m, tg_matmul_with(
                             empty->operand,
                             tg_broadcast(tg_scalar((tg_dtype)type.dtype, 1),
                                          TG_DIMS(0, n)),
                             is_flipped ? TG_TRANSPOSE_A : TG_MATMUL_PLAIN)));
}

static void reduce(rg_maker *m, const rg_operand *empty, int axis)
{
    rg_type type = empty->type;
    const unsigned choice = rg_take(&m->bytes);
    tg_axes axes = choice & 1 ? TG_ALL_AXES : TG_AXES(axis);
    type.rank = (int8_t)(choice & 1 ? 0 : type.rank - 1);
    for (int i = axis; i < type.rank; i++)
        type.dims[i] = type.dims[i + 1];
    rg_keep(m, type,
            RG_DO(m, choice & 2 ? tg_prod(empty->operand, axes)
                                : tg_sum(empty->operand, axes)));
}

static void pad(rg_maker *m, const rg_operand *empty, int axis)
{
    rg_type type = empty->type;
    const int64_t low = rg_below(&m->bytes, 3), high = rg_below(&m->bytes, 3);
    type.dims[axis] = low + high;
    if (rg_is_small(m, &type))
        rg_keep(m, type,
                RG_DO(m, tg_pad(empty->operand, axis, low, high, 1)));
}

/* Empties x along an axis, mostly one of extent 1, and uses the result. */
static void use_empty(rg_maker *m, rg_operand x)
{
    const unsigned choice = rg_take(&m->bytes);
    int axis = (int)(choice / 16) % x.type.rank;
    if (choice & 1 && x.type.rank < 6) {
        axis = x.type.rank;
        x = add_axis(m, &x);
    }
    for (int i = 0; choice & 2 && i < x.type.rank; i++)
        if (x.type.dims[i] == 1)
            axis = i;
    rg_operand empty = make_empty(m, &x, axis);
    const unsigned use = choice / 4 % 4;
    if (use == 0)
        pad(m, &empty, axis);
    else if (use == 1 || axis < x.type.rank - 2)
        reduce(m, &empty, axis);
    else
        multiply_empty(m, &empty, axis);
}

void rg_make_empty(rg_maker *m, tgi_op op)
{
    const rg_operand x = take_operand(m, tgi_op_table[op].types);
    for (int n = 1 + rg_below(&m->bytes, 3); n > 0; n--)
        use_empty(m, x);
}

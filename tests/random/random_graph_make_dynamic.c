/* SPDX-License-Identifier: MIT */
/*
 * random_graph_make_dynamic.c - ops that move elements to or from run-time
 * positions.
 */
#include <string.h>

#include "random/random_graph.h"

rg_operand rg_take_start(rg_maker *m)
{
    tg_dtype dtype = rg_take_dtype(&m->bytes, TGI_CLASS_INT);
    unsigned choice = rg_take(&m->bytes);
    rg_operand x = rg_pick_value(m);
    if (choice % 4 == 0 || rg_count(&x.type) == 0)
        x = rg_scalar(m, dtype);
    x = rg_fit_dtype(m, x, dtype);
    rg_type scalar = {.dtype = (uint8_t)dtype};
    /* rg_fit_dtype may return a weak value of another dtype, such as bool. */
    if (!tgi_dtype_is(x.type.dtype, TGI_CLASS_INT))
        return rg_keep(m, scalar, RG_DO(m, tg_scalar(dtype, 3)));
    if (x.type.rank == 0)
        return x;
    /* Small numbers are more often in range. */
    scalar.dtype = x.type.dtype;
    rg_operand any = rg_keep(
        m, scalar, RG_DO(m, tg_reduce_max(x.operand, TG_ALL_AXES)));
    if (choice & 4)
        return any;
    return rg_keep(m, scalar, RG_DO(m, tg_and(any.operand, 7)));
}

/* A size of at most `most`, and its form for the library: an extent of a value
   if one fits. */
static int64_t take_size(rg_maker *m, int64_t most, int64_t *out_given_size)
{
    unsigned choice = rg_take(&m->bytes);
    rg_operand like = rg_pick_value(m);
    for (int axis = 0; choice % 2 && axis < like.type.rank; axis++)
        if (like.type.dims[axis] <= most) {
            *out_given_size = rg_dim(m, &like, axis);
            return like.type.dims[axis];
        }
    return *out_given_size =
               rg_below(&m->bytes, (int)(most < 200 ? most : 200) + 1);
}

void rg_make_dynamic_slice(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_pick_ranked(m);
    int axis = rg_below(&m->bytes, x.type.rank);
    rg_operand start = rg_take_start(m);
    rg_type type = x.type;
    int64_t given_size;
    type.dims[axis] = take_size(m, x.type.dims[axis], &given_size);
    type.is_weak = false;
    rg_keep(
        m, type,
        RG_DO(m, tg_dynamic_slice(x.operand, axis, start.operand, given_size)));
}

/* An update that fits into x along an axis: another value, or a slice of x. */
static rg_operand take_update(rg_maker *m, const rg_operand *x, int axis)
{
    int first = rg_below(&m->bytes, RG_MAX_VALUES);
    for (int i = 0; i < m->n_values; i++) {
        rg_operand update = m->values[(first + i) % m->n_values];
        bool fits = update.type.rank == x->type.rank;
        for (int k = 0; fits && k < x->type.rank; k++)
            fits = k == axis ? update.type.dims[k] <= x->type.dims[k]
                             : update.type.dims[k] == x->type.dims[k];
        if (fits && rg_below(&m->bytes, 2))
            return rg_fit_dtype(m, update, (tg_dtype)x->type.dtype);
    }
    rg_type type = x->type;
    int64_t given_size;
    type.dims[axis] = take_size(m, x->type.dims[axis], &given_size);
    type.is_weak = false;
    rg_operand start = rg_take_start(m);
    rg_operand part =
        rg_keep(m, type,
                RG_DO(m, tg_dynamic_slice(x->operand, axis, start.operand,
                                          given_size)));
    if (!tgi_dtype_is(type.dtype, rg_classes(TGI_CLASS_NUM)) || rg_below(&m->bytes, 2))
        return part;
    return rg_keep(m, type, RG_DO(m, tg_add(part.operand, part.operand)));
}

/* Sometimes several, each of the previous result. */
void rg_make_dynamic_update(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_pick_ranked(m);
    for (int n = 1 + rg_below(&m->bytes, 3); n > 0; n--) {
        int axis = rg_below(&m->bytes, x.type.rank);
        rg_operand update = take_update(m, &x, axis);
        rg_operand start = rg_take_start(m);
        rg_type type = x.type;
        type.is_weak = false;
        x = rg_keep(m, type,
                    RG_DO(m, tg_dynamic_update_slice(x.operand, update.operand,
                                                     axis, start.operand)));
    }
}

/* Updates the elements from a start on, twice: the second update may be in
   place. */
void rg_make_dynamic_change(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_fit_classes(m, rg_pick_ranked(m), TGI_CLASS_NUM);
    rg_type type = x.type, part = x.type;
    int axis = rg_below(&m->bytes, type.rank);
    int64_t given_size;
    part.dims[axis] = take_size(m, type.dims[axis], &given_size);
    type.is_weak = part.is_weak = false;
    rg_operand start = rg_take_start(m);
    for (int n = 0; n < 2; n++) {
        rg_operand own =
            rg_keep(m, part,
                    RG_DO(m, tg_dynamic_slice(x.operand, axis, start.operand,
                                              given_size)));
        rg_operand less = rg_immediate_exact(m, (tg_dtype)type.dtype);
        rg_operand update = rg_keep(
            m, part, RG_DO(m, tg_sub(own.operand, less.operand)));
        x = rg_keep(m, type,
                    RG_DO(m, tg_dynamic_update_slice(x.operand, update.operand,
                                                     axis, start.operand)));
    }
}

/* Updates a slice of a variable. */
void rg_make_assign_part(rg_maker *m, tgi_op op)
{
    (void)op;
    const rg_operand *variable = rg_pick_variable(m);
    if (!variable || variable->type.rank == 0)
        return;
    const rg_operand v = *variable;
    int axis = rg_below(&m->bytes, v.type.rank);
    rg_operand x = rg_keep(m, v.type, RG_DO(m, tg_read(v.operand)));
    rg_operand update = take_update(m, &x, axis);
    rg_operand start = rg_take_start(m);
    rg_operand updated = rg_keep(
        m, v.type,
        RG_DO(m, tg_dynamic_update_slice(x.operand, update.operand, axis,
                                         start.operand)));
    rg_keep(m, v.type, RG_DO(m, tg_assign(v.operand, updated.operand)));
}

/* -- Scatter --------------------------------------------------------------- */

/* Updates: a value of that shape, the gathered elements, or a number. */
static rg_operand take_updates(rg_maker *m, const rg_operand *x,
                               const rg_operand *indices, int axis,
                               const rg_type *type, const int64_t *given_size)
{
    unsigned choice = rg_take(&m->bytes);
    for (int i = 0; choice & 1 && i < m->n_values; i++)
        if (m->values[i].type.rank == type->rank &&
            memcmp(m->values[i].type.dims, type->dims,
                   (size_t)type->rank * sizeof(type->dims[0])) == 0)
            return rg_fit_dtype(m, m->values[i], (tg_dtype)type->dtype);
    if (choice & 2)
        return rg_keep(m, *type,
                       RG_DO(m, tg_gather_with(x->operand, indices->operand,
                                               axis, TG_GATHER_ZERO)));
    rg_operand number = rg_constant(m, (rg_type){.dtype = type->dtype});
    return rg_keep(
        m, *type,
        RG_DO(m, tg_broadcast(number.operand, type->rank, given_size)));
}

static rg_operand take_scattered(rg_maker *m, const rg_operand *x)
{
    int axis = rg_below(&m->bytes, x->type.rank);
    unsigned choice = rg_take(&m->bytes);
    bool adds = choice & 1 && tgi_dtype_is(x->type.dtype, rg_classes(TGI_CLASS_NUM));
    tg_scatter_mode mode = adds ? TG_SCATTER_ADD : TG_SCATTER_SET;
    if (adds && choice >= 0xc0) /* few, so that the corpus keeps its meaning */
        mode = (tg_scatter_mode)(TG_SCATTER_MUL + choice / 4 % 3);
    tg_scatter_range range = choice & 2 ? TG_SCATTER_CHECK : TG_SCATTER_DROP;
    rg_operand indices = rg_take_indices(m, x->type.dims[axis],
                                         range == TG_SCATTER_CHECK);
    rg_type type = x->type;
    if (type.rank - 1 + indices.type.rank > 6)
        return *x;
    type.rank = 0;
    type.is_weak = false;
    int64_t given_size[TG_MAX_RANK];
    for (int i = 0; i < x->type.rank; i++) {
        for (int k = 0; i == axis && k < indices.type.rank; k++) {
            given_size[type.rank] = rg_dim(m, &indices, k);
            type.dims[type.rank++] = indices.type.dims[k];
        }
        if (i != axis) {
            given_size[type.rank] = rg_dim(m, x, i);
            type.dims[type.rank++] = x->type.dims[i];
        }
    }
    if (!rg_is_small(m, &type))
        return *x;
    rg_operand updates = take_updates(m, x, &indices, axis, &type, given_size);
    rg_type result = x->type;
    result.is_weak = false;
    return rg_keep(m, result,
                   RG_DO(m, tg_scatter_with(x->operand, indices.operand,
                                            updates.operand, axis, mode,
                                            range)));
}

void rg_make_scatter(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_pick_ranked(m);
    for (int n = 1 + rg_below(&m->bytes, 2); n > 0; n--)
        x = take_scattered(m, &x);
}

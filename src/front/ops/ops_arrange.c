/* SPDX-License-Identifier: MIT */
/*
 * ops_arrange.c - concat, and one_hot, stack, unstack and roll, composed of
 * comparisons, slices, reshapes and concats.
 */
#include "tgjit/ops_arrange.h"

#include "front/ops/ops_arrange.h"
#include "front/trace/trace_state.h"

/* -- Classes --------------------------------------------------------------- */

tg_dtype tgi_class_dtype(tg_dtype labels)
{
    return tgi_dtype_bytes(labels) < 4 || labels == TG_I32 ? TG_I32 : TG_I64;
}

tgi_ref tgi_build_class_mask(tgi_builder *b, tgi_ref labels, tgi_dim n_classes)
{
    const tgi_shape *rows = tgi_graph_shape(b->graph, labels);
    const tg_dtype dtype =
        tgi_class_dtype(tgi_graph_node(b->graph, labels)->dtype);
    tgi_dim dims[TG_MAX_RANK];
    if (rows->rank == TG_MAX_RANK)
        return tgi_build_fail(b, TG_ERROR_OVERFLOW, &labels, 1,
                              "the result has more than %d axes", TG_MAX_RANK);
    for (int i = 0; i < rows->rank; i++)
        dims[i] = rows->dims[i];
    dims[rows->rank] = 1;
    tgi_ref class = tgi_build_reshape(b, tgi_build_cast(b, labels, dtype),
                                      rows->rank + 1, dims);
    tgi_ref class_indices = tgi_build_iota(b, dtype, 1, &n_classes, 0);
    return tgi_build_2(b, TGI_OP_EQ, class_indices, class);
}

tg_value tg_one_hot_at(tg_operand indices, int64_t n_classes, tg_dtype dtype,
                       tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "one_hot", site)) {
        tgi_ref labels = tgi_operation_operand(&o, indices);
        if (labels && !tgi_dtype_is(tgi_graph_node(o.t->graph, labels)->dtype,
                                    TGI_CLASS_INT))
            labels = tgi_build_fail(&o.b, TG_ERROR_DTYPE, &labels, 1,
                                    "indices need an integer type");
        if (labels)
            result = tgi_build_cast(
                &o.b, tgi_build_class_mask(&o.b, labels, n_classes), dtype);
    }
    return tgi_operation_end(&o, result);
}

/* -- Concat, stack and unstack --------------------------------------------- */

tgi_ref tgi_build_insert_axis(tgi_builder *b, tgi_ref x, int axis)
{
    if (!x)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    tgi_dim dims[TG_MAX_RANK + 1];
    for (int i = 0; i <= shape->rank; i++)
        dims[i] = i < axis    ? shape->dims[i]
                  : i == axis ? 1
                              : shape->dims[i - 1];
    return tgi_build_reshape(b, x, shape->rank + 1, dims);
}

static tgi_ref build_stack(tgi_builder *b, int axis, tgi_ref *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!parts[i])
            return 0;
    if (n == 0)
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                              "there are no parts");
    if (!tgi_build_unify(b, parts, n))
        return 0;
    const int rank = tgi_graph_shape(b->graph, parts[0])->rank;
    const int at = axis < 0 ? axis + rank + 1 : axis;
    if (at < 0 || at > rank)
        return tgi_build_fail(b, TG_ERROR_SHAPE, &parts[0], 1,
                              "axis %d is out of range for a result of rank %d",
                              axis, rank + 1);
    for (size_t i = 1; i < n; i++)
        if (!tgi_build_same_shape(b, parts[0], parts[i], "the parts"))
            return 0;
    for (size_t i = 0; i < n; i++)
        parts[i] = tgi_build_insert_axis(b, parts[i], at);
    return tgi_build_concat(b, at, parts, n);
}

static tg_value join(const char *name, bool is_stack, int axis,
                     const tg_operand *parts, size_t n_parts, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    TGI_VEC(tgi_ref) refs = {0};
    if (tgi_operation_begin(&o, name, site)) {
        if (n_parts && !parts)
            tgi_build_fail(&o.b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                           "parts are NULL");
        else if (!tgi_vec_reserve(&refs, n_parts + 1))
            tgi_error_memory();
        else {
            for (size_t i = 0; i < n_parts; i++)
                refs.data[i] = tgi_operation_operand(&o, parts[i]);
            result = is_stack
                         ? build_stack(&o.b, axis, refs.data, n_parts)
                         : tgi_build_concat(&o.b, axis, refs.data, n_parts);
        }
    }
    tgi_vec_deinit(&refs);
    return tgi_operation_end(&o, result);
}

tg_value tg_concat_at(int axis, const tg_operand *parts, size_t n_parts,
                      tg_site site)
{
    return join("concat", false, axis, parts, n_parts, site);
}

tg_value tg_stack_at(int axis, const tg_operand *parts, size_t n_parts,
                     tg_site site)
{
    return join("stack", true, axis, parts, n_parts, site);
}

/* Slice i of the axis, without the axis. */
static tgi_ref take_slice(tgi_builder *b, tgi_ref x, int axis, size_t i)
{
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    tgi_dim dims[TG_MAX_RANK];
    for (int k = 0; k + 1 < shape->rank; k++)
        dims[k] = shape->dims[k < axis ? k : k + 1];
    tgi_ref slice =
        tgi_build_slice(b, x, axis, (int64_t)i, (int64_t)i + 1, 1);
    return tgi_build_reshape(b, slice, shape->rank - 1, dims);
}

/* x, if the axis has n_parts elements; adds a check if its extent is unknown.
   Else 0 with an error. */
static tgi_ref require_extent(tgi_builder *b, tgi_ref x, int axis,
                              size_t n_parts)
{
    const tgi_dim extent = tgi_graph_shape(b->graph, x)->dims[axis];
    if (n_parts <= INT64_MAX &&
        tgi_build_check(b, TGI_CHECK_EQUAL, extent, (int64_t)n_parts,
                        "extent to unstack and number of parts"))
        return x;
    return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                          "axis %d has another extent than %zu", axis,
                          n_parts);
}

void tg_unstack_at(tg_operand operand, int user_axis, tg_value *out_parts,
                   size_t n_parts, tg_site site)
{
    tgi_operation o;
    for (size_t i = 0; out_parts && i < n_parts; i++)
        out_parts[i] = (tg_value){0, 0};
    if (!tgi_operation_begin(&o, "unstack", site))
        return;
    tgi_ref x = tgi_operation_operand(&o, operand);
    if (n_parts && !out_parts)
        x = tgi_build_fail(&o.b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                           "parts are NULL");
    const int axis = x ? tgi_build_axis(&o.b, x, user_axis) : -1;
    x = axis < 0 ? 0 : require_extent(&o.b, x, axis, n_parts);
    for (size_t i = 0; x && i < n_parts; i++) {
        tgi_ref part = take_slice(&o.b, x, axis, i);
        out_parts[i] = tgi_operation_end(&o, part);
        x = part ? x : 0;
    }
    if (!x)
        tgi_operation_end(&o, 0);
    for (size_t i = 0; out_parts && o.t->status && i < n_parts; i++)
        out_parts[i] = (tg_value){0, 0};
}

/* -- Roll ------------------------------------------------------------------ */

/* x, with the elements from position `from` on moved to the front. */
static tgi_ref rotate(tgi_builder *b, tgi_ref x, int axis, tgi_dim from)
{
    tgi_ref parts[2];
    parts[0] = tgi_build_slice(b, x, axis, from, TG_END, 1);
    parts[1] = tgi_build_slice(b, x, axis, 0, from, 1);
    return tgi_build_concat(b, axis, parts, 2);
}

/* The shift is reduced modulo the extent, which may be symbolic. */
static tgi_ref build_roll(tgi_builder *b, tgi_ref x, int user_axis,
                          int64_t shift)
{
    const int axis = x ? tgi_build_axis(b, x, user_axis) : -1;
    if (axis < 0)
        return 0;
    if (shift == INT64_MIN)
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, &x, 1,
                              "invalid shift %lld", (long long)shift);
    tgi_dims *table = b->graph->dims;
    const tgi_dim n = tgi_graph_shape(b->graph, x)->dims[axis];
    const tgi_dim divisor = tgi_dim_max(table, n, 1); /* an axis may be empty */
    const tgi_dim size = shift < 0 ? -shift : shift;
    /* The maximum is that remainder; as an atom, it is computed before it is
       multiplied by a stride: `size` times a stride could overflow. */
    const tgi_dim rest = tgi_dim_max(
        table,
        tgi_dim_sub(
            table, size,
            tgi_dim_mul(table, tgi_dim_div(table, size, divisor), divisor)),
        0);
    const tgi_dim from =
        tgi_build_dim(b, shift < 0 ? rest : tgi_dim_sub(table, n, rest));
    return from == TGI_DIM_NONE ? 0 : rotate(b, x, axis, from);
}

tg_value tg_roll_at(tg_operand x, int axis, int64_t shift, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "roll", site))
        result = build_roll(&o.b, tgi_operation_operand(&o, x), axis, shift);
    return tgi_operation_end(&o, result);
}

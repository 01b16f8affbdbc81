/* SPDX-License-Identifier: MIT */
/*
 * build_elementwise.c - elementwise operations: common dtype, common shape, and
 * contraction.
 *
 * Contraction is the only rewrite that changes bits, so it happens while
 * building, by a local rule: an add or sub of a float type, one of whose
 * operands is a product (the left one if both are), becomes an fma. Other uses
 * of the product, and broadcasts in between, do not matter. So a formula has
 * the same bits in exact, generalised, nested and gradient graphs.
 */
#include <assert.h>

#include "base/error.h"
#include "build/build.h"

/* -- Dtypes ---------------------------------------------------------------- */

static const char *describe_classes(unsigned classes)
{
    switch (classes) {
    case TGI_CLASS_FLOAT:
        return "a float type";
    case TGI_CLASS_INT:
        return "an integer type";
    case TGI_CLASS_BITS:
        return "bool or an integer type";
    default:
        return "a number type";
    }
}

/* -- Shapes ---------------------------------------------------------------- */

/* The common shape of in[0 … n-1], or 0 and an error. */
static tgi_shape_ref common_shape(tgi_builder *b, const tgi_ref *in, size_t n)
{
    tgi_shape_ref first = tgi_graph_node(b->graph, in[0])->shape;
    bool all_equal = true;
    int rank = 0;
    for (size_t i = 0; i < n; i++) {
        const tgi_shape *shape = tgi_graph_shape(b->graph, in[i]);
        all_equal &= tgi_graph_node(b->graph, in[i])->shape == first;
        rank = shape->rank > rank ? shape->rank : rank;
    }
    if (all_equal)
        return first;

    tgi_dim dims[TG_MAX_RANK];
    for (int axis = 0; axis < rank; axis++) {
        tgi_shape_ref source = first; /* the shape that dims[axis] is from */
        dims[axis] = 1;
        for (size_t i = 0; i < n; i++) {
            const tgi_shape_ref ref = tgi_graph_node(b->graph, in[i])->shape;
            const tgi_shape *shape = tgi_shape_of(b->graph->dims, ref);
            const tgi_dim previous = dims[axis];
            const int in_axis = axis - (rank - shape->rank);
            tgi_build_compare(b, source, ref, false);
            if (in_axis >= 0 &&
                !tgi_build_common_dim(b, previous, shape->dims[in_axis],
                                      &dims[axis]))
                return tgi_build_fail(b, TG_ERROR_SHAPE, in, n,
                                      "shapes do not broadcast");
            if (dims[axis] != previous)
                source = ref;
        }
    }
    tgi_build_compare(b, 0, 0, false);
    return tgi_build_shape(b, rank, dims);
}

static tgi_ref broadcast_to(tgi_builder *b, tgi_ref x, tgi_shape_ref shape)
{
    const tgi_node *node = tgi_graph_node(b->graph, x);
    if (node->shape == shape)
        return x;
    return tgi_build_node(b, TGI_OP_BROADCAST, node->dtype, shape, &x, 1, NULL,
                          0);
}

static tgi_ref add_elementwise(tgi_builder *b, tgi_op op, int dtype,
                               tgi_shape_ref shape, uint16_t flags,
                               const tgi_ref *in, size_t n)
{
    const tgi_site_chain site = tgi_builder_site(b);
    const tgi_node node = {
        .op = (uint8_t)op,
        .dtype = (uint8_t)dtype,
        .flags = flags,
        .shape = shape,
        .n_inputs = (uint32_t)n,
        .inputs = in,
        .site = &site,
    };
    bool is_known = flags && b->fold;
    for (size_t i = 0; i < n && is_known; i++)
        is_known = tgi_graph_constant(b->graph, in[i]) != NULL;
    return tgi_build_added(b, is_known ? b->fold(b->graph, &node)
                                       : tgi_graph_add(b->graph, &node));
}

/* -- Contraction ----------------------------------------------------------- */

/* The MUL node that x is, ignoring broadcasts; NULL if it is none. */
static const tgi_node *as_product(const tgi_builder *b, tgi_ref x)
{
    const tgi_node *node = tgi_graph_node(b->graph, x);
    while (node->op == TGI_OP_BROADCAST)
        node = tgi_graph_node(b->graph, node->inputs[0]);
    return node->op == TGI_OP_MUL ? node : NULL;
}

/* The fma for add or sub of in[0] and in[1]; 0 if neither is a product, or on
   failure. */
static tgi_ref contract_to_fma(tgi_builder *b, tgi_op op, const tgi_ref *in,
                               tgi_shape_ref shape, uint16_t flags)
{
    const tgi_node *product = as_product(b, in[0]);
    bool product_is_left = product != NULL;
    if (!product)
        product = as_product(b, in[1]);
    if (!product)
        return 0;

    tgi_ref x = broadcast_to(b, product->inputs[0], shape);
    tgi_ref y = broadcast_to(b, product->inputs[1], shape);
    tgi_ref addend = broadcast_to(b, in[product_is_left ? 1 : 0], shape);
    if (!x || !y || !addend)
        return 0;
    if (op == TGI_OP_SUB) {
        tgi_ref *negated = product_is_left ? &addend : &x;
        *negated = tgi_build_1(b, TGI_OP_NEG, *negated);
        if (!*negated)
            return 0;
    }
    return add_elementwise(b, TGI_OP_FMA, product->dtype, shape, flags,
                           (tgi_ref[]){x, y, addend}, 3);
}

/* -- Entry points ---------------------------------------------------------- */

tgi_ref tgi_build_elementwise(tgi_builder *b, tgi_op op, const tgi_ref *inputs,
                              size_t n_inputs)
{
    if (b->is_fast)
        op = tgi_op_fast(op);
    const tgi_op_info *info = &tgi_op_table[op];
    tgi_ref in[3];
    bool all_weak = true;
    uint16_t weakness = 0;
    assert(info->arity == (int)n_inputs && n_inputs <= 3);
    for (size_t i = 0; i < n_inputs; i++) {
        if (!inputs[i])
            return 0;
        in[i] = inputs[i];
        all_weak &= tgi_build_weakness(b, in[i]) != 0;
        weakness |= tgi_build_weakness(b, in[i]);
    }

    size_t first = op == TGI_OP_SELECT ? 1 : 0;
    if (first && tgi_graph_node(b->graph, in[0])->dtype != TG_BOOL)
        return tgi_build_fail(b, TG_ERROR_DTYPE, in, n_inputs,
                              "the condition is not bool");
    tg_dtype dtype = tgi_build_unify(b, in + first, n_inputs - first);
    if (dtype == TG_DTYPE_NONE)
        return 0;
    const bool is_widened = tgi_dtype_is(dtype, TGI_CLASS_HALF) &&
                            (info->types & (TGI_CLASS_FLOAT | TGI_CLASS_HALF)) ==
                                TGI_CLASS_FLOAT;
    if (!is_widened && !tgi_dtype_is(dtype, info->types))
        return tgi_build_fail(b, TG_ERROR_DTYPE, in, n_inputs,
                              "needs %s", describe_classes(info->types));

    tgi_shape_ref shape = common_shape(b, in, n_inputs);
    if (!shape)
        return 0;
    for (size_t i = first; is_widened && i < n_inputs; i++)
        if (!(in[i] = tgi_build_widen(b, in[i])))
            return 0;
    const tg_dtype computed = is_widened ? TG_F32 : dtype;
    bool is_same = info->result == TGI_RESULT_SAME;
    /* If any operand is a NUMBER, so is the result. */
    if (weakness & TGI_NODE_NUMBER)
        weakness = TGI_NODE_NUMBER;
    const uint16_t flags = all_weak && is_same ? weakness : 0;
    if ((op == TGI_OP_ADD || op == TGI_OP_SUB) && !b->no_contraction &&
        tgi_dtype_is(computed, TGI_CLASS_FLOAT) &&
        (as_product(b, in[0]) || as_product(b, in[1])))
        return contract_to_fma(b, op, in, shape, flags);

    for (size_t i = 0; i < n_inputs; i++)
        if (!(in[i] = broadcast_to(b, in[i], shape)))
            return 0;
    const tgi_ref result = add_elementwise(b, op, is_same ? computed : TG_BOOL,
                                           shape, flags, in, n_inputs);
    return is_same ? tgi_build_narrow(b, result, dtype) : result;
}

tgi_ref tgi_build_cast(tgi_builder *b, tgi_ref x, tg_dtype dtype)
{
    if (!x)
        return 0;
    if (!tgi_dtype_is_valid(dtype))
        return tgi_build_fail(b, TG_ERROR_DTYPE, &x, 1,
                              "%d is not an element type", (int)dtype);
    if (tgi_graph_node(b->graph, x)->dtype == dtype &&
        !tgi_build_weakness(b, x))
        return x;
    x = tgi_build_cast_step(b, x, dtype);
    if (!x)
        return 0;
    const tgi_node *node = tgi_graph_node(b->graph, x);
    return tgi_build_node(b, TGI_OP_CAST, dtype, node->shape, &x, 1, NULL, 0);
}

tgi_ref tgi_build_bitcast(tgi_builder *b, tgi_ref x, tg_dtype dtype)
{
    if (!x)
        return 0;
    const tgi_node *node = tgi_graph_node(b->graph, x);
    if (tgi_build_weakness(b, x))
        return tgi_build_fail(b, TG_ERROR_DTYPE, &x, 1,
                              "a plain number has no bits; give it a dtype "
                              "with tg_scalar or tg_cast");
    if (!tgi_dtype_is_valid(dtype))
        return tgi_build_fail(b, TG_ERROR_DTYPE, &x, 1,
                              "%d is not an element type", (int)dtype);
    if (node->dtype == TG_BOOL || dtype == TG_BOOL ||
        tgi_dtype_bytes(node->dtype) != tgi_dtype_bytes(dtype))
        return tgi_build_fail(b, TG_ERROR_DTYPE, &x, 1,
                              "the bits of %s are not those of a %s",
                              tg_dtype_name((tg_dtype)node->dtype),
                              tg_dtype_name(dtype));
    if (node->dtype == dtype)
        return x;
    return tgi_build_node(b, TGI_OP_BITCAST, dtype, node->shape, &x, 1, NULL,
                          0);
}

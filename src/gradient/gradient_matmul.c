/* SPDX-License-Identifier: MIT */
/*
 * gradient_matmul.c - the gradient rule of matrix products: two matrix
 * products, whose flags say what is taken transposed, so that nothing is
 * copied.
 */
#include "gradient/gradient_primitives.h"

/* x as one matrix, its batch above each other: [b,m,n] as [b*m,n]. */
static tgi_ref stacked(tgi_rule *rule, tgi_ref x)
{
    if (!x)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(rule->b->graph, x);
    tgi_dim dims[] = {1, shape->dims[shape->rank - 1]};
    for (int i = 0; i < shape->rank - 1; i++)
        dims[0] = tgi_dim_mul(rule->b->graph->dims, dims[0], shape->dims[i]);
    return tgi_rule_reshape(rule, x, tgi_rule_shape_of(rule, 2, dims));
}

/*
 * The gradient of input i, a product of the other one and G: in this order if
 * `is_first`, each transposed or not. What the batch shares is summed.
 */
static tgi_ref product(tgi_rule *rule, uint32_t i, bool is_first,
                       bool other_flips, bool g_flips)
{
    tgi_ref other = tgi_rule_input(rule, 1 - i), g = G;
    const bool flips[] = {is_first ? other_flips : g_flips,
                          is_first ? g_flips : other_flips};
    const int flags = (flips[0] ? TG_TRANSPOSE_A : 0) |
                      (flips[1] ? TG_TRANSPOSE_B : 0);
    /* Of one matrix for a batch of many: if the product is a sum over rows of
       both, that over the batch becomes a part of it. */
    if (tgi_rule_shape(rule, i)->rank == 2 && flags == TG_TRANSPOSE_A) {
        other = stacked(rule, other);
        g = stacked(rule, g);
    }
    tgi_ref result = is_first ? tgi_build_matmul(rule->b, other, g, flags)
                              : tgi_build_matmul(rule->b, g, other, flags);
    return tgi_rule_unbroadcast(rule, result, i, 2);
}

/*
 * Of c = a b: ga = g b', gb = a' g. Where a is given transposed, so is its
 * gradient: ga' = b g'; and gb' = g' a.
 */
RULE(matmul)
{
    const int64_t flags = ((const tgi_attr_matmul *)rule->node->attr)->flags;
    const bool a = flags & TG_TRANSPOSE_A, b = flags & TG_TRANSPOSE_B;
    return PART(0, product(rule, 0, a, a == b, a)) &&
           PART(1, product(rule, 1, !b, a == b, b));
}

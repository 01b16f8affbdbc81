/* SPDX-License-Identifier: MIT */
/*
 * gradient_matmul.c - the gradient rule of MATMUL: two matmuls, which take
 * operands transposed by flags, so that nothing is copied.
 */
#include "gradient/gradient_primitives.h"

/* x with its batch axes merged into the rows: [b,m,n] as [b*m,n]. */
static tgi_ref flatten_batch(tgi_rule *rule, tgi_ref x)
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
 * The gradient of input i: the matmul of the other input and G, in this order
 * if `is_first`, each transposed or not. Broadcast batch axes are summed.
 */
static tgi_ref build_product(tgi_rule *rule, uint32_t i, bool is_first,
                             bool transpose_other, bool transpose_g)
{
    tgi_ref other = tgi_rule_input(rule, 1 - i), g = G;
    const bool transpose[] = {is_first ? transpose_other : transpose_g,
                              is_first ? transpose_g : transpose_other};
    const int flags = (transpose[0] ? TG_TRANSPOSE_A : 0) |
                      (transpose[1] ? TG_TRANSPOSE_B : 0);
    /* If one matrix serves the whole batch and the matmul sums over the rows of
       both operands, the sum over the batch becomes part of it. */
    if (tgi_rule_shape(rule, i)->rank == 2 && flags == TG_TRANSPOSE_A) {
        other = flatten_batch(rule, other);
        g = flatten_batch(rule, g);
    }
    tgi_ref result = is_first ? tgi_build_matmul(rule->b, other, g, flags)
                              : tgi_build_matmul(rule->b, g, other, flags);
    return tgi_rule_unbroadcast(rule, result, i, 2);
}

/*
 * For c = a b: ga = g b', gb = a' g. If a is passed transposed, so is its
 * gradient: ga' = b g'; and gb' = g' a.
 */
RULE(matmul)
{
    const int64_t flags = ((const tgi_attr_matmul *)rule->node->attr)->flags;
    const bool a = flags & TG_TRANSPOSE_A, b = flags & TG_TRANSPOSE_B;
    return ADD_GRADIENT(0, build_product(rule, 0, a, a == b, a)) &&
           ADD_GRADIENT(1, build_product(rule, 1, !b, a == b, b));
}

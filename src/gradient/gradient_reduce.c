/* SPDX-License-Identifier: MIT */
/*
 * gradient_reduce.c - gradient rules of reductions.
 *
 * The gradient of PROD is the exclusive product: that of all other elements. It
 * is computed without division, so that any number of zeros, derivatives of any
 * order, and products that would overflow are handled. Direct evaluation takes
 * n products of n elements, one replaced by 1. To make it linear in n, elements
 * are grouped in small blocks: the exclusive product within a block times the
 * exclusive product over blocks, which is computed recursively.
 */
#include "gradient/gradient_primitives.h"

static uint64_t reduced_mask(const tgi_rule *rule)
{
    return ((const tgi_attr_axes *)rule->node->attr)->mask;
}

/* Broadcasts a value shaped like the result back to the input. */
static tgi_ref broadcast_result(tgi_rule *rule, tgi_ref x)
{
    const tgi_shape *shape = tgi_rule_shape(rule, 0);
    tgi_dim kept_dims[TG_MAX_RANK];
    for (int i = 0; i < shape->rank; i++)
        kept_dims[i] = reduced_mask(rule) >> i & 1 ? 1 : shape->dims[i];
    x = tgi_rule_reshape(rule, x,
                         tgi_rule_shape_of(rule, shape->rank, kept_dims));
    return tgi_rule_broadcast(rule, x, tgi_rule_node(rule, 0)->shape);
}

RULE(sum)
{
    return ADD_GRADIENT(0, broadcast_result(rule, G));
}

/* -- Largest and smallest -------------------------------------------------- */

/* Elements equal to the extremum share its gradient evenly; if it is NaN, the
   NaN elements do. */
static bool route_to_extremes(tgi_rule *rule)
{
    tgi_ref x = X;
    tgi_ref is_equal = OR(EQ(x, broadcast_result(rule, Y)), NE(x, x));
    tgi_ref count = tgi_rule_reduce(
        rule, TGI_OP_SUM, tgi_build_cast(rule->b, is_equal, rule->node->dtype),
        reduced_mask(rule));
    return ADD_GRADIENT(
        0, SELECT(is_equal, broadcast_result(rule, DIV(G, count)), K(0)));
}

RULE(reduce_max)
{
    return route_to_extremes(rule);
}

RULE(reduce_min)
{
    return route_to_extremes(rule);
}

/* -- Products -------------------------------------------------------------- */

/*
 * At most half the lanes of a reduction (reduce_tree.h), so that a partial
 * block has the same bits as one padded with ones, and a small known number of
 * elements needs no blocks.
 *
 * Blocks of the last level are multiplied each with all others. Up to 2^36
 * elements, there are at most sqrt(n) of them.
 */
enum { BLOCK = 8, LEVELS = 6 };

/* Exclusive product along the last axis. */
static tgi_ref exclusive_product(tgi_rule *rule, tgi_ref x)
{
    tgi_builder *b = rule->b;
    if (!x)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    const int last = shape->rank - 1;
    const tgi_dim n = shape->dims[last];
    tgi_dim row[TG_MAX_RANK], square[TG_MAX_RANK];
    for (int i = 0; i < last; i++)
        row[i] = square[i] = shape->dims[i];
    row[last] = 1;
    row[last + 1] = square[last] = square[last + 1] = n;
    tgi_ref rows =
        tgi_rule_reshape(rule, x, tgi_rule_shape_of(rule, last + 2, row));
    rows = tgi_rule_broadcast(rule, rows,
                              tgi_rule_shape_of(rule, last + 2, square));
    tgi_ref i = tgi_build_iota(b, TG_I32, 2, &square[last], 0);
    tgi_ref j = tgi_build_iota(b, TG_I32, 2, &square[last], 1);
    return tgi_rule_reduce(rule, TGI_OP_PROD, SELECT(EQ(i, j), K(1), rows),
                           UINT64_C(1) << (last + 1));
}

/* The same for x of rank 2, in blocks. */
static tgi_ref exclusive_product_by_blocks(tgi_rule *rule, tgi_ref x,
                                           int levels)
{
    tgi_builder *b = rule->b;
    tgi_dims *table = b->graph->dims;
    if (!x)
        return 0;
    const tgi_shape_ref shape = tgi_graph_node(b->graph, x)->shape;
    const tgi_dim *dims = tgi_shape_of(table, shape)->dims;
    const tgi_dim n_rows = dims[0], n = dims[1];
    if (levels == 0 || (tgi_dim_is_known(n) && n <= BLOCK))
        return exclusive_product(rule, x);

    const tgi_dim n_blocks =
        tgi_dim_div(table, tgi_dim_add(table, n, BLOCK - 1), BLOCK);
    const tgi_dim padded = tgi_dim_mul(table, n_blocks, BLOCK);
    const tgi_attr_pad pad = {.high = {0, tgi_dim_sub(table, padded, n)}};
    const tgi_attr_slice unpad = {.step = {1, 1}};
    const tgi_shape_ref flat =
        tgi_rule_shape_of(rule, 2, (tgi_dim[]){n_rows, padded});
    tgi_ref blocks = tgi_rule_pad(rule, x, K(1), &pad, flat);
    blocks = tgi_rule_reshape(
        rule, blocks,
        tgi_rule_shape_of(rule, 3, (tgi_dim[]){n_rows, n_blocks, BLOCK}));
    tgi_ref within_block = exclusive_product(rule, blocks);
    tgi_ref across_blocks = exclusive_product_by_blocks(
        rule, tgi_rule_reduce(rule, TGI_OP_PROD, blocks, 1 << 2), levels - 1);
    across_blocks = tgi_rule_reshape(
        rule, across_blocks,
        tgi_rule_shape_of(rule, 3, (tgi_dim[]){n_rows, n_blocks, 1}));
    tgi_ref others =
        tgi_rule_reshape(rule, MUL(within_block, across_blocks), flat);
    return tgi_rule_slice(rule, others, &unpad, shape);
}

/* Permutation of the axes of input 0, kept before reduced; returns the number
   of kept axes. */
static int permute_kept_first(const tgi_rule *rule, int *perm)
{
    const int rank = tgi_rule_shape(rule, 0)->rank;
    int n = 0, n_kept = 0;
    for (int reduced = 0; reduced < 2; reduced++) {
        for (int i = 0; i < rank; i++)
            if ((int)(reduced_mask(rule) >> i & 1) == reduced)
                perm[n++] = i;
        n_kept = reduced ? n_kept : n;
    }
    return n_kept;
}

static tgi_ref exclusive_product_of_input(tgi_rule *rule)
{
    tgi_builder *b = rule->b;
    const int rank = tgi_rule_shape(rule, 0)->rank;
    int perm[TG_MAX_RANK], back[TG_MAX_RANK];
    const int n_kept = permute_kept_first(rule, perm);
    tgi_ref x = tgi_build_transpose(b, X, rank, perm);
    if (!x)
        return 0;

    const tgi_shape_ref shape = tgi_graph_node(b->graph, x)->shape;
    tgi_dim dims[] = {1, 1};
    for (int i = 0; i < rank; i++) {
        tgi_dim *extent = &dims[i >= n_kept];
        *extent = tgi_dim_mul(b->graph->dims, *extent,
                              tgi_shape_of(b->graph->dims, shape)->dims[i]);
        back[perm[i]] = i;
    }
    x = tgi_rule_reshape(rule, x, tgi_rule_shape_of(rule, 2, dims));
    x = exclusive_product_by_blocks(rule, x, LEVELS);
    x = tgi_rule_reshape(rule, x, shape);
    return tgi_build_transpose(b, x, rank, back);
}

RULE(prod)
{
    return ADD_GRADIENT(
        0, MUL(broadcast_result(rule, G), exclusive_product_of_input(rule)));
}

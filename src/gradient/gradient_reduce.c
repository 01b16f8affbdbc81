/* SPDX-License-Identifier: MIT */
/*
 * gradient_reduce.c - gradient rules of reductions.
 *
 * That of a product is the product of all other elements: of as many of them
 * zeros as there may be, for derivatives of any order, and without a quotient,
 * which would overflow where the answer does not. For each of n elements that
 * is a product of n, one of them replaced by 1. So that this takes time linear
 * in n, elements are put into blocks of a few; the product of the others in a
 * block is multiplied by that of the other blocks, which is found in the same
 * way.
 */
#include "gradient/gradient_primitives.h"

static uint64_t mask_of(const tgi_rule *rule)
{
    return ((const tgi_attr_axes *)rule->node->attr)->mask;
}

/* What belongs to the result of a reduction, for each of its elements. */
static tgi_ref spread(tgi_rule *rule, tgi_ref x)
{
    const tgi_shape *shape = tgi_rule_shape(rule, 0);
    tgi_dim kept[TG_MAX_RANK];
    for (int i = 0; i < shape->rank; i++)
        kept[i] = mask_of(rule) >> i & 1 ? 1 : shape->dims[i];
    x = tgi_rule_reshape(rule, x, tgi_rule_shape_of(rule, shape->rank, kept));
    return tgi_rule_broadcast(rule, x, tgi_rule_node(rule, 0)->shape);
}

RULE(sum)
{
    return PART(0, spread(rule, G));
}

/* -- Largest and smallest -------------------------------------------------- */

/* Those that are the result share its gradient evenly; where that is NaN, the
   elements which are. */
static bool to_equal(tgi_rule *rule)
{
    tgi_ref x = X;
    tgi_ref is_equal = OR(EQ(x, spread(rule, Y)), NE(x, x));
    tgi_ref count = tgi_rule_reduce(
        rule, TGI_OP_SUM,
        tgi_build_cast(rule->b, is_equal, rule->node->dtype), mask_of(rule));
    return PART(0, SELECT(is_equal, spread(rule, DIV(G, count)), K(0)));
}

RULE(reduce_max)
{
    return to_equal(rule);
}

RULE(reduce_min)
{
    return to_equal(rule);
}

/* -- Products -------------------------------------------------------------- */

/*
 * At most half the lanes of a reduction (reduce_tree.h): so that a block that
 * is not full has the same bits as one filled up with ones, and a few elements
 * of which the number is known need no blocks.
 *
 * Blocks of the last level are multiplied each with all others. There are no
 * more than the root of n of them, up to 2^36 elements.
 */
enum { BLOCK = 8, LEVELS = 6 };

/* Of each element of the last axis: the product of all others. */
static tgi_ref product_of_others(tgi_rule *rule, tgi_ref x)
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
    tgi_ref rows = tgi_rule_broadcast(
        rule,
        tgi_rule_reshape(rule, x, tgi_rule_shape_of(rule, last + 2, row)),
        tgi_rule_shape_of(rule, last + 2, square));
    tgi_ref i = tgi_build_iota(b, TG_I32, 2, &square[last], 0);
    tgi_ref j = tgi_build_iota(b, TG_I32, 2, &square[last], 1);
    return tgi_rule_reduce(rule, TGI_OP_PROD, SELECT(EQ(i, j), K(1), rows),
                           UINT64_C(1) << (last + 1));
}

/* The same for x of two axes, in blocks. */
static tgi_ref product_of_others_by_blocks(tgi_rule *rule, tgi_ref x,
                                           int levels)
{
    tgi_builder *b = rule->b;
    tgi_dims *table = b->graph->dims;
    if (!x)
        return 0;
    const tgi_shape_ref shape = tgi_graph_node(b->graph, x)->shape;
    const tgi_dim *dims = tgi_shape_of(table, shape)->dims;
    const tgi_dim rest = dims[0], n = dims[1];
    if (levels == 0 || (tgi_dim_is_known(n) && n <= BLOCK))
        return product_of_others(rule, x);

    const tgi_dim n_blocks =
        tgi_dim_div(table, tgi_dim_add(table, n, BLOCK - 1), BLOCK);
    const tgi_dim full = tgi_dim_mul(table, n_blocks, BLOCK);
    const tgi_attr_pad pad = {.high = {0, tgi_dim_sub(table, full, n)}};
    const tgi_attr_slice cut = {.step = {1, 1}};
    const tgi_shape_ref flat =
        tgi_rule_shape_of(rule, 2, (tgi_dim[]){rest, full});
    tgi_ref blocks = tgi_rule_reshape(
        rule, tgi_rule_pad(rule, x, K(1), &pad, flat),
        tgi_rule_shape_of(rule, 3, (tgi_dim[]){rest, n_blocks, BLOCK}));
    tgi_ref inside = product_of_others(rule, blocks);
    tgi_ref outside = product_of_others_by_blocks(
        rule, tgi_rule_reduce(rule, TGI_OP_PROD, blocks, 1 << 2), levels - 1);
    outside = tgi_rule_reshape(
        rule, outside,
        tgi_rule_shape_of(rule, 3, (tgi_dim[]){rest, n_blocks, 1}));
    tgi_ref others = tgi_rule_reshape(rule, MUL(inside, outside), flat);
    return tgi_rule_slice(rule, others, &cut, shape);
}

/* The axes of input 0, those kept before those reduced; gives how many are. */
static int kept_first(const tgi_rule *rule, int *perm)
{
    const int rank = tgi_rule_shape(rule, 0)->rank;
    int n = 0, n_kept = 0;
    for (int reduced = 0; reduced < 2; reduced++) {
        for (int i = 0; i < rank; i++)
            if ((int)(mask_of(rule) >> i & 1) == reduced)
                perm[n++] = i;
        n_kept = reduced ? n_kept : n;
    }
    return n_kept;
}

static tgi_ref others_of_product(tgi_rule *rule)
{
    tgi_builder *b = rule->b;
    const int rank = tgi_rule_shape(rule, 0)->rank;
    int perm[TG_MAX_RANK], back[TG_MAX_RANK];
    const int n_kept = kept_first(rule, perm);
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
    x = product_of_others_by_blocks(rule, x, LEVELS);
    x = tgi_rule_reshape(rule, x, shape);
    return tgi_build_transpose(b, x, rank, back);
}

RULE(prod)
{
    return PART(0, MUL(spread(rule, G), others_of_product(rule)));
}

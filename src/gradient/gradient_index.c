/* SPDX-License-Identifier: MIT */
/*
 * gradient_index.c - gradient rules of ops that read or write elements at
 * run-time positions. The gradient of a few elements of a large value is
 * accumulated in place, so that a loop over all of them takes linear time.
 */
#include "gradient/gradient_primitives.h"

/* Extent of an axis of the rule's node or of one of its inputs. */
static tgi_dim extent_of(const tgi_rule *rule, tgi_ref ref, int axis)
{
    return tgi_graph_shape(rule->graph, ref)->dims[axis];
}

/* -- Slices ---------------------------------------------------------------- */

/* Bypasses the builders, which would check again that the slice fits. The node
   itself has that check, and in a loop with zero iterations it need not
   hold. */
static tgi_ref build_dynamic_slice(tgi_rule *rule, tgi_ref x, tgi_ref start,
                                   tgi_shape_ref shape)
{
    const tgi_node *node = rule->node;
    return x && start
               ? tgi_build_node(rule->b, TGI_OP_DYNAMIC_SLICE, node->dtype,
                                shape, (tgi_ref[]){x, start}, 2, node->attr,
                                node->attr_bytes)
               : 0;
}

static tgi_ref build_dynamic_update(tgi_rule *rule, tgi_ref x, tgi_ref slice,
                                    tgi_ref start)
{
    const tgi_node *node = rule->node;
    return x && slice && start
               ? tgi_build_node(rule->b, TGI_OP_DYNAMIC_UPDATE, node->dtype,
                                tgi_graph_node(rule->b->graph, x)->shape,
                                (tgi_ref[]){x, slice, start}, 3, node->attr,
                                node->attr_bytes)
               : 0;
}

RULE(dynamic_slice)
{
    tgi_ref start = B, accumulated = tgi_rule_accumulated(rule, 0);
    tgi_ref slice =
        build_dynamic_slice(rule, accumulated, start, rule->node->shape);
    return tgi_rule_replace(
        rule, 0, build_dynamic_update(rule, accumulated, ADD(slice, G), start));
}

/* The replaced elements get no gradient; the update gets theirs. */
RULE(dynamic_update)
{
    tgi_ref start = C;
    return ADD_GRADIENT(0, build_dynamic_update(
                               rule, G, tgi_rule_zeros(rule, 1), start)) &&
           ADD_GRADIENT(1, build_dynamic_slice(rule, G, start,
                                               tgi_rule_node(rule, 1)->shape));
}

/* -- Indices --------------------------------------------------------------- */

/* Clamps indices of any dtype to 0 … n - 1, n > 0. */
static tgi_ref clamp_indices(tgi_rule *rule, tgi_ref indices, tgi_dim n)
{
    tgi_builder *b = rule->b;
    if (!indices)
        return 0;
    const bool is_u64 = tgi_graph_node(b->graph, indices)->dtype == TG_U64;
    tgi_ref last = tgi_build_extent(b, tgi_dim_sub(b->graph->dims, n, 1));
    if (is_u64)
        return MIN(indices, tgi_build_cast(b, last, TG_U64));
    tgi_ref zero = tgi_build_number(b, TG_I64, TG_I64,
                                    (tgi_number){TGI_NUMBER_INT, {.i = 0}});
    return MIN(MAX(tgi_build_cast(b, indices, TG_I64), zero), last);
}

/*
 * Scatter-adds the gradient to the gathered positions. An out-of-range index
 * read zeros, or made the gather fail, so it is dropped.
 */
RULE(gather)
{
    const tgi_attr_gather *attr = rule->node->attr;
    const int axis = (int)attr->axis;
    tgi_ref indices = B, accumulated = tgi_rule_accumulated(rule, 0);
    if (attr->mode == TG_GATHER_CLAMP)
        indices = clamp_indices(rule, indices,
                                extent_of(rule, rule->node->inputs[0], axis));
    return tgi_rule_replace(rule, 0,
                            tgi_build_scatter(rule->b, accumulated, indices, G,
                                              axis, TG_SCATTER_ADD,
                                              TG_SCATTER_DROP));
}

/*
 * True for the update that takes effect among all with the same index: scatters
 * the number of each update and compares. Shaped like the indices, followed by
 * axes of extent 1 for the trailing axes of x.
 */
static tgi_ref is_last_update(tgi_rule *rule, tgi_ref indices, int axis)
{
    tgi_builder *b = rule->b;
    tgi_dims *table = b->graph->dims;
    if (!indices)
        return 0;
    const tgi_shape *x = tgi_rule_shape(rule, 0);
    const tgi_shape_ref shape = tgi_graph_node(b->graph, indices)->shape;
    const tgi_shape *index_shape = tgi_shape_of(table, shape);
    const tgi_dim count = tgi_dim_product(table, index_shape);
    if (tgi_build_dim(b, count) == TGI_DIM_NONE)
        return 0;
    tgi_ref numbers = tgi_rule_reshape(
        rule, tgi_build_iota(b, TG_I64, 1, &count, 0), shape);
    tgi_ref zeros_1d = tgi_build_number(
        b, TG_I64, TG_I64, (tgi_number){TGI_NUMBER_INT, {.i = 0}});
    zeros_1d = tgi_rule_broadcast(rule, zeros_1d,
                                  tgi_rule_shape_of(rule, 1, &x->dims[axis]));
    tgi_ref last_number = tgi_build_scatter(b, zeros_1d, indices, numbers, 0,
                                            TG_SCATTER_SET, TG_SCATTER_DROP);
    tgi_ref last_for_index =
        tgi_build_gather(b, last_number, indices, 0, TG_GATHER_ZERO);

    tgi_dim dims[2 * TG_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < index_shape->rank; i++)
        dims[rank++] = index_shape->dims[i];
    for (int i = axis + 1; i < x->rank; i++)
        dims[rank++] = 1;
    const tgi_ref is_last = EQ(last_for_index, numbers);
    return tgi_rule_reshape(rule, is_last,
                            tgi_rule_shape_of(rule, rank, dims));
}

/* -- Scatters that combine ------------------------------------------------- */

/* A gather of a value like the result, at the updates, with their shape. */
static tgi_ref at_updates(tgi_rule *rule, tgi_ref x, tgi_ref indices)
{
    const tgi_attr_scatter *attr = rule->node->attr;
    return tgi_rule_reshape(rule,
                            tgi_build_gather(rule->b, x, indices,
                                             (int)attr->axis, TG_GATHER_ZERO),
                            tgi_rule_node(rule, 2)->shape);
}

/* Scatters values like the updates into a value like x. */
static tgi_ref scatter_like(tgi_rule *rule, tgi_ref x, tgi_ref indices,
                            tgi_ref updates, tg_scatter_mode mode)
{
    const tgi_attr_scatter *attr = rule->node->attr;
    return tgi_build_scatter(rule->b, x, indices, updates, (int)attr->axis,
                             mode, TG_SCATTER_DROP);
}

static tgi_ref as_number(tgi_rule *rule, tgi_ref is_true)
{
    return tgi_build_cast(rule->b, is_true, rule->node->dtype);
}

/* Of the largest or smallest: equal shares for x and the updates equal to it.
   A NaN counts as equal, because the result is NaN, too. */
static bool add_to_extremes(tgi_rule *rule)
{
    tgi_ref x = A, indices = B, updates = C, y = Y;
    tgi_ref is_x = OR(EQ(x, y), NE(x, x));
    tgi_ref is_update =
        OR(EQ(updates, at_updates(rule, y, indices)), NE(updates, updates));
    tgi_ref first = as_number(rule, is_x);
    tgi_ref count = scatter_like(rule, first, indices,
                                 as_number(rule, is_update), TG_SCATTER_ADD);
    tgi_ref share = DIV(G, count);
    return ADD_GRADIENT(0, SELECT(is_x, share, K(0))) &&
           ADD_GRADIENT(2, SELECT(is_update, at_updates(rule, share, indices),
                                  K(0)));
}

/*
 * Of a product: the product of the other factors. Divided by a factor only if
 * no factor is 0: the only zero among them gets the product of the nonzero
 * ones, other zeros get 0.
 */
static bool add_to_factors(tgi_rule *rule)
{
    tgi_ref x = A, indices = B, updates = C;
    const tgi_shape_ref shape = rule->node->shape;
    tgi_ref ones = tgi_rule_broadcast(rule, K(1), shape);
    if (!ADD_GRADIENT(0, MUL(G, scatter_like(rule, ones, indices, updates,
                                             TG_SCATTER_MUL))))
        return false;
    if (!tgi_rule_wants(rule, 2))
        return true;
    tgi_ref is_zero = EQ(x, K(0)), is_zero_update = EQ(updates, K(0));
    tgi_ref zeros = as_number(rule, is_zero);
    zeros = scatter_like(rule, zeros, indices, as_number(rule, is_zero_update),
                         TG_SCATTER_ADD);
    tgi_ref product = SELECT(is_zero, K(1), x);
    tgi_ref factors = SELECT(is_zero_update, K(1), updates);
    product = scatter_like(rule, product, indices, factors, TG_SCATTER_MUL);
    tgi_ref others = DIV(at_updates(rule, product, indices), factors);
    tgi_ref other_zeros = SUB(at_updates(rule, zeros, indices),
                              as_number(rule, is_zero_update));
    others = SELECT(EQ(other_zeros, K(0)), others, K(0));
    return tgi_rule_add(rule, 2, MUL(at_updates(rule, G, indices), others));
}

RULE(scatter)
{
    const tgi_attr_scatter *attr = rule->node->attr;
    const int axis = (int)attr->axis;
    const bool adds = attr->mode == TG_SCATTER_ADD;
    tgi_builder *b = rule->b;
    if (attr->mode == TG_SCATTER_MUL)
        return add_to_factors(rule);
    if (attr->mode == TG_SCATTER_MAX || attr->mode == TG_SCATTER_MIN)
        return add_to_extremes(rule);
    if (adds && !ADD_GRADIENT(0, G))
        return false;
    if (adds && !tgi_rule_wants(rule, 2))
        return true;
    tgi_ref indices = B;
    if (!adds && tgi_rule_wants(rule, 0)) {
        tgi_ref zeros = tgi_rule_zeros(rule, 2);
        tgi_ref kept = tgi_build_scatter(b, G, indices, zeros, axis,
                                         TG_SCATTER_SET, TG_SCATTER_DROP);
        if (!tgi_rule_add(rule, 0, kept))
            return false;
    }
    if (!tgi_rule_wants(rule, 2))
        return true;
    tgi_ref gathered = tgi_build_gather(b, G, indices, axis, TG_GATHER_ZERO);
    if (!adds) {
        tgi_ref is_last = is_last_update(rule, indices, axis);
        gathered = SELECT(is_last, gathered, K(0));
    }
    return tgi_rule_add(
        rule, 2,
        tgi_rule_reshape(rule, gathered, tgi_rule_node(rule, 2)->shape));
}

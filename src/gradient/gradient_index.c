/* SPDX-License-Identifier: MIT */
/*
 * gradient_index.c - gradient rules of what takes or changes elements at
 * places that the run decides. Those of a few elements of a large value change
 * its gradient in place, so that a loop over all of them costs no more than
 * they do.
 */
#include "gradient/gradient_primitives.h"

/* Extent of an axis of the rule's node or of one of its inputs. */
static tgi_dim extent_of(const tgi_rule *rule, tgi_ref ref, int axis)
{
    return tgi_graph_shape(rule->graph, ref)->dims[axis];
}

/* -- Slices ---------------------------------------------------------------- */

/* Not by the builders: that a slice fits was a condition of the node itself,
   and of one in a loop without trips it need not hold. */
static tgi_ref slice(tgi_rule *rule, tgi_ref x, tgi_ref start,
                     tgi_shape_ref shape)
{
    const tgi_node *node = rule->node;
    return x && start
               ? tgi_build_node(rule->b, TGI_OP_DYNAMIC_SLICE, node->dtype,
                                shape, (tgi_ref[]){x, start}, 2, node->attr,
                                node->attr_bytes)
               : 0;
}

static tgi_ref update(tgi_rule *rule, tgi_ref x, tgi_ref part, tgi_ref start)
{
    const tgi_node *node = rule->node;
    return x && part && start
               ? tgi_build_node(rule->b, TGI_OP_DYNAMIC_UPDATE, node->dtype,
                                tgi_graph_node(rule->b->graph, x)->shape,
                                (tgi_ref[]){x, part, start}, 3, node->attr,
                                node->attr_bytes)
               : 0;
}

RULE(dynamic_slice)
{
    tgi_ref start = B, so_far = tgi_rule_accumulated(rule, 0);
    tgi_ref part = slice(rule, so_far, start, rule->node->shape);
    return tgi_rule_replace(rule, 0, update(rule, so_far, ADD(part, G), start));
}

/* What is replaced does not matter, what it is replaced by does. */
RULE(dynamic_update)
{
    tgi_ref start = C;
    return PART(0, update(rule, G, tgi_rule_zeros(rule, 1), start)) &&
           PART(1, slice(rule, G, start, tgi_rule_node(rule, 1)->shape));
}

/* -- Indices --------------------------------------------------------------- */

/* Indices moved to the nearest valid one of n > 0, whatever their type. */
static tgi_ref clamped(tgi_rule *rule, tgi_ref indices, tgi_dim n)
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
 * Added where they were taken. An index out of range gave zeros, or there was
 * none, since the gather has failed: it is dropped.
 */
RULE(gather)
{
    const tgi_attr_gather *attr = rule->node->attr;
    const int axis = (int)attr->axis;
    tgi_ref indices = B, so_far = tgi_rule_accumulated(rule, 0);
    if (attr->mode == TG_GATHER_CLAMP)
        indices = clamped(rule, indices,
                          extent_of(rule, rule->node->inputs[0], axis));
    return tgi_rule_replace(rule, 0,
                            tgi_build_scatter(rule->b, so_far, indices, G, axis,
                                              TG_SCATTER_ADD, TG_SCATTER_DROP));
}

/*
 * Whether a slice is the one that counts, among all for the same place: if
 * that place, told the numbers of its slices one after the other, remembers
 * this one. For each index, with axes of 1 for those of x behind.
 */
static tgi_ref is_last(tgi_rule *rule, tgi_ref indices, int axis)
{
    tgi_builder *b = rule->b;
    tgi_dims *table = b->graph->dims;
    if (!indices)
        return 0;
    const tgi_shape *x = tgi_rule_shape(rule, 0);
    const tgi_shape_ref shape = tgi_graph_node(b->graph, indices)->shape;
    const tgi_shape *at = tgi_shape_of(table, shape);
    const tgi_dim count = tgi_dim_product(table, at);
    if (tgi_build_dim(b, count) == TGI_DIM_NONE)
        return 0;
    tgi_ref numbers = tgi_rule_reshape(
        rule, tgi_build_iota(b, TG_I64, 1, &count, 0), shape);
    tgi_ref nothing = tgi_rule_broadcast(
        rule,
        tgi_build_number(b, TG_I64, TG_I64,
                         (tgi_number){TGI_NUMBER_INT, {.i = 0}}),
        tgi_rule_shape_of(rule, 1, &x->dims[axis]));
    tgi_ref remembered = tgi_build_scatter(b, nothing, indices, numbers, 0,
                                           TG_SCATTER_SET, TG_SCATTER_DROP);
    tgi_ref found =
        tgi_build_gather(b, remembered, indices, 0, TG_GATHER_ZERO);

    tgi_dim dims[2 * TG_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < at->rank; i++)
        dims[rank++] = at->dims[i];
    for (int i = axis + 1; i < x->rank; i++)
        dims[rank++] = 1;
    return tgi_rule_reshape(rule, EQ(found, numbers),
                            tgi_rule_shape_of(rule, rank, dims));
}

RULE(scatter)
{
    const tgi_attr_scatter *attr = rule->node->attr;
    const int axis = (int)attr->axis;
    const bool adds = attr->mode == TG_SCATTER_ADD;
    tgi_builder *b = rule->b;
    if (adds && !PART(0, G))
        return false;
    if (adds && !tgi_rule_wants(rule, 2))
        return true;
    tgi_ref indices = B;
    if (!adds && tgi_rule_wants(rule, 0)) {
        tgi_ref zeros = tgi_rule_zeros(rule, 2);
        tgi_ref rest = tgi_build_scatter(b, G, indices, zeros, axis,
                                         TG_SCATTER_SET, TG_SCATTER_DROP);
        if (!tgi_rule_add(rule, 0, rest))
            return false;
    }
    if (!tgi_rule_wants(rule, 2))
        return true;
    tgi_ref taken = tgi_build_gather(b, G, indices, axis, TG_GATHER_ZERO);
    if (!adds) {
        tgi_ref counts = is_last(rule, indices, axis);
        taken = SELECT(counts, taken, K(0));
    }
    return tgi_rule_add(
        rule, 2, tgi_rule_reshape(rule, taken, tgi_rule_node(rule, 2)->shape));
}

/* SPDX-License-Identifier: MIT */
/*
 * fuse_values.c - which values are stored. The graph is walked from its end,
 * so that all users of a value are known when its turn comes.
 *
 * A value lives inside the expression that uses it, unless
 *   - it is used in several places (another expression, or the same one
 *     through another view) and is not cheap: nothing expensive is computed
 *     twice;
 *   - its elements are used again and again: by a product, a gather, or by a
 *     broadcast that repeats whole rows of it;
 *   - another shape of it is wanted that only its dense form has.
 * Reductions, products and what copies into parts are always stored; whether
 * a buffer is really needed is seen when kernels are known.
 */
#include "fuse/fuse_value.h"

#include "fuse/fuse_map.h"
#include "fuse/fuse_task.h"
#include "loop/explain.h"
#include "tgjit/ops.h"

enum {
    CHEAP = 4, /* words one may rather compute twice than store */
    COST_LIMIT = 1 << 20
};

/* -- Forward: costs, and values that are others' --------------------------- */

/* Words of an op's recipe, roughly. */
static uint32_t own_cost(const tgi_node *node)
{
    if (tgi_fuse_is_view(node))
        return 0;
    switch (tgi_op_table[node->op].cls) {
    case TGI_OPCLASS_LEAF:
        return 0;
    case TGI_OPCLASS_RANDOM:
        return 60;
    case TGI_OPCLASS_TERNARY:
    case TGI_OPCLASS_CAST:
        return 1;
    default:
        break;
    }
    switch (node->op) {
    case TGI_OP_STOP:
    case TGI_OP_NEG:
    case TGI_OP_ABS:
    case TGI_OP_NOT:
    case TGI_OP_ADD:
    case TGI_OP_SUB:
    case TGI_OP_MUL:
    case TGI_OP_AND:
    case TGI_OP_OR:
    case TGI_OP_XOR:
    case TGI_OP_EQ:
    case TGI_OP_NE:
    case TGI_OP_LT:
    case TGI_OP_LE:
    case TGI_OP_FLOOR:
    case TGI_OP_CEIL:
    case TGI_OP_ROUND:
    case TGI_OP_TRUNC:
        return 1;
    case TGI_OP_MIN:
    case TGI_OP_MAX:
    case TGI_OP_SIGN:
        return 4;
    case TGI_OP_DIV:
    case TGI_OP_SQRT:
        return 8;
    default:
        return 24;
    }
}

static tgi_ref same_of(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    if (node->op == TGI_OP_ASSIGN)
        return s->values[node->inputs[1]].forwards_to;
    if (node->op == TGI_OP_READ && node->n_inputs == 2 &&
        !tgi_fuse_defining_region(s, ref))
        return s->values[node->inputs[1]].forwards_to;
    return ref;
}

tgi_ref tgi_fuse_resolve(const tgi_fuse_state *s, tgi_ref ref)
{
    return s->values[ref].forwards_to;
}

tgi_ref tgi_fuse_defining_region(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    if (node->op != TGI_OP_READ || node->n_inputs < 2)
        return 0;
    const tgi_ref write = node->inputs[1];
    return tgi_node_has_regions(tgi_graph_node(s->graph, write)) ? write : 0;
}

bool tgi_fuse_is_needed(const tgi_fuse_state *s, tgi_ref ref)
{
    return s->values[ref].is_live ||
           tgi_graph_is_root(s->graph, tgi_graph_node(s->graph, ref));
}

static void note_write(tgi_fuse_state *s, tgi_ref variable, tgi_ref ref)
{
    tgi_ref *first = &s->first_write[tgi_fuse_param(s, variable)];
    *first = *first ? *first : ref;
}

/* True if a broadcast repeats more than single elements: then what lies in
   front of it would be computed again for every row. */
static bool repeats_rows(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    tgi_ref in = tgi_fuse_resolve(s, node->inputs[0]);
    int rank = tgi_fuse_rank(s, ref), added = rank - tgi_fuse_rank(s, in);
    bool has_expanded = false;
    for (int axis = 0; axis < rank; axis++) {
        bool is_one = axis < added || tgi_fuse_extent(s, in, axis - added) == 1;
        if (is_one)
            has_expanded |= tgi_fuse_extent(s, ref, axis) != 1;
        else if (has_expanded)
            return true;
    }
    return false;
}

static void look_forward(tgi_fuse_state *s)
{
    for (tgi_ref ref = 1; ref <= s->graph->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(s->graph, ref);
        tgi_fuse_value *value = &s->values[ref];
        value->forwards_to = same_of(s, ref);
        value->must_store = value->force_reason != NULL;
        if (tgi_fuse_is_checked(node))
            s->last_check = ref;
        if (node->op == TGI_OP_ASSIGN)
            note_write(s, node->inputs[0], ref);
        if (tgi_node_has_regions(node)) {
            s->last_check = ref; /* assignments do not wait for it */
            for (uint32_t i = 0; i < node->n_inputs; i++)
                if (tgi_node_writes(node, i))
                    note_write(s, node->inputs[i], ref);
        }
        value->node_cost = own_cost(node);
        uint32_t cost = value->node_cost;
        /* A start is the same for all elements. */
        for (uint32_t i = 0;
             i < node->n_inputs && (i == 0 || !tgi_fuse_is_view(node)); i++)
            cost += s->values[node->inputs[i]].inline_cost;
        /* What is the same along a row costs nothing at its elements. */
        if (node->op == TGI_OP_BROADCAST && !repeats_rows(s, ref))
            cost = 0;
        value->inline_cost = cost < COST_LIMIT ? cost : COST_LIMIT;
    }
}

/* -- Backward: uses -------------------------------------------------------- */

static tgi_fuse_value *use(tgi_fuse_state *s, tgi_ref ref, tgi_ref owner,
                           tgi_ref view)
{
    tgi_fuse_value *value = &s->values[tgi_fuse_resolve(s, ref)];
    if (!value->is_live) {
        value->is_live = true;
        value->owner = owner;
        value->view = view;
    } else if (value->owner != owner || value->view != view) {
        value->owner = TGI_SEVERAL_OWNERS;
    }
    return value;
}

/* As use, by someone who needs a dense buffer. */
static void use_dense(tgi_fuse_state *s, tgi_ref ref, tgi_ref owner)
{
    use(s, ref, owner, 0)->must_store = true;
}

/* A use by a task that stores it: shapes do not matter, dense is dense. */
static void use_as_root(tgi_fuse_state *s, tgi_ref ref, tgi_ref owner)
{
    use(s, tgi_fuse_storage_root(s, ref), owner, 0);
}

tgi_ref tgi_fuse_storage_root(const tgi_fuse_state *s, tgi_ref ref)
{
    ref = tgi_fuse_resolve(s, ref);
    for (;;) {
        const tgi_node *node = tgi_graph_node(s->graph, ref);
        if (node->op != TGI_OP_RESHAPE)
            return ref;
        ref = tgi_fuse_resolve(s, node->inputs[0]);
    }
}

/* Passes the uses of an inlined value, or of a root, on to its inputs. */
static void use_inputs(tgi_fuse_state *s, tgi_ref ref, tgi_ref owner,
                       tgi_ref view)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    const tgi_fuse_value *value = &s->values[ref];
    switch (node->op) {
    case TGI_OP_RESHAPE:
    case TGI_OP_TRANSPOSE:
    case TGI_OP_SLICE:
        use(s, node->inputs[0], owner, ref)->prefers_memory |=
            value->prefers_memory;
        return;
    case TGI_OP_DYNAMIC_SLICE:
        use(s, node->inputs[0], owner, ref)->prefers_memory |=
            value->prefers_memory;
        use(s, node->inputs[1], owner, ref);
        return;
    case TGI_OP_BROADCAST:
        use(s, node->inputs[0], owner, ref)->prefers_memory |=
            value->prefers_memory ||
            (value->inline_cost > CHEAP && repeats_rows(s, ref));
        return;
    case TGI_OP_GATHER:
        use(s, node->inputs[0], owner, ref)->prefers_memory = true;
        use(s, node->inputs[1], owner, ref);
        return;
    default:
        for (uint32_t i = 0; i < node->n_inputs; i++)
            use(s, node->inputs[i], owner, view);
    }
}

/* True if a read of a variable must be copied at once: its contents may be
   overwritten before the last use. Assignments wait for the end of the call,
   unless a check that may fail comes after them. (What a print or host call
   brings forward is seen when kernels are formed: find_stale of
   fuse_place.c.) */
static bool needs_snapshot(const tgi_fuse_state *s, const tgi_node *read)
{
    tgi_ref write = s->first_write[tgi_fuse_param(s, read->inputs[0])];
    return write && write < s->last_check;
}

bool tgi_fuse_is_checked(const tgi_node *node)
{
    if (node->op == TGI_OP_SCATTER)
        return ((const tgi_attr_scatter *)node->attr)->range ==
               TG_SCATTER_CHECK;
    return node->op == TGI_OP_GATHER &&
           ((const tgi_attr_gather *)node->attr)->mode == TG_GATHER_CHECK;
}

/* A branch or loop takes its inputs from memory, but for the values it begins
   with: these are computed into memory of its own. */
static void use_region_inputs(tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    const tgi_attr_regions *attr = node->attr;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const tgi_ref input = tgi_fuse_storage_root(s, node->inputs[i]);
        const int op = tgi_graph_node(s->graph, input)->op;
        if (op == TGI_OP_VARIABLE ||
            (op == TGI_OP_UNSET && tgi_fuse_is_unbounded(s, input)))
            continue;
        if (i > 0 && i <= attr->n_carried)
            use(s, input, ref, i);
        else
            use_dense(s, input, ref);
    }
}

/* How a live value is had, all of whose users are known. */
static tgi_value_class decide(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    const tgi_fuse_value *value = &s->values[ref];
    bool is_view = tgi_fuse_is_view(node);
    bool is_many = value->owner == TGI_SEVERAL_OWNERS;
    switch (node->op) {
    case TGI_OP_PARAM:
    case TGI_OP_VARIABLE:
        return TGI_VALUE_INPUT;
    case TGI_OP_READ:
        return value->force_reason || needs_snapshot(s, node)
                   ? TGI_VALUE_MATERIALISED
                   : TGI_VALUE_INPUT;
    case TGI_OP_CONSTANT:
        return tgi_domain_of(s, ref).n == 0 && !value->must_store
                   ? TGI_VALUE_INLINED
                   : TGI_VALUE_INPUT;
    case TGI_OP_RESULT:
        return TGI_VALUE_MATERIALISED;
    case TGI_OP_IOTA:
    case TGI_OP_EXTENT:
    case TGI_OP_UNSET:
        return value->must_store || value->prefers_memory
                   ? TGI_VALUE_MATERIALISED
                   : TGI_VALUE_INLINED;
    default:
        break;
    }
    switch (tgi_op_table[node->op].cls) {
    case TGI_OPCLASS_REDUCE:
    case TGI_OPCLASS_MATMUL:
        return TGI_VALUE_MATERIALISED;
    case TGI_OPCLASS_INDEX:
        if (node->op != TGI_OP_GATHER && !is_view)
            return TGI_VALUE_MATERIALISED;
        break;
    default:
        break;
    }
    if (is_view && !tgi_fuse_is_affine(s, ref))
        return TGI_VALUE_ALIAS;
    if (value->must_store)
        return TGI_VALUE_MATERIALISED;
    if (is_view)
        return TGI_VALUE_INLINED;
    return value->prefers_memory || (is_many && value->inline_cost > CHEAP)
               ? TGI_VALUE_MATERIALISED
               : TGI_VALUE_INLINED;
}

/* Indices are looked at again and again. If they have several axes, these
   must lie as one, in the updates too. */
static void use_scattered(tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    const bool is_one =
        tgi_domain_of(s, tgi_fuse_resolve(s, node->inputs[1])).n < 2;
    use(s, node->inputs[0], ref, TGI_SEVERAL_OWNERS - 1);
    tgi_fuse_value *indices =
        use(s, node->inputs[1], ref, TGI_SEVERAL_OWNERS - 2);
    indices->prefers_memory = true;
    indices->must_store |= !is_one;
    use(s, node->inputs[2], ref, TGI_SEVERAL_OWNERS - 3)->must_store |= !is_one;
}

static void look_at(tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    tgi_fuse_value *value = &s->values[ref];
    if (node->op == TGI_OP_ASSIGN) {
        use_as_root(s, node->inputs[1], ref);
        return;
    }
    if (tgi_fuse_is_host(node)) {
        for (uint32_t i = 0; i < node->n_inputs; i++)
            use_dense(s, tgi_fuse_storage_root(s, node->inputs[i]), ref);
        return;
    }
    if (tgi_node_has_regions(node)) {
        if (tgi_fuse_is_needed(s, ref))
            use_region_inputs(s, ref);
        return;
    }
    /* Its index is looked at twice, and named if it is bad. */
    if (tgi_fuse_is_checked(node))
        use_dense(s, tgi_fuse_storage_root(s, node->inputs[1]), ref);
    if (!value->is_live || value->forwards_to != ref)
        return;

    value->class = (uint8_t)decide(s, ref);
    switch ((tgi_value_class)value->class) {
    case TGI_VALUE_ALIAS:
        use_dense(s, tgi_fuse_storage_root(s, ref), ref);
        return;
    case TGI_VALUE_INLINED:
        if (value->owner == TGI_SEVERAL_OWNERS)
            use_inputs(s, ref, TGI_SEVERAL_OWNERS, 0);
        else
            use_inputs(s, ref, value->owner, value->view);
        return;
    case TGI_VALUE_MATERIALISED:
        if (value->force_reason)
            tgi_explain_node(s->explain, s->graph, ref, "stored: %s",
                             value->force_reason);
        else if (node->op == TGI_OP_READ)
            tgi_explain_node(s->explain, s->graph, ref,
                             "stored: overwritten before a check");
        else if (value->owner == TGI_SEVERAL_OWNERS)
            tgi_explain_node(s->explain, s->graph, ref,
                             "stored: used in several places");
        else if (value->must_store || value->prefers_memory)
            tgi_explain_node(s->explain, s->graph, ref,
                             "stored: needed in memory");
        if (node->op == TGI_OP_READ)
            return;
        break;
    case TGI_VALUE_DEAD:
    case TGI_VALUE_INPUT:
        return;
    }

    switch (node->op) {
    case TGI_OP_MATMUL:
        use(s, node->inputs[0], ref, 0)->prefers_memory = true;
        use(s, node->inputs[1], ref, 1)->prefers_memory |=
            !tgi_fuse_packs_rhs(s, ref);
        break;
    case TGI_OP_SCATTER:
        use_scattered(s, ref);
        break;
    case TGI_OP_CONCAT:
    case TGI_OP_DYNAMIC_UPDATE:
        /* Every part is a task of its own. */
        for (uint32_t i = 0; i < node->n_inputs; i++)
            use(s, node->inputs[i], ref, TGI_SEVERAL_OWNERS - 1 - i);
        break;
    default:
        use_inputs(s, ref, ref, 0);
        break;
    }
}

tg_status tgi_fuse_values(tgi_fuse_state *s)
{
    const tgi_graph *graph = s->graph;
    look_forward(s);
    for (size_t i = 0; i < graph->results.n; i++)
        if (!s->bound_results || !tgi_buffer_id_is_none(s->bound_results[i]))
            use_as_root(s, graph->results.data[i],
                        graph->n_nodes + 1 + (tgi_ref)i);
    for (tgi_ref ref = graph->n_nodes; ref > 0; ref--)
        look_at(s, ref);
    return TG_OK;
}

/* SPDX-License-Identifier: MIT */
/*
 * fuse_values.c - materialise or inline? Walks the graph backwards, so that
 * every use of a value is known when it is visited.
 *
 * A value is inlined into its users unless
 *   - several expressions use it, or one through several views, and it costs
 *     more than TGI_COST_CHEAP (recipe/cost.h);
 *   - a user rereads its elements: a matmul, a gather, or a broadcast that
 *     repeats rows;
 *   - a user needs its dense form.
 * A reshape that is not affine aliases the buffer of its storage root.
 * Reductions, matmuls, scatters, updates, pads and concats are always
 * materialised; whether that takes a buffer is decided once kernels are formed.
 * A pad or concat that is only a piece of another one is stored there.
 *
 * Requires:    a graph without calls; a variant; values forced by retries.
 * Computes:    values[].class, and who uses each value.
 * Preserves:   the graph.
 * Invalidates: nothing.
 */
#include "fuse/fuse_value.h"

#include "base/error.h"
#include "fuse/fuse_buffer.h"
#include "fuse/fuse_map.h"
#include "fuse/fuse_task.h"
#include "loop/explain.h"
#include "recipe/cost_node.h"
#include "tgjit/ops.h"

enum {
    MAX_COST = 1 << 20, /* costs saturate here */
    MAX_PART_DEPTH = 16, /* of concats and pads in each other */
    /* Half-cycles of an index that is computed for its check, and again for its
       use. It has up to 8 bytes, and the check is another sweep. */
    MAX_CHECKED_COST = 4 * TGI_COST_CHEAP,
    /* A transposed variable is copied if it has so many elements, and each of
       them is used so many times. */
    MIN_MEMO_ELEMENTS = 64,
    MIN_MEMO_REPEATS = 16
};

/* -- Forward: costs and forwarding ----------------------------------------- */

/* An assignment, and a read after it, forward the assigned value. */
static tgi_ref find_forwarded(const tgi_fuse_state *s, tgi_ref ref)
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

tg_status tgi_fuse_force(tgi_fuse_state *s, tgi_ref ref, const char *why)
{
    if (s->values[ref].force_reason && !s->must_restart)
        TGI_FAIL(TG_ERROR_INTERNAL, TGI_NO_SITE,
                 "fusion of '%s' forces node %u twice: %s, then %s",
                 s->graph->name, ref, s->values[ref].force_reason, why);
    s->values[ref].force_reason = why;
    s->must_restart = true;
    return TG_OK;
}

bool tgi_fuse_is_needed(const tgi_fuse_state *s, tgi_ref ref)
{
    return s->values[ref].is_live ||
           tgi_graph_is_root(s->graph, tgi_graph_node(s->graph, ref));
}

static void record_write(tgi_fuse_state *s, tgi_ref variable, tgi_ref ref)
{
    tgi_ref *first = &s->first_write[tgi_fuse_param(s, variable)];
    *first = *first ? *first : ref;
}

/* True if a broadcast repeats more than single elements: an inlined operand
   would then be recomputed for every row. */
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

/* True if a user that repeats the elements of a value loads it: it is not cheap
   to compute again. */
static bool is_loaded_if_repeated(const tgi_fuse_state *s, tgi_ref ref)
{
    return s->values[tgi_fuse_resolve(s, ref)].inline_cost > TGI_COST_CHEAP;
}

/*
 * The half-cycles to compute an element, inlined inputs included. Values that
 * are always loaded cost nothing, except reductions and matmuls: an expression
 * of their results that is stored takes their place in memory, so it is not
 * inlined into several users.
 */
static uint32_t compute_inline_cost(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    uint32_t first = 0, end = tgi_fuse_is_view(node) ? 1 : node->n_inputs;
    switch (tgi_op_table[node->op].cls) {
    case TGI_OPCLASS_REDUCE:
    case TGI_OPCLASS_SCAN:
    case TGI_OPCLASS_MATMUL:
    case TGI_OPCLASS_CONV:
        return TGI_COST_CHEAP + 1;
    case TGI_OPCLASS_INDEX:
        if (node->op == TGI_OP_GATHER)
            first = 1; /* the elements are loaded */
        else if (!tgi_fuse_is_view(node))
            return 0;
        break;
    case TGI_OPCLASS_STATE:
    case TGI_OPCLASS_EFFECT:
    case TGI_OPCLASS_REGION:
        return 0;
    default:
        break;
    }
    /* A value that is invariant along rows costs nothing per element. */
    if (node->op == TGI_OP_BROADCAST &&
        (!repeats_rows(s, ref) || is_loaded_if_repeated(s, node->inputs[0])))
        return 0;
    uint32_t cost = s->values[ref].node_cost.half_cycles;
    for (uint32_t i = first; i < end; i++)
        cost += s->values[tgi_fuse_resolve(s, node->inputs[i])].inline_cost;
    return cost < MAX_COST ? cost : MAX_COST;
}

static void compute_costs(tgi_fuse_state *s)
{
    for (tgi_ref ref = 1; ref <= s->graph->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(s->graph, ref);
        tgi_fuse_value *value = &s->values[ref];
        value->forwards_to = find_forwarded(s, ref);
        value->must_store = value->force_reason != NULL;
        if (tgi_fuse_is_checked(node))
            s->last_check = ref;
        if (node->op == TGI_OP_ASSIGN)
            record_write(s, node->inputs[0], ref);
        if (tgi_node_has_regions(node)) {
            s->last_check = ref; /* earlier assignments precede it */
            for (uint32_t i = 0; i < node->n_inputs; i++)
                if (tgi_node_writes(node, i))
                    record_write(s, node->inputs[i], ref);
        }
        value->node_cost = tgi_cost_of_node(s->graph, ref);
        value->inline_cost = compute_inline_cost(s, ref);
    }
}

/* -- Backward: uses -------------------------------------------------------- */

/* Records a use of a value by the expression of `owner`, through `view`. */
static tgi_fuse_value *add_use(tgi_fuse_state *s, tgi_ref ref, tgi_ref owner,
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

/* As add_use, by a user that needs a dense buffer. */
static void add_dense_use(tgi_fuse_state *s, tgi_ref ref, tgi_ref owner)
{
    add_use(s, ref, owner, 0)->must_store = true;
}

/* A use by a task that stores the value: a reshape has the same dense form. */
static void add_root_use(tgi_fuse_state *s, tgi_ref ref, tgi_ref owner)
{
    add_use(s, tgi_fuse_storage_root(s, ref), owner, 0);
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

/* True if a broadcast uses each element of its operand often. */
static bool repeats_often(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_ref in =
        tgi_fuse_resolve(s, tgi_graph_node(s->graph, ref)->inputs[0]);
    const int rank = tgi_fuse_rank(s, ref), added = rank - tgi_fuse_rank(s, in);
    int64_t n = 1;
    for (int axis = 0; axis < rank && n < MIN_MEMO_REPEATS; axis++) {
        const tgi_dim extent = tgi_fuse_extent(s, ref, axis);
        if (axis < added || tgi_fuse_extent(s, in, axis - added) != extent)
            n = !tgi_dim_is_known(extent) || extent > MIN_MEMO_REPEATS
                    ? MIN_MEMO_REPEATS
                    : n * extent;
    }
    return n >= MIN_MEMO_REPEATS;
}

/* Records the uses that an inlined value, or a root, makes of its inputs. */
static void add_input_uses(tgi_fuse_state *s, tgi_ref ref, tgi_ref owner,
                           tgi_ref view)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    const tgi_fuse_value *value = &s->values[ref];
    tgi_fuse_value *input;
    switch (node->op) {
    case TGI_OP_RESHAPE:
    case TGI_OP_TRANSPOSE:
    case TGI_OP_SLICE:
        input = add_use(s, node->inputs[0], owner, ref);
        input->prefers_memory |= value->prefers_memory;
        input->is_repeated |= value->is_repeated;
        return;
    case TGI_OP_WINDOW:
        /* An element is in several windows. */
        add_use(s, node->inputs[0], owner, ref)->prefers_memory = true;
        return;
    case TGI_OP_DYNAMIC_SLICE:
        add_use(s, node->inputs[0], owner, ref)->prefers_memory |=
            value->prefers_memory;
        add_use(s, node->inputs[1], owner, ref);
        return;
    case TGI_OP_BROADCAST:
        input = add_use(s, node->inputs[0], owner, ref);
        input->prefers_memory |=
            value->prefers_memory ||
            (repeats_rows(s, ref) && is_loaded_if_repeated(s, node->inputs[0]));
        input->is_repeated |= value->is_repeated || repeats_often(s, ref);
        return;
    case TGI_OP_GATHER:
        add_use(s, node->inputs[0], owner, ref)->prefers_memory = true;
        add_use(s, node->inputs[1], owner, ref);
        return;
    default:
        for (uint32_t i = 0; i < node->n_inputs; i++)
            add_use(s, node->inputs[i], owner, view);
    }
}

/* True if a READ must be copied at once, because the variable may be
   overwritten before the last use of the READ. Assignments sink to the end of
   the call, unless a check that may fail follows them. (Those that precede a
   print or host call are found by tgi_fuse_find_stale_read.) */
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

/* A branch or loop reads its inputs from memory. The initial values of carried
   values are computed into its own buffers. */
static void add_region_uses(tgi_fuse_state *s, tgi_ref ref)
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
            add_use(s, input, ref, i);
        else
            add_dense_use(s, input, ref);
    }
}

/* The input of a concat or pad that a direct use with this view is. */
static tgi_ref part_of_owner(const tgi_fuse_state *s, tgi_ref owner,
                             tgi_ref view)
{
    const tgi_node *node = tgi_graph_node(s->graph, owner);
    const uint32_t i = TGI_SEVERAL_OWNERS - 1 - view;
    if (node->op == TGI_OP_CONCAT && i < node->n_inputs)
        return tgi_fuse_resolve(s, node->inputs[i]);
    /* The pieces of an operand with gaps between its elements are not written
       one by one. */
    return node->op == TGI_OP_PAD && !tgi_fuse_pad_has_gaps(s, owner)
               ? tgi_fuse_resolve(s, node->inputs[0])
               : 0;
}

/* True if the only use of a concat or pad is to be a piece of another one. */
static bool is_part(const tgi_fuse_state *s, tgi_ref ref)
{
    const int op = tgi_graph_node(s->graph, ref)->op;
    const tgi_fuse_value *value = &s->values[ref];
    if ((op != TGI_OP_CONCAT && op != TGI_OP_PAD) || value->must_store ||
        value->owner == 0 || value->owner > s->graph->n_nodes ||
        part_of_owner(s, value->owner, value->view) != ref)
        return false;
    const tgi_fuse_value *owner = &s->values[value->owner];
    return owner->class == TGI_VALUE_MATERIALISED ||
           (owner->class == TGI_VALUE_PART &&
            owner->part_depth < MAX_PART_DEPTH);
}

/* The class of a live value, all of whose uses are known. */
static tgi_value_class classify(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    const tgi_fuse_value *value = &s->values[ref];
    bool is_view = tgi_fuse_is_view(node);
    const bool has_several_owners = value->owner == TGI_SEVERAL_OWNERS;
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
    case TGI_OPCLASS_SCAN:
    case TGI_OPCLASS_MATMUL:
    case TGI_OPCLASS_CONV:
        return TGI_VALUE_MATERIALISED;
    case TGI_OPCLASS_INDEX:
        if (node->op != TGI_OP_GATHER && !is_view)
            return is_part(s, ref) ? TGI_VALUE_PART : TGI_VALUE_MATERIALISED;
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
    const uint32_t max_cost =
        value->is_checked ? MAX_CHECKED_COST : TGI_COST_CHEAP;
    return value->prefers_memory ||
                   (has_several_owners && value->inline_cost > max_cost)
               ? TGI_VALUE_MATERIALISED
               : TGI_VALUE_INLINED;
}

/* Indices are reread for every column. If they have several axes, these must be
   contiguous, in the updates as well. */
static void add_scatter_uses(tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    const bool is_one =
        tgi_domain_of(s, tgi_fuse_resolve(s, node->inputs[1])).n < 2;
    add_use(s, node->inputs[0], ref, TGI_SEVERAL_OWNERS - 1);
    tgi_fuse_value *indices =
        add_use(s, node->inputs[1], ref, TGI_SEVERAL_OWNERS - 2);
    indices->prefers_memory |=
        tgi_domain_of(s, ref).n > 1 || indices->inline_cost > MAX_CHECKED_COST;
    indices->must_store |= !is_one;
    add_use(s, node->inputs[2], ref, TGI_SEVERAL_OWNERS - 3)->must_store |=
        !is_one;
}

/* True if the last axis of a transpose is not that of its operand. */
static bool has_strided_rows(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_attr_perm *attr = tgi_graph_node(s->graph, ref)->attr;
    int last = tgi_fuse_rank(s, ref) - 1, of_input = -1;
    while (last >= 0 && tgi_fuse_extent(s, ref, last) == 1)
        last--;
    for (int i = 0; i <= last; i++)
        if (tgi_fuse_extent(s, ref, i) != 1 && attr->perm[i] > of_input)
            of_input = attr->perm[i];
    return last >= 0 && attr->perm[last] != of_input;
}

/* True for a transposed variable that this graph does not write, and that rows
   of another value read again and again, such as the filters of a depthwise
   convolution: a copy that is kept between calls has contiguous rows. */
static bool should_memoise(tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_fuse_value *value = &s->values[ref];
    if (tgi_graph_node(s->graph, ref)->op != TGI_OP_TRANSPOSE ||
        !value->is_repeated || s->bound_params || !has_strided_rows(s, ref) ||
        tgi_fuse_copied_variable(s, ref) < 0)
        return false;
    const tgi_dim count = tgi_fuse_n_elements(s, ref);
    return tgi_dim_is_known(count) && count >= MIN_MEMO_ELEMENTS &&
           count <= TGI_MAX_MEMO_BYTES /
                        tgi_dtype_bytes((tg_dtype)tgi_fuse_dtype(s, ref));
}

/* Swaps the last two axes of a pad that only a convolution with few filters
   reads, and of its result, unless a user needs that dense. All uses of both
   are known. */
static void swap_axes(tgi_fuse_state *s, tgi_ref pad)
{
    tgi_fuse_value *value = &s->values[pad];
    const tgi_ref owner = value->owner;
    if (value->must_store || owner == 0 || owner > s->graph->n_nodes ||
        value->view != 0)
        return;
    const tgi_node *conv = tgi_graph_node(s->graph, owner);
    if (conv->op != TGI_OP_CONV || s->values[owner].must_store ||
        tgi_fuse_resolve(s, conv->inputs[0]) != pad ||
        !tgi_fuse_suits_rows_of_filters(s, owner))
        return;
    value->swaps_last = s->values[owner].swaps_last = true;
}

/*
 * Dead stores: an assignment stores nothing if another one to the same variable
 * follows, and nothing in between that may fail, or that others can see. Reads
 * forward its value.
 */
static void visit_assignment(tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    tgi_ref *next = &s->next_write[tgi_fuse_param(s, node->inputs[0])];
    s->values[ref].is_overwritten = *next && *next < s->next_effect;
    *next = ref;
    if (!s->values[ref].is_overwritten)
        add_root_use(s, node->inputs[1], ref);
}

static void visit_value(tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    tgi_fuse_value *value = &s->values[ref];
    if (node->op == TGI_OP_ASSIGN) {
        visit_assignment(s, ref);
        return;
    }
    if (tgi_fuse_is_host(node) || tgi_node_has_regions(node) ||
        tgi_fuse_is_checked(node))
        s->next_effect = ref;
    if (tgi_fuse_is_host(node)) {
        for (uint32_t i = 0; i < node->n_inputs; i++)
            add_dense_use(s, tgi_fuse_storage_root(s, node->inputs[i]), ref);
        return;
    }
    if (tgi_node_has_regions(node)) {
        if (tgi_fuse_is_needed(s, ref))
            add_region_uses(s, ref);
        return;
    }
    if (tgi_fuse_is_checked(node))
        add_use(s, node->inputs[1], ref, TGI_SEVERAL_OWNERS - 4)->is_checked =
            true;
    if (!value->is_live || value->forwards_to != ref)
        return;

    if (should_memoise(s, ref))
        value->is_memoised = value->must_store = true;
    value->class = (uint8_t)classify(s, ref);
    switch ((tgi_value_class)value->class) {
    case TGI_VALUE_ALIAS:
        add_dense_use(s, tgi_fuse_storage_root(s, ref), ref);
        return;
    case TGI_VALUE_INLINED:
        if (value->is_checked && tgi_op_is_elementwise(node->op))
            for (uint32_t i = 0; i < node->n_inputs; i++)
                s->values[tgi_fuse_resolve(s, node->inputs[i])].is_checked =
                    true;
        if (value->owner == TGI_SEVERAL_OWNERS)
            add_input_uses(s, ref, TGI_SEVERAL_OWNERS, 0);
        else
            add_input_uses(s, ref, value->owner, value->view);
        return;
    case TGI_VALUE_MATERIALISED:
        if (value->force_reason)
            tgi_explain_node(s->explain, s->graph, ref, "materialised: %s",
                             value->force_reason);
        else if (node->op == TGI_OP_READ)
            tgi_explain_node(s->explain, s->graph, ref,
                             "materialised: overwritten before a check");
        else if (value->owner == TGI_SEVERAL_OWNERS)
            tgi_explain_node(s->explain, s->graph, ref,
                             "materialised: used in several places");
        else if (value->must_store || value->prefers_memory)
            tgi_explain_node(s->explain, s->graph, ref,
                             "materialised: needed in memory");
        if (node->op == TGI_OP_READ)
            return;
        break;
    case TGI_VALUE_PART:
        value->part_depth = (uint8_t)(s->values[value->owner].part_depth + 1);
        break;
    case TGI_VALUE_DEAD:
    case TGI_VALUE_INPUT:
        return;
    }

    switch (node->op) {
    case TGI_OP_MATMUL:
        add_use(s, node->inputs[0], ref, 0)->prefers_memory = true;
        add_use(s, node->inputs[1], ref, 1)->prefers_memory |=
            !tgi_fuse_packs_rhs(s, ref);
        break;
    case TGI_OP_CONV:
        add_use(s, node->inputs[0], ref, 0)->prefers_memory = true;
        add_use(s, node->inputs[1], ref, 1);
        add_dense_use(s, tgi_fuse_storage_root(s, node->inputs[1]), ref);
        s->values[tgi_fuse_resolve(s, node->inputs[1])].is_memoised |=
            tgi_fuse_memoises_filters(s, ref);
        break;
    case TGI_OP_SCATTER:
        add_scatter_uses(s, ref);
        break;
    case TGI_OP_PAD:
        if (value->class == TGI_VALUE_MATERIALISED)
            swap_axes(s, ref);
        add_input_uses(s, ref, ref, 0);
        break;
    case TGI_OP_CONCAT:
    case TGI_OP_DYNAMIC_UPDATE:
        /* Each part is a separate task. */
        for (uint32_t i = 0; i < node->n_inputs; i++)
            add_use(s, node->inputs[i], ref, TGI_SEVERAL_OWNERS - 1 - i);
        break;
    default:
        add_input_uses(s, ref, ref, 0);
        break;
    }
}

tg_status tgi_fuse_values(tgi_fuse_state *s)
{
    const tgi_graph *graph = s->graph;
    compute_costs(s);
    s->next_effect = graph->n_nodes + 1;
    for (size_t i = 0; i < graph->results.n; i++)
        if (!s->bound_results || !tgi_buffer_id_is_none(s->bound_results[i]))
            add_root_use(s, graph->results.data[i],
                         graph->n_nodes + 1 + (tgi_ref)i);
    for (tgi_ref ref = graph->n_nodes; ref > 0; ref--)
        visit_value(s, ref);
    return TG_OK;
}

/* SPDX-License-Identifier: MIT */
/*
 * pass_layout.c - computes in the layout in which most operands are:
 *
 *     transpose(relu(transpose(x) + a)) = relu(x + transpose(a))
 *
 * Convolutions have their channels last. If those of a program are first, there
 * is a transpose before and after each one, and what is between two of them,
 * such as a batch norm, cannot be the epilogue of the first.
 *
 * A *region* is a connected set of nodes that compute in any layout:
 * elementwise ones, slices, pads, concats, and maxima of windows. If transposes
 * at its border would disappear, it moves to their layout: each of its values v
 * is transpose(v', p), and v' is computed. Operands from outside and values that
 * are used outside are transposed, unless transposes cancel. A region moves if
 * that leaves fewer elements to transpose.
 *
 * Requires:    a verified graph.
 * Preserves:   every bit of results and effects: each element is computed by
 *              the same operations.
 * Invalidates: refs.
 * Terminates:  three sweeps; each node belongs to at most one region.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "ir/rebuild.h"
#include "pass/pass.h"

enum {
    UNKNOWN_EXTENT = 64, /* is counted as so many elements */
    MAX_COUNT = 1 << 30, /* of elements of one value; counts saturate here */
    /* A convolution reads so few channels from any layout: to bring them
       together would scatter single elements. */
    MAX_SCATTERED = 8
};

/* A layout of a region: the elements at its border whose transposes cancel. */
typedef struct candidate {
    tgi_attr_perm perm; /* axis i of a value is axis perm[i] of the moved one */
    int64_t gain;
    uint32_t next; /* of the same region: 1 + index */
} candidate;

/* rebuild->user. Arrays are by old ref. */
typedef struct layout {
    const tgi_graph *graph; /* the old one */
    tgi_ref *parent;  /* of a member in the tree of its region; 0: no member */
    uint32_t *chosen; /* of the first node of a region: 1 + the candidate that
                         it moves to; before that, its first candidate */
    int64_t *cost;    /* of the first node of a region */
    tgi_ref *moved;   /* of a member of a region that moves: v', a new ref */
    bool *is_live;    /* results and effects depend on it */
    bool *is_ordered; /* somebody reads it in the order of its elements */
    TGI_VEC(candidate) candidates;
    TGI_VEC(tgi_ref) inputs; /* of the node at hand */
    bool failed; /* out of memory, recorded */
} layout;

/* -- Permutations ---------------------------------------------------------- */

static tgi_attr_perm identity(int rank)
{
    tgi_attr_perm perm = {{0}};
    for (int i = 0; i < rank; i++)
        perm.perm[i] = (uint8_t)i;
    return perm;
}

static tgi_attr_perm inverse(const tgi_attr_perm *perm, int rank)
{
    tgi_attr_perm result = {{0}};
    for (int i = 0; i < rank; i++)
        result.perm[perm->perm[i]] = (uint8_t)i;
    return result;
}

/* The transpose by `outer` of a transpose by `inner`. */
static tgi_attr_perm compose(const tgi_attr_perm *outer,
                             const tgi_attr_perm *inner, int rank)
{
    tgi_attr_perm result = {{0}};
    for (int i = 0; i < rank; i++)
        result.perm[i] = inner->perm[outer->perm[i]];
    return result;
}

static bool is_equal(const tgi_attr_perm *a, const tgi_attr_perm *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* True if a permutation of a shape only moves axes of extent 1: its elements
   stay in order. */
static bool keeps_order(int rank, const tgi_dim *of_result,
                        const tgi_attr_perm *perm)
{
    int last = -1;
    for (int i = 0; i < rank; i++) {
        if (of_result[i] == 1)
            continue;
        if (perm->perm[i] < last)
            return false;
        last = perm->perm[i];
    }
    return true;
}

/* -- Regions --------------------------------------------------------------- */

static int rank_of(const tgi_graph *graph, tgi_ref ref)
{
    return tgi_graph_shape(graph, ref)->rank;
}

static int64_t count_elements(const tgi_graph *graph, tgi_ref ref)
{
    const tgi_shape *shape = tgi_graph_shape(graph, ref);
    int64_t count = 1;
    for (int i = 0; i < shape->rank; i++) {
        const int64_t extent = tgi_dim_is_known(shape->dims[i])
                                   ? shape->dims[i]
                                   : UNKNOWN_EXTENT;
        count = extent != 0 && count > MAX_COUNT / extent ? MAX_COUNT
                                                          : count * extent;
    }
    return count;
}

/* True for the maxima or minima of windows: they do not depend on the order of
   the axes of a window. */
static bool is_pool(const tgi_graph *graph, const tgi_node *node)
{
    if (node->op != TGI_OP_REDUCE_MAX && node->op != TGI_OP_REDUCE_MIN)
        return false;
    const tgi_node *windows = tgi_graph_node(graph, node->inputs[0]);
    if (windows->op != TGI_OP_WINDOW)
        return false;
    const int rank = rank_of(graph, windows->inputs[0]);
    const int n = rank_of(graph, node->inputs[0]) - rank;
    const tgi_attr_axes *axes = node->attr;
    return axes->mask == (((uint64_t)1 << n) - 1) << rank;
}

/* The operands of a member that have its rank. */
typedef struct operands {
    uint32_t n;
    const tgi_ref *ref;
} operands;

static operands operands_of(const tgi_graph *graph, const tgi_node *member)
{
    if (member->op == TGI_OP_PAD)
        return (operands){1, member->inputs};
    if (is_pool(graph, member))
        return (operands){1, tgi_graph_node(graph, member->inputs[0])->inputs};
    return (operands){member->n_inputs, member->inputs};
}

/* The first axis of an unbounded stack stays where it is. */
static bool is_member(const tgi_graph *graph, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    if (!tgi_op_is_elementwise(node->op) && node->op != TGI_OP_SLICE &&
        node->op != TGI_OP_PAD && node->op != TGI_OP_CONCAT &&
        !is_pool(graph, node))
        return false;
    if (rank_of(graph, ref) < 2 ||
        tgi_shape_is_unbounded(tgi_graph_shape(graph, ref)))
        return false;
    const operands in = operands_of(graph, node);
    for (uint32_t i = 0; i < in.n; i++)
        if (tgi_shape_is_unbounded(tgi_graph_shape(graph, in.ref[i])))
            return false;
    return true;
}

/* The first node of the region of a member. */
static tgi_ref first_of(layout *l, tgi_ref member)
{
    tgi_ref first = member;
    while (l->parent[first] != first)
        first = l->parent[first];
    while (l->parent[member] != first) {
        const tgi_ref next = l->parent[member];
        l->parent[member] = first;
        member = next;
    }
    return first;
}

static void join(layout *l, tgi_ref a, tgi_ref b)
{
    a = first_of(l, a);
    b = first_of(l, b);
    l->parent[a > b ? a : b] = a > b ? b : a;
}

static bool find_regions(layout *l)
{
    bool has_any = false;
    for (tgi_ref ref = 1; ref <= l->graph->n_nodes; ref++) {
        if (!is_member(l->graph, ref))
            continue;
        l->parent[ref] = ref;
        has_any = true;
        const operands in =
            operands_of(l->graph, tgi_graph_node(l->graph, ref));
        for (uint32_t i = 0; i < in.n; i++)
            if (l->parent[in.ref[i]])
                join(l, ref, in.ref[i]);
    }
    return has_any;
}

/* -- Borders --------------------------------------------------------------- */

/* Follows transposes to the value that they transpose. */
static tgi_ref skip_transposes(const tgi_graph *graph, tgi_ref ref,
                               tgi_attr_perm *out_perm)
{
    const int rank = rank_of(graph, ref);
    *out_perm = identity(rank);
    const tgi_node *node = tgi_graph_node(graph, ref);
    for (; node->op == TGI_OP_TRANSPOSE; node = tgi_graph_node(graph, ref)) {
        *out_perm = compose(out_perm, node->attr, rank);
        ref = node->inputs[0];
    }
    return ref;
}

/* False if a permutation for a value `result` leaves its elements in order. */
static bool moves_elements(const layout *l, tgi_ref result,
                           const tgi_attr_perm *perm)
{
    const tgi_shape *shape = tgi_graph_shape(l->graph, result);
    return !keeps_order(shape->rank, shape->dims, perm);
}

static void add_gain(layout *l, tgi_ref member, tgi_attr_perm perm,
                     int64_t gain)
{
    const tgi_ref first = first_of(l, member);
    uint32_t *at = &l->chosen[first];
    for (; *at; at = &l->candidates.data[*at - 1].next)
        if (is_equal(&l->candidates.data[*at - 1].perm, &perm))
            break;
    if (*at) {
        l->candidates.data[*at - 1].gain += gain;
        return;
    }
    const candidate new = {perm, gain, l->chosen[first]};
    if (!tgi_vec_push(&l->candidates, new)) {
        tgi_error_memory();
        l->failed = true;
        return;
    }
    l->chosen[first] = (uint32_t)l->candidates.n;
}

/* Elements that a member reads of an operand; a slice does not read all. */
static int64_t count_read(const tgi_graph *graph, tgi_ref member,
                          tgi_ref operand)
{
    const int64_t of_operand = count_elements(graph, operand);
    const int64_t of_member = count_elements(graph, member);
    return tgi_graph_node(graph, member)->op == TGI_OP_SLICE &&
                   of_member < of_operand
               ? of_member
               : of_operand;
}

/* True for the image of a convolution with few channels. */
static bool is_narrow_image(const layout *l, const tgi_node *user, uint32_t i)
{
    if (user->op != TGI_OP_CONV || i != 0)
        return false;
    const tgi_shape *shape = tgi_graph_shape(l->graph, user->inputs[i]);
    const tgi_dim n_channels = shape->dims[shape->rank - 1];
    return tgi_dim_is_known(n_channels) && n_channels <= MAX_SCATTERED;
}

/* Notes the layouts in which operands of a member are, and those in which its
   users want it. Two transposes are free: that of windows, which are no values
   in memory, and one that only narrow images are views of. */
static void add_gains(layout *l, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(l->graph, ref);
    tgi_attr_perm perm;
    if (l->parent[ref]) {
        const operands in = operands_of(l->graph, node);
        for (uint32_t i = 0; i < in.n; i++) {
            const tgi_ref base = skip_transposes(l->graph, in.ref[i], &perm);
            if (base != in.ref[i] && moves_elements(l, in.ref[i], &perm) &&
                tgi_graph_node(l->graph, base)->op != TGI_OP_WINDOW)
                add_gain(l, ref, perm, count_read(l->graph, ref, base));
        }
    } else if (node->op == TGI_OP_TRANSPOSE && l->is_ordered[ref]) {
        const tgi_ref base = skip_transposes(l->graph, ref, &perm);
        if (l->parent[base] && moves_elements(l, ref, &perm))
            add_gain(l, base, inverse(&perm, rank_of(l->graph, ref)),
                     count_elements(l->graph, base));
    }
}

static const candidate *candidate_of(layout *l, tgi_ref member)
{
    const uint32_t chosen = l->chosen[first_of(l, member)];
    return chosen ? &l->candidates.data[chosen - 1] : NULL;
}

/* The elements to transpose for an operand that is not in the layout. */
static int64_t operand_cost(layout *l, tgi_ref operand,
                            const tgi_attr_perm *perm)
{
    const tgi_node *node = tgi_graph_node(l->graph, operand);
    if (l->parent[operand] || node->op == TGI_OP_TRANSPOSE)
        return 0;
    if (node->op == TGI_OP_BROADCAST)
        return count_elements(l->graph, node->inputs[0]) / 2;
    return moves_elements(l, operand, perm) ? count_elements(l->graph, operand)
                                            : 0;
}

/* Adds what a move of its region would transpose: operands of a member, and
   values of members that others need as they were. */
static void add_costs(layout *l, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(l->graph, ref);
    if (l->parent[ref]) {
        const candidate *own = candidate_of(l, ref);
        const operands in = operands_of(l->graph, node);
        for (uint32_t i = 0; own && i < in.n; i++)
            l->cost[first_of(l, ref)] +=
                operand_cost(l, in.ref[i], &own->perm);
        /* Windows of a pool move with it, but count as a use from outside. */
        if (is_pool(l->graph, node) && l->parent[in.ref[0]])
            l->cost[first_of(l, in.ref[0])] -=
                count_elements(l->graph, in.ref[0]);
    } else if (node->op != TGI_OP_TRANSPOSE) {
        for (uint32_t i = 0; i < node->n_inputs; i++)
            if (l->parent[node->inputs[i]] && !is_narrow_image(l, node, i))
                l->cost[first_of(l, node->inputs[i])] +=
                    count_elements(l->graph, node->inputs[i]);
    }
}

/* Selects the layout in which most elements need no transpose. */
static void choose_candidate(layout *l, tgi_ref first)
{
    uint32_t best = l->chosen[first];
    for (uint32_t i = best; i; i = l->candidates.data[i - 1].next)
        if (l->candidates.data[i - 1].gain > l->candidates.data[best - 1].gain)
            best = i;
    l->chosen[first] = best;
}

/* Marks the nodes whose values are used, and those read in their order: not
   those of which there are only views, for narrow images. */
static void find_uses(layout *l)
{
    const tgi_graph *graph = l->graph;
    for (size_t i = 0; i < graph->results.n; i++)
        l->is_live[graph->results.data[i]] =
            l->is_ordered[graph->results.data[i]] = true;
    for (tgi_ref ref = graph->n_nodes; ref > 0; ref--) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        const bool is_view =
            node->op == TGI_OP_RESHAPE || node->op == TGI_OP_TRANSPOSE;
        l->is_live[ref] |= tgi_graph_is_root(graph, node);
        for (uint32_t i = 0; l->is_live[ref] && i < node->n_inputs; i++) {
            l->is_live[node->inputs[i]] = true;
            l->is_ordered[node->inputs[i]] |=
                is_view ? l->is_ordered[ref] : !is_narrow_image(l, node, i);
        }
    }
}

/* True if a region moves. */
static bool choose_layouts(layout *l)
{
    const uint32_t n = l->graph->n_nodes;
    for (tgi_ref ref = 1; ref <= n; ref++)
        if (l->is_live[ref])
            add_gains(l, ref);
    for (tgi_ref ref = 1; ref <= n; ref++)
        if (l->parent[ref] == ref)
            choose_candidate(l, ref);
    for (tgi_ref ref = 1; ref <= n; ref++)
        if (l->is_live[ref])
            add_costs(l, ref);
    for (size_t i = 0; i < l->graph->results.n; i++) {
        const tgi_ref ref = l->graph->results.data[i];
        if (l->parent[ref])
            l->cost[first_of(l, ref)] += count_elements(l->graph, ref);
    }
    bool moves = false;
    for (tgi_ref ref = 1; ref <= n; ref++) {
        if (l->parent[ref] != ref || !l->chosen[ref])
            continue;
        if (candidate_of(l, ref)->gain <= l->cost[ref])
            l->chosen[ref] = 0;
        moves |= l->chosen[ref] != 0;
    }
    return moves;
}

/* -- Moves ----------------------------------------------------------------- */

/* Notes that memory is short, which is recorded. Returns 0. */
static tgi_ref fail(layout *l)
{
    l->failed = true;
    return 0;
}

/* A view (RESHAPE or BROADCAST) of another shape; 0 on failure. */
static tgi_ref add_view(layout *l, tgi_graph *out, tgi_op op, tgi_ref of,
                        int rank, const tgi_dim *dims)
{
    const tgi_node *input = tgi_graph_node(out, of);
    if (op == TGI_OP_RESHAPE && input->op == TGI_OP_RESHAPE) {
        of = input->inputs[0];
        input = tgi_graph_node(out, of);
    }
    const tgi_node node = {.op = (uint8_t)op,
                           .dtype = input->dtype,
                           .shape = tgi_shape_intern(out->dims, rank, dims),
                           .n_inputs = 1,
                           .inputs = &of};
    if (node.shape && node.shape == input->shape)
        return of;
    const tgi_ref ref = node.shape ? tgi_graph_add(out, &node) : 0;
    return ref ? ref : fail(l);
}

static tgi_ref add_transpose(layout *l, tgi_graph *out, tgi_ref of,
                             tgi_attr_perm perm)
{
    const tgi_node *input = tgi_graph_node(out, of);
    const tgi_shape *from = tgi_shape_of(out->dims, input->shape);
    const tgi_attr_perm same = identity(from->rank);
    tgi_dim dims[TG_MAX_RANK];
    for (int i = 0; i < from->rank; i++)
        dims[i] = from->dims[perm.perm[i]];
    if (is_equal(&perm, &same))
        return of;
    if (keeps_order(from->rank, dims, &perm))
        return add_view(l, out, TGI_OP_RESHAPE, of, from->rank, dims);
    const tgi_node node = {.op = TGI_OP_TRANSPOSE,
                           .dtype = input->dtype,
                           .shape =
                               tgi_shape_intern(out->dims, from->rank, dims),
                           .n_inputs = 1,
                           .inputs = &of,
                           .attr = &perm,
                           .attr_bytes = sizeof perm};
    const tgi_ref ref = node.shape ? tgi_graph_add(out, &node) : 0;
    return ref ? ref : fail(l);
}

/* A broadcast in another layout is a broadcast of its operand in that one. */
static tgi_ref move_broadcast(layout *l, tgi_rebuild *rebuild,
                              const tgi_node *old, const tgi_attr_perm *perm)
{
    tgi_graph *out = rebuild->out;
    const tgi_shape *to = tgi_shape_of(out->dims, old->shape);
    const tgi_shape *from = tgi_graph_shape(l->graph, old->inputs[0]);
    tgi_dim dims[TG_MAX_RANK];
    const int rank = to->rank, added = rank - from->rank;
    for (int i = 0; i < rank; i++)
        dims[i] = i < added ? 1 : from->dims[i - added];
    tgi_ref ref = rebuild->map[old->inputs[0]];
    if (from->rank > 0) {
        ref = add_view(l, out, TGI_OP_RESHAPE, ref, rank, dims);
        ref = ref ? add_transpose(l, out, ref, inverse(perm, rank)) : 0;
    }
    for (int i = 0; i < rank; i++)
        dims[perm->perm[i]] = to->dims[i];
    return ref ? add_view(l, out, TGI_OP_BROADCAST, ref, rank, dims) : 0;
}

/* The new ref of what `operand` is the transpose by `perm` of. */
static tgi_ref move_operand(layout *l, tgi_rebuild *rebuild, tgi_ref operand,
                            const tgi_attr_perm *perm)
{
    if (l->moved[operand])
        return l->moved[operand];
    const tgi_node *node = tgi_graph_node(l->graph, operand);
    const int rank = rank_of(l->graph, operand);
    if (node->op == TGI_OP_BROADCAST)
        return move_broadcast(l, rebuild, node, perm);
    tgi_attr_perm of_base;
    const tgi_ref base = skip_transposes(l->graph, operand, &of_base);
    tgi_ref ref = rebuild->map[base];
    if (l->moved[base]) {
        of_base = compose(&of_base, &candidate_of(l, base)->perm, rank);
        ref = l->moved[base];
    }
    const tgi_attr_perm back = inverse(perm, rank);
    return add_transpose(l, rebuild->out, ref, compose(&back, &of_base, rank));
}

/* The attribute of a moved member, by axis. */
typedef union moved_attr {
    tgi_attr_slice slice;
    tgi_attr_pad pad;
    tgi_attr_index index;
    tgi_attr_window window;
} moved_attr;

static void move_attr(tgi_node *node, const tgi_attr_perm *perm, int rank,
                      moved_attr *attr)
{
    const moved_attr *old = node->attr;
    memset(attr, 0, sizeof *attr);
    for (int i = 0; i < rank; i++) {
        const int to = perm->perm[i];
        if (node->op == TGI_OP_SLICE) {
            attr->slice.start[to] = old->slice.start[i];
            attr->slice.step[to] = old->slice.step[i];
        } else if (node->op == TGI_OP_PAD) {
            attr->pad.low[to] = old->pad.low[i];
            attr->pad.high[to] = old->pad.high[i];
            attr->pad.interior[to] = old->pad.interior[i];
        } else if (node->op == TGI_OP_WINDOW) {
            attr->window.size[to] = old->window.size[i];
            attr->window.stride[to] = old->window.stride[i];
            attr->window.dilation[to] = old->window.dilation[i];
        } else if (node->op == TGI_OP_CONCAT) {
            attr->index.index = perm->perm[old->index.index];
        }
    }
    if (node->op == TGI_OP_SLICE || node->op == TGI_OP_PAD ||
        node->op == TGI_OP_WINDOW || node->op == TGI_OP_CONCAT)
        node->attr = attr;
}

/* Adds a node whose first `rank` axes are those of a value to move, moved. */
static tgi_ref add_moved(layout *l, tgi_graph *out, tgi_node node, int rank,
                         const tgi_attr_perm *perm)
{
    const tgi_shape *shape = tgi_shape_of(out->dims, node.shape);
    moved_attr attr;
    tgi_dim dims[TG_MAX_RANK];
    memcpy(dims, shape->dims, (size_t)shape->rank * sizeof dims[0]);
    for (int i = 0; i < rank; i++)
        dims[perm->perm[i]] = shape->dims[i];
    move_attr(&node, perm, rank, &attr);
    node.shape = tgi_shape_intern(out->dims, shape->rank, dims);
    const tgi_ref ref = node.shape ? tgi_graph_add(out, &node) : 0;
    return ref ? ref : fail(l);
}

/* Adds what a member of a region is a transpose of; 0 on failure. `node` has
   the inputs of a member that does not move. */
static tgi_ref move_member(layout *l, tgi_rebuild *rebuild, tgi_ref old,
                           tgi_node node)
{
    const tgi_node *member = tgi_graph_node(l->graph, old);
    const tgi_attr_perm *perm = &candidate_of(l, old)->perm;
    const operands in = operands_of(l->graph, member);
    const int rank = rank_of(l->graph, old);
    l->inputs.n = 0;
    for (uint32_t i = 0; i < node.n_inputs; i++) {
        const tgi_ref ref = i < in.n ? move_operand(l, rebuild, in.ref[i], perm)
                                     : node.inputs[i];
        if (!ref)
            return fail(l);
        if (!tgi_vec_push(&l->inputs, ref)) {
            tgi_error_memory();
            return fail(l);
        }
    }
    node.inputs = l->inputs.data;
    if (is_pool(l->graph, member)) {
        tgi_node windows = *tgi_graph_node(l->graph, member->inputs[0]);
        windows.inputs = node.inputs;
        l->inputs.data[0] = add_moved(l, rebuild->out, windows, rank, perm);
        if (!l->inputs.data[0])
            return 0;
    }
    return add_moved(l, rebuild->out, node, rank, perm);
}

static tgi_ref visit(tgi_rebuild *rebuild, tgi_ref old, const tgi_node *node)
{
    layout *l = rebuild->user;
    if (l->parent[old] && candidate_of(l, old)) {
        l->moved[old] = move_member(l, rebuild, old, *node);
        return l->moved[old] ? add_transpose(l, rebuild->out, l->moved[old],
                                             candidate_of(l, old)->perm)
                             : 0;
    }
    if (node->op != TGI_OP_TRANSPOSE)
        return tgi_graph_add(rebuild->out, node);
    tgi_attr_perm perm;
    const tgi_ref base = skip_transposes(l->graph, old, &perm);
    if (!l->moved[base])
        return tgi_graph_add(rebuild->out, node);
    perm = compose(&perm, &candidate_of(l, base)->perm, rank_of(l->graph, old));
    return add_transpose(l, rebuild->out, l->moved[base], perm);
}

/* -- The pass -------------------------------------------------------------- */

static bool begin(layout *l)
{
    const size_t n = (size_t)l->graph->n_nodes + 1;
    l->parent = tgi_alloc_zero(n * sizeof *l->parent);
    l->chosen = tgi_alloc_zero(n * sizeof *l->chosen);
    l->cost = tgi_alloc_zero(n * sizeof *l->cost);
    l->moved = tgi_alloc_zero(n * sizeof *l->moved);
    l->is_live = tgi_alloc_zero(n * sizeof *l->is_live);
    l->is_ordered = tgi_alloc_zero(n * sizeof *l->is_ordered);
    return l->parent && l->chosen && l->cost && l->moved && l->is_live &&
           l->is_ordered;
}

static void end(layout *l)
{
    tgi_free(l->parent);
    tgi_free(l->chosen);
    tgi_free(l->cost);
    tgi_free(l->moved);
    tgi_free(l->is_live);
    tgi_free(l->is_ordered);
    tgi_vec_deinit(&l->candidates);
    tgi_vec_deinit(&l->inputs);
}

tg_status tgi_pass_layout(const tgi_graph *in, tgi_graph **out_graph)
{
    layout l = {.graph = in};
    bool moves = false;
    tgi_rebuild rebuild = {
        .in = in, .region = tgi_pass_layout, .user = &l};
    *out_graph = NULL;
    if (!begin(&l)) {
        tgi_error_memory();
        l.failed = true;
    } else if (find_regions(&l)) {
        find_uses(&l);
        moves = choose_layouts(&l);
    }
    tg_status status = TG_ERROR_OUT_OF_MEMORY;
    if (!l.failed) {
        rebuild.visit = moves ? visit : NULL;
        status = tgi_rebuild_run(&rebuild);
        *out_graph = rebuild.out;
    }
    end(&l);
    return status;
}

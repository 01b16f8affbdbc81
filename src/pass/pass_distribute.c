/* SPDX-License-Identifier: MIT */
/*
 * pass_distribute.c - distributes elementwise expressions over the pieces of
 * concats and pads:
 *
 *     x + concat(a, b) = concat(slice(x) + a, slice(x) + b)
 *     x + pad(y)       = concat(slice(x) + fill, slice(x) + y, slice(x) + fill)
 *
 * A concat or pad is stored in memory; an expression over it is another pass
 * over that memory. After distribution, each piece of the expression is stored
 * where it belongs. Stencils (sums of shifted pads or of rolls) and gradients
 * of slices (sums of pads) are such expressions.
 *
 * An expression is a tree of *members* below a *root*, an elementwise node. Its
 * domain is cut at the borders of the pieces, along the first axis that has
 * any, and each part recursively; a part without borders is built from slices
 * of the operands. Members are nodes that nothing outside of expressions uses:
 * elementwise ones that are evaluated once per element, and the slices, concats
 * and pads between them.
 *
 * A pad of a value that is computed for it alone, and that several nodes use, is
 * not distributed: the value is stored inside the border at no cost.
 *
 * An update of most of a value that is read elsewhere becomes a concat, too
 * (update_pieces.h).
 *
 * Requires:    a verified graph.
 * Preserves:   every bit of results and effects: each element is computed by
 *              the same operations.
 * Invalidates: refs.
 * Terminates:  one sweep; an expression has at most MAX_PARTS parts of
 *              MAX_MEMBERS members each, else it is not distributed.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/vec.h"
#include "ir/rebuild.h"
#include "pass/pass.h"
#include "pass/update_pieces.h"

enum {
    MAX_PARTS = 40, /* of an expression, cut or not */
    MAX_CUTS = 16,  /* of an axis */
    MAX_MEMBERS = 256,
    MAX_DEPTH = 64, /* of an expression; bounds recursion */
    MANY_USERS = 3,
    MIN_ELEMENTS = 513 /* of a root; smaller ones are straight-line kernels */
};

/* A part of a node: the position of its first element, and its extents. */
typedef struct part {
    tgi_dim start[TG_MAX_RANK], count[TG_MAX_RANK];
} part;

/* A part of a member that has been visited. */
typedef struct visited {
    part part;
    tgi_ref old;
    tgi_ref ref; /* in the new graph */
} visited;

/* Cut positions along one axis, ascending, relative to a part of the root. */
typedef struct cut_list {
    int n;
    tgi_dim at[MAX_CUTS];
} cut_list;

/* How expressions use a node. */
typedef struct use_count {
    uint32_t n_users;  /* inputs of live nodes; saturates at MANY_USERS */
    uint32_t n;        /* times an element may be evaluated; saturates at 2 */
    bool is_elsewhere; /* used by something else, too */
    bool is_placed;    /* used at another position, through a placement */
} use_count;

/* rebuild->user */
typedef struct distributor {
    tgi_rebuild *rebuild;
    const use_count *uses; /* by old ref */
    const bool *is_member; /* by old ref */
    TGI_VEC(visited) visits;
    tgi_index visit_index;
    cut_list cuts[TG_MAX_RANK];
    int n_parts; /* of the current expression */
    bool failed; /* out of memory, recorded */
} distributor;

static const tgi_node *old_node(const distributor *d, tgi_ref old)
{
    return tgi_graph_node(d->rebuild->in, old);
}

static const tgi_shape *old_shape(const distributor *d, tgi_ref old)
{
    return tgi_graph_shape(d->rebuild->in, old);
}

/* An error of the table of extents: the expression stays as it is, unless
   memory is short. Returns false. */
static bool fail_dim(distributor *d)
{
    d->failed |= tgi_dims_is_out_of_memory(d->rebuild->out->dims);
    return false;
}

/* -- Members --------------------------------------------------------------- */

static bool has_unit_steps(const tgi_node *node, int rank)
{
    const tgi_attr_slice *attr = node->attr;
    for (int axis = 0; axis < rank; axis++)
        if (attr->step[axis] != 1)
            return false;
    return true;
}

static bool has_gaps(const tgi_node *node, int rank)
{
    const tgi_attr_pad *attr = node->attr;
    for (int axis = 0; axis < rank; axis++)
        if (attr->interior[axis] != 0)
            return true;
    return false;
}

/* True for nodes that place elements: a part of one is found in its inputs. */
static bool is_placement(const tgi_graph *graph, const tgi_node *node)
{
    if (node->op != TGI_OP_SLICE && node->op != TGI_OP_PAD)
        return node->op == TGI_OP_CONCAT;
    const int rank = tgi_shape_of(graph->dims, node->shape)->rank;
    return node->op == TGI_OP_SLICE ? has_unit_steps(node, rank)
                                    : !has_gaps(node, rank);
}

/* Notes the uses that a node makes of its inputs. */
static void count_uses(const tgi_graph *graph, const tgi_node *node,
                       const use_count *of_node, bool is_member,
                       use_count *uses)
{
    const bool is_elementwise = tgi_op_is_elementwise(node->op);
    const bool places = is_member && is_placement(graph, node);
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        use_count *use = &uses[node->inputs[i]];
        use->n_users += use->n_users < MANY_USERS;
        const uint32_t n = use->n + (is_elementwise ? 1 : of_node->n);
        use->n = n > 2 ? 2 : n;
        use->is_elsewhere |= !is_elementwise && !places;
        use->is_placed |= places || (is_member && of_node->is_placed);
    }
}

/* True for a node that the pass `dead` removes. */
static bool is_dead(const tgi_node *node, const use_count *use)
{
    return use->n == 0 && !use->is_elsewhere && !tgi_node_has_regions(node) &&
           !tgi_op_has(node->op,
                       TGI_FLAG_EFFECT | TGI_FLAG_MAY_FAIL | TGI_FLAG_ORDERED);
}

/* Counts the users of each node, by ref, that are not dead, and results. */
static void count_live_users(const tgi_graph *graph, uint32_t *n_users)
{
    for (size_t i = 0; i < graph->results.n; i++)
        n_users[graph->results.data[i]]++;
    for (tgi_ref ref = graph->n_nodes; ref > 0; ref--) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        if (n_users[ref] == 0 && !tgi_graph_is_root(graph, node))
            continue;
        for (uint32_t i = 0; i < node->n_inputs; i++)
            n_users[node->inputs[i]]++;
    }
}

/* True for the border of a value that is computed for it alone, and that several
   nodes use: the value is stored anyway, and it can be stored inside the
   border. Distributed, each part of each user would be a kernel. */
static bool is_stored_inside(const tgi_graph *graph, tgi_ref ref,
                             const uint32_t *n_users)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    if (node->op != TGI_OP_PAD || n_users[ref] < 2)
        return false;
    const tgi_node *operand = tgi_graph_node(graph, node->inputs[0]);
    const int class = tgi_op_table[operand->op].cls;
    return n_users[node->inputs[0]] == 1 &&
           (tgi_op_is_elementwise(operand->op) ||
            class == TGI_OPCLASS_MATMUL || class == TGI_OPCLASS_CONV);
}

/* Marks the members of expressions, from results to parameters. */
static void find_members(const tgi_graph *graph, const uint32_t *n_users,
                         use_count *uses, bool *is_member)
{
    for (size_t i = 0; i < graph->results.n; i++)
        uses[graph->results.data[i]].is_elsewhere = true;
    for (tgi_ref ref = graph->n_nodes; ref > 0; ref--) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        const use_count *use = &uses[ref];
        if (is_dead(node, use))
            continue;
        /* Memory is better than evaluating an element twice. */
        const bool is_once = use->n == 1 || !use->is_placed;
        is_member[ref] = use->n > 0 && !use->is_elsewhere &&
                         ((is_placement(graph, node) &&
                           !is_stored_inside(graph, ref, n_users)) ||
                          (tgi_op_is_elementwise(node->op) && is_once));
        count_uses(graph, node, use, is_member[ref], uses);
    }
}

/* -- Visits ---------------------------------------------------------------- */

/* The entry of a part of a member, which is new if *out_is_new; NULL if there
   are too many, or memory is short. */
static visited *visit(distributor *d, tgi_ref old, const part *p,
                      bool *out_is_new)
{
    const visited entry = {.part = *p, .old = old};
    const size_t key_bytes = offsetof(visited, ref);
    const uint64_t hash = tgi_hash(&entry, key_bytes, 0);
    size_t probe = 0;
    uint32_t position;
    *out_is_new = false;
    while ((position = tgi_index_next(&d->visit_index, hash, &probe)))
        if (memcmp(&d->visits.data[position - 1], &entry, key_bytes) == 0)
            return &d->visits.data[position - 1];
    if (d->visits.n == MAX_MEMBERS)
        return NULL;
    if (!tgi_vec_push(&d->visits, entry) ||
        !tgi_index_add(&d->visit_index, hash, (uint32_t)d->visits.n)) {
        tgi_error_memory();
        d->failed = true;
        return NULL;
    }
    *out_is_new = true;
    return &d->visits.data[d->visits.n - 1];
}

static void forget_visits(distributor *d)
{
    d->visits.n = 0;
    tgi_index_clear(&d->visit_index);
}

/* -- Cuts ------------------------------------------------------------------ */

typedef enum order { BEFORE, AT, AFTER, UNKNOWN } order;

static order compare(const distributor *d, tgi_dim a, tgi_dim b)
{
    int64_t difference;
    if (!tgi_dim_difference(d->rebuild->out->dims, a, b, &difference))
        return UNKNOWN;
    return difference < 0 ? BEFORE : difference > 0 ? AFTER : AT;
}

/*
 * Adds a cut unless it exists. It follows `previous`, a cut of the same list, or
 * TGI_DIM_NONE: so the borders of one concat are in order even if their
 * extents are unknown. False if its place in the order is unknown, or there
 * are too many.
 */
static bool add_cut(distributor *d, cut_list *cuts, tgi_dim at,
                    tgi_dim previous)
{
    int place = 0;
    bool is_known = true;
    for (int i = 0; i < cuts->n; i++) {
        const order o = compare(d, at, cuts->at[i]);
        if (o == AT)
            return true;
        is_known &= o != UNKNOWN;
        place += o == AFTER;
    }
    if (!is_known && cuts->at[cuts->n - 1] == previous)
        place = cuts->n;
    else if (!is_known)
        return false;
    if (cuts->n == MAX_CUTS)
        return false;
    memmove(&cuts->at[place + 1], &cuts->at[place],
            (size_t)(cuts->n - place) * sizeof(cuts->at[0]));
    cuts->at[place] = at;
    cuts->n++;
    return true;
}

/* Cuts a part of a placement at `border`, unless that lies outside. Sets
 *io_previous to the cut. */
static bool cut_at(distributor *d, tgi_ref old, const part *p, int axis,
                   tgi_dim border, tgi_dim *io_previous)
{
    tgi_dims *dims = d->rebuild->out->dims;
    const tgi_dim end = tgi_dim_add(dims, p->start[axis], p->count[axis]);
    if (border == TGI_DIM_NONE || end == TGI_DIM_NONE)
        return fail_dim(d);
    const order low = compare(d, border, p->start[axis]);
    const order high = compare(d, border, end);
    if (low == BEFORE || low == AT || high == AFTER || high == AT)
        return true;
    /* Every border is within the whole. */
    const bool is_whole =
        p->start[axis] == 0 && p->count[axis] == old_shape(d, old)->dims[axis];
    if (!is_whole && (low == UNKNOWN || high == UNKNOWN))
        return false;
    const tgi_dim at = tgi_dim_sub(dims, border, p->start[axis]);
    if (at == TGI_DIM_NONE)
        return fail_dim(d);
    const tgi_dim previous = *io_previous;
    *io_previous = at;
    return add_cut(d, &d->cuts[axis], at, previous);
}

static bool find_cuts(distributor *d, tgi_ref old, const part *p, int depth);

static bool find_concat_cuts(distributor *d, tgi_ref old, const part *p,
                             int depth)
{
    tgi_dims *dims = d->rebuild->out->dims;
    const tgi_node *node = old_node(d, old);
    const int axis = (int)tgi_node_index(node);
    tgi_dim border = 0, previous = TGI_DIM_NONE;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const tgi_dim extent = old_shape(d, node->inputs[i])->dims[axis];
        const tgi_dim next = tgi_dim_add(dims, border, extent);
        if (next == TGI_DIM_NONE)
            return fail_dim(d);
        if (i > 0 && !cut_at(d, old, p, axis, border, &previous))
            return false;
        /* Borders inside a piece count once the part is within the piece. */
        const order low = compare(d, p->start[axis], border);
        const tgi_dim end = tgi_dim_add(dims, p->start[axis], p->count[axis]);
        const order high =
            end == TGI_DIM_NONE ? UNKNOWN : compare(d, end, next);
        if ((low == AT || low == AFTER) && (high == AT || high == BEFORE)) {
            part inside = *p;
            inside.start[axis] = tgi_dim_sub(dims, p->start[axis], border);
            return inside.start[axis] == TGI_DIM_NONE
                       ? fail_dim(d)
                       : find_cuts(d, node->inputs[i], &inside, depth);
        }
        border = next;
    }
    return true;
}

/* The position of a part of a pad in its operand; `out_fill`: it is in the
   border. False if it is unknown. */
static bool enter_pad(distributor *d, tgi_ref old, const part *p,
                      part *out_inside, bool *out_fill)
{
    tgi_dims *dims = d->rebuild->out->dims;
    const tgi_node *node = old_node(d, old);
    const tgi_attr_pad *attr = node->attr;
    const tgi_shape *in = old_shape(d, node->inputs[0]);
    *out_inside = *p;
    *out_fill = false;
    for (int axis = 0; axis < in->rank && !*out_fill; axis++) {
        const tgi_dim high = tgi_dim_add(dims, attr->low[axis], in->dims[axis]);
        const tgi_dim end = tgi_dim_add(dims, p->start[axis], p->count[axis]);
        if (high == TGI_DIM_NONE || end == TGI_DIM_NONE)
            return fail_dim(d);
        const order before = compare(d, end, attr->low[axis]);
        const order after = compare(d, p->start[axis], high);
        const order low = compare(d, p->start[axis], attr->low[axis]);
        const order top = compare(d, end, high);
        *out_fill =
            before == BEFORE || before == AT || after == AFTER || after == AT;
        if (*out_fill)
            continue;
        if ((low != AT && low != AFTER) || (top != AT && top != BEFORE))
            return false;
        out_inside->start[axis] =
            tgi_dim_sub(dims, p->start[axis], attr->low[axis]);
        if (out_inside->start[axis] == TGI_DIM_NONE)
            return fail_dim(d);
    }
    return true;
}

static bool find_pad_cuts(distributor *d, tgi_ref old, const part *p, int depth)
{
    tgi_dims *dims = d->rebuild->out->dims;
    const tgi_node *node = old_node(d, old);
    const tgi_attr_pad *attr = node->attr;
    const tgi_shape *in = old_shape(d, node->inputs[0]);
    part inside;
    bool is_fill;
    if (enter_pad(d, old, p, &inside, &is_fill))
        return is_fill || find_cuts(d, node->inputs[0], &inside, depth);
    if (d->failed)
        return false;
    for (int axis = 0; axis < in->rank; axis++) {
        tgi_dim previous = TGI_DIM_NONE;
        const tgi_dim high = tgi_dim_add(dims, attr->low[axis], in->dims[axis]);
        if (!cut_at(d, old, p, axis, attr->low[axis], &previous) ||
            !cut_at(d, old, p, axis, high, &previous))
            return false;
    }
    return true;
}

/* The position of a part of a slice in its operand. */
static bool enter_slice(distributor *d, tgi_ref old, const part *p,
                        part *out_inside)
{
    const tgi_attr_slice *attr = old_node(d, old)->attr;
    *out_inside = *p;
    for (int axis = 0; axis < old_shape(d, old)->rank; axis++) {
        out_inside->start[axis] = tgi_dim_add(
            d->rebuild->out->dims, p->start[axis], attr->start[axis]);
        if (out_inside->start[axis] == TGI_DIM_NONE)
            return fail_dim(d);
    }
    return true;
}

/* True for a contraction that only the expression uses: it is fused with it,
   which slices would prevent. */
static bool has_epilogue(const distributor *d, tgi_ref old)
{
    const int class = tgi_op_table[old_node(d, old)->op].cls;
    return (class == TGI_OPCLASS_MATMUL || class == TGI_OPCLASS_CONV) &&
           d->uses[old].n == 1 && !d->uses[old].is_elsewhere;
}

/* Notes the borders of pieces in a part of an expression. False if they are
   unknown or too many. */
static bool find_cuts(distributor *d, tgi_ref old, const part *p, int depth)
{
    const tgi_node *node = old_node(d, old);
    if (!d->is_member[old] && depth > 0)
        return !has_epilogue(d, old);
    bool is_new;
    if (depth == MAX_DEPTH || !visit(d, old, p, &is_new))
        return false;
    if (!is_new)
        return true;
    part inside;
    switch (node->op) {
    case TGI_OP_CONCAT:
        return find_concat_cuts(d, old, p, depth + 1);
    case TGI_OP_PAD:
        return find_pad_cuts(d, old, p, depth + 1);
    case TGI_OP_SLICE:
        return enter_slice(d, old, p, &inside) &&
               find_cuts(d, node->inputs[0], &inside, depth + 1);
    default:
        for (uint32_t i = 0; i < node->n_inputs; i++)
            if (!find_cuts(d, node->inputs[i], p, depth + 1))
                return false;
        return true;
    }
}

/* -- Pieces ---------------------------------------------------------------- */

/* Adds a node of the extents of `p`; 0 on failure. */
static tgi_ref add_node(distributor *d, tgi_node *node, int rank, const part *p)
{
    tgi_graph *out = d->rebuild->out;
    node->shape = tgi_shape_intern(out->dims, rank, p->count);
    const tgi_ref ref = node->shape ? tgi_graph_add(out, node) : 0;
    d->failed |= !ref;
    return ref;
}

/* A part of a node that is no member. */
static tgi_ref add_slice(distributor *d, tgi_ref old, const part *p)
{
    const tgi_shape *shape = old_shape(d, old);
    const tgi_ref input = d->rebuild->map[old];
    tgi_attr_slice attr = {{0}, {0}};
    bool is_whole = true;
    for (int axis = 0; axis < shape->rank; axis++) {
        attr.start[axis] = p->start[axis];
        attr.step[axis] = 1;
        is_whole &= p->start[axis] == 0 && p->count[axis] == shape->dims[axis];
    }
    if (is_whole)
        return input;
    tgi_node node = {.op = TGI_OP_SLICE,
                     .dtype = old_node(d, old)->dtype,
                     .inputs = &input,
                     .n_inputs = 1,
                     .attr = &attr,
                     .attr_bytes = sizeof(attr),
                     .site = old_node(d, old)->site};
    return add_node(d, &node, shape->rank, p);
}

/* A part of a broadcast: the same of a part of its operand, so that later
   passes recognise broadcast constants. */
static tgi_ref add_broadcast(distributor *d, tgi_ref old, const part *p)
{
    tgi_node node = *old_node(d, old);
    const tgi_shape *shape = old_shape(d, old);
    const tgi_shape *from = old_shape(d, node.inputs[0]);
    part operand;
    memset(&operand, 0, sizeof(operand));
    for (int axis = 0; axis < from->rank; axis++) {
        const int to = axis + shape->rank - from->rank;
        const bool is_repeated = from->dims[axis] == 1;
        if (!is_repeated && from->dims[axis] != shape->dims[to])
            return add_slice(d, old, p);
        operand.start[axis] = is_repeated ? 0 : p->start[to];
        operand.count[axis] = is_repeated ? 1 : p->count[to];
    }
    const tgi_ref input = add_slice(d, node.inputs[0], &operand);
    node.inputs = &input;
    return input ? add_node(d, &node, shape->rank, p) : 0;
}

/* A part of the border of a pad. */
static tgi_ref add_fill(distributor *d, tgi_ref old, const part *p)
{
    const tgi_node *pad = old_node(d, old);
    const tgi_ref fill = d->rebuild->map[pad->inputs[1]];
    tgi_node node = {.op = TGI_OP_BROADCAST,
                     .dtype = pad->dtype,
                     .inputs = &fill,
                     .n_inputs = 1,
                     .site = pad->site};
    return add_node(d, &node, old_shape(d, old)->rank, p);
}

static tgi_ref add_piece(distributor *d, tgi_ref old, const part *p, int depth);

/* A part of a concat that lies within one piece; 0: it does not. */
static tgi_ref add_concat_piece(distributor *d, tgi_ref old, const part *p,
                                int depth)
{
    tgi_dims *dims = d->rebuild->out->dims;
    const tgi_node *node = old_node(d, old);
    const int axis = (int)tgi_node_index(node);
    const tgi_dim end = tgi_dim_add(dims, p->start[axis], p->count[axis]);
    tgi_dim border = 0;
    for (uint32_t i = 0; i < node->n_inputs && end != TGI_DIM_NONE; i++) {
        const tgi_dim next = tgi_dim_add(
            dims, border, old_shape(d, node->inputs[i])->dims[axis]);
        const order low = compare(d, p->start[axis], border);
        const order high = compare(d, end, next);
        if ((low == AT || low == AFTER) && (high == AT || high == BEFORE)) {
            part inside = *p;
            inside.start[axis] = tgi_dim_sub(dims, p->start[axis], border);
            return inside.start[axis] == TGI_DIM_NONE
                       ? 0
                       : add_piece(d, node->inputs[i], &inside, depth);
        }
        border = next;
    }
    return 0;
}

static tgi_ref add_elementwise(distributor *d, tgi_ref old, const part *p,
                               int depth)
{
    tgi_node node = *old_node(d, old);
    tgi_ref inputs[3];
    for (uint32_t i = 0; i < node.n_inputs; i++) {
        inputs[i] = add_piece(d, node.inputs[i], p, depth);
        if (!inputs[i])
            return 0;
    }
    node.inputs = inputs;
    node.flags &= (uint16_t)~TGI_NODE_WEAK;
    return add_node(d, &node, old_shape(d, old)->rank, p);
}

static tgi_ref add_member(distributor *d, tgi_ref old, const part *p, int depth)
{
    part inside;
    bool is_fill;
    switch (old_node(d, old)->op) {
    case TGI_OP_CONCAT:
        return add_concat_piece(d, old, p, depth);
    case TGI_OP_PAD:
        if (!enter_pad(d, old, p, &inside, &is_fill))
            return 0;
        return is_fill
                   ? add_fill(d, old, p)
                   : add_piece(d, old_node(d, old)->inputs[0], &inside, depth);
    case TGI_OP_SLICE:
        return enter_slice(d, old, p, &inside)
                   ? add_piece(d, old_node(d, old)->inputs[0], &inside, depth)
                   : 0;
    default:
        return add_elementwise(d, old, p, depth);
    }
}

/* A part of an expression in which there is no border; 0 on failure, or if it
   is larger than expected. */
static tgi_ref add_piece(distributor *d, tgi_ref old, const part *p, int depth)
{
    if (!d->is_member[old] && depth > 0)
        return old_node(d, old)->op == TGI_OP_BROADCAST
                   ? add_broadcast(d, old, p)
                   : add_slice(d, old, p);
    bool is_new;
    const visited *entry =
        depth == MAX_DEPTH ? NULL : visit(d, old, p, &is_new);
    if (!entry || !is_new)
        return entry ? entry->ref : 0;
    const size_t position = (size_t)(entry - d->visits.data);
    const tgi_ref ref = add_member(d, old, p, depth + 1);
    d->visits.data[position].ref = ref;
    return ref;
}

/* -- Expressions ----------------------------------------------------------- */

static tgi_ref add_part(distributor *d, tgi_ref root, const part *p,
                        bool *out_is_cut);

/* A concat of the parts between cuts. */
static tgi_ref add_parts(distributor *d, tgi_ref root, const part *p, int axis)
{
    tgi_dims *dims = d->rebuild->out->dims;
    const cut_list cuts = d->cuts[axis];
    tgi_ref pieces[MAX_CUTS + 1];
    tgi_dim from = 0;
    bool is_cut;
    for (int i = 0; i <= cuts.n; i++) {
        const tgi_dim to = i < cuts.n ? cuts.at[i] : p->count[axis];
        part piece = *p;
        piece.start[axis] = tgi_dim_add(dims, p->start[axis], from);
        piece.count[axis] = tgi_dim_sub(dims, to, from);
        if (piece.start[axis] == TGI_DIM_NONE ||
            piece.count[axis] == TGI_DIM_NONE) {
            fail_dim(d);
            return 0;
        }
        pieces[i] = add_part(d, root, &piece, &is_cut);
        if (!pieces[i])
            return 0;
        from = to;
    }
    tgi_node node = {.op = TGI_OP_CONCAT,
                     .dtype = old_node(d, root)->dtype,
                     .inputs = pieces,
                     .n_inputs = (uint32_t)cuts.n + 1,
                     .attr = &(tgi_attr_index){axis},
                     .attr_bytes = sizeof(tgi_attr_index),
                     .site = old_node(d, root)->site};
    return add_node(d, &node, old_shape(d, root)->rank, p);
}

/* A part of an expression; 0 on failure, or if it stays as it is. */
static tgi_ref add_part(distributor *d, tgi_ref root, const part *p,
                        bool *out_is_cut)
{
    const int rank = old_shape(d, root)->rank;
    memset(d->cuts, 0, sizeof(d->cuts));
    forget_visits(d);
    *out_is_cut = false;
    if (d->n_parts++ == MAX_PARTS || !find_cuts(d, root, p, 0))
        return 0;
    for (int axis = 0; axis < rank; axis++)
        if (d->cuts[axis].n > 0) {
            *out_is_cut = true;
            return add_parts(d, root, p, axis);
        }
    forget_visits(d);
    return add_piece(d, root, p, 0);
}

/* True unless the number of elements is known and small. */
static bool is_large(const tgi_shape *shape)
{
    int64_t n = 1;
    for (int axis = 0; axis < shape->rank; axis++)
        if (!tgi_dim_is_known(shape->dims[axis]) ||
            __builtin_mul_overflow(n, shape->dims[axis], &n))
            return true;
    return n >= MIN_ELEMENTS;
}

/* True if an operand of the root is a member with pieces somewhere below. */
static bool has_member(const distributor *d, const tgi_node *root)
{
    for (uint32_t i = 0; i < root->n_inputs; i++)
        if (d->is_member[root->inputs[i]])
            return true;
    return false;
}

/*
 * True if the operand of an update, or the value that it is a slice of, has
 * other users than the update and one slice of what it replaces: probably
 * these read other elements, as in a stencil, so that it is alive.
 */
static bool is_operand_alive(const distributor *d, tgi_ref old)
{
    tgi_ref operand = old_node(d, old)->inputs[0];
    while (old_node(d, operand)->op == TGI_OP_SLICE)
        operand = old_node(d, operand)->inputs[0];
    return d->uses[operand].n_users == MANY_USERS;
}

static tgi_ref distribute_node(tgi_rebuild *rebuild, tgi_ref old,
                               const tgi_node *node)
{
    distributor *d = rebuild->user;
    if (node->op == TGI_OP_DYNAMIC_UPDATE && is_operand_alive(d, old)) {
        tgi_ref pieces;
        if (!tgi_update_pieces(rebuild->out, node, &pieces))
            return 0;
        return pieces ? pieces : tgi_graph_add(rebuild->out, node);
    }
    if (!tgi_op_is_elementwise(node->op) || d->is_member[old] ||
        is_dead(node, &d->uses[old]) || !has_member(d, old_node(d, old)))
        return tgi_graph_add(rebuild->out, node);
    const tgi_shape *shape = old_shape(d, old);
    if (!is_large(shape))
        return tgi_graph_add(rebuild->out, node);
    part whole;
    memset(&whole, 0, sizeof(whole));
    memcpy(whole.count, shape->dims,
           (size_t)shape->rank * sizeof(whole.count[0]));
    bool is_cut;
    d->n_parts = 0;
    const tgi_ref ref = add_part(d, old, &whole, &is_cut);
    if (d->failed)
        return 0;
    return ref && is_cut ? ref : tgi_graph_add(rebuild->out, node);
}

/* -- The pass -------------------------------------------------------------- */

static tg_status run(distributor *d, const tgi_graph *in, tgi_graph **out_graph)
{
    tgi_rebuild rebuild = {.in = in,
                           .visit = distribute_node,
                           .region = tgi_pass_distribute,
                           .user = d};
    d->rebuild = &rebuild;
    const tg_status status = tgi_rebuild_run(&rebuild);
    *out_graph = rebuild.out;
    return status;
}

tg_status tgi_pass_distribute(const tgi_graph *in, tgi_graph **out_graph)
{
    const size_t n = in->n_nodes + 1;
    use_count *uses = tgi_alloc_zero(n * sizeof(*uses));
    bool *is_member = tgi_alloc_zero(n * sizeof(*is_member));
    uint32_t *n_users = tgi_alloc_zero(n * sizeof(*n_users));
    /* Not on the stack: the pass calls itself for regions in regions. */
    distributor *d = tgi_alloc_zero(sizeof(*d));
    tg_status status =
        uses && is_member && n_users && d ? TG_OK : tgi_error_memory();
    *out_graph = NULL;
    if (!status) {
        count_live_users(in, n_users);
        find_members(in, n_users, uses, is_member);
        d->uses = uses;
        d->is_member = is_member;
        status = run(d, in, out_graph);
        tgi_vec_deinit(&d->visits);
        tgi_index_deinit(&d->visit_index);
    }
    tgi_free(uses);
    tgi_free(is_member);
    tgi_free(n_users);
    tgi_free(d);
    return status;
}

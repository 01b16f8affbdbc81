/* SPDX-License-Identifier: MIT */
/*
 * fuse_early.c - see fuse_early.h. An epilogue joins the kernel of its matmul
 * or convolution only if all of its operands are known when that kernel begins.
 * The factors of a batch norm are recorded after the convolution. They are
 * small and depend on nothing but arguments and variables, so they move: all of
 * them to one place, where those of equal shapes share kernels, and one barrier
 * suffices.
 */
#include "fuse/fuse_early.h"

#include "base/alloc.h"
#include "base/error.h"
#include "fuse/fuse_buffer.h"
#include "fuse/fuse_value.h"

enum { MAX_ELEMENTS = 4096 /* of a value that moves */ };

/* What is known of a node. */
enum {
    IS_EARLY = 1,   /* small, and depends on no computation that stays */
    IS_PART = 2,    /* part of an expression that has a contraction */
    IS_OPERAND = 4, /* a value that such an expression needs, early */
};

static bool is_contraction(const tgi_node *node)
{
    const int class = tgi_op_table[node->op].cls;
    return class == TGI_OPCLASS_MATMUL || class == TGI_OPCLASS_CONV;
}

static bool is_small(const tgi_fuse_state *s, tgi_ref ref)
{
    int64_t n = 1;
    for (int axis = 0; axis < tgi_fuse_rank(s, ref); axis++) {
        const tgi_dim extent = tgi_fuse_extent(s, ref, axis);
        if (!tgi_dim_is_known(extent) || extent > MAX_ELEMENTS)
            return false;
        n *= extent;
        if (n > MAX_ELEMENTS)
            return false;
    }
    return true;
}

/* A read of a variable's contents before the call is early; any later one
   depends on an assignment. */
static bool can_be_early(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    if (node->op == TGI_OP_READ)
        return node->n_inputs == 1 && s->values[ref].class == TGI_VALUE_INPUT;
    const int class = tgi_op_table[node->op].cls;
    if (class == TGI_OPCLASS_LEAF)
        return true;
    return (class == TGI_OPCLASS_VIEW || tgi_op_is_elementwise(node->op)) &&
           (s->values[ref].class != TGI_VALUE_MATERIALISED || is_small(s, ref));
}

static void find_early(const tgi_fuse_state *s, uint8_t *known)
{
    for (tgi_ref ref = 1; ref <= s->graph->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(s->graph, ref);
        bool is_early = can_be_early(s, ref);
        for (uint32_t i = 0; is_early && i < node->n_inputs; i++)
            is_early = known[node->inputs[i]] & IS_EARLY;
        known[ref] = is_early ? IS_EARLY : 0;
    }
}

/* The node whose expression a value is part of; 0: several, or none. */
static tgi_ref owner_of(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_graph *graph = s->graph;
    const tgi_ref owner = s->values[ref].owner;
    if (owner <= graph->n_nodes)
        return owner;
    /* A result of the graph. */
    const size_t result = owner - graph->n_nodes - 1;
    return result < graph->results.n
               ? tgi_fuse_storage_root(s, graph->results.data[result])
               : 0;
}

/* Marks the values whose expressions have a contraction. */
static void find_owners(const tgi_fuse_state *s, uint8_t *known)
{
    for (tgi_ref ref = 1; ref <= s->graph->n_nodes; ref++) {
        if (!is_contraction(tgi_graph_node(s->graph, ref)))
            continue;
        const tgi_ref owner = owner_of(s, ref);
        if (owner && !is_contraction(tgi_graph_node(s->graph, owner)))
            known[owner] |= IS_PART;
    }
}

/* Marks what has to move. True if there is anything. */
static bool find_operands(const tgi_fuse_state *s, uint8_t *known)
{
    bool has_any = false;
    for (tgi_ref ref = s->graph->n_nodes; ref > 0; ref--) {
        const tgi_node *node = tgi_graph_node(s->graph, ref);
        const bool is_operand = known[ref] & IS_OPERAND;
        for (uint32_t i = 0; known[ref] > IS_EARLY && i < node->n_inputs;
             i++) {
            const tgi_ref in = tgi_fuse_resolve(s, node->inputs[i]);
            const int class = s->values[in].class;
            if (known[in] & IS_EARLY &&
                (is_operand || class == TGI_VALUE_MATERIALISED))
                known[in] |= IS_OPERAND;
            else if (class == TGI_VALUE_INLINED)
                known[in] |= IS_PART;
        }
        has_any |= is_operand;
    }
    return has_any;
}

/* Writes the new order: operands before the first contraction. */
static void move(const tgi_fuse_state *s, const uint8_t *known,
                 const tgi_ref *old, tgi_ref *order)
{
    const tgi_ref n = s->graph->n_nodes;
    tgi_ref at = 0, first = 0;
    while (first < n && !is_contraction(tgi_graph_node(
                            s->graph, old ? old[first] : first + 1))) {
        order[at++] = old ? old[first] : first + 1;
        first++;
    }
    for (int stays = 0; stays < 2; stays++)
        for (tgi_ref i = first; i < n; i++) {
            const tgi_ref ref = old ? old[i] : i + 1;
            if ((known[ref] & IS_OPERAND ? 0 : 1) == stays)
                order[at++] = ref;
        }
}

tg_status tgi_fuse_move_early(const tgi_fuse_state *s, tgi_ref **io_order)
{
    const size_t n = (size_t)s->graph->n_nodes + 1;
    uint8_t *known = tgi_alloc_zero(n);
    if (!known)
        return tgi_error_memory();
    find_early(s, known);
    find_owners(s, known);
    tg_status status = TG_OK;
    if (find_operands(s, known)) {
        tgi_ref *order = tgi_alloc(n * sizeof *order);
        if (order) {
            move(s, known, *io_order, order);
            tgi_free(*io_order);
            *io_order = order;
        } else {
            status = tgi_error_memory();
        }
    }
    tgi_free(known);
    return status;
}

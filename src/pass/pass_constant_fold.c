/* SPDX-License-Identifier: MIT */
/*
 * pass_constant_fold.c - constant folding. Evaluates nodes whose inputs are
 * constants, with the interpreter's kernels and floating-point mode, and so
 * with the same bits. NaNs that an op may have made become the positive quiet
 * one, so that the constants of a graph do not depend on the machine. An
 * elementwise op over broadcasts of scalars is evaluated on the scalars and
 * then broadcast, even if the extents are unknown. Not folded: nodes that would
 * enlarge the graph (broadcasts, iotas, results much larger than their inputs),
 * and nodes that may fail, because the error belongs to the call.
 *
 * Requires:    a verified graph.
 * Preserves:   every bit of results and effects, but those of NaNs.
 * Invalidates: refs.
 * Terminates:  one sweep per graph.
 */
#include "base/checked.h"
#include "base/error.h"
#include "base/fpenv.h"
#include "interp/kernel.h"
#include "ir/rebuild.h"
#include "pass/pass.h"

#define MAX_RESULT_BYTES (64 * 1024)
/* Limit of a result, as a multiple of its inputs' bytes, plus an allowance. */
#define MAX_GROWTH 4
#define FREE_GROWTH_BYTES 4096
/* Limit of all results of one run, intermediate ones included. */
#define MAX_TOTAL_BYTES (16 * 1024 * 1024)

typedef struct fold_state {
    int64_t total_bytes;
} fold_state;

/* -- Legality and profitability -------------------------------------------- */

static bool are_known(int rank, const tgi_dim *dims)
{
    for (int i = 0; i < rank; i++)
        if (!tgi_dim_is_known(dims[i]))
            return false;
    return true;
}

static bool attr_is_constant(const tgi_node *node)
{
    switch (node->op) {
    case TGI_OP_EXTENT:
        return tgi_dim_is_known(tgi_node_index(node));
    case TGI_OP_SLICE:
        return are_known(TG_MAX_RANK,
                         ((const tgi_attr_slice *)node->attr)->start);
    case TGI_OP_WINDOW:
        return are_known(TG_MAX_RANK,
                         ((const tgi_attr_window *)node->attr)->size);
    case TGI_OP_PAD:
        return are_known(TG_MAX_RANK,
                         ((const tgi_attr_pad *)node->attr)->low) &&
               are_known(TG_MAX_RANK, ((const tgi_attr_pad *)node->attr)->high);
    default:
        return true;
    }
}

static bool op_is_foldable(int op)
{
    switch (tgi_op_table[op].cls) {
    case TGI_OPCLASS_LEAF:
        return op == TGI_OP_EXTENT;
    case TGI_OPCLASS_STATE:
    case TGI_OPCLASS_EFFECT:
    case TGI_OPCLASS_REGION:
        return false;
    default:
        return op != TGI_OP_BROADCAST && !tgi_op_has(op, TGI_FLAG_MAY_FAIL);
    }
}

/* Bytes of a value; false if its extents are unknown. */
static bool value_bytes(const tgi_graph *graph, const tgi_node *node,
                        int64_t *out_bytes)
{
    const tgi_shape *shape = tgi_shape_of(graph->dims, node->shape);
    return tgi_shape_is_static(shape) &&
           tgi_checked_bytes(shape->rank, shape->dims,
                             tgi_dtype_bytes(node->dtype), out_bytes);
}

static bool is_profitable(const tgi_graph *graph, const tgi_node *node,
                          const fold_state *state, int64_t *out_bytes)
{
    if (!op_is_foldable(node->op) || !attr_is_constant(node))
        return false;
    int64_t limit = FREE_GROWTH_BYTES;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const tgi_node *input = tgi_graph_node(graph, node->inputs[i]);
        if (input->op != TGI_OP_CONSTANT)
            return false;
        size_t bytes = ((const tgi_attr_literal *)input->attr)->literal->bytes;
        if (bytes > MAX_RESULT_BYTES)
            bytes = MAX_RESULT_BYTES;
        if (limit < MAX_RESULT_BYTES)
            limit += MAX_GROWTH * (int64_t)bytes;
    }
    if (limit > MAX_RESULT_BYTES)
        limit = MAX_RESULT_BYTES;
    return value_bytes(graph, node, out_bytes) && *out_bytes <= limit &&
           state->total_bytes + *out_bytes <= MAX_TOTAL_BYTES;
}

/* -- Evaluation ------------------------------------------------------------ */

static void constant_view(const tgi_graph *graph, tgi_ref ref, tgi_view *view)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    const tgi_literal *literal =
        ((const tgi_attr_literal *)node->attr)->literal;
    const tgi_shape *shape = tgi_graph_shape(graph, ref);
    tgi_view_init(view, literal->data, (tg_dtype)node->dtype, shape->rank,
                  shape->dims);
}

/* True if all elements of the result are elements of operands. */
static bool only_moves(const tgi_node *node)
{
    return tgi_op_table[node->op].cls == TGI_OPCLASS_INDEX &&
           node->op != TGI_OP_SCATTER;
}

/* Writes the value of `node` to `data`; false if it has no kernel. */
static bool evaluate_node(const tgi_graph *graph, const tgi_node *node,
                          const tgi_view *in, void *data)
{
    const tgi_shape *shape = tgi_shape_of(graph->dims, node->shape);
    tgi_kernel_args args = {.node = node, .in = in};
    tgi_view_init(&args.out, data, (tg_dtype)node->dtype, shape->rank,
                  shape->dims);
    if (tgi_op_table[node->op].cls == TGI_OPCLASS_VIEW) {
        tgi_view input_view;
        if (!tgi_kernel_view(graph, node, NULL, in, &input_view))
            return false;
        tgi_view_copy(&args.out, &input_view);
        return true;
    }
    tgi_kernel *kernel = tgi_kernel_of(graph, node);
    if (!kernel || kernel(&args) != TG_OK)
        return false;
    if (!only_moves(node))
        tgi_dtype_unify_nans((tg_dtype)node->dtype, data,
                             tgi_view_count(&args.out));
    return true;
}

/* Adds `node` as a constant, or unchanged if it has no kernel; 0 when out of
   memory (recorded). */
static tgi_ref fold_node(tgi_graph *graph, const tgi_node *node, int64_t bytes,
                         fold_state *state)
{
    void *data = tgi_buffer_alloc((size_t)bytes);
    tgi_view *in = tgi_alloc(((size_t)node->n_inputs + 1) * sizeof *in);
    if (!data || !in) {
        if (data)
            tgi_buffer_free(data, (size_t)bytes);
        tgi_free(in);
        tgi_error_memory();
        return 0;
    }
    for (uint32_t i = 0; i < node->n_inputs; i++)
        constant_view(graph, node->inputs[i], &in[i]);
    bool ok = evaluate_node(graph, node, in, data);
    tgi_free(in);
    if (!ok) {
        tgi_buffer_free(data, (size_t)bytes);
        return tgi_graph_add(graph, node);
    }

    const tgi_attr_literal attr = {tgi_literal_adopt(data, (size_t)bytes)};
    if (!attr.literal)
        return 0;
    tgi_node constant = *node;
    constant.op = TGI_OP_CONSTANT;
    constant.n_inputs = 0;
    constant.inputs = NULL;
    constant.attr = &attr;
    constant.attr_bytes = sizeof attr;
    tgi_ref ref = tgi_graph_add(graph, &constant);
    tgi_literal_release(attr.literal);
    state->total_bytes += bytes;
    return ref;
}

/* -- Broadcasts of scalars ------------------------------------------------- */

/* The scalar constant that `ref` broadcasts, or 0. */
static tgi_ref broadcast_constant(const tgi_graph *graph, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    if (node->op != TGI_OP_BROADCAST ||
        tgi_graph_shape(graph, node->inputs[0])->rank != 0 ||
        !tgi_graph_constant(graph, node->inputs[0]))
        return 0;
    return node->inputs[0];
}

/* If `node` is elementwise over broadcasts of scalars, folds it, sets *out_ref
   (0: out of memory) and returns true. */
static bool fold_scalar_broadcast(tgi_graph *graph, const tgi_node *node,
                                  fold_state *state, tgi_ref *out_ref)
{
    tgi_ref inputs[3];
    if (!tgi_op_is_elementwise(node->op) || node->n_inputs > 3)
        return false;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (!(inputs[i] = broadcast_constant(graph, node->inputs[i])))
            return false;
    tgi_node scalar = *node;
    scalar.inputs = inputs;
    scalar.name = NULL;
    scalar.shape = tgi_graph_node(graph, inputs[0])->shape;
    tgi_ref value =
        fold_node(graph, &scalar, tgi_dtype_bytes(node->dtype), state);
    *out_ref = 0;
    if (value) {
        tgi_node broadcast = *node;
        broadcast.op = TGI_OP_BROADCAST;
        broadcast.n_inputs = 1;
        broadcast.inputs = &value;
        *out_ref = tgi_graph_add(graph, &broadcast);
    }
    return true;
}

tgi_ref tgi_constant_fold_scalars(tgi_graph *graph, const tgi_node *node)
{
    fold_state state = {0};
    const uint32_t saved = tgi_fpenv_begin();
    const tgi_ref ref =
        fold_node(graph, node, tgi_dtype_bytes(node->dtype), &state);
    tgi_fpenv_end(saved);
    return ref;
}

/* -- The pass -------------------------------------------------------------- */

static tgi_ref fold_or_copy(tgi_rebuild *rebuild, tgi_ref old,
                            const tgi_node *node)
{
    (void)old;
    fold_state *state = rebuild->user;
    tgi_ref ref;
    int64_t bytes;
    if (fold_scalar_broadcast(rebuild->out, node, state, &ref))
        return ref;
    if (is_profitable(rebuild->out, node, state, &bytes))
        return fold_node(rebuild->out, node, bytes, state);
    return tgi_graph_add(rebuild->out, node);
}

tg_status tgi_pass_fold(const tgi_graph *in, tgi_graph **out_graph)
{
    fold_state state = {0};
    tgi_rebuild rebuild = {.in = in,
                           .visit = fold_or_copy,
                           .region = tgi_pass_fold,
                           .user = &state};
    uint32_t saved = tgi_fpenv_begin();
    tg_status status = tgi_rebuild_run(&rebuild);
    tgi_fpenv_end(saved);
    *out_graph = rebuild.out;
    return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * pass_inline.c - inlining. Replaces a call by the nodes of the callee. Nodes
 * are copied as traced, and nothing is contracted across the call boundary, so
 * bits are preserved.
 *
 * Extents. Symbols of the callee are extents of its parameters; they become
 * extents of the call's inputs, some of them known. The callee's checks are
 * imported likewise. A call whose checks are bound to fail is kept, so that the
 * error is reported at run time.
 *
 * State. A READ names the last write before it. Nodes keep their program order,
 * so it suffices to track the last write of every variable while writing the
 * new graph, and to let each READ name that one.
 *
 * Requires:    a verified graph; callees lowered (lower_saved_values.h).
 * Preserves:   every bit of results and effects; program order.
 * Invalidates: refs; checks of inlined callees move to the caller.
 * Terminates:  a round inlines the calls of one graph, and the next round
 *              those of their callees; after a round without calls to
 *              inline, or MAX_ROUNDS.
 */
#include <string.h>

#include "base/error.h"
#include "ir/rebuild.h"
#include "pass/callee_import.h"
#include "pass/pass.h"

/* A callee with one call is always inlined. Others may grow a graph by this
   factor plus an allowance, because nested calls could double it per level.
   A call that stays is dear: the whole function is interpreted. */
#define MAX_GROWTH 16
#define FREE_GROWTH 16384
#define MAX_ROUNDS TG_MAX_NESTING

/* Number of calls of a graph. */
typedef struct call_count {
    const tgi_graph *callee;
    uint32_t n_calls;
} call_count;

typedef struct inliner {
    tgi_graph *out;
    tgi_ref *last_write;     /* by parameter: new ref of the last write */
    uint32_t *first_value;   /* by old ref of an inlined call: index + 1 of its
                                results … */
    TGI_VEC(tgi_ref) values; /* … in this list */
    TGI_VEC(call_count) counts;
    tgi_index count_index;
    uint64_t node_budget; /* nodes that repeated callees may still add */
    uint32_t n_inlined;
} inliner;

/* -- Selection ------------------------------------------------------------- */

static call_count *find_count(inliner *inl, const tgi_graph *callee,
                              uint64_t *out_hash)
{
    size_t probe = 0;
    uint32_t position;
    *out_hash = tgi_hash(&callee, sizeof callee, 0);
    while ((position = tgi_index_next(&inl->count_index, *out_hash, &probe)))
        if (inl->counts.data[position - 1].callee == callee)
            return &inl->counts.data[position - 1];
    return NULL;
}

static bool count_calls(inliner *inl, const tgi_graph *graph)
{
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        if (node->op != TGI_OP_CALL)
            continue;
        const tgi_graph *callee = ((const tgi_attr_call *)node->attr)->callee;
        uint64_t hash;
        call_count *count = find_count(inl, callee, &hash);
        if (count)
            count->n_calls++;
        else if (!tgi_vec_push(&inl->counts, ((call_count){callee, 1})) ||
                 !tgi_index_add(&inl->count_index, hash,
                                (uint32_t)inl->counts.n))
            return false;
    }
    return true;
}

static bool should_inline(inliner *inl, const tgi_graph *callee)
{
    uint64_t hash;
    if (find_count(inl, callee, &hash)->n_calls == 1)
        return true;
    if (callee->n_nodes > inl->node_budget)
        return false;
    inl->node_budget -= callee->n_nodes;
    return true;
}

/* -- State ----------------------------------------------------------------- */

/* The last write of a variable, given as a ref of the new graph. */
static tgi_ref *last_write(inliner *inl, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(inl->out, ref);
    return &inl->last_write[tgi_node_index(node)];
}

/* Adds a node. A READ names the last write; a write becomes it. */
static tgi_ref add_ordered(inliner *inl, const tgi_node *node)
{
    if (node->op == TGI_OP_READ) {
        const tgi_ref inputs[] = {node->inputs[0],
                                  *last_write(inl, node->inputs[0])};
        tgi_node read = *node;
        read.inputs = inputs;
        read.n_inputs = inputs[1] ? 2 : 1;
        return tgi_graph_add(inl->out, &read);
    }
    tgi_ref ref = tgi_graph_add(inl->out, node);
    if (ref && node->op == TGI_OP_ASSIGN)
        *last_write(inl, node->inputs[0]) = ref;
    for (uint32_t i = 0;
         ref && tgi_node_owns_graphs(node) && i < node->n_inputs; i++)
        if (tgi_node_writes(node, i))
            *last_write(inl, node->inputs[i]) = ref;
    return ref;
}

/* -- One call -------------------------------------------------------------- */

/* A variable is a buffer and cannot be reshaped. */
static bool variable_shapes_match(const tgi_import *t, const tgi_graph *caller,
                                  const tgi_node *call)
{
    for (uint32_t i = 0; i < call->n_inputs; i++) {
        const tgi_node *outer = tgi_graph_node(caller, call->inputs[i]);
        const tgi_node *inner =
            tgi_graph_node(t->callee, t->callee->params.data[i].node);
        if (outer->op == TGI_OP_VARIABLE &&
            tgi_import_shape(t, inner->shape) != outer->shape)
            return false;
    }
    return true;
}

static bool is_bound_to_fail(const tgi_import *t)
{
    for (size_t i = 0; i < t->callee->checks.n; i++) {
        tgi_check check = tgi_import_check(t, t->callee->checks.data[i]);
        if (tgi_check_decide(t->dims, &check) == 0)
            return true;
    }
    return false;
}

static tgi_ref add_to_caller(tgi_graph *out, const tgi_node *node, void *user)
{
    (void)out;
    return add_ordered(user, node);
}

/* Adds node `ref` of the callee to the caller. */
static bool import_node(inliner *inl, const tgi_import *t, tgi_ref ref)
{
    tgi_node node = *tgi_graph_node(t->callee, ref);
    for (uint32_t i = 0; i < node.n_inputs; i++)
        t->inputs[i] = t->refs[node.inputs[i]];
    node.inputs = t->inputs;
    t->refs[ref] = tgi_import_node(t, inl->out, &node, inl, add_to_caller);
    return t->refs[ref] != 0;
}

/* `ref` reshaped to equal extents under other names. */
static tgi_ref reshape_to(tgi_graph *graph, tgi_ref ref, tgi_shape_ref shape)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    if (node->shape == shape)
        return ref;
    return tgi_graph_add(graph, &(tgi_node){
                                    .op = TGI_OP_RESHAPE,
                                    .dtype = node->dtype,
                                    .shape = shape,
                                    .inputs = &ref,
                                    .n_inputs = 1,
                                    .site = node->site,
                                });
}

/*
 * Input i of the call as parameter i of the callee. Adds run-time checks for
 * extents that are known on one side only.
 */
static tgi_ref bind_param(inliner *inl, const tgi_import *t,
                          const tgi_node *call, size_t i)
{
    const tgi_node *param =
        tgi_graph_node(t->callee, t->callee->params.data[i].node);
    tgi_shape_ref wanted = tgi_import_shape(t, param->shape);
    if (!wanted)
        return 0;
    const tgi_shape *to = tgi_shape_of(t->dims, wanted);
    const tgi_shape *from = tgi_graph_shape(inl->out, call->inputs[i]);
    const tg_site site = tgi_node_site(call);
    for (int axis = 0; axis < to->rank; axis++) {
        const tgi_check check = {
            .kind = TGI_CHECK_EQUAL,
            .op = tgi_op_table[TGI_OP_CALL].name,
            .line = site.line,
            .file = site.file,
            .what = "extents of an argument",
            .a = from->dims[axis],
            .b = to->dims[axis],
        };
        if (check.a != check.b && !tgi_graph_add_check(inl->out, check))
            return 0;
    }
    return reshape_to(inl->out, call->inputs[i], wanted);
}

/* Copies the callee and records its results for RESULT nodes. */
static bool copy_callee(inliner *inl, const tgi_import *t, tgi_ref old,
                        const tgi_node *call)
{
    const tgi_graph *callee = t->callee;
    for (size_t i = 0; i < callee->checks.n; i++)
        if (!tgi_graph_add_check(inl->out,
                                 tgi_import_check(t, callee->checks.data[i])))
            return false;
    for (size_t i = 0; i < callee->params.n; i++) {
        tgi_ref ref = bind_param(inl, t, call, i);
        if (!ref)
            return false;
        t->refs[callee->params.data[i].node] = ref;
    }
    for (tgi_ref ref = 1; ref <= callee->n_nodes; ref++)
        if (!t->refs[ref] && !import_node(inl, t, ref))
            return false;
    inl->first_value[old] = (uint32_t)inl->values.n + 1;
    for (size_t i = 0; i < callee->results.n; i++)
        if (!tgi_vec_push(&inl->values, t->refs[callee->results.data[i]])) {
            tgi_error_memory();
            return false;
        }
    return true;
}

/* Inlines the call (TGI_REBUILD_DROPPED) or copies it; 0 on failure. */
static tgi_ref inline_call(inliner *inl, tgi_ref old, const tgi_node *call)
{
    const tgi_graph *callee = ((const tgi_attr_call *)call->attr)->callee;
    tgi_import t;
    if (!tgi_import_init(&t, callee, inl->out->dims))
        return 0;
    t.call = call->site;
    tgi_ref ref = 0;
    tg_status status = tgi_import_extents(&t, inl->out, call);
    if (status == TG_OK && !is_bound_to_fail(&t) &&
        variable_shapes_match(&t, inl->out, call)) {
        if (copy_callee(inl, &t, old, call)) {
            inl->n_inlined++;
            ref = TGI_REBUILD_DROPPED;
        }
    } else if (status != TG_ERROR_OUT_OF_MEMORY) {
        ref = add_ordered(inl, call);
    }
    tgi_import_deinit(&t);
    return ref;
}

/* -- The pass -------------------------------------------------------------- */

static tgi_ref inline_or_copy(tgi_rebuild *rebuild, tgi_ref old,
                              const tgi_node *node)
{
    inliner *inl = rebuild->user;
    inl->out = rebuild->out;
    if (node->op == TGI_OP_CALL &&
        should_inline(inl, ((const tgi_attr_call *)node->attr)->callee))
        return inline_call(inl, old, node);
    if (node->op == TGI_OP_RESULT) {
        tgi_ref call = tgi_graph_node(rebuild->in, old)->inputs[0];
        size_t index = (size_t)tgi_node_index(node);
        uint32_t first = inl->first_value[call];
        if (first)
            return reshape_to(inl->out, inl->values.data[first - 1 + index],
                              node->shape);
    }
    return add_ordered(inl, node);
}

static tg_status run_round(const tgi_graph *in, uint64_t max_nodes,
                           uint32_t *out_inlined, tgi_graph **out_graph)
{
    inliner inl = {
        .last_write =
            tgi_alloc_zero((in->params.n + 1) * sizeof *inl.last_write),
        .first_value =
            tgi_alloc_zero(((size_t)in->n_nodes + 1) * sizeof *inl.first_value),
        .node_budget = max_nodes > in->n_nodes ? max_nodes - in->n_nodes : 0,
    };
    tgi_rebuild rebuild = {.in = in,
                           .visit = inline_or_copy,
                           .region = tgi_pass_inline,
                           .user = &inl};
    tg_status status;
    if (inl.last_write && inl.first_value && count_calls(&inl, in))
        status = tgi_rebuild_run(&rebuild);
    else
        status = tgi_error_memory();
    tgi_free(inl.last_write);
    tgi_free(inl.first_value);
    tgi_vec_deinit(&inl.values);
    tgi_vec_deinit(&inl.counts);
    tgi_index_deinit(&inl.count_index);
    *out_inlined = inl.n_inlined;
    *out_graph = rebuild.out;
    return status;
}

tg_status tgi_pass_inline(const tgi_graph *in, tgi_graph **out_graph)
{
    uint64_t max_nodes = (uint64_t)in->n_nodes * MAX_GROWTH + FREE_GROWTH;
    tgi_graph *graph = tgi_graph_retain(in);
    uint32_t n_inlined = 1;
    for (int round = 0; n_inlined > 0 && round < MAX_ROUNDS; round++) {
        tgi_graph *next = NULL;
        tg_status status = run_round(graph, max_nodes, &n_inlined, &next);
        tgi_graph_release(graph);
        if (status != TG_OK) {
            *out_graph = NULL;
            return status;
        }
        graph = next;
    }
    *out_graph = graph;
    return TG_OK;
}

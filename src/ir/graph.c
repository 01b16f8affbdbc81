/* SPDX-License-Identifier: MIT */
/*
 * graph.c - storage of graphs: nodes in chunks, all that they point to in the
 * arena, and the hash indexes for interning.
 *
 * Nodes, literals, strings and sites are interned. The key of a node is its
 * computation, without name and site. Literals are unique in a graph, so
 * attributes can be compared as bytes.
 *
 * A function that runs out of memory leaves the graph unchanged, except for
 * unreferenced interned objects.
 */
#include "ir/graph.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/live.h"
#include "tgjit/ops.h"

/* -- Lifetime -------------------------------------------------------------- */

tgi_graph *tgi_graph_create(const char *name, tgi_dims *dims)
{
    tgi_graph *graph = tgi_alloc_zero(sizeof *graph);
    if (!graph) {
        tgi_error_memory();
        return NULL;
    }
    tgi_refcount_init(&graph->refs);
    tgi_live_add(TGI_LIVE_GRAPH, 1);
    graph->height = 1;
    graph->dims = dims ? tgi_dims_retain(dims) : tgi_dims_create();
    if (graph->dims)
        graph->name = tgi_graph_intern(graph, name ? name : "");
    if (!graph->name) {
        tgi_graph_release(graph);
        return NULL;
    }
    return graph;
}

tgi_graph *tgi_graph_retain(const tgi_graph *graph)
{
    tgi_graph *retained = (tgi_graph *)(uintptr_t)graph;
    tgi_refcount_inc(&retained->refs);
    return retained;
}

/* Frees a graph and prepends callees without references to the list `dead`. */
static tgi_graph *destroy_graph(tgi_graph *graph, tgi_graph *dead)
{
    for (size_t i = 0; i < graph->callees.n; i++) {
        tgi_graph *callee = graph->callees.data[i];
        if (tgi_refcount_dec(&callee->refs)) {
            callee->next_dead = dead;
            dead = callee;
        }
    }
    for (size_t i = 0; i < graph->literals.n; i++)
        tgi_literal_release(graph->literals.data[i]);
    tgi_vec_deinit(&graph->chunks);
    tgi_vec_deinit(&graph->params);
    tgi_vec_deinit(&graph->results);
    tgi_vec_deinit(&graph->checks);
    tgi_vec_deinit(&graph->number_checks);
    tgi_vec_deinit(&graph->literals);
    tgi_vec_deinit(&graph->callees);
    tgi_vec_deinit(&graph->strings);
    tgi_vec_deinit(&graph->sites);
    tgi_index_deinit(&graph->nodes);
    tgi_index_deinit(&graph->literal_index);
    tgi_index_deinit(&graph->string_index);
    tgi_index_deinit(&graph->check_index);
    tgi_index_deinit(&graph->site_index);
    tgi_arena_deinit(&graph->arena);
    if (graph->dims)
        tgi_dims_release(graph->dims);
    tgi_free(graph);
    tgi_live_add(TGI_LIVE_GRAPH, -1);
    return dead;
}

void tgi_graph_release(tgi_graph *graph)
{
    if (!graph || !tgi_refcount_dec(&graph->refs))
        return;
    /* A list instead of recursion: graphs may be deeply nested. */
    graph->next_dead = NULL;
    while (graph)
        graph = destroy_graph(graph, graph->next_dead);
}

size_t tgi_graph_bytes(const tgi_graph *graph)
{
#define VEC_BYTES(vec) ((vec).capacity * sizeof *(vec).data)
#define INDEX_BYTES(index) ((index).capacity * sizeof *(index).slots)
    size_t bytes =
        sizeof *graph + graph->arena.bytes + VEC_BYTES(graph->chunks) +
        VEC_BYTES(graph->params) + VEC_BYTES(graph->results) +
        VEC_BYTES(graph->checks) + VEC_BYTES(graph->number_checks) +
        VEC_BYTES(graph->literals) + VEC_BYTES(graph->callees) +
        VEC_BYTES(graph->strings) + VEC_BYTES(graph->sites) +
        INDEX_BYTES(graph->site_index) + INDEX_BYTES(graph->nodes) +
        INDEX_BYTES(graph->literal_index) + INDEX_BYTES(graph->string_index) +
        INDEX_BYTES(graph->check_index);
#undef VEC_BYTES
#undef INDEX_BYTES
    for (size_t i = 0; i < graph->literals.n; i++)
        bytes += graph->literals.data[i]->bytes;
    return bytes;
}

/* -- Interned strings and literals ----------------------------------------- */

const char *tgi_graph_intern(tgi_graph *graph, const char *string)
{
    size_t bytes = strlen(string) + 1;
    uint64_t hash = tgi_hash(string, bytes, 0);
    size_t probe = 0;
    uint32_t position;
    while ((position = tgi_index_next(&graph->string_index, hash, &probe))) {
        const char *existing = graph->strings.data[position - 1];
        if (strcmp(existing, string) == 0)
            return existing;
    }

    const char *copy = tgi_arena_copy(&graph->arena, string, bytes);
    if (!copy || !tgi_vec_push(&graph->strings, copy) ||
        !tgi_index_add(&graph->string_index, hash,
                       (uint32_t)graph->strings.n)) {
        tgi_error_memory();
        return NULL;
    }
    return copy;
}

/* As tgi_graph_intern, but NULL gives NULL. */
static bool intern_optional(tgi_graph *graph, const char *string,
                            const char **out_copy)
{
    *out_copy = string ? tgi_graph_intern(graph, string) : NULL;
    return !string || *out_copy;
}

static bool strings_are_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool sites_are_equal(const tgi_site_chain *a, const tgi_site_chain *b)
{
    while (a != b && a && b && a->line == b->line &&
           strings_are_equal(a->file, b->file) &&
           strings_are_equal(a->function, b->function))
        a = a->caller, b = b->caller;
    return a == b;
}

/* A copy of `site`, whose members are interned, in the table. */
static const tgi_site_chain *find_or_add_site(tgi_graph *graph,
                                              const tgi_site_chain *site)
{
    const uintptr_t key[] = {(uintptr_t)site->file, (uintptr_t)site->function,
                             (uintptr_t)site->caller, (uintptr_t)site->line};
    const uint64_t hash = tgi_hash(key, sizeof key, 0);
    size_t probe = 0;
    uint32_t position;
    while ((position = tgi_index_next(&graph->site_index, hash, &probe))) {
        const tgi_site_chain *existing = graph->sites.data[position - 1];
        if (existing->file == site->file && existing->line == site->line &&
            existing->function == site->function &&
            existing->caller == site->caller)
            return existing;
    }
    const tgi_site_chain *copy =
        tgi_arena_copy(&graph->arena, site, sizeof *site);
    if (copy && tgi_vec_push(&graph->sites, copy) &&
        tgi_index_add(&graph->site_index, hash, (uint32_t)graph->sites.n))
        return copy;
    tgi_error_memory();
    return NULL;
}

/* An interned copy of a site, which may belong to another graph. Consecutive
   nodes often have the same one. */
static bool intern_site(tgi_graph *graph, const tgi_site_chain *site,
                        const tgi_site_chain **out_copy)
{
    *out_copy = NULL;
    if (!site || !site->file)
        return true;
    if (!graph->last_site || !sites_are_equal(site, graph->last_site)) {
        tgi_site_chain copy = {.line = site->line};
        const tgi_site_chain *added;
        if (!intern_site(graph, site->caller, &copy.caller) ||
            !intern_optional(graph, site->file, &copy.file) ||
            !intern_optional(graph, site->function, &copy.function) ||
            !(added = find_or_add_site(graph, &copy)))
            return false;
        graph->last_site = added;
    }
    *out_copy = graph->last_site;
    return true;
}

const tgi_site_chain *tgi_graph_site_through(tgi_graph *graph,
                                             const tgi_site_chain *site,
                                             const char *function,
                                             const tgi_site_chain *call)
{
    if (!site || !call)
        return site;
    tgi_site_chain extended = *site;
    if (site->caller) {
        extended.caller =
            tgi_graph_site_through(graph, site->caller, function, call);
    } else {
        extended.caller = call;
        extended.function = function;
    }
    const tgi_site_chain *interned;
    return extended.caller && intern_site(graph, &extended, &interned)
               ? interned
               : NULL;
}

/* The unique literal of the graph with these contents: an existing one, or this
   one, which is retained. */
static tgi_literal *intern_literal(tgi_graph *graph, tgi_literal *literal)
{
    size_t probe = 0;
    uint32_t position;
    while ((position =
                tgi_index_next(&graph->literal_index, literal->hash, &probe))) {
        tgi_literal *existing = graph->literals.data[position - 1];
        if (existing == literal ||
            (existing->bytes == literal->bytes &&
             memcmp(existing->data, literal->data, literal->bytes) == 0))
            return existing;
    }

    if (!tgi_vec_push(&graph->literals, literal)) {
        tgi_error_memory();
        return NULL;
    }
    tgi_literal_retain(literal);
    if (!tgi_index_add(&graph->literal_index, literal->hash,
                       (uint32_t)graph->literals.n)) {
        tgi_error_memory();
        return NULL;
    }
    return literal;
}

/* Takes one reference per call; searching for an existing one costs more. */
static bool retain_callees(tgi_graph *graph, tgi_graph *const *callees,
                           size_t n)
{
    if (!tgi_vec_reserve(&graph->callees, graph->callees.n + n)) {
        tgi_error_memory();
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        graph->callees.data[graph->callees.n++] = tgi_graph_retain(callees[i]);
        if (graph->height <= callees[i]->height)
            graph->height = callees[i]->height + 1;
    }
    return true;
}

/* Retains all graphs of a node. */
static bool retain_graphs(tgi_graph *graph, const tgi_node *node)
{
    const tgi_regions regions = tgi_node_regions(node);
    if (!retain_callees(graph, regions.graphs, regions.n))
        return false;
    if (node->op != TGI_OP_CALL)
        return true;
    const tgi_attr_call *call = node->attr;
    return !call->traced || retain_callees(graph, &call->traced, 1);
}

/* -- Nodes ----------------------------------------------------------------- */

static tgi_node *node_at(tgi_graph *graph, tgi_ref ref)
{
    uint32_t i = ref - 1;
    return &graph->chunks.data[i >> TGI_CHUNK_BITS][i & (TGI_CHUNK_NODES - 1)];
}

static uint64_t hash_node(const tgi_node *node)
{
    const uint32_t head[] = {
        node->op,    node->dtype,    node->flags & TGI_NODE_WEAK,
        node->shape, node->n_inputs, node->attr_bytes,
    };
    uint64_t hash = tgi_hash(head, sizeof head, 0);
    if (node->n_inputs)
        hash =
            tgi_hash(node->inputs, node->n_inputs * sizeof *node->inputs, hash);
    if (node->attr_bytes)
        hash = tgi_hash(node->attr, node->attr_bytes, hash);
    return hash;
}

static bool nodes_are_equal(const tgi_node *a, const tgi_node *b)
{
    return a->op == b->op && a->dtype == b->dtype && a->shape == b->shape &&
           ((a->flags ^ b->flags) & TGI_NODE_WEAK) == 0 &&
           a->n_inputs == b->n_inputs && a->attr_bytes == b->attr_bytes &&
           (a->n_inputs == 0 || memcmp(a->inputs, b->inputs,
                                       a->n_inputs * sizeof *a->inputs) == 0) &&
           (a->attr_bytes == 0 || memcmp(a->attr, b->attr, a->attr_bytes) == 0);
}

static tgi_ref find_node(const tgi_graph *graph, const tgi_node *node,
                         uint64_t hash)
{
    size_t probe = 0;
    tgi_ref ref;
    while ((ref = tgi_index_next(&graph->nodes, hash, &probe)))
        if (nodes_are_equal(tgi_graph_node(graph, ref), node))
            return ref;
    return 0;
}

/* Copies everything `node` points to into the graph's arena. */
static bool copy_into_arena(tgi_graph *graph, tgi_node *node)
{
    if (node->n_inputs)
        node->inputs = tgi_arena_copy(&graph->arena, node->inputs,
                                      node->n_inputs * sizeof *node->inputs);
    if (node->attr_bytes)
        node->attr =
            tgi_arena_copy(&graph->arena, node->attr, node->attr_bytes);
    if ((node->n_inputs && !node->inputs) ||
        (node->attr_bytes && !node->attr)) {
        tgi_error_memory();
        return false;
    }
    return intern_optional(graph, node->name, &node->name) &&
           intern_site(graph, node->site, &node->site);
}

/* Ensures that there is a chunk for the next node. */
static bool reserve_node(tgi_graph *graph)
{
    if (graph->n_nodes < graph->chunks.n << TGI_CHUNK_BITS)
        return true;
    tgi_node *chunk = NULL;
    if (graph->n_nodes < UINT32_MAX - TGI_CHUNK_NODES)
        chunk =
            tgi_arena_alloc(&graph->arena, TGI_CHUNK_NODES * sizeof(tgi_node));
    if (chunk && tgi_vec_push(&graph->chunks, chunk))
        return true;
    tgi_error_memory();
    return false;
}

/* The parameter of a VARIABLE node; NULL for other nodes. */
static tgi_param *variable_param(tgi_graph *graph, tgi_ref ref)
{
    if (ref == 0 || ref > graph->n_nodes)
        return NULL;
    const tgi_node *node = tgi_graph_node(graph, ref);
    if (node->op != TGI_OP_VARIABLE)
        return NULL;
    size_t index = (size_t)tgi_node_index(node);
    return index < graph->params.n ? &graph->params.data[index] : NULL;
}

static bool is_limited_loop(const tgi_node *node)
{
    return node->op == TGI_OP_LOOP &&
           ((const tgi_attr_regions *)node->attr)->flags & TGI_LOOP_LIMITED;
}

/* Updates is_read, is_written, has_effects, may_fail and has_loops. */
static void update_summary(tgi_graph *graph, const tgi_node *node)
{
    tgi_param *param;

    if (tgi_op_has(node->op, TGI_FLAG_EFFECT))
        graph->has_effects = true;
    if (tgi_op_has(node->op, TGI_FLAG_MAY_FAIL) &&
        tgi_graph_is_root(graph, node))
        graph->may_fail = true;

    switch (node->op) {
    case TGI_OP_READ:
        if (node->n_inputs > 0 &&
            (param = variable_param(graph, node->inputs[0])))
            param->is_read = true;
        break;
    case TGI_OP_ASSIGN:
        if (node->n_inputs > 0 &&
            (param = variable_param(graph, node->inputs[0])))
            param->is_written = true;
        break;
    default:
        break;
    }
    const tgi_regions regions = tgi_node_regions(node);
    for (size_t k = 0; k < regions.n; k++) {
        const tgi_graph *region = regions.graphs[k];
        graph->has_effects |= region->has_effects;
        graph->may_fail |= region->may_fail;
        graph->has_loops |= region->has_loops;
        for (uint32_t i = 0; i < node->n_inputs && i < region->params.n; i++)
            if ((param = variable_param(graph, node->inputs[i]))) {
                param->is_read |= region->params.data[i].is_read;
                param->is_written |= region->params.data[i].is_written;
            }
    }
    if (is_limited_loop(node))
        graph->may_fail = true;
    if (node->op == TGI_OP_LOOP)
        graph->has_loops = true;
}

tgi_ref tgi_graph_add(tgi_graph *graph, const tgi_node *wanted)
{
    tgi_node node = *wanted;
    tgi_attr_literal literal_attr;

    if (node.op == TGI_OP_CONSTANT) {
        const tgi_attr_literal *attr = node.attr;
        literal_attr.literal = intern_literal(graph, attr->literal);
        if (!literal_attr.literal)
            return 0;
        node.attr = &literal_attr;
    }

    bool is_hash_consed = !tgi_op_has(node.op, TGI_FLAG_ORDERED);
    uint64_t hash = is_hash_consed ? hash_node(&node) : 0;
    if (is_hash_consed) {
        tgi_ref existing = find_node(graph, &node, hash);
        if (existing) {
            if (node.name)
                tgi_graph_set_name(graph, existing, node.name);
            return existing;
        }
    }

    if (!retain_graphs(graph, &node))
        return 0;
    if (!reserve_node(graph) || !copy_into_arena(graph, &node))
        return 0;
    if (is_hash_consed &&
        !tgi_index_add(&graph->nodes, hash, graph->n_nodes + 1)) {
        tgi_error_memory();
        return 0;
    }
    *node_at(graph, ++graph->n_nodes) = node;
    update_summary(graph, &node);
    return graph->n_nodes;
}

bool tgi_graph_set_callee(tgi_graph *graph, tgi_ref call, tgi_graph *callee)
{
    const tgi_node *node = tgi_graph_node(graph, call);
    tgi_attr_call attr = *(const tgi_attr_call *)node->attr;
    attr.callee = callee;
    void *copy = tgi_arena_alloc(&graph->arena, sizeof(attr));
    if (!copy) {
        tgi_error_memory();
        return false;
    }
    if (!retain_callees(graph, &callee, 1))
        return false;
    memcpy(copy, &attr, sizeof(attr));
    node_at(graph, call)->attr = copy;
    return true;
}

tgi_ref tgi_graph_add_param(tgi_graph *graph, tgi_op op, tg_dtype dtype,
                            tgi_shape_ref shape, uint16_t flags)
{
    assert(op == TGI_OP_PARAM || op == TGI_OP_VARIABLE);
    const tgi_attr_index attr = {(int64_t)graph->params.n};
    const tgi_node node = {
        .op = (uint8_t)op,
        .dtype = (uint8_t)dtype,
        .flags = flags,
        .shape = shape,
        .attr = &attr,
        .attr_bytes = sizeof attr,
    };
    /* Reserve first, so that no failure is possible after adding the node. */
    if (!tgi_vec_reserve(&graph->params, graph->params.n + 1)) {
        tgi_error_memory();
        return 0;
    }
    tgi_ref ref = tgi_graph_add(graph, &node);
    if (ref)
        graph->params.data[graph->params.n++] = (tgi_param){.node = ref};
    return ref;
}

tgi_ref tgi_graph_add_constant(tgi_graph *graph, tg_dtype dtype,
                               tgi_shape_ref shape, const void *data,
                               size_t bytes, uint16_t flags, tg_site site)
{
    const tgi_attr_literal attr = {tgi_literal_create(data, bytes)};
    if (!attr.literal)
        return 0;
    const tgi_node node = {
        .op = TGI_OP_CONSTANT,
        .dtype = (uint8_t)dtype,
        .flags = flags,
        .shape = shape,
        .attr = &attr,
        .attr_bytes = sizeof attr,
        .site = &(tgi_site_chain){.file = site.file, .line = site.line},
    };
    tgi_ref ref = tgi_graph_add(graph, &node);
    tgi_literal_release(attr.literal);
    return ref;
}

void tgi_graph_move_param(tgi_graph *graph, size_t from, size_t to)
{
    const tgi_param moved = graph->params.data[from];
    for (size_t i = from; i > to; i--)
        graph->params.data[i] = graph->params.data[i - 1];
    graph->params.data[to] = moved;
    /* Parameters are not hash-consed, so their attributes may change. */
    for (size_t i = to; i <= from; i++) {
        tgi_node *node = node_at(graph, graph->params.data[i].node);
        ((tgi_attr_index *)(uintptr_t)node->attr)->index = (int64_t)i;
    }
}

void tgi_graph_set_name(tgi_graph *graph, tgi_ref ref, const char *name)
{
    tgi_node *node = node_at(graph, ref);
    if (!node->name && name && *name)
        node->name = tgi_graph_intern(graph, name);
}

const void *tgi_graph_constant(const tgi_graph *graph, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    if (node->op != TGI_OP_CONSTANT)
        return NULL;
    return ((const tgi_attr_literal *)node->attr)->literal->data;
}

bool tgi_graph_is_root(const tgi_graph *graph, const tgi_node *node)
{
    (void)graph;
    if (tgi_op_has(node->op, TGI_FLAG_EFFECT) || is_limited_loop(node))
        return true;
    const tgi_regions regions = tgi_node_regions(node);
    for (size_t i = 0; i < regions.n; i++)
        if (regions.graphs[i]->has_effects || regions.graphs[i]->may_fail)
            return true;
    switch (node->op) {
    case TGI_OP_GATHER:
        return ((const tgi_attr_gather *)node->attr)->mode == TG_GATHER_CHECK;
    case TGI_OP_SCATTER:
        return ((const tgi_attr_scatter *)node->attr)->range ==
               TG_SCATTER_CHECK;
    default:
        return tgi_op_has(node->op, TGI_FLAG_MAY_FAIL);
    }
}

tgi_op tgi_scatter_op(int64_t mode)
{
    static const tgi_op ops[] = {
        [TG_SCATTER_SET] = TGI_OP_NONE, [TG_SCATTER_ADD] = TGI_OP_ADD,
        [TG_SCATTER_MUL] = TGI_OP_MUL,  [TG_SCATTER_MAX] = TGI_OP_MAX,
        [TG_SCATTER_MIN] = TGI_OP_MIN};
    return ops[mode];
}

/* -- Results --------------------------------------------------------------- */

bool tgi_graph_add_result(tgi_graph *graph, tgi_ref ref)
{
    if (tgi_vec_push(&graph->results, ref))
        return true;
    tgi_error_memory();
    return false;
}

/* -- Regions --------------------------------------------------------------- */

tgi_regions tgi_node_regions(const tgi_node *node)
{
    if (node->op == TGI_OP_CALL)
        return (tgi_regions){1, &((const tgi_attr_call *)node->attr)->callee};
    if (!tgi_node_owns_graphs(node))
        return (tgi_regions){0, NULL};
    const tgi_attr_regions *attr = node->attr;
    return (tgi_regions){(size_t)attr->n_graphs, attr->graphs};
}

bool tgi_node_writes(const tgi_node *node, uint32_t i)
{
    const tgi_regions regions = tgi_node_regions(node);
    for (size_t k = 0; k < regions.n; k++)
        if (i < regions.graphs[k]->params.n &&
            regions.graphs[k]->params.data[i].is_written)
            return true;
    return false;
}

const tgi_custom_gradient *tgi_node_custom_gradient(const tgi_node *node)
{
    const tgi_custom_gradient *gradient = NULL;
    if (node->op == TGI_OP_CALL)
        gradient = &((const tgi_attr_call *)node->attr)->gradient;
    else if (node->op == TGI_OP_HOST)
        gradient = &((const tgi_attr_host *)node->attr)->gradient;
    return gradient && gradient->backward ? gradient : NULL;
}

size_t tgi_node_n_results(const tgi_node *node)
{
    if (node->op == TGI_OP_HOST)
        return (size_t)((const tgi_attr_host *)node->attr)->n_outputs;
    const tgi_regions regions = tgi_node_regions(node);
    return regions.n ? regions.graphs[0]->results.n : 0;
}

tgi_dim tgi_loop_iterations(const tgi_graph *graph, const tgi_node *loop)
{
    const tgi_attr_regions *attr = loop->attr;
    const tgi_node *count = tgi_graph_node(graph, loop->inputs[0]);
    if (attr->n_graphs > 1)
        return TGI_UNBOUNDED;
    if (count->op == TGI_OP_EXTENT)
        return tgi_node_index(count);
    const void *data = tgi_graph_constant(graph, loop->inputs[0]);
    int64_t number = 0;
    if (!data)
        return TGI_UNBOUNDED;
    memcpy(&number, data, sizeof(number));
    return number > 0 ? number : 0;
}

/* -- Unbounded stacks ------------------------------------------------------ */

int64_t tgi_stack_input(const tgi_node *region, size_t index)
{
    if (region->op == TGI_OP_LOOP)
        return (int64_t)index + 1;
    if (!tgi_node_owns_graphs(region))
        return -1;
    const tgi_graph *graph = tgi_node_regions(region).graphs[0];
    return tgi_stack_origin(graph, graph->results.data[index]).param;
}

tgi_origin tgi_stack_origin(const tgi_graph *graph, tgi_ref ref)
{
    tgi_origin origin = {.param = -1};
    for (;;) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        const tgi_attr_index *attr = node->attr;
        switch (node->op) {
        case TGI_OP_PARAM:
            origin.param = attr->index;
            return origin;
        case TGI_OP_DYNAMIC_UPDATE:
            ref = node->inputs[0];
            break;
        case TGI_OP_RESULT:
            origin.region = node->inputs[0];
            node = tgi_graph_node(graph, origin.region);
            origin.input = tgi_stack_input(node, (size_t)attr->index);
            if (origin.input < 0)
                return origin;
            ref = node->inputs[origin.input];
            break;
        default:
            return origin;
        }
    }
}

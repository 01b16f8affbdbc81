/* SPDX-License-Identifier: MIT */
/*
 * lower_saved_values.c - lowers saved values of loops to carried stacks. Finds
 * the picked results of each node that owns graphs, and rebuilds graphs from
 * the inside out.
 *
 * Requires:    a finished trace; called functions already lowered.
 * Establishes: bodies of loops return carried values only.
 * Preserves:   results and effects.
 * Invalidates: refs; result indices of loops from n_carried on, and of other
 *              regions with unbounded results.
 * Terminates:  one visit per graph; recursion is bounded by TG_MAX_NESTING.
 */
#include "pass/lower_saved_values.h"

#include "base/error.h"
#include "pass/lower_saved_state.h"

/* -- Picked results -------------------------------------------------------- */

static bool has_saved(const tgi_node *node)
{
    const tgi_attr_regions *attr = node->attr;
    return node->op == TGI_OP_LOOP &&
           attr->graphs[0]->results.n > (size_t)attr->n_carried;
}

/* True for a call whose callee was cloned for gradients: the clone is part of
   this graph, and may use variables that the original does not. */
static bool has_cloned_callee(const tgi_graph *graph, const tgi_node *node)
{
    return node->op == TGI_OP_CALL &&
           ((const tgi_attr_call *)node->attr)->callee->dims == graph->dims;
}

/* True if a graph, or a graph inside it, has something to lower. Called
   functions have already been lowered. */
static bool needs_lowering(const tgi_graph *graph)
{
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        if (has_saved(node) || has_cloned_callee(graph, node) ||
            (node->op == TGI_OP_RESULT && tgi_node_index(node) < 0))
            return true;
        const tgi_regions regions = tgi_node_regions(node);
        for (size_t i = 0; node->op != TGI_OP_CALL && i < regions.n; i++)
            if (needs_lowering(regions.graphs[i]))
                return true;
    }
    return false;
}

static tgi_lowered_region *find_lowered(const tgi_lowering *s, tgi_ref region)
{
    return s->region_index[region]
               ? &s->regions.data[s->region_index[region] - 1]
               : NULL;
}

/* Adds an entry for a node that owns graphs; false when out of memory
   (recorded). */
static bool add_region(tgi_lowering *s, tgi_ref region)
{
    const tgi_node *node = tgi_graph_node(s->in, region);
    const tgi_regions regions = tgi_node_regions(node);
    const size_t n = tgi_node_n_results(node);
    tgi_lowered_region added = {
        .region = region,
        .picked_by = tgi_alloc_zero((n + 1) * sizeof(*added.picked_by)),
        .new_index = tgi_alloc_zero((n + 1) * sizeof(*added.new_index)),
        .channels = tgi_alloc_zero((regions.n + 1) * sizeof(*added.channels))};
    if (added.picked_by && added.new_index && added.channels &&
        tgi_vec_push(&s->regions, added)) {
        s->region_index[region] = (uint32_t)s->regions.n;
        return true;
    }
    tgi_free(added.picked_by);
    tgi_free(added.new_index);
    tgi_free(added.channels);
    tgi_error_memory();
    return false;
}

static void mark_used(tgi_lowering *s)
{
    const tgi_graph *in = s->in;
    for (tgi_ref ref = 1; ref <= in->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(in, ref);
        for (uint32_t i = 0; i < node->n_inputs; i++)
            s->is_used[node->inputs[i]] = true;
    }
    for (size_t i = in->results.n; i-- > 0;)
        if (!s->is_wanted || s->is_wanted[i]) {
            s->is_used[in->results.data[i]] = true;
            s->result_index[in->results.data[i]] = (uint32_t)i + 1;
        }
}

/* Values that the loop itself saves come first; stacks of inner loops get their
   indices when those are lowered. */
static void record_pick(tgi_lowered_region *lowered, const tgi_node *region,
                        tgi_ref ref, int64_t index)
{
    if (index < 0) {
        lowered->counts_iterations |= index == TGI_RESULT_ITERATIONS;
        return;
    }
    lowered->picked_by[index] = ref;
    if (region->op != TGI_OP_LOOP)
        return;
    const tgi_attr_regions *attr = region->attr;
    const tgi_graph *body = attr->graphs[0];
    if (index >= attr->n_carried &&
        !tgi_graph_is_unbounded(body, body->results.data[index]))
        lowered->new_index[index] =
            (uint32_t)(attr->n_carried + (int64_t)++lowered->n_saved);
}

static bool find_picked_results(tgi_lowering *s)
{
    for (tgi_ref ref = 1; ref <= s->in->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(s->in, ref);
        if ((tgi_node_has_regions(node) || has_cloned_callee(s->in, node)) &&
            !add_region(s, ref))
            return false;
        if (node->op == TGI_OP_RESULT && s->is_used[ref] &&
            find_lowered(s, node->inputs[0]))
            record_pick(find_lowered(s, node->inputs[0]),
                        tgi_graph_node(s->in, node->inputs[0]), ref,
                        tgi_node_index(node));
    }
    return true;
}

int64_t tgi_lower_result_index(const tgi_lowering *s,
                               const tgi_lowered_region *lowered, int64_t index)
{
    const tgi_ref ref = index < 0 ? 0 : lowered->picked_by[index];
    return ref ? (int64_t)s->result_index[ref] - 1 : -1;
}

/* -- Graphs of regions ----------------------------------------------------- */

static tg_status lower_graph(const tgi_graph *in, const bool *is_wanted,
                             const bool *is_zero_base,
                             tgi_channels *channels_out, tgi_graph **out_graph);

typedef struct region_graphs {
    tgi_lowering *s;
    tgi_lowered_region *lowered;
    size_t next;
} region_graphs;

static tg_status lower_region(const tgi_graph *in, void *user,
                              tgi_graph **out_graph)
{
    region_graphs *r = user;
    tgi_lowering *s = r->s;
    const tgi_node *node = tgi_graph_node(s->in, r->lowered->region);
    const tgi_attr_regions *attr = node->attr;
    const size_t g = r->next++;
    const bool is_loop = node->op == TGI_OP_LOOP;
    bool *is_wanted = tgi_alloc_zero(in->results.n + 1);
    bool *is_zero_base = tgi_alloc_zero((size_t)node->n_inputs + 1);
    tg_status status = is_wanted && is_zero_base ? TG_OK : tgi_error_memory();
    for (size_t i = 0; !status && i < in->results.n; i++)
        is_wanted[i] =
            (is_loop ? g > 0 || i < (size_t)attr->n_carried
                     : !tgi_graph_is_unbounded(in, in->results.data[i])) ||
            r->lowered->picked_by[i];
    for (uint32_t i = 0; !status && i < node->n_inputs; i++)
        is_zero_base[i] = s->is_zero_base[node->inputs[i]] &&
                          (!is_loop || i > attr->n_carried);
    if (!status)
        status = lower_graph(in, is_wanted, is_zero_base,
                             &r->lowered->channels[g], out_graph);
    tgi_free(is_wanted);
    tgi_free(is_zero_base);
    return status;
}

/* -- Branches and calls ---------------------------------------------------- */

/* Removes unbounded results from all graphs; wanted ones are channels. */
static void drop_unbounded_results(const tgi_lowering *s,
                                   tgi_lowered_region *lowered,
                                   const tgi_regions *regions)
{
    const tgi_node *node = tgi_graph_node(s->in, lowered->region);
    const tgi_graph *old = tgi_node_regions(node).graphs[0];
    size_t n = 0;
    for (size_t i = 0; i < old->results.n; i++) {
        if (tgi_graph_is_unbounded(old, old->results.data[i]))
            continue;
        for (size_t g = 0; g < regions->n; g++)
            regions->graphs[g]->results.data[n] =
                regions->graphs[g]->results.data[i];
        lowered->new_index[i] = (uint32_t)++n;
    }
    for (size_t g = 0; g < regions->n; g++)
        regions->graphs[g]->results.n = n;
}

/* `node` owns the graphs of `regions`, which may be modified. */
static tgi_ref lower_branches(tgi_lowering *s, tgi_lowered_region *lowered,
                              const tgi_node *node, const tgi_regions *regions)
{
    const size_t before = s->channels_out->n;
    tgi_lowering_refs inputs = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < node->n_inputs; i++)
        if (!(ok = tgi_vec_push(&inputs, node->inputs[i])))
            tgi_error_memory();
    drop_unbounded_results(s, lowered, regions);
    const size_t first = regions->graphs[0]->results.n;
    ok = ok &&
         tgi_channels_align_params(lowered, regions, false, node->n_inputs);
    for (size_t g = 0; ok && g < regions->n; g++)
        for (size_t i = 0; ok && i < lowered->channels[g].n; i++)
            ok = tgi_channel_add_inputs(s, lowered, regions->graphs[g],
                                        &lowered->channels[g].data[i], &inputs);
    tgi_node added = *node;
    added.inputs = inputs.data;
    added.n_inputs = (uint32_t)inputs.n;
    tgi_ref ref = ok ? tgi_graph_add(s->out, &added) : 0;
    if (ref &&
        !tgi_channels_bind_results(s, lowered, regions->n, ref, first, before))
        ref = 0;
    tgi_vec_deinit(&inputs);
    return ref;
}

static tgi_ref lower_call(tgi_lowering *s, tgi_lowered_region *lowered,
                          const tgi_node *node)
{
    tgi_attr_call attr = *(const tgi_attr_call *)node->attr;
    region_graphs r = {.s = s, .lowered = lowered};
    if (lower_region(attr.callee, &r, &attr.callee))
        return 0;
    tgi_node call = *node;
    call.attr = &attr;
    const tgi_regions regions = {1, &attr.callee};
    tgi_ref ref = lower_branches(s, lowered, &call, &regions);
    tgi_graph_release(attr.callee);
    return ref;
}

static tgi_ref lower_owned_graphs(tgi_lowering *s, tgi_lowered_region *lowered,
                                  const tgi_node *node)
{
    region_graphs r = {.s = s, .lowered = lowered};
    tgi_attr_regions *attr =
        tgi_rebuild_regions(node, s->out, &r, lower_region);
    if (!attr)
        return 0;
    tgi_node added = *node;
    added.attr = attr;
    const tgi_regions regions = {(size_t)attr->n_graphs, attr->graphs};
    const tgi_ref ref = node->op == TGI_OP_LOOP
                            ? tgi_lower_loop(s, lowered, &added, attr)
                            : lower_branches(s, lowered, &added, &regions);
    tgi_rebuild_regions_free(attr);
    return ref;
}

/* -- All nodes ------------------------------------------------------------- */

static tgi_ref lower_result(tgi_lowering *s, tgi_ref old, const tgi_node *node)
{
    const tgi_ref region = tgi_graph_node(s->in, old)->inputs[0];
    const tgi_node *owner = tgi_graph_node(s->in, region);
    const tgi_lowered_region *lowered = find_lowered(s, region);
    tgi_attr_index attr = {tgi_node_index(node)};
    if (lowered && !s->is_used[old])
        return TGI_REBUILD_DROPPED;
    if (lowered && attr.index == TGI_RESULT_STACK_BASE) {
        s->is_zero_base[old] = !lowered->base;
        return lowered->base ? lowered->base
                             : tgi_lower_i64_constant(s->out, 0);
    }
    const int64_t n_carried =
        owner->op == TGI_OP_LOOP
            ? ((const tgi_attr_regions *)owner->attr)->n_carried
            : 0;
    if (lowered && attr.index == TGI_RESULT_ITERATIONS)
        attr.index = n_carried + (int64_t)lowered->n_saved;
    else if (lowered && attr.index >= n_carried)
        attr.index = (int64_t)lowered->new_index[attr.index] - 1;
    tgi_node result = *node;
    result.attr = &attr;
    return tgi_graph_add(s->out, &result);
}

static tgi_ref lower_node(tgi_rebuild *rebuild, tgi_ref old,
                          const tgi_node *node)
{
    tgi_lowering *s = rebuild->user;
    s->out = rebuild->out;
    tgi_lowered_region *lowered = find_lowered(s, old);
    if (node->op == TGI_OP_RESULT)
        return lower_result(s, old, node);
    if (lowered)
        return node->op == TGI_OP_CALL ? lower_call(s, lowered, node)
                                       : lower_owned_graphs(s, lowered, node);
    /* A stack that starts empty has base 0. */
    if (node->op == TGI_OP_ADD &&
        s->is_zero_base[tgi_graph_node(s->in, old)->inputs[0]])
        return node->inputs[1];
    return tgi_graph_add(s->out, node);
}

static bool lowering_init(tgi_lowering *s, const bool *is_zero_base)
{
    const size_t n = (size_t)s->in->n_nodes + 1;
    s->region_index = tgi_alloc_zero(n * sizeof(*s->region_index));
    s->result_index = tgi_alloc_zero(n * sizeof(*s->result_index));
    s->is_used = tgi_alloc_zero(n);
    s->is_zero_base = tgi_alloc_zero(n);
    if (!s->region_index || !s->result_index || !s->is_used ||
        !s->is_zero_base) {
        tgi_error_memory();
        return false;
    }
    for (size_t i = 0; is_zero_base && i < s->in->params.n; i++)
        s->is_zero_base[s->in->params.data[i].node] = is_zero_base[i];
    mark_used(s);
    return find_picked_results(s);
}

static void lowering_deinit(tgi_lowering *s)
{
    for (size_t i = 0; i < s->regions.n; i++) {
        tgi_lowered_region *lowered = &s->regions.data[i];
        const tgi_node *node = tgi_graph_node(s->in, lowered->region);
        for (size_t g = 0; g < tgi_node_regions(node).n; g++)
            tgi_channels_deinit(&lowered->channels[g]);
        tgi_free(lowered->channels);
        tgi_free(lowered->picked_by);
        tgi_free(lowered->new_index);
    }
    tgi_vec_deinit(&s->regions);
    tgi_free(s->region_index);
    tgi_free(s->result_index);
    tgi_free(s->is_used);
    tgi_free(s->is_zero_base);
}

/* Unwanted results, and results that are channels, become 0. */
static tg_status lower_graph(const tgi_graph *in, const bool *is_wanted,
                             const bool *is_zero_base,
                             tgi_channels *channels_out, tgi_graph **out_graph)
{
    tgi_lowering s = {
        .in = in, .is_wanted = is_wanted, .channels_out = channels_out};
    tgi_rebuild rebuild = {.in = in, .visit = lower_node, .user = &s};
    tg_status status = TG_OK;
    if (!lowering_init(&s, is_zero_base))
        status = TG_ERROR_OUT_OF_MEMORY;
    else
        status = tgi_rebuild_run(&rebuild);
    lowering_deinit(&s);
    *out_graph = rebuild.out;
    return status;
}

tg_status tgi_graph_lower_saved(const tgi_graph *in, tgi_graph **out_graph)
{
    if (needs_lowering(in)) {
        tgi_channels none = {0};
        tg_status status = lower_graph(in, NULL, NULL, &none, out_graph);
        tgi_channels_deinit(&none);
        return status;
    }
    *out_graph = tgi_graph_retain(in);
    return TG_OK;
}

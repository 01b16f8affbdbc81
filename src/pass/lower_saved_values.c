/* SPDX-License-Identifier: MIT */
/*
 * lower_saved_values.c - saved values of loops as stacks that loops carry: finds what is
 * picked of each node with graphs, and makes new graphs from the inside out.
 */
#include "pass/lower_saved_values.h"

#include "base/error.h"
#include "pass/lower_saved_state.h"

/* -- What is picked -------------------------------------------------------- */

static int64_t index_of(const tgi_node *node)
{
    return ((const tgi_attr_index *)node->attr)->index;
}

static bool has_saved(const tgi_node *node)
{
    const tgi_attr_regions *attr = node->attr;
    return node->op == TGI_OP_LOOP &&
           attr->graphs[0]->results.n > (size_t)attr->n_carried;
}

static bool grows(const tgi_graph *graph, tgi_ref ref)
{
    return tgi_shape_is_unbounded(tgi_graph_shape(graph, ref));
}

/* True for a call that gradients have given a callee of its own: it is part of
   this graph, and uses variables that the old one may not have used. */
static bool has_own_callee(const tgi_graph *graph, const tgi_node *node)
{
    return node->op == TGI_OP_CALL &&
           ((const tgi_attr_call *)node->attr)->callee->dims == graph->dims;
}

/* Whether a graph, or one that is part of it, has something to settle.
   Functions that it calls have been tgi_lowered_region. */
static bool is_unsettled(const tgi_graph *graph)
{
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        if (has_saved(node) || has_own_callee(graph, node) ||
            (node->op == TGI_OP_RESULT && index_of(node) < 0))
            return true;
        const tgi_regions regions = tgi_node_regions(node);
        for (size_t i = 0; node->op != TGI_OP_CALL && i < regions.n; i++)
            if (is_unsettled(regions.graphs[i]))
                return true;
    }
    return false;
}

static tgi_lowered_region *settled_of(const tgi_lowering *s, tgi_ref region)
{
    return s->number[region] ? &s->regions.data[s->number[region] - 1] : NULL;
}

/* A new entry for a node with graphs; false: out of memory. */
static bool note(tgi_lowering *s, tgi_ref region)
{
    const tgi_node *node = tgi_graph_node(s->in, region);
    const tgi_regions regions = tgi_node_regions(node);
    const size_t n = tgi_node_n_results(node);
    tgi_lowered_region new = {
        .region = region,
        .picks = tgi_alloc_zero((n + 1) * sizeof(*new.picks)),
        .place = tgi_alloc_zero((n + 1) * sizeof(*new.place)),
        .channels = tgi_alloc_zero((regions.n + 1) * sizeof(*new.channels))};
    if (new.picks && new.place && new.channels &&
        tgi_vec_push(&s->regions, new)) {
        s->number[region] = (uint32_t)s->regions.n;
        return true;
    }
    tgi_free(new.picks);
    tgi_free(new.place);
    tgi_free(new.channels);
    tgi_error_memory();
    return false;
}

static void find_used(tgi_lowering *s)
{
    const tgi_graph *in = s->in;
    for (tgi_ref ref = 1; ref <= in->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(in, ref);
        for (uint32_t i = 0; i < node->n_inputs; i++)
            s->is_used[node->inputs[i]] = true;
    }
    for (size_t i = in->results.n; i-- > 0;)
        if (!s->wanted || s->wanted[i]) {
            s->is_used[in->results.data[i]] = true;
            s->result[in->results.data[i]] = (uint32_t)i + 1;
        }
}

/* Places of the values that a loop saves itself come first; stacks of loops
   inside get theirs when these are tgi_lowered_region. */
static void note_pick(tgi_lowered_region *of, const tgi_node *region,
                      tgi_ref ref, int64_t index)
{
    if (index < 0) {
        of->counts |= index == TGI_RESULT_ITERATIONS;
        return;
    }
    of->picks[index] = ref;
    if (region->op != TGI_OP_LOOP)
        return;
    const tgi_attr_regions *attr = region->attr;
    const tgi_graph *body = attr->graphs[0];
    if (index >= attr->n_carried && !grows(body, body->results.data[index]))
        of->place[index] =
            (uint32_t)(attr->n_carried + (int64_t)++of->n_saved);
}

static bool find_picked(tgi_lowering *s)
{
    for (tgi_ref ref = 1; ref <= s->in->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(s->in, ref);
        if ((tgi_node_has_regions(node) || has_own_callee(s->in, node)) &&
            !note(s, ref))
            return false;
        if (node->op == TGI_OP_RESULT && s->is_used[ref] &&
            settled_of(s, node->inputs[0]))
            note_pick(settled_of(s, node->inputs[0]),
                      tgi_graph_node(s->in, node->inputs[0]), ref,
                      index_of(node));
    }
    return true;
}

int64_t tgi_lower_result_index(const tgi_lowering *s,
                               const tgi_lowered_region *what, int64_t index)
{
    const tgi_ref ref = index < 0 ? 0 : what->picks[index];
    return ref ? (int64_t)s->result[ref] - 1 : -1;
}

/* -- Graphs of regions ----------------------------------------------------- */

static tg_status settle(const tgi_graph *in, const bool *wanted,
                        const bool *is_zero, tgi_channels *given,
                        tgi_graph **out_graph);

typedef struct region_graphs {
    tgi_lowering *s;
    tgi_lowered_region *what;
    size_t next;
} region_graphs;

static tg_status settle_region(const tgi_graph *in, void *user,
                               tgi_graph **out_graph)
{
    region_graphs *r = user;
    tgi_lowering *s = r->s;
    const tgi_node *node = tgi_graph_node(s->in, r->what->region);
    const tgi_attr_regions *attr = node->attr;
    const size_t g = r->next++;
    const bool is_loop = node->op == TGI_OP_LOOP;
    bool *wanted = tgi_alloc_zero(in->results.n + 1);
    bool *is_zero = tgi_alloc_zero((size_t)node->n_inputs + 1);
    tg_status status = wanted && is_zero ? TG_OK : tgi_error_memory();
    for (size_t i = 0; !status && i < in->results.n; i++)
        wanted[i] = (is_loop ? g > 0 || i < (size_t)attr->n_carried
                             : !grows(in, in->results.data[i])) ||
                    r->what->picks[i];
    for (uint32_t i = 0; !status && i < node->n_inputs; i++)
        is_zero[i] = s->is_zero[node->inputs[i]] &&
                     (!is_loop || i > attr->n_carried);
    if (!status)
        status = settle(in, wanted, is_zero, &r->what->channels[g], out_graph);
    tgi_free(wanted);
    tgi_free(is_zero);
    return status;
}

/* -- Branches and calls ---------------------------------------------------- */

/* Takes results that grow from all graphs: those that are wanted are
   channels. */
static void drop_grown(const tgi_lowering *s, tgi_lowered_region *what,
                       const tgi_regions *regions)
{
    const tgi_node *node = tgi_graph_node(s->in, what->region);
    const tgi_graph *old = tgi_node_regions(node).graphs[0];
    size_t n = 0;
    for (size_t i = 0; i < old->results.n; i++) {
        if (grows(old, old->results.data[i]))
            continue;
        for (size_t g = 0; g < regions->n; g++)
            regions->graphs[g]->results.data[n] =
                regions->graphs[g]->results.data[i];
        what->place[i] = (uint32_t)++n;
    }
    for (size_t g = 0; g < regions->n; g++)
        regions->graphs[g]->results.n = n;
}

/* `node` has graphs of its own: those of `regions`. */
static tgi_ref settle_branches(tgi_lowering *s, tgi_lowered_region *what,
                               const tgi_node *node, const tgi_regions *regions)
{
    const size_t before = s->given->n;
    tgi_lowering_refs inputs = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < node->n_inputs; i++)
        if (!(ok = tgi_vec_push(&inputs, node->inputs[i])))
            tgi_error_memory();
    drop_grown(s, what, regions);
    const size_t first = regions->graphs[0]->results.n;
    ok = ok && tgi_channels_align_params(what, regions, false, node->n_inputs);
    for (size_t g = 0; ok && g < regions->n; g++)
        for (size_t i = 0; ok && i < what->channels[g].n; i++)
            ok = tgi_channel_add_inputs(s, what, regions->graphs[g],
                                        &what->channels[g].data[i], &inputs);
    tgi_node new = *node;
    new.inputs = inputs.data;
    new.n_inputs = (uint32_t)inputs.n;
    tgi_ref ref = ok ? tgi_graph_add(s->out, &new) : 0;
    if (ref &&
        !tgi_channels_bind_results(s, what, regions->n, ref, first, before))
        ref = 0;
    tgi_vec_deinit(&inputs);
    return ref;
}

static tgi_ref settle_call(tgi_lowering *s, tgi_lowered_region *what,
                           const tgi_node *node)
{
    tgi_attr_call attr = *(const tgi_attr_call *)node->attr;
    region_graphs r = {.s = s, .what = what};
    if (settle_region(attr.callee, &r, &attr.callee))
        return 0;
    tgi_node call = *node;
    call.attr = &attr;
    const tgi_regions regions = {1, &attr.callee};
    tgi_ref ref = settle_branches(s, what, &call, &regions);
    tgi_graph_release(attr.callee);
    return ref;
}

static tgi_ref settle_regions(tgi_lowering *s, tgi_lowered_region *what,
                              const tgi_node *node)
{
    region_graphs r = {.s = s, .what = what};
    tgi_attr_regions *attr =
        tgi_rebuild_regions(node, s->out, &r, settle_region);
    if (!attr)
        return 0;
    tgi_node new = *node;
    new.attr = attr;
    const tgi_regions regions = {(size_t)attr->n_graphs, attr->graphs};
    const tgi_ref ref = node->op == TGI_OP_LOOP
                            ? tgi_lower_loop(s, what, &new, attr)
                            : settle_branches(s, what, &new, &regions);
    tgi_rebuild_regions_free(attr);
    return ref;
}

/* -- All of them ----------------------------------------------------------- */

static tgi_ref settle_result(tgi_lowering *s, tgi_ref old, const tgi_node *node)
{
    const tgi_ref region = tgi_graph_node(s->in, old)->inputs[0];
    const tgi_node *of = tgi_graph_node(s->in, region);
    const tgi_lowered_region *what = settled_of(s, region);
    tgi_attr_index attr = {index_of(node)};
    if (what && !s->is_used[old])
        return TGI_REBUILD_DROPPED;
    if (what && attr.index == TGI_RESULT_STACK_BASE) {
        s->is_zero[old] = !what->base;
        return what->base ? what->base : tgi_lower_i64_constant(s->out, 0);
    }
    const int64_t n_carried =
        of->op == TGI_OP_LOOP ? ((const tgi_attr_regions *)of->attr)->n_carried
                              : 0;
    if (what && attr.index == TGI_RESULT_ITERATIONS)
        attr.index = n_carried + (int64_t)what->n_saved;
    else if (what && attr.index >= n_carried)
        attr.index = (int64_t)what->place[attr.index] - 1;
    tgi_node result = *node;
    result.attr = &attr;
    return tgi_graph_add(s->out, &result);
}

static tgi_ref visit(tgi_rebuild *rebuild, tgi_ref old, const tgi_node *node)
{
    tgi_lowering *s = rebuild->user;
    s->out = rebuild->out;
    tgi_lowered_region *what = settled_of(s, old);
    if (node->op == TGI_OP_RESULT)
        return settle_result(s, old, node);
    if (what)
        return node->op == TGI_OP_CALL ? settle_call(s, what, node)
                                       : settle_regions(s, what, node);
    /* A stack that begins here begins with the first trip. */
    if (node->op == TGI_OP_ADD &&
        s->is_zero[tgi_graph_node(s->in, old)->inputs[0]])
        return node->inputs[1];
    return tgi_graph_add(s->out, node);
}

static bool settler_init(tgi_lowering *s, const bool *is_zero)
{
    const size_t n = (size_t)s->in->n_nodes + 1;
    s->number = tgi_alloc_zero(n * sizeof(*s->number));
    s->result = tgi_alloc_zero(n * sizeof(*s->result));
    s->is_used = tgi_alloc_zero(n);
    s->is_zero = tgi_alloc_zero(n);
    if (!s->number || !s->result || !s->is_used || !s->is_zero) {
        tgi_error_memory();
        return false;
    }
    for (size_t i = 0; is_zero && i < s->in->params.n; i++)
        s->is_zero[s->in->params.data[i].node] = is_zero[i];
    find_used(s);
    return find_picked(s);
}

static void settler_deinit(tgi_lowering *s)
{
    for (size_t i = 0; i < s->regions.n; i++) {
        tgi_lowered_region *what = &s->regions.data[i];
        const tgi_node *node = tgi_graph_node(s->in, what->region);
        for (size_t g = 0; g < tgi_node_regions(node).n; g++)
            tgi_channels_deinit(&what->channels[g]);
        tgi_free(what->channels);
        tgi_free(what->picks);
        tgi_free(what->place);
    }
    tgi_vec_deinit(&s->regions);
    tgi_free(s->number);
    tgi_free(s->result);
    tgi_free(s->is_used);
    tgi_free(s->is_zero);
}

/* Results that are not wanted, and those that are channels, are 0. */
static tg_status settle(const tgi_graph *in, const bool *wanted,
                        const bool *is_zero, tgi_channels *given,
                        tgi_graph **out_graph)
{
    tgi_lowering s = {.in = in, .wanted = wanted, .given = given};
    tgi_rebuild rebuild = {.in = in, .visit = visit, .user = &s};
    tg_status status = TG_OK;
    if (!settler_init(&s, is_zero))
        status = TG_ERROR_OUT_OF_MEMORY;
    else
        status = tgi_rebuild_run(&rebuild);
    settler_deinit(&s);
    *out_graph = rebuild.out;
    return status;
}

tg_status tgi_graph_lower_saved(const tgi_graph *in, tgi_graph **out_graph)
{
    if (is_unsettled(in)) {
        tgi_channels none = {0};
        tg_status status = settle(in, NULL, NULL, &none, out_graph);
        tgi_channels_deinit(&none);
        return status;
    }
    *out_graph = tgi_graph_retain(in);
    return TG_OK;
}

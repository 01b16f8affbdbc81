/* SPDX-License-Identifier: MIT */
/*
 * rebuild.c - graph rewriting. The new graph starts with all parameters, used
 * or not, so that their numbers, on which callers depend, are preserved. The
 * other nodes follow in the old order. Hash-consing merges nodes that have
 * become equal (common subexpression elimination).
 */
#include "ir/rebuild.h"

#include <string.h>

#include "base/error.h"

static bool copy_params(tgi_rebuild *rebuild)
{
    const tgi_graph *in = rebuild->in;
    for (size_t i = 0; i < in->params.n; i++) {
        tgi_ref old = in->params.data[i].node;
        const tgi_node *node = tgi_graph_node(in, old);
        tgi_ref ref =
            tgi_graph_add_param(rebuild->out, (tgi_op)node->op,
                                (tg_dtype)node->dtype, node->shape, 0);
        if (!ref)
            return false;
        tgi_graph_set_name(rebuild->out, ref, node->name);
        rebuild->map[old] = ref;
    }
    return true;
}

static bool copy_checks(tgi_rebuild *rebuild)
{
    const tgi_graph *in = rebuild->in;
    for (size_t i = 0; i < in->checks.n; i++) {
        const tgi_check *check = &in->checks.data[i];
        if (rebuild->keep_check && !rebuild->keep_check(rebuild, check))
            continue;
        if (!tgi_graph_add_check(rebuild->out, *check))
            return false;
    }
    return true;
}

tgi_attr_regions *tgi_rebuild_regions(
    const tgi_node *node, tgi_graph *out, void *user,
    tg_status region(const tgi_graph *in, void *user, tgi_graph **out_graph))
{
    tgi_attr_regions *attr = tgi_alloc(node->attr_bytes);
    if (!attr) {
        tgi_error_memory();
        return NULL;
    }
    memcpy(attr, node->attr, node->attr_bytes);
    const int64_t n = attr->n_graphs;
    const tgi_attr_regions *old = node->attr;
    bool ok = true;
    attr->n_graphs = 0;
    for (int64_t i = 0; ok && i < n; i++) {
        ok = region(old->graphs[i], user, &attr->graphs[i]) == TG_OK;
        attr->n_graphs += ok;
        for (size_t k = 0; ok && k < attr->graphs[i]->checks.n; k++)
            ok = tgi_graph_add_check(out, attr->graphs[i]->checks.data[k]);
    }
    if (ok)
        return attr;
    tgi_rebuild_regions_free(attr);
    return NULL;
}

void tgi_rebuild_regions_free(tgi_attr_regions *attr)
{
    for (int64_t i = 0; attr && i < attr->n_graphs; i++)
        tgi_graph_release(attr->graphs[i]);
    tgi_free(attr);
}

static tg_status copy_region(const tgi_graph *in, void *user,
                             tgi_graph **out_graph)
{
    return ((tgi_rebuild *)user)->region(in, out_graph);
}

/* `inputs` is scratch space for the inputs of any node. */
static bool copy_node(tgi_rebuild *rebuild, tgi_ref old, tgi_ref *inputs)
{
    tgi_node node = *tgi_graph_node(rebuild->in, old);
    for (uint32_t i = 0; i < node.n_inputs; i++)
        inputs[i] = rebuild->map[node.inputs[i]];
    node.inputs = inputs;
    /* Only builders use weak types. */
    node.flags &= (uint16_t)~TGI_NODE_WEAK;

    tgi_attr_regions *regions = NULL;
    if (tgi_node_has_regions(&node) && rebuild->region) {
        regions = tgi_rebuild_regions(&node, rebuild->out, rebuild,
                                      copy_region);
        if (!regions)
            return false;
        node.attr = regions;
    }
    tgi_ref ref = rebuild->visit ? rebuild->visit(rebuild, old, &node)
                                 : tgi_graph_add(rebuild->out, &node);
    tgi_rebuild_regions_free(regions);
    if (ref == TGI_REBUILD_DROPPED)
        return true;
    rebuild->map[old] = ref;
    if (ref && node.name)
        tgi_graph_set_name(rebuild->out, ref, node.name);
    return ref != 0;
}

static bool copy_nodes(tgi_rebuild *rebuild)
{
    const tgi_graph *in = rebuild->in;
    uint32_t max_inputs = 0;
    for (tgi_ref old = 1; old <= in->n_nodes; old++) {
        uint32_t n = tgi_graph_node(in, old)->n_inputs;
        max_inputs = n > max_inputs ? n : max_inputs;
    }
    tgi_ref *inputs = tgi_alloc(((size_t)max_inputs + 1) * sizeof *inputs);
    if (!inputs) {
        tgi_error_memory();
        return false;
    }
    bool ok = true;
    for (tgi_ref old = 1; ok && old <= in->n_nodes; old++)
        if (!rebuild->map[old] && (!rebuild->keep || rebuild->keep[old]))
            ok = copy_node(rebuild, old, inputs);
    tgi_free(inputs);
    return ok;
}

static bool copy_results(tgi_rebuild *rebuild)
{
    const tgi_graph *in = rebuild->in;
    for (size_t i = 0; i < in->results.n; i++)
        if (!tgi_graph_add_result(rebuild->out,
                                  rebuild->map[in->results.data[i]]))
            return false;
    return true;
}

tg_status tgi_rebuild_run(tgi_rebuild *rebuild)
{
    const tgi_graph *in = rebuild->in;
    rebuild->out = tgi_graph_create(in->name, in->dims);
    if (!rebuild->out)
        return TG_ERROR_OUT_OF_MEMORY;
    rebuild->map = tgi_alloc_zero(((size_t)in->n_nodes + 1) * sizeof(tgi_ref));
    if (!rebuild->map)
        tgi_error_memory();
    bool ok = rebuild->map && copy_params(rebuild) && copy_checks(rebuild) &&
              copy_nodes(rebuild) && copy_results(rebuild);
    tgi_free(rebuild->map);
    rebuild->map = NULL;
    if (ok)
        return TG_OK;
    tgi_graph_release(rebuild->out);
    rebuild->out = NULL;
    /* The failing function has recorded the error. */
    tg_status status = tg_error_last()->status;
    return status ? status : TG_ERROR_INTERNAL;
}

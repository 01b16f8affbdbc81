/* SPDX-License-Identifier: MIT */
/*
 * callee_import.c - clones nodes of a callee into its caller; see
 * callee_import.h.
 */
#include "pass/callee_import.h"

#include <string.h>

#include "base/error.h"
#include "ir/rebuild.h"

void tgi_import_deinit(tgi_import *t)
{
    tgi_free(t->symbols);
    tgi_free(t->extents);
    tgi_free(t->refs);
    tgi_free(t->inputs);
}

/* The largest number of inputs of a node, at least 1. */
static size_t count_max_inputs(const tgi_graph *graph)
{
    size_t n_max = 1;
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++) {
        size_t n = tgi_graph_node(graph, ref)->n_inputs;
        n_max = n > n_max ? n : n_max;
    }
    return n_max;
}

bool tgi_import_init(tgi_import *t, const tgi_graph *callee, tgi_dims *dims)
{
    *t = (tgi_import){
        .callee = callee,
        .dims = dims,
        .symbols = tgi_alloc((tgi_dims_n_symbols(callee->dims) + 1) *
                             sizeof *t->symbols),
        .extents = tgi_alloc((tgi_dims_n_values(callee->dims) + 1) *
                             sizeof *t->extents),
        .refs = tgi_alloc_zero(((size_t)callee->n_nodes + 1) * sizeof *t->refs),
        .inputs = tgi_alloc(count_max_inputs(callee) * sizeof *t->inputs),
    };
    if (t->symbols && t->extents && t->refs && t->inputs)
        return true;
    tgi_import_deinit(t);
    tgi_error_memory();
    return false;
}

tg_status tgi_import_extents(const tgi_import *t, const tgi_graph *caller,
                             const tgi_node *call)
{
    if (t->callee->dims == t->dims) {
        for (size_t i = 0; i < tgi_dims_n_values(t->dims); i++)
            t->extents[i] = TGI_DIM_NONE + 1 + (tgi_dim)i;
        return TG_OK;
    }
    size_t n = tgi_dims_n_symbols(t->callee->dims);
    for (size_t k = 0; k < n; k++) {
        tgi_symbol source = tgi_dims_symbol(t->callee->dims, k);
        tgi_ref input = call->inputs[source.param];
        t->symbols[k] = tgi_graph_shape(caller, input)->dims[source.axis];
    }
    return tgi_dims_translate(t->dims, t->callee->dims, t->symbols, t->extents);
}

static void import_dims(const tgi_import *t, tgi_dim *dims, int n)
{
    for (int i = 0; i < n; i++)
        dims[i] = tgi_dim_value(dims[i], t->extents);
}

tgi_shape_ref tgi_import_shape(const tgi_import *t, tgi_shape_ref ref)
{
    const tgi_shape *shape = tgi_shape_of(t->callee->dims, ref);
    tgi_dim dims[TG_MAX_RANK];
    memcpy(dims, shape->dims, (size_t)shape->rank * sizeof *dims);
    import_dims(t, dims, shape->rank);
    return tgi_shape_intern(t->dims, shape->rank, dims);
}

tgi_check tgi_import_check(const tgi_import *t, tgi_check check)
{
    import_dims(t, &check.a, 1);
    import_dims(t, &check.b, 1);
    for (int i = 0; i < 2; i++)
        if (check.shapes[i])
            check.shapes[i] = tgi_import_shape(t, check.shapes[i]);
    return check;
}

/* Storage for an imported attribute. */
typedef union any_attr {
    tgi_attr_index index;
    tgi_attr_slice slice;
    tgi_attr_pad pad;
    tgi_attr_window window;
} any_attr;

/* Imports shape and attribute of a node, except graphs and types inside the
   attribute. */
static bool import_node_attr(const tgi_import *t, tgi_node *node,
                             any_attr *attr)
{
    node->flags &= (uint16_t)~TGI_NODE_WEAK;
    if (node->shape && !(node->shape = tgi_import_shape(t, node->shape)))
        return false;
    switch (node->op) {
    case TGI_OP_EXTENT:
        attr->index = *(const tgi_attr_index *)node->attr;
        import_dims(t, &attr->index.index, 1);
        node->attr = attr;
        break;
    case TGI_OP_SLICE:
        attr->slice = *(const tgi_attr_slice *)node->attr;
        import_dims(t, attr->slice.start, TG_MAX_RANK);
        node->attr = attr;
        break;
    case TGI_OP_WINDOW:
        attr->window = *(const tgi_attr_window *)node->attr;
        import_dims(t, attr->window.size, TG_MAX_RANK);
        node->attr = attr;
        break;
    case TGI_OP_PAD:
        attr->pad = *(const tgi_attr_pad *)node->attr;
        import_dims(t, attr->pad.low, TG_MAX_RANK);
        import_dims(t, attr->pad.high, TG_MAX_RANK);
        node->attr = attr;
        break;
    default:
        break;
    }
    return true;
}

/* False when out of memory (recorded). */
static bool import_site(const tgi_import *t, tgi_graph *out, tgi_node *node)
{
    if (!node->site || !t->call)
        return true;
    node->site =
        tgi_graph_site_through(out, node->site, t->callee->name, t->call);
    return node->site;
}

static tg_status import_region(const tgi_graph *in, void *user,
                               tgi_graph **out_graph);

/* Imports the graphs of a branch or loop; NULL on failure. */
static tgi_attr_regions *import_regions(const tgi_import *t,
                                        const tgi_node *node, tgi_graph *out)
{
    tgi_import import = *t;
    return tgi_rebuild_regions(node, out, &import, import_region);
}

/* Imports the output types of a host call; NULL on failure. Freed by
   tgi_free. */
static tgi_attr_host *import_outputs(const tgi_import *t, const tgi_node *node)
{
    tgi_attr_host *attr = tgi_alloc(node->attr_bytes);
    if (!attr) {
        tgi_error_memory();
        return NULL;
    }
    memcpy(attr, node->attr, node->attr_bytes);
    for (int64_t i = 0; i < attr->n_outputs; i++) {
        attr->outputs[i].shape = tgi_import_shape(t, attr->outputs[i].shape);
        if (attr->outputs[i].shape)
            continue;
        tgi_free(attr);
        return NULL;
    }
    return attr;
}

tgi_ref tgi_import_node(const tgi_import *t, tgi_graph *out, tgi_node *node,
                        void *user,
                        tgi_ref add_to(tgi_graph *out, const tgi_node *node,
                                       void *user))
{
    any_attr attr;
    tgi_attr_call call;
    tgi_graph *clone = NULL;
    tgi_attr_regions *regions = NULL;
    tgi_attr_host *outputs = NULL;
    if (!import_node_attr(t, node, &attr) || !import_site(t, out, node))
        return 0;
    /* A nested callee that shares the callee's table of extents must be
       imported, too. */
    if (node->op == TGI_OP_CALL) {
        call = *(const tgi_attr_call *)node->attr;
        if (call.callee->dims == t->callee->dims &&
            call.callee->dims != t->dims) {
            /* Inlining it will extend the sites of its nodes. */
            tgi_import copy = *t;
            copy.call = NULL;
            if (tgi_import_graph(&copy, call.callee, &clone))
                return 0;
            call.callee = clone;
            node->attr = &call;
        }
    }
    if (node->op == TGI_OP_HOST) {
        outputs = import_outputs(t, node);
        if (!outputs)
            return 0;
        node->attr = outputs;
    }
    if (tgi_node_has_regions(node)) {
        regions = import_regions(t, node, out);
        if (!regions)
            return 0;
        node->attr = regions;
    }
    tgi_ref ref = add_to(out, node, user);
    tgi_rebuild_regions_free(regions);
    tgi_free(outputs);
    tgi_graph_release(clone);
    return ref;
}

static tgi_ref add_to_graph(tgi_graph *out, const tgi_node *node, void *user)
{
    (void)user;
    return tgi_graph_add(out, node);
}

static bool clone_params(const tgi_import *t, const tgi_graph *in,
                         tgi_graph *out, tgi_ref *refs)
{
    for (size_t i = 0; i < in->params.n; i++) {
        const tgi_ref old = in->params.data[i].node;
        const tgi_node *node = tgi_graph_node(in, old);
        const tgi_shape_ref shape = tgi_import_shape(t, node->shape);
        tgi_ref ref = shape ? tgi_graph_add_param(out, (tgi_op)node->op,
                                                  (tg_dtype)node->dtype, shape,
                                                  0)
                            : 0;
        if (!ref)
            return false;
        tgi_graph_set_name(out, ref, node->name);
        refs[old] = ref;
    }
    return true;
}

/* `inputs` has space for those of any node. */
static bool clone_nodes(const tgi_import *t, const tgi_graph *in,
                        tgi_graph *out, tgi_ref *refs, tgi_ref *inputs)
{
    if (!clone_params(t, in, out, refs))
        return false;
    for (tgi_ref old = 1; old <= in->n_nodes; old++) {
        if (refs[old])
            continue;
        tgi_node node = *tgi_graph_node(in, old);
        for (uint32_t i = 0; i < node.n_inputs; i++)
            inputs[i] = refs[node.inputs[i]];
        node.inputs = inputs;
        refs[old] = tgi_import_node(t, out, &node, NULL, add_to_graph);
        if (!refs[old])
            return false;
    }
    for (size_t i = 0; i < in->checks.n; i++)
        if (!tgi_graph_add_check(out, tgi_import_check(t, in->checks.data[i])))
            return false;
    for (size_t i = 0; i < in->results.n; i++)
        if (!tgi_graph_add_result(out, refs[in->results.data[i]]))
            return false;
    return true;
}

tg_status tgi_import_graph(const tgi_import *t, const tgi_graph *in,
                           tgi_graph **out_graph)
{
    tgi_graph *out = tgi_graph_create(in->name, t->dims);
    tgi_ref *refs = tgi_alloc_zero(((size_t)in->n_nodes + 1) * sizeof *refs);
    tgi_ref *inputs = tgi_alloc(count_max_inputs(in) * sizeof *inputs);
    bool ok = false;
    if (out && refs && inputs)
        ok = clone_nodes(t, in, out, refs, inputs);
    else
        tgi_error_memory();
    tgi_free(refs);
    tgi_free(inputs);
    if (!ok) {
        tgi_graph_release(out);
        out = NULL;
    }
    *out_graph = out;
    return ok ? TG_OK : tg_error_last()->status;
}

static tg_status import_region(const tgi_graph *in, void *user,
                               tgi_graph **out_graph)
{
    return tgi_import_graph(user, in, out_graph);
}

/* SPDX-License-Identifier: MIT */
/*
 * batch_sequence.c - one element after the other: a loop over the batch that
 * carries the results, and sets those of one element in each iteration.
 */
#include "batch.h"
#include "tgjit/ops.h"

typedef struct sequence {
    const tgi_batched *values;
    size_t n_values, n_results;
    tg_site site;
    tgi_batch_emit *emit;
    void *user;
} sequence;

static tgi_builder builder_of(tg_trace *t, tg_site site)
{
    return (tgi_builder){.graph = t->graph,
                         .site = site,
                         .op_name = "vmap",
                         .no_contraction = true};
}

/* The element `at` of x, without its first axis. */
static tgi_ref build_element(tgi_builder *b, tgi_ref x, tgi_ref at)
{
    const tgi_attr_index attr = {0};
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    const int dtype = tgi_graph_node(b->graph, x)->dtype;
    tgi_dim dims[TG_MAX_RANK] = {1};
    for (int i = 1; i < shape->rank; i++)
        dims[i] = shape->dims[i];
    const tgi_ref slice = tgi_build_node(
        b, TGI_OP_DYNAMIC_SLICE, dtype,
        tgi_shape_intern(b->graph->dims, shape->rank, dims),
        (tgi_ref[]){x, at}, 2, &attr, sizeof(attr));
    return slice ? tgi_build_node(b, TGI_OP_RESHAPE, dtype,
                                  tgi_shape_intern(b->graph->dims,
                                                   shape->rank - 1, dims + 1),
                                  &slice, 1, NULL, 0)
                 : 0;
}

/* `all` with `element` at position `at`. */
static tgi_ref set_element(tgi_builder *b, tgi_ref all, tgi_ref element,
                           tgi_ref at)
{
    const tgi_attr_index attr = {0};
    const tgi_shape *shape = tgi_graph_shape(b->graph, all);
    const int dtype = tgi_graph_node(b->graph, all)->dtype;
    tgi_dim dims[TG_MAX_RANK] = {1};
    for (int i = 1; i < shape->rank; i++)
        dims[i] = shape->dims[i];
    const tgi_ref update = tgi_build_node(
        b, TGI_OP_RESHAPE, dtype,
        tgi_shape_intern(b->graph->dims, shape->rank, dims), &element, 1, NULL,
        0);
    return update ? tgi_build_node(b, TGI_OP_DYNAMIC_UPDATE, dtype,
                                   tgi_graph_node(b->graph, all)->shape,
                                   (tgi_ref[]){all, update, at}, 3, &attr,
                                   sizeof(attr))
                  : 0;
}

/* Receives the iteration, the results so far, and the values. */
static bool build_iteration(const sequence *w, tg_trace *t, const tg_value *in,
                            tgi_ref *values, tgi_ref *results)
{
    tgi_builder b = builder_of(t, w->site);
    const tg_value *given = in + 1 + w->n_results;
    for (size_t i = 0; i < w->n_values; i++) {
        values[i] = w->values[i].is_batched
                        ? build_element(&b, given[i].node, in[0].node)
                        : given[i].node;
        if (!values[i])
            return false;
    }
    bool ok = w->emit(t, values, results, w->user);
    for (size_t i = 0; ok && i < w->n_results; i++) {
        const tgi_ref all =
            set_element(&b, in[1 + i].node, results[i], in[0].node);
        ok = all && tgi_vec_push(&t->results, all);
        if (all && !ok)
            tgi_error_memory();
    }
    return ok;
}

static void trace_iteration(tg_trace *t, const tg_value *in, void *user)
{
    const sequence *w = user;
    tgi_ref *values = tgi_alloc((w->n_values + 1) * sizeof(*values));
    tgi_ref *results = tgi_alloc((w->n_results + 1) * sizeof(*results));
    if (!values || !results)
        tgi_error_memory();
    if (!values || !results || !build_iteration(w, t, in, values, results))
        tgi_trace_record_error(t);
    tgi_free(values);
    tgi_free(results);
}

/* Uninitialised results for the whole batch. */
static bool add_results(tgi_control *c, tgi_builder *b, tgi_dim extent,
                        const tgi_graph *graph, const tgi_ref *like, size_t n)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        const tgi_shape *shape = tgi_graph_shape(graph, like[i]);
        tgi_dim dims[TG_MAX_RANK] = {extent};
        if (shape->rank == TG_MAX_RANK)
            return tgi_build_fail(b, TG_ERROR_OVERFLOW, NULL, 0,
                                  "a value of %d axes has no room for the "
                                  "batch",
                                  TG_MAX_RANK);
        for (int k = 0; k < shape->rank; k++)
            dims[k + 1] = shape->dims[k];
        ok = tgi_control_add_input(
            c, tgi_build_unset(b,
                               (tg_dtype)tgi_graph_node(graph, like[i])->dtype,
                               shape->rank + 1, dims));
    }
    return ok;
}

bool tgi_batch_sequence(tg_trace *t, tgi_dim extent, const tgi_batched *values,
                        size_t n_values, const tgi_graph *graph,
                        const tgi_ref *like, size_t n_results, tg_site site,
                        tgi_batch_emit *emit, void *user, tgi_ref *out_results)
{
    sequence w = {values, n_values, n_results, site, emit, user};
    tgi_builder b = builder_of(t, site);
    tg_value *out = tgi_alloc_zero((n_results + 1) * sizeof(*out));
    tgi_control c;
    bool ok = tgi_control_begin(&c, "vmap", site) && out &&
              tgi_control_add_input(
                  &c, tgi_dim_is_known(extent)
                          ? tgi_build_number(
                                &b, TG_I64, TG_I64,
                                (tgi_number){TGI_NUMBER_INT, {.i = extent}})
                          : tgi_build_extent(&b, extent)) &&
              add_results(&c, &b, extent, graph, like, n_results);
    if (!out)
        tgi_error_memory();
    for (size_t i = 0; ok && i < n_values; i++)
        ok = tgi_control_add_input(&c, values[i].ref);
    if (ok) {
        tg_trace *body =
            tgi_control_open(&c, "body", trace_iteration, &w, 0);
        ok = body && tgi_control_close(&c, body);
    }
    if (ok) {
        tgi_control_finish(&c, TGI_OP_LOOP, n_results, 0, out, n_results);
        ok = t->status == TG_OK;
    }
    for (size_t i = 0; ok && i < n_results; i++)
        out_results[i] = out[i].node;
    tgi_control_end(&c);
    tgi_free(out);
    if (!ok)
        tgi_trace_record_error(t);
    return ok;
}

/* SPDX-License-Identifier: MIT */
/*
 * vmap.c - tg_vmap: traces the body for one element as a region of the current
 * trace, of which only the graph is kept, and builds that graph again with the
 * batch as the first axis of all values that depend on the element.
 */
#include "tgjit/vmap.h"

#include "batch.h"
#include "front/ops/ops_control.h"

/* A vmap being built. */
typedef struct mapping {
    tgi_control c;
    const int *in_axes, *out_axes;
    size_t n_args, n_results;
    tgi_dim extent;       /* of the batch; TGI_DIM_NONE: not known yet */
    tgi_batched *values;  /* of the parameters of the body */
} mapping;

/* -- Arguments ------------------------------------------------------------- */

/* x with `axis` as its first axis. */
static tgi_ref axis_first(tgi_builder *b, tgi_ref x, int axis)
{
    int perm[TG_MAX_RANK] = {axis};
    const int rank = tgi_graph_shape(b->graph, x)->rank;
    for (int i = 1; i < rank; i++)
        perm[i] = i <= axis ? i - 1 : i;
    return axis ? tgi_build_transpose(b, x, rank, perm) : x;
}

/* Compares the extent of a batched argument with that of the others. */
static tgi_ref match_extent(mapping *w, tgi_ref x, size_t i)
{
    tgi_builder *b = &w->c.o.b;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    const tgi_dim extent = shape->dims[0];
    if (w->extent == TGI_DIM_NONE)
        w->extent = extent;
    if (w->extent == extent)
        return x;
    if (!tgi_build_check(b, TGI_CHECK_EQUAL, extent, w->extent,
                         "extents of the batch"))
        return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                              "argument %zu has another extent than the batch",
                              i);
    tgi_dim dims[TG_MAX_RANK] = {w->extent};
    for (int k = 1; k < shape->rank; k++)
        dims[k] = shape->dims[k];
    return tgi_build_node(b, TGI_OP_RESHAPE, tgi_graph_node(b->graph, x)->dtype,
                          tgi_shape_intern(b->graph->dims, shape->rank, dims),
                          &x, 1, NULL, 0);
}

/* Adds the parameter of an argument: for a batched one, a placeholder of the
   type of an element. */
static bool add_argument(mapping *w, const tg_operand *args, size_t i)
{
    tgi_builder *b = &w->c.o.b;
    tgi_ref x = tgi_operation_operand(&w->c.o, args[i]);
    const int user_axis = w->in_axes ? w->in_axes[i] : 0;
    w->values[i] = (tgi_batched){x, user_axis != TG_UNBATCHED};
    if (!x || !w->values[i].is_batched)
        return tgi_control_add_input(&w->c, x);
    const int axis = tgi_build_axis(b, x, user_axis);
    x = axis < 0 ? 0 : axis_first(b, x, axis);
    x = x ? match_extent(w, x, i) : 0;
    w->values[i].ref = x;
    if (!x)
        return tgi_control_add_input(&w->c, 0);
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    return tgi_control_add_input(
        &w->c, tgi_build_unset(b, (tg_dtype)tgi_graph_node(b->graph, x)->dtype,
                               shape->rank - 1, shape->dims + 1));
}

/* -- The body -------------------------------------------------------------- */

static bool check_effects(mapping *w, const tgi_graph *body)
{
    const tgi_node *node = tgi_batch_find_effect(body);
    if (!node)
        return true;
    const tg_site site = tgi_node_site(node);
    const char *name = node->op == TGI_OP_FAIL
                           ? "assert"
                           : tgi_op_table[node->op].name;
    return tgi_control_fail(&w->c, TG_ERROR_STATE,
                            "%s at %s:%d has an effect, which cannot be "
                            "batched",
                            name, site.file ? site.file : "?", site.line);
}

/* The values of all parameters: arguments, then captures. */
static bool add_captures(mapping *w, const tgi_graph *body)
{
    tgi_batched *values =
        tgi_alloc((body->params.n + 1) * sizeof(*values));
    if (!values) {
        tgi_error_memory();
        tgi_trace_record_error(w->c.o.t);
        return false;
    }
    for (size_t i = 0; i < body->params.n; i++)
        values[i] = i < w->n_args
                        ? w->values[i]
                        : (tgi_batched){w->c.inputs.data[i], false};
    tgi_free(w->values);
    w->values = values;
    return true;
}

/* Builds the body for one element, in the loop of a sequence. */
static bool emit_body(tg_trace *t, const tgi_ref *in, tgi_ref *out, void *user)
{
    const mapping *w = user;
    const tgi_graph *body = w->c.graphs.data[0];
    const size_t n = body->params.n, n_results = body->results.n;
    tgi_batched *params = tgi_alloc((n + 1) * sizeof(*params));
    tgi_batched *results = tgi_alloc((n_results + 1) * sizeof(*results));
    bool ok = params && results;
    if (!ok)
        tgi_error_memory();
    for (size_t i = 0; ok && i < n; i++)
        params[i] = (tgi_batched){in[i], false};
    ok = ok && tgi_batch_graph(t, w->extent, 0, body, params, w->c.o.b.site,
                               results);
    for (size_t i = 0; ok && i < n_results; i++)
        out[i] = results[i].ref;
    tgi_free(params);
    tgi_free(results);
    return ok;
}

/* Builds the body; the results that depend on the element are batched. */
static bool build_body(mapping *w, const tgi_graph *body, tgi_batched *results)
{
    tg_trace *t = w->c.o.t;
    const size_t n = body->results.n;
    bool *flags = tgi_alloc_zero(body->params.n + 1);
    bool *inferred = tgi_alloc_zero(n + 1);
    tgi_ref *refs = tgi_alloc_zero((n + 1) * sizeof(*refs));
    tgi_batch_verdict verdict = TGI_BATCH_FAILED;
    if (!flags || !inferred || !refs) {
        tgi_error_memory();
    } else {
        for (size_t i = 0; i < body->params.n; i++)
            flags[i] = w->values[i].is_batched;
        verdict = tgi_batch_infer(body, flags, false, inferred);
    }
    bool ok = verdict != TGI_BATCH_FAILED;
    if (!ok)
        tgi_trace_record_error(t);
    if (verdict == TGI_BATCH_OK)
        ok = tgi_batch_graph(t, w->extent, 0, body, w->values,
                             w->c.o.b.site, results);
    if (verdict == TGI_BATCH_SEQUENCE) {
        ok = tgi_batch_sequence(t, w->extent, w->values, body->params.n, body,
                                body->results.data, n, w->c.o.b.site,
                                emit_body, w, refs);
        for (size_t i = 0; ok && i < n; i++)
            results[i] = tgi_batch_of(refs[i]);
    }
    tgi_free(flags);
    tgi_free(inferred);
    tgi_free(refs);
    return ok;
}

/* -- Results --------------------------------------------------------------- */

/* A result with the batch at its axis. */
static tgi_ref place_result(mapping *w, tgi_batched result, size_t i)
{
    tgi_builder *b = &w->c.o.b;
    const int user_axis = w->out_axes ? w->out_axes[i] : 0;
    tgi_batch s = {.t = w->c.o.t, .b = *b, .extent = w->extent};
    if (user_axis == TG_UNBATCHED)
        return result.is_batched
                   ? tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, &result.ref,
                                    1,
                                    "result %zu depends on the element; give "
                                    "it an axis",
                                    i)
                   : result.ref;
    const tgi_ref x = tgi_batch_repeat(&s, result);
    const int axis = x ? tgi_build_axis(b, x, user_axis) : -1;
    int perm[TG_MAX_RANK] = {0};
    if (axis <= 0)
        return axis < 0 ? 0 : x;
    const int rank = tgi_graph_shape(b->graph, x)->rank;
    for (int k = 0; k < rank; k++)
        perm[k] = k == axis ? 0 : k < axis ? k + 1 : k;
    return tgi_build_transpose(b, x, rank, perm);
}

static bool finish(mapping *w, const tgi_batched *results,
                   tg_value *out_results)
{
    for (size_t i = 0; i < w->n_results; i++) {
        out_results[i] =
            tgi_operation_end(&w->c.o, place_result(w, results[i], i));
        if (!tg_is_valid(out_results[i]))
            return false;
    }
    return true;
}

/* -- The operation --------------------------------------------------------- */

static bool trace_body(mapping *w, tg_callback *body, void *user)
{
    tg_trace *t = tgi_control_open(&w->c, "body", body, user, 0);
    if (!t || !tgi_control_close(&w->c, t))
        return false;
    const tgi_graph *graph = w->c.graphs.data[0];
    if (w->n_results > graph->results.n)
        return tgi_control_fail(&w->c, TG_ERROR_INVALID_ARGUMENT,
                                "the body returns %zu value%s, but %zu %s "
                                "requested",
                                graph->results.n, TGI_PLURAL(graph->results.n),
                                w->n_results, TGI_WERE(w->n_results));
    if (!check_effects(w, graph) || !add_captures(w, graph))
        return false;
    if (tgi_build_lift_number_checks(&w->c.o.b, graph, w->c.inputs.data))
        return true;
    tgi_trace_record_error(w->c.o.t);
    return false;
}

static bool add_arguments(mapping *w, const tg_operand *args)
{
    bool ok = true;
    for (size_t i = 0; ok && i < w->n_args; i++)
        ok = add_argument(w, args, i);
    return ok && (w->extent != TGI_DIM_NONE ||
                  tgi_control_fail(&w->c, TG_ERROR_INVALID_ARGUMENT,
                                   "no argument is batched"));
}

void tg_vmap_at(tg_callback *body, void *user, const int *in_axes,
                const int *out_axes, const tg_operand *args, size_t n_args,
                tg_value *out_results, size_t n_results, tg_site site)
{
    mapping w = {.in_axes = in_axes,
                 .out_axes = out_axes,
                 .n_args = n_args,
                 .n_results = n_results,
                 .extent = TGI_DIM_NONE};
    tgi_control_invalidate_results(out_results, n_results);
    if (!tgi_control_begin(&w.c, "vmap", site))
        return;
    w.c.has_arguments = true;
    /* Of results and arguments: views only. */
    w.c.o.b.no_contraction = true;
    w.values = tgi_alloc_zero((n_args + 1) * sizeof(*w.values));
    tgi_batched *results = NULL;
    if (!w.values) {
        tgi_error_memory();
        tgi_trace_record_error(w.c.o.t);
    }
    bool ok = w.values &&
              tgi_control_check_pointers(&w.c, &body, 1, args, n_args,
                                         out_results, n_results) &&
              add_arguments(&w, args) && trace_body(&w, body, user);
    if (ok) {
        const tgi_graph *graph = w.c.graphs.data[0];
        results = tgi_alloc_zero((graph->results.n + 1) * sizeof(*results));
        if (!results) {
            tgi_error_memory();
            tgi_trace_record_error(w.c.o.t);
        }
        ok = results && build_body(&w, graph, results) &&
             finish(&w, results, out_results);
    }
    if (!ok)
        tgi_control_invalidate_results(out_results, n_results);
    tgi_control_end(&w.c);
    tgi_free(w.values);
    tgi_free(results);
}

/* SPDX-License-Identifier: MIT */
/*
 * ops_scan.c - loops over sequences. A scan is a loop whose body takes the next
 * slice of each sequence, and whose additional results are saved for every
 * iteration.
 */
#include <string.h>

#include "front/ops/ops_control.h"
#include "tgjit/control.h"

typedef struct scan {
    tgi_control c;
    tg_callback *body;
    void *user;
    TGI_VEC(tgi_ref) sequences; /* in the enclosing graph */
    tgi_dim length;
    size_t n_values;
    size_t n_stacked; /* returned by the body */
} scan;

/* -- Sequences ------------------------------------------------------------- */

/* Adds a sequence. Lengths must be equal; unknown ones are checked at run
   time. */
static bool add_sequence(scan *s, tg_operand operand, size_t i)
{
    tgi_control *c = &s->c;
    tgi_ref ref = tgi_operation_operand(&c->o, operand);
    if (!ref)
        return false;
    const tgi_shape *shape = tgi_graph_shape(c->o.t->graph, ref);
    if (shape->rank == 0)
        return tgi_control_fail(c, TG_ERROR_SHAPE,
                                "sequence %zu is a scalar; it must have at "
                                "least one axis",
                                i);
    if (i == 0)
        s->length = shape->dims[0];
    else if (!tgi_build_check(&c->o.b, TGI_CHECK_EQUAL, s->length,
                              shape->dims[0], "lengths of sequences"))
        return tgi_control_fail(c, TG_ERROR_SHAPE,
                                "sequences 0 and %zu differ in length", i);
    if (tgi_vec_push(&s->sequences, ref))
        return true;
    tgi_error_memory();
    tgi_trace_record_error(c->o.t);
    return false;
}

/* -- The body -------------------------------------------------------------- */

static tgi_builder region_builder(const scan *s, tg_trace *t)
{
    tgi_builder b = s->c.o.b;
    b.graph = t->graph;
    return b;
}

/* x without its first axis, of extent 1. */
static tgi_ref drop_first_axis(tgi_builder *b, tgi_ref x)
{
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    tgi_dim dims[TG_MAX_RANK];
    memcpy(dims, shape->dims + 1, (size_t)(shape->rank - 1) * sizeof(*dims));
    return tgi_build_reshape(b, x, shape->rank - 1, dims);
}

/* Element `counter` of a sequence. Bypasses the builder of slices, whose check
   would fail for an empty sequence, of which no element is ever read. */
TGI_NOINLINE static tgi_ref build_element(tgi_builder *b, tgi_ref sequence,
                                          tgi_ref counter)
{
    const tgi_shape *shape = tgi_graph_shape(b->graph, sequence);
    tgi_dim dims[TG_MAX_RANK];
    memcpy(dims, shape->dims, (size_t)shape->rank * sizeof(*dims));
    dims[0] = 1;
    const tgi_ref in[] = {sequence, counter};
    const tgi_attr_index attr = {0};
    tgi_ref slice = tgi_build_node(
        b, TGI_OP_DYNAMIC_SLICE, tgi_graph_node(b->graph, sequence)->dtype,
        tgi_shape_intern(b->graph->dims, shape->rank, dims), in, 2, &attr,
        sizeof(attr));
    return slice ? drop_first_axis(b, slice) : 0;
}

/* The callback of the loop: passes slices to the user's body. */
static void call_body(tg_trace *t, const tg_value *in, void *user)
{
    scan *s = user;
    const size_t n = s->n_values + s->sequences.n;
    tg_value *values = tgi_alloc((n + 1) * sizeof(*values));
    if (!values) {
        tgi_error_memory();
        tgi_trace_record_error(t);
        return;
    }
    tgi_builder b = region_builder(s, t);
    memcpy(values, in + 1, s->n_values * sizeof(*values));
    bool ok = true;
    for (size_t i = 0; ok && i < s->sequences.n; i++) {
        tgi_ref sequence = tgi_trace_capture_value(
            t, tgi_trace_value(s->c.o.t, s->sequences.data[i]));
        tgi_ref element =
            sequence ? build_element(&b, sequence, in[0].node) : 0;
        values[s->n_values + i] = tgi_trace_value(t, element);
        ok = element != 0;
    }
    if (ok)
        s->body(t, values, s->user);
    else
        tgi_trace_record_error(t);
    tgi_free(values);
}

/* -- Stacked results ------------------------------------------------------- */

/* Results after the loop values are saved per iteration:
   lower_saved_values.h. */
static bool check_stacked_ranks(scan *s, const tg_trace *t)
{
    for (size_t i = s->n_values; i < t->results.n; i++)
        if (tgi_graph_shape(t->graph, t->results.data[i])->rank == TG_MAX_RANK)
            return tgi_control_fail(&s->c, TG_ERROR_SHAPE,
                                    "a stacked result has the maximum rank, "
                                    "and stacking adds an axis");
    return true;
}

/* An empty stack of result i of the body. */
static tg_value empty_stacked(scan *s, size_t i)
{
    const tgi_graph *body = s->c.graphs.data[0];
    const tgi_ref y = body->results.data[i];
    const tgi_shape *shape = tgi_graph_shape(body, y);
    tgi_dim dims[TG_MAX_RANK] = {0};
    memcpy(dims + 1, shape->dims, (size_t)shape->rank * sizeof(*dims));
    return tgi_operation_end(
        &s->c.o, tgi_build_unset(&s->c.o.b,
                                 (tg_dtype)tgi_graph_node(body, y)->dtype,
                                 shape->rank + 1, dims));
}

static bool trace_scan_body(scan *s, size_t n_stacked)
{
    tg_trace *t = tgi_control_open(&s->c, "body", call_body, s, 0);
    if (!t)
        return false;
    bool ok = tgi_control_check_body(&s->c, t->graph, &t->results, s->n_values,
                                     n_stacked);
    if (ok && t->results.n < s->n_values + n_stacked)
        ok = tgi_control_fail(&s->c, TG_ERROR_INVALID_ARGUMENT,
                              "the body stacks %zu value%s, but %zu %s "
                              "requested",
                              t->results.n - s->n_values,
                              TGI_PLURAL(t->results.n - s->n_values),
                              n_stacked, TGI_WERE(n_stacked));
    s->n_stacked = ok ? t->results.n - s->n_values : 0;
    ok = ok && check_stacked_ranks(s, t);
    return tgi_control_close(&s->c, t) && ok;
}

/* -- The operation --------------------------------------------------------- */

TGI_NOINLINE static bool add_scan_inputs(scan *s, const tg_operand *initial,
                                         const tg_operand *sequences,
                                         size_t n_sequences)
{
    tgi_control *c = &s->c;
    if (n_sequences == 0)
        return tgi_control_fail(c, TG_ERROR_INVALID_ARGUMENT,
                                "there are no sequences");
    for (size_t i = 0; i < n_sequences; i++)
        if (!add_sequence(s, sequences[i], i))
            return false;
    return tgi_control_add_input(c, tgi_build_extent(&c->o.b, s->length)) &&
           tgi_control_add_operands(c, initial, s->n_values);
}

/* Adds the loop and writes the loop values and stacked results. */
TGI_NOINLINE static void finish_scan(scan *s, tg_value *out_values,
                                     size_t n_values, tg_value *out_stacked,
                                     size_t n_stacked)
{
    const size_t n = s->n_values + s->n_stacked;
    tg_value *results = tgi_alloc_zero((n + 1) * sizeof(*results));
    if (!results) {
        tgi_error_memory();
        tgi_trace_record_error(s->c.o.t);
        return;
    }
    if (s->length != 0)
        tgi_control_finish(&s->c, TGI_OP_LOOP, s->n_values, 0, results,
                           s->n_values + n_stacked);
    else /* zero iterations */
        for (size_t i = 0; i < n; i++)
            results[i] =
                i < s->n_values
                    ? tgi_trace_value(s->c.o.t, s->c.inputs.data[1 + i])
                    : empty_stacked(s, i);
    if (n_values)
        memcpy(out_values, results, n_values * sizeof(*results));
    if (n_stacked)
        memcpy(out_stacked, results + s->n_values,
               n_stacked * sizeof(*results));
    tgi_free(results);
}

static void build_scan(const char *name, tg_callback *body, void *user,
                       const tg_operand *initial, size_t n_values,
                       const tg_operand *sequences, size_t n_sequences,
                       tg_value *out_values, size_t n_out_values,
                       tg_value *out_stacked, size_t n_stacked, tg_site site)
{
    scan s = {.body = body, .user = user, .n_values = n_values};
    tgi_control *c = &s.c;
    tgi_control_invalidate_results(out_values, n_out_values);
    tgi_control_invalidate_results(out_stacked, n_stacked);
    if (!tgi_control_begin(c, name, site))
        return;
    if (n_out_values > n_values)
        tgi_control_fail(c, TG_ERROR_INVALID_ARGUMENT,
                         "the loop has %zu value%s, but %zu %s requested",
                         n_values, TGI_PLURAL(n_values), n_out_values,
                         TGI_WERE(n_out_values));
    else if (tgi_control_check_pointers(c, &body, 1, initial, n_values,
                                        out_values, n_out_values) &&
             tgi_control_check_pointers(c, &body, 1, sequences, n_sequences,
                                        out_stacked, n_stacked) &&
             add_scan_inputs(&s, initial, sequences, n_sequences) &&
             trace_scan_body(&s, n_stacked))
        finish_scan(&s, out_values, n_out_values, out_stacked, n_stacked);
    tgi_vec_deinit(&s.sequences);
    tgi_control_end(c);
}

void tg_scan_at(tg_callback *body, void *user, const tg_operand *initial,
                size_t n_values, const tg_operand *sequences,
                size_t n_sequences, tg_value *out_values, size_t n_out_values,
                tg_value *out_stacked, size_t n_stacked, tg_site site)
{
    build_scan("scan", body, user, initial, n_values, sequences, n_sequences,
               out_values, n_out_values, out_stacked, n_stacked, site);
}

void tg_map_at(tg_callback *body, void *user, const tg_operand *sequences,
               size_t n_sequences, tg_value *out_stacked, size_t n_stacked,
               tg_site site)
{
    build_scan("map", body, user, NULL, 0, sequences, n_sequences, NULL, 0,
               out_stacked, n_stacked, site);
}

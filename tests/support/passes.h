/* SPDX-License-Identifier: MIT */
/*
 * passes.h - runs graphs before and after a pass on edge cases and compares all
 * bits of results and variables; all NaNs are equal.
 */
#ifndef TGI_TEST_PASSES_H
#define TGI_TEST_PASSES_H

#include "support/graphs.h"

#include <math.h>

#include "base/alloc.h"
#include "base/fpenv.h"
#include "interp/interp.h"
#include "ir/verify.h"
#include "pass/pass.h"

#define N_EDGES 16

/* Element i of n of a parameter: with 256 elements, parameters 0 and 1 cover
   all pairs of edge cases. */
static inline void edge_element(int dtype, size_t of_param, size_t i, size_t n,
                                void *out_element)
{
    static const double floats[N_EDGES] = {
        0.0,  -0.0, 1.0,     -1.0,    0.5,        -2.5,   1.5, 3e38,
        -3e38, 1e-45, -1e-45, 16777217, (double)INFINITY,
        -(double)INFINITY, (double)NAN, 300.7};
    bool is_slow = of_param == 0 && n >= N_EDGES * N_EDGES;
    size_t edge = (is_slow ? i / N_EDGES : i + of_param / 2) % N_EDGES;
    uint64_t bits[N_EDGES] = {0,    1,    ~0ull,  ~1ull,
                              2,    3,    0x7f,   0x80,
                              0x7fff, 0x8000, 0x7fffffff, 0x80000000,
                              INT64_MAX, 1ull << 63, 300, 24};
    if (dtype == TG_F64)
        memcpy(out_element, &floats[edge], 8);
    else if (dtype == TG_F32)
        memcpy(out_element, &(float){(float)floats[edge]}, 4);
    else if (dtype == TG_BOOL)
        *(char *)out_element = edge & 1;
    else
        memcpy(out_element, &bits[edge], tg_dtype_bytes((tg_dtype)dtype));
}

static inline bool same_elements(int dtype, const char *a, const char *b,
                                 size_t n)
{
    size_t bytes = tg_dtype_bytes((tg_dtype)dtype);
    for (size_t i = 0; i < n; i++, a += bytes, b += bytes) {
        if (memcmp(a, b, bytes) == 0)
            continue;
        double x = 0, y = 0;
        if (dtype == TG_F32) {
            x = (double)*(const float *)a;
            y = (double)*(const float *)b;
        } else if (dtype == TG_F64) {
            x = *(const double *)a;
            y = *(const double *)b;
        }
        if (!isnan(x) || !isnan(y))
            return false;
    }
    return true;
}

/* The final state of a run: contents of parameters, then results. */
#define MAX_BUFFERS 24
typedef struct outcome {
    tg_status status;
    size_t n_params, n;
    void *buffers[MAX_BUFFERS];
    size_t bytes[MAX_BUFFERS];
    int dtypes[MAX_BUFFERS];
} outcome;

static inline void outcome_add(outcome *o, int dtype, size_t bytes)
{
    cr_assert_lt(o->n, MAX_BUFFERS);
    o->buffers[o->n] = tgi_buffer_alloc(bytes);
    cr_assert_not_null(o->buffers[o->n]);
    memset(o->buffers[o->n], 0, bytes); /* in case the run fails */
    o->bytes[o->n] = bytes;
    o->dtypes[o->n++] = dtype;
}

static inline void outcome_deinit(outcome *o)
{
    for (size_t i = 0; i < o->n; i++)
        tgi_buffer_free(o->buffers[i], o->bytes[i]);
}

/* Sets every symbol of the graph to `extent`. */
static inline outcome run_graph(const tgi_graph *graph, int64_t extent)
{
    outcome o = {.status = TG_OK};
    int64_t symbols[16], values[4096];
    cr_assert_leq(tgi_dims_n_symbols(graph->dims), N_OF(symbols));
    cr_assert_leq(tgi_dims_n_values(graph->dims), N_OF(values));
    for (size_t i = 0; i < N_OF(symbols); i++)
        symbols[i] = extent;
    cr_assert_eq(tgi_dims_evaluate(graph->dims, symbols, values), TG_OK);

    for (size_t i = 0; i < graph->params.n; i++) {
        tgi_ref ref = graph->params.data[i].node;
        int dtype = tgi_graph_node(graph, ref)->dtype;
        const tgi_shape *shape = tgi_graph_shape(graph, ref);
        size_t n = 1, bytes = tg_dtype_bytes((tg_dtype)dtype);
        for (int axis = 0; axis < shape->rank; axis++)
            n *= (size_t)tgi_dim_value(shape->dims[axis], values);
        outcome_add(&o, dtype, n * bytes);
        for (size_t k = 0; k < n; k++)
            edge_element(dtype, i, k, n,
                         (char *)o.buffers[i] + k * bytes);
    }
    o.n_params = o.n;

    tgi_interp *interp = NULL;
    static const tgi_host host = {0};
    o.status = tgi_interp_create(graph, symbols, &host, 0, &interp);
    if (o.status != TG_OK)
        return o;
    for (size_t i = 0; i < graph->results.n; i++)
        outcome_add(&o, tgi_graph_node(graph, graph->results.data[i])->dtype,
                    (size_t)tgi_interp_result_bytes(interp, i));
    uint32_t saved = tgi_fpenv_begin();
    o.status = tgi_interp_run(interp, o.buffers, o.buffers + o.n_params);
    tgi_fpenv_end(saved);
    tgi_interp_destroy(interp);
    return o;
}

/* Both graphs give the same bits if all unknown extents are `extent`. */
static inline void check_same_bits(const tgi_graph *before,
                                   const tgi_graph *after, int64_t extent,
                                   const char *what)
{
    outcome a = run_graph(before, extent), b = run_graph(after, extent);
    char *texts[2] = {text_of(before), text_of(after)};
    cr_assert_eq(a.status, b.status, "%s: %s", what, tg_error(NULL));
    cr_assert_eq(a.n, b.n, "%s", what);
    for (size_t i = 0; i < a.n; i++)
        cr_assert(a.bytes[i] == b.bytes[i] &&
                      same_elements(a.dtypes[i], a.buffers[i], b.buffers[i],
                                    a.bytes[i] / tg_dtype_bytes(
                                                     (tg_dtype)a.dtypes[i])),
                  "%s changes buffer %zu\nbefore: %s\nafter: %s", what, i,
                  texts[0], texts[1]);
    tgi_free(texts[0]);
    tgi_free(texts[1]);
    outcome_deinit(&a);
    outcome_deinit(&b);
}

/* Runs a pass on a graph, verifies the result and compares bits. */
static inline tgi_graph *run_pass(tgi_pass_run *pass, const tgi_graph *in)
{
    tgi_graph *out = NULL;
    cr_assert_eq(tgi_graph_verify(in), TG_OK, "%s", tg_error(NULL));
    cr_assert_eq(pass(in, &out), TG_OK, "%s", tg_error(NULL));
    cr_assert_eq(tgi_graph_verify(out), TG_OK, "%s", tg_error(NULL));
    check_same_bits(in, out, 3, "the pass");
    return out;
}

/* A pass, then dead, so that only live nodes are compared. */
static inline tg_status then_dead(tgi_pass_run *pass, const tgi_graph *in,
                                  tgi_graph **out_graph)
{
    tgi_graph *middle = NULL;
    tg_status status = pass(in, &middle);
    if (status == TG_OK)
        status = tgi_pass_dead(middle, out_graph);
    tgi_graph_release(middle);
    return status;
}

/* Runs a pass on the graph with the result `value` and releases it; the dump of
   the new graph must be `wanted`. */
static inline void pass_gives(tgi_pass_run *pass, tgi_graph *graph,
                              tgi_ref value, const char *wanted)
{
    tgi_graph_add_result(graph, value);
    tgi_graph *out = run_pass(pass, graph);
    char *text = text_of(out);
    cr_assert_str_eq(text, wanted);
    tgi_free(text);
    tgi_graph_release(out);
    tgi_graph_release(graph);
    check_nothing_is_alive();
}

/* Runs a pass on the graph with the result `value` and releases it. The number
   of nodes of an op in the new graph. */
static inline int count_nodes_after(tgi_pass_run *pass, tgi_graph *graph,
                                    tgi_ref value, tgi_op op)
{
    tgi_graph_add_result(graph, value);
    tgi_graph *out = run_pass(pass, graph);
    int n = 0;
    for (tgi_ref ref = 1; ref <= out->n_nodes; ref++)
        n += tgi_graph_node(out, ref)->op == op;
    tgi_graph_release(out);
    tgi_graph_release(graph);
    check_nothing_is_alive();
    return n;
}

#endif /* TGI_TEST_PASSES_H */

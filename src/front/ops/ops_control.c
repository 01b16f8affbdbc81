/* SPDX-License-Identifier: MIT */
/*
 * ops_control.c - branches and loops: their operands and results, and the
 * errors if types do not match.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "front/ops/ops_control.h"
#include "ir/dump.h"
#include "tgjit/control.h"

/* -- Shared checks --------------------------------------------------------- */

void tgi_control_invalidate_results(tg_value *out_results, size_t n_results)
{
    for (size_t i = 0; out_results && i < n_results; i++)
        out_results[i] = (tg_value){0, 0};
}

bool tgi_control_fail(tgi_control *c, tg_status status, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    tgi_trace_fail(c->o.t, status, c->o.b.site, "%s: %s", c->o.b.op_name,
                   text);
    return false;
}

bool tgi_control_check_pointers(tgi_control *c, tg_callback *const *callbacks,
                                size_t n, const tg_operand *operands,
                                size_t n_operands, const tg_value *results,
                                size_t n_results)
{
    for (size_t i = 0; i < n; i++)
        if (!callbacks[i])
            return tgi_control_fail(c, TG_ERROR_INVALID_ARGUMENT,
                                    "a callback is NULL");
    if (n_operands && !operands)
        return tgi_control_fail(c, TG_ERROR_INVALID_ARGUMENT,
                                "the values are NULL");
    if (n_results && !results)
        return tgi_control_fail(c, TG_ERROR_INVALID_ARGUMENT,
                                "the results are NULL");
    return true;
}

bool tgi_control_add_operands(tgi_control *c, const tg_operand *operands,
                              size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!tgi_control_add_input(c,
                                   tgi_operation_operand(&c->o, operands[i])))
            return false;
    return true;
}

/* Formats a type, as in "f32[3]". */
static const char *type_text(const tgi_graph *graph, tgi_ref ref,
                             tgi_strbuf *text)
{
    tgi_type_print(graph, ref, text);
    return text->text ? text->text : "?";
}

/* Records that two types differ; returns false. */
static bool fail_types(tgi_control *c, const char *what, const char *name,
                       size_t i, const tgi_graph *graph, tgi_ref expected,
                       const char *who, const tgi_graph *inner, tgi_ref actual)
{
    tgi_strbuf a = {0}, b = {0};
    const bool is_dtype = tgi_graph_node(graph, expected)->dtype !=
                          tgi_graph_node(inner, actual)->dtype;
    tgi_control_fail(c, is_dtype ? TG_ERROR_DTYPE : TG_ERROR_SHAPE,
                     "%s %zu%s%s%s is %s, but %s returns %s", what, i,
                     name ? " ('" : "", name ? name : "", name ? "')" : "",
                     type_text(graph, expected, &a), who,
                     type_text(inner, actual, &b));
    tgi_strbuf_deinit(&a);
    tgi_strbuf_deinit(&b);
    return false;
}

/* An operand as an i64 scalar; it must be a bool or integer scalar. */
static tgi_ref scalar_operand(tgi_control *c, tg_operand operand, bool is_bool,
                              const char *what)
{
    tgi_ref ref = tgi_operation_operand(&c->o, operand);
    if (!ref)
        return 0;
    const tgi_graph *graph = c->o.t->graph;
    const tgi_node *node = tgi_graph_node(graph, ref);
    const bool fits = is_bool ? node->dtype == TG_BOOL
                              : tgi_dtype_is(node->dtype, TGI_CLASS_INT);
    if (!fits || tgi_graph_shape(graph, ref)->rank != 0) {
        tgi_strbuf text = {0};
        tgi_control_fail(c, fits ? TG_ERROR_SHAPE : TG_ERROR_DTYPE,
                         "the %s is %s, not %s scalar", what,
                         type_text(graph, ref, &text),
                         is_bool ? "a bool" : "an integer");
        tgi_strbuf_deinit(&text);
        return 0;
    }
    /* Keep literals constant: loops with known iterations compile better. */
    return node->flags & TGI_NODE_WEAK && !is_bool
               ? tgi_build_adapt(&c->o.b, ref, TG_I64)
               : tgi_build_cast(&c->o.b, ref, TG_I64);
}

/* -- Branches -------------------------------------------------------------- */

static const tgi_node *result_node(const tgi_graph *graph, size_t i)
{
    return tgi_graph_node(graph, graph->results.data[i]);
}

/* Unifies result i of all branches. The first one that is not weakly typed
   determines the dtype; if all are weak, promotion rules apply. */
static bool unify_result(tgi_control *c, size_t i)
{
    const tgi_graph *leader = c->graphs.data[0];
    for (size_t k = 1; k < c->graphs.n; k++)
        if (tgi_node_type_rank(result_node(c->graphs.data[k], i)) >
            tgi_node_type_rank(result_node(leader, i)))
            leader = c->graphs.data[k];
    const tgi_ref leader_result = leader->results.data[i];
    const tgi_node *node = tgi_graph_node(leader, leader_result);
    const int rank = tgi_node_type_rank(node);
    tg_dtype dtype = (tg_dtype)node->dtype;
    for (size_t k = 0; k < c->graphs.n && rank < TGI_TYPE_RANK_TENSOR; k++) {
        const tgi_node *other = result_node(c->graphs.data[k], i);
        if (tgi_node_type_rank(other) == rank)
            dtype = tgi_dtype_promote(dtype, other->dtype);
        if (dtype == TG_DTYPE_NONE)
            return fail_types(c, "result", node->name, i, leader, leader_result,
                              c->graphs.data[k]->name, c->graphs.data[k],
                              c->graphs.data[k]->results.data[i]);
    }
    for (size_t k = 0; k < c->graphs.n; k++) {
        tgi_graph *graph = c->graphs.data[k];
        if (!tgi_control_convert_result(c, graph, &graph->results.data[i],
                                        dtype, node->shape))
            return fail_types(c, "result", node->name, i, leader, leader_result,
                              graph->name, graph, graph->results.data[i]);
    }
    return true;
}

static bool unify_branches(tgi_control *c)
{
    const tgi_graph *first = c->graphs.data[0];
    for (size_t k = 1; k < c->graphs.n; k++) {
        const tgi_graph *graph = c->graphs.data[k];
        if (graph->results.n != first->results.n)
            return tgi_control_fail(
                c, TG_ERROR_INVALID_ARGUMENT,
                "%s returns %zu value%s, but %s returns %zu", first->name,
                first->results.n, TGI_PLURAL(first->results.n), graph->name,
                graph->results.n);
    }
    for (size_t i = 0; i < first->results.n; i++)
        if (!unify_result(c, i))
            return false;
    return true;
}

bool tgi_control_branch(tgi_control *c, const char *name,
                        tg_callback *callback, void *user)
{
    tg_trace *t = tgi_control_open(c, name, callback, user, 1);
    return t && tgi_control_close(c, t);
}

/* Adds the node after the branches have been traced. */
static void finish_branches(tgi_control *c, tg_value *out_results,
                            size_t n_results)
{
    const size_t n = c->graphs.data[0]->results.n;
    if (n_results > n)
        tgi_control_fail(c, TG_ERROR_INVALID_ARGUMENT,
             "the branches return %zu result%s, but %zu %s requested", n,
             TGI_PLURAL(n), n_results, TGI_WERE(n_results));
    else
        tgi_control_finish(c, TGI_OP_SWITCH, 0, 0, out_results, n_results);
}

void tg_cond_at(tg_operand predicate, tg_callback *then,
                tg_callback *otherwise, void *user, const tg_operand *args,
                size_t n_args, tg_value *out_results, size_t n_results,
                tg_site site)
{
    tgi_control c;
    tgi_control_invalidate_results(out_results, n_results);
    if (!tgi_control_begin(&c, "cond", site))
        return;
    c.has_arguments = true;
    if (tgi_control_check_pointers(&c, (tg_callback *[]){then, otherwise}, 2,
                                   args, n_args, out_results, n_results) &&
        tgi_control_add_input(
            &c, scalar_operand(&c, predicate, true, "predicate")) &&
        tgi_control_add_operands(&c, args, n_args) &&
        tgi_control_branch(&c, "then", then, user) &&
        tgi_control_branch(&c, "else", otherwise, user) && unify_branches(&c)) {
        /* Graph 1 is the true branch. */
        tgi_graph *first = c.graphs.data[0];
        c.graphs.data[0] = c.graphs.data[1];
        c.graphs.data[1] = first;
        finish_branches(&c, out_results, n_results);
    }
    tgi_control_end(&c);
}

static bool trace_branches(tgi_control *c, tg_callback *const *branches,
                           size_t n, void *user)
{
    char name[40];
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "branch %zu", i);
        if (!tgi_control_branch(c, name, branches[i], user))
            return false;
    }
    return true;
}

void tg_switch_at(tg_operand index, tg_callback *const *branches,
                  size_t n_branches, void *user, const tg_operand *args,
                  size_t n_args, tg_value *out_results, size_t n_results,
                  tg_site site)
{
    tgi_control c;
    tgi_control_invalidate_results(out_results, n_results);
    if (!tgi_control_begin(&c, "switch", site))
        return;
    c.has_arguments = true;
    if (!branches || n_branches == 0)
        tgi_control_fail(&c, TG_ERROR_INVALID_ARGUMENT,
                         "there are no branches");
    else if (tgi_control_check_pointers(&c, branches, n_branches, args, n_args,
                                        out_results, n_results) &&
             tgi_control_add_input(&c,
                                   scalar_operand(&c, index, false, "index")) &&
             tgi_control_add_operands(&c, args, n_args) &&
             trace_branches(&c, branches, n_branches, user) &&
             unify_branches(&c))
        finish_branches(&c, out_results, n_results);
    tgi_control_end(&c);
}

/* -- Loops ----------------------------------------------------------------- */

bool tgi_control_check_body(tgi_control *c, tgi_graph *graph,
                            const tgi_refs *results, size_t n_values,
                            size_t n_more)
{
    const tgi_graph *outer = c->o.t->graph;
    if (n_more == 0 ? results->n != n_values
                    : results->n < n_values + n_more)
        return tgi_control_fail(
            c, TG_ERROR_INVALID_ARGUMENT,
            "the body returns %zu value%s, but the loop has "
            "%zu%s",
            results->n, TGI_PLURAL(results->n), n_values,
            n_more ? ", and stacked ones follow" : "");
    for (size_t i = 0; i < n_values; i++) {
        const tgi_ref value = c->inputs.data[i + 1];
        const tgi_node *node = tgi_graph_node(outer, value);
        if (!tgi_control_convert_result(c, graph, &results->data[i],
                                        (tg_dtype)node->dtype, node->shape))
            return fail_types(c, "loop value", node->name, i, outer, value,
                              "the body", graph, results->data[i]);
    }
    return true;
}

static bool trace_body(tgi_control *c, tg_callback *body, void *user,
                       size_t first, size_t n_values)
{
    tg_trace *t = tgi_control_open(c, "body", body, user, first);
    if (!t)
        return false;
    const bool fits =
        tgi_control_check_body(c, t->graph, &t->results, n_values, 0);
    return tgi_control_close(c, t) && fits;
}

static bool trace_test(tgi_control *c, tg_callback *test, void *user)
{
    tg_trace *t = tgi_control_open(c, "test", test, user, 1);
    if (!t)
        return false;
    bool fits = t->results.n == 1;
    if (!fits) {
        tgi_control_fail(c, TG_ERROR_INVALID_ARGUMENT,
             "the test returns %zu values, not one", t->results.n);
    } else {
        const tgi_ref ref = t->results.data[0];
        const tgi_node *node = tgi_graph_node(t->graph, ref);
        const bool is_bool = node->dtype == TG_BOOL;
        fits = is_bool && tgi_graph_shape(t->graph, ref)->rank == 0;
        tgi_strbuf text = {0};
        if (!fits)
            tgi_control_fail(c, is_bool ? TG_ERROR_SHAPE : TG_ERROR_DTYPE,
                 "the test returns %s, not a bool scalar",
                 type_text(t->graph, ref, &text));
        tgi_strbuf_deinit(&text);
    }
    return tgi_control_close(c, t) && fits;
}

/* At most as many results as loop values can be requested. */
static bool check_result_count(tgi_control *c, size_t n_values,
                               size_t n_results)
{
    return n_results <= n_values ||
           tgi_control_fail(c, TG_ERROR_INVALID_ARGUMENT,
                "the loop has %zu value%s, but %zu %s requested", n_values,
                TGI_PLURAL(n_values), n_results, TGI_WERE(n_results));
}

/* A negative limit means no limit. */
static void build_while(int64_t limit, tg_callback *test, tg_callback *body,
                        void *user, const tg_operand *initial, size_t n_values,
                        tg_value *out_results, size_t n_results, tg_site site)
{
    tgi_control c;
    tgi_control_invalidate_results(out_results, n_results);
    if (!tgi_control_begin(&c, "while", site))
        return;
    const tgi_number n_iterations = {TGI_NUMBER_INT,
                                     {.i = limit < 0 ? INT64_MAX : limit}};
    if (tgi_control_check_pointers(&c, (tg_callback *[]){test, body}, 2,
                                   initial, n_values, out_results, n_results) &&
        check_result_count(&c, n_values, n_results) &&
        tgi_control_add_input(
            &c, tgi_build_number(&c.o.b, TG_I64, TG_I64, n_iterations)) &&
        tgi_control_add_operands(&c, initial, n_values) &&
        trace_test(&c, test, user) && trace_body(&c, body, user, 1, n_values)) {
        /* Graph 0 is the body. */
        tgi_graph *first = c.graphs.data[0];
        c.graphs.data[0] = c.graphs.data[1];
        c.graphs.data[1] = first;
        tgi_control_finish(&c, TGI_OP_LOOP, n_values,
                           limit < 0 ? 0 : TGI_LOOP_LIMITED, out_results,
                           n_results);
    }
    tgi_control_end(&c);
}

void tg_while_at(tg_callback *test, tg_callback *body, void *user,
                 const tg_operand *initial, size_t n_values,
                 tg_value *out_results, size_t n_results, tg_site site)
{
    build_while(-1, test, body, user, initial, n_values, out_results, n_results,
                site);
}

void tg_while_limit_at(int64_t max_iterations, tg_callback *test,
                       tg_callback *body, void *user, const tg_operand *initial,
                       size_t n_values, tg_value *out_results, size_t n_results,
                       tg_site site)
{
    build_while(max_iterations < 0 ? 0 : max_iterations, test, body, user,
                initial, n_values, out_results, n_results, site);
}

void tg_for_at(tg_operand n_iterations, tg_callback *body, void *user,
               const tg_operand *initial, size_t n_values,
               tg_value *out_results, size_t n_results, tg_site site)
{
    tgi_control c;
    tgi_control_invalidate_results(out_results, n_results);
    if (!tgi_control_begin(&c, "for", site))
        return;
    if (tgi_control_check_pointers(&c, &body, 1, initial, n_values, out_results,
                                   n_results) &&
        check_result_count(&c, n_values, n_results) &&
        tgi_control_add_input(&c, scalar_operand(&c, n_iterations, false,
                                                 "number of iterations")) &&
        tgi_control_add_operands(&c, initial, n_values) &&
        trace_body(&c, body, user, 0, n_values))
        tgi_control_finish(&c, TGI_OP_LOOP, n_values, 0, out_results,
                           n_results);
    tgi_control_end(&c);
}

/* -- Unrolled loops -------------------------------------------------------- */

/* A carried value is strongly typed, even if it was a number. */
static tg_value as_carried(tgi_control *c, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(c->o.t->graph, ref);
    return tgi_operation_end(
        &c->o, tgi_build_cast(&c->o.b, ref, (tg_dtype)node->dtype));
}

static bool check_unroll_limit(tgi_control *c, int64_t n_iterations)
{
    tg_trace *root = tgi_trace_root(c->o.t);
    if (n_iterations <= 0)
        return true;
    if (n_iterations > TG_MAX_UNROLLED - root->n_unrolled)
        return tgi_control_fail(
            c, TG_ERROR_LIMIT,
            "%lld iterations, after %lld unrolled before, exceed the limit "
            "of %d for a trace; use tg_for",
            (long long)n_iterations, (long long)root->n_unrolled,
            TG_MAX_UNROLLED);
    root->n_unrolled += n_iterations;
    return true;
}

/* Traces one iteration: replaces the loop values in `in`, after the iteration,
   by the results of the body. */
static bool unroll_iteration(tgi_control *c, tg_callback *body, void *user,
                             tg_value *in, size_t n_values)
{
    tg_trace *t = c->o.t;
    tgi_refs results;
    bool ok = tgi_trace_run_inline(t, body, in, user, &c->o.b, &results) &&
              tgi_control_check_body(c, t->graph, &results, n_values, 0);
    for (size_t i = 0; ok && i < n_values; i++)
        in[i + 1] = as_carried(c, results.data[i]);
    tgi_vec_deinit(&results);
    return ok;
}

static void unroll_loop(tgi_control *c, int64_t n_iterations, tg_callback *body,
                        void *user, size_t n_values, tg_value *out_results,
                        size_t n_results)
{
    tg_trace *t = c->o.t;
    tg_value *in = tgi_alloc((n_values + 1) * sizeof(*in));
    if (!in) {
        tgi_error_memory();
        tgi_trace_record_error(t);
        return;
    }
    for (size_t i = 1; i <= n_values; i++)
        in[i] = as_carried(c, c->inputs.data[i]);
    bool ok = t->status == TG_OK;
    for (int64_t iteration = 0; ok && iteration < n_iterations; iteration++) {
        const tgi_number number = {TGI_NUMBER_INT, {.i = iteration}};
        in[0] = tgi_operation_end(
            &c->o, tgi_build_number(&c->o.b, TG_I64, TG_I64, number));
        ok =
            tg_is_valid(in[0]) && unroll_iteration(c, body, user, in, n_values);
        if (ok && t->graph->n_nodes > TG_MAX_UNROLLED_NODES)
            ok = tgi_control_fail(
                c, TG_ERROR_LIMIT,
                "the graph has %u nodes after iteration %lld of %lld, the "
                "limit is %d; use tg_for",
                t->graph->n_nodes, (long long)iteration,
                (long long)n_iterations, TG_MAX_UNROLLED_NODES);
    }
    for (size_t i = 0; ok && i < n_results; i++)
        out_results[i] = in[i + 1];
    tgi_free(in);
}

void tg_for_unrolled_at(int64_t n_iterations, tg_callback *body, void *user,
                        const tg_operand *initial, size_t n_values,
                        tg_value *out_results, size_t n_results, tg_site site)
{
    tgi_control c;
    tgi_control_invalidate_results(out_results, n_results);
    if (!tgi_control_begin(&c, "for_unrolled", site))
        return;
    const tgi_number number = {TGI_NUMBER_INT, {.i = n_iterations}};
    if (tgi_control_check_pointers(&c, &body, 1, initial, n_values, out_results,
                                   n_results) &&
        check_result_count(&c, n_values, n_results) &&
        check_unroll_limit(&c, n_iterations) &&
        tgi_control_add_input(
            &c, tgi_build_number(&c.o.b, TG_I64, TG_I64, number)) &&
        tgi_control_add_operands(&c, initial, n_values))
        unroll_loop(&c, n_iterations, body, user, n_values, out_results,
                    n_results);
    tgi_control_end(&c);
}

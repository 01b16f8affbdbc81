/* SPDX-License-Identifier: MIT */
/*
 * random_graph_native.c - runs a compiled graph with a team, in guarded memory,
 * with all kernels split that can be.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random/random_graph.h"
#include "run/team.h"
#include "support/watched.h"

/* -- One run --------------------------------------------------------------- */

typedef struct run {
    const rg_native *of;
    const tgi_graph *graph;
    rg_buffers b;
    tgi_strbuf text;
    int64_t *values; /* of the graph's extents */
    int aliased;     /* the parameter that shares memory with a result, or -1 */
} run;

static void print(const char *text, void *user)
{
    tgi_strbuf_add(user, text);
}

static void result_type(const run *r, size_t i, rg_type *type)
{
    tgi_ref ref = r->graph->results.data[i];
    const tgi_shape *shape = tgi_graph_shape(r->graph, ref);
    type->dtype = tgi_graph_node(r->graph, ref)->dtype;
    type->rank = (int8_t)shape->rank;
    for (int axis = 0; axis < shape->rank; axis++)
        type->dims[axis] = tgi_dim_value(shape->dims[axis], r->values);
}

/* The argument of parameter i if it must not be written, else NULL. */
static const rg_arg *read_only_arg(const run *r, size_t i)
{
    const tg_concrete *c = r->of->concrete;
    const rg_arg *arg = &r->of->session->program->args[c->param_arg[i]];
    return arg->kind == RG_VARIABLE ? NULL : arg;
}

/* Sometimes a result shares the memory of an argument. */
static bool alias_result(run *r, size_t result, size_t bytes)
{
    if (r->aliased >= 0 || rg_random(&r->b.random) % 8)
        return false;
    for (size_t i = 0; i < r->of->concrete->n_arg_params; i++) {
        const rg_arg *arg = read_only_arg(r, i);
        rg_type type;
        result_type(r, result, &type);
        if (arg && arg->type[r->of->size].dtype == type.dtype && bytes &&
            rg_size(&arg->type[r->of->size]) == bytes) {
            r->b.results[result] = r->b.params[i];
            r->aliased = (int)i;
            return true;
        }
    }
    return false;
}

static void place_results(run *r)
{
    r->aliased = -1;
    for (size_t i = 0; i < r->graph->results.n; i++) {
        rg_type type;
        result_type(r, i, &type);
        if (!alias_result(r, i, rg_size(&type)))
            rg_buffers_add_result(&r->b, i, type.dtype, rg_size(&type));
    }
}

/* True if the arguments are unchanged. */
static bool args_are_unchanged(const run *r)
{
    const rg_native *of = r->of;
    const rg_program *p = of->session->program;
    for (size_t i = 0; i < of->concrete->n_arg_params; i++) {
        const rg_arg *arg = read_only_arg(r, i);
        if (!arg || (int)i == r->aliased)
            continue;
        const void *data = arg->kind == RG_VALUE_OF
                               ? p->variables[arg->variable].data
                               : arg->data[of->size];
        if (memcmp(r->b.params[i], data, rg_size(&arg->type[of->size])) != 0)
            return false;
    }
    return true;
}

/* True if the results are untouched, as a failed run must leave them. */
static bool results_are_untouched(const run *r)
{
    for (size_t i = 0; i < r->graph->results.n; i++) {
        rg_type type;
        result_type(r, i, &type);
        bool is_aliased =
            r->aliased >= 0 && r->b.results[i] == r->b.params[r->aliased];
        if (!is_aliased && !rg_buffers_is_untouched(&r->b, i, rg_size(&type)))
            return false;
    }
    return true;
}

/* Restores the initial contents of variables. */
static void reset_variables(run *r)
{
    const rg_program *p = r->of->session->program;
    for (int i = 0; i < p->n_variables; i++)
        memcpy(r->b.variables[i], p->variables[i].data,
               rg_size(&p->variables[i].type));
    tgi_strbuf_deinit(&r->text);
    r->text = (tgi_strbuf){0};
}

static tg_status run_native(run *r, int *out_team)
{
    tgi_native *native = NULL;
    const tgi_native_options options = {.host = {.print = print,
                                                 .user = &r->text},
                                        .threads = r->of->n_threads};
    tg_status status =
        tgi_native_create(r->of->program, r->b.symbols, &options, &native);
    if (!status)
        status = tgi_native_bind(native, r->b.params, r->b.results);
    if (!status)
        status = run_watched(r->of->program, native, tgi_profile_is_on(),
                             out_team);
    /* Run again, with the temporaries left by the first run; profiled. */
    if (!status && r->aliased < 0 && rg_random(&r->b.random) % 4 == 0) {
        reset_variables(r);
        status = run_watched(r->of->program, native, true, out_team);
    }
    tgi_native_destroy(native);
    return status;
}

static void write_down(const run *r, tg_status status, rg_outcome *o)
{
    const rg_program *p = r->of->session->program;
    rg_outcome_set_status(o, status);
    for (size_t i = 0; i < r->graph->results.n && !status; i++) {
        rg_type type;
        result_type(r, i, &type);
        rg_outcome_add_result(o, i, type.dtype, type.rank, type.dims,
                              r->b.results[i]);
    }
    for (int i = 0; i < p->n_variables; i++)
        rg_outcome_add_variable(o, i, &p->variables[i].type, r->b.variables[i]);
    rg_outcome_add_text(o, &r->text);
}

const char *rg_run_native(const rg_native *of, rg_outcome *o, int *out_team)
{
    run r = {.of = of, .graph = of->concrete->graph};
    const char *complaint = "";
    rg_outcome_init(o);
    rg_buffers_init(&r.b, of->session, of->concrete, r.graph, of->size, true,
                    of->random);
    r.values = tgi_arena_alloc(
        &r.b.arena, (tgi_dims_n_values(r.graph->dims) + 1) * sizeof(*r.values));
    if (!r.values || tgi_dims_evaluate(r.graph->dims, r.b.symbols, r.values))
        abort();
    place_results(&r);
    *out_team = 0;
    write_down(&r, run_native(&r, out_team), o);
    if (!rg_buffers_are_intact(&r.b))
        complaint = "memory beside a buffer is written";
    else if (o->status && !results_are_untouched(&r))
        complaint = "a result is written though the run fails";
    else if (!args_are_unchanged(&r))
        complaint = "an argument is written";
    else if (*out_team != tgi_team_size(of->n_threads))
        complaint = "the team has not its threads";
    tgi_strbuf_deinit(&r.text);
    rg_buffers_deinit(&r.b);
    return complaint;
}

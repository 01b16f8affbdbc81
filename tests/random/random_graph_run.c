/* SPDX-License-Identifier: MIT */
/*
 * random_graph_run.c - runs a program, as a graph in the interpreter or by an
 * API call, and records its observable outcome.
 */
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "interp/interp.h"
#include "random/random_graph.h"

/* Limit for one interpreted graph: a trace for small extents may be called with
   larger ones. */
enum { MAX_TEMPORARIES = 64 << 20 };

/* -- Graphs ---------------------------------------------------------------- */

static void print(const char *text, void *user)
{
    tgi_strbuf_add(user, text);
}

static void add_results(const tgi_graph *graph, const tgi_interp *interp,
                        const rg_buffers *b, rg_outcome *o)
{
    for (size_t i = 0; i < graph->results.n; i++) {
        tgi_ref ref = graph->results.data[i];
        rg_outcome_add_result(o, i, tgi_graph_node(graph, ref)->dtype,
                              tgi_graph_shape(graph, ref)->rank,
                              tgi_interp_result_dims(interp, i), b->results[i]);
    }
}

void rg_run_graph(const rg_session *s, const tg_concrete *concrete,
                  const tgi_graph *graph, int size, rg_outcome *o)
{
    rg_buffers b;
    tgi_strbuf text = {0};
    tgi_interp *interp = NULL;
    const tgi_host host = {.print = print, .user = &text};
    rg_outcome_init(o);
    rg_buffers_init(&b, s, concrete, graph, size, false, 0);
    tg_status status =
        tgi_interp_create(graph, b.symbols, &host, MAX_TEMPORARIES, &interp);
    if (!status) {
        for (size_t i = 0; i < graph->results.n; i++)
            rg_buffers_add_result(
                &b, i, tgi_graph_node(graph, graph->results.data[i])->dtype,
                (size_t)tgi_interp_result_bytes(interp, i));
        tgi_interp_set_checks(interp, concrete->ctx->checks);
        uint32_t mode = tgi_fpenv_begin();
        status = tgi_interp_run(interp, b.params, b.results);
        tgi_fpenv_end(mode);
    }
    rg_outcome_set_status(o, status);
    if (!status)
        add_results(graph, interp, &b, o);
    for (int i = 0; i < s->program->n_variables; i++)
        rg_outcome_add_variable(o, i, &s->program->variables[i].type,
                                b.variables[i]);
    rg_outcome_add_text(o, &text);
    tgi_interp_destroy(interp);
    tgi_strbuf_deinit(&text);
    rg_buffers_deinit(&b);
}

/* -- Calls ----------------------------------------------------------------- */

/* Restores the initial contents of variables. */
static void reset_variables(rg_session *s)
{
    const rg_program *p = s->program;
    for (int i = 0; i < p->n_variables; i++)
        if (tg_variable_set(s->variables[i], p->variables[i].data,
                            rg_size(&p->variables[i].type)))
            abort();
    tgi_strbuf_deinit(&s->text);
    s->text = (tgi_strbuf){0};
}

/*
 * Moves arguments to other memory and zeroes the old one.
 */
static tg_status move_args(rg_session *s, tg_bound *bound, void **copies)
{
    const rg_program *p = s->program;
    tg_status status = TG_OK;
    for (int i = 0; i < p->n_args && !status; i++) {
        const rg_arg *arg = &p->args[i];
        size_t bytes = rg_size(&arg->type[s->size]);
        if (arg->kind != RG_TENSOR && arg->kind != RG_NUMBER)
            continue;
        copies[i] = tgi_arena_alloc(&s->arena, bytes + 1);
        if (!copies[i])
            abort();
        memcpy(copies[i], arg->data[s->size], bytes);
        memset(arg->data[s->size], 0, bytes);
        status = tg_bound_set(bound, (size_t)i, copies[i]);
    }
    return status;
}

static void move_args_back(rg_session *s, void *const *copies)
{
    const rg_program *p = s->program;
    for (int i = 0; i < p->n_args; i++)
        if (copies[i])
            memcpy(p->args[i].data[s->size], copies[i],
                   rg_size(&p->args[i].type[s->size]));
}

/* Binds and runs three times from the same state, the last time with moved
   arguments. */
static tg_status run_bound(rg_session *s, const tg_operand *operands,
                           const tg_result *places, size_t n)
{
    void *copies[RG_MAX_ARGS] = {NULL};
    tg_bound *bound = tg_bind_at(
        s->function, operands, (size_t)s->program->n_args, places, n, TG_HERE);
    if (!bound)
        return tg_error_last()->status;
    tg_status first = tg_run(bound);
    reset_variables(s);
    tg_status second = tg_run(bound);
    reset_variables(s);
    tg_status third = move_args(s, bound, copies);
    if (!third)
        third = tg_run(bound);
    move_args_back(s, copies);
    tg_bound_release(bound);
    return first == second && second == third ? third : TG_ERROR_INTERNAL;
}

void rg_run_call(rg_session *s, int size, rg_outcome *o)
{
    const rg_program *p = s->program;
    tg_operand operands[RG_MAX_ARGS];
    tg_tensor *tensors[RG_MAX_ARGS] = {NULL};
    tg_tensor *results[RG_MAX_RESULTS] = {NULL};
    tg_result places[RG_MAX_RESULTS];
    rg_outcome_init(o);
    reset_variables(s);
    if (!rg_session_args(s, size, operands, tensors))
        abort();
    /* Requesting too many results is an error: ask the trace for their
       number. */
    tg_concrete *concrete = NULL;
    size_t n = 0;
    tg_status status = rg_session_trace(s, size, &concrete);
    if (!status)
        n = concrete->graph->results.n;
    for (size_t i = 0; i < n; i++)
        places[i] = TG_OUT(&results[i]);
    if (!status && p->seed / 16 % 2)
        status = tg_call_at(s->function, operands, (size_t)p->n_args, places, n,
                            TG_HERE);
    else if (!status)
        status = run_bound(s, operands, places, n);
    rg_outcome_set_status(o, status);
    for (size_t i = 0; i < n && !status; i++)
        rg_outcome_add_result(
            o, i, tg_tensor_dtype(results[i]), tg_tensor_rank(results[i]),
            tg_tensor_dims(results[i]), tg_tensor_data(results[i]));
    for (int i = 0; i < p->n_variables; i++) {
        const void *data = tg_variable_map(s->variables[i], TG_READ);
        if (!data)
            abort();
        rg_outcome_add_variable(o, i, &p->variables[i].type, data);
        tg_variable_unmap(s->variables[i]);
    }
    rg_outcome_add_text(o, &s->text);
    for (size_t i = 0; i < n; i++)
        tg_tensor_release(results[i]);
    tg_concrete_release(concrete);
    rg_session_release_args(s, tensors);
}

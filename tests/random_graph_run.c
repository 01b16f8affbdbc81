/* SPDX-License-Identifier: MIT */
/*
 * random_graph_run.c - runs a program, as a graph in the interpreter or by a
 * call of the API, and writes down all that can be seen of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fpenv.h"
#include "interp.h"
#include "random_graph.h"

/* -- Outcomes -------------------------------------------------------------- */

void rg_outcome_deinit(rg_outcome *o)
{
    tgi_vec_deinit(&o->bytes);
    tgi_vec_deinit(&o->parts);
}

static void *add_room(rg_outcome *o, size_t bytes)
{
    if (!tgi_vec_reserve(&o->bytes, o->bytes.n + bytes + 1))
        abort();
    void *room = o->bytes.data + o->bytes.n;
    o->bytes.n += bytes;
    return room;
}

static void add_bytes(rg_outcome *o, const void *data, size_t bytes)
{
    if (bytes)
        memcpy(add_room(o, bytes), data, bytes);
}

/* What follows is result (or variable) number i. */
static void add_part(rg_outcome *o, const char *what, size_t i)
{
    struct rg_part part = {.at = o->bytes.n};
    snprintf(part.what, sizeof(part.what), "%s %zu", what, i);
    if (!tgi_vec_push(&o->parts, part))
        abort();
}

static void add_elements(rg_outcome *o, int dtype, const void *data,
                         size_t bytes)
{
    /* Eight bytes a place, so that elements can be looked at in place. */
    while (o->bytes.n % 8)
        add_bytes(o, "", 1);
    size_t at = o->bytes.n;
    add_bytes(o, data, bytes);
    if (bytes)
        rg_unify_nans((tg_dtype)dtype, o->bytes.data + at,
                      (int64_t)bytes / tgi_dtype_bytes(dtype));
}

static void add_result(rg_outcome *o, size_t i, int dtype, int rank,
                       const int64_t *dims, const void *data, size_t bytes)
{
    add_part(o, "result", i);
    add_bytes(o, &dtype, sizeof(dtype));
    add_bytes(o, &rank, sizeof(rank));
    add_bytes(o, dims, (size_t)rank * sizeof(*dims));
    add_elements(o, dtype, data, bytes);
}

static void add_variable(rg_outcome *o, int i, const rg_type *type,
                         const void *data)
{
    add_part(o, "variable", (size_t)i);
    add_elements(o, type->dtype, data, rg_size(type));
}

static void add_text(rg_outcome *o, const tgi_strbuf *text)
{
    add_part(o, "text", 0);
    add_bytes(o, text->text, text->n);
}

const char *rg_outcome_difference(const rg_outcome *a, const rg_outcome *b)
{
    static char text[96];
    if (a->status != b->status) {
        snprintf(text, sizeof(text), "\"%s\" becomes \"%s\"",
                 tg_status_name(a->status), tg_status_name(b->status));
        return text;
    }
    size_t n = a->bytes.n < b->bytes.n ? a->bytes.n : b->bytes.n;
    if (a->bytes.n == b->bytes.n &&
        (n == 0 || memcmp(a->bytes.data, b->bytes.data, n) == 0))
        return "";
    size_t at = 0, part = 0;
    while (at < n && a->bytes.data[at] == b->bytes.data[at])
        at++;
    for (size_t i = 0; i < a->parts.n && a->parts.data[i].at <= at; i++)
        part = i;
    snprintf(text, sizeof(text), "%s differs at byte %zu",
             a->parts.data[part].what, at - a->parts.data[part].at);
    return text;
}

/* -- Graphs ---------------------------------------------------------------- */

/* The buffers of one run. */
typedef struct buffers {
    tgi_arena arena;
    void *variables[RG_MOST_VARIABLES];
    void **params, **results;
} buffers;

static void *room(buffers *b, size_t bytes)
{
    void *memory = tgi_arena_alloc(&b->arena, bytes + 1);
    if (!memory)
        abort();
    return memory;
}

static int number_of(const rg_session *s, const tg_variable *variable)
{
    int i = 0;
    while (s->variables[i] != variable)
        i++;
    return i;
}

static void init_buffers(const rg_session *s, const tg_concrete *concrete,
                         int size, buffers *b)
{
    const rg_program *p = s->program;
    *b = (buffers){0};
    for (int i = 0; i < p->n_variables; i++) {
        size_t bytes = rg_size(&p->variables[i].type);
        b->variables[i] = room(b, bytes);
        memcpy(b->variables[i], p->variables[i].data, bytes);
    }
    size_t n = concrete->n_arg_params;
    b->params = room(b, (n + concrete->captures.n) * sizeof(void *));
    for (size_t i = 0; i < n; i++) {
        const rg_arg *arg = &p->args[concrete->param_arg[i]];
        b->params[i] = arg->kind == RG_VARIABLE ? b->variables[arg->variable]
                       : arg->kind == RG_VALUE_OF
                           ? p->variables[arg->variable].data
                           : arg->data[size];
    }
    for (size_t i = 0; i < concrete->captures.n; i++)
        b->params[n + i] =
            b->variables[number_of(s, concrete->captures.data[i])];
}

static int64_t *find_symbols(const rg_session *s, const tg_concrete *concrete,
                             const tgi_graph *graph, int size, buffers *b)
{
    size_t n = tgi_dims_n_symbols(graph->dims);
    int64_t *symbols = room(b, n * sizeof(*symbols));
    for (size_t i = 0; i < n; i++) {
        tgi_symbol source = tgi_dims_symbol(graph->dims, i);
        const rg_arg *arg =
            &s->program->args[concrete->param_arg[source.param]];
        symbols[i] = arg->type[size].dims[source.axis];
    }
    return symbols;
}

static void add_results(const tgi_graph *graph, const tgi_interp *interp,
                        const buffers *b, rg_outcome *o)
{
    for (size_t i = 0; i < graph->results.n; i++) {
        tgi_ref ref = graph->results.data[i];
        add_result(o, i, tgi_graph_node(graph, ref)->dtype,
                   tgi_graph_shape(graph, ref)->rank,
                   tgi_interp_result_dims(interp, i), b->results[i],
                   (size_t)tgi_interp_result_bytes(interp, i));
    }
}

static void print(const char *text, void *user)
{
    tgi_strbuf_add(user, text);
}

void rg_run_graph(const rg_session *s, const tg_concrete *concrete,
                  const tgi_graph *graph, int size, rg_outcome *o)
{
    buffers b;
    tgi_strbuf text = {0};
    tgi_interp *interp = NULL;
    const tgi_host host = {print, &text};
    *o = (rg_outcome){.status = TG_OK};
    init_buffers(s, concrete, size, &b);
    int64_t *symbols = find_symbols(s, concrete, graph, size, &b);
    o->status = tgi_interp_create(graph, symbols, &host, 0, &interp);
    if (!o->status) {
        b.results = room(&b, graph->results.n * sizeof(void *));
        for (size_t i = 0; i < graph->results.n; i++)
            b.results[i] = room(&b, (size_t)tgi_interp_result_bytes(interp, i));
        uint32_t mode = tgi_fpenv_begin();
        o->status = tgi_interp_run(interp, b.params, b.results);
        tgi_fpenv_end(mode);
    }
    if (!o->status)
        add_results(graph, interp, &b, o);
    for (int i = 0; i < s->program->n_variables; i++)
        add_variable(o, i, &s->program->variables[i].type, b.variables[i]);
    add_text(o, &text);
    tgi_interp_destroy(interp);
    tgi_strbuf_deinit(&text);
    tgi_arena_deinit(&b.arena);
}

/* -- Calls ----------------------------------------------------------------- */

/* Variables have their first contents again. */
static void reset(rg_session *s)
{
    const rg_program *p = s->program;
    for (int i = 0; i < p->n_variables; i++)
        if (tg_variable_set(s->variables[i], p->variables[i].data,
                            rg_size(&p->variables[i].type)))
            abort();
    tgi_strbuf_deinit(&s->text);
    s->text = (tgi_strbuf){0};
}

/* Binds, and runs twice from the same state. */
static tg_status run_bound(rg_session *s, const tg_operand *operands,
                           tg_tensor **const *places, size_t n)
{
    tg_bound *bound = tg_bind_at(
        s->function, operands, (size_t)s->program->n_args, places, n, TG_HERE);
    if (!bound)
        return tg_error_last()->status;
    tg_status status = tg_run(bound);
    reset(s);
    tg_status again = tg_run(bound);
    tg_bound_release(bound);
    return status == again ? status : TG_ERROR_INTERNAL;
}

void rg_run_call(rg_session *s, int size, rg_outcome *o)
{
    const rg_program *p = s->program;
    tg_operand operands[RG_MOST_ARGS];
    tg_tensor *tensors[RG_MOST_ARGS] = {NULL};
    tg_tensor *results[RG_MOST_RESULTS] = {NULL};
    tg_tensor **places[RG_MOST_RESULTS];
    *o = (rg_outcome){.status = TG_OK};
    reset(s);
    if (!rg_session_args(s, size, operands, tensors))
        abort();
    /* One result more than there are is an error: ask the trace first. */
    tg_concrete *concrete = NULL;
    size_t n = 0;
    o->status = rg_session_trace(s, size, &concrete);
    if (!o->status)
        n = concrete->graph->results.n;
    for (size_t i = 0; i < n; i++)
        places[i] = &results[i];
    if (!o->status && p->seed / 16 % 2)
        o->status = tg_call_at(s->function, operands, (size_t)p->n_args, places,
                               n, TG_HERE);
    else if (!o->status)
        o->status = run_bound(s, operands, places, n);
    for (size_t i = 0; i < n && !o->status; i++)
        add_result(o, i, tg_tensor_dtype(results[i]),
                   tg_tensor_rank(results[i]), tg_tensor_dims(results[i]),
                   tg_tensor_data(results[i]), tg_tensor_bytes(results[i]));
    for (int i = 0; i < p->n_variables; i++) {
        const void *data = tg_variable_map(s->variables[i], TG_READ);
        if (!data)
            abort();
        add_variable(o, i, &p->variables[i].type, data);
        tg_variable_unmap(s->variables[i]);
    }
    add_text(o, &s->text);
    for (size_t i = 0; i < n; i++)
        tg_tensor_release(results[i]);
    tg_concrete_release(concrete);
    rg_session_release_args(s, tensors);
}

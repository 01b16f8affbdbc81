/* SPDX-License-Identifier: MIT */
/*
 * random_graph_buffers.c - the memory of one run, for the interpreter and
 * compiled code.
 */
#include <stdlib.h>
#include <string.h>

#include "random/random_graph.h"
#include "support/guarded.h"

enum { JUNK = 0xa5 /* fills results before a run */ };

static void *guarded(rg_buffers *b, size_t bytes, int dtype)
{
    return guarded_room(b->n_guarded++, bytes, (size_t)tgi_dtype_bytes(dtype),
                        rg_random(&b->random));
}

bool rg_buffers_are_intact(const rg_buffers *b)
{
    return guarded_is_intact(b->n_guarded);
}

static void *plain_room(rg_buffers *b, size_t bytes)
{
    void *memory = tgi_arena_alloc(&b->arena, bytes + 1);
    if (!memory)
        abort();
    return memory;
}

static void *room(rg_buffers *b, size_t bytes, int dtype)
{
    return b->is_guarded ? guarded(b, bytes, dtype) : plain_room(b, bytes);
}

static void *copy_of(rg_buffers *b, const rg_type *type, const void *data)
{
    void *memory = room(b, rg_size(type), type->dtype);
    memcpy(memory, data, rg_size(type));
    return memory;
}

static int number_of(const rg_session *s, const tg_variable *variable)
{
    int i = 0;
    while (s->variables[i] != variable)
        i++;
    return i;
}

static void *arg_buffer(rg_buffers *b, const rg_program *p, const rg_arg *arg,
                        int size)
{
    if (arg->kind == RG_VARIABLE)
        return b->variables[arg->variable];
    void *data = arg->kind == RG_VALUE_OF ? p->variables[arg->variable].data
                                          : arg->data[size];
    return b->is_guarded ? copy_of(b, &arg->type[size], data) : data;
}

static void find_symbols(rg_buffers *b, const rg_program *p,
                         const tg_concrete *concrete, const tgi_graph *graph,
                         int size)
{
    size_t n = tgi_dims_n_symbols(graph->dims);
    b->symbols = plain_room(b, n * sizeof(*b->symbols));
    for (size_t i = 0; i < n; i++) {
        tgi_symbol source = tgi_dims_symbol(graph->dims, i);
        const rg_arg *arg = &p->args[concrete->param_arg[source.param]];
        b->symbols[i] = arg->type[size].dims[source.axis];
    }
}

void rg_buffers_init(rg_buffers *b, const rg_session *s,
                     const tg_concrete *concrete, const tgi_graph *graph,
                     int size, bool is_guarded, uint64_t random)
{
    const rg_program *p = s->program;
    *b = (rg_buffers){.is_guarded = is_guarded, .random = random};
    for (int i = 0; i < p->n_variables; i++)
        b->variables[i] =
            copy_of(b, &p->variables[i].type, p->variables[i].data);
    size_t n = concrete->n_arg_params;
    for (size_t i = 0; i < n; i++)
        b->params[i] = arg_buffer(b, p, &p->args[concrete->param_arg[i]], size);
    for (size_t i = 0; i < concrete->captures.n; i++)
        b->params[n + i] =
            b->variables[number_of(s, concrete->captures.data[i])];
    find_symbols(b, p, concrete, graph, size);
}

void rg_buffers_add_result(rg_buffers *b, size_t i, int dtype, size_t bytes)
{
    b->results[i] = room(b, bytes, dtype);
    memset(b->results[i], JUNK, bytes);
}

bool rg_buffers_is_untouched(const rg_buffers *b, size_t i, size_t bytes)
{
    const unsigned char *result = b->results[i];
    for (size_t k = 0; k < bytes; k++)
        if (result[k] != JUNK)
            return false;
    return true;
}

void rg_buffers_deinit(rg_buffers *b)
{
    tgi_arena_deinit(&b->arena);
}

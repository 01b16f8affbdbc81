/* SPDX-License-Identifier: MIT */
/*
 * random_graph_buffers.c - the memory of one run, as the interpreter and
 * compiled code take it.
 *
 * Guarded memory comes from slots that are mapped once and used again by every
 * run: some pages between two that may not be touched. What lies in a slot
 * begins behind the first of these or ends before the second, so that a step
 * too far is a signal; a step to its other side finds marks, looked at in the
 * end. Elements thus lie at odd multiples of their size as often as not.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "random_graph.h"

/* -- Slots ----------------------------------------------------------------- */

enum {
    PAGE = 4096,
    MOST_SLOTS = RG_MOST_VARIABLES + RG_MOST_PARAMS + RG_MOST_RESULTS,
    MARKS = 128, /* bytes of them */
    MARK = 0x5a,
    JUNK = 0xa5 /* in results that nobody has written yet */
};

typedef struct slot {
    char *memory; /* behind the first guard; NULL: not mapped yet */
    size_t bytes; /* up to the second */
    char *marks;
    size_t n_marks;
} slot;

static slot slots[MOST_SLOTS];

static void map_slot(slot *s, size_t bytes)
{
    if (s->memory)
        munmap(s->memory - PAGE, s->bytes + 2 * PAGE);
    s->bytes = (bytes + MARKS + 8 * PAGE) & ~(size_t)(PAGE - 1);
    char *memory = mmap(NULL, s->bytes + 2 * PAGE, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED ||
        mprotect(memory + PAGE, s->bytes, PROT_READ | PROT_WRITE) != 0)
        abort();
    s->memory = memory + PAGE;
}

/* Memory at the end of a slot, or at its beginning, or near that. */
static void *guarded_room(rg_buffers *b, size_t bytes, int dtype)
{
    if (b->n_guarded == MOST_SLOTS)
        abort();
    slot *s = &slots[b->n_guarded++];
    if (!s->memory || s->bytes < bytes + 2 * MARKS)
        map_slot(s, bytes);
    uint64_t choice = rg_random(&b->random);
    char *start = s->memory + s->bytes - bytes;
    s->marks = start - MARKS;
    s->n_marks = MARKS;
    if (choice % 4 == 0) {
        start = s->memory;
        s->marks = start + bytes;
    } else if (choice % 4 == 1) {
        s->n_marks = (choice >> 32) % 16 * (size_t)tgi_dtype_bytes(dtype);
        start -= s->n_marks;
        s->marks = start + bytes;
    }
    memset(s->marks, MARK, s->n_marks);
    return start;
}

bool rg_buffers_are_intact(const rg_buffers *b)
{
    for (size_t i = 0; i < b->n_guarded; i++)
        for (size_t k = 0; k < slots[i].n_marks; k++)
            if (slots[i].marks[k] != MARK)
                return false;
    return true;
}

/* -- Buffers --------------------------------------------------------------- */

static void *plain_room(rg_buffers *b, size_t bytes)
{
    void *memory = tgi_arena_alloc(&b->arena, bytes + 1);
    if (!memory)
        abort();
    return memory;
}

static void *room(rg_buffers *b, size_t bytes, int dtype)
{
    return b->is_guarded ? guarded_room(b, bytes, dtype) : plain_room(b, bytes);
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

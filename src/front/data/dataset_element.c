/* SPDX-License-Identifier: MIT */
/*
 * dataset_element.c - the memory of elements, and elements that are stored.
 */
#include <string.h>

#include "front/data/dataset_object.h"

tg_status tgi_memory_reserve(tgi_memory *memory, size_t bytes, tg_context *ctx,
                             const char *who)
{
    if (memory->data && memory->bytes >= bytes)
        return TG_OK;
    TGI_TRY(tgi_context_check_memory(ctx, bytes, who, "", TGI_NO_SITE));
    void *data = tgi_buffer_alloc(bytes);
    if (!data)
        return tgi_error_memory();
    tgi_memory_deinit(memory);
    *memory = (tgi_memory){data, bytes};
    return TG_OK;
}

void tgi_memory_deinit(tgi_memory *memory)
{
    if (memory->data)
        tgi_buffer_free(memory->data, memory->bytes);
    *memory = (tgi_memory){NULL, 0};
}

static void free_arrays(tgi_stored *s)
{
    for (size_t i = 0; s->memory && i < s->capacity; i++)
        tgi_memory_deinit(&s->memory[i]);
    tgi_free(s->element.list);
    tgi_free(s->specs);
    tgi_free(s->memory);
}

void tgi_stored_deinit(tgi_stored *stored)
{
    free_arrays(stored);
    *stored = (tgi_stored){.capacity = 0};
}

static tg_status reserve(tgi_stored *s, size_t n)
{
    if (s->capacity >= n)
        return TG_OK;
    tgi_stored larger = {
        .element = {.list = tgi_alloc_zero(n * sizeof(*larger.element.list))},
        .specs = tgi_alloc_zero(n * sizeof(*larger.specs)),
        .memory = tgi_alloc_zero(n * sizeof(*larger.memory)),
        .capacity = n};
    if (!larger.element.list || !larger.specs || !larger.memory) {
        free_arrays(&larger);
        return tgi_error_memory();
    }
    free_arrays(s);
    *s = larger;
    return TG_OK;
}

tg_status tgi_stored_set(tgi_stored *s, const tgi_element *element,
                         tg_context *ctx, const char *who)
{
    TGI_TRY(reserve(s, element->n));
    s->element.n = element->n;
    for (size_t i = 0; i < element->n; i++) {
        const tgi_component *from = &element->list[i];
        tgi_component *to = &s->element.list[i];
        tgi_memory *memory = &s->memory[i];
        s->specs[i] = *from->spec;
        *to = (tgi_component){.spec = &s->specs[i],
                              .data = from->data,
                              .is_stable = from->is_stable};
        if (from->is_stable)
            continue;
        to->home = memory;
        if (from->home) {
            const tgi_memory own = *memory;
            *memory = *from->home;
            *from->home = own;
            continue;
        }
        const size_t bytes = (size_t)from->spec->bytes;
        TGI_TRY(tgi_memory_reserve(memory, bytes, ctx, who));
        if (bytes)
            memcpy(memory->data, from->data, bytes);
        to->data = memory->data;
    }
    return TG_OK;
}

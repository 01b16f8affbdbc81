/* SPDX-License-Identifier: MIT */
/*
 * dataset_cache.c - tg_dataset_cache. Every pass that finds the cache empty
 * fills a store of its own; the first to reach the end without an error hands
 * it to the dataset. Stores are never changed after that, so readers need no
 * lock.
 */
#include <string.h>

#include "base/arena.h"
#include "front/data/dataset_object.h"

typedef struct store {
    tgi_arena arena; /* of everything in the elements */
    TGI_VEC(tgi_element) elements;
} store;

typedef struct cache_dataset {
    tg_dataset base;
    _Atomic(store *) full; /* owned; NULL until a pass has filled it */
} cache_dataset;

typedef struct cache_cursor {
    tgi_cursor base;
    const store *reads; /* of the dataset, or NULL: fills `own` */
    size_t next;        /* element of `reads` */
    store *own;
    bool has_failed; /* the pass is incomplete */
} cache_cursor;

static void destroy_store(store *s)
{
    if (!s)
        return;
    tgi_arena_deinit(&s->arena);
    tgi_vec_deinit(&s->elements);
    tgi_free(s);
}

static void deinit(tg_dataset *dataset)
{
    destroy_store(atomic_load(&((cache_dataset *)dataset)->full));
}

static void cursor_deinit(tgi_cursor *cursor)
{
    destroy_store(((cache_cursor *)cursor)->own);
}

static void start(tgi_cursor *cursor)
{
    cache_cursor *c = (cache_cursor *)cursor;
    destroy_store(c->own);
    c->own = NULL;
    c->next = 0;
    c->has_failed = false;
    c->reads = atomic_load(&((cache_dataset *)cursor->dataset)->full);
    if (!c->reads)
        tgi_cursor_start_inputs(cursor);
}

/* Copies data to the arena, aligned for vectors unless it is small. */
static void *copy_data(tgi_arena *arena, const void *data, size_t bytes)
{
    const size_t align = bytes < TGI_BUFFER_ALIGN ? 1 : TGI_BUFFER_ALIGN;
    char *memory = tgi_arena_alloc(arena, bytes + align);
    if (!memory)
        return NULL;
    memory += (align - (uintptr_t)memory % align) % align;
    if (bytes)
        memcpy(memory, data, bytes);
    return memory;
}

static tg_status add_element(cache_cursor *c, const tgi_element *e)
{
    tg_context *ctx = c->base.dataset->ctx;
    store *s = c->own ? c->own : (c->own = tgi_alloc_zero(sizeof(*s)));
    if (!s || !tgi_vec_reserve(&s->elements, s->elements.n + 1))
        return tgi_error_memory();
    TGI_TRY(tgi_context_check_memory(
        ctx, s->arena.bytes, c->base.dataset->kind->name, "", TGI_NO_SITE));
    tgi_component *list =
        tgi_arena_copy(&s->arena, e->list, e->n * sizeof(*list));
    for (size_t i = 0; list && i < e->n; i++) {
        const tgi_component *from = &e->list[i];
        list[i] = (tgi_component){
            .spec = tgi_arena_copy(&s->arena, from->spec, sizeof(tgi_spec)),
            .data = copy_data(&s->arena, from->data, (size_t)from->spec->bytes),
            .is_stable = true};
        if (!list[i].spec || !list[i].data)
            return tgi_error_memory();
    }
    if (!list)
        return tgi_error_memory();
    s->elements.data[s->elements.n++] = (tgi_element){list, e->n};
    return TG_OK;
}

/* Hands the store of a complete pass to the dataset. */
static void publish(cache_cursor *c)
{
    cache_dataset *d = (cache_dataset *)c->base.dataset;
    store *expected = NULL;
    if (!c->has_failed && c->own && !tgi_cursor_is_stopped(&c->base) &&
        atomic_compare_exchange_strong(&d->full, &expected, c->own))
        c->own = NULL;
}

static tg_status next(tgi_cursor *cursor, tgi_element *out_element)
{
    cache_cursor *c = (cache_cursor *)cursor;
    if (c->reads) {
        if (c->next >= c->reads->elements.n)
            return TG_END_OF_DATA;
        *out_element = c->reads->elements.data[c->next++];
        return TG_OK;
    }
    tg_status status = tgi_cursor_next(cursor->inputs[0], out_element);
    if (status == TG_OK && !c->has_failed)
        status = add_element(c, out_element);
    if (status == TG_END_OF_DATA)
        publish(c);
    else
        c->has_failed |= status != TG_OK;
    return status;
}

static const tgi_dataset_kind cache_kind = {
    .name = "tg_dataset_cache",
    .cursor_bytes = sizeof(cache_cursor),
    .deinit = deinit,
    .cursor_deinit = cursor_deinit,
    .start = start,
    .next = next,
};

tg_dataset *tg_dataset_cache(tg_dataset *dataset)
{
    cache_dataset *d =
        tgi_dataset_create_step(&cache_kind, sizeof(*d), dataset, TGI_NO_SITE);
    return d ? &d->base : NULL;
}

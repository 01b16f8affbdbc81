/* SPDX-License-Identifier: MIT */
/*
 * dataset_interleave.c - tg_dataset_interleave, of a list of datasets, and
 * tg_dataset_interleave_map, of datasets that a callback makes from elements.
 */
#include <string.h>

#include "front/data/dataset_object.h"

enum { MAX_CYCLE = 4096 };

typedef struct interleave_dataset {
    tg_dataset base;
    int64_t cycle, block;
    tg_dataset_callback *callback;
    void *user;
} interleave_dataset;

/* One of the cursors that take turns. */
typedef struct turn {
    tg_dataset *dataset; /* owned; made by the callback */
    tgi_cursor *cursor;  /* owned; NULL: to be made from the next element */
} turn;

typedef struct interleave_cursor {
    tgi_cursor base;
    size_t current;
    int64_t n_taken; /* elements of the current block */
    turn *turns;     /* interleave_map only */
    /* interleave_map: the components of the element */
    tgi_component *list;
    size_t capacity;
} interleave_cursor;

static const interleave_dataset *dataset_of(const interleave_cursor *c)
{
    return (const interleave_dataset *)c->base.dataset;
}

static void advance(interleave_cursor *c, size_t n)
{
    c->current = (c->current + 1) % n;
    c->n_taken = 0;
}

/* Counts an element of the current block. */
static void count_element(interleave_cursor *c, size_t n)
{
    if (++c->n_taken >= dataset_of(c)->block)
        advance(c, n);
}

/* -- Lists ----------------------------------------------------------------- */

static void start(tgi_cursor *cursor)
{
    interleave_cursor *c = (interleave_cursor *)cursor;
    c->current = 0;
    c->n_taken = 0;
    tgi_cursor_start_inputs(cursor);
}

static tg_status next(tgi_cursor *cursor, tgi_element *out_element)
{
    interleave_cursor *c = (interleave_cursor *)cursor;
    const size_t n = cursor->n_inputs;
    for (size_t n_ended = 0; n_ended < n; n_ended++) {
        const tg_status status =
            tgi_cursor_next(cursor->inputs[c->current], out_element);
        if (status == TG_OK)
            count_element(c, n);
        if (status != TG_END_OF_DATA)
            return status;
        advance(c, n);
    }
    return TG_END_OF_DATA;
}

static const tgi_dataset_kind interleave_kind = {
    .name = "tg_dataset_interleave",
    .cursor_bytes = sizeof(interleave_cursor),
    .start = start,
    .next = next,
};

tg_dataset *tg_dataset_interleave(tg_dataset *const *datasets, size_t n,
                                  int64_t block)
{
    interleave_dataset *d = NULL;
    const char *who = interleave_kind.name;
    if (!datasets || n == 0)
        tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                      "%s: there are no datasets", who);
    else
        d = tgi_dataset_create(&interleave_kind, sizeof(*d),
                               datasets[0] ? datasets[0]->ctx : NULL, datasets,
                               n, TGI_NO_SITE);
    if (d && block <= 0)
        return tgi_dataset_reject(
            &interleave_kind, &d->base, TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
            "a block of %lld elements is not positive", (long long)block);
    if (!d)
        return NULL;
    d->block = block;
    return &d->base;
}

/* -- Datasets of a callback ------------------------------------------------ */

static void end_turn(turn *t)
{
    tgi_cursor_destroy(t->cursor);
    tg_dataset_release(t->dataset);
    *t = (turn){NULL, NULL};
}

static tg_status map_init(tgi_cursor *cursor)
{
    interleave_cursor *c = (interleave_cursor *)cursor;
    c->turns = tgi_alloc_zero((size_t)dataset_of(c)->cycle * sizeof(turn));
    return c->turns ? TG_OK : tgi_error_memory();
}

static void end_turns(interleave_cursor *c)
{
    for (int64_t i = 0; c->turns && i < dataset_of(c)->cycle; i++)
        end_turn(&c->turns[i]);
}

static void map_deinit(tgi_cursor *cursor)
{
    interleave_cursor *c = (interleave_cursor *)cursor;
    end_turns(c);
    tgi_free(c->turns);
    tgi_free(c->list);
}

static void map_start(tgi_cursor *cursor)
{
    end_turns((interleave_cursor *)cursor);
    start(cursor);
}

/* Calls the callback with copies of the components. */
static tg_status call_with_tensors(const interleave_dataset *d,
                                   const tgi_element *e, tg_tensor **tensors,
                                   tg_dataset **out_dataset)
{
    for (size_t i = 0; i < e->n; i++) {
        const tgi_spec *spec = e->list[i].spec;
        tensors[i] = tg_tensor_copy(d->base.ctx, e->list[i].data, spec->dtype,
                                    spec->rank, spec->dims);
        if (!tensors[i])
            return tg_error_last()->status;
    }
    tgi_error_copy before;
    tgi_error_save(&before);
    tg_error_clear();
    *out_dataset = d->callback(tensors, e->n, d->user);
    if (*out_dataset)
        tgi_error_restore(&before);
    else if (tg_error_last()->status == TG_OK)
        TGI_FAIL(TG_ERROR_CALLBACK, TGI_NO_SITE,
                 "%s: the callback returned NULL", d->base.kind->name);
    return *out_dataset ? TG_OK : tg_error_last()->status;
}

static tg_status call(const interleave_dataset *d, const tgi_element *e,
                      tg_dataset **out_dataset)
{
    tg_tensor **tensors = tgi_alloc_zero(e->n * sizeof(*tensors));
    if (!tensors)
        return tgi_error_memory();
    const tg_status status = call_with_tensors(d, e, tensors, out_dataset);
    for (size_t i = 0; i < e->n; i++)
        tg_tensor_release(tensors[i]);
    tgi_free(tensors);
    return status;
}

/* Makes the dataset of the next element and begins a pass over it. */
static tg_status begin_turn(interleave_cursor *c, turn *t)
{
    const interleave_dataset *d = dataset_of(c);
    tgi_element e;
    TGI_TRY(tgi_cursor_next(c->base.inputs[0], &e));
    TGI_TRY(call(d, &e, &t->dataset));
    tg_status status = TG_OK;
    if (t->dataset->ctx != d->base.ctx)
        status = tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                               "%s: the dataset of the callback belongs to "
                               "another context",
                               d->base.kind->name);
    else if (c->base.depth + t->dataset->depth > TG_MAX_NESTING)
        status =
            tgi_error_set(TG_ERROR_LIMIT, TGI_NO_SITE,
                          "%s: chains nested %d steps deep; the limit is "
                          "%d",
                          d->base.kind->name, c->base.depth + t->dataset->depth,
                          TG_MAX_NESTING);
    else
        status = tgi_cursor_create(t->dataset, c->base.iterator, c->base.stop,
                                   c->base.depth + 1, &t->cursor);
    if (status) {
        end_turn(t);
        return status;
    }
    tgi_cursor_start(t->cursor);
    return TG_OK;
}

/* The element without promises that its cursor, which may go, cannot keep. */
static tg_status detach(interleave_cursor *c, const tgi_element *e,
                        tgi_element *out_element)
{
    if (c->capacity < e->n) {
        tgi_free(c->list);
        c->list = tgi_alloc(e->n * sizeof(*c->list));
        c->capacity = c->list ? e->n : 0;
        if (!c->list)
            return tgi_error_memory();
    }
    memcpy(c->list, e->list, e->n * sizeof(*c->list));
    for (size_t i = 0; i < e->n; i++)
        c->list[i].is_stable = false;
    *out_element = (tgi_element){c->list, e->n};
    return TG_OK;
}

static tg_status map_next(tgi_cursor *cursor, tgi_element *out_element)
{
    interleave_cursor *c = (interleave_cursor *)cursor;
    const size_t n = (size_t)dataset_of(c)->cycle;
    size_t n_empty = 0;
    while (n_empty < n && !tgi_cursor_is_stopped(cursor)) {
        turn *t = &c->turns[c->current];
        if (!t->cursor) {
            const tg_status status = begin_turn(c, t);
            if (status == TG_END_OF_DATA) {
                advance(c, n);
                n_empty++;
                continue;
            }
            TGI_TRY(status);
        }
        tgi_element e;
        const tg_status status = tgi_cursor_next(t->cursor, &e);
        if (status == TG_OK) {
            count_element(c, n);
            return detach(c, &e, out_element);
        }
        if (status != TG_END_OF_DATA)
            return status;
        end_turn(t);
        c->n_taken = 0;
        n_empty = 0;
    }
    return TG_END_OF_DATA;
}

static const tgi_dataset_kind interleave_map_kind = {
    .name = "tg_dataset_interleave_map",
    .cursor_bytes = sizeof(interleave_cursor),
    .cursor_init = map_init,
    .cursor_deinit = map_deinit,
    .start = map_start,
    .next = map_next,
};

tg_dataset *tg_dataset_interleave_map(tg_dataset *dataset,
                                      tg_dataset_callback *callback, void *user,
                                      int64_t cycle, int64_t block)
{
    const tgi_dataset_kind *kind = &interleave_map_kind;
    if (!callback)
        return tgi_dataset_reject(kind, dataset, TG_ERROR_INVALID_ARGUMENT,
                                  TGI_NO_SITE, "the callback is NULL");
    if (cycle < 1 || cycle > MAX_CYCLE)
        return tgi_dataset_reject(
            kind, dataset, TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
            "a cycle of %lld is not in 1 … %d", (long long)cycle, MAX_CYCLE);
    if (block < 1)
        return tgi_dataset_reject(
            kind, dataset, TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
            "a block of %lld elements is not positive", (long long)block);
    interleave_dataset *d =
        tgi_dataset_create_step(kind, sizeof(*d), dataset, TGI_NO_SITE);
    if (!d)
        return NULL;
    d->cycle = cycle;
    d->block = block;
    d->callback = callback;
    d->user = user;
    return &d->base;
}

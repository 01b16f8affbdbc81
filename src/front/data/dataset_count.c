/* SPDX-License-Identifier: MIT */
/*
 * dataset_count.c - steps that count elements: repeat, take, skip, enumerate.
 */
#include <string.h>

#include "front/data/dataset_object.h"

typedef struct count_dataset {
    tg_dataset base;
    int64_t count;
} count_dataset;

typedef struct count_cursor {
    tgi_cursor base;
    int64_t n;        /* repetitions or elements so far in this pass */
    bool has_element; /* repeat: in this repetition */
    /* enumerate: the number, and all components */
    tgi_spec number_spec;
    tgi_component *list;
    size_t capacity;
} count_cursor;

static int64_t count_of(const tgi_cursor *cursor)
{
    return ((const count_dataset *)cursor->dataset)->count;
}

static void start(tgi_cursor *cursor)
{
    count_cursor *c = (count_cursor *)cursor;
    c->n = 0;
    c->has_element = false;
    tgi_cursor_start_inputs(cursor);
}

/* Creates a step; a count below `least` is an error. */
static tg_dataset *create(const tgi_dataset_kind *kind, tg_dataset *input,
                          int64_t count, int64_t least)
{
    if (count < least)
        return tgi_dataset_reject(kind, input, TG_ERROR_INVALID_ARGUMENT,
                                  TGI_NO_SITE, "a count of %lld is negative%s",
                                  (long long)count,
                                  least < 0 ? " and not TG_FOREVER" : "");
    count_dataset *d =
        tgi_dataset_create_step(kind, sizeof(*d), input, TGI_NO_SITE);
    if (!d)
        return NULL;
    d->count = count;
    return &d->base;
}

/* -- Repeat ---------------------------------------------------------------- */

static tg_status repeat_next(tgi_cursor *cursor, tgi_element *out_element)
{
    count_cursor *c = (count_cursor *)cursor;
    const int64_t count = count_of(cursor);
    if (count == 0)
        return TG_END_OF_DATA;
    for (;;) {
        const tg_status status =
            tgi_cursor_next(cursor->inputs[0], out_element);
        if (status != TG_END_OF_DATA) {
            c->has_element |= status == TG_OK;
            return status;
        }
        if (!c->has_element || tgi_cursor_is_stopped(cursor) ||
            (count != TG_FOREVER && ++c->n >= count))
            return TG_END_OF_DATA;
        c->has_element = false;
        tgi_cursor_start_inputs(cursor);
    }
}

static const tgi_dataset_kind repeat_kind = {
    .name = "tg_dataset_repeat",
    .cursor_bytes = sizeof(count_cursor),
    .start = start,
    .next = repeat_next,
};

tg_dataset *tg_dataset_repeat(tg_dataset *dataset, int64_t count)
{
    return create(&repeat_kind, dataset, count, TG_FOREVER);
}

/* -- Take and skip --------------------------------------------------------- */

static tg_status take_next(tgi_cursor *cursor, tgi_element *out_element)
{
    count_cursor *c = (count_cursor *)cursor;
    if (c->n >= count_of(cursor))
        return TG_END_OF_DATA;
    TGI_TRY(tgi_cursor_next(cursor->inputs[0], out_element));
    c->n++;
    return TG_OK;
}

static const tgi_dataset_kind take_kind = {
    .name = "tg_dataset_take",
    .cursor_bytes = sizeof(count_cursor),
    .start = start,
    .next = take_next,
};

tg_dataset *tg_dataset_take(tg_dataset *dataset, int64_t count)
{
    return create(&take_kind, dataset, count, 0);
}

static tg_status skip_next(tgi_cursor *cursor, tgi_element *out_element)
{
    count_cursor *c = (count_cursor *)cursor;
    for (; c->n < count_of(cursor); c->n++) {
        if (tgi_cursor_is_stopped(cursor))
            return TG_END_OF_DATA;
        TGI_TRY(tgi_cursor_next(cursor->inputs[0], out_element));
    }
    return tgi_cursor_next(cursor->inputs[0], out_element);
}

static const tgi_dataset_kind skip_kind = {
    .name = "tg_dataset_skip",
    .cursor_bytes = sizeof(count_cursor),
    .start = start,
    .next = skip_next,
};

tg_dataset *tg_dataset_skip(tg_dataset *dataset, int64_t count)
{
    return create(&skip_kind, dataset, count, 0);
}

/* -- Enumerate ------------------------------------------------------------- */

static tg_status enumerate_init(tgi_cursor *cursor)
{
    count_cursor *c = (count_cursor *)cursor;
    c->n = -1;
    return tgi_spec_init(&c->number_spec, cursor->dataset->kind->name, TG_I64,
                         0, NULL);
}

static void enumerate_deinit(tgi_cursor *cursor)
{
    tgi_free(((count_cursor *)cursor)->list);
}

static void enumerate_start(tgi_cursor *cursor)
{
    start(cursor);
    ((count_cursor *)cursor)->n = -1; /* of the element emitted last */
}

static tg_status enumerate_next(tgi_cursor *cursor, tgi_element *out_element)
{
    count_cursor *c = (count_cursor *)cursor;
    tgi_element e;
    TGI_TRY(tgi_cursor_next(cursor->inputs[0], &e));
    c->n++;
    if (c->capacity < e.n + 1) {
        tgi_free(c->list);
        c->list = tgi_alloc((e.n + 1) * sizeof(*c->list));
        c->capacity = c->list ? e.n + 1 : 0;
        if (!c->list)
            return tgi_error_memory();
    }
    c->list[0] = (tgi_component){.spec = &c->number_spec, .data = &c->n};
    memcpy(c->list + 1, e.list, e.n * sizeof(*c->list));
    *out_element = (tgi_element){c->list, e.n + 1};
    return TG_OK;
}

static const tgi_dataset_kind enumerate_kind = {
    .name = "tg_dataset_enumerate",
    .cursor_bytes = sizeof(count_cursor),
    .cursor_init = enumerate_init,
    .cursor_deinit = enumerate_deinit,
    .start = enumerate_start,
    .next = enumerate_next,
};

tg_dataset *tg_dataset_enumerate(tg_dataset *dataset)
{
    return create(&enumerate_kind, dataset, 0, 0);
}

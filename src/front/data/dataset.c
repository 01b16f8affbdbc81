/* SPDX-License-Identifier: MIT */
/*
 * dataset.c - creating and releasing datasets and cursors of all kinds.
 */
#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "base/live.h"
#include "front/data/dataset_object.h"

/* -- Datasets -------------------------------------------------------------- */

static void release_all(tg_dataset *const *datasets, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tg_dataset_release(datasets[i]);
}

/* Checks the inputs of a new dataset; *out_depth is that of the dataset. */
static tg_status check_inputs(const char *who, tg_context *ctx,
                              tg_dataset *const *inputs, size_t n, tg_site site,
                              int *out_depth)
{
    int depth = 0;
    for (size_t i = 0; i < n; i++) {
        if (!inputs[i]) {
            const tg_status earlier = tg_error_last()->status;
            if (earlier != TG_OK)
                return earlier;
            TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site, "%s: the dataset is NULL",
                     who);
        }
        if (inputs[i]->ctx != ctx)
            TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site,
                     "%s: dataset %zu belongs to another context", who, i);
        if (depth < inputs[i]->depth)
            depth = inputs[i]->depth;
    }
    *out_depth = depth + 1;
    if (*out_depth > TG_MAX_NESTING)
        TGI_FAIL(TG_ERROR_LIMIT, site,
                 "%s: a chain of %d steps; the limit is %d", who, *out_depth,
                 TG_MAX_NESTING);
    return TG_OK;
}

static tg_dataset *alloc_dataset(size_t bytes, tg_dataset *const *inputs,
                                 size_t n)
{
    tg_dataset *d = tgi_alloc_zero(bytes);
    tg_dataset **copy = tgi_alloc((n + 1) * sizeof(*copy));
    if (!d || !copy) {
        tgi_free(d);
        tgi_free(copy);
        tgi_error_memory();
        return NULL;
    }
    if (n)
        memcpy(copy, inputs, n * sizeof(*copy));
    d->inputs = copy;
    d->n_inputs = n;
    return d;
}

void *tgi_dataset_create(const tgi_dataset_kind *kind, size_t bytes,
                         tg_context *ctx, tg_dataset *const *inputs, size_t n,
                         tg_site site)
{
    tgi_api_frame frame = tgi_api_enter(ctx, kind->name);
    tg_dataset *d = NULL;
    int depth = 0;
    if (!check_inputs(kind->name, ctx, inputs, n, site, &depth))
        d = alloc_dataset(bytes, inputs, n);
    if (d) {
        tgi_refcount_init(&d->refs);
        d->kind = kind;
        d->ctx = tgi_context_ref(ctx);
        d->site = site;
        d->depth = depth;
        tgi_live_add(TGI_LIVE_DATASET, 1);
    } else {
        release_all(inputs, n);
    }
    tgi_api_leave(frame);
    return d;
}

void *tgi_dataset_create_step(const tgi_dataset_kind *kind, size_t bytes,
                              tg_dataset *input, tg_site site)
{
    return tgi_dataset_create(kind, bytes, input ? input->ctx : NULL, &input, 1,
                              site);
}

tg_dataset *tgi_dataset_reject(const tgi_dataset_kind *kind, tg_dataset *input,
                               tg_status status, tg_site site,
                               const char *format, ...)
{
    if (!input)
        return tgi_dataset_create_step(kind, 0, NULL, site);
    tgi_api_frame frame = tgi_api_enter(input->ctx, kind->name);
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    tgi_error_set(status, site, "%s: %s", kind->name, text);
    tg_dataset_release(input);
    tgi_api_leave(frame);
    return NULL;
}

tg_dataset *tg_dataset_retain(tg_dataset *dataset)
{
    if (dataset)
        tgi_refcount_inc(&dataset->refs);
    return dataset;
}

void tg_dataset_release(tg_dataset *d)
{
    if (!d || !tgi_refcount_dec(&d->refs))
        return;
    if (d->kind->deinit)
        d->kind->deinit(d);
    release_all(d->inputs, d->n_inputs);
    tgi_free(d->inputs);
    tgi_context_unref(d->ctx);
    tgi_free(d);
    tgi_live_add(TGI_LIVE_DATASET, -1);
}

/* -- Cursors --------------------------------------------------------------- */

static tg_status init_cursor(tgi_cursor *c)
{
    const tg_dataset *d = c->dataset;
    c->inputs = tgi_alloc_zero((d->n_inputs + 1) * sizeof(*c->inputs));
    if (!c->inputs)
        return tgi_error_memory();
    c->n_inputs = d->n_inputs;
    for (size_t i = 0; i < d->n_inputs; i++)
        TGI_TRY(tgi_cursor_create(d->inputs[i], c->iterator,
                                  d->kind->is_threaded ? &c->own_stop : c->stop,
                                  c->depth + 1, &c->inputs[i]));
    return d->kind->cursor_init ? d->kind->cursor_init(c) : TG_OK;
}

static void destroy_cursor(void *cursor)
{
    tgi_cursor_destroy(cursor);
}

tg_status tgi_cursor_create(tg_dataset *dataset, const tg_iterator *iterator,
                            const tgi_stop *stop, int depth,
                            tgi_cursor **out_cursor)
{
    tgi_cursor *c = tgi_alloc_zero(dataset->kind->cursor_bytes);
    if (!c)
        return tgi_error_memory();
    c->dataset = dataset;
    c->iterator = iterator;
    c->stop = stop;
    c->own_stop.outer = stop;
    c->depth = depth;
    c->has_ended = true;
    const tg_status status = init_cursor(c);
    if (status)
        tgi_error_preserve_during(destroy_cursor, c);
    else
        *out_cursor = c;
    return status;
}

void tgi_cursor_destroy(tgi_cursor *c)
{
    if (!c)
        return;
    if (c->dataset->kind->cursor_deinit)
        c->dataset->kind->cursor_deinit(c);
    for (size_t i = 0; i < c->n_inputs; i++)
        tgi_cursor_destroy(c->inputs[i]);
    tgi_free(c->inputs);
    tgi_free(c);
}

void tgi_cursor_start_inputs(tgi_cursor *c)
{
    for (size_t i = 0; i < c->n_inputs; i++)
        tgi_cursor_start(c->inputs[i]);
}

void tgi_cursor_start(tgi_cursor *c)
{
    c->has_ended = false;
    if (c->dataset->kind->start)
        c->dataset->kind->start(c);
    else
        tgi_cursor_start_inputs(c);
}

tg_status tgi_cursor_next(tgi_cursor *c, tgi_element *out_element)
{
    if (c->has_ended)
        return TG_END_OF_DATA;
    TGI_TRY(tgi_cancel_check());
    const tg_status status = c->dataset->kind->next(c, out_element);
    c->has_ended |= status == TG_END_OF_DATA;
    return status;
}

bool tgi_cursor_is_stopped(const tgi_cursor *c)
{
    for (const tgi_stop *stop = c->stop; stop; stop = stop->outer)
        if (atomic_load_explicit(&stop->is_requested, memory_order_relaxed))
            return true;
    return false;
}

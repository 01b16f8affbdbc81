/* SPDX-License-Identifier: MIT */
/*
 * dataset_generator.c - tg_dataset_from_generator: elements of C callbacks. The
 * generator is opened by the first pull of a pass, in the thread that pulls.
 */
#include <string.h>

#include "front/data/dataset_object.h"

typedef struct generator_dataset {
    tg_dataset base;
    tg_generator generator;
    void *user;
    size_t n;
    tg_spec specs[];
} generator_dataset;

/* What callbacks fill: a part of the cursor. */
struct tg_element {
    const generator_dataset *dataset;
    tgi_component *list;
    tgi_spec *specs;
    tgi_memory *memory;
    bool *is_set; /* the extents are known */
};

typedef struct generator_cursor {
    tgi_cursor base;
    tg_element element;
    void *state;
    bool is_open;
} generator_cursor;

static const char who[] = "tg_dataset_from_generator";

/* -- Elements -------------------------------------------------------------- */

static tg_status check_component(const tg_element *e, size_t i)
{
    if (!e)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "tg_element: the element is NULL");
    if (i >= e->dataset->n)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "tg_element: there is no component %zu; the generator has %zu",
                 i, e->dataset->n);
    return TG_OK;
}

static tg_status set_component(tg_element *e, size_t i, int rank,
                               const int64_t *dims)
{
    TGI_TRY(check_component(e, i));
    const tg_spec *want = &e->dataset->specs[i];
    tgi_spec spec;
    TGI_TRY(tgi_spec_init(&spec, who, want->dtype, rank, dims));
    bool fits = rank == want->rank;
    for (int k = 0; k < rank && fits; k++)
        fits = want->dims[k] < 0 || want->dims[k] == dims[k];
    if (!fits) {
        char text[2][256];
        TGI_FAIL(
            TG_ERROR_SHAPE, TGI_NO_SITE,
            "%s: component %zu is %s, but its spec is %s", who, i,
            tgi_spec_text(spec.dtype, rank, dims, text[0], 256),
            tgi_spec_text(want->dtype, want->rank, want->dims, text[1], 256));
    }
    TGI_TRY(tgi_memory_reserve(&e->memory[i], (size_t)spec.bytes,
                               e->dataset->base.ctx, who));
    e->specs[i] = spec;
    e->is_set[i] = true;
    return TG_OK;
}

void *tg_element_resize(tg_element *element, size_t i, int rank,
                        const int64_t *dims)
{
    return set_component(element, i, rank, dims) ? NULL
                                                 : element->memory[i].data;
}

void *tg_element_data(tg_element *element, size_t i)
{
    if (check_component(element, i))
        return NULL;
    const tg_spec *spec = &element->dataset->specs[i];
    for (int k = 0; k < spec->rank; k++)
        if (spec->dims[k] < 0) {
            tgi_error_set(TG_ERROR_SHAPE, TGI_NO_SITE,
                          "tg_element_data: component %zu has unknown extents; "
                          "use tg_element_resize",
                          i);
            return NULL;
        }
    return tg_element_resize(element, i, spec->rank, spec->dims);
}

/* -- Cursor ---------------------------------------------------------------- */

static tg_status cursor_init(tgi_cursor *cursor)
{
    generator_cursor *c = (generator_cursor *)cursor;
    const generator_dataset *d = (const generator_dataset *)cursor->dataset;
    tg_element *e = &c->element;
    e->dataset = d;
    e->list = tgi_alloc_zero(d->n * sizeof(*e->list));
    e->specs = tgi_alloc_zero(d->n * sizeof(*e->specs));
    e->memory = tgi_alloc_zero(d->n * sizeof(*e->memory));
    e->is_set = tgi_alloc_zero(d->n * sizeof(*e->is_set));
    return e->list && e->specs && e->memory && e->is_set ? TG_OK
                                                         : tgi_error_memory();
}

static void close_generator(generator_cursor *c)
{
    const generator_dataset *d = (const generator_dataset *)c->base.dataset;
    if (c->is_open && d->generator.close)
        d->generator.close(c->state);
    c->is_open = false;
}

static void cursor_deinit(tgi_cursor *cursor)
{
    generator_cursor *c = (generator_cursor *)cursor;
    tg_element *e = &c->element;
    close_generator(c);
    for (size_t i = 0; e->memory && i < e->dataset->n; i++)
        tgi_memory_deinit(&e->memory[i]);
    tgi_free(e->list);
    tgi_free(e->specs);
    tgi_free(e->memory);
    tgi_free(e->is_set);
}

static void start(tgi_cursor *cursor)
{
    close_generator((generator_cursor *)cursor);
}

/* Records the failure of a callback. */
static tg_status fail_callback(tg_status status, const char *callback)
{
    const tg_error_record *record = tg_error_last();
    if (record->status == status)
        return status;
    if ((int)status < 0 || status >= TG_END_OF_DATA)
        TGI_FAIL(TG_ERROR_CALLBACK, TGI_NO_SITE,
                 "%s: %s returned %d, which is not a status it may return", who,
                 callback, (int)status);
    TGI_FAIL(status, TGI_NO_SITE, "%s: %s failed: %s", who, callback,
             tg_status_name(status));
}

static tg_status open_generator(generator_cursor *c)
{
    const generator_dataset *d = (const generator_dataset *)c->base.dataset;
    c->state = d->user;
    if (d->generator.open) {
        const tg_status status = d->generator.open(d->user, &c->state);
        if (status) {
            c->base.has_ended = true; /* do not open it again and again */
            return fail_callback(status, "open");
        }
    }
    c->is_open = true;
    return TG_OK;
}

/* The element that `next` has filled. */
static tg_status take_element(tg_element *e, tgi_element *out_element)
{
    const generator_dataset *d = e->dataset;
    for (size_t i = 0; i < d->n; i++) {
        if (!e->is_set[i])
            TGI_FAIL(TG_ERROR_CALLBACK, TGI_NO_SITE,
                     "%s: next did not set component %zu", who, i);
        e->list[i] = (tgi_component){.spec = &e->specs[i],
                                     .data = e->memory[i].data,
                                     .home = &e->memory[i]};
    }
    *out_element = (tgi_element){e->list, d->n};
    return TG_OK;
}

/* Calls a callback that has the error record for itself. */
static tg_status pull(generator_cursor *c)
{
    const generator_dataset *d = (const generator_dataset *)c->base.dataset;
    if (!c->is_open)
        TGI_TRY(open_generator(c));
    memset(c->element.is_set, 0, d->n * sizeof(*c->element.is_set));
    const tg_status status = d->generator.next(c->state, &c->element);
    return status == TG_OK || status == TG_END_OF_DATA
               ? status
               : fail_callback(status, "next");
}

static tg_status next(tgi_cursor *cursor, tgi_element *out_element)
{
    generator_cursor *c = (generator_cursor *)cursor;
    tgi_error_copy before;
    tgi_error_save(&before);
    tg_error_clear();
    tg_status status = pull(c);
    if (status == TG_OK)
        status = take_element(&c->element, out_element);
    if (status == TG_END_OF_DATA)
        close_generator(c);
    if (status == TG_OK || status == TG_END_OF_DATA)
        tgi_error_restore(&before);
    return status;
}

static const tgi_dataset_kind generator_kind = {
    .name = who,
    .cursor_bytes = sizeof(generator_cursor),
    .cursor_init = cursor_init,
    .cursor_deinit = cursor_deinit,
    .start = start,
    .next = next,
};

/* -- Dataset --------------------------------------------------------------- */

/* Unknown extents count as 0 in the check of a spec. */
static tg_status check_spec(const tg_spec *spec, size_t i)
{
    int64_t dims[TG_MAX_RANK] = {0};
    tgi_spec known;
    if (spec->kind != TG_SPEC_TENSOR)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "%s: spec %zu is not that of a tensor", who, i);
    for (int k = 0; k < spec->rank && k < TG_MAX_RANK; k++)
        dims[k] = spec->dims[k] < 0 ? 0 : spec->dims[k];
    return tgi_spec_init(&known, who, spec->dtype, spec->rank, dims);
}

static tg_status check_arguments(tg_context *ctx, const tg_spec *specs,
                                 size_t n, const tg_generator *generator)
{
    if (!ctx)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "%s: the context is NULL", who);
    if (!specs || n == 0)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "%s: there are no specs", who);
    if (!generator || !generator->next)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "%s: the generator has no callback `next`", who);
    for (size_t i = 0; i < n; i++)
        TGI_TRY(check_spec(&specs[i], i));
    return TG_OK;
}

tg_dataset *tg_dataset_from_generator(tg_context *ctx, const tg_spec *specs,
                                      size_t n, const tg_generator *generator,
                                      void *user)
{
    tgi_api_frame frame = tgi_api_enter(ctx, who);
    generator_dataset *d = NULL;
    if (!check_arguments(ctx, specs, n, generator))
        d = tgi_dataset_create(&generator_kind, sizeof(*d) + n * sizeof(*specs),
                               ctx, NULL, 0, TGI_NO_SITE);
    if (d) {
        d->generator = *generator;
        d->user = user;
        d->n = n;
        memcpy(d->specs, specs, n * sizeof(*specs));
    }
    tgi_api_leave(frame);
    return d ? &d->base : NULL;
}

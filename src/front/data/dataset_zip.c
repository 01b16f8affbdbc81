/* SPDX-License-Identifier: MIT */
/*
 * dataset_zip.c - tg_dataset_zip. If an input fails, the others still advance,
 * so that rows stay aligned.
 */
#include <string.h>

#include "front/data/dataset_object.h"

typedef struct zip_cursor {
    tgi_cursor base;
    tgi_component *list;
    size_t n, capacity;
} zip_cursor;

static void cursor_deinit(tgi_cursor *cursor)
{
    tgi_free(((zip_cursor *)cursor)->list);
}

static tg_status append(zip_cursor *c, const tgi_element *e)
{
    if (c->capacity < c->n + e->n) {
        tgi_component *list =
            tgi_realloc(c->list, (c->n + e->n) * sizeof(*list));
        if (!list)
            return tgi_error_memory();
        c->list = list;
        c->capacity = c->n + e->n;
    }
    memcpy(c->list + c->n, e->list, e->n * sizeof(*e->list));
    c->n += e->n;
    return TG_OK;
}

/* Pulls from the inputs from number c->n on. */
static void drop_row(void *cursor)
{
    zip_cursor *c = cursor;
    tgi_element e;
    for (size_t i = c->n; i < c->base.n_inputs; i++)
        (void)tgi_cursor_next(c->base.inputs[i], &e);
}

static tg_status next(tgi_cursor *cursor, tgi_element *out_element)
{
    zip_cursor *c = (zip_cursor *)cursor;
    c->n = 0;
    for (size_t i = 0; i < cursor->n_inputs; i++) {
        tgi_element e;
        tg_status status = tgi_cursor_next(cursor->inputs[i], &e);
        if (status == TG_END_OF_DATA)
            return TG_END_OF_DATA;
        if (status == TG_OK)
            status = append(c, &e);
        if (status) {
            c->n = i + 1;
            tgi_error_preserve_during(drop_row, c);
            return status;
        }
    }
    *out_element = (tgi_element){c->list, c->n};
    return TG_OK;
}

static const tgi_dataset_kind zip_kind = {
    .name = "tg_dataset_zip",
    .cursor_bytes = sizeof(zip_cursor),
    .cursor_deinit = cursor_deinit,
    .next = next,
};

tg_dataset *tg_dataset_zip(tg_dataset *const *datasets, size_t n)
{
    if (!datasets || n == 0) {
        tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                      "%s: there are no datasets", zip_kind.name);
        return NULL;
    }
    return tgi_dataset_create(&zip_kind, sizeof(tg_dataset),
                              datasets[0] ? datasets[0]->ctx : NULL, datasets,
                              n, TGI_NO_SITE);
}

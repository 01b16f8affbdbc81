/* SPDX-License-Identifier: MIT */
/*
 * dataset_from.c - tg_dataset_from: slices of tensors. Elements point into the
 * tensors.
 */
#include <string.h>

#include "front/data/dataset_object.h"

typedef struct part {
    tg_tensor *tensor; /* retained */
    tgi_spec row;
} part;

typedef struct from_dataset {
    tg_dataset base;
    int64_t n_rows;
    size_t n;
    part parts[];
} from_dataset;

typedef struct from_cursor {
    tgi_cursor base;
    int64_t next; /* row */
    tgi_component *list;
} from_cursor;

/* -- Dataset --------------------------------------------------------------- */

static void deinit(tg_dataset *dataset)
{
    from_dataset *d = (from_dataset *)dataset;
    for (size_t i = 0; i < d->n; i++)
        tg_tensor_release(d->parts[i].tensor);
}

/* Checks operand i and sets its part, except for the reference. */
static tg_status set_part(part *p, tg_context *ctx, const tg_operand *operand,
                          size_t i, tg_site site)
{
    tg_tensor *tensor =
        operand->kind == TG_OPERAND_TENSOR ? operand->as.tensor : NULL;
    if (!tensor)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site,
                 "tg_dataset_from: argument %zu is not a tensor", i);
    if (tensor->ctx != ctx)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site,
                 "tg_dataset_from: argument %zu: the tensor belongs to another "
                 "context",
                 i);
    if (tensor->spec.rank == 0)
        TGI_FAIL(TG_ERROR_SHAPE, site,
                 "tg_dataset_from: argument %zu is a scalar, which has no axis "
                 "to slice",
                 i);
    p->tensor = tensor;
    return tgi_spec_init(&p->row, "tg_dataset_from", tensor->spec.dtype,
                         tensor->spec.rank - 1, tensor->spec.dims + 1);
}

static tg_status set_parts(part *parts, tg_context *ctx,
                           const tg_operand *operands, size_t n, tg_site site)
{
    for (size_t i = 0; i < n; i++) {
        TGI_TRY(set_part(&parts[i], ctx, &operands[i], i, site));
        const int64_t first = parts[0].tensor->spec.dims[0];
        const int64_t rows = parts[i].tensor->spec.dims[0];
        if (rows != first)
            TGI_FAIL(
                TG_ERROR_SHAPE, site,
                "tg_dataset_from: argument 0 has %lld slices, but argument "
                "%zu has %lld",
                (long long)first, i, (long long)rows);
    }
    return TG_OK;
}

/* -- Cursor ---------------------------------------------------------------- */

static const from_dataset *dataset_of(const tgi_cursor *cursor)
{
    return (const from_dataset *)cursor->dataset;
}

static tg_status cursor_init(tgi_cursor *cursor)
{
    from_cursor *c = (from_cursor *)cursor;
    const from_dataset *d = dataset_of(cursor);
    c->list = tgi_alloc_zero(d->n * sizeof(*c->list));
    if (!c->list)
        return tgi_error_memory();
    for (size_t i = 0; i < d->n; i++)
        c->list[i] =
            (tgi_component){.spec = &d->parts[i].row, .is_stable = true};
    return TG_OK;
}

static void cursor_deinit(tgi_cursor *cursor)
{
    tgi_free(((from_cursor *)cursor)->list);
}

static void start(tgi_cursor *cursor)
{
    ((from_cursor *)cursor)->next = 0;
}

static int64_t n_rows(const tgi_cursor *cursor)
{
    return dataset_of(cursor)->n_rows;
}

static void row(tgi_cursor *cursor, int64_t i, tgi_element *out_element)
{
    from_cursor *c = (from_cursor *)cursor;
    const from_dataset *d = dataset_of(cursor);
    for (size_t k = 0; k < d->n; k++)
        c->list[k].data =
            (const char *)d->parts[k].tensor->data + i * d->parts[k].row.bytes;
    *out_element = (tgi_element){c->list, d->n};
}

static int64_t rows(tgi_cursor *cursor, int64_t max, tgi_element *out_element)
{
    from_cursor *c = (from_cursor *)cursor;
    const int64_t left = n_rows(cursor) - c->next;
    const int64_t n = left < max ? left : max;
    row(cursor, c->next, out_element);
    c->next += n;
    return n;
}

static tg_status next(tgi_cursor *cursor, tgi_element *out_element)
{
    return rows(cursor, 1, out_element) ? TG_OK : TG_END_OF_DATA;
}

static const tgi_dataset_kind from_kind = {
    .name = "tg_dataset_from",
    .cursor_bytes = sizeof(from_cursor),
    .deinit = deinit,
    .cursor_init = cursor_init,
    .cursor_deinit = cursor_deinit,
    .start = start,
    .next = next,
    .n_rows = n_rows,
    .row = row,
    .rows = rows,
};

static tg_status create(tg_context *ctx, const tg_operand *operands, size_t n,
                        tg_site site, from_dataset **out_dataset)
{
    if (!ctx)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site,
                 "tg_dataset_from: the context is NULL");
    if (!operands || n == 0)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site,
                 "tg_dataset_from: there are no tensors");
    part *parts = tgi_alloc_zero(n * sizeof(*parts));
    tg_status status =
        parts ? set_parts(parts, ctx, operands, n, site) : tgi_error_memory();
    from_dataset *d = NULL;
    if (!status) {
        d = tgi_dataset_create(&from_kind, sizeof(*d) + n * sizeof(*parts), ctx,
                               NULL, 0, site);
        status = d ? TG_OK : tg_error_last()->status;
    }
    if (d) {
        d->n = n;
        d->n_rows = parts[0].tensor->spec.dims[0];
        memcpy(d->parts, parts, n * sizeof(*parts));
        for (size_t i = 0; i < n; i++)
            tg_tensor_retain(parts[i].tensor);
    }
    tgi_free(parts);
    *out_dataset = d;
    return status;
}

tg_dataset *tg_dataset_from_at(tg_context *ctx, const tg_operand *tensors,
                               size_t n, tg_site site)
{
    tgi_api_frame frame = tgi_api_enter(ctx, "tg_dataset_from");
    from_dataset *d = NULL;
    if (create(ctx, tensors, n, site, &d))
        tgi_error_locate(site, NULL);
    tgi_api_leave(frame);
    return d ? &d->base : NULL;
}

/* SPDX-License-Identifier: MIT */
/*
 * dataset_batch.c - tg_dataset_batch. Elements are copied one behind the other
 * into the memory of the batch. Consecutive slices of a tensor are a batch as
 * they are, without a copy. Slices in another order are pulled as numbers, so
 * that nothing but the copies remains per slice.
 */
#include <string.h>

#include "base/checked.h"
#include "front/data/dataset_object.h"

/* Memory of up to this size is reserved for a full batch; that of larger ones
   grows with the elements. */
enum { MAX_RESERVED = 64 << 20 }; /* bytes */

enum {
    GATHERED = 64,    /* slices whose numbers are pulled at a time */
    MAX_AHEAD = 1024, /* bytes of the next slice to prefetch */
    LINE_BYTES = 64
};

typedef struct batch_dataset {
    tg_dataset base;
    int64_t size;
    bool drops_remainder;
} batch_dataset;

typedef struct batch_cursor {
    tgi_cursor base;
    int64_t n_filled; /* elements in the batch */
    bool is_emitted;  /* the next pull begins a new batch */
    /* By component: dtype and shape of an element, of the batch, memory. */
    tgi_element batch;
    tgi_spec *rows, *specs;
    tgi_memory *memory;
    size_t capacity;
} batch_cursor;

static void free_arrays(batch_cursor *c)
{
    for (size_t i = 0; c->memory && i < c->capacity; i++)
        tgi_memory_deinit(&c->memory[i]);
    tgi_free(c->batch.list);
    tgi_free(c->rows);
    tgi_free(c->specs);
    tgi_free(c->memory);
    c->batch.list = NULL;
    c->rows = c->specs = NULL;
    c->memory = NULL;
    c->capacity = 0;
}

static void cursor_deinit(tgi_cursor *cursor)
{
    free_arrays((batch_cursor *)cursor);
}

static tg_status reserve_components(batch_cursor *c, size_t n)
{
    if (c->capacity >= n)
        return TG_OK;
    free_arrays(c);
    c->capacity = n;
    c->batch.list = tgi_alloc_zero(n * sizeof(*c->batch.list));
    c->rows = tgi_alloc_zero(n * sizeof(*c->rows));
    c->specs = tgi_alloc_zero(n * sizeof(*c->specs));
    c->memory = tgi_alloc_zero(n * sizeof(*c->memory));
    if (c->batch.list && c->rows && c->specs && c->memory)
        return TG_OK;
    free_arrays(c);
    return tgi_error_memory();
}

static void start(tgi_cursor *cursor)
{
    batch_cursor *c = (batch_cursor *)cursor;
    c->n_filled = 0;
    c->is_emitted = false;
    tgi_cursor_start_inputs(cursor);
}

/* -- Filling --------------------------------------------------------------- */

/* Makes the element the model of a new batch. */
static tg_status begin_batch(batch_cursor *c, const tgi_element *e)
{
    TGI_TRY(reserve_components(c, e->n));
    c->batch.n = e->n;
    for (size_t i = 0; i < e->n; i++)
        c->rows[i] = *e->list[i].spec;
    return TG_OK;
}

/* Fails unless the element can join those of the batch. */
static tg_status check_element(const batch_cursor *c, const tgi_element *e)
{
    const char *who = c->base.dataset->kind->name;
    if (e->n != c->batch.n)
        TGI_FAIL(TG_ERROR_SHAPE, TGI_NO_SITE,
                 "%s: an element has %zu component%s, but the batch has %zu",
                 who, e->n, TGI_PLURAL(e->n), c->batch.n);
    for (size_t i = 0; i < e->n; i++) {
        const tgi_spec *is = e->list[i].spec, *want = &c->rows[i];
        char text[2][256];
        if (tgi_spec_equals(is, want))
            continue;
        TGI_FAIL(
            is->dtype == want->dtype ? TG_ERROR_SHAPE : TG_ERROR_DTYPE,
            TGI_NO_SITE,
            "%s: component %zu is %s, but that of earlier elements of the "
            "batch is %s",
            who, i, tgi_spec_text(is->dtype, is->rank, is->dims, text[0], 256),
            tgi_spec_text(want->dtype, want->rank, want->dims, text[1], 256));
    }
    return TG_OK;
}

/* Ensures memory for n more elements of component i. */
static tg_status reserve_rows(batch_cursor *c, size_t i, int64_t n)
{
    const batch_dataset *d = (const batch_dataset *)c->base.dataset;
    tgi_memory *memory = &c->memory[i];
    const int64_t row = c->rows[i].bytes;
    int64_t used, needed, wanted;
    if (!tgi_checked_mul(row, c->n_filled, &used) ||
        !tgi_checked_mul(row, c->n_filled + n, &needed))
        TGI_FAIL(TG_ERROR_OVERFLOW, TGI_NO_SITE,
                 "%s: a batch of %lld elements has too many bytes",
                 d->base.kind->name, (long long)(c->n_filled + n));
    if (memory->data && memory->bytes >= (size_t)needed)
        return TG_OK;
    if (!tgi_checked_mul(row, d->size, &wanted) ||
        (wanted > MAX_RESERVED && wanted / 2 > needed))
        wanted = needed <= MAX_RESERVED / 2 ? MAX_RESERVED / 2 : 2 * needed;
    tgi_memory larger = {NULL, 0};
    TGI_TRY(tgi_memory_reserve(&larger, (size_t)wanted, d->base.ctx,
                               d->base.kind->name));
    if (used)
        memcpy(larger.data, memory->data, (size_t)used);
    tgi_memory_deinit(memory);
    *memory = larger;
    return TG_OK;
}

static tg_status add_element(batch_cursor *c, const tgi_element *e)
{
    if (c->n_filled == 0)
        TGI_TRY(begin_batch(c, e));
    else
        TGI_TRY(check_element(c, e));
    for (size_t i = 0; i < e->n; i++)
        TGI_TRY(reserve_rows(c, i, 1));
    for (size_t i = 0; i < e->n; i++) {
        const size_t bytes = (size_t)c->rows[i].bytes;
        if (bytes)
            memcpy((char *)c->memory[i].data + (size_t)c->n_filled * bytes,
                   e->list[i].data, bytes);
    }
    c->n_filled++;
    return TG_OK;
}

/* -- Batches --------------------------------------------------------------- */

/* Sets the dtypes and shapes of a batch of n elements. */
static tg_status set_specs(batch_cursor *c, int64_t n)
{
    for (size_t i = 0; i < c->batch.n; i++) {
        const tgi_spec *row = &c->rows[i];
        int64_t dims[TG_MAX_RANK + 1] = {n};
        memcpy(dims + 1, row->dims, sizeof(row->dims));
        TGI_TRY(tgi_spec_init(&c->specs[i], c->base.dataset->kind->name,
                              row->dtype, row->rank + 1, dims));
    }
    return TG_OK;
}

static bool is_wanted(const batch_dataset *d, int64_t n)
{
    return n > 0 && (n == d->size || !d->drops_remainder);
}

/* A batch that is contiguous in memory already. */
static tg_status next_contiguous(batch_cursor *c, tgi_element *out_element)
{
    const batch_dataset *d = (const batch_dataset *)c->base.dataset;
    tgi_cursor *input = c->base.inputs[0];
    tgi_element first;
    const int64_t n = input->dataset->kind->rows(input, d->size, &first);
    if (!is_wanted(d, n))
        return TG_END_OF_DATA;
    TGI_TRY(begin_batch(c, &first));
    TGI_TRY(set_specs(c, n));
    for (size_t i = 0; i < first.n; i++) {
        c->batch.list[i] = first.list[i];
        c->batch.list[i].spec = &c->specs[i];
    }
    *out_element = c->batch;
    return TG_OK;
}

/* Adds elements up to the size of the batch, or to the end of the input. After
   an error the batch goes on with the next element. */
static tg_status fill(batch_cursor *c)
{
    const batch_dataset *d = (const batch_dataset *)c->base.dataset;
    while (c->n_filled < d->size && !tgi_cursor_is_stopped(&c->base)) {
        tgi_element e;
        const tg_status status = tgi_cursor_next(c->base.inputs[0], &e);
        if (status == TG_END_OF_DATA)
            break;
        TGI_TRY(status);
        TGI_TRY(add_element(c, &e));
    }
    return TG_OK;
}

/* Copies slices, of `bytes` bytes each. Their order hides the next address from
   the CPU, so its first lines are requested while a slice is copied. */
static void gather(char *to, const char *from, size_t bytes,
                   const int64_t *numbers, int64_t n)
{
    const size_t ahead = bytes < MAX_AHEAD ? bytes : MAX_AHEAD;
    for (int64_t i = 0; i < n; i++) {
        const int64_t next = numbers[i + 1 < n ? i + 1 : i];
        for (size_t at = 0; at < ahead; at += LINE_BYTES)
            __builtin_prefetch(from + (size_t)next * bytes + at);
        memcpy(to + (size_t)i * bytes, from + (size_t)numbers[i] * bytes,
               bytes);
    }
}

/* As `fill`, for slices of the tensors of `source`. */
static tg_status fill_from(batch_cursor *c, tgi_cursor *source)
{
    const batch_dataset *d = (const batch_dataset *)c->base.dataset;
    tgi_cursor *input = c->base.inputs[0];
    int64_t numbers[GATHERED], n;
    tgi_element first;
    const int64_t n_rows = source->dataset->kind->n_rows(source);
    source->dataset->kind->row(source, 0, &first);
    if (c->n_filled == 0)
        TGI_TRY(begin_batch(c, &first));
    while (c->n_filled < d->size && !tgi_cursor_is_stopped(&c->base)) {
        const int64_t left = d->size - c->n_filled;
        const int64_t max = left < GATHERED ? left : GATHERED;
        for (size_t i = 0; i < first.n; i++)
            TGI_TRY(reserve_rows(c, i, max < n_rows ? max : n_rows));
        TGI_TRY(input->dataset->kind->row_numbers(input, max, numbers, &n));
        for (size_t i = 0; i < first.n; i++) {
            const size_t bytes = (size_t)c->rows[i].bytes;
            if (bytes)
                gather((char *)c->memory[i].data + (size_t)c->n_filled * bytes,
                       first.list[i].data, bytes, numbers, n);
        }
        c->n_filled += n;
        if (n < max)
            break;
    }
    return TG_OK;
}

static tg_status next(tgi_cursor *cursor, tgi_element *out_element)
{
    batch_cursor *c = (batch_cursor *)cursor;
    const batch_dataset *d = (const batch_dataset *)cursor->dataset;
    const tgi_cursor *input = cursor->inputs[0];
    const tgi_dataset_kind *kind = input->dataset->kind;
    if (kind->rows)
        return next_contiguous(c, out_element);
    if (c->is_emitted) {
        c->n_filled = 0;
        c->is_emitted = false;
    }
    tgi_cursor *source = kind->row_source ? kind->row_source(input) : NULL;
    TGI_TRY(source ? fill_from(c, source) : fill(c));
    if (!is_wanted(d, c->n_filled))
        return TG_END_OF_DATA;
    c->is_emitted = true;
    TGI_TRY(set_specs(c, c->n_filled));
    for (size_t i = 0; i < c->batch.n; i++)
        c->batch.list[i] = (tgi_component){.spec = &c->specs[i],
                                           .data = c->memory[i].data,
                                           .home = &c->memory[i]};
    *out_element = c->batch;
    return TG_OK;
}

static const tgi_dataset_kind batch_kind = {
    .name = "tg_dataset_batch",
    .cursor_bytes = sizeof(batch_cursor),
    .cursor_deinit = cursor_deinit,
    .start = start,
    .next = next,
};

tg_dataset *tg_dataset_batch(tg_dataset *dataset, int64_t size,
                             tg_remainder remainder)
{
    if (size <= 0)
        return tgi_dataset_reject(
            &batch_kind, dataset, TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
            "the size is %lld, but must be positive", (long long)size);
    if (remainder != TG_KEEP_REMAINDER && remainder != TG_DROP_REMAINDER)
        return tgi_dataset_reject(&batch_kind, dataset,
                                  TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                                  "%d is not a tg_remainder", (int)remainder);
    batch_dataset *d =
        tgi_dataset_create_step(&batch_kind, sizeof(*d), dataset, TGI_NO_SITE);
    if (!d)
        return NULL;
    d->size = size;
    d->drops_remainder = remainder == TG_DROP_REMAINDER;
    return &d->base;
}

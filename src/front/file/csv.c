/* SPDX-License-Identifier: MIT */
/*
 * csv.c - CSV files as tensors. The number of rows is known at the end only:
 * rows go into buffers that grow, and then into tensors.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/versioned.h"
#include "front/file/csv_number.h"
#include "front/file/csv_table.h"
#include "front/file/file_error.h"
#include "front/object/context_object.h"
#include "front/object/tensor_object.h"

enum { FIRST_BYTES = 1 << 16 }; /* of all groups; or one row, if larger */

/* The rows read so far, in one block for each group. */
typedef struct blocks {
    const tgi_csv_table *table;
    char **data; /* of n groups */
    void **rows; /* where the next row goes */
    size_t n, n_rows, room;
} blocks;

static void blocks_deinit(blocks *b)
{
    for (size_t i = 0; b->data && i < b->n; i++)
        tgi_free(b->data[i]);
    tgi_free(b->data);
    tgi_free(b->rows);
}

static tg_status blocks_init(blocks *b, const tgi_csv_table *table)
{
    *b = (blocks){.table = table, .n = table->groups.n};
    b->data = tgi_alloc_zero(b->n * sizeof(*b->data) + 1);
    b->rows = tgi_alloc_zero(b->n * sizeof(*b->rows) + 1);
    return b->data && b->rows ? TG_OK : tgi_error_memory();
}

/* Room for twice as many rows, within the memory limit. */
static tg_status blocks_grow(blocks *b, const tg_context *ctx)
{
    size_t row_bytes = 0, room = 2 * b->room, bytes;
    for (size_t i = 0; i < b->n; i++)
        row_bytes += b->table->groups.data[i].row_bytes;
    if (room == 0)
        room = row_bytes < FIRST_BYTES ? FIRST_BYTES / (row_bytes + 1) : 1;
    if (__builtin_mul_overflow(room, row_bytes, &bytes))
        return tgi_error_memory();
    TGI_TRY(tgi_context_check_memory(ctx, bytes, tgi_api_function(), "",
                                     TGI_NO_SITE));
    for (size_t i = 0; i < b->n; i++) {
        char *data = tgi_realloc(b->data[i],
                                 room * b->table->groups.data[i].row_bytes);
        if (!data)
            return tgi_error_memory();
        b->data[i] = data;
    }
    b->room = room;
    return TG_OK;
}

static tg_status read_rows(tgi_csv_table *table, blocks *b,
                           const tg_context *ctx)
{
    for (bool has_row = true;; b->n_rows++) {
        if (b->n_rows == b->room)
            TGI_TRY(blocks_grow(b, ctx));
        for (size_t i = 0; i < b->n; i++)
            b->rows[i] =
                b->data[i] + b->n_rows * table->groups.data[i].row_bytes;
        TGI_TRY(tgi_csv_table_next(table, b->rows, &has_row));
        if (!has_row)
            return TG_OK;
    }
}

static tg_tensor *make_tensor(tg_context *ctx, const blocks *b, size_t i)
{
    const tgi_csv_group *group = &b->table->groups.data[i];
    const int64_t dims[] = {(int64_t)b->n_rows, (int64_t)group->n};
    tgi_spec spec;
    if (tgi_spec_init(&spec, tgi_api_function(), group->dtype,
                      group->is_vector ? 1 : 2, dims))
        return NULL;
    tg_tensor *tensor = tgi_tensor_alloc(ctx, tgi_api_function(), &spec);
    if (tensor && spec.bytes > 0)
        memcpy(tensor->data, b->data[i], (size_t)spec.bytes);
    return tensor;
}

static tg_status make_tensors(tg_context *ctx, const blocks *b,
                              tg_tensor **out_tensors)
{
    for (size_t i = 0; i < b->n; i++) {
        out_tensors[i] = make_tensor(ctx, b, i);
        if (out_tensors[i])
            continue;
        for (size_t k = 0; k < i; k++) {
            tg_tensor_release(out_tensors[k]);
            out_tensors[k] = NULL;
        }
        return tg_error_last()->status;
    }
    return TG_OK;
}

static tg_status load_table(tg_context *ctx, tgi_csv_table *table,
                            tg_tensor **out_tensors)
{
    blocks b;
    tg_status status = blocks_init(&b, table);
    if (!status) {
        const tgi_number_mode mode = tgi_number_mode_begin();
        status = read_rows(table, &b, ctx);
        tgi_number_mode_end(mode);
    }
    if (!status)
        status = make_tensors(ctx, &b, out_tensors);
    blocks_deinit(&b);
    return status;
}

/* -- The public functions -------------------------------------------------- */

static tg_status load(tg_context *ctx, const char *path,
                      const tg_csv_options *options,
                      const tg_csv_columns *groups, size_t n_groups,
                      tg_tensor **out_tensors)
{
    tgi_csv_table table;
    if (!ctx || !path)
        return tgi_bad_argument("the %s is NULL", ctx ? "path" : "context");
    if (n_groups > 0 && (!groups || !out_tensors))
        return tgi_bad_argument("the %s are NULL",
                                groups ? "tensors" : "groups of columns");
    tg_status status =
        tgi_csv_table_open(&table, path, options, groups, n_groups);
    if (!status)
        status = load_table(ctx, &table, out_tensors);
    tgi_csv_table_close(&table);
    return status;
}

tg_status tg_csv_load_columns(tg_context *ctx, const char *path,
                              const tg_csv_options *user,
                              const tg_csv_columns *groups, size_t n_groups,
                              tg_tensor **out_tensors)
{
    tgi_api_frame frame = tgi_api_enter(ctx, __func__);
    tg_csv_options options;
    for (size_t i = 0; out_tensors && i < n_groups; i++)
        out_tensors[i] = NULL;
    tg_status status = tgi_versioned_read(&options, sizeof(options), user,
                                          "tg_csv_options");
    if (!status)
        status = load(ctx, path, &options, groups, n_groups, out_tensors);
    tgi_api_leave(frame);
    return status;
}

tg_tensor *tg_csv_load(tg_context *ctx, const char *path,
                       const tg_csv_options *user)
{
    tgi_api_frame frame = tgi_api_enter(ctx, __func__);
    tg_csv_options options;
    tg_tensor *tensor = NULL;
    if (!tgi_versioned_read(&options, sizeof(options), user,
                            "tg_csv_options")) {
        const tg_csv_columns all = {.dtype = options.dtype, .n = TG_CSV_REST};
        if (load(ctx, path, &options, &all, 1, &tensor))
            tensor = NULL;
    }
    tgi_api_leave(frame);
    return tensor;
}

/* SPDX-License-Identifier: MIT */
/*
 * dataset_csv.c - tg_dataset_from_csv: the rows of a CSV file, read while an
 * iteration goes on, so that the file may be larger than memory. Each pass
 * opens the file again.
 *
 * A row that is complete but wrong is an error of its element. If the file
 * cannot be read, or split into fields, the pass ends with the error.
 */
#include <string.h>

#include "base/versioned.h"
#include "front/data/dataset_object.h"
#include "front/file/csv_number.h"
#include "front/file/csv_table.h"

static const char who[] = "tg_dataset_from_csv";

typedef struct csv_dataset {
    tg_dataset base;
    char *path;
    tg_csv_options options;
    tg_csv_columns *groups; /* with copies of the names */
    size_t n;
} csv_dataset;

typedef struct csv_cursor {
    tgi_cursor base;
    tgi_csv_table table;
    bool is_open;
    /* By component; `rows` points to the memory. */
    tgi_component *list;
    tgi_spec *specs;
    tgi_memory *memory;
    void **rows;
} csv_cursor;

static const csv_dataset *dataset_of(const csv_cursor *c)
{
    return (const csv_dataset *)c->base.dataset;
}

/* -- Cursor ---------------------------------------------------------------- */

static tg_status cursor_init(tgi_cursor *cursor)
{
    csv_cursor *c = (csv_cursor *)cursor;
    const size_t n = dataset_of(c)->n;
    c->list = tgi_alloc_zero(n * sizeof(*c->list));
    c->specs = tgi_alloc_zero(n * sizeof(*c->specs));
    c->memory = tgi_alloc_zero(n * sizeof(*c->memory));
    c->rows = tgi_alloc_zero(n * sizeof(*c->rows));
    return c->list && c->specs && c->memory && c->rows ? TG_OK
                                                       : tgi_error_memory();
}

static void close_file(csv_cursor *c)
{
    if (c->is_open)
        tgi_csv_table_close(&c->table);
    c->is_open = false;
}

static void cursor_deinit(tgi_cursor *cursor)
{
    csv_cursor *c = (csv_cursor *)cursor;
    close_file(c);
    for (size_t i = 0; c->memory && i < dataset_of(c)->n; i++)
        tgi_memory_deinit(&c->memory[i]);
    tgi_free(c->list);
    tgi_free(c->specs);
    tgi_free(c->memory);
    tgi_free(c->rows);
}

static void start(tgi_cursor *cursor)
{
    close_file((csv_cursor *)cursor);
}

static tg_status open_file(csv_cursor *c)
{
    const csv_dataset *d = dataset_of(c);
    c->is_open = true; /* to be closed on failure too */
    TGI_TRY(tgi_csv_table_open(&c->table, d->path, &d->options, d->groups,
                               d->n));
    for (size_t i = 0; i < d->n; i++) {
        const tgi_csv_group *group = &c->table.groups.data[i];
        const int64_t dims[] = {(int64_t)group->n};
        TGI_TRY(tgi_spec_init(&c->specs[i], who, group->dtype,
                              group->is_vector ? 0 : 1, dims));
    }
    return TG_OK;
}

static tg_status read_row(csv_cursor *c, bool *out_has_row)
{
    const csv_dataset *d = dataset_of(c);
    for (size_t i = 0; i < d->n; i++) {
        TGI_TRY(tgi_memory_reserve(&c->memory[i],
                                   c->table.groups.data[i].row_bytes,
                                   d->base.ctx, who));
        c->rows[i] = c->memory[i].data;
    }
    const tgi_number_mode mode = tgi_number_mode_begin();
    const tg_status status =
        tgi_csv_table_next(&c->table, c->rows, out_has_row);
    tgi_number_mode_end(mode);
    return status;
}

static tg_status pull(csv_cursor *c, tgi_element *out_element)
{
    const csv_dataset *d = dataset_of(c);
    bool has_row = false;
    if (!c->is_open) {
        const tg_status status = open_file(c);
        c->base.has_ended = status != TG_OK;
        TGI_TRY(status);
    }
    const tg_status status = read_row(c, &has_row);
    c->base.has_ended = c->table.is_broken;
    TGI_TRY(status);
    if (!has_row)
        return TG_END_OF_DATA;
    for (size_t i = 0; i < d->n; i++)
        c->list[i] = (tgi_component){.spec = &c->specs[i],
                                     .data = c->memory[i].data,
                                     .home = &c->memory[i]};
    *out_element = (tgi_element){c->list, d->n};
    return TG_OK;
}

static tg_status next(tgi_cursor *cursor, tgi_element *out_element)
{
    csv_cursor *c = (csv_cursor *)cursor;
    tgi_api_frame frame = tgi_api_enter(cursor->dataset->ctx, who);
    const tg_status status = pull(c, out_element);
    if (status == TG_END_OF_DATA || cursor->has_ended)
        close_file(c);
    tgi_api_leave(frame);
    return status;
}

/* -- Dataset --------------------------------------------------------------- */

static void deinit(tg_dataset *dataset)
{
    csv_dataset *d = (csv_dataset *)dataset;
    for (size_t i = 0; d->groups && i < d->n; i++)
        tgi_free((char *)(uintptr_t)d->groups[i].name);
    tgi_free(d->groups);
    tgi_free(d->path);
}

static const tgi_dataset_kind csv_kind = {
    .name = who,
    .cursor_bytes = sizeof(csv_cursor),
    .deinit = deinit,
    .cursor_init = cursor_init,
    .cursor_deinit = cursor_deinit,
    .start = start,
    .next = next,
};

static tg_status copy_groups(csv_dataset *d, const tg_csv_columns *groups,
                             size_t n)
{
    d->groups = tgi_alloc_zero(n * sizeof(*groups));
    if (!d->groups)
        return tgi_error_memory();
    d->n = n;
    for (size_t i = 0; i < n; i++) {
        d->groups[i] = groups[i];
        d->groups[i].name = groups[i].name ? tgi_strdup(groups[i].name) : NULL;
        if (groups[i].name && !d->groups[i].name)
            return tgi_error_memory();
    }
    return TG_OK;
}

/* Opens the file once, to find errors early. */
static tg_status check_file(const csv_dataset *d)
{
    tgi_csv_table table;
    const tg_status status = tgi_csv_table_open(&table, d->path, &d->options,
                                                d->groups, d->n);
    tgi_csv_table_close(&table);
    return status;
}

static tg_status init(csv_dataset *d, const char *path,
                      const tg_csv_options *options,
                      const tg_csv_columns *groups, size_t n)
{
    const tg_csv_columns all = {.dtype = options->dtype, .n = TG_CSV_REST};
    d->options = *options;
    d->path = tgi_strdup(path);
    if (!d->path)
        return tgi_error_memory();
    TGI_TRY(copy_groups(d, n ? groups : &all, n ? n : 1));
    return check_file(d);
}

static void release(void *dataset)
{
    tg_dataset_release(dataset);
}

tg_dataset *tg_dataset_from_csv(tg_context *ctx, const char *path,
                                const tg_csv_options *user,
                                const tg_csv_columns *groups, size_t n)
{
    tgi_api_frame frame = tgi_api_enter(ctx, who);
    tg_csv_options options;
    csv_dataset *d = NULL;
    if (!ctx || !path || (n && !groups))
        tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE, "%s: %s NULL",
                      who,
                      !ctx    ? "the context is"
                      : !path ? "the path is"
                              : "the groups of columns are");
    else if (!tgi_versioned_read(&options, sizeof(options), user,
                                 "tg_csv_options"))
        d = tgi_dataset_create(&csv_kind, sizeof(*d), ctx, NULL, 0,
                               TGI_NO_SITE);
    if (d && init(d, path, &options, groups, n)) {
        tgi_error_preserve_during(release, &d->base);
        d = NULL;
    }
    tgi_api_leave(frame);
    return d ? &d->base : NULL;
}

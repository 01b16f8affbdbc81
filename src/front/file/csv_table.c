/* SPDX-License-Identifier: MIT */
/*
 * csv_table.c - see csv_table.h.
 */
#include "front/file/csv_table.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/dtype.h"
#include "base/strbuf.h"
#include "front/file/csv_number.h"
#include "front/file/file_error.h"

/* -- Opening --------------------------------------------------------------- */

static tg_status read_names(tgi_csv_table *table)
{
    for (size_t i = 0; i < table->reader.fields.n; i++) {
        char *name = tgi_strdup(tgi_csv_text(&table->reader, i));
        if (!name || !tgi_vec_push(&table->names, name)) {
            tgi_free(name);
            return tgi_error_memory();
        }
    }
    return TG_OK;
}

/* The column of that name; more than one is an error. */
static tg_status find_name(const tgi_csv_table *table, const char *name,
                           int64_t *out_column)
{
    const char *path = table->reader.path;
    const tgi_quoted text = tgi_quote_name(name);
    *out_column = -1;
    if (!table->options.has_header)
        return tgi_bad_argument("column %s is given by name; set has_header",
                                text.text);
    for (size_t i = 0; i < table->names.n; i++) {
        if (strcmp(table->names.data[i], name) != 0)
            continue;
        if (*out_column >= 0)
            TGI_FILE_FAIL(path, "there are two columns %s", text.text);
        *out_column = (int64_t)i;
    }
    if (*out_column < 0)
        TGI_FILE_FAIL(path, "there is no column %s", text.text);
    return TG_OK;
}

static tg_status add_group(tgi_csv_table *table, const tg_csv_columns *user)
{
    const int64_t n_columns = (int64_t)table->n_columns;
    int64_t first = user->first;
    const tg_dtype dtype = user->dtype ? user->dtype : TG_F32;
    if (!tgi_dtype_is_valid(dtype))
        return tgi_error_set(TG_ERROR_DTYPE, TGI_NO_SITE,
                             "%s: %d is not an element type",
                             tgi_api_function(), (int)dtype);
    if (user->name)
        TGI_TRY(find_name(table, user->name, &first));
    if (first < 0 || first >= n_columns || user->n < TG_CSV_REST ||
        user->n > n_columns - first)
        return tgi_file_error(TG_ERROR_INVALID_ARGUMENT, table->reader.path,
                              "there are %lld columns, not %lld from column "
                              "%lld on",
                              (long long)n_columns, (long long)user->n,
                              (long long)first);
    tgi_csv_group group = {.dtype = dtype,
                           .first = (size_t)first,
                           .n = (size_t)(user->n > 0 ? user->n : 1),
                           .is_vector = user->n == 0};
    if (user->n == TG_CSV_REST)
        group.n = (size_t)(n_columns - first);
    group.row_bytes = group.n * (size_t)tgi_dtype_bytes(dtype);
    return tgi_vec_push(&table->groups, group) ? TG_OK : tgi_error_memory();
}

tg_status tgi_csv_table_open(tgi_csv_table *table, const char *path,
                             const tg_csv_options *options,
                             const tg_csv_columns *groups, size_t n_groups)
{
    const char delimiter = options->delimiter ? options->delimiter : ',';
    *table = (tgi_csv_table){.options = *options, .reader = {.fd = -1}};
    if (strchr("\n\r\" +-.", delimiter) ||
        (delimiter >= '0' && delimiter <= '9'))
        return tgi_bad_argument("%s cannot be a delimiter",
                                tgi_quote_bytes(&delimiter, 1).text);
    TGI_TRY(tgi_csv_open(&table->reader, path, delimiter));
    TGI_TRY(tgi_csv_next(&table->reader, &table->has_row));
    if (!table->has_row)
        TGI_FILE_FAIL(path, "has no rows");
    table->n_columns = table->reader.fields.n;
    if (options->has_header) {
        TGI_TRY(read_names(table));
        TGI_TRY(tgi_csv_next(&table->reader, &table->has_row));
    }
    for (size_t i = 0; i < n_groups; i++)
        TGI_TRY(add_group(table, &groups[i]));
    return TG_OK;
}

void tgi_csv_table_close(tgi_csv_table *table)
{
    tgi_csv_close(&table->reader);
    for (size_t i = 0; i < table->names.n; i++)
        tgi_free(table->names.data[i]);
    tgi_vec_deinit(&table->names);
    tgi_vec_deinit(&table->groups);
}

/* -- Rows ------------------------------------------------------------------ */

static tg_status fail_field(const tgi_csv_table *table, size_t column,
                            tg_dtype dtype)
{
    const tgi_csv_reader *reader = &table->reader;
    tgi_quoted name = {""};
    if (column < table->names.n)
        name = tgi_quote_name(table->names.data[column]);
    return tgi_csv_error(reader, "column %zu%s%s%s: %s is not a number of "
                                 "type %s",
                         column, *name.text ? " (" : "", name.text,
                         *name.text ? ")" : "",
                         tgi_quote_bytes(tgi_csv_text(reader, column),
                                   reader->fields.data[column].n)
                             .text,
                         tg_dtype_name(dtype));
}

/* NaN; only floats have one. */
static void store_missing(tg_dtype dtype, char *to)
{
    const double wide = __builtin_nan("");
    const float narrow = __builtin_nanf("");
    if (dtype == TG_F64)
        memcpy(to, &wide, sizeof(wide));
    else
        memcpy(to, &narrow, sizeof(narrow));
}

static tg_status read_group(const tgi_csv_table *table,
                            const tgi_csv_group *group, char *to)
{
    const tgi_csv_reader *reader = &table->reader;
    const bool allows_empty = table->options.allow_empty &&
                              tgi_dtype_is(group->dtype, TGI_CLASS_FLOAT);
    const size_t bytes = (size_t)tgi_dtype_bytes(group->dtype);
    for (size_t i = 0; i < group->n; i++, to += bytes) {
        const size_t column = group->first + i;
        const size_t n = reader->fields.data[column].n;
        char element[8];
        if (n == 0 && allows_empty) {
            store_missing(group->dtype, to);
            continue;
        }
        if (!tgi_csv_number(group->dtype, tgi_csv_text(reader, column), n,
                            element))
            return fail_field(table, column, group->dtype);
        memcpy(to, element, bytes);
    }
    return TG_OK;
}

tg_status tgi_csv_table_next(tgi_csv_table *table, void *const *rows,
                             bool *out_has_row)
{
    *out_has_row = table->has_row;
    table->has_row = false;
    if (!*out_has_row) {
        const tg_status status = tgi_csv_next(&table->reader, out_has_row);
        table->is_broken = status != TG_OK;
        TGI_TRY(status);
    }
    if (!*out_has_row)
        return TG_OK;
    if (table->reader.fields.n != table->n_columns)
        return tgi_csv_error(&table->reader,
                             "the row has %zu field%s, but the first row has "
                             "%zu",
                             table->reader.fields.n,
                             TGI_PLURAL(table->reader.fields.n),
                             table->n_columns);
    for (size_t i = 0; i < table->groups.n; i++)
        TGI_TRY(read_group(table, &table->groups.data[i], rows[i]));
    return TG_OK;
}

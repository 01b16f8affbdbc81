/* SPDX-License-Identifier: MIT */
/*
 * csv_table.h - a CSV file as rows of typed elements, read one at a time, for
 * tg_csv_load and for datasets.
 */
#ifndef TGI_CSV_TABLE_H
#define TGI_CSV_TABLE_H

#include "front/file/csv_reader.h"
#include "tgjit/file.h"

/* A group of columns, found in the file. */
typedef struct tgi_csv_group {
    tg_dtype dtype;
    size_t first, n;  /* columns */
    bool is_vector;   /* no axis for them in the tensor */
    size_t row_bytes; /* of a row of the group */
} tgi_csv_group;

typedef struct tgi_csv_table {
    tgi_csv_reader reader;
    tg_csv_options options;
    size_t n_columns;
    TGI_VEC(char *) names; /* of the columns, if there is a header */
    TGI_VEC(tgi_csv_group) groups;
    bool has_row;   /* the first row has been read, but not given out */
    bool is_broken; /* a row could not be read or split into fields; the
                       position in the file is lost */
} tgi_csv_table;

/* Opens a file and finds the groups in it; `options` are a copy of the user's.
   The caller closes the table, on failure too. */
tg_status tgi_csv_table_open(tgi_csv_table *table, const char *path,
                             const tg_csv_options *options,
                             const tg_csv_columns *groups, size_t n_groups);
void tgi_csv_table_close(tgi_csv_table *table);

/* Reads a row: the elements of group i go to rows[i]. *out_has_row is false at
   the end. After an error, unless is_broken, the next call reads the next row.
   Between tgi_number_mode_begin and _end (csv_number.h). */
tg_status tgi_csv_table_next(tgi_csv_table *table, void *const *rows,
                             bool *out_has_row);

#endif /* TGI_CSV_TABLE_H */

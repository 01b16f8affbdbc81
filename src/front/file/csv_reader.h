/* SPDX-License-Identifier: MIT */
/*
 * csv_reader.h - splits a CSV file into rows of fields, one row at a time: a
 * file may be larger than memory, or a pipe. RFC 4180, and what is common
 * beyond it: other delimiters, blanks around fields, line feeds alone, a byte
 * order mark, empty lines.
 */
#ifndef TGI_CSV_READER_H
#define TGI_CSV_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "tgjit/base.h"

/* A field of the current row: where it is in its text. */
typedef struct tgi_csv_field {
    size_t at, n;
} tgi_csv_field;

typedef struct tgi_csv_reader {
    char *path;
    int fd; /* -1: not open */
    char delimiter;
    char *buf; /* of the file */
    size_t next, end;
    bool is_at_end;
    int64_t line; /* of buf[next], from 1 on */

    int64_t row_line; /* where the current row begins */
    TGI_VEC(char) text; /* of its fields, each of them terminated */
    TGI_VEC(tgi_csv_field) fields;
} tgi_csv_reader;

/* Opens a file. The caller closes the reader, on failure too. */
tg_status tgi_csv_open(tgi_csv_reader *reader, const char *path,
                       char delimiter);
void tgi_csv_close(tgi_csv_reader *reader);

/* Reads a row; *out_has_row is false at the end of the file. Errors name file
   and line. */
tg_status tgi_csv_next(tgi_csv_reader *reader, bool *out_has_row);

/* Field i of the current row, terminated. */
const char *tgi_csv_text(const tgi_csv_reader *reader, size_t i);

/* TG_ERROR_FILE at the line where the current row begins. */
tg_status tgi_csv_error(const tgi_csv_reader *reader, const char *format, ...)
    TG_PRINTF(2, 3);

#endif /* TGI_CSV_READER_H */

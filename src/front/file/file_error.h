/* SPDX-License-Identifier: MIT */
/*
 * file_error.h - messages about files: the public function, the place in the
 * file, the fact. Names that come from a file are shown escaped and cut short.
 */
#ifndef TGI_FILE_ERROR_H
#define TGI_FILE_ERROR_H

#include "base/error.h"

/* "FUNCTION: WHERE: " and the text; returns `status`. */
tg_status tgi_file_error(tg_status status, const char *where,
                         const char *format, ...) TG_PRINTF(3, 4);

#define TGI_FILE_FAIL(where, ...) \
    return tgi_file_error(TG_ERROR_FILE, where, __VA_ARGS__)

/* INVALID_ARGUMENT, "FUNCTION: " and the text. */
tg_status tgi_bad_argument(const char *format, ...) TG_PRINTF(1, 2);

/* A text from a file in quotes: any bytes, or a terminated string. */
typedef struct tgi_quoted {
    char text[128];
} tgi_quoted;

tgi_quoted tgi_quote_bytes(const char *text, size_t n);
tgi_quoted tgi_quote_name(const char *name);

/* "PATH: 'NAME'", for messages about a tensor of a file. */
typedef struct tgi_where {
    char text[512];
} tgi_where;

tgi_where tgi_where_of(const char *path, const char *name);

/* Whether n bytes are UTF-8, without NUL. */
bool tgi_is_utf8(const char *text, size_t n);

#endif /* TGI_FILE_ERROR_H */

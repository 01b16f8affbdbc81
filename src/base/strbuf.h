/* SPDX-License-Identifier: MIT */
/*
 * strbuf.h - string builder. An allocation failure is sticky: check `failed`
 * once, at the end.
 */
#ifndef TGI_STRBUF_H
#define TGI_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "tgjit/base.h"

/* Zero-initialised, it is an empty string. */
typedef struct tgi_strbuf {
    char *text; /* NUL-terminated; NULL before the first append */
    size_t n, capacity;
    bool failed;
} tgi_strbuf;

void tgi_strbuf_add(tgi_strbuf *buf, const char *text);
void tgi_strbuf_add_bytes(tgi_strbuf *buf, const char *text, size_t n);
void tgi_strbuf_addf(tgi_strbuf *buf, const char *format, ...) TG_PRINTF(2, 3);
void tgi_strbuf_addv(tgi_strbuf *buf, const char *format, va_list args);

/* Appends a quoted JSON string. */
void tgi_strbuf_add_json(tgi_strbuf *buf, const char *text);
/* Removes all but the first `n` bytes. */
void tgi_strbuf_truncate(tgi_strbuf *buf, size_t n);

/* Transfers the text to the caller (tgi_free) and empties the builder; NULL
   after a failure. */
char *tgi_strbuf_take(tgi_strbuf *buf);
void tgi_strbuf_deinit(tgi_strbuf *buf);

#endif /* TGI_STRBUF_H */

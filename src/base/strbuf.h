/* SPDX-License-Identifier: MIT */
/*
 * strbuf.h - builds strings. Running out of memory sticks: check `failed`
 * once at the end.
 */
#ifndef TGI_STRBUF_H
#define TGI_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "tgjit/base.h"

/* All zero is an empty string. */
typedef struct tgi_strbuf {
    char *text; /* terminated, NULL while empty */
    size_t n, capacity;
    bool failed;
} tgi_strbuf;

void tgi_strbuf_add(tgi_strbuf *buf, const char *text);
void tgi_strbuf_add_bytes(tgi_strbuf *buf, const char *text, size_t n);
void tgi_strbuf_addf(tgi_strbuf *buf, const char *format, ...) TG_PRINTF(2, 3);
void tgi_strbuf_addv(tgi_strbuf *buf, const char *format, va_list args);

/* Takes back all but the first `n` bytes. */
void tgi_strbuf_truncate(tgi_strbuf *buf, size_t n);

/* The text, now the caller's (tgi_free); NULL if anything failed. */
char *tgi_strbuf_take(tgi_strbuf *buf);
void tgi_strbuf_deinit(tgi_strbuf *buf);

#endif /* TGI_STRBUF_H */

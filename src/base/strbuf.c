/* SPDX-License-Identifier: MIT */
/*
 * strbuf.c - string builder. After a failure, appending does nothing, so the
 * text is a prefix of the intended one.
 */
#include "base/strbuf.h"

#include <stdio.h>
#include <string.h>

#include "base/vec.h"

/* Reserves n more bytes and the terminator. */
static bool reserve_more(tgi_strbuf *buf, size_t n)
{
    if (buf->failed)
        return false;
    buf->failed =
        n > PTRDIFF_MAX - buf->n - 1 ||
        !tgi_vec_reserve_bytes(&buf->text, &buf->capacity, buf->n + n + 1, 1);
    return !buf->failed;
}

void tgi_strbuf_add_bytes(tgi_strbuf *buf, const char *text, size_t n)
{
    if (!reserve_more(buf, n))
        return;
    if (n > 0)
        memcpy(buf->text + buf->n, text, n);
    buf->n += n;
    buf->text[buf->n] = '\0';
}

void tgi_strbuf_add(tgi_strbuf *buf, const char *text)
{
    tgi_strbuf_add_bytes(buf, text, strlen(text));
}

void tgi_strbuf_addv(tgi_strbuf *buf, const char *format, va_list args)
{
    va_list measured;
    va_copy(measured, args);
    int n = vsnprintf(NULL, 0, format, measured);
    va_end(measured);
    if (n < 0) {
        buf->failed = true;
        return;
    }
    if (!reserve_more(buf, (size_t)n))
        return;
    vsnprintf(buf->text + buf->n, (size_t)n + 1, format, args);
    buf->n += (size_t)n;
}

void tgi_strbuf_addf(tgi_strbuf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tgi_strbuf_addv(buf, format, args);
    va_end(args);
}

void tgi_strbuf_add_json(tgi_strbuf *buf, const char *text)
{
    tgi_strbuf_add(buf, "\"");
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            tgi_strbuf_addf(buf, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            tgi_strbuf_addf(buf, "\\u%04x", c);
        else
            tgi_strbuf_add_bytes(buf, text, 1);
    }
    tgi_strbuf_add(buf, "\"");
}

void tgi_strbuf_truncate(tgi_strbuf *buf, size_t n)
{
    if (n >= buf->n)
        return;
    buf->n = n;
    buf->text[n] = '\0';
}

char *tgi_strbuf_take(tgi_strbuf *buf)
{
    tgi_strbuf_add(buf, ""); /* allocates an empty string */
    char *text = buf->failed ? NULL : buf->text;
    if (text)
        buf->text = NULL;
    tgi_strbuf_deinit(buf);
    return text;
}

void tgi_strbuf_deinit(tgi_strbuf *buf)
{
    tgi_free(buf->text);
    *buf = (tgi_strbuf){0};
}

/* SPDX-License-Identifier: MIT */
/*
 * html.c - see html.h.
 */
#include "front/inspect/html.h"

#include <stdio.h>
#include <string.h>

/* -- Characters ------------------------------------------------------------ */

/* Bytes of the UTF-8 sequence at `text`; 0: it is invalid. */
static size_t sequence_bytes(const unsigned char *text, size_t n)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t bytes = text[0] < 0x80             ? 1
                         : (text[0] & 0xe0) == 0xc0 ? 2
                         : (text[0] & 0xf0) == 0xe0 ? 3
                         : (text[0] & 0xf8) == 0xf0 ? 4
                                                    : 0;
    if (bytes == 0 || bytes > n)
        return 0;
    unsigned code = bytes == 1 ? text[0] : text[0] & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3fu);
    }
    const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < least[bytes] || is_surrogate || code > 0x10ffff ? 0 : bytes;
}

/* The entity of an ASCII character; NULL: it stands for itself. */
static const char *entity_of(unsigned char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case '\t':
    case '\n':
        return NULL;
    default:
        return c < 0x20 || c == 0x7f ? "\xef\xbf\xbd" : NULL;
    }
}

/* Appends the character at `text`; returns its bytes. */
static size_t add_character(tgi_strbuf *out, const char *text, size_t n)
{
    const size_t bytes = sequence_bytes((const unsigned char *)text, n);
    const char *entity = bytes == 0   ? "\xef\xbf\xbd"
                         : bytes == 1 ? entity_of((unsigned char)*text)
                                      : NULL;
    if (entity)
        tgi_strbuf_add(out, entity);
    else
        tgi_strbuf_add_bytes(out, text, bytes);
    return bytes ? bytes : 1;
}

/* -- Text ------------------------------------------------------------------ */

void tgi_html_text_bytes(tgi_strbuf *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n;)
        i += add_character(out, text + i, n - i);
}

void tgi_html_text(tgi_strbuf *out, const char *text)
{
    tgi_html_text_bytes(out, text, strlen(text));
}

void tgi_html_textf(tgi_strbuf *out, const char *format, ...)
{
    tgi_strbuf text = {0};
    va_list args;
    va_start(args, format);
    tgi_strbuf_addv(&text, format, args);
    va_end(args);
    tgi_html_text(out, text.text ? text.text : "");
    out->failed |= text.failed;
    tgi_strbuf_deinit(&text);
}

void tgi_html_short(tgi_strbuf *out, const char *text, size_t n)
{
    const size_t bytes = strlen(text);
    size_t at = 0, last = 0, count = 0;
    for (; at < bytes && count < n; count++) {
        const size_t length =
            sequence_bytes((const unsigned char *)text + at, bytes - at);
        last = at;
        at += length ? length : 1;
    }
    tgi_html_text_bytes(out, text, at < bytes ? last : bytes);
    if (at < bytes)
        tgi_strbuf_add(out, "…");
}

/* -- Numbers --------------------------------------------------------------- */

/* Three digits, and the unit that leaves at least one before the point. */
static tgi_html_number scaled(double number, double step,
                              const char *const *units, size_t n_units)
{
    tgi_html_number text;
    size_t unit = 0;
    while (number >= step - 0.5 && unit + 1 < n_units) {
        number /= step;
        unit++;
    }
    snprintf(text.text, sizeof(text.text), "%.*f %s",
             unit == 0 || number >= 99.95 ? 0
             : number >= 9.995            ? 1
                                          : 2,
             number, units[unit]);
    return text;
}

tgi_html_number tgi_html_time(double ns)
{
    static const char *const units[] = {"ns", "µs", "ms", "s"};
    return scaled(ns, 1000, units, 4);
}

tgi_html_number tgi_html_bytes(double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    return scaled(bytes, 1024, units, 4);
}

/* SPDX-License-Identifier: MIT */
/*
 * file_error.c - see file_error.h.
 */
#include "front/file/file_error.h"

#include <stdio.h>
#include <string.h>

/* -- Messages -------------------------------------------------------------- */

/* "FUNCTION: ", "WHERE: " unless that is NULL, and the text. */
static tg_status set_error(tg_status status, const char *where,
                           const char *format, va_list args)
{
    char text[1024];
    vsnprintf(text, sizeof(text), format, args);
    return tgi_error_set(status, TGI_NO_SITE, "%s: %.600s%s%s",
                         tgi_api_function(), where ? where : "",
                         where ? ": " : "", text);
}

tg_status tgi_file_error(tg_status status, const char *where,
                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_error(status, where, format, args);
    va_end(args);
    return status;
}

tg_status tgi_bad_argument(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_error(TG_ERROR_INVALID_ARGUMENT, NULL, format, args);
    va_end(args);
    return TG_ERROR_INVALID_ARGUMENT;
}

/* -- Text of files --------------------------------------------------------- */

tgi_quoted tgi_quote_bytes(const char *text, size_t n)
{
    static const char dots[] = "...";
    tgi_quoted out;
    size_t used = 0;
    out.text[used++] = '\'';
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)text[i];
        const bool is_plain = c >= 0x20 && c != 0x7f && c != '\\';
        const size_t bytes = is_plain ? 1 : 4;
        if (used + bytes + sizeof(dots) + 1 > sizeof(out.text)) {
            memcpy(out.text + used, dots, sizeof(dots) - 1);
            used += sizeof(dots) - 1;
            break;
        }
        if (is_plain)
            out.text[used] = (char)c;
        else
            snprintf(out.text + used, 5, "\\x%02x", c);
        used += bytes;
    }
    out.text[used++] = '\'';
    out.text[used] = '\0';
    return out;
}

tgi_quoted tgi_quote_name(const char *name)
{
    return tgi_quote_bytes(name, strlen(name));
}

tgi_where tgi_where_of(const char *path, const char *name)
{
    tgi_where where;
    snprintf(where.text, sizeof(where.text), "%.350s: %s", path,
             tgi_quote_name(name).text);
    return where;
}

/* Bytes that follow the first byte of a sequence; -1 if it is none. */
static int continuation_bytes(unsigned char c)
{
    return c < 0x80 ? 0 : c < 0xc2 ? -1 : c < 0xe0 ? 1 : c < 0xf0 ? 2
           : c < 0xf5 ? 3 : -1;
}

bool tgi_is_utf8(const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        const unsigned char first = (unsigned char)text[i++];
        const int more = continuation_bytes(first);
        if (first == 0 || more < 0 || (size_t)more > n - i)
            return false;
        for (int k = 0; k < more; k++) {
            const unsigned char c = (unsigned char)text[i++];
            /* No overlong forms, surrogates, or code points past U+10FFFF. */
            const unsigned low = k > 0 ? 0x80 : first == 0xe0 ? 0xa0
                                 : first == 0xf0 ? 0x90 : 0x80;
            const unsigned high = k > 0 ? 0xbf : first == 0xed ? 0x9f
                                  : first == 0xf4 ? 0x8f : 0xbf;
            if (c < low || c > high)
                return false;
        }
    }
    return true;
}

/* SPDX-License-Identifier: MIT */
/*
 * html.h - text in HTML. Markup is appended with tgi_strbuf_add and _addf;
 * whatever the user or a file has named goes through these functions.
 */
#ifndef TGI_HTML_H
#define TGI_HTML_H

#include "base/strbuf.h"

/*
 * Appends text, for content and quoted attributes alike: escapes markup and
 * quotes, and replaces what HTML cannot contain (control characters, invalid
 * UTF-8) by U+FFFD.
 */
void tgi_html_text(tgi_strbuf *out, const char *text);
void tgi_html_text_bytes(tgi_strbuf *out, const char *text, size_t n);
void tgi_html_textf(tgi_strbuf *out, const char *format, ...) TG_PRINTF(2, 3);

/* The same, at most n characters, the last one "…" if there are more. */
void tgi_html_short(tgi_strbuf *out, const char *text, size_t n);

/* "12.3 us", "40.4 KiB", "1,234,567". */
typedef struct tgi_html_number {
    char text[32];
} tgi_html_number;

tgi_html_number tgi_html_time(double ns);
tgi_html_number tgi_html_bytes(double bytes);

#endif /* TGI_HTML_H */

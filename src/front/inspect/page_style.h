/* SPDX-License-Identifier: MIT */
/*
 * page_style.h - the style sheet and the script of a page.
 */
#ifndef TGI_PAGE_STYLE_H
#define TGI_PAGE_STYLE_H

extern const char tgi_page_style[];
/* Highlights what belongs to one source line; the page works without it. */
extern const char tgi_page_script[];

/* Kernels have the colours .c0 … .c7 in turn. */
enum { TGI_PAGE_COLOURS = 8 };

#endif /* TGI_PAGE_STYLE_H */

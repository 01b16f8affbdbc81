/* SPDX-License-Identifier: MIT */
/*
 * format.h - tensors as text, for print.
 */
#ifndef TGI_FORMAT_H
#define TGI_FORMAT_H

#include "base/strbuf.h"
#include "runtime/view.h"

/*
 * A scalar as it is, others in nested brackets, one line for each innermost
 * axis. Of an axis with more than six elements the first and last three.
 *
 *     [[1 2 3]
 *      [4 5 6]]
 */
void tgi_format_view(const tgi_view *view, tgi_strbuf *out);

/*
 * The text of a print: %v is replaced by the next value, %% by a percent
 * sign; all else, and a %v that has no value, stays as it is.
 */
void tgi_format_print(const char *format, const tgi_view *values,
                      size_t n_values, tgi_strbuf *out);

#endif /* TGI_FORMAT_H */

/* SPDX-License-Identifier: MIT */
/*
 * format.h - formats tensors as text, for tg_print and tg_tensor_text.
 */
#ifndef TGI_FORMAT_H
#define TGI_FORMAT_H

#include "base/strbuf.h"
#include "runtime/view.h"

/*
 * A scalar is formatted as is, others in nested brackets with one line per
 * innermost axis. Of an axis with more than six elements, only the first and
 * last three are shown.
 *
 *     [[1 2 3]
 *      [4 5 6]]
 */
void tgi_format_view(const tgi_view *view, tgi_strbuf *out);

/* Adds dtype and shape, as f32[2,3]. */
void tgi_format_type(const tgi_view *view, tgi_strbuf *out);

/*
 * Formats the text of a print: %v is replaced by the next value, %t by its
 * dtype and shape, %% by a percent sign. Everything else, including a %v
 * without a value, is copied.
 */
void tgi_format_print(const char *format, const tgi_view *values,
                      size_t n_values, tgi_strbuf *out);

/* The same; every %v and %t stands for `value`. */
void tgi_format_repeated(const char *format, const tgi_view *value,
                         tgi_strbuf *out);

#endif /* TGI_FORMAT_H */

/* SPDX-License-Identifier: MIT */
/*
 * format.c - formats tensors as text. An odometer over the elements shown: its
 * position on each axis determines which brackets open and close.
 */
#include "runtime/format.h"

#include <string.h>

#include "base/dtype.h"

enum { EDGE_ELEMENTS = 3 /* shown at either end of a long axis */ };

static void add_repeated(tgi_strbuf *out, char c, int n)
{
    for (int i = 0; i < n; i++)
        tgi_strbuf_add_bytes(out, &c, 1);
}

/* Separates two elements of an axis: a space on the innermost one, else line
   breaks, one more for each axis further out, and the indent of brackets. */
static void add_separator(tgi_strbuf *out, const tgi_view *view, int axis)
{
    if (axis == view->rank - 1) {
        add_repeated(out, ' ', 1);
        return;
    }
    add_repeated(out, '\n', view->rank - 1 - axis);
    add_repeated(out, ' ', axis + 1);
}

static void add_element(tgi_strbuf *out, const tgi_view *view,
                        const int64_t *position)
{
    int64_t offset = 0;
    for (int axis = 0; axis < view->rank; axis++)
        offset += position[axis] * view->strides[axis];
    char text[64];
    tgi_dtype_format(view->dtype,
                     view->data + offset * tgi_dtype_bytes(view->dtype), text,
                     sizeof(text));
    tgi_strbuf_add(out, text);
}

/* Advances to the next shown element of an axis; false at its end. */
static bool next_shown(tgi_strbuf *out, const tgi_view *view, int axis,
                       int64_t *position)
{
    int64_t n = view->dims[axis];
    if (++*position >= n)
        return false;
    add_separator(out, view, axis);
    if (*position == EDGE_ELEMENTS && n > 2 * EDGE_ELEMENTS) {
        tgi_strbuf_add(out, "...");
        add_separator(out, view, axis);
        *position = n - EDGE_ELEMENTS;
    }
    return true;
}

void tgi_format_view(const tgi_view *view, tgi_strbuf *out)
{
    int64_t position[TG_MAX_RANK] = {0};
    int axis = 0;
    /* Descend to an element or an empty axis, then ascend and advance. */
    for (;;) {
        for (; axis < view->rank; axis++) {
            add_repeated(out, '[', 1);
            position[axis] = 0;
            if (view->dims[axis] == 0) {
                axis++;
                break;
            }
        }
        if (axis == view->rank && (axis == 0 || view->dims[axis - 1] > 0))
            add_element(out, view, position);
        while (axis > 0 &&
               !next_shown(out, view, axis - 1, &position[axis - 1])) {
            add_repeated(out, ']', 1);
            axis--;
        }
        if (axis == 0)
            return;
    }
}

void tgi_format_type(const tgi_view *view, tgi_strbuf *out)
{
    tgi_strbuf_add(out, tg_dtype_name(view->dtype));
    add_repeated(out, '[', 1);
    for (int axis = 0; axis < view->rank; axis++)
        tgi_strbuf_addf(out, axis ? ",%lld" : "%lld",
                        (long long)view->dims[axis]);
    add_repeated(out, ']', 1);
}

/* Formats a print. Each placeholder takes the value `step` after the last. */
static void format_values(const char *format, const tgi_view *values,
                          size_t n_values, size_t step, tgi_strbuf *out)
{
    size_t next = 0;
    for (;;) {
        size_t plain = strcspn(format, "%");
        tgi_strbuf_add_bytes(out, format, plain);
        format += plain;
        if (!*format)
            return;
        if ((format[1] == 'v' || format[1] == 't') && next < n_values) {
            if (format[1] == 'v')
                tgi_format_view(&values[next], out);
            else
                tgi_format_type(&values[next], out);
            next += step;
            format += 2;
        } else {
            tgi_strbuf_add_bytes(out, "%", 1);
            format += format[1] == '%' ? 2 : 1;
        }
    }
}

void tgi_format_print(const char *format, const tgi_view *values,
                      size_t n_values, tgi_strbuf *out)
{
    format_values(format, values, n_values, 1, out);
}

void tgi_format_repeated(const char *format, const tgi_view *value,
                         tgi_strbuf *out)
{
    format_values(format, value, 1, 0, out);
}

/* SPDX-License-Identifier: MIT */
/*
 * ops_axes.c - slices, padding and updates along several axes in one call. The
 * lists that a call passes must be of one length, which is checked here; the
 * builders check it against the rank.
 */
#include "front/trace/trace_state.h"
#include "tgjit/ops.h"

/* One list of numbers per axis. */
typedef struct axis_list {
    const char *name;
    int n;
    const void *data;
} axis_list;

/* True if both lists exist and have the same length; else an error. */
static bool check_lists(tgi_operation *o, axis_list a, axis_list b)
{
    const axis_list *missing = a.n && !a.data   ? &a
                               : b.n && !b.data ? &b
                                                : NULL;
    if (missing)
        tgi_build_fail(&o->b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                       "the %s are NULL", missing->name);
    else if (a.n != b.n)
        tgi_build_fail(&o->b, TG_ERROR_SHAPE, NULL, 0,
                       "%d %s and %d %s are given; pass one of each per axis",
                       a.n, a.name, b.n, b.name);
    return !missing && a.n == b.n;
}

tg_value tg_slice_axes_at(tg_operand x, int n_starts, const int64_t *starts,
                          int n_stops, const int64_t *stops, int n_steps,
                          const int64_t *steps, tg_site site)
{
    static const int64_t ones[TG_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "slice_axes", site)) {
        const axis_list first = {"starts", n_starts, starts};
        tgi_ref in = tgi_operation_operand(&o, x);
        if (check_lists(&o, first, (axis_list){"stops", n_stops, stops}) &&
            (n_steps == 0 ||
             check_lists(&o, first, (axis_list){"steps", n_steps, steps})))
            result = tgi_build_slice_axes(&o.b, in, n_starts, starts, stops,
                                          n_steps ? steps : ones);
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_pad_axes_at(tg_operand x, int n_low, const int64_t *low,
                        int n_high, const int64_t *high, tg_operand value,
                        tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "pad_axes", site)) {
        tgi_ref in = tgi_operation_operand(&o, x);
        tgi_ref padding = tgi_operation_operand(&o, value);
        if (check_lists(&o, (axis_list){"lows", n_low, low},
                        (axis_list){"highs", n_high, high}))
            result = tgi_build_pad_axes(&o.b, in, n_low, low, high, padding);
    }
    return tgi_operation_end(&o, result);
}

/* -- Positions known at run time ------------------------------------------- */

/* Converts the starts; false, with an error, if there are too few or many. */
static bool convert_starts(tgi_operation *o, const tg_operand *starts,
                           size_t n_starts, tgi_ref *out_refs)
{
    if (n_starts < 1 || n_starts > TG_MAX_RANK || !starts) {
        tgi_build_fail(&o->b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                       "%zu starts are given; pass one per axis",
                       starts ? n_starts : 0);
        return false;
    }
    for (size_t i = 0; i < n_starts; i++) {
        out_refs[i] = tgi_operation_operand(o, starts[i]);
        if (!out_refs[i])
            return false;
    }
    return true;
}

tg_value tg_dynamic_slice_axes_at(tg_operand x, const tg_operand *starts,
                                  size_t n_starts, int n_sizes,
                                  const int64_t *sizes, tg_site site)
{
    tgi_operation o;
    tgi_ref refs[TG_MAX_RANK], result = 0;
    if (tgi_operation_begin(&o, "dynamic_slice_axes", site)) {
        tgi_ref in = tgi_operation_operand(&o, x);
        if (convert_starts(&o, starts, n_starts, refs) &&
            check_lists(&o, (axis_list){"starts", (int)n_starts, starts},
                        (axis_list){"sizes", n_sizes, sizes}))
            result = tgi_build_dynamic_slice_axes(&o.b, in, n_sizes, refs,
                                                  sizes);
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_dynamic_update_slice_axes_at(tg_operand x, tg_operand update,
                                         const tg_operand *starts,
                                         size_t n_starts, tg_site site)
{
    tgi_operation o;
    tgi_ref refs[TG_MAX_RANK], result = 0;
    if (tgi_operation_begin(&o, "dynamic_update_slice_axes", site)) {
        tgi_ref in = tgi_operation_operand(&o, x);
        tgi_ref part = tgi_operation_operand(&o, update);
        if (convert_starts(&o, starts, n_starts, refs))
            result = tgi_build_dynamic_update_axes(&o.b, in, part,
                                                   (int)n_starts, refs);
    }
    return tgi_operation_end(&o, result);
}

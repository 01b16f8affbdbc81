/* SPDX-License-Identifier: MIT */
/*
 * trace.h - functions for callbacks other than operations: return results,
 * fail, print, assert, read static arguments and bundles, create variables, and
 * apply functions.
 *
 * A trace belongs to the thread that runs the callback. Its first error is
 * sticky: later operations do nothing and return invalid values, so callbacks
 * need no error checks. The call that traced reports the first error.
 */
#ifndef TGJIT_TRACE_H
#define TGJIT_TRACE_H

#include "value.h"

TG_BEGIN_DECLS

/*
 * Sets the results. A callback calls it at most once; a callback that does not
 * call it has no results.
 */
TG_API void tg_return_at(tg_trace *t, const tg_operand *results,
                         size_t n_results, tg_site site);

/* Fails the trace with TG_ERROR_CALLBACK and the given message. */
TG_API void tg_fail_at(tg_trace *t, tg_site site, const char *format, ...)
    TG_PRINTF(3, 4);

/* The same with another status, which is not TG_OK. */
TG_API void tg_fail_with_at(tg_trace *t, tg_status status, tg_site site,
                            const char *format, ...) TG_PRINTF(4, 5);

/* Returns the status of the first error in this trace, or TG_OK. */
TG_API tg_status tg_trace_status(const tg_trace *t);

/*
 * Prints each time a call reaches this point. The first operand is the format,
 * a string in which %v stands for the next value, %t for the dtype and shape of
 * the next value, as f32[2,3], and %% for a percent sign. Long axes are
 * abbreviated to their first and last three elements.
 */
TG_API void tg_print_at(tg_trace *t, const tg_operand *operands,
                        size_t n_operands, tg_site site);

/*
 * Fails a call that reaches this point with TG_ERROR_ASSERT unless all elements
 * of `condition` are true: a bool of any shape (it holds if it is empty), or a
 * plain C integer that is not 0. The error record has the site and the message:
 * a format and its values, as tg_print_at takes them, cut to the size of the
 * record (1 KiB).
 *
 * Asserts, prints and host calls happen in program order. Effects before a
 * failed assert remain; later ones do not happen, and no result is stored. In a
 * branch or loop, an assert is evaluated each time it is reached, in a tg_while
 * also in the test. Gradients do not flow through it, and a backward pass does
 * not repeat it. It is allowed in the callbacks of tg_custom_gradient, but not
 * in tg_checkpoint. It counts as one level of nesting (TG_MAX_NESTING).
 */
TG_API void tg_assert_at(tg_trace *t, tg_operand condition,
                         const tg_operand *operands, size_t n_operands,
                         tg_site site);

/* How many arguments the call passes: the length of `in`. A bundle counts as
   one. 0 if `t` is not the current trace. */
TG_API size_t tg_argument_count(const tg_trace *t);

/* -- Arguments that are not values ----------------------------------------- */

/* Returns the value of static argument `arg`. If it is not a static argument of
   that type, fails the trace and returns 0 or NULL. */
TG_API int64_t tg_static_int_at(tg_trace *t, size_t arg, tg_site site);
TG_API double tg_static_float_at(tg_trace *t, size_t arg, tg_site site);
TG_API const char *tg_static_string_at(tg_trace *t, size_t arg, tg_site site);

/*
 * Returns a struct with the layout of the bundle passed as argument `arg`. Its
 * members are placeholders for the variables of each call; they are valid in
 * this trace only. If the argument is not a bundle of type `type`, fails the
 * trace and returns NULL. Bundle types are equal if their names, sizes and
 * fields are.
 */
TG_API const void *tg_bundle_argument_at(tg_trace *t, size_t arg,
                                         const tg_bundle_type *type,
                                         tg_site site);

/* -- Variables owned by a function ----------------------------------------- */

/*
 * Returns the function's own variable `name`. The first trace of the function
 * creates it; later traces receive the same variable, and dtype and shape must
 * agree. The function owns it; the pointer is borrowed. TG_ERROR_STATE if the
 * name is new in a later trace, or requested twice in one.
 */
TG_API tg_variable *tg_own_variable_at(tg_trace *t, const char *name,
                                       tg_dtype dtype, int rank,
                                       const int64_t *dims, tg_initial initial,
                                       tg_site site);

/*
 * As above; the first call that runs computes the initial value. All extents of
 * `initial` must be known.
 */
TG_API tg_variable *tg_own_variable_from_at(tg_trace *t, const char *name,
                                            tg_operand initial, tg_site site);

/* -- Applying functions ---------------------------------------------------- */

/*
 * Calls `function` from this trace. It is traced for these arguments, in its
 * own table of traces, and the trace becomes part of this graph. a*b + c is
 * never contracted across the call. Writes the first `n_results` results; the
 * function must have at least that many.
 */
TG_API void tg_apply_at(tg_function *function, const tg_operand *args,
                        size_t n_args, tg_value *out_results, size_t n_results,
                        tg_site site);

TG_END_DECLS

#ifndef __cplusplus

/* From here on compilers omit the expansions of macros from their messages. */
#pragma GCC system_header

#define tg_return(t, ...) tg_return_at(t, TG_ARGS(__VA_ARGS__), TG_HERE)
#define tg_fail(t, ...) tg_fail_at(t, TG_HERE, __VA_ARGS__)
#define tg_fail_with(t, status, ...) \
    tg_fail_with_at(t, status, TG_HERE, __VA_ARGS__)
#define tg_print(t, ...) tg_print_at(t, TG_ARGS(__VA_ARGS__), TG_HERE)
/* Example: tg_assert(t, tg_gt(x, 0), "x must be positive, but is %v", x) */
#define tg_assert(t, condition, ...) \
    tg_assert_at(t, TG_IN(condition), TG_ARGS(__VA_ARGS__), TG_HERE)
#define tg_static_int(t, arg) tg_static_int_at(t, arg, TG_HERE)
#define tg_static_float(t, arg) tg_static_float_at(t, arg, TG_HERE)
#define tg_static_string(t, arg) tg_static_string_at(t, arg, TG_HERE)
#define tg_bundle_argument(t, arg, type) \
    tg_bundle_argument_at(t, arg, type, TG_HERE)
#define tg_own_variable(t, name, ...) \
    tg_own_variable_at(t, name, __VA_ARGS__, TG_HERE)
#define tg_own_variable_from(t, name, initial) \
    tg_own_variable_from_at(t, name, TG_IN(initial), TG_HERE)

/* Example: tg_apply(g, TG_ARGS(x, y), results, n) */
#define tg_apply(function, ...) \
    TG_WITH_ARGS(tg_apply_at, __VA_ARGS__) \
    (function, __VA_ARGS__, TG_HERE)

#else /* __cplusplus */

inline void tg_return(tg_trace *t, tg_ins results, tg_site site = TG_HERE)
{
    tg_return_at(t, results.begin(), results.size(), site);
}
inline void tg_return(tg_trace *t, tg_in result, tg_site site = TG_HERE)
{
    tg_return_at(t, &result, 1, site);
}
inline void tg_return(tg_trace *t, tg_site site = TG_HERE)
{
    tg_return_at(t, nullptr, 0, site);
}
template <typename... more>
inline void tg_return(tg_located<tg_trace *> t, tg_in first, tg_in second,
                      const more &...others)
{
    tg_return(t.value, {first, second, tg_in(others)...}, t.site);
}
#define tg_fail(t, ...) tg_fail_at(t, TG_HERE, __VA_ARGS__)
#define tg_fail_with(t, status, ...) \
    tg_fail_with_at(t, status, TG_HERE, __VA_ARGS__)
/* A format and its values as one array of operands; private. A format with more
   values than fit gets fewer than it takes, which is an error. */
struct tg_formatted {
    tg_operand operands[32] = {};
    size_t n = 0;
    tg_formatted(const char *format, tg_ins values)
    {
        operands[n++] = tg_in_string(format);
        for (const tg_in &value : values)
            if (n < 32)
                operands[n++] = value;
    }
};
inline void tg_print(tg_trace *t, const char *format, tg_ins values = {},
                     tg_site site = TG_HERE)
{
    const tg_formatted text(format, values);
    tg_print_at(t, text.operands, text.n, site);
}
inline void tg_assert(tg_trace *t, tg_in condition, const char *format,
                      tg_ins values = {}, tg_site site = TG_HERE)
{
    const tg_formatted text(format, values);
    tg_assert_at(t, condition, text.operands, text.n, site);
}
template <typename... more>
inline void tg_print(tg_located<tg_trace *> t, const char *format,
                     tg_in first, const more &...others)
{
    tg_print(t.value, format, {first, tg_in(others)...}, t.site);
}
template <typename... more>
inline void tg_assert(tg_located<tg_trace *> t, tg_in condition,
                      const char *format, tg_in first, const more &...others)
{
    tg_assert(t.value, condition, format, {first, tg_in(others)...}, t.site);
}
inline int64_t tg_static_int(tg_trace *t, size_t arg, tg_site site = TG_HERE)
{
    return tg_static_int_at(t, arg, site);
}
inline double tg_static_float(tg_trace *t, size_t arg, tg_site site = TG_HERE)
{
    return tg_static_float_at(t, arg, site);
}
inline const char *tg_static_string(tg_trace *t, size_t arg,
                                    tg_site site = TG_HERE)
{
    return tg_static_string_at(t, arg, site);
}
inline const void *tg_bundle_argument(tg_trace *t, size_t arg,
                                      const tg_bundle_type *type,
                                      tg_site site = TG_HERE)
{
    return tg_bundle_argument_at(t, arg, type, site);
}
inline tg_variable *tg_own_variable(tg_trace *t, const char *name,
                                    tg_dtype dtype, tg_dims dims,
                                    tg_initial initial, tg_site site = TG_HERE)
{
    return tg_own_variable_at(t, name, dtype, (int)dims.size(), dims.begin(),
                              initial, site);
}
inline tg_variable *tg_own_variable_from(tg_trace *t, const char *name,
                                         tg_in initial, tg_site site = TG_HERE)
{
    return tg_own_variable_from_at(t, name, initial, site);
}
inline void tg_apply(tg_function *function, tg_ins args, tg_value *out_results,
                     size_t n_results, tg_site site = TG_HERE)
{
    tg_apply_at(function, args.begin(), args.size(), out_results, n_results,
                site);
}

#endif /* __cplusplus */

#endif /* TGJIT_TRACE_H */

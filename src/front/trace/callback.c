/* SPDX-License-Identifier: MIT */
/*
 * callback.c - the operations of a callback on its trace: return, failure,
 * static arguments and bundles.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "front/object/bundle.h"
#include "front/trace/trace_state.h"

bool tgi_trace_is_usable(tg_trace *t, const char *who, tg_site site)
{
    if (t && t == tgi_trace_current()) {
        if (site.file)
            t->site = site;
        t->op_name = NULL;
        return t->status == TG_OK;
    }
    if (tgi_trace_current())
        tgi_trace_fail(tgi_trace_current(), TG_ERROR_TRACE, site,
                       "%s: the argument is not the trace of this callback",
                       who);
    else
        tgi_error_set(TG_ERROR_TRACE, site,
                      "%s: can only be used inside a traced callback", who);
    return false;
}

/* -- Results and failure --------------------------------------------------- */

void tg_return_at(tg_trace *t, const tg_operand *results, size_t n_results,
                  tg_site site)
{
    if (!tgi_trace_is_usable(t, "return", site))
        return;
    if (t->has_returned) {
        tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                       "return: this callback has already returned");
        return;
    }
    if (n_results && !results) {
        tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                       "return: the results are NULL");
        return;
    }
    t->has_returned = true;
    for (size_t i = 0; i < n_results; i++) {
        tgi_ref ref = tgi_trace_operand(t, results[i], "return", site);
        if (!ref)
            return;
        if (!tgi_vec_push(&t->results, ref)) {
            tgi_error_memory();
            tgi_trace_record_error(t);
            return;
        }
    }
}

static void fail_with(tg_trace *t, tg_status status, tg_site site,
                      const char *format, va_list args)
{
    if (!tgi_trace_is_usable(t, "fail", site))
        return;
    tgi_error_setv(status == TG_OK ? TG_ERROR_CALLBACK : status, site,
                   format ? format : "failed", args);
    tgi_trace_record_error(t);
}

void tg_fail_at(tg_trace *t, tg_site site, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_with(t, TG_ERROR_CALLBACK, site, format, args);
    va_end(args);
}

void tg_fail_with_at(tg_trace *t, tg_status status, tg_site site,
                     const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_with(t, status, site, format, args);
    va_end(args);
}

size_t tg_argument_count(const tg_trace *t)
{
    const tg_trace *current = tgi_trace_current();
    if (!t || t != current)
        return 0;
    while (t->outer)
        t = t->outer;
    return t->args.n;
}

/* -- Arguments that are not values ----------------------------------------- */

/* Argument `arg` of the function; NULL if it has no such argument, or if the
   trace is not usable. */
static const tgi_trace_arg *find_arg(tg_trace *t, size_t arg, const char *who,
                                     tg_site site)
{
    if (!tgi_trace_is_usable(t, who, site))
        return NULL;
    const tg_trace *root = tgi_trace_root(t);
    if (arg < root->args.n)
        return &root->args.data[arg];
    tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                   "%s: argument %zu is out of range: the function has %zu",
                   who, arg, root->args.n);
    return NULL;
}

/* The static operand `arg` if its kind is in the bit set `kinds`, else NULL;
   `description` names these kinds. */
static const tg_operand *static_operand(tg_trace *t, size_t arg, unsigned kinds,
                                        const char *description,
                                        const char *who, tg_site site)
{
    const tgi_trace_arg *found = find_arg(t, arg, who, site);
    if (!found)
        return NULL;
    if (found->operand.is_static && kinds & (1u << found->operand.kind))
        return &found->operand;
    tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                   "%s: argument %zu is not a static %s", who, arg,
                   description);
    return NULL;
}

int64_t tg_static_int_at(tg_trace *t, size_t arg, tg_site site)
{
    const tg_operand *operand = static_operand(
        t, arg, 1u << TG_OPERAND_INT | 1u << TG_OPERAND_UINT, "integer",
        "tg_static_int", site);
    return operand ? operand->as.i : 0;
}

double tg_static_float_at(tg_trace *t, size_t arg, tg_site site)
{
    const tg_operand *operand =
        static_operand(t, arg, 1u << TG_OPERAND_FLOAT, "float",
                       "tg_static_float", site);
    return operand ? operand->as.f : 0;
}

const char *tg_static_string_at(tg_trace *t, size_t arg, tg_site site)
{
    const tg_operand *operand =
        static_operand(t, arg, 1u << TG_OPERAND_STRING, "string",
                       "tg_static_string", site);
    return operand ? operand->as.string : NULL;
}

static const char *type_name(const tg_bundle_type *type)
{
    return type->name ? type->name : "";
}

const void *tg_bundle_argument_at(tg_trace *t, size_t arg,
                                  const tg_bundle_type *type, tg_site site)
{
    static const char who[] = "tg_bundle_argument";
    const tgi_trace_arg *found = find_arg(t, arg, who, site);
    if (!found)
        return NULL;
    const tg_bundle_type *actual = found->bundle_type;
    if (!type)
        tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                       "%s: the requested type is NULL", who);
    else if (!actual)
        tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                       "%s: argument %zu is not a bundle, but '%s' was "
                       "requested",
                       who, arg, type_name(type));
    else if (!tgi_bundle_types_equal(actual, type))
        tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                       "%s: argument %zu is a bundle '%s' of %zu bytes, but "
                       "'%s' of %zu bytes was requested",
                       who, arg, type_name(actual), actual->bytes,
                       type_name(type), type->bytes);
    else
        return found->bundle;
    return NULL;
}

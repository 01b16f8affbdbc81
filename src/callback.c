/* SPDX-License-Identifier: MIT */
/*
 * callback.c - what a callback does beside operations: results, failure,
 * static arguments, bundles, and variables of its function.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bundle.h"
#include "function_object.h"

/* True if `t` is the current trace and has not failed. */
static bool is_usable(tg_trace *t, const char *who, tg_site site)
{
    if (t && t == tgi_trace_current()) {
        t->site = site;
        t->op_name = NULL;
        return t->status == TG_OK;
    }
    if (tgi_trace_current())
        tgi_trace_fail(tgi_trace_current(), TG_ERROR_TRACE, site,
                       "%s: that is not the trace of this callback", who);
    else
        tgi_error_set(TG_ERROR_TRACE, site,
                      "%s: works inside a traced callback only", who);
    return false;
}

/* -- Results and failure --------------------------------------------------- */

void tg_return_at(tg_trace *t, const tg_operand *results, size_t n_results,
                  tg_site site)
{
    if (!is_usable(t, "return", site))
        return;
    if (t->has_returned) {
        tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                       "return: this callback has returned already");
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
            tgi_trace_stick(t);
            return;
        }
    }
}

void tg_fail_at(tg_trace *t, tg_site site, const char *format, ...)
{
    if (!is_usable(t, "fail", site))
        return;
    va_list args;
    va_start(args, format);
    tgi_error_setv(TG_ERROR_CALLBACK, site, format ? format : "failed", args);
    va_end(args);
    tgi_trace_stick(t);
}

/* -- Arguments that are not values ----------------------------------------- */

/* What argument `arg` of the function is; NULL if it has none of that number,
   or nothing may be asked for now. */
static const tgi_trace_arg *find_arg(tg_trace *t, size_t arg, const char *who,
                                     tg_site site)
{
    if (!is_usable(t, who, site))
        return NULL;
    const tg_trace *root = tgi_trace_root(t);
    if (arg < root->args.n)
        return &root->args.data[arg];
    tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                   "%s: there is no argument %zu: the function has %zu", who,
                   arg, root->args.n);
    return NULL;
}

/* The static operand `arg` if its kind is among `kinds`, else NULL; `wanted`
   says which these are. */
static const tg_operand *static_operand(tg_trace *t, size_t arg,
                                        unsigned kinds, const char *wanted,
                                        const char *who, tg_site site)
{
    const tgi_trace_arg *seen = find_arg(t, arg, who, site);
    if (!seen)
        return NULL;
    if (seen->operand.is_static && kinds & (1u << seen->operand.kind))
        return &seen->operand;
    tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                   "%s: argument %zu is not a static %s", who, arg, wanted);
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
    const tgi_trace_arg *seen = find_arg(t, arg, who, site);
    if (!seen)
        return NULL;
    const tg_bundle_type *given = seen->bundle_type;
    if (!type)
        tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                       "%s: the type asked for is NULL", who);
    else if (!given)
        tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                       "%s: argument %zu is not a bundle, but '%s' was asked "
                       "for",
                       who, arg, type_name(type));
    else if (!tgi_bundle_types_equal(given, type))
        tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                       "%s: argument %zu is a bundle '%s' of %zu bytes, but "
                       "'%s' of %zu bytes was asked for",
                       who, arg, type_name(given), given->bytes,
                       type_name(type), type->bytes);
    else
        return seen->bundle;
    return NULL;
}

/* -- Variables of the function --------------------------------------------- */

tg_variable *tgi_function_own(tg_function *function, const char *name,
                              bool *out_has_traces)
{
    tg_variable *found = NULL;
    pthread_mutex_lock(&function->lock);
    *out_has_traces = function->n_traces > 0;
    for (size_t i = 0; i < function->own.n && !found; i++)
        if (strcmp(function->own.data[i].name, name) == 0)
            found = function->own.data[i].variable;
    pthread_mutex_unlock(&function->lock);
    return found;
}

/* True if this trace asked for the variable before. */
static bool was_asked_for(const tg_trace *t, const char *name)
{
    for (size_t i = 0; i < t->own_used.n; i++)
        if (strcmp(t->own_used.data[i], name) == 0)
            return true;
    return false;
}

/* The existing variable if its spec is the one wanted, else NULL. */
static tg_variable *reuse(tg_trace *t, tg_variable *variable, const char *name,
                          const tgi_spec *spec, tg_site site)
{
    const tgi_spec *own = &variable->spec;
    char was[256], wanted[256];
    if (own->dtype == spec->dtype && own->rank == spec->rank &&
        memcmp(own->dims, spec->dims, sizeof(own->dims)) == 0)
        return variable;
    tgi_trace_fail(
        t, TG_ERROR_STATE, site,
        "own variable '%s' was made as %s on the first trace, not as %s", name,
        tgi_spec_text(own->dtype, own->rank, own->dims, was, sizeof(was)),
        tgi_spec_text(spec->dtype, spec->rank, spec->dims, wanted,
                      sizeof(wanted)));
    return NULL;
}

/* Has the trace hold a variable, with its reference, until it succeeds. */
static bool hold(tg_trace *t, tg_variable *variable)
{
    /* own_variable has just put the graph's copy of the name here. */
    const char *kept = t->own_used.data[t->own_used.n - 1];
    if (tgi_vec_push(&t->own_new, ((tgi_own_variable){kept, variable})))
        return true;
    tg_variable_release(variable);
    tgi_error_memory();
    tgi_trace_stick(t);
    return false;
}

static tg_variable *make(tg_trace *t, const char *name, const tgi_spec *spec,
                         const tg_initial *initial)
{
    tgi_strbuf full = {0};
    tgi_strbuf_addf(&full, "%s/%s", t->function->name, name);
    tg_variable *variable = NULL;
    if (full.failed)
        tgi_error_memory();
    else
        variable = tgi_variable_make(t->ctx, "own variable", full.text,
                                     spec->dtype, spec->rank, spec->dims,
                                     initial ? *initial : tg_zeros(), NULL);
    tgi_strbuf_deinit(&full);
    if (!variable) {
        tgi_trace_stick(t);
        return NULL;
    }
    atomic_store(&variable->is_set, initial != NULL);
    return hold(t, variable) ? variable : NULL;
}

/* One that a trace of the same function, of which this one is a part, has
   just made. */
static tg_variable *made_by_caller(const tg_trace *t, const char *name)
{
    for (const tg_trace *outer = t->parent; outer; outer = outer->parent)
        for (size_t i = 0;
             outer->function == t->function && i < outer->own_new.n; i++)
            if (strcmp(outer->own_new.data[i].name, name) == 0)
                return outer->own_new.data[i].variable;
    return NULL;
}

/*
 * The function's variable `name`: found, or made on the first trace. Without
 * an initial value it waits for one.
 */
static tg_variable *own_variable(tg_trace *t, const char *name,
                                 const tgi_spec *spec,
                                 const tg_initial *initial, tg_site site)
{
    bool has_traces;
    t = tgi_trace_root(t); /* a function makes them, whichever its part */
    if (was_asked_for(t, name)) {
        tgi_trace_fail(t, TG_ERROR_STATE, site,
                       "own variable '%s' is made twice in one trace", name);
        return NULL;
    }
    const char *kept = tgi_graph_intern(t->graph, name);
    if (!kept || !tgi_vec_push(&t->own_used, kept)) {
        tgi_error_memory();
        tgi_trace_stick(t);
        return NULL;
    }
    tg_variable *found = tgi_function_own(t->function, name, &has_traces);
    if (!found && (found = made_by_caller(t, name))) {
        /* If this trace succeeds it stays, even if the caller's fails. */
        if (!hold(t, tg_variable_retain(found)))
            return NULL;
    }
    if (found)
        return reuse(t, found, name, spec, site);
    if (!has_traces)
        return make(t, name, spec, initial);
    tgi_trace_fail(t, TG_ERROR_STATE, site,
                   "own variable '%s' is new on a later trace: a function "
                   "makes its variables on the first one",
                   name);
    return NULL;
}

static bool may_own(tg_trace *t, const char *name, tg_site site)
{
    if (!is_usable(t, "own variable", site))
        return false;
    if (name && *name)
        return true;
    tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                   "own variable: it needs a name");
    return false;
}

tg_variable *tg_own_variable_at(tg_trace *t, const char *name, tg_dtype dtype,
                                int rank, const int64_t *dims,
                                tg_initial initial, tg_site site)
{
    tgi_spec spec;
    if (!may_own(t, name, site))
        return NULL;
    if (tgi_spec_init(&spec, "own variable", dtype, rank, dims)) {
        tgi_trace_stick(t);
        return NULL;
    }
    tg_variable *variable = own_variable(t, name, &spec, &initial, site);
    if (!variable)
        tgi_trace_stick(t); /* not only the function's trace */
    return variable;
}

tg_variable *tg_own_variable_from_at(tg_trace *t, const char *name,
                                     tg_operand initial, tg_site site)
{
    tgi_spec spec;
    if (!may_own(t, name, site))
        return NULL;
    if (t->around) {
        tgi_trace_fail(t, TG_ERROR_STATE, site,
                       "own variable '%s': the initial value is computed in "
                       "a branch or loop, which may not run",
                       name);
        return NULL;
    }
    tgi_ref value = tgi_trace_operand(t, initial, "own variable", site);
    if (!value)
        return NULL;
    const tgi_shape *shape = tgi_graph_shape(t->graph, value);
    if (!tgi_shape_is_static(shape)) {
        tgi_trace_fail(t, TG_ERROR_SHAPE, site,
                       "own variable '%s': its initial value has an unknown "
                       "extent",
                       name);
        return NULL;
    }
    if (tgi_spec_init(&spec, "own variable",
                      tgi_graph_node(t->graph, value)->dtype, shape->rank,
                      shape->dims)) {
        tgi_trace_stick(t);
        return NULL;
    }
    tg_variable *variable = own_variable(t, name, &spec, NULL, site);
    /* Captured even if nothing uses it: calls that start it lock it. */
    if (!variable || !tgi_trace_variable(t, variable, "own variable", site))
        return NULL;
    /* Every trace brings the value along: whichever is called first. */
    if (!tgi_vec_push(&t->initials, ((tgi_own_initial){variable, value}))) {
        tgi_error_memory();
        tgi_trace_stick(t);
        return NULL;
    }
    tg_variable_retain(variable);
    return variable;
}

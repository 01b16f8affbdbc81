/* SPDX-License-Identifier: MIT */
/*
 * scoped_variables.c - tg_get_variable and the public side of scopes. Inside a
 * callback, errors stick to the trace, and the function remembers the
 * variables that its first trace has created, so that later traces find them
 * whatever their scopes say of reuse.
 */
#include <string.h>

#include "front/call/function_object.h"
#include "front/object/scope.h"
#include "front/object/variable_object.h"

/* The calling thread's trace if it is one of `ctx`, else NULL. */
static tg_trace *current_trace_of(const tg_context *ctx)
{
    tg_trace *t = tgi_trace_current();
    return t && t->ctx == ctx ? t : NULL;
}

/* -- Scopes ---------------------------------------------------------------- */

static tg_status finish_in_trace(const tg_context *ctx, tg_status status)
{
    tg_trace *t = current_trace_of(ctx);
    if (status && t)
        tgi_trace_record_error(t);
    return status;
}

tg_status tg_scope_push_at(tg_context *ctx, const char *name, tg_reuse reuse,
                           tg_site site)
{
    tgi_api_frame frame = tgi_api_enter(ctx, "tg_scope_push");
    const tg_status status = finish_in_trace(
        ctx, tgi_scope_push(ctx, name, reuse, "tg_scope_push", site));
    tgi_api_leave(frame);
    return status;
}

tg_status tg_scope_push_default_at(tg_context *ctx, const char *default_name,
                                   tg_reuse reuse, tg_site site)
{
    static const char who[] = "tg_scope_push_default";
    tgi_api_frame frame = tgi_api_enter(ctx, who);
    const tg_status status = finish_in_trace(
        ctx, tgi_scope_push_default(ctx, default_name, reuse, who, site));
    tgi_api_leave(frame);
    return status;
}

tg_status tg_scope_pop_at(tg_context *ctx, tg_site site)
{
    tgi_api_frame frame = tgi_api_enter(ctx, "tg_scope_pop");
    const tg_status status =
        finish_in_trace(ctx, tgi_scope_pop(ctx, "tg_scope_pop", site));
    tgi_api_leave(frame);
    return status;
}

/* -- Shared variables ------------------------------------------------------ */

/* A request for a variable. */
typedef struct request {
    tg_context *ctx;
    tg_trace *root; /* trace of the function that asks; NULL: none does */
    const char *name; /* full */
    tgi_spec spec;
    tg_initial initial;
    const tg_variable_options *options;
    tg_site site;
} request;

static const char who_gets[] = "tg_get_variable";

/* `found` if it has the spec requested, else NULL. */
static tg_variable *check_spec(const request *r, tg_variable *found)
{
    const tgi_spec *spec = &found->spec;
    char existing[256], requested[256];
    if (tgi_spec_equals(spec, &r->spec))
        return found;
    tgi_error_set(
        TG_ERROR_STATE, r->site,
        "%s: '%s' exists as %s, but %s was requested", who_gets, r->name,
        tgi_spec_text(spec->dtype, spec->rank, spec->dims, existing,
                      sizeof(existing)),
        tgi_spec_text(r->spec.dtype, r->spec.rank, r->spec.dims, requested,
                      sizeof(requested)));
    return NULL;
}

/* An existing variable, if the scope allows its reuse. */
static tg_variable *reuse_shared(const request *r, tg_variable *found)
{
    char existing[256];
    const tgi_spec *spec = &found->spec;
    if (tgi_scope_reuse(r->ctx) != TG_REUSE_OFF)
        return check_spec(r, found);
    tgi_error_set(TG_ERROR_STATE, r->site,
                  "%s: '%s' already exists, as %s; open its scope with "
                  "TG_REUSE_ON or TG_REUSE_AUTO to share it",
                  who_gets, r->name,
                  tgi_spec_text(spec->dtype, spec->rank, spec->dims, existing,
                                sizeof(existing)));
    return NULL;
}

/* Creates it; *out_is_taken: there is one of that name by now. */
static tg_variable *create_shared(const request *r, bool *out_is_taken)
{
    tg_variable *variable = tgi_variable_create(
        r->ctx, who_gets, r->name, r->spec.dtype, r->spec.rank, r->spec.dims,
        r->initial, r->options, true, out_is_taken);
    if (!variable || !r->root)
        return variable;
    if (tgi_function_hold_variable(r->root, r->name, variable))
        return variable;
    tgi_variable_unshare(tg_variable_retain(variable));
    tg_variable_release(variable);
    tgi_error_memory();
    return NULL;
}

/* Finds or creates it by the rules of the scope. */
static tg_variable *find_or_create(const request *r, bool is_later_trace)
{
    for (;;) {
        tg_variable *found = tgi_variable_find_shared(r->ctx, r->name);
        bool is_taken = false;
        if (found)
            return reuse_shared(r, found);
        if (tgi_scope_reuse(r->ctx) == TG_REUSE_ON) {
            tgi_error_set(TG_ERROR_STATE, r->site,
                          "%s: '%s' does not exist, and TG_REUSE_ON creates "
                          "none",
                          who_gets, r->name);
            return NULL;
        }
        if (is_later_trace) {
            tgi_error_set(TG_ERROR_STATE, r->site,
                          "%s: '%s' is new on a later trace; a function "
                          "creates its variables on its first trace",
                          who_gets, r->name);
            return NULL;
        }
        tg_variable *created = create_shared(r, &is_taken);
        if (created || !is_taken)
            return created;
        /* Another thread was faster, or the name belongs to a variable that
           is not shared. */
        if (!tgi_variable_find_shared(r->ctx, r->name)) {
            tgi_error_set(TG_ERROR_STATE, r->site,
                          "%s: the name '%s' belongs to a variable that was "
                          "not created by tg_get_variable",
                          who_gets, r->name);
            return NULL;
        }
    }
}

static tg_variable *get_variable(request *r, const char *name)
{
    if (!r->ctx || !name || !*name) {
        tgi_error_set(TG_ERROR_INVALID_ARGUMENT, r->site, "%s: the %s",
                      who_gets, r->ctx ? "name is empty" : "context is NULL");
        return NULL;
    }
    if (r->ctx->is_closed) {
        tgi_error_set(TG_ERROR_STATE, r->site,
                      "%s: the context has been released", who_gets);
        return NULL;
    }
    bool is_later_trace = false;
    tgi_strbuf full = {0};
    tg_variable *variable = NULL;
    tgi_scope_add_prefix(r->ctx, &full);
    tgi_strbuf_add(&full, name);
    r->name = full.text;
    if (full.failed)
        tgi_error_memory();
    else if (r->root &&
             (variable = tgi_function_find_shared(r->root, r->name,
                                                  &is_later_trace)))
        variable = check_spec(r, variable);
    else
        variable = find_or_create(r, is_later_trace);
    tgi_strbuf_deinit(&full);
    return variable;
}

tg_variable *tg_get_variable_at(tg_context *ctx, const char *name,
                                tg_dtype dtype, int rank, const int64_t *dims,
                                tg_initial initial,
                                const tg_variable_options *options,
                                tg_site site)
{
    tg_trace *t = current_trace_of(ctx);
    if (t && t->status)
        return NULL;
    tgi_api_frame frame = tgi_api_enter(ctx, who_gets);
    request r = {.ctx = ctx,
                 .root = t ? tgi_trace_root(t) : NULL,
                 .initial = initial,
                 .options = options,
                 .site = site};
    tg_variable *variable = NULL;
    if (!tgi_spec_init(&r.spec, who_gets, dtype, rank, dims))
        variable = get_variable(&r, name);
    if (!variable && t)
        tgi_trace_record_error(t);
    tgi_api_leave(frame);
    return variable;
}

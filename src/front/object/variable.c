/* SPDX-License-Identifier: MIT */
/*
 * variable.c - variables: creation, names, and host access.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/live.h"
#include "base/versioned.h"
#include "front/object/context_object.h"
#include "front/object/initialiser.h"
#include "front/object/scope.h"
#include "front/object/variable_object.h"

/* -- Names ----------------------------------------------------------------- */

static bool name_is_taken(const tg_context *ctx, const char *name)
{
    for (size_t i = 0; i < ctx->variables.n; i++)
        if (strcmp(ctx->variables.data[i]->name, name) == 0)
            return true;
    return false;
}

/* `requested`, or requested_1, requested_2 …; the caller holds the list's
   lock. */
static char *unique_name(const tg_context *ctx, const char *requested)
{
    if (!name_is_taken(ctx, requested))
        return tgi_strdup(requested);
    size_t capacity = strlen(requested) + 24;
    char *name = tgi_alloc(capacity);
    for (unsigned long i = 1; name; i++) {
        snprintf(name, capacity, "%s_%lu", requested, i);
        if (!name_is_taken(ctx, name))
            break;
    }
    return name;
}

/*
 * Names the variable and adds it to the context's list. A shared one gets the
 * requested name, or fails with *out_is_taken set.
 */
static tg_status add_to_context(tg_context *ctx, tg_variable *variable,
                                const char *requested, bool *out_is_taken)
{
    bool is_taken = false, is_listed = false;
    tgi_fork_lock_acquire(&ctx->lock);
    if (variable->is_shared)
        is_taken = name_is_taken(ctx, requested);
    if (!is_taken) {
        variable->name = unique_name(ctx, requested);
        is_listed = variable->name && tgi_vec_push(&ctx->variables, variable);
    }
    tgi_fork_lock_release(&ctx->lock);
    if (is_taken)
        *out_is_taken = true;
    return is_listed  ? TG_OK
           : is_taken ? TG_ERROR_STATE
                      : tgi_error_memory();
}

static void remove_from_context(tg_context *ctx, const tg_variable *variable)
{
    tgi_fork_lock_acquire(&ctx->lock);
    for (size_t i = ctx->variables.n; i-- > 0;)
        if (ctx->variables.data[i] == variable) {
            ctx->variables.n--;
            memmove(&ctx->variables.data[i], &ctx->variables.data[i + 1],
                    (ctx->variables.n - i) * sizeof(variable));
            break;
        }
    tgi_fork_lock_release(&ctx->lock);
}

/* -- Creation and destruction ---------------------------------------------- */

static void variable_free(tg_variable *variable)
{
    if (variable->data)
        tgi_buffer_free(variable->data, (size_t)variable->spec.bytes);
    tg_group_release(variable->group);
    tgi_free(variable->name);
    tgi_context_unref(variable->ctx);
    tgi_free(variable);
    tgi_live_add(TGI_LIVE_VARIABLE, -1);
}

/* A variable with one reference and no buffer; NULL when out of memory
   (recorded). */
static tg_variable *variable_alloc(tg_context *ctx, const tgi_spec *spec)
{
    static _Atomic uint64_t last_id;
    tg_variable *variable = tgi_alloc_zero(sizeof(*variable));
    if (!variable) {
        tgi_error_memory();
        return NULL;
    }
    variable->id = 1 + atomic_fetch_add(&last_id, 1);
    tgi_refcount_init(&variable->refs);
    variable->ctx = tgi_context_ref(ctx);
    variable->spec = *spec;
    variable->is_trainable = tgi_dtype_is(spec->dtype, TGI_CLASS_REAL);
    atomic_init(&variable->is_set, false);
    tgi_live_add(TGI_LIVE_VARIABLE, 1);
    return variable;
}

tg_variable *tgi_variable_create_placeholder(tg_context *ctx, const char *name,
                                             const tgi_spec *spec,
                                             uint32_t trace, uint32_t node)
{
    tg_variable *variable = variable_alloc(ctx, spec);
    if (!variable)
        return NULL;
    variable->trace = trace;
    variable->node = node;
    atomic_store(&variable->is_set, true);
    variable->name = tgi_strdup(name);
    if (!variable->name) {
        tgi_error_memory();
        variable_free(variable);
        return NULL;
    }
    return variable;
}

/*
 * A variable is listed under its final name, from which its random initial
 * value derives, before it is filled. Its group stays locked meanwhile: a call
 * that finds it by name waits. Frees the variable on failure.
 */
static tg_status list_and_fill(tg_variable *variable, const char *who,
                                 const char *name, const tg_initial *initial,
                                 bool *out_is_taken)
{
    tg_context *ctx = variable->ctx;
    tg_group *group = variable->group;
    /* False: this thread holds it, by a map or a call around a host function; or
       the group is lost, which calls with the variable will say. */
    const bool is_acquired = tgi_group_acquire(group);
    tg_status status = add_to_context(ctx, variable, name, out_is_taken);
    const bool is_listed = !status;
    if (!status)
        status = tgi_initial_fill(ctx, who, &variable->spec, initial,
                                  variable->name, variable->data);
    if (!status)
        atomic_store(&variable->is_set, true);
    if (is_acquired)
        tgi_group_release(group);
    if (!is_listed)
        variable_free(variable);
    else if (status)
        tg_variable_release(variable);
    return status;
}

tg_variable *tgi_variable_create(tg_context *ctx, const char *who,
                                 const char *name, tg_dtype dtype, int rank,
                                 const int64_t *dims, tg_initial initial,
                                 const tg_variable_options *user_options,
                                 bool is_shared, bool *out_is_taken)
{
    tg_variable_options options;
    tgi_spec spec;
    if (tgi_versioned_read(&options, sizeof(options), user_options,
                           "tg_variable_options") ||
        tgi_spec_init(&spec, who, dtype, rank, dims))
        return NULL;
    if (options.group && options.group->ctx != ctx) {
        tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                      "%s: the group belongs to another context", who);
        return NULL;
    }

    if (tgi_context_check_memory(ctx, (uint64_t)spec.bytes, who, "",
                                 TGI_NO_SITE))
        return NULL;

    tg_variable *variable = variable_alloc(ctx, &spec);
    if (!variable)
        return NULL;
    if (options.untrainable)
        variable->is_trainable = false;
    variable->group = options.group ? tg_group_retain(options.group)
                                    : tg_group_create(ctx);
    if (!variable->group)
        goto failed;
    variable->data = tgi_buffer_alloc((size_t)spec.bytes);
    if (!variable->data) {
        tgi_error_memory();
        goto failed;
    }
    variable->is_shared = is_shared;
    if (list_and_fill(variable, who, name, &initial, out_is_taken))
        return NULL;
    return variable;

failed:
    variable_free(variable);
    return NULL;
}

/* Creates a variable whose name begins with the current scope. */
static tg_variable *create_in_scope(tg_context *ctx, const char *name,
                                    tg_dtype dtype, int rank,
                                    const int64_t *dims, tg_initial initial,
                                    const tg_variable_options *options)
{
    tgi_strbuf full = {0};
    tg_variable *variable = NULL;
    tgi_scope_add_prefix(ctx, &full);
    tgi_strbuf_add(&full, name && *name ? name : "variable");
    if (full.failed)
        tgi_error_memory();
    else
        variable =
            tgi_variable_create(ctx, "tg_variable_create", full.text, dtype,
                                rank, dims, initial, options, false, NULL);
    tgi_strbuf_deinit(&full);
    return variable;
}

tg_variable *tg_variable_create_with(tg_context *ctx, const char *name,
                                     tg_dtype dtype, int rank,
                                     const int64_t *dims, tg_initial initial,
                                     const tg_variable_options *options)
{
    tgi_api_frame frame = tgi_api_enter(ctx, "tg_variable_create");
    tg_variable *variable = NULL;
    if (!ctx)
        tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                      "tg_variable_create: the context is NULL");
    else
        variable = create_in_scope(ctx, name, dtype, rank, dims, initial,
                                   options);
    tgi_api_leave(frame);
    return variable;
}

tg_variable *tg_variable_create(tg_context *ctx, const char *name,
                                tg_dtype dtype, int rank, const int64_t *dims,
                                tg_initial initial)
{
    return tg_variable_create_with(ctx, name, dtype, rank, dims, initial,
                                   NULL);
}

tg_variable *tg_variable_retain(tg_variable *variable)
{
    if (variable)
        tgi_refcount_inc(&variable->refs);
    return variable;
}

void tg_variable_release(tg_variable *variable)
{
    if (!variable || !tgi_refcount_dec(&variable->refs))
        return;
    if (!variable->trace)
        remove_from_context(variable->ctx, variable);
    variable_free(variable);
}

/* -- Shared variables ------------------------------------------------------ */

tg_variable *tgi_variable_find_shared(tg_context *ctx, const char *name)
{
    tg_variable *found = NULL;
    tgi_fork_lock_acquire(&ctx->lock);
    for (size_t i = 0; i < ctx->variables.n && !found; i++) {
        tg_variable *variable = ctx->variables.data[i];
        if (variable->is_shared && strcmp(variable->name, name) == 0)
            found = variable;
    }
    tgi_fork_lock_release(&ctx->lock);
    return found;
}

void tgi_variable_unshare(tg_variable *variable)
{
    tg_context *ctx = variable->ctx;
    tgi_fork_lock_acquire(&ctx->lock);
    const bool is_removed =
        variable->is_shared && tgi_refcount_get(&variable->refs) == 2;
    if (is_removed)
        variable->is_shared = false;
    tgi_fork_lock_release(&ctx->lock);
    if (is_removed)
        tg_variable_release(variable);
}

/* -- Properties ------------------------------------------------------------ */

const char *tg_variable_name(const tg_variable *variable)
{
    return variable ? variable->name : "";
}

tg_dtype tg_variable_dtype(const tg_variable *variable)
{
    return variable ? variable->spec.dtype : TG_DTYPE_NONE;
}

int tg_variable_rank(const tg_variable *variable)
{
    return variable ? variable->spec.rank : -1;
}

const int64_t *tg_variable_dims(const tg_variable *variable)
{
    return variable ? variable->spec.dims : NULL;
}

int64_t tg_variable_count(const tg_variable *variable)
{
    return variable ? variable->spec.count : 0;
}

size_t tg_variable_bytes(const tg_variable *variable)
{
    return variable ? (size_t)variable->spec.bytes : 0;
}

bool tg_variable_is_trainable(const tg_variable *variable)
{
    return variable && variable->is_trainable;
}

uint64_t tg_variable_version(const tg_variable *variable)
{
    return variable ? atomic_load(&variable->version) : 0;
}

/* -- Host access ----------------------------------------------------------- */

tg_status tgi_variable_check(const tg_variable *variable,
                             const tg_context *ctx, const char *who,
                             tg_site site)
{
    if (!variable)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site, "%s: the variable is NULL",
                 who);
    if (variable->trace)
        TGI_FAIL(TG_ERROR_TRACE, site,
                 "%s: '%s' is a placeholder for a bundle's variable and is "
                 "valid only in its own trace",
                 who, variable->name);
    if (ctx && variable->ctx != ctx)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site,
                 "%s: variable '%s' belongs to another context", who,
                 variable->name);
    return TG_OK;
}

void *tg_variable_map(tg_variable *variable, tg_access access)
{
    tgi_api_frame frame =
        tgi_api_enter(variable ? variable->ctx : NULL, __func__);
    void *data = NULL;
    if (tgi_variable_check(variable, NULL, __func__, TGI_NO_SITE))
        goto is_listed;
    tg_group *group = variable->group;
    if (!tgi_group_acquire(group) && group->n_maps == 0) {
        /* Else the lock is held by a call of this thread: this is inside its
           callback. */
        tgi_error_set(TG_ERROR_BUSY, TGI_NO_SITE,
                      group->is_lost
                          ? "%s: another thread was using variable '%s' when "
                            "this process was forked"
                          : "%s: variable '%s' is in use by a call of this "
                            "thread",
                      __func__, variable->name);
        goto is_listed;
    }
    group->n_maps++;
    variable->n_maps++;
    if (access == TG_WRITE)
        variable->is_mapped_for_write = true;
    data = variable->data;
is_listed:
    tgi_api_leave(frame);
    return data;
}

tg_status tg_variable_unmap(tg_variable *variable)
{
    tgi_api_frame frame =
        tgi_api_enter(variable ? variable->ctx : NULL, __func__);
    tg_status status =
        tgi_variable_check(variable, NULL, __func__, TGI_NO_SITE);
    if (status)
        goto is_listed;
    tg_group *group = variable->group;
    if (!tgi_group_is_owned(group) || variable->n_maps == 0) {
        status = tgi_error_set(TG_ERROR_STATE, TGI_NO_SITE,
                               "%s: variable '%s' is not mapped by this "
                               "thread",
                               __func__, variable->name);
        goto is_listed;
    }
    if (variable->is_mapped_for_write) {
        atomic_store(&variable->is_set, true);
        tgi_variable_bump_version(variable);
    }
    if (--variable->n_maps == 0)
        variable->is_mapped_for_write = false;
    if (--group->n_maps == 0)
        tgi_group_release(group);
is_listed:
    tgi_api_leave(frame);
    return status;
}

/* Copies between the buffer and the host; `bytes` must be its size. */
static tg_status copy_contents(tg_variable *variable, const char *who,
                               tg_access access, void *out_data,
                               const void *data, size_t bytes)
{
    tgi_api_frame frame = tgi_api_enter(variable ? variable->ctx : NULL, who);
    tg_status status = tgi_variable_check(variable, NULL, who, TGI_NO_SITE);
    if (!status && bytes != (size_t)variable->spec.bytes)
        status = tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                               "%s: variable '%s' has %lld byte%s, not %zu",
                               who, variable->name,
                               (long long)variable->spec.bytes,
                               TGI_PLURAL(variable->spec.bytes), bytes);
    if (!status && bytes && !(access == TG_READ ? out_data : data))
        status = tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                               "%s: data is NULL", who);
    if (!status) {
        void *contents = tg_variable_map(variable, access);
        if (contents) {
            if (bytes && access == TG_READ)
                memcpy(out_data, contents, bytes);
            else if (bytes)
                memcpy(contents, data, bytes);
            status = tg_variable_unmap(variable);
        } else {
            status = tg_error_last()->status;
        }
    }
    tgi_api_leave(frame);
    return status;
}

tg_status tg_variable_get(tg_variable *variable, void *out_data, size_t bytes)
{
    return copy_contents(variable, __func__, TG_READ, out_data, NULL, bytes);
}

tg_status tg_variable_set(tg_variable *variable, const void *data,
                          size_t bytes)
{
    return copy_contents(variable, __func__, TG_WRITE, NULL, data, bytes);
}

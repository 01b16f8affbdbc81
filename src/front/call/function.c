/* SPDX-License-Identifier: MIT */
/*
 * function.c - functions and their table of traces: creation, lookup or tracing
 * for a call, eviction.
 */
#include <string.h>

#include "base/cancel.h"
#include "base/live.h"
#include "base/settings.h"
#include "base/versioned.h"
#include "front/call/function_object.h"
#include "front/call/pending.h"

enum { DEFAULT_TRACES = 256, MAX_HISTORY = 1024 };
#define DEFAULT_TRACE_BYTES ((size_t)256 << 20)

static const tgi_keyword policy_words[] = {
    {"TG_GENERALISE", TG_GENERALISE, 0},
    {"TG_EXACT", TG_EXACT, 0},
    {"TG_RELAXED", TG_RELAXED, 0},
    {NULL, 0, 0},
};

static const tgi_setting policy_setting = {
    TGI_OPTION(tg_function_options, policy),
    .kind = TGI_SETTING_NUMBER,
    .keywords = policy_words,
};

static const tgi_setting plan_setting = {
    TGI_OPTION(tg_function_options, plan),
    .kind = TGI_SETTING_KEYWORD,
    .keywords = tgi_plan_keywords,
};

static const tgi_setting accuracy_setting = {
    TGI_OPTION(tg_function_options, accuracy),
    .kind = TGI_SETTING_NUMBER,
    .keywords = tgi_accuracy_keywords,
};

/* -- Creation and destruction ---------------------------------------------- */

static tg_status function_init(tg_function *f, tg_context *ctx,
                               const char *name, tg_callback *callback,
                               void *user, const tg_function_options *options)
{
    f->callback = callback;
    f->user = user;
    f->max_traces =
        options->max_traces ? options->max_traces : DEFAULT_TRACES;
    f->max_trace_bytes = options->max_trace_bytes ? options->max_trace_bytes
                                                  : DEFAULT_TRACE_BYTES;
    f->name = tgi_strdup(options->name ? options->name
                         : name        ? name
                                       : "function");
    if (!f->name)
        return tgi_error_memory();
    if (!callback)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "tg_function_create: '%s' has no callback", f->name);
    uint64_t policy;
    TGI_TRY(tgi_setting_read(&policy_setting, options, NULL, &policy));
    f->policy = (tg_policy)policy;
    uint64_t accuracy;
    TGI_TRY(tgi_setting_read(&accuracy_setting, options, NULL, &accuracy));
    f->is_fast = accuracy == TG_ACCURACY_DEFAULT ? ctx->is_fast
                                                 : accuracy == TG_ACCURACY_FAST;
    uint64_t plan;
    TGI_TRY(tgi_setting_read(&plan_setting, options, NULL, &plan));
    f->is_measured = (plan ? plan : ctx->plan) == TGI_PLAN_MEASURE;
    if (!options->signature && !options->n_signature)
        return TG_OK;

    tgi_args given;
    TGI_TRY(tgi_args_from_specs(ctx, options->signature, options->n_signature,
                                TGI_NO_SITE, &given));
    tg_status status = tgi_args_copy_spec(&given, &f->signature);
    tgi_args_deinit(&given);
    f->has_signature = status == TG_OK;
    return status;
}

/* In a forked child, which has no tracing and no waiting threads but one. */
static void forget_threads(tgi_fork_lock *lock)
{
    tg_function *f = TGI_OBJECT_OF(lock, tg_function, lock);
    tgi_pending_forget(f);
    pthread_cond_init(&f->traced, NULL);
}

tg_function *tg_function_create_named(tg_context *ctx, const char *name,
                                      tg_callback *callback, void *user,
                                      const tg_function_options *user_options)
{
    tgi_api_frame frame = tgi_api_enter(ctx, "tg_function_create");
    tg_function_options options;
    tg_function *f = NULL;
    if (!ctx)
        tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                      "tg_function_create: the context is NULL");
    else if (tgi_versioned_read(&options, sizeof(options), user_options,
                                "tg_function_options") == TG_OK &&
             !(f = tgi_alloc_zero(sizeof(*f))))
        tgi_error_memory();
    if (f) {
        tgi_refcount_init(&f->refs);
        f->ctx = tgi_context_ref(ctx);
        tgi_fork_lock_init(&f->lock, forget_threads);
        pthread_cond_init(&f->traced, NULL);
        tgi_live_add(TGI_LIVE_FUNCTION, 1);
        if (function_init(f, ctx, name, callback, user, &options)) {
            tg_function_release(f);
            f = NULL;
        }
    }
    tgi_api_leave(frame);
    return f;
}

tg_function *tg_function_retain(tg_function *function)
{
    if (function)
        tgi_refcount_inc(&function->refs);
    return function;
}

void tg_function_release(tg_function *f)
{
    if (!f || !tgi_refcount_dec(&f->refs))
        return;
    for (size_t i = 0; i < f->table.n; i++)
        tg_concrete_release(f->table.data[i]);
    for (size_t i = 0; i < f->variables.n; i++) {
        tg_variable_release(f->variables.data[i].variable);
        tgi_free((char *)(uintptr_t)f->variables.data[i].name);
    }
    if (f->has_signature)
        tgi_args_deinit(&f->signature);
    tgi_vec_deinit(&f->table);
    tgi_vec_deinit(&f->variables);
    tgi_vec_deinit(&f->pending);
    tgi_vec_deinit(&f->evicted);
    tgi_vec_deinit(&f->history);
    tgi_index_deinit(&f->index);
    /* The condition is not destroyed: see tgi_variant_table_deinit. */
    tgi_fork_lock_deinit(&f->lock);
    tgi_free(f->name);
    tgi_context_unref(f->ctx);
    tgi_free(f);
    tgi_live_add(TGI_LIVE_FUNCTION, -1);
}

const char *tg_function_name(const tg_function *function)
{
    return function ? function->name : "";
}

size_t tg_function_trace_count(const tg_function *function)
{
    if (!function)
        return 0;
    tg_function *f = (tg_function *)(uintptr_t)function; /* for its lock */
    tgi_fork_lock_acquire(&f->lock);
    size_t n = f->n_traces;
    tgi_fork_lock_release(&f->lock);
    return n;
}

/* -- The table, with the lock held ----------------------------------------- */

static bool index_rebuild(tg_function *f)
{
    tgi_index_clear(&f->index);
    for (size_t i = 0; i < f->table.n; i++)
        if (!tgi_index_add(&f->index, f->table.data[i]->hash,
                           (uint32_t)(i + 1)))
            return false;
    return true;
}

/* Removes trace i, which the caller releases, and records its hash as
   evicted. */
static tg_concrete *table_remove(tg_function *f, size_t i)
{
    tg_concrete *concrete = f->table.data[i];
    memmove(&f->table.data[i], &f->table.data[i + 1],
            (--f->table.n - i) * sizeof(concrete));
    if (f->recent == concrete)
        f->recent = NULL;
    if (f->evicted.n == MAX_HISTORY)
        f->evicted.n = 0;
    (void)tgi_vec_push(&f->evicted, concrete->hash); /* for explanations */
    return concrete;
}

/*
 * Evicts least recently used traces until the table obeys its limits; at least
 * one trace stays. Releasing a trace under the lock runs no user code.
 */
static bool table_evict(tg_function *f)
{
    bool changed = false;
    for (;;) {
        size_t bytes = 0, oldest = 0;
        for (size_t i = 0; i < f->table.n; i++) {
            bytes += tgi_concrete_bytes(f->table.data[i]);
            if (f->table.data[i]->last_use < f->table.data[oldest]->last_use)
                oldest = i;
        }
        if (f->table.n <= 1 ||
            (f->table.n <= f->max_traces && bytes <= f->max_trace_bytes))
            break;
        tg_concrete_release(table_remove(f, oldest));
        changed = true;
    }
    return !changed || index_rebuild(f);
}

/* Fast path without a key: the most recently used trace, if the full lookup
   would find it too. */
static tg_concrete *find_recent(const tg_function *f, const tgi_args *args)
{
    tg_concrete *c = f->recent;
    return c && (c->is_exact || f->table.n == 1) &&
                   tgi_args_fit(args, &c->spec) &&
                   tgi_concrete_fits_captures(c, args)
               ? c
               : NULL;
}

static tg_concrete *find_exact(tg_function *f, const tgi_args *args,
                               const tgi_key *key, uint64_t hash)
{
    size_t probe = 0;
    uint32_t position;
    while ((position = tgi_index_next(&f->index, hash, &probe))) {
        tg_concrete *c = f->table.data[position - 1];
        if (c->key.n == key->n &&
            memcmp(c->key.data, key->data, key->n) == 0 &&
            tgi_concrete_fits_captures(c, args))
            return c;
    }
    return NULL;
}

/* The oldest of the matching traces with the fewest symbolic extents. */
static tg_concrete *find_most_specific(tg_function *f, const tgi_args *args)
{
    tg_concrete *best = NULL;
    size_t best_n_symbolic = SIZE_MAX;
    for (size_t i = 0; i < f->table.n; i++) {
        tg_concrete *c = f->table.data[i];
        if (!tgi_args_fit(args, &c->spec) ||
            !tgi_concrete_fits_captures(c, args))
            continue;
        size_t n_symbolic = tgi_args_n_symbolic(&c->spec);
        if (n_symbolic < best_n_symbolic) {
            best = c;
            best_n_symbolic = n_symbolic;
        }
    }
    return best;
}

/* Of the traces that differ from the arguments only in extents, the one that
   differs in the fewest. */
static const tg_concrete *find_similar(const tg_function *f,
                                       const tgi_args *args)
{
    const tg_concrete *best = NULL;
    size_t fewest = SIZE_MAX, n;
    for (size_t i = f->table.n; i-- > 0;) {
        const tg_concrete *c = f->table.data[i];
        if (tgi_args_differ_in_dims(args, &c->spec, &n) && n < fewest &&
            tgi_concrete_fits_captures(c, args)) {
            best = c;
            fewest = n;
        }
    }
    return best;
}

/* Marks a trace as most recently used and retains it for the caller. */
static void table_use(tg_function *f, tg_concrete *concrete)
{
    concrete->last_use = ++f->tick;
    f->recent = tg_concrete_retain(concrete);
}

/* -- Choice of the signature to trace -------------------------------------- */

/* Generalises a copy of the arguments by the function's policy. Lock held. */
TGI_NOINLINE static void
choose_spec(const tg_function *f, tgi_args *spec, bool is_exact)
{
    if (f->has_signature) {
        /* Extents come from the signature, aliases from the call. */
        for (size_t i = 0; i < spec->list.n; i++)
            memcpy(spec->list.data[i].dims, f->signature.list.data[i].dims,
                   sizeof(spec->list.data[i].dims));
        return;
    }
    if (is_exact || f->policy == TG_EXACT)
        return;
    if (f->policy == TG_RELAXED) {
        tgi_args_generalise_all(spec);
        return;
    }
    const tg_concrete *similar = find_similar(f, spec);
    if (similar && !f->never_generalise)
        tgi_args_generalise(spec, &similar->spec);
}

/* Adds a new trace to the table, taking over its reference, and retains it for
   the caller. Lock held. */
TGI_NOINLINE static tg_status
table_add(tg_function *f, tg_concrete *concrete, tg_retrace reason)
{
    if (!tgi_vec_push(&f->table, concrete))
        return tgi_error_memory();
    if (!tgi_index_add(&f->index, concrete->hash, (uint32_t)f->table.n)) {
        f->table.n--;
        return tgi_error_memory();
    }
    f->n_traces++;
    reason.number = concrete->number;
    concrete->reason = reason;
    table_use(f, concrete); /* the table takes over the creator's reference */
    if (f->history.n == MAX_HISTORY)
        memmove(f->history.data, f->history.data + 1,
                --f->history.n * sizeof(reason));
    (void)tgi_vec_push(&f->history, reason); /* for explanations */
    return table_evict(f) ? TG_OK : tgi_error_memory();
}

/* After the trace, which has the number by which dumps, pages and profiles know
   it. */
TGI_NOINLINE static void log_retrace(const tg_function *f,
                                     const tg_concrete *concrete,
                                     const tg_retrace *reason, tg_site site)
{
    if (!(f->ctx->explain & TGI_EXPLAIN_RETRACE))
        return;
    tgi_strbuf text = {0};
    tgi_retrace_print(reason, &text);
    if (!text.failed)
        tgi_log_write(&f->ctx->log, TG_LOG_WARN, TGI_LOG_TRACE,
                      "%s:%d: %s is traced: %s (trace %u)",
                      site.file ? site.file : "?", site.line, f->name,
                      text.text, concrete->number);
    tgi_strbuf_deinit(&text);
}

/* -- Lookup ---------------------------------------------------------------- */

/*
 * Traces `spec` with the lock released, because the log and the callback are
 * user code. If a generalised spec fails, the callback may need known extents:
 * then traces the exact ones, and *reason says so.
 */
static tg_status trace_unlocked(tg_function *f, const tgi_args *spec,
                                const tgi_args *args, bool was_generalised,
                                tg_retrace *reason, tg_site site,
                                tg_concrete **out_concrete,
                                bool *out_fell_back)
{
    tgi_fork_lock_release(&f->lock);
    *out_fell_back = false;
    tg_status status =
        tgi_concrete_trace(f, spec, args, site, out_concrete);
    if (status && was_generalised && status != TG_ERROR_OUT_OF_MEMORY &&
        status != TG_ERROR_RECURSION && status != TG_ERROR_LIMIT &&
        !tgi_status_is_cancelled(status)) {
        status = tgi_concrete_trace(f, args, args, site, out_concrete);
        *out_fell_back = status == TG_OK;
    }
    if (*out_fell_back)
        reason->generalised = false;
    if (!status)
        log_retrace(f, *out_concrete, reason, site);
    tgi_fork_lock_acquire(&f->lock);
    return status;
}

/*
 * Chooses a spec and traces it; lock held before and after. If another thread
 * is tracing the same spec, waits for it and returns no trace: the caller looks
 * it up again.
 */
static tg_status trace_new(tg_function *f, const tgi_args *args, bool is_exact,
                           uint64_t hash, tg_site site,
                           tg_concrete **out_concrete)
{
    tgi_args spec;
    tgi_key key = {0};
    TGI_TRY(tgi_args_copy_spec(args, &spec));
    size_t n_symbolic_before = tgi_args_n_symbolic(&spec);
    choose_spec(f, &spec, is_exact);
    bool was_generalised =
        !f->has_signature && tgi_args_n_symbolic(&spec) > n_symbolic_before;

    tg_retrace reason = tgi_function_explain(f, args, hash);
    reason.generalised =
        reason.reason == TG_RETRACE_DIM &&
        spec.list.data[reason.arg].dims[reason.dim] < 0;
    tgi_pending *pending = NULL;
    tg_status status = tgi_args_key(&spec, &key) ? TG_OK : tgi_error_memory();
    tgi_pending *other = status ? NULL : tgi_pending_find(f, &key);
    if (other)
        status = tgi_pending_wait(f, other, site);
    else if (!status)
        status = tgi_pending_begin(f, &key, &pending);
    if (pending) {
        tg_concrete *concrete = NULL;
        bool fell_back;
        status = trace_unlocked(f, &spec, args, was_generalised, &reason,
                                site, &concrete, &fell_back);
        if (fell_back)
            f->never_generalise = true;
        if (!status) {
            status = table_add(f, concrete, reason);
            if (status)
                tg_concrete_release(concrete);
            else
                *out_concrete = concrete;
        }
        tgi_pending_end(f, pending);
    }
    tgi_vec_deinit(&key);
    tgi_args_deinit(&spec);
    return status;
}

/* Looks up by key, or traces. Lock held before and after, but not while user
   code runs. */
static tg_status find_or_trace(tg_function *f, const tgi_args *args,
                               bool is_exact, tg_site site,
                               tg_concrete **out_concrete)
{
    tgi_key key = {0};
    tg_status status = tgi_args_key(args, &key) ? TG_OK : tgi_error_memory();
    const uint64_t hash = status ? 0 : tgi_hash(key.data, key.n, 0);
    while (!status && !*out_concrete) {
        tg_concrete *found = find_exact(f, args, &key, hash);
        if (!found && !is_exact)
            found = find_most_specific(f, args);
        if (found) {
            table_use(f, found);
            *out_concrete = found;
            break;
        }
        tgi_pending *other = tgi_pending_find(f, &key);
        if (other)
            status = tgi_pending_wait(f, other, site);
        else
            status = trace_new(f, args, is_exact, hash, site, out_concrete);
    }
    tgi_vec_deinit(&key);
    return status;
}

tg_status tgi_function_lookup(tg_function *f, tgi_args *args, bool is_exact,
                              tg_site site, tg_concrete **out_concrete)
{
    *out_concrete = NULL;
    if (f->has_signature)
        TGI_TRY(tgi_args_conform(args, &f->signature, f->name, site));
    tgi_fork_lock_acquire(&f->lock);
    tg_concrete *recent = is_exact ? NULL : find_recent(f, args);
    tg_status status = TG_OK;
    if (recent) {
        table_use(f, recent);
        *out_concrete = recent;
    } else {
        status = find_or_trace(f, args, is_exact, site, out_concrete);
    }
    tgi_fork_lock_release(&f->lock);
    return status;
}

/* -- Public functions ------------------------------------------------------ */

void tg_function_clear(tg_function *f)
{
    if (!f)
        return;
    tgi_fork_lock_acquire(&f->lock);
    while (f->table.n > 0)
        tg_concrete_release(table_remove(f, f->table.n - 1));
    tgi_index_clear(&f->index);
    tgi_fork_lock_release(&f->lock);
}

tg_concrete *tg_function_concrete_at(tg_function *function,
                                     const tg_spec *specs, size_t n_specs,
                                     tg_site site)
{
    tgi_api_frame frame =
        tgi_api_enter(function ? function->ctx : NULL, "tg_function_concrete");
    const tgi_cancel outer =
        tgi_cancel_enter(function ? &function->ctx->cancel_word : NULL);
    tg_concrete *concrete = NULL;
    tgi_args args;
    if (!function) {
        tgi_error_set(TG_ERROR_INVALID_ARGUMENT, site,
                      "tg_function_concrete: the function is NULL");
    } else if (!tgi_args_from_specs(function->ctx, specs, n_specs, site,
                                    &args)) {
        (void)tgi_function_lookup(function, &args, true, site, &concrete);
        tgi_args_deinit(&args);
    }
    if (!concrete)
        tgi_error_locate(site, NULL);
    tgi_cancel_leave(&outer);
    tgi_api_leave(frame);
    return concrete;
}

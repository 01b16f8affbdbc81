/* SPDX-License-Identifier: MIT */
/*
 * launch.c - see launch.h.
 */
#include "front/call/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fpenv.h"
#include "front/call/checked_run.h"
#include "front/call/dump_repro.h"
#include "front/object/dump_file.h"
#include "profile/profile.h"
#include "profile/timeline.h"

/* -- Parameters ------------------------------------------------------------ */

static bool is_variable_arg(const tg_concrete *c, const tgi_args *args,
                            size_t param)
{
    return args->list.data[c->param_arg[param]].kind == TGI_ARG_VARIABLE;
}

static void add_group(tgi_launch_state *state, tg_group *group)
{
    size_t at = state->n_groups;
    while (at > 0 && state->groups[at - 1]->id > group->id)
        at--;
    if (at > 0 && state->groups[at - 1] == group)
        return;
    memmove(&state->groups[at + 1], &state->groups[at],
            (state->n_groups++ - at) * sizeof(group));
    state->groups[at] = state->is_retained ? tg_group_retain(group) : group;
}

/* Adds a variable that the call reads or writes, and its group. */
static void add_variable(tgi_launch_state *state, tg_variable *variable)
{
    add_group(state, variable->group);
    state->variables[state->n_variables++] = variable;
    if (state->is_retained)
        tg_variable_retain(variable);
}

/* Parameter `param` is the variable itself. */
static void set_variable(tgi_launch *launch, size_t param,
                         tg_variable *variable)
{
    tgi_launch_state *state = &launch->state;
    launch->params[param] = variable->data;
    launch->param_bytes[param] = variable->spec.bytes;
    launch->param_variables[param] = variable;
    add_variable(state, variable);
    if (launch->concrete->graph->params.data[param].is_written)
        state->written[state->n_written++] = variable;
}

/* Parameter `param` is the value of a variable: its buffer, or a snapshot if
   the call writes it. */
static tg_status set_variable_value(tgi_launch *launch, size_t param,
                                    tg_variable *variable)
{
    add_variable(&launch->state, variable);
    launch->params[param] = variable->data;
    bool is_written = false;
    for (size_t i = 0; i < launch->state.n_written; i++)
        is_written |= launch->state.written[i] == variable;
    if (!is_written)
        return TG_OK;
    tgi_snapshot snapshot = {variable,
                             tgi_buffer_alloc((size_t)variable->spec.bytes)};
    if (!snapshot.buffer)
        return tgi_error_memory();
    if (!tgi_vec_push(&launch->state.snapshots, snapshot)) {
        tgi_buffer_free(snapshot.buffer, (size_t)variable->spec.bytes);
        return tgi_error_memory();
    }
    launch->params[param] = snapshot.buffer;
    return TG_OK;
}

/* Bytes of an array argument. They fit: its extents have been checked. */
static int64_t arg_bytes(const tgi_arg *arg)
{
    int64_t bytes = tgi_dtype_bytes(arg->dtype);
    for (int axis = 0; axis < arg->rank; axis++)
        bytes *= arg->dims[axis];
    return bytes;
}

static tg_status set_params(tgi_launch *launch, const tgi_args *args)
{
    const tg_concrete *c = launch->concrete;
    /* Variables first: whether a value needs a snapshot depends on them. */
    for (size_t p = 0; p < c->n_arg_params; p++)
        if (is_variable_arg(c, args, p))
            set_variable(launch, p, args->list.data[c->param_arg[p]].variable);
    for (size_t i = 0; i < c->captures.n; i++)
        set_variable(launch, c->n_arg_params + i, c->captures.data[i]);

    tgi_launch_number *number = launch->numbers;
    for (size_t p = 0; p < c->n_arg_params; p++) {
        const tgi_arg *arg = &args->list.data[c->param_arg[p]];
        if (is_variable_arg(c, args, p))
            continue;
        if (arg->variable) {
            launch->param_bytes[p] = arg->variable->spec.bytes;
            TGI_TRY(set_variable_value(launch, p, arg->variable));
        } else if (arg->tensor || arg->data) {
            launch->param_bytes[p] = arg_bytes(arg);
            launch->params[p] = (void *)(uintptr_t)arg->data;
        } else {
            launch->param_bytes[p] = tgi_dtype_bytes(arg->dtype);
            memcpy(number->element, arg->number, sizeof(number->element));
            launch->params[p] = number++->element;
        }
    }
    return TG_OK;
}

/* -- Numbers --------------------------------------------------------------- */

static tg_status check_number(const tgi_launch *launch,
                              const tgi_number_check *check, tg_site site)
{
    const tg_concrete *c = launch->concrete;
    const tgi_node *node = tgi_graph_node(c->traced, check->param);
    const tgi_attr_index *attr = node->attr;
    const tgi_number number =
        tgi_dtype_load(node->dtype, launch->params[attr->index]);
    char element[8], text[40];
    if (tgi_dtype_store(check->dtype, number, element))
        return TG_OK;
    TGI_FAIL(TG_ERROR_DTYPE, site,
             "%s: argument %u: the number %s is not representable in %s, to "
             "which %s converts it (%s:%d)",
             c->name, c->spec.list.data[c->param_arg[attr->index]].operand,
             tgi_number_format(number, text, sizeof(text)),
             tg_dtype_name(check->dtype), check->op,
             check->file ? check->file : "?", check->line);
}

tg_status tgi_launch_check_numbers(const tgi_launch *launch, tg_site site)
{
    const tgi_graph *traced = launch->concrete->traced;
    for (size_t i = 0; i < traced->number_checks.n; i++)
        TGI_TRY(check_number(launch, &traced->number_checks.data[i], site));
    return TG_OK;
}

/* -- Preparation ----------------------------------------------------------- */

/* Allocates all arrays of a launch as one block. */
static bool alloc_arrays(tgi_launch *launch, size_t n_symbols)
{
    size_t n_params = launch->n_params + 1, n_results = launch->n_results + 1;
    size_t bytes = n_params * (5 * sizeof(void *) + sizeof(int64_t) +
                               sizeof(tgi_launch_number)) +
                   n_results * sizeof(void *) + n_symbols * sizeof(int64_t);
    launch->arrays = bytes <= sizeof(launch->inline_arrays)
                         ? launch->inline_arrays
                         : tgi_alloc(bytes);
    if (!launch->arrays)
        return false;
    launch->params = launch->arrays;
    launch->results = launch->params + n_params;
    launch->param_variables =
        (tg_variable **)(launch->results + n_results);
    launch->state.variables = launch->param_variables + n_params;
    launch->state.written = launch->state.variables + n_params;
    launch->state.groups = (tg_group **)(launch->state.written + n_params);
    launch->param_bytes = (int64_t *)(launch->state.groups + n_params);
    launch->symbols = launch->param_bytes + n_params;
    launch->numbers = (tgi_launch_number *)(launch->symbols + n_symbols);
    /* The other arrays are filled. */
    for (size_t i = 0; i < n_results; i++)
        launch->results[i] = NULL;
    for (size_t i = 0; i < n_params; i++)
        launch->param_variables[i] = NULL;
    return true;
}

tg_status tgi_launch_init(tgi_launch *launch, tg_concrete *concrete,
                          const tgi_args *args, bool is_bound, tg_site site)
{
    static const tgi_launch_state empty; /* faster to copy than to clear */
    const tgi_graph *graph = concrete->graph;
    const size_t n_symbols = concrete->n_symbols;
    launch->concrete = concrete;
    launch->runner = NULL;
    launch->state = empty;
    launch->state.is_retained = is_bound;
    launch->is_dumped = false;
    launch->n_params = graph->params.n;
    launch->n_results = graph->results.n;
    tg_status status = alloc_arrays(launch, n_symbols)
                           ? set_params(launch, args)
                           : tgi_error_memory();
    launch->is_initialised =
        launch->state.n_variables == 0 && concrete->initials.n == 0;
    if (!status)
        status = tgi_launch_check_numbers(launch, site);
    for (size_t k = 0; k < n_symbols && !status; k++) {
        tgi_symbol source = tgi_dims_symbol(graph->dims, k);
        launch->symbols[k] =
            args->list.data[concrete->param_arg[source.param]]
                .dims[source.axis];
    }
    if (!status)
        status = tgi_runner_acquire(concrete, launch->symbols, is_bound,
                                    &launch->runner);
    if (status) {
        tgi_error_copy error;
        tgi_error_save(&error);
        tgi_launch_deinit(launch);
        tgi_error_restore(&error);
    }
    return status;
}

static void state_deinit(tgi_launch_state *state)
{
    for (size_t i = 0; state->is_retained && i < state->n_groups; i++)
        tg_group_release(state->groups[i]);
    for (size_t i = 0; i < state->snapshots.n; i++)
        tgi_buffer_free(state->snapshots.data[i].buffer,
                        (size_t)state->snapshots.data[i].variable->spec.bytes);
    for (size_t i = 0; state->is_retained && i < state->n_variables; i++)
        tg_variable_release(state->variables[i]);
    tgi_vec_deinit(&state->snapshots);
}

void tgi_launch_deinit(tgi_launch *launch)
{
    tgi_runner_destroy(launch->runner);
    state_deinit(&launch->state);
    if (launch->arrays != launch->inline_arrays)
        tgi_free(launch->arrays);
    tg_concrete_release(launch->concrete);
}

void tgi_launch_end(tgi_launch *launch)
{
    tgi_runner_release(launch->concrete, launch->runner);
    launch->runner = NULL;
    tgi_launch_deinit(launch);
}

/* -- Results --------------------------------------------------------------- */

/* Result i, for its slot. */
static tgi_slot_result slot_result(const tgi_launch *launch, size_t i)
{
    const tgi_runner_result *result = &tgi_runner_results(launch->runner)[i];
    return (tgi_slot_result){.who = launch->concrete->name,
                             .what = "result",
                             .number = i,
                             .dtype = result->dtype,
                             .rank = result->rank,
                             .dims = result->dims,
                             .bytes = result->bytes};
}

/* Checks new result tensors and temporaries against the memory limit. */
static tg_status check_memory(const tgi_launch *launch,
                              const tg_result *results, size_t n_results,
                              tg_site site)
{
    const tg_concrete *c = launch->concrete;
    uint64_t bytes = tgi_runner_bytes(launch->runner, NULL);
    for (size_t i = 0; i < n_results && i < launch->n_results; i++)
        if (results && results[i].kind == TG_RESULT_TENSOR &&
            (!*results[i].as.tensor || results[i].is_fresh) &&
            __builtin_add_overflow(
                bytes, (uint64_t)tgi_runner_results(launch->runner)[i].bytes,
                &bytes))
            bytes = UINT64_MAX;
    return tgi_context_check_memory(c->ctx, bytes, c->name,
                                    " of temporaries and results", site);
}

/* Fails if two results go to one slot. */
static tg_status check_slots(const tgi_launch *launch,
                             const tg_result *results, size_t n_results,
                             tg_site site)
{
    for (size_t i = 1; results && i < n_results; i++)
        for (size_t k = 0; k < i; k++)
            if (results[i].kind == TG_RESULT_TENSOR &&
                results[k].kind == TG_RESULT_TENSOR &&
                results[i].as.tensor == results[k].as.tensor)
                TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site,
                         "%s: results %zu and %zu have the same slot",
                         launch->concrete->name, k, i);
    return TG_OK;
}

tg_status tgi_launch_bind_results(tgi_launch *launch,
                                  const tg_result *results, size_t n_results,
                                  tg_tensor **tensors, tg_site site)
{
    if (n_results > launch->n_results)
        for (size_t i = launch->n_results; i < n_results; i++)
            if (results && results[i].kind != TG_RESULT_NONE)
                TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site,
                         "%s: returns %zu result%s, but %zu %s requested",
                         launch->concrete->name, launch->n_results,
                         TGI_PLURAL(launch->n_results), n_results,
                         TGI_WERE(n_results));
    TGI_TRY(check_slots(launch, results, n_results, site));
    TGI_TRY(check_memory(launch, results, n_results, site));
    for (size_t i = 0; i < n_results && i < launch->n_results; i++) {
        if (!results || results[i].kind == TG_RESULT_NONE)
            continue;
        const tgi_slot_result result = slot_result(launch, i);
        if (results[i].kind == TG_RESULT_NUMBER) {
            TGI_TRY(tgi_slot_check_number(&result, &results[i], site));
            launch->results[i] = results[i].as.number;
            continue;
        }
        TGI_TRY(tgi_slot_choose_tensor(launch->concrete->ctx, &result,
                                       &results[i], &tensors[i], site));
        launch->results[i] = tensors[i]->data;
    }
    /* The buffers of the previous call have already been checked. */
    if (!tgi_runner_is_bound(launch->runner, launch->params, launch->results))
        TGI_TRY(tgi_launch_check_overlap(launch, site));
    return tgi_launch_bind(launch);
}

tg_status tgi_launch_bind(tgi_launch *launch)
{
    return tgi_runner_bind(launch->runner, launch->params, launch->results);
}

/* -- Overlap --------------------------------------------------------------- */

typedef struct span {
    const char *begin;
    int64_t bytes;
} span;

static bool overlaps(span a, span b)
{
    return a.bytes > 0 && b.bytes > 0 && a.begin < b.begin + b.bytes &&
           b.begin < a.begin + a.bytes;
}

tg_status tgi_launch_check_overlap(const tgi_launch *launch, tg_site site)
{
    const char *name = launch->concrete->name;
    for (size_t i = 0; i < launch->n_results; i++) {
        span result = {launch->results[i],
                       tgi_runner_results(launch->runner)[i].bytes};
        if (!result.begin)
            continue;
        for (size_t k = 0; k < i; k++) {
            span other = {launch->results[k],
                          tgi_runner_results(launch->runner)[k].bytes};
            if (other.begin && overlaps(result, other))
                TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site,
                         "%s: results %zu and %zu overlap", name, k, i);
        }
        for (size_t v = 0; v < launch->state.n_variables; v++) {
            const tg_variable *variable = launch->state.variables[v];
            if (overlaps(result, (span){variable->data, variable->spec.bytes}))
                TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site,
                         "%s: result %zu overlaps the memory of variable '%s'",
                         name, i, variable->name);
        }
        for (size_t p = 0; p < launch->n_params; p++) {
            span param = {launch->params[p], launch->param_bytes[p]};
            if (!overlaps(result, param))
                continue;
            if (param.begin != result.begin || param.bytes != result.bytes)
                TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site,
                         "%s: result %zu overlaps a part of an argument",
                         name, i);
        }
    }
    return TG_OK;
}

/* -- Running --------------------------------------------------------------- */

/* Acquires all locks; none if this thread holds one of them already. */
static tg_status lock_groups(const tgi_launch *launch)
{
    for (size_t i = 0; i < launch->state.n_groups; i++) {
        if (tgi_group_acquire(launch->state.groups[i]))
            continue;
        const bool is_lost = launch->state.groups[i]->is_lost;
        while (i-- > 0)
            tgi_group_release(launch->state.groups[i]);
        TGI_FAIL(TG_ERROR_BUSY, TGI_NO_SITE,
                 is_lost ? "%s: another thread was using one of its variables "
                           "when this process was forked"
                         : "%s: this thread has mapped one of its variables, "
                           "or is in a call that uses it",
                 launch->concrete->name);
    }
    return TG_OK;
}

static void unlock_groups(const tgi_launch *launch)
{
    for (size_t i = launch->state.n_groups; i-- > 0;)
        tgi_group_release(launch->state.groups[i]);
}

/* Computes the initial values that are not set yet. Locks held. */
static tg_status compute_initials(tgi_launch *launch)
{
    const tg_concrete *c = launch->concrete;
    tgi_interp *interp = NULL;
    TGI_TRY(tgi_interp_create(c->initial_graph, launch->symbols,
                              &c->ctx->host, c->ctx->memory_limit, &interp));
    void **results = tgi_alloc_zero(c->initials.n * sizeof(void *));
    tg_status status = results ? TG_OK : tgi_error_memory();
    if (!status) {
        for (size_t i = 0; i < c->initials.n; i++)
            if (!atomic_load(&c->initials.data[i]->is_set))
                results[i] = c->initials.data[i]->data;
        status = tgi_interp_run(interp, launch->params, results);
    }
    for (size_t i = 0; i < c->initials.n && !status; i++)
        if (results[i]) {
            tgi_variable_bump_version(c->initials.data[i]);
            atomic_store(&c->initials.data[i]->is_set, true);
        }
    tgi_free(results);
    tgi_interp_destroy(interp);
    return status;
}

/* Computes missing initial values; fails if a variable has none. Locks held. */
static tg_status initialise_variables(tgi_launch *launch)
{
    const tg_concrete *c = launch->concrete;
    bool needs_initials = false;
    for (size_t i = 0; i < c->initials.n; i++)
        needs_initials |= !atomic_load(&c->initials.data[i]->is_set);
    if (needs_initials)
        TGI_TRY(compute_initials(launch));
    for (size_t i = 0; i < launch->state.n_variables; i++)
        if (!atomic_load(&launch->state.variables[i]->is_set))
            TGI_FAIL(TG_ERROR_STATE, TGI_NO_SITE,
                     "%s: variable '%s' is uninitialised; first run the "
                     "function that creates it",
                     c->name, launch->state.variables[i]->name);
    launch->is_initialised = true;
    return TG_OK;
}

/* Dumps this call as a reproducer, before it runs. Locks held. */
static void dump_repro(tgi_launch *launch)
{
    const tg_concrete *c = launch->concrete;
    const tgi_graph *graph = c->graph;
    int64_t *values = tgi_alloc((tgi_dims_n_values(graph->dims) + 1) *
                                sizeof(*values));
    if (values && graph->callees.n == 0 &&
        tgi_dims_evaluate(graph->dims, launch->symbols, values) == TG_OK) {
        tgi_strbuf text = {0};
        const tgi_repro_settings settings = {.threads = c->ctx->threads,
                                             .vector_bits = c->ctx->vector_bits,
                                             .ignores_grain =
                                                 c->ctx->grain == 0,
                                             .no_contraction = true};
        tgi_dump_repro(graph, values, launch->params, &settings, &text);
        tgi_dump_text(c->ctx, c->name, c->number, "repro", "c",
                      text.failed ? NULL : text.text);
        tgi_strbuf_deinit(&text);
    }
    tgi_free(values);
    launch->is_dumped = true;
}

/* Passes the versions of variables to compiled code that memoises values made
   from them. */
static void pass_versions(tgi_launch *launch)
{
    tgi_native *native = tgi_runner_memoising_native(launch->runner);
    const uint32_t *params;
    const size_t n = native ? tgi_native_memoised_params(native, &params) : 0;
    for (size_t i = 0; i < n; i++) {
        const tg_variable *variable = launch->param_variables[params[i]];
        tgi_native_set_contents(
            native, i,
            (tgi_contents_id){variable->id, tg_variable_version(variable)});
    }
}

/* Runs the launch on its buffers. Locks held. */
static inline __attribute__((always_inline)) tg_status
run_runner(tgi_launch *launch, tgi_profile_trace *trace, tgi_profile_call *call)
{
    if (launch->concrete->ctx->dump & TGI_DUMP_REPRO && !launch->is_dumped)
        dump_repro(launch);
    if (launch->concrete->ctx->checks && tgi_runner_native(launch->runner))
        return tgi_checked_run(launch, trace, call);
    return call ? tgi_runner_run_profiled(launch->runner, trace, call)
                : tgi_runner_run(launch->runner);
}

/* Of a launch with variables. */
static inline __attribute__((always_inline)) tg_status run_with_variables(
    tgi_launch *launch, tgi_profile_trace *trace, tgi_profile_call *call)
{
    if (!launch->is_initialised)
        TGI_TRY(initialise_variables(launch));
    for (size_t i = 0; i < launch->state.snapshots.n; i++) {
        const tgi_snapshot *snapshot = &launch->state.snapshots.data[i];
        memcpy(snapshot->buffer, snapshot->variable->data,
               (size_t)snapshot->variable->spec.bytes);
    }
    pass_versions(launch);
    const tg_status status = run_runner(launch, trace, call);
    /* Also after a failure, which does not undo earlier assignments. */
    for (size_t i = 0; i < launch->state.n_written; i++)
        tgi_variable_bump_version(launch->state.written[i]);
    return status;
}

/* Runs the launch; with `call`, timed. Inlined twice. */
static inline __attribute__((always_inline)) tg_status
run_launch(tgi_launch *launch, tgi_profile_trace *trace, tgi_profile_call *call)
{
    const bool has_variables =
        launch->state.n_groups > 0 || !launch->is_initialised;
    if (has_variables)
        TGI_TRY(lock_groups(launch));
    const uint32_t mode = tgi_fpenv_begin();
    const tg_status status = has_variables
                                 ? run_with_variables(launch, trace, call)
                                 : run_runner(launch, trace, call);
    tgi_fpenv_end(mode);
    if (has_variables)
        unlock_groups(launch);
    return status;
}

/* -- Profiled runs --------------------------------------------------------- */

/* The trace in the current profile, referenced; NULL if it is not recorded. */
static tgi_profile_trace *profile_trace(tg_concrete *c)
{
    bool is_new;
    const tgi_profile_key key = {c->name, c->number, c->site};
    tgi_profile_trace *trace =
        tgi_profile_trace_get(&key, &c->profile, &is_new);
    if (trace && is_new) {
        tgi_strbuf reason = {0};
        tgi_retrace_print(&c->reason, &reason);
        tgi_profile_describe(trace, reason.failed ? "" : reason.text,
                             c->phase_ns);
        tgi_strbuf_deinit(&reason);
    }
    return trace;
}

TGI_NOINLINE static tg_status run_profiled(tgi_launch *launch)
{
    tg_concrete *c = launch->concrete;
    const bool is_profiling = tgi_profile_mode_has(TGI_PROFILING);
    tgi_profile_trace *trace = is_profiling ? profile_trace(c) : NULL;
    tgi_profile_call call = {.n_threads = 1};
    const uint64_t begin = tgi_clock_ns();
    const tg_status status = run_launch(launch, trace, &call);
    const uint64_t end = tgi_clock_ns();
    call.total_ns = end - begin - call.setup_ns;
    if (is_profiling)
        tgi_profile_add_call(trace, &call);
    tgi_profile_trace_release(trace);
    tgi_timeline_add("call", c->name, NULL, begin, end);
    return status;
}

tg_status tgi_launch_run(tgi_launch *launch)
{
    if (tgi_profile_is_on())
        return run_profiled(launch);
    return run_launch(launch, NULL, NULL);
}

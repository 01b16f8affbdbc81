/* SPDX-License-Identifier: MIT */
/*
 * concrete.c - one trace of a function: runs the callback for a signature, then
 * the passes.
 */
#include <string.h>

#include "base/clock.h"
#include "base/live.h"
#include "front/call/function_object.h"
#include "front/object/scope.h"
#include "front/object/dump_file.h"
#include "ir/dump.h"
#include "ir/rebuild.h"
#include "ir/verify.h"
#include "pass/lower_saved_values.h"
#include "pass/pass.h"
#include "pass/value_checks.h"
#include "profile/timeline.h"

/* -- Arguments to parameters ----------------------------------------------- */

/* The shape of an argument. Symbolic extents become symbols of the graph;
   `symbols` maps them. 0 on failure (recorded). */
static tgi_shape_ref arg_shape(tgi_dims *dims, const tgi_arg *arg,
                               uint32_t param, tgi_dim *symbols)
{
    tgi_dim extents[TG_MAX_RANK];
    for (int axis = 0; axis < arg->rank; axis++) {
        extents[axis] = arg->dims[axis];
        if (arg->dims[axis] >= 0)
            continue;
        tgi_dim *symbol = &symbols[~arg->dims[axis]];
        if (*symbol == 0)
            *symbol = tgi_dim_symbol(dims,
                                     (tgi_symbol){param, (uint32_t)axis});
        if (*symbol == TGI_DIM_NONE)
            return 0;
        extents[axis] = *symbol;
    }
    return tgi_shape_intern(dims, arg->rank, extents);
}

static size_t count_symbols(const tgi_args *spec)
{
    size_t n = 0;
    for (size_t i = 0; i < spec->list.n; i++)
        for (int axis = 0; axis < spec->list.data[i].rank; axis++) {
            int64_t dim = spec->list.data[i].dims[axis];
            if (dim < 0 && (size_t)~dim >= n)
                n = (size_t)~dim + 1;
        }
    return n;
}

/* Adds the parameter of argument i, or shares that of its alias. */
static tg_status add_param(tg_trace *t, tg_concrete *c, size_t i,
                           tgi_dim *symbols, const tgi_args *actual)
{
    const tgi_arg *arg = &c->spec.list.data[i];
    bool is_variable = arg->kind == TGI_ARG_VARIABLE;
    c->arg_param[i] = TGI_NO_PARAM;
    if (arg->kind == TGI_ARG_STATIC)
        return TG_OK;
    if (is_variable && arg->alias != i) {
        c->arg_param[i] = c->arg_param[arg->alias];
        return TG_OK;
    }

    uint32_t param = (uint32_t)c->n_arg_params;
    tgi_shape_ref shape = arg_shape(t->graph->dims, arg, param, symbols);
    if (!shape)
        return tg_error_last()->status;
    tgi_ref node = tgi_graph_add_param(
        t->graph, is_variable ? TGI_OP_VARIABLE : TGI_OP_PARAM, arg->dtype,
        shape, arg->kind == TGI_ARG_NUMBER ? TGI_NODE_NUMBER : 0);
    if (!node)
        return tg_error_last()->status;
    if (!tgi_vec_push(&t->last_write, (tgi_ref)0))
        return tgi_error_memory();
    tg_variable *variable =
        actual ? actual->list.data[i].variable : NULL;
    if (is_variable && variable) {
        if (!tgi_vec_push(&t->arg_captured, false) ||
            !tgi_vec_push(&t->arg_variables, ((tgi_capture){variable, node})))
            return tgi_error_memory();
        tg_variable_retain(variable);
    }
    c->param_arg[param] = (uint32_t)i;
    c->arg_param[i] = param;
    c->n_arg_params++;
    return TG_OK;
}

/* Allocates the bundle of the arguments from `first` on, with stand-ins as its
   members; freed by the caller, also on failure. */
static tg_status make_bundle(tg_trace *t, const tg_concrete *c, size_t first,
                             void **out_bundle)
{
    const tgi_arg *args = c->spec.list.data;
    const tg_bundle_type *type = args[first].bundle_type;
    char *bundle = *out_bundle = tgi_alloc_zero(type->bytes);
    if (!bundle)
        return tgi_error_memory();
    if (args[first].kind == TGI_ARG_STATIC)
        return TG_OK; /* it has no members */
    for (size_t i = first; i < c->spec.list.n &&
                           args[i].operand == args[first].operand;
         i++) {
        tgi_spec spec;
        TGI_TRY(tgi_spec_init(&spec, "bundle", args[i].dtype, args[i].rank,
                              args[i].dims));
        tg_variable *stand_in = tgi_variable_create_placeholder(
            t->ctx, args[i].member, &spec, t->id,
            t->graph->params.data[c->arg_param[i]].node);
        if (!stand_in)
            return TG_ERROR_OUT_OF_MEMORY;
        if (!tgi_vec_push(&t->placeholders, stand_in)) {
            tg_variable_release(stand_in);
            return tgi_error_memory();
        }
        stand_in->is_trainable = !args[i].is_untrainable;
        memcpy(bundle + args[i].offset, &stand_in, sizeof(stand_in));
    }
    return TG_OK;
}

/* Adds the callback's view of the operand whose first argument is i. */
static tg_status add_operand(tg_trace *t, const tg_concrete *c, size_t i,
                             tg_value *out_value)
{
    const tgi_arg *arg = &c->spec.list.data[i];
    tgi_trace_arg seen = {.bundle_type = arg->bundle_type};
    if (arg->kind == TGI_ARG_STATIC)
        seen.operand = arg->fixed;
    *out_value = (tg_value){0, 0};
    tg_status status = TG_OK;
    if (arg->bundle_type)
        status = make_bundle(t, c, i, &seen.bundle);
    else if (arg->kind != TGI_ARG_STATIC)
        *out_value = tgi_trace_value(
            t, t->graph->params.data[c->arg_param[i]].node);
    else if (arg->fixed.kind != TG_OPERAND_STRING) {
        tgi_builder b = {.graph = t->graph, .op_name = "static"};
        tgi_ref number = tgi_build_static_number(
            &b, (tg_dtype)arg->fixed.dtype, tgi_operand_number(&arg->fixed));
        *out_value = tgi_trace_value(t, number);
        status = number ? TG_OK : tg_error_last()->status;
    }
    if (!status && !tgi_vec_push(&t->args, seen))
        status = tgi_error_memory();
    if (status)
        tgi_free(seen.bundle);
    return status;
}

/* Creates parameters, stand-ins and the values that the callback receives;
   *out_in is freed by the caller, also on failure. */
TGI_NOINLINE static tg_status
add_args(tg_trace *t, tg_concrete *c, const tgi_args *actual,
         tg_value **out_in)
{
    size_t n = c->spec.list.n;
    tgi_dim *symbols =
        tgi_alloc_zero((count_symbols(&c->spec) + 1) * sizeof(*symbols));
    const size_t n_in = c->spec.n_operands + TGI_MISSING_ARGS;
    *out_in = tgi_alloc_zero(n_in * sizeof(**out_in));
    tg_status status =
        symbols && *out_in ? TG_OK : tgi_error_memory();
    for (size_t i = 0; i < n && !status; i++)
        status = add_param(t, c, i, symbols, actual);
    tgi_free(symbols);
    for (size_t i = c->spec.n_operands; i < n_in && !status; i++)
        (*out_in)[i] = tgi_missing_arg((uint32_t)i);

    for (size_t i = 0; i < n && !status; i++) {
        uint32_t operand = c->spec.list.data[i].operand;
        if (i == 0 || operand != c->spec.list.data[i - 1].operand)
            status = add_operand(t, c, i, &(*out_in)[operand]);
    }
    return status;
}

/* -- After the callback ---------------------------------------------------- */

/* Adds all nodes that those in `keep` depend on; fails if one has an effect. */
static tg_status keep_dependencies(const tgi_graph *graph, bool *keep)
{
    for (tgi_ref ref = graph->n_nodes; ref > 0; ref--) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        if (!keep[ref])
            continue;
        bool is_late = node->op == TGI_OP_READ && node->n_inputs == 2;
        if (is_late || (tgi_graph_is_root(graph, node) &&
                        node->op != TGI_OP_GATHER &&
                        node->op != TGI_OP_SCATTER))
            TGI_FAIL(TG_ERROR_STATE, tgi_node_site(node),
                     "%s: the initial value of a variable depends on %s in "
                     "the same call",
                     tgi_op_table[node->op].name,
                     node->op == TGI_OP_HOST ? "a host call"
                                             : "an assignment");
        for (uint32_t i = 0; i < node->n_inputs; i++)
            keep[node->inputs[i]] = true;
    }
    return TG_OK;
}

static tg_status set_results(tgi_graph *graph, const tgi_ref *refs, size_t n)
{
    graph->results.n = 0;
    for (size_t i = 0; i < n; i++)
        if (!tgi_graph_add_result(graph, refs[i]))
            return TG_ERROR_OUT_OF_MEMORY;
    return TG_OK;
}

/* A copy of the graph with only the nodes that its results depend on. */
static tg_status extract_results(const tgi_graph *graph, tgi_graph **out_graph)
{
    bool *keep = tgi_alloc_zero((graph->n_nodes + 1) * sizeof(*keep));
    if (!keep)
        return tgi_error_memory();
    for (size_t i = 0; i < graph->results.n; i++)
        keep[graph->results.data[i]] = true;
    tg_status status = keep_dependencies(graph, keep);
    tgi_rebuild rebuild = {.in = graph, .keep = keep};
    if (!status)
        status = tgi_rebuild_run(&rebuild);
    *out_graph = rebuild.out;
    tgi_free(keep);
    return status;
}

/* Builds the graph that computes the initial values of new variables. */
static tg_status build_initial_graph(tg_trace *t, tg_concrete *c)
{
    if (t->initials.n == 0)
        return TG_OK;
    t->graph->results.n = 0;
    for (size_t i = 0; i < t->initials.n; i++) {
        tgi_traced_initial *initial = &t->initials.data[i];
        if (!tgi_graph_add_result(t->graph, initial->value))
            return TG_ERROR_OUT_OF_MEMORY;
        if (!tgi_vec_push(&c->initials, initial->variable))
            return tgi_error_memory();
        tg_variable_retain(initial->variable);
    }
    tgi_graph *part = NULL;
    TGI_TRY(extract_results(t->graph, &part));
    tg_status status = tgi_graph_lower_saved(part, &c->initial_graph);
    tgi_graph_release(part);
    return status;
}

/* Passes captures from the trace to the concrete function, which retains
   them. */
static tg_status retain_captures(tg_trace *t, tg_concrete *c)
{
    if (!tgi_vec_reserve(&c->captures, t->captures.n + 1))
        return tgi_error_memory();
    for (size_t i = 0; i < t->captures.n; i++)
        c->captures.data[c->captures.n++] =
            tg_variable_retain(t->captures.data[i].variable);
    for (size_t i = 0; i < t->arg_variables.n; i++) {
        if (!t->arg_captured.data[i])
            continue;
        const tgi_attr_index *attr =
            tgi_graph_node(t->graph, t->arg_variables.data[i].node)->attr;
        c->arg_capture[c->param_arg[attr->index]] =
            tg_variable_retain(t->arg_variables.data[i].variable);
    }
    return TG_OK;
}

/* -- Dumps ----------------------------------------------------------------- */

static void dump_stage(const char *stage, const tgi_graph *graph, void *user)
{
    const tg_concrete *c = user;
    bool is_last = strcmp(stage, "final") == 0;
    bool as_text = c->ctx->dump & TGI_DUMP_PASSES ||
                   (is_last && c->ctx->dump & TGI_DUMP_GRAPH);
    bool as_dot = is_last && c->ctx->dump & TGI_DUMP_DOT;
    tgi_strbuf text = {0}, dot = {0};
    if (as_text) {
        tgi_graph_dump(graph, TGI_DUMP_SITES, &text);
        tgi_dump_text(c->ctx, c->name, c->number, stage, "txt",
                      text.failed ? NULL : text.text);
    }
    if (as_dot) {
        tgi_graph_dump_dot(graph, &dot);
        tgi_dump_text(c->ctx, c->name, c->number, stage, "dot",
                      dot.failed ? NULL : dot.text);
    }
    tgi_strbuf_deinit(&text);
    tgi_strbuf_deinit(&dot);
}

static tg_status optimise(tg_concrete *c, const tgi_graph *traced)
{
    tgi_pass_options options = {
        .log = &c->ctx->log,
        .skip = c->ctx->skip_passes,
        .verify = c->ctx->verifies,
        .observe_user = c,
    };
    if (c->ctx->dump)
        options.observe = dump_stage;
    const uint64_t begin = tgi_clock_ns();
    TGI_TRY(tgi_passes_run(traced, &options, &c->graph));
    const uint64_t end = tgi_clock_ns();
    c->phase_ns[TGI_PHASE_PASSES] = end - begin;
    tgi_timeline_add("trace", "passes", c->name, begin, end);
    if (c->ctx->dump)
        dump_stage("final", c->graph, c);
    return TG_OK;
}

/* -- Tracing --------------------------------------------------------------- */

TGI_NOINLINE static tg_concrete *
concrete_alloc(tg_function *function, const tgi_args *spec)
{
    tg_concrete *c = tgi_alloc_zero(sizeof(*c));
    if (!c) {
        tgi_error_memory();
        return NULL;
    }
    tgi_refcount_init(&c->refs);
    tgi_refcount_init(&c->holds);
    c->ctx = tgi_context_ref(function->ctx);
    c->number = atomic_fetch_add(&c->ctx->n_traces, 1);
    tgi_runner_pool_init(&c->runners);
    tgi_variant_table_init(&c->variants);
    tgi_live_add(TGI_LIVE_CONCRETE, 1);

    size_t n = spec->list.n + 1;
    bool good = tgi_args_copy_spec(spec, &c->spec) == TG_OK;
    c->is_measured = function->is_measured;
    good = good && (c->name = tgi_strdup(function->name)) &&
           (c->arg_param = tgi_alloc_zero(n * sizeof(*c->arg_param))) &&
           (c->param_arg = tgi_alloc_zero(n * sizeof(*c->param_arg))) &&
           (c->arg_capture = tgi_alloc_zero(n * sizeof(*c->arg_capture))) &&
           tgi_args_key(spec, &c->key);
    if (!good) {
        tgi_error_memory();
        tg_concrete_release(c);
        return NULL;
    }
    c->is_exact = tgi_args_n_symbolic(&c->spec) == 0;
    c->hash = tgi_hash(c->key.data, c->key.n, 0);
    return c;
}

/* True if the function has the variable: from a trace nested in this one. Lock
   held. */
static bool has_variable(const tg_function *function,
                         const tg_variable *variable)
{
    for (size_t i = 0; i < function->variables.n; i++)
        if (function->variables.data[i].variable == variable)
            return true;
    return false;
}

/* Adds the variables that a successful trace created to the function. */
static tg_status commit_variables(tg_trace *t, tg_function *function)
{
    tg_status status = TG_OK;
    tgi_fork_lock_acquire(&function->lock);
    for (size_t i = 0; i < t->new_variables.n && !status; i++) {
        tgi_owned_variable own = t->new_variables.data[i];
        if (has_variable(function, own.variable))
            continue;
        own.name = tgi_strdup(own.name);
        if (!own.name || !tgi_vec_push(&function->variables, own)) {
            tgi_free((char *)(uintptr_t)own.name);
            status = tgi_error_memory();
        } else {
            tg_variable_retain(own.variable);
        }
    }
    tgi_fork_lock_release(&function->lock);
    return status;
}

/* After the callback: builds the graphs and runs the passes. */
TGI_NOINLINE static tg_status finish_trace(tg_trace *t, tg_function *function,
                                           tg_concrete *c)
{
    tgi_graph *lowered = NULL;
    TGI_TRY(retain_captures(t, c));
    TGI_TRY(build_initial_graph(t, c));
    TGI_TRY(set_results(t->graph, t->results.data, t->results.n));
    c->traced = tgi_graph_retain(t->graph);
    TGI_TRY(tgi_graph_lower_saved(t->graph, &lowered));
    tg_status status = optimise(c, lowered);
    tgi_graph_release(lowered);
    TGI_TRY(status);
    if (c->ctx->checks && c->ctx->jit != TGI_JIT_OFF)
        TGI_TRY(tgi_graph_add_value_checks(c->graph, c->ctx->checks,
                                           &c->checked));
    if (c->checked && c->ctx->verifies)
        TGI_TRY(tgi_graph_verify(c->checked));
    return commit_variables(t, function);
}

/* Runs the callback and finishes the trace, which is current. */
static tg_status record_callback(tg_trace *t, tg_function *function,
                                 tg_concrete *c, const tgi_args *actual)
{
    tg_value *in = NULL;
    tg_status status = add_args(t, c, actual, &in);
    if (!status) {
        function->callback(t, in, function->user);
        if (tgi_scope_left_open() && !t->status)
            tgi_trace_fail(t, TG_ERROR_STATE, TGI_NO_SITE,
                           "%s: scope '%s' is open at the end of the callback; "
                           "close it with tg_scope_pop",
                           function->name, tgi_scope_left_open());
        status = t->status;
    }
    tgi_free(in);
    if (t->status)
        tgi_error_restore(&t->error);
    TGI_TRY(status);
    return finish_trace(t, function, c);
}

typedef struct failed_trace {
    tg_trace *t;
    tg_concrete *concrete;
} failed_trace;

static void discard_trace(void *user)
{
    const failed_trace *failed = user;
    /* Captures count as uses of a variable; they go first. */
    const size_t n_variables = failed->t->new_variables.n;
    tgi_owned_variable *variables = failed->t->new_variables.data;
    failed->t->new_variables.data = NULL;
    failed->t->new_variables.n = 0;
    tgi_trace_end(failed->t);
    tg_concrete_release(failed->concrete);
    tgi_function_roll_back_variables(variables, n_variables);
    tgi_free(variables);
}

tg_status tgi_concrete_trace(tg_function *function, const tgi_args *spec,
                             const tgi_args *actual, tg_site site,
                             tg_concrete **out_concrete)
{
    *out_concrete = NULL;
    tg_concrete *c = concrete_alloc(function, spec);
    if (!c)
        return TG_ERROR_OUT_OF_MEMORY;
    tg_trace *t =
        tgi_trace_begin(function->ctx, function, function->is_fast, site);
    if (!t) {
        tg_concrete_release(c);
        return tg_error_last()->status;
    }
    const uint64_t begin = tgi_clock_ns();
    tg_status status = record_callback(t, function, c, actual);
    const uint64_t end = tgi_clock_ns();
    tgi_timeline_add("trace", "trace", function->name, begin, end);
    c->site = site;
    c->phase_ns[TGI_PHASE_TRACE] =
        end - begin - c->phase_ns[TGI_PHASE_PASSES];
    if (status) {
        tgi_error_preserve_during(discard_trace, &(failed_trace){t, c});
        return status;
    }
    c->n_symbols = tgi_dims_n_symbols(c->graph->dims);
    tgi_trace_end(t);
    tgi_log_write(&function->ctx->log, TG_LOG_INFO, TGI_LOG_TRACE,
                  "%s:%d: traced %s: %u node%s, %u after passes, in %.2f ms "
                  "(trace %u)",
                  site.file ? site.file : "?", site.line, function->name,
                  c->traced->n_nodes, TGI_PLURAL(c->traced->n_nodes),
                  c->graph->n_nodes, 1e-6 * (double)(end - begin), c->number);
    *out_concrete = c;
    return TG_OK;
}

/* -- Concrete functions ---------------------------------------------------- */

tg_concrete *tg_concrete_retain(tg_concrete *concrete)
{
    if (concrete)
        tgi_refcount_inc(&concrete->refs);
    return concrete;
}

void tg_concrete_release(tg_concrete *c)
{
    if (!c || !tgi_refcount_dec(&c->refs))
        return;
    tgi_runner_pool_deinit(&c->runners);
    for (size_t i = 0; i < c->captures.n; i++)
        tg_variable_release(c->captures.data[i]);
    for (size_t i = 0; c->arg_capture && i < c->spec.list.n; i++)
        tg_variable_release(c->arg_capture[i]);
    for (size_t i = 0; i < c->initials.n; i++)
        tg_variable_release(c->initials.data[i]);
    tgi_vec_deinit(&c->captures);
    tgi_vec_deinit(&c->initials);
    tgi_free(c->arg_capture);
    tgi_concrete_unhold(c);
}

void tgi_concrete_hold(tg_concrete *c)
{
    tgi_refcount_inc(&c->holds);
}

void tgi_concrete_unhold(tg_concrete *c)
{
    if (!tgi_refcount_dec(&c->holds))
        return;
    tgi_inspect_close_pages(c->pages);
    tgi_variant_table_deinit(&c->variants);
    tgi_vec_deinit(&c->key);
    tgi_args_deinit(&c->spec);
    tgi_graph_release(c->graph);
    tgi_graph_release(c->traced);
    tgi_graph_release(c->checked);
    tgi_graph_release(c->initial_graph);
    tgi_free(c->arg_param);
    tgi_free(c->param_arg);
    tgi_free(c->name);
    tgi_profile_trace_release(c->profile);
    tgi_context_unref(c->ctx);
    tgi_free(c);
    tgi_live_add(TGI_LIVE_CONCRETE, -1);
}

bool tgi_concrete_fits_captures(const tg_concrete *concrete,
                                const tgi_args *args)
{
    for (size_t i = 0; i < args->list.n; i++) {
        const tgi_arg *arg = &args->list.data[i];
        if (arg->kind != TGI_ARG_VARIABLE || arg->alias != i)
            continue;
        if (concrete->arg_capture[i] &&
            concrete->arg_capture[i] != arg->variable)
            return false;
        for (size_t k = 0; k < concrete->captures.n; k++)
            if (concrete->captures.data[k] == arg->variable)
                return false;
    }
    return true;
}

size_t tgi_concrete_bytes(tg_concrete *concrete)
{
    return sizeof(*concrete) + tgi_graph_bytes(concrete->graph) +
           tgi_graph_bytes(concrete->traced) +
           (concrete->checked ? tgi_graph_bytes(concrete->checked) : 0) +
           tgi_runner_pool_bytes(&concrete->runners) +
           tgi_variant_table_bytes(&concrete->variants);
}

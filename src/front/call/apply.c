/* SPDX-License-Identifier: MIT */
/*
 * apply.c - tg_apply, a call inside a trace. The callee is traced separately,
 * into its own table, and becomes a CALL node, which passes may inline. The
 * caller captures the variables that the callee captures.
 */
#include <string.h>

#include "front/call/function_object.h"

/* Converts plain numbers to the dtypes of scalars in a declared signature. */
TGI_NOINLINE static tg_status
adapt_numbers(tg_trace *t, tg_function *function, tgi_args *args, tg_site site)
{
    const tgi_args *want = &function->signature;
    if (!function->has_signature || want->list.n != args->list.n)
        return TG_OK;
    tgi_builder b = {.graph = t->graph, .site = site, .op_name = "apply"};
    for (size_t i = 0; i < args->list.n; i++) {
        tgi_arg *arg = &args->list.data[i];
        const tgi_arg *spec = &want->list.data[i];
        if (arg->kind != TGI_ARG_NUMBER || spec->kind != TGI_ARG_TENSOR ||
            spec->rank != 0)
            continue;
        arg->ref = tgi_build_adapt(&b, arg->ref, spec->dtype);
        if (!arg->ref)
            return tg_error_last()->status;
        arg->kind = TGI_ARG_TENSOR;
        arg->dtype = spec->dtype;
    }
    return TG_OK;
}

/* Fills in the nodes of the callee's parameters: arguments, then captures. */
static tg_status fill_call_inputs(tg_trace *t, const tg_concrete *c,
                                  const tgi_args *args, tg_site site,
                                  tgi_ref *inputs)
{
    for (size_t p = 0; p < c->n_arg_params; p++)
        inputs[p] = args->list.data[c->param_arg[p]].ref;
    for (size_t i = 0; i < c->captures.n; i++) {
        tgi_ref node =
            tgi_trace_variable(t, c->captures.data[i], "apply", site);
        if (!node)
            return t->status;
        inputs[c->n_arg_params + i] = node;
    }
    /* Arguments that the callee also captures are captured by the caller. */
    for (size_t i = 0; i < c->spec.list.n; i++)
        if (c->arg_capture[i] &&
            !tgi_trace_variable(t, c->arg_capture[i], "apply", site))
            return t->status;
    return TG_OK;
}

static tgi_ref add_call(tg_trace *t, tgi_attr_call attr, const tgi_ref *inputs,
                        tg_site site)
{
    tgi_builder b = {.graph = t->graph, .site = site, .op_name = "apply"};
    return tgi_build_node(&b, TGI_OP_CALL, TG_DTYPE_NONE,
                          tgi_shape_intern(t->graph->dims, 0, NULL), inputs,
                          attr.callee->params.n, &attr, sizeof(attr));
}

/* Result i of a call; `map` translates the callee's extents. */
static tgi_ref add_result(tg_trace *t, const tgi_graph *callee, tgi_ref call,
                          size_t i, const tgi_dim *map, tg_site site)
{
    tgi_ref ref = callee->results.data[i];
    const tgi_shape *shape = tgi_graph_shape(callee, ref);
    tgi_dim dims[TG_MAX_RANK];
    for (int axis = 0; axis < shape->rank; axis++)
        dims[axis] = tgi_dim_value(shape->dims[axis], map);
    tgi_attr_index attr = {(int64_t)i};
    tgi_builder b = {.graph = t->graph, .site = site, .op_name = "apply"};
    return tgi_build_node(&b, TGI_OP_RESULT,
                          tgi_graph_node(callee, ref)->dtype,
                          tgi_shape_intern(t->graph->dims, shape->rank, dims),
                          &call, 1, &attr, sizeof(attr));
}

/* Maps the callee's extents to the caller's table; freed with tgi_free. NULL on
   failure (recorded). */
static tgi_dim *translate_dims(tg_trace *t, const tgi_graph *callee,
                               const tgi_ref *inputs)
{
    size_t n = tgi_dims_n_symbols(callee->dims);
    tgi_dim *symbols = tgi_alloc((n + 1) * sizeof(*symbols));
    tgi_dim *map =
        tgi_alloc((tgi_dims_n_values(callee->dims) + 1) * sizeof(*map));
    bool good = symbols && map;
    if (!good)
        tgi_error_memory();
    for (size_t k = 0; k < n && good; k++) {
        tgi_symbol source = tgi_dims_symbol(callee->dims, k);
        symbols[k] = tgi_graph_shape(t->graph, inputs[source.param])
                         ->dims[source.axis];
    }
    good = good &&
           !tgi_dims_translate(t->graph->dims, callee->dims, symbols, map);
    tgi_free(symbols);
    if (!good) {
        tgi_free(map);
        return NULL;
    }
    return map;
}

/* The caller also computes the initial values that the callee's first call
   computes: this call may be the first. */
static tg_status adopt_initials(tg_trace *t, const tg_concrete *c,
                                const tgi_ref *inputs, const tgi_dim *map,
                                tg_site site)
{
    if (!c->initial_graph)
        return TG_OK;
    if (t->outer)
        TGI_FAIL(TG_ERROR_STATE, site,
                 "apply: %s computes the initial value of a variable, which is "
                 "not possible in a branch or loop; first apply it outside",
                 c->name);
    tgi_ref call =
        add_call(t, (tgi_attr_call){.callee = c->initial_graph}, inputs, site);
    for (size_t i = 0; i < c->initials.n; i++) {
        tg_variable *variable = c->initials.data[i];
        tgi_ref value =
            call ? add_result(t, c->initial_graph, call, i, map, site) : 0;
        if (!value)
            return tg_error_last()->status;
        if (!tgi_vec_push(&t->initials,
                          ((tgi_traced_initial){variable, value})))
            return tgi_error_memory();
        tg_variable_retain(variable);
    }
    return TG_OK;
}

/* Records the call of a concrete function. */
TGI_NOINLINE static tg_status record_call(tg_trace *t, const tg_concrete *c,
                                          const tgi_args *args,
                                          tgi_custom_gradient gradient,
                                          tg_value *out_results,
                                          size_t n_results, tg_site site)
{
    tgi_graph *callee = c->graph;
    TGI_TRY(tgi_trace_check_nesting(c->traced->height, c->name, site));
    if (n_results > callee->results.n)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site,
                 "apply: %s returns %zu result%s, but %zu %s requested",
                 c->name, callee->results.n, TGI_PLURAL(callee->results.n),
                 n_results, TGI_WERE(n_results));
    tgi_ref *inputs = tgi_alloc((callee->params.n + 1) * sizeof(*inputs));
    if (!inputs)
        return tgi_error_memory();
    tgi_dim *map = NULL;
    tg_status status = fill_call_inputs(t, c, args, site, inputs);
    if (!status && !(map = translate_dims(t, callee, inputs)))
        status = tg_error_last()->status;
    tgi_builder b = {.graph = t->graph, .site = site, .op_name = "apply"};
    if (!status && !tgi_build_lift_number_checks(&b, c->traced, inputs))
        status = tg_error_last()->status;
    if (!status)
        status = adopt_initials(t, c, inputs, map, site);
    const tgi_attr_call attr = {callee, c->traced, gradient};
    tgi_ref call = status ? 0 : add_call(t, attr, inputs, site);
    if (!status && !call)
        status = tg_error_last()->status;
    for (size_t p = 0; p < callee->params.n && !status; p++)
        if (callee->params.data[p].is_written)
            tgi_trace_note_write(t, inputs[p], call);
    for (size_t i = 0; i < n_results && !status; i++) {
        tgi_ref ref = add_result(t, callee, call, i, map, site);
        out_results[i] = tgi_trace_value(t, ref);
        if (!ref)
            status = tg_error_last()->status;
    }
    tgi_free(map);
    tgi_free(inputs);
    return status;
}

void tgi_apply(tg_function *function, tgi_custom_gradient gradient,
               const tg_operand *operands, size_t n_operands,
               tg_value *out_results, size_t n_results, tg_site site)
{
    tgi_operation o;
    tgi_args args = {0}; /* not inline: nested traces share this stack */
    tg_concrete *concrete = NULL;
    for (size_t i = 0; out_results && i < n_results; i++)
        out_results[i] = (tg_value){0, 0};
    if (!tgi_operation_begin(&o, "apply", site))
        return;
    tg_status status = TG_OK;
    if (!function || (n_results && !out_results))
        status = tgi_error_set(TG_ERROR_INVALID_ARGUMENT, site,
                               "apply: the %s NULL",
                               function ? "results are" : "function is");
    else if (function->ctx != o.t->ctx)
        status = tgi_error_set(TG_ERROR_INVALID_ARGUMENT, site,
                               "apply: %s belongs to another context",
                               function->name);
    if (!status)
        status = tgi_args_from_operands(function->ctx, operands, n_operands,
                                        o.t, site, NULL, &args);
    if (!status)
        status = adapt_numbers(o.t, function, &args, site);
    if (!status)
        status = tgi_function_lookup(function, &args, false, site, &concrete);
    if (!status)
        status = record_call(o.t, concrete, &args, gradient, out_results,
                             n_results, site);
    tgi_args_deinit(&args);
    if (status) {
        tgi_trace_record_error(o.t);
        for (size_t i = 0; out_results && i < n_results; i++)
            out_results[i] = (tg_value){0, 0};
    }
    tg_concrete_release(concrete);
}

void tg_apply_at(tg_function *function, const tg_operand *args, size_t n_args,
                 tg_value *out_results, size_t n_results, tg_site site)
{
    tgi_apply(function, (tgi_custom_gradient){0}, args, n_args, out_results,
              n_results, site);
}

/* SPDX-License-Identifier: MIT */
/*
 * ops_gradient.c - the operations of gradient.h: conversion of targets, seeds
 * and sources to nodes, and of gradients to values.
 */
#include <string.h>

#include "base/error.h"
#include "front/ops/ops_gradient.h"
#include "gradient/gradient_reason.h"
#include "tgjit/ops.h"

/* -- Targets and sources --------------------------------------------------- */

static bool fail_out_of_memory(tgi_operation *o)
{
    tgi_error_memory();
    tgi_trace_record_error(o->t);
    return false;
}

static bool add_ref(tgi_operation *o, tgi_refs *refs, tgi_ref ref)
{
    if (!ref)
        return false;
    return tgi_vec_push(refs, ref) || fail_out_of_memory(o);
}

/* Adds all variables of a bundle, in order. */
static bool add_bundle_variables(tgi_operation *o, tgi_refs *refs,
                                 const tg_operand *operand)
{
    const tg_bundle_type *type = operand->bundle_type;
    const void *bundle = operand->as.bundle;
    const size_t n =
        tg_bundle_variables(type, bundle, TG_ALL_VARIABLES, NULL, 0);
    tg_variable **variables = tgi_alloc((n + 1) * sizeof(*variables));
    if (!variables)
        return fail_out_of_memory(o);
    tg_bundle_variables(type, bundle, TG_ALL_VARIABLES, variables, n);
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = add_ref(
            o, refs,
            tgi_trace_variable(o->t, variables[i], o->b.op_name, o->b.site));
    tgi_free(variables);
    return ok;
}

/* Adds a source: a value, or a variable itself rather than its contents. */
static bool add_source(tgi_operation *o, tgi_refs *refs,
                       const tg_operand *operand)
{
    switch (operand->kind) {
    case TG_OPERAND_VALUE:
        return add_ref(
            o, refs,
            tgi_trace_ref(o->t, operand->as.value, o->b.op_name, o->b.site));
    case TG_OPERAND_VARIABLE:
    case TG_OPERAND_VARIABLE_VALUE:
        return add_ref(o, refs,
                       tgi_trace_variable(o->t, operand->as.variable,
                                          o->b.op_name, o->b.site));
    case TG_OPERAND_BUNDLE:
        return add_bundle_variables(o, refs, operand);
    default:
        tgi_trace_fail(o->t, TG_ERROR_INVALID_ARGUMENT, o->b.site,
                       "%s: a source is a constant, not a value, variable or "
                       "bundle",
                       o->b.op_name);
        return false;
    }
}

/* The seed of a target: the given one, converted to its type, or ones. */
static tgi_ref build_seed(tgi_operation *o, tgi_ref target,
                          const tg_operand *seed)
{
    tgi_builder *b = &o->b;
    const tgi_node *node = tgi_graph_node(b->graph, target);
    const tgi_shape *shape = tgi_graph_shape(b->graph, target);
    const tg_dtype dtype = (tg_dtype)node->dtype;
    tgi_ref ref =
        seed ? tgi_operation_operand(o, *seed)
             : tgi_build_number(b, dtype, dtype,
                                (tgi_number){TGI_NUMBER_INT, {.i = 1}});
    ref = ref ? tgi_build_adapt(b, ref, dtype) : 0;
    if (ref && tgi_graph_shape(b->graph, ref)->rank == 0)
        ref = tgi_build_broadcast(b, ref, shape->rank, shape->dims);
    if (ref && tgi_graph_node(b->graph, ref)->shape != node->shape)
        ref = tgi_build_fail(b, TG_ERROR_SHAPE, (tgi_ref[]){ref, target}, 2,
                             "the seed does not have the shape of its target");
    return ref;
}

/* -- Differentiation ------------------------------------------------------- */

/* The gradient of a source to which nothing was added: zero if a target depends
   differentiably on it, or if the caller wants zeros; else invalid, with a
   reason. */
static tg_value missing_gradient(tgi_tape *tape, const tgi_refs *targets,
                                 tgi_ref source, size_t i,
                                 tg_unconnected unconnected)
{
    tgi_tape single_source;
    tg_value value = {0, 0};
    bool ok = tgi_tape_init(&single_source, tape->graph, tape->t, &tape->b);
    bool is_connected = false;
    if (ok) {
        single_source.n = tape->n;
        single_source.is_active[source] = tgi_dtype_is(
            tgi_graph_node(tape->graph, source)->dtype, TGI_CLASS_REAL);
        ok = tgi_tape_activate(&single_source);
    }
    for (size_t k = 0; ok && k < targets->n; k++)
        is_connected |= single_source.is_active[targets->data[k]];
    if (ok && (is_connected || unconnected == TG_UNCONNECTED_ZEROS)) {
        tgi_ref zeros =
            tgi_build_zeros_like(&tape->b, tape->graph, source);
        if (!zeros)
            tgi_trace_record_error(tape->t);
        value = tgi_trace_value(tape->t, zeros);
    } else if (ok) {
        value = tgi_gradient_missing_value(&single_source, targets->data,
                                           targets->n, source, i);
    }
    tgi_tape_deinit(&single_source);
    return value;
}

bool tgi_gradients(tgi_tape *tape, const tgi_refs *targets,
                   const tgi_refs *seeds, const tgi_refs *sources,
                   tg_unconnected unconnected, tg_value *out_gradients)
{
    const tgi_builder b = tape->b;
    for (size_t i = 0; i < sources->n; i++)
        tape->is_active[sources->data[i]] = tgi_dtype_is(
            tgi_graph_node(tape->graph, sources->data[i])->dtype,
            TGI_CLASS_REAL);
    bool ok = tgi_tape_activate(tape);
    for (size_t i = 0; ok && i < targets->n; i++)
        ok = tgi_tape_add(tape, targets->data[i], seeds->data[i]);
    ok = ok && tgi_tape_backward(tape);
    tape->b = b; /* with the site of this operation again */
    tape->b.graph = tape->t->graph;
    for (size_t i = 0; ok && i < sources->n; i++) {
        const tgi_ref gradient = tape->gradients[sources->data[i]];
        out_gradients[i] =
            gradient ? tgi_tape_export(tape, gradient)
                     : missing_gradient(tape, targets, sources->data[i], i,
                                        unconnected);
        ok = tape->t->status == TG_OK;
    }
    return ok;
}

/* Differentiates in the current trace, which targets and sources belong to. */
static bool differentiate(tgi_operation *o, const tgi_refs *targets,
                          const tgi_refs *seeds, const tgi_refs *sources,
                          tg_unconnected unconnected, tg_value *out_gradients)
{
    tgi_tape tape;
    bool ok = tgi_tape_init(&tape, o->t->graph, o->t, &o->b);
    tape.recorder = o->t;
    ok = ok && tgi_gradients(&tape, targets, seeds, sources, unconnected,
                             out_gradients);
    tgi_tape_deinit(&tape);
    return ok;
}

/* -- Gradients ------------------------------------------------------------- */

static size_t count_gradients(const tg_operand *sources, size_t n_sources)
{
    size_t n = 0;
    for (size_t i = 0; sources && i < n_sources; i++)
        n += sources[i].kind == TG_OPERAND_BUNDLE
                 ? tg_bundle_variables(sources[i].bundle_type,
                                       sources[i].as.bundle,
                                       TG_ALL_VARIABLES, NULL, 0)
                 : 1;
    return n;
}

static bool add_target(tgi_operation *o, tgi_refs *targets, tgi_refs *seeds,
                       tg_operand target, const tg_operand *seed)
{
    tgi_ref ref = tgi_operation_operand(o, target);
    if (!ref) {
        tgi_operation_end(o, 0);
        return false;
    }
    if (!tgi_dtype_is(tgi_graph_node(o->b.graph, ref)->dtype,
                      TGI_CLASS_REAL)) {
        tgi_build_fail(&o->b, TG_ERROR_DTYPE, &ref, 1,
                       "a target needs a float type");
        tgi_operation_end(o, 0);
        return false;
    }
    tgi_ref seed_ref = build_seed(o, ref, seed);
    tgi_operation_end(o, seed_ref);
    return seed_ref && add_ref(o, targets, ref) && add_ref(o, seeds, seed_ref);
}

static void build_gradients(const char *name, const tg_operand *targets,
                            size_t n_targets, const tg_operand *seeds,
                            tg_unconnected unconnected,
                            const tg_operand *sources, size_t n_sources,
                            tg_value *out_gradients, tg_site site)
{
    tgi_operation o;
    const size_t n = count_gradients(sources, n_sources);
    for (size_t i = 0; out_gradients && i < n; i++)
        out_gradients[i] = (tg_value){0, 0};
    if (!tgi_operation_begin(&o, name, site))
        return;
    if ((n_targets && !targets) || (n_sources && !sources) ||
        (n && !out_gradients)) {
        tgi_trace_fail(o.t, TG_ERROR_INVALID_ARGUMENT, site,
                       "%s: the %s are NULL", name,
                       n_targets && !targets   ? "targets"
                       : n_sources && !sources ? "sources"
                                               : "results");
        return;
    }
    tgi_refs refs = {0}, seed_refs = {0}, source_refs = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < n_targets; i++)
        ok = add_target(&o, &refs, &seed_refs, targets[i],
                        seeds ? &seeds[i] : NULL);
    for (size_t i = 0; ok && i < n_sources; i++)
        ok = add_source(&o, &source_refs, &sources[i]);
    ok = ok && differentiate(&o, &refs, &seed_refs, &source_refs, unconnected,
                             out_gradients);
    for (size_t i = 0; !ok && i < n; i++)
        out_gradients[i] = (tg_value){0, 0};
    tgi_vec_deinit(&refs);
    tgi_vec_deinit(&seed_refs);
    tgi_vec_deinit(&source_refs);
}

void tg_gradients_with_at(const tg_operand *targets, size_t n_targets,
                          const tg_operand *seeds, tg_unconnected unconnected,
                          const tg_operand *sources, size_t n_sources,
                          tg_value *out_gradients, tg_site site)
{
    build_gradients("gradients", targets, n_targets, seeds, unconnected,
                    sources, n_sources, out_gradients, site);
}

void tg_gradients_of_operands_at(tg_operand target, const tg_operand *sources,
                                 size_t n_sources, tg_value *out_gradients,
                                 tg_site site)
{
    build_gradients("gradients", &target, 1, NULL, TG_UNCONNECTED_NONE, sources,
                    n_sources, out_gradients, site);
}

/* For arrays of any type; `operand_at` makes operands of their elements. */
static void
build_gradients_of_array(tg_operand target, const void *sources, size_t n,
                         tg_operand operand_at(const void *sources, size_t i),
                         tg_value *out_gradients, tg_site site)
{
    tg_operand *operands = tgi_alloc((n + 1) * sizeof(*operands));
    if (!operands) {
        tgi_error_memory();
        if (tgi_trace_current())
            tgi_trace_record_error(tgi_trace_current());
        return;
    }
    for (size_t i = 0; sources && i < n; i++)
        operands[i] = operand_at(sources, i);
    tg_gradients_of_operands_at(target, sources ? operands : NULL, n,
                                out_gradients, site);
    tgi_free(operands);
}

static tg_operand variable_at(const void *sources, size_t i)
{
    return tg_in_variable(((tg_variable *const *)sources)[i]);
}

static tg_operand value_at(const void *sources, size_t i)
{
    return tg_in_value(((const tg_value *)sources)[i]);
}

void tg_gradients_of_variables_at(tg_operand target,
                                  tg_variable *const *sources,
                                  size_t n_sources, tg_value *out_gradients,
                                  tg_site site)
{
    build_gradients_of_array(target, sources, n_sources, variable_at,
                             out_gradients, site);
}

void tg_gradients_of_values_at(tg_operand target, const tg_value *sources,
                               size_t n_sources, tg_value *out_gradients,
                               tg_site site)
{
    build_gradients_of_array(target, sources, n_sources, value_at,
                             out_gradients, site);
}

/* True if the bundle exists and its n trainable variables fit; else an error.
   False without a trace, or after an error. */
static bool check_bundle(const tg_bundle_type *type, const void *bundle,
                         size_t n, bool has_room, size_t capacity,
                         tg_site site)
{
    tgi_operation o;
    if (!tgi_operation_begin(&o, "bundle_gradients", site))
        return false;
    if (!type || !bundle)
        tgi_trace_fail(o.t, TG_ERROR_INVALID_ARGUMENT, site,
                       "%s: the bundle%s is NULL", o.b.op_name,
                       type ? "" : "'s type");
    else if (n > capacity || (n && !has_room))
        tgi_trace_fail(o.t, TG_ERROR_INVALID_ARGUMENT, site,
                       "%s: bundle '%s' has %zu trainable variable%s, but "
                       "there is room for %zu",
                       o.b.op_name, type->name ? type->name : "?", n,
                       TGI_PLURAL(n), has_room ? capacity : 0);
    else
        return true;
    return false;
}

size_t tg_bundle_gradients_at(tg_operand target, const tg_bundle_type *type,
                              const void *bundle, tg_variable **out_variables,
                              tg_value *out_gradients, size_t capacity,
                              tg_site site)
{
    const size_t n = tg_bundle_variables(type, bundle, TG_TRAINABLE,
                                         out_variables, capacity);
    for (size_t i = 0; out_gradients && i < n && i < capacity; i++)
        out_gradients[i] = (tg_value){0, 0};
    if (!check_bundle(type, bundle, n, out_variables && out_gradients,
                      capacity, site))
        return 0;
    tg_gradients_of_variables_at(target, out_variables, n, out_gradients,
                                 site);
    return n;
}

tg_value tg_gradient_at(tg_operand target, tg_operand source, tg_site site)
{
    tg_value gradient = {0, 0};
    if (source.kind == TG_OPERAND_BUNDLE) {
        tgi_operation o;
        if (tgi_operation_begin(&o, "gradient", site))
            tgi_trace_fail(o.t, TG_ERROR_INVALID_ARGUMENT, site,
                           "gradient: a bundle has several gradients; use "
                           "tg_gradients");
        return gradient;
    }
    build_gradients("gradient", &target, 1, NULL, TG_UNCONNECTED_NONE, &source,
                    1, &gradient, site);
    return gradient;
}

const char *tg_gradient_reason(tg_value gradient)
{
    const tg_trace *t = tgi_trace_current();
    const char *reason = t ? tgi_trace_reason(t, gradient) : NULL;
    return reason ? reason : "";
}

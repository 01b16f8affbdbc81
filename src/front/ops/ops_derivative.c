/* SPDX-License-Identifier: MIT */
/*
 * ops_derivative.c - other derivatives, composed of gradients.
 *
 * Jacobian-vector product: the gradient g(u) of the target, seeded with u, is
 * linear in u, so the gradient of sum(g(u) * direction) with respect to u is
 * the product. Forward mode thus needs no rules; nodes that only g(u) needs are
 * eliminated as dead.
 *
 * A Jacobian is a loop over the elements of the target, each with a one-hot
 * seed.
 */
#include <string.h>

#include "base/error.h"
#include "front/ops/ops_gradient.h"
#include "tgjit/control.h"
#include "tgjit/ops.h"

static tg_operand as_operand(tg_value value)
{
    return tg_in_value(value);
}

static tg_value gradient_with_seed(tg_operand target, tg_operand seed,
                                   tg_operand source, tg_site site)
{
    tg_value gradient = {0, 0};
    tg_gradients_with_at(&target, 1, &seed, TG_UNCONNECTED_ZEROS, &source, 1,
                         &gradient, site);
    return gradient;
}

/* An operand as a value, so that a variable is read once. */
static tg_value operand_value(tg_operand operand, const char *name,
                              tg_site site)
{
    tgi_operation o;
    if (!tgi_operation_begin(&o, name, site))
        return (tg_value){0, 0};
    return tgi_operation_end(&o, tgi_operation_operand(&o, operand));
}

/* Zeros of a value's type, as a node distinct from all others. */
static tg_value fresh_zeros_like(tg_value like, const char *name, tg_site site)
{
    tgi_operation o;
    tgi_ref ref = 0;
    if (tgi_operation_begin(&o, name, site))
        ref = tgi_build_1(&o.b, TGI_OP_STOP,
                          tgi_build_zeros_like(&o.b, o.t->graph, like.node));
    return tgi_operation_end(&o, ref);
}

/* sum(a * vector), in the dtype of a. */
static tg_value sum_of_products(tg_value a, tg_operand vector, tg_site site)
{
    tg_value product = tg_mul_at(as_operand(a), vector, site);
    return tg_sum_at(as_operand(product), (tg_axes){.n = -1}, site);
}

/* Fails if the vector does not have the shape of the source. */
static bool shape_matches(tg_operand source, tg_operand vector,
                          const char *name, const char *what, tg_site site)
{
    tgi_operation o;
    if (!tgi_operation_begin(&o, name, site))
        return false;
    const tgi_ref x = tgi_operation_operand(&o, source);
    const tgi_ref v = tgi_operation_operand(&o, vector);
    if (!x || !v) {
        tgi_operation_end(&o, 0);
        return false;
    }
    const tgi_graph *graph = o.t->graph;
    const tgi_shape *shape = tgi_graph_shape(graph, v);
    if (shape->rank == 0 ||
        tgi_graph_node(graph, x)->shape == tgi_graph_node(graph, v)->shape)
        return true;
    tgi_build_fail(&o.b, TG_ERROR_SHAPE, (tgi_ref[]){x, v}, 2,
                   "the %s does not have the shape of the source", what);
    tgi_operation_end(&o, 0);
    return false;
}

tg_value tg_jvp_at(tg_operand target, tg_operand source, tg_operand direction,
                   tg_site site)
{
    const tg_value none = {0, 0};
    tg_value y = operand_value(target, "jvp", site);
    if (!tg_is_valid(y) ||
        !shape_matches(source, direction, "jvp", "direction", site))
        return none;
    tg_value u = fresh_zeros_like(y, "jvp", site);
    tg_value g = tg_is_valid(u) ? gradient_with_seed(as_operand(y),
                                                     as_operand(u), source,
                                                     site)
                                : none;
    if (!tg_is_valid(g))
        return none;
    tg_value jvp = none;
    const tg_operand directional =
        as_operand(sum_of_products(g, direction, site));
    const tg_operand by = as_operand(u);
    tg_gradients_with_at(&directional, 1, NULL, TG_UNCONNECTED_ZEROS, &by, 1,
                         &jvp, site);
    return jvp;
}

tg_value tg_hessian_vector_at(tg_operand target, tg_operand source,
                              tg_operand vector, tg_site site)
{
    const tg_value none = {0, 0};
    if (!shape_matches(source, vector, "hessian_vector", "vector", site))
        return none;
    tg_value g = tg_gradient_at(target, source, site);
    if (!tg_is_valid(g))
        return g;
    tg_value hessian_product = none;
    const tg_operand directional = as_operand(sum_of_products(g, vector, site));
    tg_gradients_with_at(&directional, 1, NULL, TG_UNCONNECTED_ZEROS, &source,
                         1, &hessian_product, site);
    return hessian_product;
}

/* -- Jacobians ------------------------------------------------------------- */

typedef struct jacobian {
    tg_trace *outer;
    tgi_ref target, source; /* nodes of its graph */
    tg_site site;
} jacobian;

/* The one-hot seed of an element, in the shape of the target. */
static tgi_ref one_hot(const jacobian *j, tgi_builder *b, tgi_ref index)
{
    const tgi_graph *graph = j->outer->graph;
    const tgi_shape *shape = tgi_graph_shape(graph, j->target);
    const tg_dtype dtype = (tg_dtype)tgi_graph_node(graph, j->target)->dtype;
    tgi_dim count = tgi_dim_product(graph->dims, shape);
    tgi_ref is_selected = tgi_build_2(
        b, TGI_OP_EQ, tgi_build_iota(b, TG_I64, 1, &count, 0), index);
    tgi_ref flat = tgi_build_cast(b, is_selected, dtype);
    return flat ? tgi_build_reshape(b, flat, shape->rank, shape->dims) : 0;
}

/* Traces a row: the gradient of one element of the target. */
static void trace_row(tg_trace *t, const tg_value *in, void *user)
{
    const jacobian *j = user;
    tgi_builder b = {.graph = t->graph,
                     .site = j->site,
                     .op_name = "jacobian"};
    tgi_ref target = j->target, source = j->source;
    tgi_ref seed = one_hot(j, &b, in[0].node);
    tg_value row = {0, 0};
    if (!seed) {
        tgi_trace_record_error(t);
        return;
    }
    tgi_tape tape;
    bool ok = tgi_tape_init(&tape, j->outer->graph, t, &b);
    tape.recorder = j->outer;
    const tgi_refs targets = {.data = &target, .n = 1};
    const tgi_refs seeds = {.data = &seed, .n = 1};
    const tgi_refs sources = {.data = &source, .n = 1};
    ok = ok && tgi_gradients(&tape, &targets, &seeds, &sources,
                             TG_UNCONNECTED_ZEROS, &row);
    tgi_tape_deinit(&tape);
    const tg_operand result = as_operand(row);
    if (ok)
        tg_return_at(t, &result, 1, j->site);
}

/* Finds the nodes of target and source; a variable is itself the source. */
static bool find_endpoints(jacobian *j, tgi_operation *o, tg_operand target,
                           tg_operand source)
{
    const bool is_variable = source.kind == TG_OPERAND_VARIABLE ||
                             source.kind == TG_OPERAND_VARIABLE_VALUE;
    j->target = tgi_operation_operand(o, target);
    if (is_variable)
        j->source = tgi_trace_variable(o->t, source.as.variable, "jacobian",
                                       j->site);
    else if (source.kind == TG_OPERAND_VALUE)
        j->source =
            tgi_trace_ref(o->t, source.as.value, "jacobian", j->site);
    else
        tgi_build_fail(&o->b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                       "the source is neither a value nor a variable");
    if (!j->target || !j->source)
        return false;
    const tgi_graph *graph = o->t->graph;
    const tgi_ref endpoints[] = {j->target, j->source};
    for (int i = 0; i < 2; i++)
        if (!tgi_dtype_is(tgi_graph_node(graph, endpoints[i])->dtype,
                          TGI_CLASS_REAL)) {
            tgi_build_fail(&o->b, TG_ERROR_DTYPE, endpoints, 2,
                           "target and source must have float dtypes");
            return false;
        }
    if (tgi_graph_shape(graph, endpoints[0])->rank +
            tgi_graph_shape(graph, endpoints[1])->rank <=
        TG_MAX_RANK)
        return true;
    tgi_build_fail(&o->b, TG_ERROR_SHAPE, endpoints, 2,
                   "the result would exceed the maximum rank");
    return false;
}

tg_value tg_jacobian_at(tg_operand target, tg_operand source, tg_site site)
{
    tgi_operation o;
    tg_value rows = {0, 0};
    jacobian j = {.site = site};
    if (!tgi_operation_begin(&o, "jacobian", site))
        return rows;
    j.outer = o.t;
    if (!find_endpoints(&j, &o, target, source))
        return tgi_operation_end(&o, 0);
    const tgi_graph *graph = o.t->graph;
    tgi_dim dims[TG_MAX_RANK];
    const tgi_shape *shape = tgi_graph_shape(graph, j.target);
    int rank = shape->rank;
    memcpy(dims, shape->dims, (size_t)rank * sizeof(*dims));
    const tgi_shape *inner = tgi_graph_shape(graph, j.source);
    memcpy(dims + rank, inner->dims, (size_t)inner->rank * sizeof(*dims));
    rank += inner->rank;
    tgi_dim count = tgi_dim_product(graph->dims, shape);
    tg_value indices =
        tgi_operation_end(&o, tgi_build_iota(&o.b, TG_I64, 1, &count, 0));
    if (!tg_is_valid(indices))
        return rows;
    const tg_operand sequence = as_operand(indices);
    tg_map_at(trace_row, &j, &sequence, 1, &rows, 1, site);
    if (!tg_is_valid(rows))
        return rows;
    return tg_reshape_at(as_operand(rows), rank, dims, site);
}

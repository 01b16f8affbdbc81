/* SPDX-License-Identifier: MIT */
/*
 * verify.c - the graph verifier: inputs and attributes in range, dtypes as the
 * op table requires, one rule per op for the rest, and the order of reads and
 * writes.
 *
 * A callee was verified when it was created, so a CALL is only compared with
 * its parameters and results.
 */
#include "ir/verify.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "ir/verify_rule.h"

bool tgi_verify_fail(const tgi_verifier *v, const char *format, ...)
{
    va_list args;
    tgi_strbuf text = {0};
    va_start(args, format);
    tgi_strbuf_addv(&text, format, args);
    va_end(args);
    const char *message = text.text ? text.text : format;
    if (v->ref)
        tgi_error_set(TG_ERROR_INTERNAL, tgi_node_site(v->node),
                      "graph '%s': %%%u %s: %s", v->graph->name, v->ref,
                      tgi_op_table[v->node->op].name, message);
    else
        tgi_error_set(TG_ERROR_INTERNAL, TGI_NO_SITE, "graph '%s': %s",
                      v->graph->name, message);
    tgi_strbuf_deinit(&text);
    return false;
}

/* Regions and effects have no value, and a VARIABLE is not its contents. */
static bool has_value(const tgi_node *node)
{
    return node->dtype != TG_DTYPE_NONE && node->op != TGI_OP_VARIABLE;
}

static bool types_are_equal(const tgi_node *a, const tgi_node *b)
{
    return a->dtype == b->dtype && a->shape == b->shape;
}

static const tgi_node *input_node(const tgi_verifier *v, uint32_t i)
{
    return tgi_graph_node(v->graph, v->node->inputs[i]);
}

/* -- Leaves ---------------------------------------------------------------- */

static bool verify_constant(tgi_verifier *v)
{
    const tgi_literal *literal =
        ((const tgi_attr_literal *)v->node->attr)->literal;
    int64_t bytes;
    if (!tgi_shape_is_static(v->shape))
        return tgi_verify_fail(v, "has unknown extents");
    return (literal &&
            tgi_checked_bytes(v->shape->rank, v->shape->dims,
                              tgi_dtype_bytes(v->node->dtype), &bytes) &&
            literal->bytes == (size_t)bytes) ||
           tgi_verify_fail(v, "its elements do not match the shape");
}

static bool verify_unset(tgi_verifier *v)
{
    (void)v;
    return true;
}

static bool verify_param(tgi_verifier *v)
{
    int64_t index = tgi_node_index(v->node);
    return (index >= 0 && (size_t)index < v->graph->params.n &&
            v->graph->params.data[index].node == v->ref) ||
           tgi_verify_fail(v, "is not parameter %lld", (long long)index);
}

/* -- State ----------------------------------------------------------------- */

/* The state of the variable that is input i, or NULL and an error. */
static struct tgi_verifier_variable *variable_input(tgi_verifier *v, uint32_t i)
{
    const tgi_node *node = input_node(v, i);
    if (node->op != TGI_OP_VARIABLE) {
        tgi_verify_fail(v, "input %u is not a variable", i);
        return NULL;
    }
    return &v->variables[tgi_node_index(node)];
}

static bool verify_read(tgi_verifier *v)
{
    const tgi_node *node = v->node;
    if (node->n_inputs < 1 || node->n_inputs > 2)
        return tgi_verify_fail(v, "has %u inputs", node->n_inputs);
    struct tgi_verifier_variable *variable = variable_input(v, 0);
    if (!variable)
        return false;
    if (!types_are_equal(input_node(v, 0), node))
        return tgi_verify_fail(v, "differs in type from its variable");
    variable->is_read = true;
    tgi_ref seen = node->n_inputs == 2 ? node->inputs[1] : 0;
    return seen == variable->last_write ||
           tgi_verify_fail(v, "sees write %%%u, but the last is %%%u", seen,
                           variable->last_write);
}

static bool verify_assign(tgi_verifier *v)
{
    struct tgi_verifier_variable *variable = variable_input(v, 0);
    if (!variable)
        return false;
    if (!has_value(input_node(v, 1)))
        return tgi_verify_fail(v, "input 1 has no value");
    if (!types_are_equal(input_node(v, 0), v->node) ||
        !types_are_equal(input_node(v, 1), v->node))
        return tgi_verify_fail(v, "differs in type from its variable");
    variable->is_written = true;
    variable->last_write = v->ref;
    return true;
}

static bool verify_print(tgi_verifier *v)
{
    (void)v;
    return true;
}

static bool verify_fail(tgi_verifier *v)
{
    return verify_print(v);
}

static bool verify_host_call(tgi_verifier *v)
{
    const tgi_attr_host *attr = v->node->attr;
    if (!attr->function)
        return tgi_verify_fail(v, "has no function");
    for (int64_t i = 0; i < attr->n_outputs; i++)
        if (!tgi_dtype_is_valid((int)attr->outputs[i].dtype) ||
            !attr->outputs[i].shape)
            return tgi_verify_fail(v, "output %lld has no type",
                                   (long long)i);
    return true;
}

/* -- Regions --------------------------------------------------------------- */

/* True if the types may be equal; unknown extents match any extent. */
static bool types_are_compatible(const tgi_graph *graph, const tgi_node *outer,
                                 const tgi_graph *callee,
                                 const tgi_node *inner)
{
    const tgi_shape *a = tgi_shape_of(graph->dims, outer->shape);
    const tgi_shape *b = tgi_shape_of(callee->dims, inner->shape);
    bool ok = outer->dtype == inner->dtype && a->rank == b->rank;
    for (int i = 0; ok && i < a->rank; i++)
        ok = tgi_verify_may_equal(a->dims[i], b->dims[i]);
    return ok;
}

/* Input i must match its parameter in every graph; a variable must be a
   VARIABLE in all of them. */
static bool verify_region_input(tgi_verifier *v, uint32_t i)
{
    const tgi_node *outer = input_node(v, i);
    const tgi_regions regions = tgi_node_regions(v->node);
    bool is_read = false, is_written = tgi_node_writes(v->node, i);
    bool is_variable = false;
    for (size_t k = 0; k < regions.n; k++) {
        const tgi_graph *region = regions.graphs[k];
        const tgi_param *param = &region->params.data[i];
        const tgi_node *inner = tgi_graph_node(region, param->node);
        if (!types_are_compatible(v->graph, outer, region, inner))
            return tgi_verify_fail(v, "input %u does not match its parameter",
                                   i);
        is_read |= param->is_read;
        if (k > 0 && is_variable != (inner->op == TGI_OP_VARIABLE))
            return tgi_verify_fail(
                v, "input %u is a variable in some graphs only", i);
        is_variable = inner->op == TGI_OP_VARIABLE;
    }
    if (!is_variable)
        return has_value(outer) ||
               tgi_verify_fail(v, "input %u has no value", i);

    struct tgi_verifier_variable *variable = variable_input(v, i);
    if (!variable)
        return false;
    /* If two parameters alias and one is written, reads of the other would not
       name that write. */
    if (variable->last_call == v->ref &&
        (is_written || variable->last_write == v->ref))
        return tgi_verify_fail(v, "writes a variable that is passed twice");
    variable->last_call = v->ref;
    variable->is_read |= is_read;
    variable->is_written |= is_written;
    if (is_written)
        variable->last_write = v->ref;
    return true;
}

static bool verify_call(tgi_verifier *v)
{
    const tgi_regions regions = tgi_node_regions(v->node);
    for (size_t k = 0; k < regions.n; k++) {
        if (v->node->n_inputs != regions.graphs[k]->params.n)
            return tgi_verify_fail(v, "has %u inputs for %zu parameters",
                                   v->node->n_inputs,
                                   regions.graphs[k]->params.n);
        v->has_effects |= regions.graphs[k]->has_effects;
    }
    for (uint32_t i = 0; i < v->node->n_inputs; i++)
        if (!verify_region_input(v, i))
            return false;
    return true;
}

static bool is_scalar(const tgi_graph *graph, tgi_ref ref, tg_dtype dtype)
{
    return tgi_graph_node(graph, ref)->dtype == dtype &&
           tgi_graph_shape(graph, ref)->rank == 0;
}

/* The rules that SWITCH and LOOP share. */
static bool verify_regions(tgi_verifier *v)
{
    const tgi_regions regions = tgi_node_regions(v->node);
    if (regions.n == 0 ||
        v->node->attr_bytes !=
            sizeof(tgi_attr_regions) + regions.n * sizeof(tgi_graph *))
        return tgi_verify_fail(v, "has %u bytes of attribute",
                               v->node->attr_bytes);
    if (v->node->n_inputs == 0 || !has_value(input_node(v, 0)) ||
        !is_scalar(v->graph, v->node->inputs[0], TG_I64))
        return tgi_verify_fail(v, "input 0 is not an i64 scalar");
    for (size_t k = 0; k < regions.n; k++) {
        if (regions.graphs[k]->dims != v->graph->dims)
            return tgi_verify_fail(v, "graph %zu has a different dims table",
                                   k);
        if (tgi_graph_verify(regions.graphs[k]))
            return false;
    }
    return verify_call(v);
}

static bool result_types_are_equal(const tgi_graph *a, const tgi_graph *b)
{
    if (a->results.n != b->results.n)
        return false;
    for (size_t i = 0; i < a->results.n; i++)
        if (!types_are_equal(tgi_graph_node(a, a->results.data[i]),
                             tgi_graph_node(b, b->results.data[i])))
            return false;
    return true;
}

static bool verify_switch(tgi_verifier *v)
{
    if (!verify_regions(v))
        return false;
    const tgi_regions regions = tgi_node_regions(v->node);
    for (size_t k = 1; k < regions.n; k++)
        if (!result_types_are_equal(regions.graphs[0], regions.graphs[k]))
            return tgi_verify_fail(v, "graph %zu has different result types",
                                   k);
    return tgi_verify_unbounded_switch(v);
}

static bool verify_loop(tgi_verifier *v)
{
    const tgi_attr_regions *attr = v->node->attr;
    if (!verify_regions(v))
        return false;
    const tgi_graph *body = attr->graphs[0];
    if (attr->n_graphs > 2 || attr->n_carried < 0 ||
        (uint64_t)attr->n_carried >= v->node->n_inputs ||
        body->results.n != (size_t)attr->n_carried)
        return tgi_verify_fail(v, "does not carry %lld values",
                               (long long)attr->n_carried);
    for (uint32_t k = 0; k < body->results.n; k++) {
        if (!has_value(input_node(v, k + 1)))
            return tgi_verify_fail(v, "carried value %u is a variable", k);
        if (!types_are_equal(tgi_graph_node(body, body->results.data[k]),
                             input_node(v, k + 1)))
            return tgi_verify_fail(v, "carried value %u changes its type", k);
    }
    if (attr->flags & ~(attr->n_graphs == 2 ? TGI_LOOP_LIMITED : 0))
        return tgi_verify_fail(v, "has flags %lld", (long long)attr->flags);
    if (!tgi_verify_unbounded_loop(v))
        return false;
    if (attr->n_graphs == 1)
        return true;
    const tgi_graph *test = attr->graphs[1];
    return (test->results.n == 1 &&
            is_scalar(test, test->results.data[0], TG_BOOL)) ||
           tgi_verify_fail(v, "its test does not return one bool");
}

static bool verify_host_output(const tgi_verifier *v, const tgi_attr_host *attr,
                               int64_t index)
{
    if (index < 0 || index >= attr->n_outputs)
        return tgi_verify_fail(v, "the host call has no output %lld",
                               (long long)index);
    return (attr->outputs[index].dtype == v->node->dtype &&
            attr->outputs[index].shape == v->node->shape) ||
           tgi_verify_fail(v, "differs in type from the output");
}

static bool verify_result(tgi_verifier *v)
{
    int64_t index = tgi_node_index(v->node);
    const tgi_node *call = input_node(v, 0);
    if (call->op == TGI_OP_HOST)
        return verify_host_output(v, call->attr, index);
    if (!tgi_node_owns_graphs(call))
        return tgi_verify_fail(v, "its input has no results");
    const tgi_graph *callee = tgi_node_regions(call).graphs[0];
    if (index < 0 || (size_t)index >= callee->results.n)
        return tgi_verify_fail(v, "the callee has no result %lld",
                               (long long)index);
    const tgi_node *inner = tgi_graph_node(callee, callee->results.data[index]);
    return types_are_compatible(v->graph, v->node, callee, inner) ||
           tgi_verify_fail(v, "differs in type from the callee's result");
}

/* -- One node -------------------------------------------------------------- */

/* Rules by op, selected by class; an op without a rule does not compile. */
#define RULE_LEAF(name) verify_##name
#define RULE_UNARY(name) tgi_verify_elementwise
#define RULE_CAST(name) tgi_verify_##name
#define RULE_BINARY(name) tgi_verify_elementwise
#define RULE_TERNARY(name) tgi_verify_elementwise
#define RULE_VIEW(name) tgi_verify_##name
#define RULE_INDEX(name) tgi_verify_##name
#define RULE_REDUCE(name) tgi_verify_reduce
#define RULE_SCAN(name) tgi_verify_scan
#define RULE_MATMUL(name) tgi_verify_matmul
#define RULE_CONV(name) tgi_verify_conv
#define RULE_RANDOM(name) tgi_verify_##name
#define RULE_STATE(name) verify_##name
#define RULE_EFFECT(name) verify_##name
#define RULE_REGION(name) verify_##name
#define verify_variable verify_param
#define verify_iota tgi_verify_iota
#define verify_extent tgi_verify_extent

static tgi_verify_rule *const rules[TGI_OPS] = {
#define OP(ID, name, class, ...) [TGI_OP_##ID] = RULE_##class(name),
#include "ir/op.def"
#undef OP
};

/* Bytes of the attribute by op; other ops have none or one of variable size. */
static const uint8_t attr_bytes[TGI_OPS] = {
    [TGI_OP_CONSTANT] = sizeof(tgi_attr_literal),
    [TGI_OP_PARAM] = sizeof(tgi_attr_index),
    [TGI_OP_VARIABLE] = sizeof(tgi_attr_index),
    [TGI_OP_IOTA] = sizeof(tgi_attr_index),
    [TGI_OP_EXTENT] = sizeof(tgi_attr_index),
    [TGI_OP_TRANSPOSE] = sizeof(tgi_attr_perm),
    [TGI_OP_SLICE] = sizeof(tgi_attr_slice),
    [TGI_OP_WINDOW] = sizeof(tgi_attr_window),
    [TGI_OP_PAD] = sizeof(tgi_attr_pad),
    [TGI_OP_CONCAT] = sizeof(tgi_attr_index),
    [TGI_OP_GATHER] = sizeof(tgi_attr_gather),
    [TGI_OP_DYNAMIC_SLICE] = sizeof(tgi_attr_index),
    [TGI_OP_DYNAMIC_UPDATE] = sizeof(tgi_attr_index),
    [TGI_OP_SCATTER] = sizeof(tgi_attr_scatter),
    [TGI_OP_SUM] = sizeof(tgi_attr_axes),
    [TGI_OP_PROD] = sizeof(tgi_attr_axes),
    [TGI_OP_REDUCE_MAX] = sizeof(tgi_attr_axes),
    [TGI_OP_REDUCE_MIN] = sizeof(tgi_attr_axes),
    [TGI_OP_ARGMAX] = sizeof(tgi_attr_index),
    [TGI_OP_ARGMIN] = sizeof(tgi_attr_index),
    [TGI_OP_MATMUL] = sizeof(tgi_attr_matmul),
    [TGI_OP_CONV] = sizeof(tgi_attr_conv),
    [TGI_OP_LINEAR_SCAN] = sizeof(tgi_attr_scan),
    [TGI_OP_CALL] = sizeof(tgi_attr_call),
    [TGI_OP_RESULT] = sizeof(tgi_attr_index),
};

static bool verify_attr(const tgi_verifier *v)
{
    const tgi_node *node = v->node;
    if (node->op == TGI_OP_PRINT || node->op == TGI_OP_FAIL)
        return (node->attr_bytes > 0 &&
                memchr(node->attr, 0, node->attr_bytes) ==
                    (const char *)node->attr + node->attr_bytes - 1) ||
               tgi_verify_fail(v, "its format is not NUL-terminated");
    if (node->op == TGI_OP_HOST) {
        const tgi_attr_host *attr = node->attr;
        return (node->attr_bytes >= sizeof(*attr) && attr->n_outputs >= 0 &&
                node->attr_bytes ==
                    tgi_attr_host_bytes((size_t)attr->n_outputs)) ||
               tgi_verify_fail(v, "has %u bytes of attribute",
                               node->attr_bytes);
    }
    if (node->op == TGI_OP_SWITCH || node->op == TGI_OP_LOOP)
        return node->attr_bytes >= sizeof(tgi_attr_regions) ||
               tgi_verify_fail(v, "has no graphs");
    return node->attr_bytes == attr_bytes[node->op] ||
           tgi_verify_fail(v, "has %u bytes of attribute", node->attr_bytes);
}

static bool verify_inputs(const tgi_verifier *v)
{
    const tgi_node *node = v->node;
    int arity = tgi_op_table[node->op].arity;
    if (arity >= 0 && node->n_inputs != (uint32_t)arity)
        return tgi_verify_fail(v, "has %u inputs", node->n_inputs);
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] == 0 || node->inputs[i] >= v->ref)
            return tgi_verify_fail(v, "input %u, %%%u, does not precede it", i,
                                   node->inputs[i]);
    return true;
}

/* Rules of STATE and REGION ops check their inputs themselves. */
static bool takes_values(const tgi_node *node)
{
    int cls = tgi_op_table[node->op].cls;
    return cls != TGI_OPCLASS_STATE && cls != TGI_OPCLASS_REGION;
}

/* Inputs first … end - 1 are data: they have one dtype, which the op table
   restricts. */
static void data_inputs(const tgi_node *node, uint32_t *first, uint32_t *end)
{
    *first = node->op == TGI_OP_SELECT ? 1 : 0;
    switch (node->op) {
    case TGI_OP_GATHER:
    case TGI_OP_DYNAMIC_SLICE:
    case TGI_OP_SCATTER: /* its rule checks the updates */
        *end = 1;
        break;
    case TGI_OP_DYNAMIC_UPDATE:
        *end = 2;
        break;
    case TGI_OP_PRINT:
    case TGI_OP_FAIL:
    case TGI_OP_HOST:
    case TGI_OP_RANDOM_BITS: /* its rule checks the inputs */
        *end = 0;
        break;
    default:
        *end = node->n_inputs;
        break;
    }
}

static bool verify_dtypes(const tgi_verifier *v)
{
    const tgi_node *node = v->node;
    const tgi_op_info *info = &tgi_op_table[node->op];

    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (!has_value(input_node(v, i)))
            return tgi_verify_fail(v, "input %u has no value", i);
    if (node->op == TGI_OP_SELECT && input_node(v, 0)->dtype != TG_BOOL)
        return tgi_verify_fail(v, "the condition is not bool");

    uint32_t first, end;
    data_inputs(node, &first, &end);
    int data = first < end ? input_node(v, first)->dtype : node->dtype;
    for (uint32_t i = first; i < end; i++)
        if (input_node(v, i)->dtype != data)
            return tgi_verify_fail(v, "input %u is %s, another is %s", i,
                                   tg_dtype_name(input_node(v, i)->dtype),
                                   tg_dtype_name((tg_dtype)data));
    if (data != TG_DTYPE_NONE && !tgi_dtype_is(data, info->types))
        return tgi_verify_fail(v, "does not support %s",
                               tg_dtype_name((tg_dtype)data));

    const int wanted[] = {
        [TGI_RESULT_SAME] = data,
        [TGI_RESULT_BOOL] = TG_BOOL,
        [TGI_RESULT_I64] = TG_I64,
        [TGI_RESULT_EXPLICIT] = node->dtype,
    };
    return node->dtype == wanted[info->result] ||
           tgi_verify_fail(v, "has dtype %s", tg_dtype_name(node->dtype));
}

static bool verify_node(tgi_verifier *v, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(v->graph, ref);
    v->ref = ref;
    v->node = node;
    v->shape = NULL;
    if (node->op == TGI_OP_NONE || node->op >= TGI_OPS) {
        v->ref = 0;
        return tgi_verify_fail(v, "%%%u has op %d", ref, node->op);
    }
    bool is_void = tgi_node_owns_graphs(node) ||
                   tgi_op_table[node->op].cls == TGI_OPCLASS_EFFECT;
    if (is_void != (node->dtype == TG_DTYPE_NONE) ||
        (!is_void && !tgi_dtype_is_valid(node->dtype)))
        return tgi_verify_fail(v, "has dtype %d", node->dtype);
    if (!is_void && !node->shape)
        return tgi_verify_fail(v, "has no shape");
    if (!is_void)
        v->shape = tgi_graph_shape(v->graph, ref);
    v->has_effects |= tgi_op_has(node->op, TGI_FLAG_EFFECT);
    return verify_inputs(v) && verify_attr(v) &&
           (!takes_values(node) || verify_dtypes(v)) && rules[node->op](v) &&
           tgi_verify_unbounded(v);
}

/* -- The graph ------------------------------------------------------------- */

static bool verify_params(const tgi_verifier *v)
{
    const tgi_graph *graph = v->graph;
    for (size_t i = 0; i < graph->params.n; i++) {
        tgi_ref ref = graph->params.data[i].node;
        int op = ref && ref <= graph->n_nodes ? tgi_graph_node(graph, ref)->op
                                              : TGI_OP_NONE;
        if (op != TGI_OP_PARAM && op != TGI_OP_VARIABLE)
            return tgi_verify_fail(v, "parameter %zu is not a parameter node",
                                   i);
    }
    return true;
}

static bool verify_summary(const tgi_verifier *v)
{
    const tgi_graph *graph = v->graph;
    for (size_t i = 0; i < graph->params.n; i++)
        if (graph->params.data[i].is_read != v->variables[i].is_read ||
            graph->params.data[i].is_written != v->variables[i].is_written)
            return tgi_verify_fail(
                v, "wrong is_read or is_written of parameter %zu", i);
    return graph->has_effects == v->has_effects ||
           tgi_verify_fail(v, "wrong has_effects");
}

static bool verify_results_and_checks(const tgi_verifier *v)
{
    const tgi_graph *graph = v->graph;
    for (size_t i = 0; i < graph->results.n; i++) {
        tgi_ref ref = graph->results.data[i];
        if (ref == 0 || ref > graph->n_nodes ||
            !has_value(tgi_graph_node(graph, ref)))
            return tgi_verify_fail(v, "result %zu has no value", i);
        if (!tgi_verify_unbounded_result(v, ref))
            return false;
    }
    for (size_t i = 0; i < graph->checks.n; i++) {
        const tgi_check *check = &graph->checks.data[i];
        if (check->kind > TGI_CHECK_NOT_ZERO || check->a == TGI_DIM_NONE ||
            check->b == TGI_DIM_NONE || !check->op || !check->what)
            return tgi_verify_fail(v, "check %zu is incomplete", i);
    }
    return true;
}

tg_status tgi_graph_verify(const tgi_graph *graph)
{
    tgi_verifier v = {.graph = graph};
    v.variables = tgi_alloc_zero((graph->params.n + 1) * sizeof *v.variables);
    if (!v.variables)
        return tgi_error_memory();
    bool ok = verify_params(&v);
    for (tgi_ref ref = 1; ok && ref <= graph->n_nodes; ref++)
        ok = verify_node(&v, ref);
    if (ok) {
        v.ref = 0;
        ok = verify_summary(&v) && verify_results_and_checks(&v);
    }
    tgi_free(v.variables);
    /* Not always INTERNAL: verifying a region may run out of memory. */
    return ok ? TG_OK : tg_error_last()->status;
}

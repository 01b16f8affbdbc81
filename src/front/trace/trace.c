/* SPDX-License-Identifier: MIT */
/*
 * trace.c - traces: the per-thread stack, the sticky error, and conversion of
 * operands to nodes.
 */
#include <stdarg.h>
#include <string.h>

#include "base/live.h"
#include "front/object/scope.h"
#include "front/object/context_object.h"
#include "front/trace/trace_state.h"
#include "pass/pass.h"
#include "tgjit/function.h"

static _Thread_local tg_trace *current;

tg_trace *tgi_trace_current(void)
{
    return current;
}

/* -- Begin and end --------------------------------------------------------- */

static uint32_t next_trace_id(void)
{
    static _Atomic uint32_t last;
    uint32_t id;
    do
        id = atomic_fetch_add(&last, 1) + 1;
    while (id == 0);
    return id;
}

tg_status tgi_trace_check_nesting(uint32_t levels, const char *what,
                                  tg_site site)
{
    const tg_trace *outermost = current;
    const uint32_t depth = levels + (current ? current->depth : 0);
    if (depth <= TG_MAX_NESTING)
        return TG_OK;
    while (outermost && outermost->parent)
        outermost = outermost->parent;
    TGI_FAIL(TG_ERROR_LIMIT, site,
             "%s: %u levels of nested functions, branches and loops, counted "
             "from %s; the limit is %d",
             what, depth,
             outermost ? tg_function_name(outermost->function) : what,
             TG_MAX_NESTING);
}

static tg_trace *push_trace(tg_context *ctx, tg_function *function,
                            bool is_fast, const char *name, tgi_dims *dims)
{
    tg_trace *t = tgi_alloc_zero(sizeof(*t));
    if (!t) {
        tgi_error_memory();
        return NULL;
    }
    t->graph = tgi_graph_create(name, dims);
    if (!t->graph) {
        tgi_free(t);
        return NULL;
    }
    t->id = next_trace_id();
    t->ctx = ctx;
    t->function = function;
    t->is_fast = is_fast;
    t->parent = current;
    t->depth = 1 + (current ? current->depth : 0);
    current = t;
    tgi_live_add(TGI_LIVE_TRACE, 1);
    return t;
}

tg_trace *tgi_trace_begin(tg_context *ctx, tg_function *function, bool is_fast,
                          tg_site site)
{
    const char *name = tg_function_name(function);
    if (tgi_trace_check_nesting(1, name, site) || tgi_scope_begin_trace(ctx))
        return NULL;
    tg_trace *t = push_trace(ctx, function, is_fast, name, NULL);
    if (!t)
        tgi_scope_end_trace();
    return t;
}

tg_trace *tgi_trace_begin_region(tg_trace *outer, const char *name,
                                 const tgi_builder *b)
{
    if (tgi_trace_check_nesting(1, b->op_name, b->site))
        return NULL;
    tg_trace *t = push_trace(outer->ctx, outer->function, outer->is_fast, name,
                             outer->graph->dims);
    if (t)
        t->outer = outer;
    return t;
}

void tgi_trace_end(tg_trace *t)
{
    current = t->parent;
    if (!t->outer)
        tgi_scope_end_trace();
    for (size_t i = 0; i < t->args.n; i++)
        tgi_free(t->args.data[i].bundle);
    for (size_t i = 0; i < t->placeholders.n; i++)
        tg_variable_release(t->placeholders.data[i]);
    for (size_t i = 0; i < t->captures.n; i++)
        tg_variable_release(t->captures.data[i].variable);
    for (size_t i = 0; i < t->arg_variables.n; i++)
        tg_variable_release(t->arg_variables.data[i].variable);
    for (size_t i = 0; i < t->new_variables.n; i++)
        tg_variable_release(t->new_variables.data[i].variable);
    for (size_t i = 0; i < t->initials.n; i++)
        tg_variable_release(t->initials.data[i].variable);
    tgi_vec_deinit(&t->args);
    tgi_vec_deinit(&t->placeholders);
    tgi_vec_deinit(&t->captures);
    tgi_vec_deinit(&t->arg_variables);
    tgi_vec_deinit(&t->arg_captured);
    tgi_vec_deinit(&t->last_write);
    tgi_vec_deinit(&t->region_inputs);
    tgi_index_deinit(&t->region_index);
    tgi_vec_deinit(&t->reasons);
    tgi_vec_deinit(&t->new_variables);
    tgi_vec_deinit(&t->used_variables);
    tgi_vec_deinit(&t->initials);
    tgi_vec_deinit(&t->results);
    tgi_index_deinit(&t->capture_index);
    tgi_graph_release(t->graph);
    tgi_free(t);
    tgi_live_add(TGI_LIVE_TRACE, -1);
}

/* -- Errors ---------------------------------------------------------------- */

void tgi_trace_record_error(tg_trace *t)
{
    if (t->status != TG_OK)
        return;
    t->status = tg_error_last()->status;
    if (t->status == TG_OK)
        t->status =
            tgi_error_set(TG_ERROR_INTERNAL, TGI_NO_SITE,
                          "an operation failed without an error record");
    tgi_error_locate(t->site, t->op_name);
    tgi_error_save(&t->error);
}

tg_status tgi_trace_fail(tg_trace *t, tg_status status, tg_site site,
                         const char *format, ...)
{
    if (t->status != TG_OK)
        return t->status;
    va_list args;
    va_start(args, format);
    tgi_error_setv(status, site, format, args);
    va_end(args);
    tgi_trace_record_error(t);
    return status;
}

tg_status tg_trace_status(const tg_trace *t)
{
    return t ? t->status : TG_ERROR_INVALID_ARGUMENT;
}

/* -- Callbacks ------------------------------------------------------------- */

bool tgi_trace_run_inline(tg_trace *t, tg_callback *callback,
                          const tg_value *in, void *user, const tgi_builder *b,
                          tgi_refs *out_results)
{
    *out_results = (tgi_refs){0};
    if (tgi_trace_check_nesting(1, b->op_name, b->site)) {
        tgi_trace_record_error(t);
        return false;
    }
    const tgi_refs results = t->results;
    const bool has_returned = t->has_returned;
    t->results = (tgi_refs){0};
    t->has_returned = false;
    t->depth++;
    t->site = b->site;
    callback(t, in, user);
    t->depth--;
    *out_results = t->results;
    t->results = results;
    t->has_returned = has_returned;
    return t->status == TG_OK;
}

/* -- Values ---------------------------------------------------------------- */

tg_value tgi_trace_value(const tg_trace *t, tgi_ref ref)
{
    return (tg_value){ref, ref ? t->id : 0};
}

/* The trace of a value, if it is the current one or encloses it; else NULL. */
static tg_trace *value_trace(tg_value value)
{
    tg_trace *t = current;
    while (t && t->id != value.trace)
        t = t->outer;
    return t && value.node > 0 && value.node <= t->graph->n_nodes ? t : NULL;
}

/* The node of a value, NULL if it belongs to another trace. */
static const tgi_node *value_node(tg_value value)
{
    const tg_trace *t = value_trace(value);
    return t ? tgi_graph_node(t->graph, value.node) : NULL;
}

const char *tgi_trace_reason(const tg_trace *t, tg_value value)
{
    while (t->outer)
        t = t->outer;
    return value.trace == 0 && value.node > 0 && value.node <= t->reasons.n
               ? t->reasons.data[value.node - 1]
               : NULL;
}

tgi_ref tgi_trace_ref(tg_trace *t, tg_value value, const char *op,
                      tg_site site)
{
    if (value.trace == t->id && value.node > 0 &&
        value.node <= t->graph->n_nodes)
        return value.node;
    if (value_node(value))
        return tgi_trace_capture_value(t, value);
    const char *reason = tgi_trace_reason(t, value);
    const size_t n_args = tgi_trace_root(t)->args.n;
    const uint32_t missing_index = UINT32_MAX - value.node;
    if (value.trace == 0 && missing_index >= n_args &&
        missing_index < n_args + TGI_MISSING_ARGS)
        tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                       "%s: argument %u is missing: the call has %zu "
                       "argument%s",
                       op, missing_index, n_args, TGI_PLURAL(n_args));
    else if (value.trace == 0)
        tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                       reason ? "%s: an operand is a gradient that does not "
                                "exist: %s"
                              : "%s: an operand is not a valid value",
                       op, reason);
    else if (value.trace == t->id)
        tgi_trace_fail(t, TG_ERROR_TRACE, site,
                       "%s: an operand is not a value of this trace", op);
    else {
        const tg_trace *outer = t->parent;
        while (outer && outer->id != value.trace)
            outer = outer->parent;
        tgi_trace_fail(t, TG_ERROR_TRACE, site,
                       outer ? "%s: an operand is a value of the calling "
                               "function's trace: pass it as an argument"
                             : "%s: an operand is a value of another trace, "
                               "or of one that has ended",
                       op);
    }
    return 0;
}

tg_dtype tg_value_dtype(tg_value value)
{
    const tgi_node *node = value_node(value);
    return node ? node->dtype : TG_DTYPE_NONE;
}

int tg_value_rank(tg_value value)
{
    const tgi_node *node = value_node(value);
    return node ? tgi_shape_of(current->graph->dims, node->shape)->rank : -1;
}

int64_t tg_value_dim(tg_value value, int axis)
{
    const tgi_node *node = value_node(value);
    if (!node)
        return -1;
    const tgi_shape *shape = tgi_shape_of(current->graph->dims, node->shape);
    if (axis < 0)
        axis += shape->rank;
    return axis >= 0 && axis < shape->rank ? shape->dims[axis] : -1;
}

tg_value tg_name(tg_value value, const char *name)
{
    if (value_node(value) && name)
        tgi_graph_set_name(value_trace(value)->graph, value.node, name);
    return value;
}

/* -- Variables ------------------------------------------------------------- */

static uint64_t hash_address(const tg_variable *variable)
{
    return tgi_hash(&variable, sizeof(variable), 0);
}

static tgi_ref find_capture(tg_trace *t, const tg_variable *variable)
{
    for (size_t i = 0; i < t->arg_variables.n; i++)
        if (t->arg_variables.data[i].variable == variable) {
            t->arg_captured.data[i] = true;
            return t->arg_variables.data[i].node;
        }
    size_t probe = 0;
    uint32_t position;
    while ((position = tgi_index_next(&t->capture_index, hash_address(variable),
                                      &probe)))
        if (t->captures.data[position - 1].variable == variable)
            return t->captures.data[position - 1].node;
    return 0;
}

tgi_ref tgi_trace_variable(tg_trace *t, tg_variable *variable, const char *op,
                           tg_site site)
{
    if (variable && tgi_trace_is_within(t, variable->trace))
        return tgi_trace_capture_value(
            t, (tg_value){variable->node, variable->trace});
    if (t->outer)
        return tgi_region_variable(t, variable, op, site);
    if (tgi_variable_check(variable, t->ctx, op, site)) {
        tgi_trace_record_error(t);
        return 0;
    }
    tgi_ref node = find_capture(t, variable);
    if (node)
        return node;

    tgi_shape_ref shape = tgi_shape_intern(
        t->graph->dims, variable->spec.rank, variable->spec.dims);
    if (shape)
        node = tgi_graph_add_param(t->graph, TGI_OP_VARIABLE,
                                   variable->spec.dtype, shape, 0);
    if (!node) {
        tgi_trace_record_error(t);
        return 0;
    }
    if (!tgi_vec_push(&t->last_write, (tgi_ref)0) ||
        !tgi_vec_push(&t->captures, ((tgi_capture){variable, node}))) {
        tgi_error_memory();
        tgi_trace_record_error(t);
        return 0;
    }
    tg_variable_retain(variable);
    if (!tgi_index_add(&t->capture_index, hash_address(variable),
                       (uint32_t)t->captures.n)) {
        tgi_error_memory();
        tgi_trace_record_error(t);
        return 0;
    }
    tgi_graph_set_name(t->graph, node, variable->name);
    return node;
}

tgi_ref tgi_trace_variable_operand(tg_trace *t, tg_operand operand,
                                   const char *op, tg_site site)
{
    if (operand.kind == TG_OPERAND_VARIABLE)
        return tgi_trace_variable(t, operand.as.variable, op, site);
    if (operand.kind == TG_OPERAND_VALUE) {
        tgi_ref ref = tgi_trace_ref(t, operand.as.value, op, site);
        if (!ref || tgi_graph_node(t->graph, ref)->op == TGI_OP_VARIABLE)
            return ref;
    }
    tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                   "%s: the first operand is a value, not a variable", op);
    return 0;
}

bool tgi_trace_note_write(tg_trace *t, tgi_ref variable, tgi_ref node)
{
    if (!node)
        return false;
    t->last_write.data[tgi_graph_param_index(t->graph, variable)] = node;
    return true;
}

tgi_ref tgi_trace_read(tg_trace *t, tgi_ref variable, tg_site site)
{
    tgi_ref state =
        t->last_write.data[tgi_graph_param_index(t->graph, variable)];
    const tgi_node *node = tgi_graph_node(t->graph, variable);
    const tgi_site_chain chain = {.file = site.file, .line = site.line};
    return tgi_graph_add(t->graph, &(tgi_node){
                                       .op = TGI_OP_READ,
                                       .dtype = node->dtype,
                                       .shape = node->shape,
                                       .n_inputs = state ? 2 : 1,
                                       .inputs = (tgi_ref[]){variable, state},
                                       .site = &chain,
                                   });
}

tgi_ref tgi_trace_write(tg_trace *t, tgi_ref variable, tgi_ref value,
                        tg_site site)
{
    const tgi_node *node = tgi_graph_node(t->graph, variable);
    const tgi_site_chain chain = {.file = site.file, .line = site.line};
    tgi_ref write =
        tgi_graph_add(t->graph, &(tgi_node){
                                    .op = TGI_OP_ASSIGN,
                                    .dtype = node->dtype,
                                    .shape = node->shape,
                                    .n_inputs = 2,
                                    .inputs = (tgi_ref[]){variable, value},
                                    .site = &chain,
                                });
    return tgi_trace_note_write(t, variable, write) ? write : 0;
}

/* -- Operands -------------------------------------------------------------- */

tgi_number tgi_operand_number(const tg_operand *operand)
{
    switch (operand->kind) {
    case TG_OPERAND_INT:
        return (tgi_number){TGI_NUMBER_INT, {.i = operand->as.i}};
    case TG_OPERAND_UINT:
        return (tgi_number){TGI_NUMBER_UINT, {.u = operand->as.u}};
    default:
        return (tgi_number){TGI_NUMBER_FLOAT, {.f = operand->as.f}};
    }
}

/* Adds a constant for a tensor or number; 0 on error (recorded). */
static tgi_ref constant_node(tgi_builder *b, const tg_operand *operand)
{
    const tg_tensor *tensor = operand->as.tensor;
    switch (operand->kind) {
    case TG_OPERAND_TENSOR:
        if (!tensor)
            return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                                  "a tensor operand is NULL");
        return tgi_build_constant(b, tensor->spec.dtype, tensor->spec.rank,
                                  tensor->spec.dims, tensor->data);
    case TG_OPERAND_INT:
    case TG_OPERAND_UINT:
    case TG_OPERAND_FLOAT:
        return tgi_build_number(b, TG_DTYPE_NONE, operand->dtype,
                                tgi_operand_number(operand));
    default:
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                              "a %s is not an operand",
                              operand->kind == TG_OPERAND_BUNDLE ? "bundle"
                                                                 : "string");
    }
}

tgi_ref tgi_trace_operand(tg_trace *t, tg_operand operand, const char *op,
                          tg_site site)
{
    tgi_ref ref = 0;
    if (operand.kind == TG_OPERAND_VALUE) {
        ref = tgi_trace_ref(t, operand.as.value, op, site);
        if (!ref || tgi_graph_node(t->graph, ref)->op != TGI_OP_VARIABLE)
            return ref;
    } else if (operand.kind == TG_OPERAND_VARIABLE ||
               operand.kind == TG_OPERAND_VARIABLE_VALUE) {
        ref = tgi_trace_variable(t, operand.as.variable, op, site);
        if (!ref)
            return 0;
    }
    if (ref) {
        ref = tgi_trace_read(t, ref, site);
    } else {
        tgi_builder b = {.graph = t->graph, .site = site, .op_name = op};
        ref = constant_node(&b, &operand);
    }
    if (!ref)
        tgi_trace_record_error(t);
    return ref;
}

/* -- One operation --------------------------------------------------------- */

bool tgi_operation_begin(tgi_operation *op, const char *name, tg_site site)
{
    tg_trace *t = current;
    op->t = t;
    if (t && !site.file)
        site = t->site;
    if (!t) {
        tgi_error_set(TG_ERROR_TRACE, site,
                      "%s: can only be used inside a traced callback", name);
        return false;
    }
    op->is_wide = false;
    op->b = (tgi_builder){
        .graph = t->graph,
        .site = site,
        .op_name = name,
        .fold = tgi_constant_fold_scalars,
        .no_contraction = t->ctx->no_contraction,
        .is_fast = t->is_fast,
    };
    t->site = site;
    t->op_name = name;
    return t->status == TG_OK;
}

bool tgi_operation_begin_wide(tgi_operation *op, const char *name, tg_site site)
{
    const bool is_begun = tgi_operation_begin(op, name, site);
    op->is_wide = true;
    op->real = TG_DTYPE_NONE;
    return is_begun;
}

/* x, or its f32; 0 and an error if a half meets another float dtype. */
static tgi_ref widen_operand(tgi_operation *op, tgi_ref x)
{
    const tg_dtype dtype = tgi_graph_node(op->b.graph, x)->dtype;
    if (!tgi_dtype_is((int)dtype, TGI_CLASS_REAL) ||
        tgi_build_weakness(&op->b, x))
        return x;
    if (op->real && op->real != dtype &&
        (tgi_dtype_is((int)op->real, TGI_CLASS_HALF) ||
         tgi_dtype_is((int)dtype, TGI_CLASS_HALF)))
        return tgi_build_fail(
            &op->b, TG_ERROR_DTYPE, NULL, 0,
            "dtypes %s and %s differ; convert one with tg_cast",
            tg_dtype_name(op->real), tg_dtype_name(dtype));
    op->real = dtype;
    return tgi_build_widen(&op->b, x);
}

tgi_ref tgi_operation_operand(tgi_operation *op, tg_operand operand)
{
    if (op->t->status != TG_OK)
        return 0;
    const tgi_ref x =
        tgi_trace_operand(op->t, operand, op->b.op_name, op->b.site);
    return x && op->is_wide ? widen_operand(op, x) : x;
}

tg_value tgi_operation_end(tgi_operation *op, tgi_ref result)
{
    if (!op->t)
        return (tg_value){0, 0};
    if (result && op->is_wide &&
        tgi_graph_node(op->b.graph, result)->dtype == TG_F32)
        result = tgi_build_narrow(&op->b, result, op->real);
    /* A part that failed is never a part that was not asked for. */
    if (op->b.has_error)
        result = 0;
    if (!result && op->t->status == TG_OK) {
        tgi_trace_record_error(op->t);
    }
    return tgi_trace_value(op->t, op->t->status == TG_OK ? result : 0);
}

/* SPDX-License-Identifier: MIT */
/*
 * signature.c - flattens operands and specs into argument lists.
 */
#include "front/call/signature.h"

#include <stddef.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "front/object/bundle.h"
#include "front/object/context_object.h"
#include "front/trace/trace_state.h"

/* -- Lists ----------------------------------------------------------------- */

void tgi_args_deinit(tgi_args *args)
{
    if (args->owns_strings)
        for (size_t i = 0; i < args->list.n; i++) {
            const tgi_arg *arg = &args->list.data[i];
            if (arg->kind == TGI_ARG_STATIC &&
                arg->fixed.kind == TG_OPERAND_STRING)
                tgi_free((char *)(uintptr_t)arg->fixed.as.string);
        }
    if (args->list.data == args->inline_list)
        args->list.data = NULL;
    tgi_vec_deinit(&args->list);
}

tg_status tgi_args_copy_spec(const tgi_args *from, tgi_args *out_args)
{
    *out_args = (tgi_args){.n_operands = from->n_operands,
                           .owns_strings = true};
    if (!tgi_vec_reserve(&out_args->list, from->list.n + 1))
        return tgi_error_memory();
    for (size_t i = 0; i < from->list.n; i++) {
        tgi_arg arg = from->list.data[i];
        arg.tensor = NULL;
        arg.variable = NULL;
        arg.data = NULL;
        arg.ref = 0;
        memset(arg.number, 0, sizeof(arg.number));
        if (arg.kind == TGI_ARG_STATIC &&
            arg.fixed.kind == TG_OPERAND_STRING) {
            arg.fixed.as.string = tgi_strdup(arg.fixed.as.string);
            if (!arg.fixed.as.string) {
                tgi_args_deinit(out_args);
                return tgi_error_memory();
            }
        }
        out_args->list.data[out_args->list.n++] = arg;
    }
    return TG_OK;
}

/* Reserves capacity for n arguments; leaves the inline storage if it is too
   small. */
static bool reserve_args(tgi_args *args, size_t n)
{
    if (n <= args->list.capacity || !args->inline_list ||
        args->list.data != args->inline_list)
        return tgi_vec_reserve(&args->list, n);
    tgi_args heap = {0};
    if (!tgi_vec_reserve(&heap.list, 2 * n))
        return false;
    memcpy(heap.list.data, args->inline_list, args->list.n * sizeof(tgi_arg));
    args->list.data = heap.list.data;
    args->list.capacity = heap.list.capacity;
    return true;
}

/*
 * A blank argument after the last, to be filled in and then counted by
 * end_arg(). NULL when out of memory (recorded).
 */
static tgi_arg *begin_arg(tgi_args *args, uint32_t operand)
{
    static const tgi_arg blank; /* faster to copy than to clear */
    if (!reserve_args(args, args->list.n + 1)) {
        tgi_error_memory();
        return NULL;
    }
    tgi_arg *arg = &args->list.data[args->list.n];
    memcpy(arg, &blank, offsetof(tgi_arg, fixed));
    arg->operand = operand;
    return arg;
}

static tg_status end_arg(tgi_args *args)
{
    args->list.n++;
    return TG_OK;
}

static void set_spec(tgi_arg *arg, tg_dtype dtype, int rank,
                     const int64_t *dims)
{
    arg->dtype = (uint8_t)dtype;
    arg->rank = (int8_t)rank;
    for (int i = 0; i < rank; i++)
        arg->dims[i] = dims[i];
}

/* Appends a variable; finds an alias by variable or by node. */
static tg_status push_variable(tgi_args *args, tgi_arg *arg)
{
    arg->kind = TGI_ARG_VARIABLE;
    arg->alias = (uint32_t)args->list.n;
    for (size_t i = 0; i < args->list.n; i++) {
        const tgi_arg *other = &args->list.data[i];
        if (other->kind == TGI_ARG_VARIABLE &&
            ((arg->variable && other->variable == arg->variable) ||
             (arg->ref && other->ref == arg->ref))) {
            arg->alias = (uint32_t)i;
            break;
        }
    }
    return end_arg(args);
}

/* -- Bundles --------------------------------------------------------------- */

typedef struct bundle_walk {
    tgi_args *args;
    uint32_t operand;
    const tg_bundle_type *type;
    tg_context *ctx;
    tg_trace *t;
    bool is_call; /* else a spec, which has no variables */
    tg_site site;
    tg_status status;
} bundle_walk;

static bool push_member(const tgi_bundle_path *path,
                        tg_variable *const *member, size_t offset, void *user)
{
    const tg_bundle_field *field = path->fields[path->n - 1];
    bundle_walk *walk = user;
    tg_variable *variable = *member;
    if (offset + sizeof(variable) > walk->type->bytes) {
        walk->status = tgi_error_set(
            TG_ERROR_INVALID_ARGUMENT, walk->site,
            "argument %u: field '%s' at offset %zu lies outside the bundle of "
            "%zu bytes",
            walk->operand, field->name, offset, walk->type->bytes);
        return false;
    }
    if (!variable)
        return true; /* the callback sees NULL, too */
    bool is_stand_in =
        walk->t && tgi_trace_is_within(walk->t, variable->trace);
    if (!is_stand_in) {
        walk->status = tgi_variable_check(variable, walk->ctx, field->name,
                                          walk->site);
        if (walk->status)
            return false;
    }
    tgi_arg *arg = begin_arg(walk->args, walk->operand);
    if (!arg) {
        walk->status = TG_ERROR_OUT_OF_MEMORY;
        return false;
    }
    arg->bundle_type = walk->type;
    arg->offset = offset;
    arg->member = field->name;
    set_spec(arg, variable->spec.dtype, variable->spec.rank,
             variable->spec.dims);
    arg->is_untrainable = !variable->is_trainable;
    if (is_stand_in) {
        arg->ref = tgi_trace_variable(walk->t, variable, "apply", walk->site);
        if (!arg->ref) {
            walk->status = walk->t->status;
            return false;
        }
    } else if (walk->is_call)
        arg->variable = variable;
    walk->status = push_variable(walk->args, arg);
    return walk->status == TG_OK;
}

static tg_status push_bundle(tgi_args *args, uint32_t operand_number,
                             const tg_operand *operand, bundle_walk walk)
{
    walk.args = args;
    walk.operand = operand_number;
    walk.type = operand->bundle_type;
    if (!operand->bundle_type || !operand->as.bundle)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, walk.site,
                 "argument %u: the bundle or its type is NULL", operand_number);
    size_t n_before = args->list.n;
    if (!tgi_bundle_walk(operand->bundle_type, operand->as.bundle, push_member,
                         &walk)) {
        if (walk.status)
            return walk.status;
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, walk.site,
                 "argument %u: the bundle type has no fields, or nests deeper "
                 "than %d levels",
                 operand_number, TGI_BUNDLE_DEPTH);
    }
    if (args->list.n > n_before)
        return TG_OK;
    /* A bundle without variables becomes a static value. */
    tgi_arg *arg = begin_arg(args, operand_number);
    if (!arg)
        return TG_ERROR_OUT_OF_MEMORY;
    arg->bundle_type = walk.type;
    arg->kind = TGI_ARG_STATIC;
    arg->fixed = (tg_operand){.kind = TG_OPERAND_BUNDLE};
    return end_arg(args);
}

/* -- Operands of a call ---------------------------------------------------- */

/* An extent of the outer trace in this list: known, or one of its symbols. */
static int64_t list_dim(tgi_dim dim, tgi_dim *symbols, size_t *n_symbols)
{
    if (tgi_dim_is_known(dim))
        return dim;
    size_t k = 0;
    while (k < *n_symbols && symbols[k] != dim)
        k++;
    if (k == *n_symbols)
        symbols[(*n_symbols)++] = dim;
    return ~(int64_t)k;
}

/* The variable of a VARIABLE node of a trace; NULL if it is unknown. A variable
   of a region is one of the trace around it. */
static tg_variable *variable_of_node(const tg_trace *t, tgi_ref node)
{
    for (; t->outer; t = t->outer) {
        const tgi_attr_index *attr = tgi_graph_node(t->graph, node)->attr;
        node = t->region_inputs.data[attr->index];
    }
    for (size_t i = 0; i < t->arg_variables.n; i++)
        if (t->arg_variables.data[i].node == node)
            return t->arg_variables.data[i].variable;
    for (size_t i = 0; i < t->captures.n; i++)
        if (t->captures.data[i].node == node)
            return t->captures.data[i].variable;
    return NULL;
}

typedef struct flattening {
    tg_context *ctx;
    tg_trace *t;
    tg_site site;
    tgi_args *args;
    TGI_VEC(tgi_dim) symbols;
} flattening;

static tg_status push_node(flattening *f, tgi_arg *arg, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(f->t->graph, ref);
    const tgi_shape *shape = tgi_graph_shape(f->t->graph, ref);
    if (!tgi_vec_reserve(&f->symbols, f->symbols.n + TG_MAX_RANK))
        return tgi_error_memory();
    arg->kind = node->flags & TGI_NODE_WEAK ? TGI_ARG_NUMBER : TGI_ARG_TENSOR;
    arg->dtype = node->dtype;
    arg->rank = (int8_t)shape->rank;
    arg->ref = ref;
    for (int i = 0; i < shape->rank; i++)
        arg->dims[i] = list_dim(shape->dims[i], f->symbols.data, &f->symbols.n);
    if (node->op != TGI_OP_VARIABLE)
        return end_arg(f->args);
    arg->variable = variable_of_node(f->t, ref);
    return push_variable(f->args, arg);
}

static tg_status push_value(flattening *f, tgi_arg *arg, tg_value value)
{
    if (!f->t)
        TGI_FAIL(TG_ERROR_TRACE, f->site,
                 "argument %u is a value of a trace; calls take tensors, "
                 "variables and numbers; in a callback use tg_apply",
                 arg->operand);
    tgi_ref ref = tgi_trace_ref(f->t, value, "apply", f->site);
    return ref ? push_node(f, arg, ref) : f->t->status;
}

static tg_status push_static(flattening *f, uint32_t number,
                             const tg_operand *operand)
{
    tgi_arg *arg = begin_arg(f->args, number);
    if (!arg)
        return TG_ERROR_OUT_OF_MEMORY;
    arg->kind = TGI_ARG_STATIC;
    arg->fixed = *operand;
    arg->dtype = operand->dtype;
    switch (operand->kind) {
    case TG_OPERAND_STRING:
        if (!operand->as.string)
            TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, f->site,
                     "argument %u: the static string is NULL", number);
        return end_arg(f->args);
    case TG_OPERAND_INT:
    case TG_OPERAND_UINT:
    case TG_OPERAND_FLOAT:
        return end_arg(f->args);
    default:
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, f->site,
                 "argument %u: only numbers and strings can be static",
                 number);
    }
}

static tg_status push_tensor(flattening *f, tgi_arg *arg, tg_tensor *tensor)
{
    if (!tensor)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, f->site,
                 "argument %u: the tensor is NULL", arg->operand);
    if (tensor->ctx != f->ctx)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, f->site,
                 "argument %u: the tensor belongs to another context",
                 arg->operand);
    if (f->t) { /* inside a trace a tensor is a constant */
        tgi_ref ref = tgi_trace_operand(f->t, tg_in_tensor(tensor), "apply",
                                        f->site);
        return ref ? push_node(f, arg, ref) : f->t->status;
    }
    arg->kind = TGI_ARG_TENSOR;
    arg->tensor = tensor;
    arg->data = tensor->data;
    set_spec(arg, tensor->spec.dtype, tensor->spec.rank, tensor->spec.dims);
    return end_arg(f->args);
}

/* A variable operand: the variable itself, or its value. */
static tg_status push_variable_operand(flattening *f, tgi_arg *arg,
                                       tg_variable *variable, bool is_value)
{
    if (f->t) {
        tgi_ref ref =
            tgi_trace_variable(f->t, variable, "apply", f->site);
        if (ref && is_value && !(ref = tgi_trace_read(f->t, ref, f->site)))
            tgi_trace_record_error(f->t);
        return ref ? push_node(f, arg, ref) : f->t->status;
    }
    TGI_TRY(tgi_variable_check(variable, f->ctx, "argument", f->site));
    arg->variable = variable;
    set_spec(arg, variable->spec.dtype, variable->spec.rank,
             variable->spec.dims);
    if (!is_value)
        return push_variable(f->args, arg);
    arg->kind = TGI_ARG_TENSOR;
    arg->data = variable->data;
    return end_arg(f->args);
}

static tg_status push_number(flattening *f, tgi_arg *arg,
                             const tg_operand *operand)
{
    if (f->t) {
        tgi_ref ref = tgi_trace_operand(f->t, *operand, "apply", f->site);
        return ref ? push_node(f, arg, ref) : f->t->status;
    }
    arg->kind = TGI_ARG_NUMBER;
    arg->dtype = operand->dtype;
    if (!tgi_dtype_is_valid(operand->dtype) ||
        !tgi_dtype_store(operand->dtype, tgi_operand_number(operand),
                         arg->number))
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, f->site,
                 "argument %u is not a number", arg->operand);
    return end_arg(f->args);
}

static tg_status push_operand(flattening *f, uint32_t number,
                              const tg_operand *operand)
{
    if (operand->is_static)
        return push_static(f, number, operand);
    if (operand->kind == TG_OPERAND_BUNDLE)
        return push_bundle(
            f->args, number, operand,
            (bundle_walk){
                .ctx = f->ctx, .t = f->t, .is_call = true, .site = f->site});
    tgi_arg *arg = begin_arg(f->args, number);
    if (!arg)
        return TG_ERROR_OUT_OF_MEMORY;
    switch (operand->kind) {
    case TG_OPERAND_VALUE:
        return push_value(f, arg, operand->as.value);
    case TG_OPERAND_VARIABLE:
        return push_variable_operand(f, arg, operand->as.variable, false);
    case TG_OPERAND_VARIABLE_VALUE:
        return push_variable_operand(f, arg, operand->as.variable, true);
    case TG_OPERAND_TENSOR:
        return push_tensor(f, arg, operand->as.tensor);
    case TG_OPERAND_INT:
    case TG_OPERAND_UINT:
    case TG_OPERAND_FLOAT:
        return push_number(f, arg, operand);
    default:
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, f->site,
                 "argument %u: a string must be static", number);
    }
}

/* In a trace, captures bundle members that are not stand-ins. */
static tg_status capture_members(flattening *f)
{
    for (size_t i = 0; f->t && i < f->args->list.n; i++) {
        tgi_arg *arg = &f->args->list.data[i];
        if (arg->kind == TGI_ARG_VARIABLE && !arg->ref)
            arg->ref =
                tgi_trace_variable(f->t, arg->variable, "apply", f->site);
        if (arg->kind == TGI_ARG_VARIABLE && !arg->ref)
            return f->t->status;
        if (arg->kind == TGI_ARG_VARIABLE && !arg->variable)
            arg->variable = variable_of_node(f->t, arg->ref);
    }
    return TG_OK;
}

tg_status tgi_args_from_operands(tg_context *ctx, const tg_operand *operands,
                                 size_t n_operands, tg_trace *t, tg_site site,
                                 tgi_inline_args *storage, tgi_args *out_args)
{
    *out_args = (tgi_args){.n_operands = n_operands};
    if (storage) {
        out_args->list.data = out_args->inline_list = storage->list;
        out_args->list.capacity =
            sizeof(storage->list) / sizeof(storage->list[0]);
    }
    flattening f = {.ctx = ctx, .t = t, .site = site, .args = out_args};
    tg_status status = TG_OK;
    if (n_operands && !operands)
        status = tgi_error_set(TG_ERROR_INVALID_ARGUMENT, site,
                               "the arguments are NULL");
    else if (!reserve_args(out_args, n_operands))
        status = tgi_error_memory();
    for (size_t i = 0; i < n_operands && !status; i++)
        status = push_operand(&f, (uint32_t)i, &operands[i]);
    if (!status)
        status = capture_members(&f);
    tgi_vec_deinit(&f.symbols);
    if (status)
        tgi_args_deinit(out_args);
    return status;
}

/* -- Specs ----------------------------------------------------------------- */

tg_spec tg_spec_tensor(tg_dtype dtype, int rank, const int64_t *dims)
{
    tg_spec spec = {.kind = TG_SPEC_TENSOR, .dtype = dtype, .rank = rank};
    for (int i = 0; i < rank && i < TG_MAX_RANK; i++)
        spec.dims[i] = dims ? dims[i] : INT64_MIN; /* rejected when used */
    return spec;
}

tg_spec tg_spec_variable(tg_dtype dtype, int rank, const int64_t *dims)
{
    tg_spec spec = tg_spec_tensor(dtype, rank, dims);
    spec.kind = TG_SPEC_VARIABLE;
    return spec;
}

tg_spec tg_spec_bundle(const tg_bundle_type *type, const void *bundle)
{
    tg_spec spec = {.kind = TG_SPEC_BUNDLE};
    spec.operand = tg_bundle_of(type, bundle);
    return spec;
}

tg_spec tg_spec_static(tg_operand value)
{
    tg_spec spec = {.kind = TG_SPEC_STATIC};
    spec.operand = tg_make_static(value);
    return spec;
}

/* A tensor or variable spec. Symbols are numbered across the list; `named` maps
   those of TG_SAME to them. */
static tg_status push_spec(tgi_args *args, uint32_t number,
                           const tg_spec *spec, int64_t *n_symbols,
                           int64_t named[], size_t n_named, tg_site site)
{
    tgi_arg *arg = begin_arg(args, number);
    if (!arg)
        return TG_ERROR_OUT_OF_MEMORY;
    int64_t known[TG_MAX_RANK] = {0};
    tgi_spec checked;
    if (spec->rank >= 0 && spec->rank <= TG_MAX_RANK)
        for (int i = 0; i < spec->rank; i++) {
            int64_t dim = spec->dims[i];
            bool is_unknown =
                spec->kind == TG_SPEC_TENSOR && dim < 0 &&
                dim >= TG_SAME((int64_t)n_named);
            known[i] = is_unknown ? 0 : dim;
            if (!is_unknown)
                arg->dims[i] = dim;
            else if (dim == TG_UNKNOWN)
                arg->dims[i] = ~(*n_symbols)++;
            else if (named[-dim - 2])
                arg->dims[i] = named[-dim - 2];
            else
                arg->dims[i] = named[-dim - 2] = ~(*n_symbols)++;
        }
    if (tgi_spec_init(&checked, "signature", spec->dtype, spec->rank, known))
        return tg_error_last()->status;
    arg->kind = TGI_ARG_TENSOR;
    arg->dtype = (uint8_t)spec->dtype;
    arg->rank = (int8_t)spec->rank;
    if (spec->kind == TG_SPEC_VARIABLE)
        return push_variable(args, arg);
    (void)site;
    return end_arg(args);
}

tg_status tgi_args_from_specs(tg_context *ctx, const tg_spec *specs,
                              size_t n_specs, tg_site site, tgi_args *out_args)
{
    enum { NAMED = 64 };
    int64_t named[NAMED] = {0}, n_symbols = 0;
    *out_args = (tgi_args){.n_operands = n_specs};
    flattening f = {.ctx = ctx, .site = site, .args = out_args};
    tg_status status = TG_OK;
    if (n_specs && !specs)
        status = tgi_error_set(TG_ERROR_INVALID_ARGUMENT, site,
                               "the specs are NULL");
    for (size_t i = 0; i < n_specs && !status; i++) {
        uint32_t number = (uint32_t)i;
        switch (specs[i].kind) {
        case TG_SPEC_TENSOR:
        case TG_SPEC_VARIABLE:
            status = push_spec(out_args, number, &specs[i], &n_symbols, named,
                               NAMED, site);
            break;
        case TG_SPEC_BUNDLE:
            status = push_bundle(out_args, number, &specs[i].operand,
                                 (bundle_walk){.ctx = ctx, .site = site});
            break;
        case TG_SPEC_STATIC:
            status = push_static(&f, number, &specs[i].operand);
            break;
        default:
            status = tgi_error_set(TG_ERROR_INVALID_ARGUMENT, site,
                                   "argument %u: unknown spec kind %d", number,
                                   (int)specs[i].kind);
        }
    }
    if (status)
        tgi_args_deinit(out_args);
    return status;
}

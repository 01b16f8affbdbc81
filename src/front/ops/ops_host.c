/* SPDX-License-Identifier: MIT */
/*
 * ops_host.c - records host calls. The caller declares the output types, which
 * are validated here.
 */
#include <stdarg.h>

#include "base/versioned.h"
#include "front/trace/trace_state.h"
#include "tgjit/extend.h"

/* Converts the declaration of output i; false and an error if it is invalid. */
static bool convert_spec(tgi_operation *o, const tg_host_spec *specs, size_t i,
                         tgi_host_output *out_output)
{
    const tg_host_spec *spec = &specs[i];
    if (!tgi_dtype_is_valid(spec->dtype)) {
        tgi_build_fail(&o->b, TG_ERROR_DTYPE, NULL, 0,
                       "output %zu: %d is not an element type", i,
                       (int)spec->dtype);
        return false;
    }
    *out_output = (tgi_host_output){
        (uint32_t)spec->dtype, tgi_build_shape(&o->b, spec->rank, spec->dims)};
    return out_output->shape != 0;
}

/* Adds the HOST node; 0 on failure (recorded). */
static tgi_ref add_host_node(tgi_operation *o, tgi_attr_host *attr,
                             const tg_operand *inputs, size_t n_inputs,
                             const tg_host_spec *specs, size_t n_results,
                             tgi_ref *refs)
{
    for (size_t i = 0; i < n_inputs; i++)
        if (!(refs[i] = tgi_operation_operand(o, inputs[i])))
            return 0;
    for (size_t i = 0; i < n_results; i++)
        if (!convert_spec(o, specs, i, &attr->outputs[i]))
            return 0;
    return tgi_build_node(&o->b, TGI_OP_HOST, TG_DTYPE_NONE,
                          tgi_shape_intern(o->t->graph->dims, 0, NULL), refs,
                          n_inputs, attr, tgi_attr_host_bytes(n_results));
}

static void record_host_call(tgi_operation *o, const tgi_attr_host *head,
                             const tg_operand *inputs, size_t n_inputs,
                             const tg_host_spec *specs, tg_value *out_results)
{
    const size_t n_results = (size_t)head->n_outputs;
    tgi_attr_host *attr = tgi_alloc_zero(tgi_attr_host_bytes(n_results));
    tgi_ref *refs = tgi_alloc((n_inputs + 1) * sizeof(*refs)), node = 0;
    if (attr && refs) {
        *attr = *head;
        node = add_host_node(o, attr, inputs, n_inputs, specs, n_results, refs);
    } else {
        tgi_error_memory();
    }
    tgi_operation_end(o, node);
    for (size_t i = 0; node && i < n_results; i++) {
        const tgi_attr_index index = {(int64_t)i};
        out_results[i] = tgi_operation_end(
            o, tgi_build_node(&o->b, TGI_OP_RESULT,
                              (int)attr->outputs[i].dtype,
                              attr->outputs[i].shape, &node, 1, &index,
                              sizeof(index)));
    }
    tgi_free(attr);
    tgi_free(refs);
}

/* Checks the arguments, and records the call; `head` lacks its outputs. */
static void host_call(tgi_operation *o, const tgi_attr_host *head,
                      const tg_operand *inputs, size_t n_inputs,
                      const tg_host_spec *specs, tg_value *out_results)
{
    const size_t n_results = (size_t)head->n_outputs;
    const char *name = o->b.op_name;
    if (!head->function)
        tgi_trace_fail(o->t, TG_ERROR_INVALID_ARGUMENT, o->b.site,
                       "%s: the function is NULL", name);
    else if (n_inputs && !inputs)
        tgi_trace_fail(o->t, TG_ERROR_INVALID_ARGUMENT, o->b.site,
                       "%s: the inputs are NULL", name);
    else if (n_results && (!specs || !out_results))
        tgi_trace_fail(o->t, TG_ERROR_INVALID_ARGUMENT, o->b.site,
                       "%s: the %s of the outputs are NULL", name,
                       specs ? "values" : "specs");
    else
        record_host_call(o, head, inputs, n_inputs, specs, out_results);
}

/* The same in a trace that the user names. */
static void call_in_trace(const char *name, tg_trace *t,
                          const tgi_attr_host *head, const tg_operand *inputs,
                          size_t n_inputs, const tg_host_spec *specs,
                          tg_value *out_results, tg_site site)
{
    tgi_operation o;
    for (int64_t i = 0; out_results && i < head->n_outputs; i++)
        out_results[i] = (tg_value){0, 0};
    if (!tgi_operation_begin(&o, name, site))
        return;
    if (o.t != t)
        tgi_trace_fail(o.t, TG_ERROR_TRACE, site,
                       "%s: the argument is not the trace of this callback",
                       name);
    else
        host_call(&o, head, inputs, n_inputs, specs, out_results);
}

void tg_host_call_with_gradient_at(
    tg_trace *t, tg_host_function *function, tg_callback *backward, void *user,
    const tg_operand *inputs, size_t n_inputs, const tg_host_spec *specs,
    tg_value *out_results, size_t n_results, tg_site site)
{
    call_in_trace("host_call", t,
                  &(tgi_attr_host){.function = function,
                                   .user = user,
                                   .gradient = {backward, user},
                                   .n_outputs = (int64_t)n_results},
                  inputs, n_inputs, specs, out_results, site);
}

void tg_host_start_at(tg_trace *t, tg_host_function *function, void *user,
                      const tg_operand *inputs, size_t n_inputs, tg_site site)
{
    call_in_trace("host_start", t,
                  &(tgi_attr_host){
                      .function = function, .user = user, .is_start = 1},
                  inputs, n_inputs, NULL, NULL, site);
}

void tg_host_op_at(const tg_host_op *user_op, const tg_operand *inputs,
                   size_t n_inputs, const tg_host_spec *specs,
                   tg_value *out_results, size_t n_results, tg_site site)
{
    tgi_operation o;
    tg_host_op op;
    for (size_t i = 0; out_results && i < n_results; i++)
        out_results[i] = (tg_value){0, 0};
    const bool is_valid =
        !tgi_versioned_read(&op, sizeof(op), user_op, "tg_host_op");
    const char *name = is_valid && op.name ? op.name : "host_op";
    if (!tgi_operation_begin(&o, name, site))
        return;
    if (!is_valid)
        tgi_trace_record_error(o.t);
    else
        host_call(&o,
                  &(tgi_attr_host){.function = op.function,
                                   .user = op.user,
                                   .gradient = {op.backward, op.user},
                                   .name = name,
                                   .maps_leading_axes = op.maps_leading_axes,
                                   .n_outputs = (int64_t)n_results},
                  inputs, n_inputs, specs, out_results);
}

void tg_host_call_at(tg_trace *t, tg_host_function *function, void *user,
                     const tg_operand *inputs, size_t n_inputs,
                     const tg_host_spec *specs, tg_value *out_results,
                     size_t n_results, tg_site site)
{
    tg_host_call_with_gradient_at(t, function, NULL, user, inputs, n_inputs,
                                  specs, out_results, n_results, site);
}

tg_value tg_op_operand(const char *op, tg_operand operand, tg_site site)
{
    tgi_operation o;
    tgi_ref ref = 0;
    if (tgi_operation_begin(&o, op, site))
        ref = tgi_operation_operand(&o, operand);
    return tgi_operation_end(&o, ref);
}

tg_value tg_op_fail(tg_status status, tg_site site, const char *format, ...)
{
    tg_trace *t = tgi_trace_current();
    va_list args;
    va_start(args, format);
    if (!t || t->status == TG_OK) {
        tgi_error_setv(status, t && !site.file ? t->site : site, format, args);
        if (t)
            tgi_trace_record_error(t);
    }
    va_end(args);
    return (tg_value){0, 0};
}

tg_status tg_host_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tgi_error_setv(TG_ERROR_CALLBACK, TGI_NO_SITE,
                   format ? format : "no message", args);
    va_end(args);
    return TG_ERROR_CALLBACK;
}

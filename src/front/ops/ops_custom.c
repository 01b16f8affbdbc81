/* SPDX-License-Identifier: MIT */
/*
 * ops_custom.c - custom gradients, and checkpoints, which trade memory for
 * recomputation.
 */
#include <string.h>

#include "base/error.h"
#include "front/call/function_object.h"
#include "front/ops/ops_control.h"
#include "tgjit/gradient.h"

/* -- Custom gradients ------------------------------------------------------ */

/* Converts operands to values, so that all of them are arguments of the
   callee. */
static bool convert_arguments(tgi_operation *o, const tg_operand *args,
                              size_t n, tg_operand *values)
{
    for (size_t i = 0; i < n; i++) {
        tgi_ref ref = tgi_operation_operand(o, args[i]);
        /* A number gets its C type. */
        if (ref)
            ref = tgi_build_cast(
                &o->b, ref, (tg_dtype)tgi_graph_node(o->b.graph, ref)->dtype);
        const tg_value value = tgi_operation_end(o, ref);
        if (!tg_is_valid(value))
            return false;
        values[i] = tg_in_value(value);
    }
    return true;
}

void tg_custom_gradient_at(tg_callback *forward, tg_callback *backward,
                           void *user, const tg_operand *args, size_t n_args,
                           tg_value *out_results, size_t n_results,
                           tg_site site)
{
    tgi_operation o;
    tgi_control_invalidate_results(out_results, n_results);
    if (!tgi_operation_begin(&o, "custom_gradient", site))
        return;
    if (!forward || !backward || (n_args && !args) ||
        (n_results && !out_results)) {
        tgi_trace_fail(o.t, TG_ERROR_INVALID_ARGUMENT, site,
                       "custom_gradient: a callback, the arguments or the "
                       "results are NULL");
        return;
    }
    tg_operand *values = tgi_alloc((n_args + 1) * sizeof(*values));
    if (!values)
        tgi_error_memory();
    if (!values || !convert_arguments(&o, args, n_args, values)) {
        tgi_trace_record_error(o.t);
        tgi_free(values);
        return;
    }
    /* A function for this call only; its trace owns what it needs. */
    tg_function *function =
        tg_function_create_named(o.t->ctx, "custom", forward, user, NULL);
    if (function)
        tgi_apply(function, (tgi_custom_gradient){backward, user}, values,
                  n_args, out_results, n_results, site);
    else
        tgi_trace_record_error(o.t);
    tg_function_release(function);
    tgi_free(values);
}

/* -- Checkpoints ----------------------------------------------------------- */

/* Recomputation must not repeat effects. */
static bool check_no_effects(tgi_control *c, const tgi_graph *body)
{
    return !body->has_effects ||
           tgi_control_fail(c, TG_ERROR_STATE,
                            "the body has effects, which recomputation would "
                            "repeat");
}

void tg_checkpoint_at(tg_callback *body, void *user, const tg_operand *args,
                      size_t n_args, tg_value *out_results, size_t n_results,
                      tg_site site)
{
    tgi_control c;
    tgi_control_invalidate_results(out_results, n_results);
    if (!tgi_control_begin(&c, "checkpoint", site))
        return;
    c.has_arguments = true;
    const tgi_number first = {TGI_NUMBER_INT, {.i = 0}};
    if (tgi_control_check_pointers(&c, &body, 1, args, n_args, out_results,
                                   n_results) &&
        tgi_control_add_input(
            &c, tgi_build_number(&c.o.b, TG_I64, TG_I64, first)) &&
        tgi_control_add_operands(&c, args, n_args)) {
        tg_trace *t = tgi_control_open(&c, "body", body, user, 1);
        if (t && tgi_control_close(&c, t) &&
            check_no_effects(&c, c.graphs.data[0])) {
            const size_t n = c.graphs.data[0]->results.n;
            if (n_results > n)
                tgi_control_fail(&c, TG_ERROR_INVALID_ARGUMENT,
                                 "the body returns %zu value%s, but %zu %s "
                                 "requested",
                                 n, TGI_PLURAL(n), n_results,
                                 TGI_WERE(n_results));
            else
                tgi_control_finish(&c, TGI_OP_SWITCH, 0,
                                   TGI_SWITCH_CHECKPOINT, out_results,
                                   n_results);
        }
    }
    tgi_control_end(&c);
}

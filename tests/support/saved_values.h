/* SPDX-License-Identifier: MIT */
/*
 * saved_values.h - for tests of unbounded stacks: a loop that saves the results
 * of its body beyond the loop values (lower_saved_values.h), and loops and
 * branches that take slices of the stacks, as gradients do. Built from the
 * functions that implement tg_while.
 */
#ifndef TGI_TEST_SAVED_VALUES_H
#define TGI_TEST_SAVED_VALUES_H

#include <string.h>

#include "front/ops/ops_control.h"
#include "support/support.h"
#include "tgjit.h"

enum { MAX_SAVED = 8 };

/* The graphs of a loop. Results of the body beyond the loop values are saved
   per iteration (lower_saved_values.h). */
static inline bool saving_trace(tgi_control *c, tg_callback *test,
                                tg_callback *body, void *user,
                                size_t n_values, size_t n_saved)
{
    tg_trace *t = tgi_control_open(c, "body", body, user, 0);
    if (!t)
        return false;
    bool ok =
        tgi_control_check_body(c, t->graph, &t->results, n_values, n_saved);
    ok &= tgi_control_close(c, t);
    if (!ok || !test)
        return ok;
    t = tgi_control_open(c, "test", test, user, 1);
    return t && tgi_control_close(c, t);
}

/*
 * A loop of n_iterations, or, if `test` is not NULL, while the test
 * (which receives the loop values) is true. The body receives the iteration and
 * the loop values; it returns the next loop values and the values to save. With
 * a limit, n_iterations is the limit.
 */
static inline void loop_saving(tg_operand n_iterations, bool is_limited,
                               tg_callback *test, tg_callback *body, void *user,
                               const tg_operand *initial, size_t n_values,
                               size_t n_saved, tg_value *out_values,
                               tg_value *out_stacks)
{
    tgi_control c;
    tg_value results[2 * MAX_SAVED] = {{0, 0}};
    memset(out_values, 0, n_values * sizeof(*out_values));
    memset(out_stacks, 0, n_saved * sizeof(*out_stacks));
    if (!tgi_control_begin(&c, "saving", TG_HERE))
        return;
    if (tgi_control_add_input(&c, tgi_operation_operand(&c.o, n_iterations)) &&
        tgi_control_add_operands(&c, initial, n_values) &&
        saving_trace(&c, test, body, user, n_values, n_saved)) {
        tgi_control_finish(&c, TGI_OP_LOOP, n_values,
                           is_limited ? TGI_LOOP_LIMITED : 0, results,
                           n_values + n_saved);
        memcpy(out_values, results, n_values * sizeof(*results));
        memcpy(out_stacks, results + n_values, n_saved * sizeof(*results));
    }
    tgi_control_end(&c);
}

/* Slice `at` of a stack, in the callback `t` of a loop or branch. */
static inline tg_value take_saved(tg_trace *t, tg_value stack, tg_value at)
{
    if (!tg_is_valid(stack) || !tg_is_valid(at))
        return (tg_value){0, 0};
    tgi_builder b = {.graph = t->graph, .op_name = "take_saved"};
    const tgi_ref in[] = {tgi_trace_capture_value(t, stack),
                          tgi_trace_capture_value(t, at)};
    tgi_ref slice = 0;
    if (in[0] && in[1]) {
        const tgi_node *node = tgi_graph_node(t->graph, in[0]);
        const tgi_shape *shape = tgi_graph_shape(t->graph, in[0]);
        tgi_dim dims[TG_MAX_RANK];
        memcpy(dims, shape->dims, (size_t)shape->rank * sizeof(*dims));
        dims[0] = 1;
        const tgi_attr_index attr = {0};
        slice = tgi_build_node(
            &b, TGI_OP_DYNAMIC_SLICE, node->dtype,
            tgi_shape_intern(t->graph->dims, shape->rank, dims), in, 2, &attr,
            sizeof(attr));
        slice = slice ? tgi_build_reshape(&b, slice, shape->rank - 1,
                                          dims + 1)
                      : 0;
    }
    if (!slice)
        tgi_trace_record_error(t);
    return slice ? tgi_trace_value(t, slice) : (tg_value){0, 0};
}

#endif /* TGI_TEST_SAVED_VALUES_H */

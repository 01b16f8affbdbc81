/* SPDX-License-Identifier: MIT */
/*
 * saving.h - for tests of values that grow: a loop that saves what its body
 * returns behind the loop values, in stacks; and how other loops and branches
 * take slices of them. Made of the parts that tg_while and tg_scan are made
 * of.
 */
#ifndef TGI_TEST_SAVING_H
#define TGI_TEST_SAVING_H

#include <string.h>

#include "ops_control.h"
#include "support.h"
#include "tgjit.h"

enum { MOST_SAVED = 8 };

/* `x` with one more axis in front, or without its first. */
static inline tgi_ref saving_reshaped(tgi_builder *b, tgi_ref x, bool adds)
{
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    tgi_dim dims[TG_MAX_RANK + 1] = {1};
    for (int i = 0; i < shape->rank; i++)
        if (adds || i > 0)
            dims[adds ? i + 1 : i - 1] = shape->dims[i];
    return tgi_build_reshape(b, x, shape->rank + (adds ? 1 : -1), dims);
}

/* Saves result i of the body in a stack of its own. */
static inline bool saving_add(tgi_control *c, tg_trace *t, size_t i,
                              tgi_ref counter)
{
    const tgi_ref y = t->results.data[i];
    const tgi_node *node = tgi_graph_node(t->graph, y);
    const tgi_shape *shape = tgi_graph_shape(t->graph, y);
    tgi_dim dims[TG_MAX_RANK] = {TGI_GROWS};
    for (int axis = 0; axis < shape->rank; axis++)
        dims[axis + 1] = shape->dims[axis];
    tgi_ref stack = tgi_control_add_param(
        c, t,
        tgi_build_unset(&c->o.b, (tg_dtype)node->dtype, shape->rank + 1,
                        dims));
    if (!stack)
        return false;
    tgi_builder b = c->o.b;
    b.graph = t->graph;
    tgi_ref update = saving_reshaped(&b, y, true);
    const tgi_ref in[] = {stack, update, counter};
    const tgi_attr_index attr = {0};
    const tgi_node *whole = tgi_graph_node(t->graph, stack);
    t->results.data[i] =
        update ? tgi_build_node(&b, TGI_OP_DYNAMIC_UPDATE, whole->dtype,
                                whole->shape, in, 3, &attr, sizeof(attr))
               : 0;
    if (!t->results.data[i])
        tgi_trace_stick(t);
    return t->results.data[i] != 0;
}

typedef struct saving_body {
    tg_callback *body;
    void *user;
    tgi_ref counter;
} saving_body;

static inline void saving_run(tg_trace *t, const tg_value *in, void *user)
{
    saving_body *s = user;
    s->counter = in[0].node;
    s->body(t, in, s->user);
}

static inline bool saving_trace(tgi_control *c, tg_callback *test,
                                tg_callback *body, void *user,
                                size_t n_values, size_t n_saved)
{
    saving_body s = {body, user, 0};
    tg_trace *t = tgi_control_open(c, "body", saving_run, &s, 0);
    if (!t)
        return false;
    bool ok = tgi_control_fit_body(c, t, n_values, n_saved);
    for (size_t i = 0; ok && i < n_saved; i++)
        ok = saving_add(c, t, n_values + i, s.counter);
    ok &= tgi_control_close(c, t);
    if (!ok || !test)
        return ok;
    t = tgi_control_open(c, "test", test, user, 1);
    return t && tgi_control_close(c, t);
}

/*
 * A loop of so many trips, or (test not NULL, which sees the loop values) as
 * long as the test says. The body sees the number of the trip and the loop
 * values, and returns these and what is to be saved. With a limit, `trips` is
 * one.
 */
static inline void loop_saving(tg_operand trips, bool is_limited,
                               tg_callback *test, tg_callback *body,
                               void *user, const tg_operand *initial,
                               size_t n_values, size_t n_saved,
                               tg_value *out_values, tg_value *out_stacks)
{
    tgi_control c;
    tg_value results[2 * MOST_SAVED] = {{0, 0}};
    memset(out_values, 0, n_values * sizeof(*out_values));
    memset(out_stacks, 0, n_saved * sizeof(*out_stacks));
    if (!tgi_control_begin(&c, "saving", TG_HERE))
        return;
    if (tgi_control_add_input(&c, tgi_operation_in(&c.o, trips)) &&
        tgi_control_add_operands(&c, initial, n_values) &&
        saving_trace(&c, test, body, user, n_values, n_saved)) {
        tgi_control_finish(&c, TGI_OP_LOOP, n_values + n_saved,
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
    const tgi_ref in[] = {tgi_trace_reach(t, stack), tgi_trace_reach(t, at)};
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
        slice = slice ? saving_reshaped(&b, slice, false) : 0;
    }
    if (!slice)
        tgi_trace_stick(t);
    return slice ? tgi_trace_value(t, slice) : (tg_value){0, 0};
}

#endif /* TGI_TEST_SAVING_H */

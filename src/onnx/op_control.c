/* SPDX-License-Identifier: MIT */
/*
 * op_control.c - If, Loop and Scan: graphs as the callbacks of branches and
 * loops. Their nodes run in the frame of the graph around them, whose values
 * they may use.
 */
#include <string.h>

#include "onnx_known.h"

/* -- Graphs as callbacks --------------------------------------------------- */

/* The arguments of a callback. */
typedef struct region {
    const tgi_onnx_call *c;
    const tgi_onnx_graph *graph;
    size_t n_values; /* loop values */
    const tgi_onnx_graph *otherwise;
} region;

/* Runs a graph with its inputs set in another trace. Writes the outputs. */
static void run_region(const region *r, const tgi_onnx_graph *graph,
                       tg_trace *t, const tg_value *in, size_t n_in,
                       tg_operand *out)
{
    tgi_onnx_frame *frame = r->c->frame;
    tg_trace *outer = frame->t;
    frame->t = t;
    for (size_t i = 0; i < n_in; i++)
        tgi_onnx_frame_set(frame, graph->inputs[i], in[i]);
    tgi_onnx_run_graph(frame, graph);
    for (size_t i = 0; i < graph->n_outputs; i++) {
        const tg_value none = {0, 0};
        out[i] = TG_IN(tg_trace_status(t)
                           ? none
                           : tgi_onnx_frame_value(frame, graph->outputs[i],
                                                  r->c->site));
    }
    frame->t = outer;
}

/* Room for operands; NULL, with the trace failed, without memory. */
static tg_operand *operands(const tgi_onnx_call *c, size_t n)
{
    tg_operand *all =
        tgi_onnx_alloc(&c->frame->shared->arena, n + 1, sizeof(*all));
    if (!all)
        tgi_onnx_fail(c, TG_ERROR_OUT_OF_MEMORY, "out of memory");
    return all;
}

static tg_value *values(const tgi_onnx_call *c, size_t n)
{
    tg_value *all =
        tgi_onnx_alloc(&c->frame->shared->arena, n + 1, sizeof(*all));
    if (!all)
        tgi_onnx_fail(c, TG_ERROR_OUT_OF_MEMORY, "out of memory");
    return all;
}

/* A scalar, also from one element. */
static tg_value scalar(const tgi_onnx_call *c, tg_value x)
{
    return tg_value_rank(x) > 0 ? tg_reshape_at(TG_IN(x), 0, NULL, c->site) : x;
}

/* -- If -------------------------------------------------------------------- */

static void run_branch(tg_trace *t, const region *r,
                       const tgi_onnx_graph *graph)
{
    tg_operand *out = operands(r->c, graph->n_outputs);
    if (!out)
        return;
    run_region(r, graph, t, NULL, 0, out);
    tg_return_at(t, out, graph->n_outputs, r->c->site);
}

static void run_then(tg_trace *t, const tg_value *in, void *user)
{
    const region *r = user;
    (void)in;
    run_branch(t, r, r->graph);
}

static void run_else(tg_trace *t, const tg_value *in, void *user)
{
    const region *r = user;
    (void)in;
    run_branch(t, r, r->otherwise);
}

/* A branch that is known to be taken becomes part of the graph around it. */
static void take_branch(const tgi_onnx_call *c, const tgi_onnx_graph *graph)
{
    tgi_onnx_frame *frame = c->frame;
    tgi_onnx_run_graph(frame, graph);
    for (size_t i = 0; i < c->node->n_outputs; i++)
        if (tgi_onnx_has_out(c, i))
            frame->values[c->node->outputs[i]] =
                frame->values[graph->outputs[i]];
}

void tgi_onnx_build_if(const tgi_onnx_call *c)
{
    const region r = {.c = c,
                      .graph = tgi_onnx_graph_of(c, "then_branch"),
                      .otherwise = tgi_onnx_graph_of(c, "else_branch")};
    const size_t n = c->node->n_outputs;
    if (!r.graph || !r.otherwise)
        return;
    if (r.graph->n_outputs != n || r.otherwise->n_outputs != n ||
        r.graph->n_inputs || r.otherwise->n_inputs) {
        tgi_onnx_fail(c, TG_ERROR_FILE,
                      "the branches do not have %zu outputs and no inputs", n);
        return;
    }
    const tgi_onnx_array *condition = tgi_onnx_try_known(c, 0);
    if (condition && condition->count == 1) {
        take_branch(c, tgi_onnx_array_int(condition, 0) ? r.graph
                                                        : r.otherwise);
        return;
    }
    tg_value *out = values(c, n);
    if (!out)
        return;
    tg_cond_at(TG_IN(scalar(c, tgi_onnx_in(c, 0))), run_then, run_else,
               (void *)(uintptr_t)&r, NULL, 0, out, n, c->site);
    for (size_t i = 0; i < n; i++)
        tgi_onnx_out(c, i, out[i]);
}

/* -- Loop ------------------------------------------------------------------ */

/* Inputs of the body: iteration, condition, loop values. Outputs: condition,
   loop values, values to stack. */

/* A loop that counts: the condition is true while it runs. */
static void run_count(tg_trace *t, const tg_value *in, void *user)
{
    const region *r = user;
    const size_t n_out = r->graph->n_outputs;
    tg_value *args = values(r->c, r->n_values + 2);
    tg_operand *out = operands(r->c, n_out);
    if (!args || !out)
        return;
    args[0] = in[0];
    args[1] = tg_scalar_at(TG_BOOL, tg_in_bool(true), r->c->site);
    memcpy(args + 2, in + 1, r->n_values * sizeof(*args));
    run_region(r, r->graph, t, args, r->n_values + 2, out);
    tg_return_at(t, out + 1, n_out - 1, r->c->site);
}

/* The same with the iteration after the loop values, for a scan. */
static void run_scanned(tg_trace *t, const tg_value *in, void *user)
{
    const region *r = user;
    tg_value *args = values(r->c, r->n_values + 1);
    if (!args)
        return;
    args[0] = in[r->n_values];
    memcpy(args + 1, in, r->n_values * sizeof(*args));
    run_count(t, args, user);
}

/* A loop with a test: values are the iteration, the condition, loop values. */
static void run_tested(tg_trace *t, const tg_value *in, void *user)
{
    const region *r = user;
    const tgi_onnx_call *c = r->c;
    tg_operand *out = operands(c, r->graph->n_outputs + 1);
    if (!out)
        return;
    run_region(r, r->graph, t, in, r->n_values + 2, out + 1);
    out[0] = TG_IN(F2(add, in[0], tg_scalar_at(TG_I64, tg_in_i64(1), c->site)));
    out[1] = TG_IN(scalar(c, out[1].as.value));
    tg_return_at(t, out, r->n_values + 2, c->site);
}

static void test_condition(tg_trace *t, const tg_value *in, void *user)
{
    const region *r = user;
    const tgi_onnx_call *c = r->c;
    tg_value goes_on = in[1];
    tg_trace *outer = c->frame->t;
    c->frame->t = t;
    if (tgi_onnx_has(c, 0))
        goes_on = F2(and, goes_on, F2(lt, in[0], scalar(c, tgi_onnx_in(c, 0))));
    c->frame->t = outer;
    tg_return_at(t, (const tg_operand[]){TG_IN(goes_on)}, 1, c->site);
}

/* Whether the body returns its condition unchanged, or true. */
static bool only_counts(const tgi_onnx_call *c, const tgi_onnx_graph *body)
{
    tgi_onnx_id id = body->outputs[0];
    for (size_t i = body->n_nodes; i > 0 && id != body->inputs[1]; i--) {
        const tgi_onnx_node *node = &body->nodes[i - 1];
        if (!node->n_outputs || node->outputs[0] != id || !node->op)
            continue;
        if (!strcmp(node->op->name, "Identity")) {
            id = node->inputs[0];
        } else if (!strcmp(node->op->name, "Constant")) {
            tgi_onnx_run_node(c->frame, node);
            const tgi_onnx_array *array = c->frame->values[id].array;
            return array && array->count == 1 && tgi_onnx_array_int(array, 0);
        } else {
            return false;
        }
    }
    for (size_t i = 0; i < body->n_initials; i++)
        if (body->initials[i].id == id)
            return body->initials[i].array.count == 1 &&
                   tgi_onnx_array_int(&body->initials[i].array, 0);
    return id == body->inputs[1];
}

/* How often a loop that counts runs: an i64 scalar. */
static tg_value trip_count(const tgi_onnx_call *c)
{
    tg_value n = tg_cast_at(TG_IN(scalar(c, tgi_onnx_in(c, 0))), TG_I64,
                            c->site);
    if (!tgi_onnx_has(c, 1))
        return n;
    return F3(select, scalar(c, tgi_onnx_in(c, 1)), n,
              tg_scalar_at(TG_I64, tg_in_i64(0), c->site));
}

/* Whether the condition is absent or known to be true. */
static bool begins(const tgi_onnx_call *c)
{
    const tgi_onnx_array *condition = tgi_onnx_try_known(c, 1);
    return !tgi_onnx_has(c, 1) || (condition && condition->count == 1 &&
                                   tgi_onnx_array_int(condition, 0));
}

static void build_scanned(const tgi_onnx_call *c, const region *r,
                          const tg_operand *initial, tg_value *out)
{
    const size_t n_stacked = r->graph->n_outputs - 1 - r->n_values;
    const tgi_onnx_array *count = tgi_onnx_known(c, 0);
    if (!count || count->count != 1)
        return;
    if (!begins(c)) {
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                      "scan outputs of a loop whose condition is not known");
        return;
    }
    int64_t n = tgi_onnx_array_int(count, 0);
    n = n < 0 ? 0 : n;
    const tg_operand numbers =
        TG_IN(tg_iota_at(TG_I64, 1, &n, 0, c->site));
    tg_scan_at(run_scanned, (void *)(uintptr_t)r, initial, r->n_values,
               &numbers, 1, out, r->n_values, out + r->n_values, n_stacked,
               c->site);
}

void tgi_onnx_build_loop(const tgi_onnx_call *c)
{
    region r = {.c = c, .graph = tgi_onnx_graph_of(c, "body")};
    const size_t n_inputs = c->node->n_inputs;
    if (!r.graph)
        return;
    r.n_values = n_inputs < 2 ? 0 : n_inputs - 2;
    if (r.graph->n_inputs != r.n_values + 2 ||
        r.graph->n_outputs < r.n_values + 1 ||
        c->node->n_outputs > r.graph->n_outputs - 1) {
        tgi_onnx_fail(c, TG_ERROR_FILE,
                      "the body has %zu inputs and %zu outputs",
                      r.graph->n_inputs, r.graph->n_outputs);
        return;
    }
    const size_t n_stacked = r.graph->n_outputs - 1 - r.n_values;
    const bool counts = tgi_onnx_has(c, 0) && only_counts(c, r.graph);
    tg_operand *initial = operands(c, n_inputs + 2);
    tg_value *out = values(c, r.graph->n_outputs + 2);
    if (!initial || !out)
        return;
    for (size_t i = 0; i < r.n_values; i++)
        initial[i + 2] = TG_IN(tgi_onnx_in(c, i + 2));
    tg_value *results = out;
    if (counts && n_stacked) {
        build_scanned(c, &r, initial + 2, out);
    } else if (counts) {
        tg_for_at(TG_IN(trip_count(c)), run_count, &r, initial + 2, r.n_values,
                  out, r.n_values, c->site);
    } else if (n_stacked) {
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                      "scan outputs of a loop that its body may end");
    } else {
        initial[0] = TG_IN(tg_scalar_at(TG_I64, tg_in_i64(0), c->site));
        initial[1] = TG_IN(
            tgi_onnx_has(c, 1)
                ? scalar(c, tgi_onnx_in(c, 1))
                : tg_scalar_at(TG_BOOL, tg_in_bool(true), c->site));
        tg_while_at(test_condition, run_tested, &r, initial, r.n_values + 2,
                    out, r.n_values + 2, c->site);
        results = out + 2;
    }
    for (size_t i = 0; i < c->node->n_outputs; i++)
        tgi_onnx_out(c, i, results[i]);
}

/* -- Scan ------------------------------------------------------------------ */

static void run_scan(tg_trace *t, const tg_value *in, void *user)
{
    const region *r = user;
    tg_operand *out = operands(r->c, r->graph->n_outputs);
    if (!out)
        return;
    run_region(r, r->graph, t, in, r->graph->n_inputs, out);
    tg_return_at(t, out, r->graph->n_outputs, r->c->site);
}

/* Element i of a list of integers; 0 without it. */
static int64_t element(const tgi_onnx_call *c, const char *name, size_t i)
{
    size_t n;
    const int64_t *ints = tgi_onnx_ints(c, name, &n);
    return i < n ? ints[i] : 0;
}

static tg_value move_axis(const tgi_onnx_call *c, tg_value x, int from, int to)
{
    int perm[TG_MAX_RANK], n = 0;
    const int rank = tg_value_rank(x);
    if (from == to || rank < 0)
        return x;
    for (int i = 0; n < rank; n++)
        if (n == to) {
            perm[n] = from;
        } else {
            i += i == from;
            perm[n] = i++;
        }
    return tg_transpose_at(TG_IN(x), rank, perm, c->site);
}

static tg_value reverse_if(const tgi_onnx_call *c, tg_value x, int64_t is)
{
    return is ? tg_reverse_at(TG_IN(x), tg_axes_of(1, (const int[]){0}),
                              c->site)
              : x;
}

/* Scans sequences whose first axis is scanned. */
static void scan(const tgi_onnx_call *c, const region *r,
                 const tg_operand *initial, tg_operand *sequences, tg_value *out)
{
    const size_t n_sequences = r->graph->n_inputs - r->n_values;
    const size_t n_stacked = r->graph->n_outputs - r->n_values;
    tg_scan_at(run_scan, (void *)(uintptr_t)r, initial, r->n_values, sequences,
               n_sequences, out, r->n_values, out + r->n_values, n_stacked,
               c->site);
}

/* Opset 8: everything has a batch axis, and the scanned axis follows it. */
static void build_batched(const tgi_onnx_call *c, const region *r,
                          tg_operand *args, tg_value *out)
{
    const size_t n_args = r->graph->n_inputs, n_out = r->graph->n_outputs;
    const int64_t n_batch = tg_value_dim(tgi_onnx_in(c, 1), 0);
    if (tgi_onnx_has(c, 0) || !tg_dim_is_known(n_batch) || n_batch > 1024) {
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                      "sequence lengths, or a batch of unknown extent");
        return;
    }
    tg_operand *parts = operands(c, n_out * (size_t)n_batch);
    if (!parts)
        return;
    for (int64_t b = 0; b < n_batch && !tgi_onnx_failed(c); b++) {
        for (size_t i = 0; i < n_args; i++) {
            const tg_value one = tg_slice_at(TG_IN(tgi_onnx_in(c, i + 1)), 0, b,
                                             b + 1, 1, c->site);
            args[i] = TG_IN(tg_squeeze_at(
                TG_IN(one), tg_axes_of(1, (const int[]){0}), c->site));
            if (i >= r->n_values)
                args[i] = TG_IN(reverse_if(
                    c, args[i].as.value,
                    element(c, "directions", i - r->n_values)));
        }
        scan(c, r, args, args + r->n_values, out);
        for (size_t i = 0; i < n_out; i++)
            parts[i * (size_t)n_batch + (size_t)b] = TG_IN(out[i]);
    }
    for (size_t i = 0; i < n_out; i++)
        tgi_onnx_out(c, i,
                     tg_stack_at(0, parts + i * (size_t)n_batch,
                                 (size_t)n_batch, c->site));
}

static void build_unbatched(const tgi_onnx_call *c, const region *r,
                            tg_operand *args, tg_value *out)
{
    for (size_t i = 0; i < r->graph->n_inputs; i++) {
        tg_value x = tgi_onnx_in(c, i);
        if (i >= r->n_values) {
            const size_t k = i - r->n_values;
            const int axis = tgi_onnx_axis(c, element(c, "scan_input_axes", k),
                                           tg_value_rank(x));
            x = reverse_if(c, move_axis(c, x, axis, 0),
                           element(c, "scan_input_directions", k));
        }
        args[i] = TG_IN(x);
    }
    scan(c, r, args, args + r->n_values, out);
    for (size_t i = 0; i < r->graph->n_outputs && !tgi_onnx_failed(c); i++) {
        if (i >= r->n_values) {
            const size_t k = i - r->n_values;
            const int axis = tgi_onnx_axis(c, element(c, "scan_output_axes", k),
                                           tg_value_rank(out[i]));
            out[i] = move_axis(
                c,
                reverse_if(c, out[i], element(c, "scan_output_directions", k)),
                0, axis);
        }
        tgi_onnx_out(c, i, out[i]);
    }
}

void tgi_onnx_build_scan(const tgi_onnx_call *c)
{
    region r = {.c = c, .graph = tgi_onnx_graph_of(c, "body")};
    const bool is_batched = c->opset < 9;
    const size_t n_inputs =
        c->node->n_inputs - (is_batched && c->node->n_inputs ? 1 : 0);
    const int64_t n_scanned = tgi_onnx_int(c, "num_scan_inputs", 0);
    if (!r.graph)
        return;
    if (n_scanned < 1 || (size_t)n_scanned > n_inputs ||
        r.graph->n_inputs != n_inputs ||
        r.graph->n_outputs != c->node->n_outputs ||
        r.graph->n_outputs < n_inputs - (size_t)n_scanned) {
        tgi_onnx_fail(c, TG_ERROR_FILE,
                      "the body has %zu inputs and %zu outputs",
                      r.graph->n_inputs, r.graph->n_outputs);
        return;
    }
    r.n_values = n_inputs - (size_t)n_scanned;
    tg_operand *args = operands(c, n_inputs);
    tg_value *out = values(c, r.graph->n_outputs);
    if (!args || !out)
        return;
    if (is_batched)
        build_batched(c, &r, args, out);
    else
        build_unbatched(c, &r, args, out);
}

/* SPDX-License-Identifier: MIT */
/*
 * onnx_trace.c - the callback of a model's function.
 */
#include "onnx_model.h"

#include <stdio.h>

#include "onnx_run.h"

/* A dtype and extents; those that are unknown are '?'. */
static void describe(tg_dtype dtype, int rank, const int64_t *dims, char *text,
                     size_t room)
{
    size_t n = (size_t)snprintf(text, room, "%s[", tg_dtype_name(dtype));
    for (int i = 0; i < rank && n < room; i++)
        n += (size_t)(dims[i] < 0
                          ? snprintf(text + n, room - n, "%s?", i ? "," : "")
                          : snprintf(text + n, room - n, "%s%lld",
                                     i ? "," : "", (long long)dims[i]));
    if (n < room)
        snprintf(text + n, room - n, "]");
}

static void fail_shape(tg_trace *t, const tg_onnx_model *m, size_t i,
                       tg_value x)
{
    const tg_spec *spec = &m->specs[i];
    char wanted[256], given[256];
    int64_t dims[TG_MAX_RANK] = {0};
    for (int k = 0; k < tg_value_rank(x); k++)
        dims[k] = tg_value_dim(x, k);
    describe(spec->dtype, spec->rank, spec->dims, wanted, sizeof(wanted));
    describe(tg_value_dtype(x), tg_value_rank(x), dims, given, sizeof(given));
    tg_fail_with_at(t, TG_ERROR_SIGNATURE, (tg_site){m->name, 0},
                    "input '%s' is %s, the argument %s",
                    tg_onnx_input_name(m, i), wanted, given);
}

/* Fails the trace unless the argument has the type that the model declares. */
static void check_argument(tg_trace *t, const tg_onnx_model *m, size_t i,
                           tg_value x)
{
    const tg_spec *spec = &m->specs[i];
    bool fits = spec->rank < 0 || spec->rank == tg_value_rank(x);
    for (int k = 0; fits && k < spec->rank; k++) {
        const int64_t dim = tg_value_dim(x, k);
        fits = spec->dims[k] < 0 || dim < 0 || dim == spec->dims[k];
    }
    if (tg_value_dtype(x) != spec->dtype)
        tg_fail_with_at(t, TG_ERROR_SIGNATURE, (tg_site){m->name, 0},
                        "input '%s' is %s, the argument %s",
                        tg_onnx_input_name(m, i), tg_dtype_name(spec->dtype),
                        tg_dtype_name(tg_value_dtype(x)));
    else if (!fits)
        fail_shape(t, m, i, x);
}

static void set_inputs(const tg_onnx_model *m, tgi_onnx_frame *frame,
                       const tg_value *in)
{
    const tgi_onnx_graph *graph = &m->body->graph;
    size_t n_args = 0, k = 0;
    for (size_t i = 0; i < graph->n_inputs; i++)
        n_args += !m->set[i];
    if (tg_argument_count(frame->t) != n_args) {
        tg_fail_with_at(frame->t, TG_ERROR_SIGNATURE, (tg_site){m->name, 0},
                        "%zu arguments; the model has %zu inputs that are not "
                        "set",
                        tg_argument_count(frame->t), n_args);
        return;
    }
    for (size_t i = 0; i < graph->n_inputs; i++) {
        tgi_onnx_value *v = &frame->values[graph->inputs[i]];
        *v = (tgi_onnx_value){.is_set = true, .array = m->set[i]};
        if (m->set[i])
            continue;
        check_argument(frame->t, m, i, in[k]);
        v->value = tg_name(in[k++], tg_onnx_input_name(m, i));
    }
}

void tgi_onnx_trace_model(tg_trace *t, const tg_value *in, void *user)
{
    const tg_onnx_model *m = user;
    const tgi_onnx_graph *graph = &m->body->graph;
    const tg_site site = {m->name, 0};
    tgi_onnx_trace shared = {.generator = m->generator};
    tgi_onnx_frame frame;
    if (tgi_onnx_frame_init(&frame, &shared, m->body, t)) {
        set_inputs(m, &frame, in);
        if (!tg_trace_status(t))
            tgi_onnx_run_graph(&frame, graph);
        tg_operand *results = tgi_onnx_alloc(
            &shared.arena, graph->n_outputs + 1, sizeof(*results));
        if (!results)
            tg_fail_with_at(t, TG_ERROR_OUT_OF_MEMORY, site, "out of memory");
        for (size_t i = 0; i < graph->n_outputs && !tg_trace_status(t); i++)
            results[i] = tg_in_value(
                tgi_onnx_frame_value(&frame, graph->outputs[i], site));
        if (!tg_trace_status(t))
            tg_return_at(t, results, graph->n_outputs, site);
    }
    tg_context_release(shared.evaluator);
    tgi_onnx_arena_release(&shared.arena);
}

/* SPDX-License-Identifier: MIT */
/*
 * onnx_known.c - contents that are known while tracing.
 *
 * A node whose result is needed, and whose inputs are known, is interpreted at
 * once: its builder records it in a function of its own, in a context that never
 * compiles, which is called without arguments. So everything that can be built
 * can be known. Where extents are symbols, onnx_extents.c does what it can.
 */
#include "onnx_known.h"

#include <string.h>

/* -- Contents of inputs ---------------------------------------------------- */

static tgi_onnx_value *input(const tgi_onnx_call *c, size_t i)
{
    return tgi_onnx_has(c, i) ? &c->frame->values[c->node->inputs[i]] : NULL;
}

/* The array of extents without symbols; NULL otherwise. */
static const tgi_onnx_array *extents_array(const tgi_onnx_call *c,
                                           const tgi_onnx_extents *x)
{
    int64_t wide[TGI_ONNX_MAX_EXTENTS];
    int32_t narrow[TGI_ONNX_MAX_EXTENTS];
    const int64_t dims[] = {(int64_t)x->n};
    tgi_onnx_array *array = NULL;
    for (size_t i = 0; i < x->n; i++) {
        if (x->e[i].is_symbol)
            return NULL;
        wide[i] = x->e[i].n;
        narrow[i] = (int32_t)wide[i];
    }
    const void *data = x->dtype == TG_I64 ? (const void *)wide : narrow;
    if (tgi_onnx_array_copy(&c->frame->shared->arena, x->dtype, x->rank, dims,
                            data, &array))
        tgi_onnx_fail(c, TG_ERROR_OUT_OF_MEMORY, "out of memory");
    return array;
}

const tgi_onnx_array *tgi_onnx_try_known(const tgi_onnx_call *c, size_t i)
{
    tgi_onnx_value *v = input(c, i);
    if (v && !v->array && v->extents)
        v->array = extents_array(c, v->extents);
    return v ? v->array : NULL;
}

static void fail_unknown(const tgi_onnx_call *c, size_t i)
{
    const char *name =
        i < c->node->n_inputs && c->node->inputs[i] != TGI_ONNX_ABSENT
            ? c->frame->body->names[c->node->inputs[i]]
            : "";
    tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                  "input %zu, '%s', decides a shape, and its value is not known "
                  "while tracing; if it is an input of the model, set it with "
                  "tg_onnx_set_input",
                  i, name);
}

const tgi_onnx_array *tgi_onnx_known(const tgi_onnx_call *c, size_t i)
{
    const tgi_onnx_array *array = tgi_onnx_try_known(c, i);
    if (!array && !tgi_onnx_failed(c))
        fail_unknown(c, i);
    return array;
}

bool tgi_onnx_try_extents(const tgi_onnx_call *c, size_t i,
                          tgi_onnx_extents *out)
{
    const tgi_onnx_value *v = input(c, i);
    if (v && v->extents) {
        *out = *v->extents;
        return true;
    }
    const tgi_onnx_array *a = v ? v->array : NULL;
    if (!a || (a->dtype != TG_I64 && a->dtype != TG_I32) || a->rank > 1 ||
        a->count > TGI_ONNX_MAX_EXTENTS)
        return false;
    out->dtype = a->dtype;
    out->rank = a->rank;
    out->n = a->count;
    for (size_t k = 0; k < a->count; k++)
        out->e[k] = (tgi_onnx_extent){.n = tgi_onnx_array_int(a, k)};
    return true;
}

bool tgi_onnx_known_extents(const tgi_onnx_call *c, size_t i,
                            tgi_onnx_extents *out)
{
    if (tgi_onnx_try_extents(c, i, out))
        return true;
    if (!tgi_onnx_failed(c))
        fail_unknown(c, i);
    return false;
}

const int64_t *tgi_onnx_known_ints(const tgi_onnx_call *c, size_t i,
                                   size_t *out_n)
{
    const tgi_onnx_array *array = tgi_onnx_known(c, i);
    *out_n = 0;
    if (!array)
        return NULL;
    int64_t *ints = tgi_onnx_alloc(&c->frame->shared->arena, array->count + 1,
                                   sizeof(*ints));
    if (!ints) {
        tgi_onnx_fail(c, TG_ERROR_OUT_OF_MEMORY, "out of memory");
        return NULL;
    }
    for (size_t k = 0; k < array->count; k++)
        ints[k] = tgi_onnx_array_int(array, k);
    *out_n = array->count;
    return ints;
}

/* The contents of input i, which must have one element. */
static const tgi_onnx_array *known_number(const tgi_onnx_call *c, size_t i)
{
    const tgi_onnx_array *array = tgi_onnx_known(c, i);
    if (array && array->count != 1) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "input %zu has %zu elements, not 1", i,
                      array->count);
        return NULL;
    }
    return array;
}

int64_t tgi_onnx_known_int(const tgi_onnx_call *c, size_t i)
{
    const tgi_onnx_array *array = known_number(c, i);
    return array ? tgi_onnx_array_int(array, 0) : 0;
}

double tgi_onnx_known_float(const tgi_onnx_call *c, size_t i)
{
    const tgi_onnx_array *array = known_number(c, i);
    return array ? tgi_onnx_array_float(array, 0) : 0;
}

const int64_t *tgi_onnx_ints_of(const tgi_onnx_call *c, const char *attribute,
                                size_t i, size_t *out_n)
{
    if (tgi_onnx_has(c, i))
        return tgi_onnx_known_ints(c, i, out_n);
    return tgi_onnx_ints(c, attribute, out_n);
}

/* -- Contents of outputs --------------------------------------------------- */

static void set_known(const tgi_onnx_call *c, size_t i, tgi_onnx_value v)
{
    v.is_set = true;
    if (tgi_onnx_has_out(c, i))
        c->frame->values[c->node->outputs[i]] = v;
}

void tgi_onnx_out_extents(const tgi_onnx_call *c, size_t i,
                          const tgi_onnx_extents *extents)
{
    tgi_onnx_extents *copy =
        tgi_onnx_alloc(&c->frame->shared->arena, 1, sizeof(*copy));
    if (!copy) {
        tgi_onnx_fail(c, TG_ERROR_OUT_OF_MEMORY, "out of memory");
        return;
    }
    *copy = *extents;
    set_known(c, i, (tgi_onnx_value){.extents = copy});
}

void tgi_onnx_out_array(const tgi_onnx_call *c, size_t i,
                        const tgi_onnx_array *array)
{
    set_known(c, i, (tgi_onnx_value){.array = array});
}

/* -- Interpreting single nodes --------------------------------------------- */

enum { MAX_OUTPUTS = 16, MAX_INPUTS = 64 };
static const uint64_t memory_limit = 256 << 20; /* of one node */

/* The callback of the function that a node is recorded in. */
static void record_node(tg_trace *t, const tg_value *in, void *user)
{
    const tgi_onnx_call *c = user;
    tgi_onnx_frame *frame = c->frame;
    tg_trace *home = frame->home, *outer = frame->t;
    tg_operand results[MAX_OUTPUTS];
    (void)in;
    frame->t = t;
    frame->home = NULL; /* nothing is kept for the outer trace */
    c->node->op->build(c);
    for (size_t i = 0; i < c->node->n_outputs; i++) {
        const tgi_onnx_id id = c->node->outputs[i];
        results[i] = tg_in_value(
            id != TGI_ONNX_ABSENT && !tg_trace_status(t)
                ? tgi_onnx_frame_value(frame, id, c->site)
                : tg_scalar_at(TG_I64, tg_in_i64(0), c->site));
    }
    tg_return_at(t, results, c->node->n_outputs, c->site);
    frame->t = outer;
    frame->home = home;
}

static tg_status call_node(const tgi_onnx_call *c, tg_tensor **out_tensors)
{
    tgi_onnx_trace *shared = c->frame->shared;
    tg_result slots[MAX_OUTPUTS];
    if (!shared->evaluator) {
        tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
        options.jit = "off";
        options.cache = "off";
        options.memory_limit = memory_limit;
        shared->evaluator = tg_context_create(&options);
        if (!shared->evaluator)
            return tg_error_last()->status;
    }
    tg_function *f =
        tg_function_create_named(shared->evaluator, c->node->op->name,
                                 record_node, (void *)(uintptr_t)c, NULL);
    if (!f)
        return tg_error_last()->status;
    for (size_t i = 0; i < c->node->n_outputs; i++)
        slots[i] = tg_out_tensor(&out_tensors[i]);
    const tg_status status =
        tg_call_at(f, NULL, 0, slots, c->node->n_outputs, c->site);
    tg_function_release(f);
    return status;
}

static void keep_result(const tgi_onnx_call *c, size_t i, const tg_tensor *x)
{
    tgi_onnx_array *array;
    if (tgi_onnx_array_copy(&c->frame->shared->arena, tg_tensor_dtype(x),
                            tg_tensor_rank(x), tg_tensor_dims(x),
                            tg_tensor_data(x), &array))
        tgi_onnx_fail(c, TG_ERROR_OUT_OF_MEMORY, "out of memory");
    else
        tgi_onnx_out_array(c, i, array);
}

/* Interprets a node whose inputs are all known. */
static void interpret(const tgi_onnx_call *c)
{
    tg_tensor *tensors[MAX_OUTPUTS] = {NULL};
    tg_value outer[MAX_INPUTS];
    const tgi_onnx_node *node = c->node;
    for (size_t i = 0; i < node->n_inputs; i++) {
        tgi_onnx_value *v = input(c, i);
        if (v) {
            outer[i] = v->value;
            v->value = (tg_value){0, 0};
        }
    }
    const tg_status status = call_node(c, tensors);
    for (size_t i = node->n_inputs; i > 0; i--)
        if (input(c, i - 1))
            input(c, i - 1)->value = outer[i - 1];
    if (status)
        tg_fail_with_at(c->frame->t, status, (tg_site){NULL, 0}, "%s",
                        tg_error(NULL));
    for (size_t i = 0; i < node->n_outputs; i++) {
        if (!status)
            keep_result(c, i, tensors[i]);
        tg_tensor_release(tensors[i]);
    }
}

static bool is_needed(const tgi_onnx_call *c)
{
    for (size_t i = 0; i < c->node->n_outputs; i++)
        if (tgi_onnx_has_out(c, i) &&
            (c->frame->body->facts[c->node->outputs[i]] & TGI_ONNX_NEEDED))
            return true;
    return false;
}

bool tgi_onnx_compute_known(const tgi_onnx_call *c)
{
    const tgi_onnx_node *node = c->node;
    if (!is_needed(c) || node->n_graphs || node->n_outputs > MAX_OUTPUTS ||
        node->n_inputs > MAX_INPUTS || !node->n_inputs ||
        (node->op->needs & TGI_ONNX_RANDOM))
        return false;
    if (tgi_onnx_compute_extents(c))
        return true;
    for (size_t i = 0; i < node->n_inputs; i++)
        if (input(c, i) && !tgi_onnx_try_known(c, i))
            return false;
    if (!tgi_onnx_failed(c))
        interpret(c);
    return true;
}

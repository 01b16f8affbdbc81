/* SPDX-License-Identifier: MIT */
/*
 * onnx_run.c - runs the nodes of a body inside a trace.
 *
 * Values that are known while tracing become values of the trace when a node
 * uses them, so that shapes that only Reshape reads leave nothing behind. In a
 * branch or loop they are created anew: a value of a branch cannot be used
 * outside of it.
 */
#include "onnx_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "onnx_known.h"
#include "onnx_reader.h"

enum { MAX_NODES = 1 << 22 }; /* per trace */

bool tgi_onnx_frame_init(tgi_onnx_frame *frame, tgi_onnx_trace *shared,
                         const tgi_onnx_body *body, tg_trace *t)
{
    *frame = (tgi_onnx_frame){
        .shared = shared,
        .body = body,
        .values = tgi_onnx_alloc(&shared->arena, body->n_values + 1,
                                 sizeof(*frame->values)),
        .home = t,
        .t = t,
    };
    if (!frame->values)
        tg_fail_with_at(t, TG_ERROR_OUT_OF_MEMORY, (tg_site){NULL, 0},
                        "out of memory");
    return frame->values;
}

/* -- Values ---------------------------------------------------------------- */

static tg_value extents_value(const tgi_onnx_extents *x, tg_site site)
{
    int64_t numbers[TGI_ONNX_MAX_EXTENTS];
    tg_operand parts[TGI_ONNX_MAX_EXTENTS];
    bool is_known = true;
    for (size_t i = 0; i < x->n; i++) {
        numbers[i] = x->e[i].n;
        is_known &= !x->e[i].is_symbol;
    }
    if (is_known)
        return tg_constant_at(TG_I64, x->rank, (const int64_t[]){(int64_t)x->n},
                              numbers, site);
    for (size_t i = 0; i < x->n; i++)
        parts[i] = tg_in_value(tgi_onnx_extent_value(x->e[i], site));
    return x->rank ? tg_stack_at(0, parts, x->n, site) : parts[0].as.value;
}

tg_value tgi_onnx_frame_value(tgi_onnx_frame *frame, tgi_onnx_id id,
                              tg_site site)
{
    tgi_onnx_value *v = &frame->values[id];
    if (tg_is_valid(v->value))
        return v->value;
    tg_value value = {0, 0};
    if (v->variable)
        value = tg_read_at(tg_in_variable(v->variable), site);
    else if (v->array)
        value = tg_constant_at(v->array->dtype, v->array->rank, v->array->dims,
                               v->array->data, site);
    else if (v->extents)
        value = extents_value(v->extents, site);
    else
        tg_fail_with_at(frame->t, TG_ERROR_UNSUPPORTED, site,
                        "the value '%s' does not exist",
                        frame->body->names[id]);
    if (frame->t == frame->home)
        v->value = value;
    return value;
}

void tgi_onnx_frame_set(tgi_onnx_frame *frame, tgi_onnx_id id, tg_value value)
{
    if (id != TGI_ONNX_ABSENT)
        frame->values[id] = (tgi_onnx_value){.value = value, .is_set = true};
}

/* -- Nodes ----------------------------------------------------------------- */

static void run_function(const tgi_onnx_call *c)
{
    const tgi_onnx_node *node = c->node;
    const tgi_onnx_graph *graph = &node->function->graph;
    tgi_onnx_frame frame;
    if (!tgi_onnx_frame_init(&frame, c->frame->shared, node->function,
                             c->frame->t))
        return;
    frame.caller = c;
    for (size_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] != TGI_ONNX_ABSENT) {
            const tgi_onnx_value *v = &c->frame->values[node->inputs[i]];
            frame.values[graph->inputs[i]] = *v;
        }
    tgi_onnx_run_graph(&frame, graph);
    for (size_t i = 0; i < node->n_outputs; i++)
        if (node->outputs[i] != TGI_ONNX_ABSENT)
            c->frame->values[node->outputs[i]] =
                frame.values[graph->outputs[i]];
}

void tgi_onnx_run_node(tgi_onnx_frame *frame, const tgi_onnx_node *node)
{
    const tgi_onnx_call c = {frame, node, node->site, node->opset};
    if (frame->shared->n_nodes++ == MAX_NODES) {
        tgi_onnx_fail(&c, TG_ERROR_LIMIT, "more than %d nodes", MAX_NODES);
        return;
    }
    for (size_t i = 0; i < node->n_outputs; i++)
        if (node->outputs[i] != TGI_ONNX_ABSENT)
            frame->values[node->outputs[i]] = (tgi_onnx_value){.is_set = false};
    if (node->function)
        run_function(&c);
    else if (!tgi_onnx_compute_known(&c))
        node->op->build(&c);
    for (size_t i = 0; i < node->n_outputs; i++) {
        const tgi_onnx_id id = node->outputs[i];
        if (id == TGI_ONNX_ABSENT)
            continue;
        tg_name(frame->values[id].value, frame->body->names[id]);
        if (!frame->values[id].is_set && !tgi_onnx_failed(&c))
            tgi_onnx_fail(&c, TG_ERROR_UNSUPPORTED, "output %zu is unsupported",
                          i);
    }
}

void tgi_onnx_run_graph(tgi_onnx_frame *frame, const tgi_onnx_graph *graph)
{
    for (size_t i = 0; i < graph->n_initials; i++) {
        const tgi_onnx_initial *initial = &graph->initials[i];
        frame->values[initial->id] = (tgi_onnx_value){
            .array = initial->variable ? NULL : &initial->array,
            .variable = initial->variable,
            .is_set = true,
        };
    }
    for (size_t i = 0; i < graph->n_nodes && !tg_trace_status(frame->t); i++)
        tgi_onnx_run_node(frame, &graph->nodes[i]);
}

/* -- For builders ---------------------------------------------------------- */

bool tgi_onnx_failed(const tgi_onnx_call *c)
{
    return tg_trace_status(c->frame->t) != TG_OK;
}

void tgi_onnx_fail(const tgi_onnx_call *c, tg_status status, const char *format,
                   ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    tg_fail_with_at(c->frame->t, status, c->site, "%s", message);
}

bool tgi_onnx_has(const tgi_onnx_call *c, size_t i)
{
    return i < c->node->n_inputs && c->node->inputs[i] != TGI_ONNX_ABSENT &&
           c->frame->values[c->node->inputs[i]].is_set;
}

bool tgi_onnx_has_out(const tgi_onnx_call *c, size_t i)
{
    return i < c->node->n_outputs && c->node->outputs[i] != TGI_ONNX_ABSENT;
}

tg_value tgi_onnx_in(const tgi_onnx_call *c, size_t i)
{
    if (!tgi_onnx_has(c, i)) {
        tgi_onnx_fail(c, TG_ERROR_INVALID_ARGUMENT, "input %zu is missing", i);
        return (tg_value){0, 0};
    }
    return tgi_onnx_frame_value(c->frame, c->node->inputs[i], c->site);
}

tg_dtype tgi_onnx_in_dtype(const tgi_onnx_call *c, size_t i)
{
    return tg_value_dtype(tgi_onnx_in(c, i));
}

int tgi_onnx_in_rank(const tgi_onnx_call *c, size_t i)
{
    const int rank = tg_value_rank(tgi_onnx_in(c, i));
    return rank < 0 ? 0 : rank;
}

void tgi_onnx_out(const tgi_onnx_call *c, size_t i, tg_value value)
{
    if (tgi_onnx_has_out(c, i))
        tgi_onnx_frame_set(c->frame, c->node->outputs[i], value);
}

/* -- Attributes ------------------------------------------------------------ */

static const Onnx__AttributeProto *default_of(const tgi_onnx_body *body,
                                              const char *name)
{
    for (size_t i = 0; i < body->n_defaults; i++)
        if (body->defaults[i]->name && !strcmp(body->defaults[i]->name, name))
            return body->defaults[i];
    return NULL;
}

const Onnx__AttributeProto *tgi_onnx_attribute(const tgi_onnx_call *c,
                                               const char *name)
{
    const Onnx__AttributeProto *a = tgi_onnx_node_attribute(c->node->proto,
                                                            name);
    while (a && a->ref_attr_name && *a->ref_attr_name) {
        const tgi_onnx_call *caller = c->frame->caller;
        if (!caller)
            return NULL;
        const Onnx__AttributeProto *actual =
            tgi_onnx_node_attribute(caller->node->proto, a->ref_attr_name);
        a = actual ? actual : default_of(c->frame->body, a->ref_attr_name);
        c = caller;
    }
    return a;
}

/* The attribute, whose type must be `kind`, as far as it is known. */
static const Onnx__AttributeProto *
typed(const tgi_onnx_call *c, const char *name,
      Onnx__AttributeProto__AttributeType kind, const char *kind_name)
{
    const Onnx__AttributeProto *a = tgi_onnx_attribute(c, name);
    if (a && a->has_type && a->type != kind &&
        a->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED) {
        tgi_onnx_fail(c, TG_ERROR_FILE, "attribute '%s' is not %s", name,
                      kind_name);
        return NULL;
    }
    return a;
}

#define TYPED(type, kind) \
    typed(c, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##type, kind)

int64_t tgi_onnx_int(const tgi_onnx_call *c, const char *name,
                     int64_t otherwise)
{
    const Onnx__AttributeProto *a = TYPED(INT, "an integer");
    return a ? a->i : otherwise;
}

double tgi_onnx_float(const tgi_onnx_call *c, const char *name,
                      double otherwise)
{
    const Onnx__AttributeProto *a = TYPED(FLOAT, "a float");
    return a ? (double)a->f : otherwise;
}

bool tgi_onnx_is(const tgi_onnx_call *c, const char *name, const char *text,
                 const char *otherwise)
{
    const Onnx__AttributeProto *a = TYPED(STRING, "a string");
    if (!a)
        return !strcmp(text, otherwise);
    return a->s.len == strlen(text) && !memcmp(a->s.data, text, a->s.len);
}

const int64_t *tgi_onnx_ints(const tgi_onnx_call *c, const char *name,
                             size_t *out_n)
{
    static const int64_t none[1];
    const Onnx__AttributeProto *a = TYPED(INTS, "a list of integers");
    *out_n = a ? a->n_ints : 0;
    return !a ? NULL : a->n_ints ? a->ints : none;
}

const tgi_onnx_graph *tgi_onnx_graph_of(const tgi_onnx_call *c,
                                        const char *name)
{
    for (size_t i = 0; i < c->node->n_graphs; i++)
        if (!strcmp(c->node->graphs[i].attribute, name))
            return &c->node->graphs[i];
    tgi_onnx_fail(c, TG_ERROR_FILE, "there is no graph '%s'", name);
    return NULL;
}

/* -- Facts ----------------------------------------------------------------- */

int tgi_onnx_axis(const tgi_onnx_call *c, int64_t axis, int rank)
{
    const int64_t positive = axis < 0 ? axis + rank : axis;
    if (positive >= 0 && positive < rank)
        return (int)positive;
    tgi_onnx_fail(c, TG_ERROR_SHAPE, "axis %lld of %d axes", (long long)axis,
                  rank);
    return 0;
}

tg_value tgi_onnx_scalar_like(const tgi_onnx_call *c, tg_value x,
                              double number)
{
    return tg_scalar_at(tg_value_dtype(x), tg_in_f64(number), c->site);
}

int tgi_onnx_dims(tg_value x, int64_t *out_dims)
{
    const int rank = tg_value_rank(x);
    for (int i = 0; i < rank; i++)
        out_dims[i] = tg_value_dim(x, i);
    return rank < 0 ? 0 : rank;
}

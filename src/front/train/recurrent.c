/* SPDX-License-Identifier: MIT */
/*
 * recurrent.c - LSTM, GRU and simple recurrent layers: one step, and sequences by a scan. The projection
 * of the inputs does not depend on the state, so that a sequence computes it as
 * one product before the scan; a step has the same bits.
 */
#include "front/train/layer_parts.h"
#include "tgjit/control.h"

/* -- Parts ----------------------------------------------------------------- */

/* Gate i of n along the last axis. */
static tgi_ref gate(tgi_builder *b, tgi_ref gates, int i, tgi_dim n_units)
{
    tgi_dims *table = b->graph->dims;
    const tgi_dim from = tgi_dim_mul(table, n_units, i);
    const tgi_dim to = tgi_dim_mul(table, n_units, i + 1);
    return tgi_build_slice(b, gates, -1, from, to, 1);
}

static tgi_ref sigmoid(tgi_builder *b, tgi_ref x)
{
    return tgi_build_1(b, TGI_OP_SIGMOID, x);
}

/* The number of units: rows of the state weights; -1 and an error if these are
   not [units, n_gates * units]. */
static tgi_dim count_units(tgi_operation *o, tg_variable *state_weights,
                           int n_gates)
{
    tgi_ref w = tgi_layer_read(o, state_weights);
    if (!w)
        return -1;
    const tgi_shape *shape = tgi_graph_shape(o->b.graph, w);
    if (shape->rank == 2 && shape->dims[1] == n_gates * shape->dims[0])
        return shape->dims[0];
    tgi_build_fail(&o->b, TG_ERROR_SHAPE, &w, 1,
                   "the state weights must be [units, %d * units]", n_gates);
    return -1;
}

/* A state: the value, or zeros of the shape of a gate's input if there is
   none. */
static tgi_ref state_operand(tgi_operation *o, tg_value state,
                             tgi_ref projected, bool has_time, tgi_dim n_units)
{
    tgi_builder *b = &o->b;
    if (state.node || state.trace)
        return tgi_operation_operand(o, tg_in_value(state));
    if (!projected)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, projected);
    tgi_dim dims[TG_MAX_RANK];
    int rank = 0;
    for (int i = has_time; i + 1 < shape->rank; i++)
        dims[rank++] = shape->dims[i];
    dims[rank++] = n_units;
    return tgi_build_broadcast(b, tgi_build_number_like(b, projected, 0), rank,
                               dims);
}

/* True if the inputs of a step or sequence have enough axes; else an error. */
static bool check_rank(tgi_operation *o, tgi_ref x, bool has_time)
{
    if (!x || tgi_graph_shape(o->b.graph, x)->rank >= 1 + has_time)
        return x != 0;
    tgi_build_fail(&o->b, TG_ERROR_SHAPE, &x, 1,
                   has_time ? "needs axes of time and features"
                            : "needs an axis of features");
    return false;
}

/* -- LSTM ------------------------------------------------------------------ */

/* A step from the projected input; *h and *c become the next state. */
static void step_lstm(tgi_operation *o, const tg_lstm_layer *layer,
                      tgi_dim n_units, tgi_ref projected, tgi_ref *h,
                      tgi_ref *c)
{
    tgi_builder *b = &o->b;
    if (!projected || !*h || !*c) {
        *h = *c = 0;
        return;
    }
    tgi_ref gates = tgi_build_2(
        b, TGI_OP_ADD, projected,
        tgi_layer_project(o, *h, layer->state_weights, NULL));
    tgi_ref input = sigmoid(b, gate(b, gates, 0, n_units));
    tgi_ref forget = sigmoid(b, gate(b, gates, 1, n_units));
    tgi_ref cell = tgi_build_1(b, TGI_OP_TANH, gate(b, gates, 2, n_units));
    tgi_ref output = sigmoid(b, gate(b, gates, 3, n_units));
    tgi_ref kept = tgi_build_2(b, TGI_OP_MUL, forget, *c);
    tgi_ref added = tgi_build_2(b, TGI_OP_MUL, input, cell);
    *c = tgi_build_2(b, TGI_OP_ADD, kept, added);
    *h = tgi_build_2(b, TGI_OP_MUL, output, tgi_build_1(b, TGI_OP_TANH, *c));
}

static const tg_lstm_state no_state;

tg_lstm_state tg_lstm_cell_at(tg_operand operand, tg_lstm_state state,
                              const tg_lstm_layer *layer, tg_site site)
{
    tgi_operation o;
    tgi_ref h = 0, c = 0;
    if (!tgi_operation_begin(&o, "lstm_cell", site))
        return no_state;
    if (tgi_layer_check(&o, layer)) {
        tgi_ref x = tgi_operation_operand(&o, operand);
        const tgi_dim n = check_rank(&o, x, false)
                              ? count_units(&o, layer->state_weights, 4)
                              : -1;
        tgi_ref projected = n < 0 ? 0
                                  : tgi_layer_project(&o, x,
                                                      layer->input_weights,
                                                      layer->bias);
        h = projected ? state_operand(&o, state.h, projected, false, n) : 0;
        c = h ? state_operand(&o, state.c, projected, false, n) : 0;
        step_lstm(&o, layer, n, projected, &h, &c);
    }
    const tg_value next = tgi_operation_end(&o, h);
    return (tg_lstm_state){next, tgi_operation_end(&o, c)};
}

typedef struct lstm_scan {
    const tg_lstm_layer *layer;
    tgi_dim n_units;
    tg_site site;
} lstm_scan;

/* Receives h, c and the projected input. */
static void scan_lstm(tg_trace *t, const tg_value *in, void *user)
{
    const lstm_scan *scan = user;
    tgi_operation o;
    if (!tgi_operation_begin(&o, "lstm", scan->site))
        return;
    tgi_ref h = tgi_operation_operand(&o, tg_in_value(in[0]));
    tgi_ref c = tgi_operation_operand(&o, tg_in_value(in[1]));
    tgi_ref projected = tgi_operation_operand(&o, tg_in_value(in[2]));
    step_lstm(&o, scan->layer, scan->n_units, projected, &h, &c);
    const tg_operand next = tg_in_value(tgi_operation_end(&o, h));
    const tg_operand cell = tg_in_value(tgi_operation_end(&o, c));
    tg_return_at(t, (tg_operand[]){next, cell, next}, 3, scan->site);
}

tg_lstm_state tg_lstm_at(tg_operand operand, tg_lstm_state state,
                         const tg_lstm_layer *layer, tg_value *out_outputs,
                         tg_site site)
{
    tgi_operation o;
    tg_value final[2] = {{0, 0}, {0, 0}}, outputs = {0, 0};
    if (out_outputs)
        *out_outputs = outputs;
    if (!tgi_operation_begin(&o, "lstm", site))
        return no_state;
    lstm_scan scan = {layer, -1, site};
    tgi_ref h = 0, c = 0, projected = 0;
    if (tgi_layer_check(&o, layer)) {
        tgi_ref x = tgi_operation_operand(&o, operand);
        if (check_rank(&o, x, true))
            scan.n_units = count_units(&o, layer->state_weights, 4);
        if (scan.n_units >= 0)
            projected = tgi_layer_project(&o, x, layer->input_weights,
                                          layer->bias);
        h = state_operand(&o, state.h, projected, true, scan.n_units);
        c = h ? state_operand(&o, state.c, projected, true, scan.n_units) : 0;
    }
    tg_operand initial[2];
    initial[0] = tg_in_value(tgi_operation_end(&o, h));
    initial[1] = tg_in_value(tgi_operation_end(&o, c));
    const tg_operand sequence = tg_in_value(tgi_operation_end(&o, projected));
    if (o.t->status == TG_OK)
        tg_scan_at(scan_lstm, &scan, initial, 2, &sequence, 1, final, 2,
                   &outputs, 1, site);
    if (out_outputs)
        *out_outputs = outputs;
    return (tg_lstm_state){final[0], final[1]};
}

/* -- GRU ------------------------------------------------------------------- */

/* A step from the projected input; returns the next h. */
static tgi_ref step_gru(tgi_operation *o, const tg_gru_layer *layer,
                        tgi_dim n_units, tgi_ref projected, tgi_ref h)
{
    tgi_builder *b = &o->b;
    if (!projected || !h)
        return 0;
    tgi_ref of_state =
        tgi_layer_project(o, h, layer->state_weights, layer->state_bias);
    tgi_ref part[2];
    for (int i = 0; i < 2; i++) {
        part[i] = gate(b, projected, i, n_units);
        part[i] = tgi_build_2(b, TGI_OP_ADD, part[i],
                              gate(b, of_state, i, n_units));
        part[i] = sigmoid(b, part[i]);
    }
    tgi_ref reset = tgi_build_2(b, TGI_OP_MUL, part[0],
                                gate(b, of_state, 2, n_units));
    tgi_ref new = tgi_build_1(
        b, TGI_OP_TANH,
        tgi_build_2(b, TGI_OP_ADD, gate(b, projected, 2, n_units), reset));
    return tgi_build_2(b, TGI_OP_ADD,
                       tgi_build_2(b, TGI_OP_MUL, part[1],
                                   tgi_build_2(b, TGI_OP_SUB, h, new)),
                       new);
}

/* -- Layers whose state is their output ------------------------------------ */

/* A layer with one state h; `step` computes the next one from the projected
   input. */
typedef struct recurrence {
    const void *layer;
    tg_variable *input_weights, *input_bias, *state_weights;
    int n_gates;
    tgi_ref (*step)(tgi_operation *o, const void *layer, tgi_dim n_units,
                    tgi_ref projected, tgi_ref h);
} recurrence;

static tgi_ref step_gru_layer(tgi_operation *o, const void *layer,
                              tgi_dim n_units, tgi_ref projected, tgi_ref h)
{
    return step_gru(o, layer, n_units, projected, h);
}

/* tanh(projected + h * state_weights). */
static tgi_ref step_rnn(tgi_operation *o, const void *layer, tgi_dim n_units,
                        tgi_ref projected, tgi_ref h)
{
    const tg_rnn_layer *rnn = layer;
    tgi_builder *b = &o->b;
    (void)n_units;
    if (!projected || !h)
        return 0;
    tgi_ref of_state = tgi_layer_project(o, h, rnn->state_weights, NULL);
    return tgi_build_1(b, TGI_OP_TANH,
                       tgi_build_2(b, TGI_OP_ADD, projected, of_state));
}

static recurrence gru_recurrence(const tg_gru_layer *layer)
{
    return layer ? (recurrence){layer,
                                layer->input_weights,
                                layer->input_bias,
                                layer->state_weights,
                                3,
                                step_gru_layer}
                 : (recurrence){.layer = NULL};
}

static recurrence rnn_recurrence(const tg_rnn_layer *layer)
{
    return layer ? (recurrence){layer,
                                layer->input_weights,
                                layer->bias,
                                layer->state_weights,
                                1,
                                step_rnn}
                 : (recurrence){.layer = NULL};
}

/* The number of units, the projected input and the initial state; 0 on
   error. */
static tgi_ref begin_recurrence(tgi_operation *o, const recurrence *r,
                                tg_operand operand, tg_value state,
                                bool has_time, tgi_dim *n_units,
                                tgi_ref *projected)
{
    *n_units = -1;
    *projected = 0;
    if (!tgi_layer_check(o, r->layer))
        return 0;
    tgi_ref x = tgi_operation_operand(o, operand);
    if (check_rank(o, x, has_time))
        *n_units = count_units(o, r->state_weights, r->n_gates);
    if (*n_units >= 0)
        *projected =
            tgi_layer_project(o, x, r->input_weights, r->input_bias);
    return *projected ? state_operand(o, state, *projected, has_time, *n_units)
                      : 0;
}

static tg_value apply_cell(const char *name, const recurrence *r,
                           tg_operand operand, tg_value state, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, name, site)) {
        tgi_dim n_units;
        tgi_ref projected;
        const tgi_ref h = begin_recurrence(&o, r, operand, state, false,
                                           &n_units, &projected);
        result = h ? r->step(&o, r->layer, n_units, projected, h) : 0;
    }
    return tgi_operation_end(&o, result);
}

typedef struct recurrence_scan {
    const recurrence *r;
    const char *name;
    tgi_dim n_units;
    tg_site site;
} recurrence_scan;

/* Receives h and the projected input. */
static void scan_recurrence(tg_trace *t, const tg_value *in, void *user)
{
    const recurrence_scan *scan = user;
    tgi_operation o;
    if (!tgi_operation_begin(&o, scan->name, scan->site))
        return;
    tgi_ref h = tgi_operation_operand(&o, tg_in_value(in[0]));
    tgi_ref projected = tgi_operation_operand(&o, tg_in_value(in[1]));
    h = scan->r->step(&o, scan->r->layer, scan->n_units, projected, h);
    const tg_operand next = tg_in_value(tgi_operation_end(&o, h));
    tg_return_at(t, (tg_operand[]){next, next}, 2, scan->site);
}

static tg_value apply_sequence(const char *name, const recurrence *r,
                               tg_operand operand, tg_value state,
                               tg_value *out_outputs, tg_site site)
{
    tgi_operation o;
    tg_value final = {0, 0}, outputs = {0, 0};
    if (out_outputs)
        *out_outputs = outputs;
    if (!tgi_operation_begin(&o, name, site))
        return final;
    recurrence_scan scan = {r, name, -1, site};
    tgi_ref projected;
    const tgi_ref h = begin_recurrence(&o, r, operand, state, true,
                                       &scan.n_units, &projected);
    const tg_operand initial = tg_in_value(tgi_operation_end(&o, h));
    const tg_operand sequence = tg_in_value(tgi_operation_end(&o, projected));
    if (o.t->status == TG_OK)
        tg_scan_at(scan_recurrence, &scan, &initial, 1, &sequence, 1, &final,
                   1, &outputs, 1, site);
    if (out_outputs)
        *out_outputs = outputs;
    return final;
}

tg_value tg_gru_cell_at(tg_operand x, tg_value h, const tg_gru_layer *layer,
                        tg_site site)
{
    const recurrence r = gru_recurrence(layer);
    return apply_cell("gru_cell", &r, x, h, site);
}

tg_value tg_gru_at(tg_operand x, tg_value h, const tg_gru_layer *layer,
                   tg_value *out_outputs, tg_site site)
{
    const recurrence r = gru_recurrence(layer);
    return apply_sequence("gru", &r, x, h, out_outputs, site);
}

tg_value tg_rnn_cell_at(tg_operand x, tg_value h, const tg_rnn_layer *layer,
                        tg_site site)
{
    const recurrence r = rnn_recurrence(layer);
    return apply_cell("rnn_cell", &r, x, h, site);
}

tg_value tg_rnn_at(tg_operand x, tg_value h, const tg_rnn_layer *layer,
                   tg_value *out_outputs, tg_site site)
{
    const recurrence r = rnn_recurrence(layer);
    return apply_sequence("rnn", &r, x, h, out_outputs, site);
}

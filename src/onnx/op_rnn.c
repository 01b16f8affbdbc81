/* SPDX-License-Identifier: MIT */
/*
 * op_rnn.c - RNN, GRU and LSTM.
 *
 * The products with the inputs of all steps are one matrix product; a scan does
 * the rest. Each direction is a layer of its own. A sequence that is shorter
 * than others keeps its state after its end, where its outputs are 0; the
 * reverse direction begins at its end.
 */
#include <string.h>
#include <strings.h>

#include "onnx_run.h"

typedef enum cell_kind { CELL_RNN, CELL_GRU, CELL_LSTM } cell_kind;

/* An activation function with its parameters. */
typedef struct activation {
    char name[24];
    double alpha, beta;
} activation;

/* What one direction of a node computes with. */
typedef struct layer {
    const tgi_onnx_call *c;
    cell_kind kind;
    activation f, g, h;
    tg_value recurrent;      /* [hidden, gates * hidden] */
    tg_value recurrent_bias; /* [gates * hidden]; of GRU, else invalid */
    tg_value peephole[3];    /* of LSTM: input, output, forget; or invalid */
    tg_value lengths;        /* [batch, 1] i64; or invalid */
    double clip;             /* 0: none */
    bool resets_after_product, couples_input_forget;
} layer;

/* -- Activations ----------------------------------------------------------- */

static tg_value activate(const tgi_onnx_call *c, const activation *a,
                         tg_value x)
{
    static const struct {
        const char *name;
        tg_value (*f)(tg_operand x, tg_site site);
    } plain[] = {{"sigmoid", tg_sigmoid_at},
                 {"tanh", tg_tanh_at},
                 {"relu", tg_relu_at},
                 {"softsign", tg_softsign_at},
                 {"softplus", tg_softplus_at}};
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        if (!strcasecmp(a->name, plain[i].name))
            return plain[i].f(TG_IN(x), c->site);
    const tg_value alpha = tgi_onnx_scalar_like(c, x, a->alpha);
    const tg_value beta = tgi_onnx_scalar_like(c, x, a->beta);
    if (!strcasecmp(a->name, "Affine"))
        return F2(add, F2(mul, x, alpha), beta);
    if (!strcasecmp(a->name, "LeakyRelu"))
        return F2(leaky_relu, x, alpha);
    if (!strcasecmp(a->name, "ThresholdedRelu"))
        return F2(thresholded_relu, x, alpha);
    if (!strcasecmp(a->name, "ScaledTanh"))
        return F2(mul, alpha, F1(tanh, F2(mul, beta, x)));
    if (!strcasecmp(a->name, "HardSigmoid"))
        return F3(hard_sigmoid, x, alpha, beta);
    if (!strcasecmp(a->name, "Elu"))
        return F2(elu, x, alpha);
    tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "activation %s is unsupported",
                  a->name);
    return x;
}

/* Activation number i of the node; `usual` without the attribute. */
static activation read_activation(const tgi_onnx_call *c, size_t i,
                                  const char *usual)
{
    static const struct {
        const char *name;
        double alpha, beta;
    } defaults[] = {{"LeakyRelu", 0.01, 0},
                    {"ThresholdedRelu", 1, 0},
                    {"HardSigmoid", 0.2, 0.5},
                    {"Elu", 1, 0},
                    {"Affine", 1, 0},
                    {"ScaledTanh", 1, 1}};
    const Onnx__AttributeProto *names = tgi_onnx_attribute(c, "activations");
    const Onnx__AttributeProto *alpha =
        tgi_onnx_attribute(c, "activation_alpha");
    const Onnx__AttributeProto *beta = tgi_onnx_attribute(c, "activation_beta");
    activation a = {.alpha = 0};
    size_t n = strlen(usual);
    const void *name = usual;
    if (names && i < names->n_strings) {
        name = names->strings[i].data;
        n = names->strings[i].len;
    }
    memcpy(a.name, name, n < sizeof(a.name) ? n : sizeof(a.name) - 1);
    for (size_t k = 0; k < sizeof(defaults) / sizeof(defaults[0]); k++)
        if (!strcasecmp(a.name, defaults[k].name)) {
            a.alpha = defaults[k].alpha;
            a.beta = defaults[k].beta;
        }
    if (alpha && i < alpha->n_floats)
        a.alpha = (double)alpha->floats[i];
    if (beta && i < beta->n_floats)
        a.beta = (double)beta->floats[i];
    return a;
}

/* -- Cells ----------------------------------------------------------------- */

static tg_value clipped(const layer *l, tg_value x)
{
    const tgi_onnx_call *c = l->c;
    return l->clip ? F3(clamp, x, tgi_onnx_scalar_like(c, x, -l->clip),
                        tgi_onnx_scalar_like(c, x, l->clip))
                   : x;
}

static tg_value product(const layer *l, tg_value h, tg_value w)
{
    return tg_matmul_with_at(TG_IN(h), TG_IN(w), TG_MATMUL_PLAIN, l->c->site);
}

static void split_gates(const layer *l, tg_value x, tg_value *gates, size_t n)
{
    tg_split_at(TG_IN(x), -1, n, NULL, gates, l->c->site);
}

static tg_value step_rnn(const layer *l, tg_value x, tg_value h)
{
    const tgi_onnx_call *c = l->c;
    return activate(c, &l->f,
                    clipped(l, F2(add, x, product(l, h, l->recurrent))));
}

static tg_value step_gru(const layer *l, tg_value x, tg_value h)
{
    const tgi_onnx_call *c = l->c;
    tg_value in[3], w[3], bias[3], old;
    split_gates(l, x, in, 3);
    split_gates(l, l->recurrent, w, 3);
    split_gates(l, l->recurrent_bias, bias, 3);
    const tg_value z = activate(
        c, &l->f,
        clipped(l, F2(add, in[0], F2(add, product(l, h, w[0]), bias[0]))));
    const tg_value r = activate(
        c, &l->f,
        clipped(l, F2(add, in[1], F2(add, product(l, h, w[1]), bias[1]))));
    if (l->resets_after_product)
        old = F2(mul, r, F2(add, product(l, h, w[2]), bias[2]));
    else
        old = F2(add, product(l, F2(mul, r, h), w[2]), bias[2]);
    const tg_value candidate =
        activate(c, &l->g, clipped(l, F2(add, in[2], old)));
    /* (1 - z) * candidate + z * h */
    return F2(add, candidate, F2(mul, z, F2(sub, h, candidate)));
}

static tg_value peep(const layer *l, int gate, tg_value x, tg_value cell)
{
    const tgi_onnx_call *c = l->c;
    return tg_is_valid(l->peephole[gate])
               ? F2(add, x, F2(mul, l->peephole[gate], cell))
               : x;
}

static tg_value step_lstm(const layer *l, tg_value x, tg_value h,
                          tg_value *cell)
{
    const tgi_onnx_call *c = l->c;
    tg_value gate[4]; /* input, output, forget, cell */
    split_gates(l, F2(add, x, product(l, h, l->recurrent)), gate, 4);
    const tg_value in =
        activate(c, &l->f, clipped(l, peep(l, 0, gate[0], *cell)));
    const tg_value forget =
        l->couples_input_forget
            ? F2(sub, tgi_onnx_scalar_like(c, in, 1), in)
            : activate(c, &l->f, clipped(l, peep(l, 2, gate[2], *cell)));
    const tg_value candidate = activate(c, &l->g, clipped(l, gate[3]));
    *cell = F2(add, F2(mul, forget, *cell), F2(mul, in, candidate));
    const tg_value out =
        activate(c, &l->f, clipped(l, peep(l, 1, gate[1], *cell)));
    return F2(mul, out, activate(c, &l->h, *cell));
}

/* The body of the scan: states, then the input and the number of the step. */
static void step(tg_trace *t, const tg_value *in, void *user)
{
    const layer *l = user;
    const tgi_onnx_call *c = l->c;
    const bool has_cell = l->kind == CELL_LSTM;
    const tg_value h = in[0], x = in[has_cell + 1], number = in[has_cell + 2];
    tg_trace *outer = c->frame->t;
    c->frame->t = t;
    tg_value cell = has_cell ? in[1] : h;
    tg_value next = l->kind == CELL_RNN   ? step_rnn(l, x, h)
                    : l->kind == CELL_GRU ? step_gru(l, x, h)
                                          : step_lstm(l, x, h, &cell);
    tg_value out = next;
    if (tg_is_valid(l->lengths)) {
        const tg_value is_inside = F2(lt, number, l->lengths);
        out = F3(select, is_inside, next, tgi_onnx_scalar_like(c, next, 0));
        next = F3(select, is_inside, next, h);
        if (has_cell)
            cell = F3(select, is_inside, cell, in[1]);
    }
    if (has_cell)
        tg_return_at(t, (const tg_operand[]){TG_IN(next), TG_IN(cell), TG_IN(out)},
                     3, c->site);
    else
        tg_return_at(t, (const tg_operand[]){TG_IN(next), TG_IN(out)}, 2,
                     c->site);
    c->frame->t = outer;
}

/* -- Directions ------------------------------------------------------------ */

/* The part of input i that belongs to a direction; or invalid. */
static tg_value part_of(const tgi_onnx_call *c, size_t i, int direction)
{
    if (!tgi_onnx_has(c, i))
        return (tg_value){0, 0};
    const tg_value all = tgi_onnx_in(c, i);
    const tg_value one =
        tg_slice_at(TG_IN(all), 0, direction, direction + 1, 1, c->site);
    return tg_squeeze_at(TG_IN(one), tg_axes_of(1, (const int[]){0}), c->site);
}

static tg_value reversed(const tgi_onnx_call *c, const layer *l, tg_value x)
{
    if (!tg_is_valid(l->lengths))
        return tg_reverse_at(TG_IN(x), tg_axes_of(1, (const int[]){0}),
                             c->site);
    const tg_value lengths = tg_reshape_at(TG_IN(l->lengths), 1,
                                           (const int64_t[]){-1}, c->site);
    return tg_reverse_sequence_at(TG_IN(x), TG_IN(lengths), 1, 0, c->site);
}

/* Adds the biases to the products of the inputs x [steps, batch, inputs]. */
static tg_value project(const tgi_onnx_call *c, layer *l, tg_value x,
                        int direction)
{
    const tg_value w = part_of(c, 1, direction);
    const tg_value bias = part_of(c, 3, direction);
    tg_value all = tg_matmul_with_at(TG_IN(x), TG_IN(w), TG_TRANSPOSE_B,
                                     c->site);
    tg_value both[2];
    if (!tg_is_valid(bias)) {
        if (l->kind == CELL_GRU)
            l->recurrent_bias = tg_broadcast_at(
                TG_IN(tgi_onnx_scalar_like(c, x, 0)), 1,
                (const int64_t[]){tg_value_dim(all, -1)}, c->site);
        return all;
    }
    tg_split_at(TG_IN(bias), 0, 2, NULL, both, c->site);
    all = F2(add, all, both[0]);
    l->recurrent_bias = both[1];
    return l->kind == CELL_GRU ? all : F2(add, all, both[1]);
}

typedef struct results {
    tg_value y, last, cell; /* [steps, batch, hidden], [batch, hidden] */
} results;

static tg_value initial_state(const tgi_onnx_call *c, size_t i, int direction,
                              tg_value like, bool is_batch_first)
{
    if (!tgi_onnx_has(c, i))
        return tg_broadcast_at(TG_IN(tgi_onnx_scalar_like(c, like, 0)), 2,
                               (const int64_t[]){tg_value_dim(like, 1),
                                                 tgi_onnx_int(c, "hidden_size",
                                                              1)},
                               c->site);
    if (!is_batch_first)
        return part_of(c, i, direction);
    const tg_value one = tg_slice_at(TG_IN(tgi_onnx_in(c, i)), 1, direction,
                                     direction + 1, 1, c->site);
    return tg_squeeze_at(TG_IN(one), tg_axes_of(1, (const int[]){1}), c->site);
}

static results run_direction(const tgi_onnx_call *c, layer *l, tg_value x,
                             int direction, bool is_reverse,
                             bool is_batch_first)
{
    results r;
    const bool has_cell = l->kind == CELL_LSTM;
    if (is_reverse)
        x = reversed(c, l, x);
    l->recurrent = tg_transpose_at(TG_IN(part_of(c, 2, direction)), 2,
                                   (const int[]){1, 0}, c->site);
    const tg_value all = project(c, l, x, direction);
    const tg_value peepholes = has_cell ? part_of(c, 7, direction)
                                        : (tg_value){0, 0};
    memset(l->peephole, 0, sizeof(l->peephole));
    if (tg_is_valid(peepholes))
        tg_split_at(TG_IN(peepholes), 0, 3, NULL, l->peephole, c->site);
    const int64_t steps = tg_value_dim(x, 0);
    const tg_value numbers = tg_iota_at(TG_I64, 1, &steps, 0, c->site);
    const tg_operand initial[] = {
        TG_IN(initial_state(c, 5, direction, x, is_batch_first)),
        TG_IN(has_cell ? initial_state(c, 6, direction, x, is_batch_first)
                       : x)};
    const tg_operand sequences[] = {TG_IN(all), TG_IN(numbers)};
    tg_value last[2] = {{0, 0}, {0, 0}};
    tg_scan_at(step, l, initial, 1 + (size_t)has_cell, sequences, 2, last,
               1 + (size_t)has_cell, &r.y, 1, c->site);
    r.last = last[0];
    r.cell = last[1];
    if (is_reverse)
        r.y = reversed(c, l, r.y);
    return r;
}

/* -- Nodes ----------------------------------------------------------------- */

/* The results of the directions, with an axis of directions. */
static tg_value stack(const tgi_onnx_call *c, tg_value a, tg_value b, int n,
                      int axis)
{
    const tg_operand both[] = {TG_IN(a), TG_IN(b)};
    return tg_stack_at(axis, both, (size_t)n, c->site);
}

static void build_recurrent(const tgi_onnx_call *c, cell_kind kind,
                            const char *f, const char *g, const char *h)
{
    const bool is_batch_first = tgi_onnx_int(c, "layout", 0);
    const bool is_both = tgi_onnx_is(c, "direction", "bidirectional", "forward");
    const bool is_reverse = tgi_onnx_is(c, "direction", "reverse", "forward");
    const int n = is_both ? 2 : 1;
    const size_t n_activations = kind == CELL_LSTM ? 3 : kind == CELL_GRU ? 2 : 1;
    tg_value x = tgi_onnx_in(c, 0);
    results r[2] = {{{0, 0}, {0, 0}, {0, 0}}, {{0, 0}, {0, 0}, {0, 0}}};
    layer layers[2];
    if (tgi_onnx_in_rank(c, 0) != 3 || tgi_onnx_in_rank(c, 1) != 3 ||
        tgi_onnx_in_rank(c, 2) != 3) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "X, W or R does not have three axes");
        return;
    }
    if (is_batch_first)
        x = tg_transpose_at(TG_IN(x), 3, (const int[]){1, 0, 2}, c->site);
    for (int i = 0; i < n; i++) {
        const size_t first = (size_t)i * n_activations;
        layer *l = &layers[i];
        *l = (layer){
            .c = c,
            .kind = kind,
            .f = read_activation(c, first, f),
            .g = read_activation(c, first + 1, g),
            .h = read_activation(c, first + 2, h),
            .clip = tgi_onnx_float(c, "clip", 0),
            .resets_after_product = tgi_onnx_int(c, "linear_before_reset", 0),
            .couples_input_forget = tgi_onnx_int(c, "input_forget", 0),
        };
        if (tgi_onnx_has(c, 4)) {
            const tg_value lengths =
                tg_cast_at(TG_IN(tgi_onnx_in(c, 4)), TG_I64, c->site);
            l->lengths = tg_expand_dims_at(TG_IN(lengths), 1, c->site);
        }
        r[i] = run_direction(c, l, x, i, is_reverse || i == 1, is_batch_first);
    }
    const int state_axis = is_batch_first ? 1 : 0;
    /* [steps, directions, batch, hidden]; [batch, steps, directions, hidden] */
    tg_value y = stack(c, r[0].y, r[1].y, n, 1);
    if (is_batch_first)
        y = tg_transpose_at(TG_IN(y), 4, (const int[]){2, 0, 1, 3}, c->site);
    tgi_onnx_out(c, 0, y);
    tgi_onnx_out(c, 1, stack(c, r[0].last, r[1].last, n, state_axis));
    if (kind == CELL_LSTM)
        tgi_onnx_out(c, 2, stack(c, r[0].cell, r[1].cell, n, state_axis));
}

void tgi_onnx_build_rnn(const tgi_onnx_call *c)
{
    build_recurrent(c, CELL_RNN, "Tanh", "", "");
}

void tgi_onnx_build_gru(const tgi_onnx_call *c)
{
    build_recurrent(c, CELL_GRU, "Sigmoid", "Tanh", "");
}

void tgi_onnx_build_lstm(const tgi_onnx_call *c)
{
    build_recurrent(c, CELL_LSTM, "Sigmoid", "Tanh", "Tanh");
}

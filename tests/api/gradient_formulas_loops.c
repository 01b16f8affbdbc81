/* SPDX-License-Identifier: MIT */
/*
 * gradient_formulas_loops.c - branches and loops; their bodies receive outer
 * values through `user`. See gradient_formulas.h.
 */
#include "api/gradient_formulas.h"

/* -- Networks with a state ------------------------------------------------- */

/* Receives h, x. */
static void recurrent_step(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value *inputs = user;
    const tg_value w = inputs[2], u = inputs[3], b = inputs[4];
    const tg_value sum = tg_add(tg_matmul(in[1], w), tg_matmul(in[0], u));
    const tg_value h = tg_tanh(tg_add(sum, b));
    tg_return(t, h, h);
}

static tg_value recurrent(const tg_value *in)
{
    tg_value inputs[] = {in[0], in[1], in[2], in[3], in[4]}, h, all_h;
    tg_scan(recurrent_step, inputs, TG_ARGS(in[0]), TG_ARGS(in[1]), &h, 1,
            &all_h, 1);
    return tg_add(tg_sum(all_h, TG_ALL_AXES),
                  tg_sum(tg_mul(h, h), TG_ALL_AXES));
}

static tg_value gate(tg_value gates, int64_t i)
{
    return tg_slice(gates, 1, 2 * i, 2 * i + 2, 1);
}

/* Receives h, c, x. */
static void memory_step(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value *inputs = user;
    const tg_value w = inputs[0], u = inputs[1], b = inputs[2];
    const tg_value gates =
        tg_add(tg_add(tg_matmul_with(in[2], w, TG_TRANSPOSE_B),
                      tg_matmul_with(in[0], u, TG_TRANSPOSE_B)),
               b);
    const tg_value take = tg_sigmoid(gate(gates, 0));
    const tg_value keep = tg_sigmoid(gate(gates, 1));
    const tg_value give = tg_sigmoid(gate(gates, 3));
    const tg_value c = tg_add(tg_mul(keep, in[1]),
                              tg_mul(take, tg_tanh(gate(gates, 2))));
    const tg_value h = tg_mul(give, tg_tanh(c));
    tg_return(t, h, c, h);
}

static tg_value long_short_memory(const tg_value *in)
{
    tg_value inputs[] = {in[3], in[4], in[5]}, ends[2], ys;
    tg_scan(memory_step, inputs, TG_ARGS(in[0], in[1]), TG_ARGS(in[2]), ends,
            2, &ys, 1);
    return tg_mul(tg_sum(ys, TG_ALL_AXES), tg_sum(ends[1], TG_ALL_AXES));
}

/* -- An equation of motion ------------------------------------------------- */

static tg_value element(tg_value x, int64_t i)
{
    return tg_reshape(tg_slice(x, 0, i, i + 1, 1), TG_SCALAR);
}

static tg_value slope(tg_value rates, tg_value y)
{
    const tg_value prey = tg_slice(y, 0, 0, 1, 1);
    const tg_value predators = tg_slice(y, 0, 1, 2, 1);
    const tg_value a = element(rates, 0), b = element(rates, 1);
    const tg_value c = element(rates, 2), d = element(rates, 3);
    return tg_concat(0, tg_mul(prey, tg_sub(a, tg_mul(b, predators))),
                     tg_mul(predators, tg_sub(tg_mul(c, prey), d)));
}

/* Receives the iteration, y. */
static void runge_kutta(tg_trace *t, const tg_value *in, void *user)
{
    const double step = 0.125;
    const tg_value rates = *(const tg_value *)user, y = in[1];
    const tg_value k1 = slope(rates, y);
    const tg_value k2 = slope(rates, tg_add(y, tg_mul(0.5 * step, k1)));
    const tg_value k3 = slope(rates, tg_add(y, tg_mul(0.5 * step, k2)));
    const tg_value k4 = slope(rates, tg_add(y, tg_mul(step, k3)));
    const tg_value inner = tg_mul(2, tg_add(k2, k3));
    tg_return(t, tg_add(y, tg_mul(tg_add(tg_add(k1, inner), k4), step / 6)));
}

static tg_value predators_and_prey(const tg_value *in)
{
    tg_value rates = in[0], y;
    tg_for(12, runge_kutta, &rates, TG_ARGS(in[1]), &y, 1);
    return tg_mul(y, y);
}

/* -- Branches -------------------------------------------------------------- */

static void sine_times(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(tg_sin(in[0]), in[1]));
}

static void square_minus(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sub(tg_mul(in[0], in[0]), in[1]));
}

static tg_value either(tg_value a, tg_value b)
{
    const tg_value is_positive = tg_gt(tg_sum(tg_mul(a, b), TG_ALL_AXES), 0);
    tg_value y;
    tg_cond(is_positive, sine_times, square_minus, NULL, TG_ARGS(a, b), &y, 1);
    return y;
}

static tg_value branch(const tg_value *in)
{
    const tg_value x = in[0], y = in[1];
    return tg_mul(either(x, y), either(x, tg_neg(y)));
}

static void way_0(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_exp(in[0]));
}

static void way_1(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_tanh(in[0]));
}

static void way_2(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, cube(in[0]));
}

static tg_value way(tg_value i, tg_value x)
{
    static tg_callback *const ways[] = {way_0, way_1, way_2};
    tg_value y;
    tg_switch(i, ways, 3, NULL, TG_ARGS(x), &y, 1);
    return y;
}

static tg_value one_of_three(const tg_value *in)
{
    const tg_value x = in[0], i = in[1];
    const tg_value y = tg_mul(way(i, x), way(tg_sub(i, 1), x));
    return tg_add(y, way(tg_mul(i, 0), x));
}

/* -- Loops that end by themselves ------------------------------------------ */

static void is_large(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_gt(tg_sum(in[0], TG_ALL_AXES), 3));
}

static void about_half(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value a = *(const tg_value *)user;
    const tg_value factor = tg_add(0.5, tg_mul(0.125, tg_sin(a)));
    tg_return(t, tg_mul(in[0], factor));
}

static tg_value halved_until_small(const tg_value *in)
{
    tg_value a = in[1], y;
    tg_while(is_large, about_half, &a, TG_ARGS(in[0]), &y, 1);
    return tg_mul(y, y);
}

static void is_off(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value sum = *(const tg_value *)user, y = in[0];
    tg_return(t, tg_gt(tg_abs(tg_sub(tg_mul(y, y), sum)), 0.001));
}

static void newton_step(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value sum = *(const tg_value *)user, y = in[0];
    tg_return(t, tg_mul(0.5, tg_add(y, tg_div(sum, y))));
}

static tg_value newton_root(const tg_value *in)
{
    tg_value sum = tg_sum(in[0], TG_ALL_AXES), y;
    const tg_value one = tg_scalar(tg_value_dtype(in[0]), 1);
    tg_while(is_off, newton_step, &sum, TG_ARGS(one), &y, 1);
    return y;
}

/* -- Loops in loops -------------------------------------------------------- */

/* Receives j, y. */
static void inner_step(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value x = *(const tg_value *)user;
    const tg_value j = tg_cast(in[0], tg_value_dtype(x));
    tg_return(t, tg_add(tg_mul(tg_sin(in[1]), x), j));
}

/* Receives i, y. */
static void outer_step(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y;
    tg_for(in[0], inner_step, user, TG_ARGS(in[1]), &y, 1);
    tg_return(t, tg_add(y, tg_cast(in[0], tg_value_dtype(y))));
}

static tg_value nested_loops(const tg_value *in)
{
    tg_value x = in[0], y;
    tg_for(in[1], outer_step, &x, TG_ARGS(x), &y, 1);
    return y;
}

/* Receives the iteration, y. */
static void squash(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value x = *(const tg_value *)user;
    tg_return(t, tg_tanh(tg_add(in[1], x)));
}

/* Receives y, x. */
static void squash_often(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = in[1], y;
    tg_for(3, squash, &x, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

static void multiply(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], in[1]));
}

static void branching_step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value is_positive = tg_gt(tg_sum(in[1], TG_ALL_AXES), 0);
    tg_value y;
    tg_cond(is_positive, squash_often, multiply, NULL, TG_ARGS(in[0], in[1]),
            &y, 1);
    tg_return(t, y);
}

static tg_value loop_in_branch_in_loop(const tg_value *in)
{
    tg_value y;
    tg_scan(branching_step, NULL, TG_ARGS(in[1]), TG_ARGS(in[0]), &y, 1, NULL,
            0);
    return y;
}

static void weighted_softmax(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value w = *(const tg_value *)user;
    tg_return(t, tg_softmax(tg_mul(in[0], w), 0));
}

static tg_value mapped(const tg_value *in)
{
    tg_value w = in[1], ys;
    tg_map(weighted_softmax, &w, TG_ARGS(in[0]), &ys, 1);
    return tg_square(ys);
}

/* -- Custom gradients ------------------------------------------------------ */

/* Receives x, w. */
static void two_layers(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value h = tg_sin(tg_matmul(in[0], in[1]));
    tg_return(t, tg_tanh(tg_matmul(h, in[1])));
}

static tg_value recomputed(const tg_value *in)
{
    const tg_value w = in[1];
    tg_value x;
    tg_checkpoint(two_layers, NULL, TG_ARGS(in[0], w), &x, 1);
    tg_checkpoint(two_layers, NULL, TG_ARGS(x, w), &x, 1);
    return x;
}

static void harden(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sign(in[0]));
}

/* Receives x, its sign, the gradient of the latter. */
static void pass_on(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, in[2]);
}

static tg_value straight_through(const tg_value *in)
{
    tg_value hard;
    tg_custom_gradient(harden, pass_on, NULL, TG_ARGS(in[0]), &hard, 1);
    return tg_mul(cube(hard), tg_iota(tg_value_dtype(hard), TG_DIMS(4), 0));
}

/* Receives the iteration, w. */
static void descend(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value *inputs = user, w = in[1];
    const tg_value x = inputs[0], y = inputs[1];
    const tg_value off = tg_sub(tg_tanh(tg_matmul(x, w)), y);
    const tg_value loss = tg_mean(tg_square(off), TG_ALL_AXES);
    tg_return(t, tg_sub(w, tg_mul(0.25, tg_gradient(loss, w))));
}

static tg_value gradient_descent(const tg_value *in)
{
    tg_value inputs[] = {in[1], in[2]}, w;
    tg_for(3, descend, inputs, TG_ARGS(in[0]), &w, 1);
    return tg_mul(w, in[0]);
}

const formula loops_formulas[] = {
    FORMULA(recurrent),
    FORMULA(long_short_memory),
    FORMULA(predators_and_prey),
    FORMULA(branch),
    FORMULA(one_of_three),
    FORMULA(halved_until_small),
    FORMULA(newton_root),
    FORMULA(nested_loops),
    FORMULA(loop_in_branch_in_loop),
    FORMULA(mapped),
    FORMULA(recomputed),
    FORMULA(straight_through),
    FORMULA(gradient_descent),
    FORMULAS_END,
};

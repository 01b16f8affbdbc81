/* SPDX-License-Identifier: MIT */
/*
 * case_loops.c - loops inside a function: the cost of an iteration with a small
 * and with a large body.
 */
#include "cases.h"

/* -- scan_3x3: c = a*c + x, stacking every c ------------------------------- */

static void trace_scan_step(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value a = *(const tg_value *)user, x = in[1];
    const tg_value next = tg_add(tg_matmul(a, in[0]), x);
    tg_return(t, next, next);
}

tg_value scan_of(const tg_value *in, tg_value *out_last)
{
    tg_value a = in[2], all;
    tg_scan(trace_scan_step, &a, TG_ARGS(in[1]), TG_ARGS(in[0]), out_last, 1,
            &all, 1);
    return all;
}

static void trace_scan(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value last;
    const tg_value all = scan_of(in, &last);
    tg_return(t, last, all);
}

const tensor_case scan_case = {
    .callback = trace_scan,
    .kernels = BY_HAND(scan_3x3),
    .inputs = {INPUT(TG_F32, SHAPE_WHOLE, -1, 1),
               INPUT(TG_F32, SHAPE(3, 3), -1, 1),
               INPUT(TG_F32, SHAPE(3, 3), -0.3, 0.3)},
    .results = {{TG_F32, SHAPE(3, 3)}, {TG_F32, SHAPE(COLUMNS, 3, 3)}},
    .absolute = 1e-5,
    .expression = "scan_3x3",
    .engines = ENGINE(BACKEND_JAX) | ENGINE(BACKEND_NUMBA),
};

const case_size scan_sizes[] = {
    SIZE_TIMED("scan_3x3", 0, 10000),
    SIZE_CHECKED("scan_3x3_1", 0, 1),
    SIZE_CHECKED("scan_3x3_37", 0, 37),
    SIZES_END,
};

/* -- lorenz ---------------------------------------------------------------- */

static void trace_lorenz_step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = in[1], y = in[2], z = in[3];
    const tg_value dx = tg_mul(tg_sub(y, x), 10.0);
    const tg_value dy = tg_sub(tg_mul(x, tg_sub(28.0, z)), y);
    const tg_value dz = tg_sub(tg_mul(x, y), tg_mul(z, 8.0 / 3));
    tg_return(t, tg_add(x, tg_mul(dx, LORENZ_STEP)),
              tg_add(y, tg_mul(dy, LORENZ_STEP)),
              tg_add(z, tg_mul(dz, LORENZ_STEP)));
}

static void trace_lorenz_loop(tg_trace *t, const tg_value *in,
                              tg_callback *step)
{
    tg_value end[3];
    tg_for(LORENZ_STEPS, step, NULL, TG_ARGS(in[0], in[1], in[2]), end, 3);
    tg_return(t, end[0], end[1], end[2]);
}

static void trace_lorenz(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    trace_lorenz_loop(t, in, trace_lorenz_step);
}

#define LORENZ_CASE(trace, the_expression) \
    { \
        .callback = trace, \
        .kernels = {[BACKEND_C] = plain_lorenz}, \
        .inputs = {INPUT_SCALAR(TG_F64, 1), INPUT_SCALAR(TG_F64, 1), \
                   INPUT_SCALAR(TG_F64, 1)}, \
        .results = {{TG_F64, SHAPE_SCALAR}, \
                    {TG_F64, SHAPE_SCALAR}, \
                    {TG_F64, SHAPE_SCALAR}}, \
        .absolute = 1e-8, .expression = the_expression, \
        .engines = ENGINE(BACKEND_JAX) | ENGINE(BACKEND_NUMBA), \
    }

const tensor_case lorenz_case = LORENZ_CASE(trace_lorenz, "lorenz");

const case_size lorenz_sizes[] = {
    SIZE_TIMED("lorenz", 0, LORENZ_STEPS),
    SIZES_END,
};

/* -- lorenz_assert: the same with an assert in every step ------------------ */

static void trace_lorenz_assert_step(tg_trace *t, const tg_value *in,
                                     void *user)
{
    tg_assert(t, tg_lt(tg_abs(in[1]), 100.0), "x is %v in step %v", in[1],
              in[0]);
    trace_lorenz_step(t, in, user);
}

static void trace_lorenz_assert(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    trace_lorenz_loop(t, in, trace_lorenz_assert_step);
}

const tensor_case lorenz_assert_case = LORENZ_CASE(trace_lorenz_assert, NULL);

const case_size lorenz_assert_sizes[] = {
    SIZE_TIMED("lorenz_assert", 0, LORENZ_STEPS),
    SIZES_END,
};

/* -- wave_1d: a string with fixed ends ------------------------------------- */

/* Receives the iteration, the previous state and the current one. */
static void trace_wave_step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value before = tg_slice(in[1], 0, 1, -1, 1), now = in[2];
    const tg_value left = tg_slice(now, 0, 0, -2, 1);
    const tg_value here = tg_slice(now, 0, 1, -1, 1);
    const tg_value right = tg_slice(now, 0, 2, TG_END, 1);
    const tg_value bend = tg_sub(tg_add(left, right), tg_mul(here, 2.0));
    const tg_value on = tg_sub(tg_mul(here, 2.0), before);
    const tg_value inner = tg_add(on, tg_mul(bend, WAVE_SPEED));
    const tg_value end = tg_broadcast(tg_scalar(TG_F64, 0.0), TG_DIMS(1));
    tg_return(t, now, tg_concat(0, end, inner, end));
}

static void trace_wave(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value end[2];
    tg_for(WAVE_STEPS, trace_wave_step, NULL, TG_ARGS(in[0], in[1]), end, 2);
    tg_return(t, end[0], end[1]);
}

const tensor_case wave_case = {
    .callback = trace_wave,
    .kernels = {[BACKEND_C] = plain_wave_1d},
    .inputs = {INPUT(TG_F64, SHAPE_WHOLE, -1, 1),
               INPUT(TG_F64, SHAPE_WHOLE, -1, 1)},
    .results = {{TG_F64, SHAPE_WHOLE}, {TG_F64, SHAPE_WHOLE}},
    .absolute = 1e-8,
    .expression = "wave_1d",
    .engines = ENGINE(BACKEND_JAX) | ENGINE(BACKEND_NUMBA),
};

const case_size wave_sizes[] = {
    SIZE_TIMED("wave_1d", 0, 4096),
    SIZE_CHECKED("wave_1d_3", 0, 3),
    SIZE_CHECKED("wave_1d_37", 0, 37),
    SIZES_END,
};

/* -- while_1ms: the chain, repeated ---------------------------------------- */

/* The loop values are x and the number of iterations done. */
static void trace_while_test(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_lt(in[1], WHILE_ITERATIONS));
}

static void trace_while_step(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value *others = user; /* a, b, c of the chain */
    tg_return(t, chain_of(in[0], others[0], others[1], others[2]),
              tg_add(in[1], 1));
}

static void trace_while(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value others[] = {in[1], in[2], in[3]}, end[2];
    tg_while(trace_while_test, trace_while_step, others,
             TG_ARGS(in[0], (int64_t)0), end, 2);
    tg_return(t, end[0]);
}

const tensor_case while_case = {
    .callback = trace_while,
    .step = trace_chain,
    .steps = WHILE_ITERATIONS,
    .inputs = {INPUT(TG_F32, SHAPE_WHOLE, -4, 4),
               INPUT_SCALAR(TG_F32, 1.25),
               INPUT_SCALAR(TG_F32, 0.1),
               INPUT_SCALAR(TG_F32, -0.75)},
    .results = {{TG_F32, SHAPE_WHOLE}},
    .scratch = SHAPE_WHOLE,
};

const case_size while_sizes[] = {
    SIZE_TIMED("while_1ms", 0, 1000000),
    SIZE_CHECKED("while_1", 0, 1),
    SIZE_CHECKED("while_1003", 0, 1003),
    SIZES_END,
};

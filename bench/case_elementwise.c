/* SPDX-License-Identifier: MIT */
/*
 * case_elementwise.c - elementwise cases.
 */
#include "cases.h"

/* -- chain: tanh(a*x + b) * sigmoid(c*x) - 0.5*x --------------------------- */

tg_value chain_of(tg_value x, tg_value a, tg_value b, tg_value c)
{
    const tg_value product = tg_mul(tg_tanh(tg_add(tg_mul(a, x), b)),
                                    tg_sigmoid(tg_mul(c, x)));
    return tg_sub(product, tg_mul(0.5f, x));
}

void trace_chain(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, chain_of(in[0], in[1], in[2], in[3]));
}

const tensor_case chain_case = {
    .callback = trace_chain,
    .kernels = BY_HAND(chain),
    .inputs = {INPUT(TG_F32, SHAPE_WHOLE, -4, 4), INPUT_SCALAR(TG_F32, 1.25),
               INPUT_SCALAR(TG_F32, 0.1), INPUT_SCALAR(TG_F32, -0.75)},
    .results = {{TG_F32, SHAPE_WHOLE}},
    .absolute = 2e-6,
    .relative = 1e-6,
    .has_fast_accuracy = true,
    .expression = "chain",
    .engines = ENGINES_ELEMENTWISE,
};

const case_size chain_sizes[] = {
    SIZE_TIMED("1e5", 0, 100000),
    SIZE_TIMED("1e6", 0, 1000000),
    {"1e7", 0, 10000000, 0, 0, SIZE_ON_REQUEST},
    SIZE_CHECKED("1", 0, 1),
    SIZE_CHECKED("15", 0, 15),
    SIZE_CHECKED("1003", 0, 1003),
    SIZES_END,
};

/* Beside processes that compute. */
const case_size busy_chain_sizes[] = {
    SIZE_TIMED("1e6", 0, 1000000),
    SIZES_END,
};

/* -- black_scholes --------------------------------------------------------- */

static tg_value normal_cdf(tg_value x)
{
    return tg_add(tg_mul(0.5, tg_erf(tg_mul(x, 0x1.6a09e667f3bcdp-1))), 0.5);
}

static void trace_black_scholes(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value spot = in[0], strike = in[1], years = in[2];
    const tg_value rate = in[3], volatility = in[4];
    const tg_value drift =
        tg_add(tg_mul(tg_mul(volatility, 0.5), volatility), rate);
    const tg_value spread = tg_mul(volatility, tg_sqrt(years));
    const tg_value d1 =
        tg_div(tg_add(tg_mul(drift, years), tg_log(tg_div(spot, strike))),
               spread);
    const tg_value d2 = tg_sub(d1, spread);
    const tg_value owed =
        tg_mul(strike, tg_exp(tg_mul(tg_neg(rate), years)));
    const tg_value n1 = normal_cdf(d1), n2 = normal_cdf(d2);
    const tg_value call = tg_sub(tg_mul(spot, n1), tg_mul(owed, n2));
    const tg_value put = tg_sub(tg_mul(owed, tg_sub(1, n2)),
                                tg_mul(spot, tg_sub(1, n1)));
    tg_return(t, call, put);
}

const tensor_case black_scholes_case = {
    .callback = trace_black_scholes,
    .kernels = BY_HAND(black_scholes),
    .inputs = {INPUT(TG_F64, SHAPE_WHOLE, 5, 150),
               INPUT(TG_F64, SHAPE_WHOLE, 5, 150),
               INPUT(TG_F64, SHAPE_WHOLE, 0.1, 5), INPUT_SCALAR(TG_F64, 0.03),
               INPUT_SCALAR(TG_F64, 0.25)},
    .results = {{TG_F64, SHAPE_WHOLE}, {TG_F64, SHAPE_WHOLE}},
    .absolute = 1e-11,
    .relative = 1e-12,
    .has_fast_accuracy = true,
    .expression = "black_scholes",
    /* NumPy has no erf, ONNX Runtime none of f64. */
    .engines =
        ENGINES_LOOP & ~ENGINE(BACKEND_NUMPY) & ~ENGINE(BACKEND_ONNXRUNTIME),
};

const case_size black_scholes_sizes[] = {
    SIZE_TIMED("1e6", 0, 1000000),
    SIZE_CHECKED("3", 0, 3),
    SIZE_CHECKED("1003", 0, 1003),
    SIZES_END,
};

/* -- scale, axpy, copy ----------------------------------------------------- */

static void trace_scale(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[1], in[0]));
}

static void trace_axpy(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(tg_mul(in[2], in[0]), in[1]));
}

static void trace_copy(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, in[0]);
}

const tensor_case scale_case = {
    .callback = trace_scale,
    .kernels = BY_HAND(scale),
    .inputs = {INPUT(TG_F32, SHAPE_WHOLE, -1, 1), INPUT_SCALAR(TG_F32, 1.7)},
    .results = {{TG_F32, SHAPE_WHOLE}},
    .expression = "scale",
    .engines = ENGINES_ELEMENTWISE,
};

const tensor_case axpy_case = {
    .callback = trace_axpy,
    .kernels = BY_HAND(axpy),
    .inputs = {INPUT(TG_F32, SHAPE_WHOLE, -1, 1),
               INPUT(TG_F32, SHAPE_WHOLE, -1, 1),
               INPUT_SCALAR(TG_F32, 1.7)},
    .results = {{TG_F32, SHAPE_WHOLE}},
    .absolute = 1e-6,
    .expression = "axpy",
    .engines = ENGINES_ELEMENTWISE,
};

const tensor_case copy_case = {
    .callback = trace_copy,
    .kernels = BY_HAND(copy),
    .inputs = {INPUT(TG_F32, SHAPE_WHOLE, -1, 1)},
    .results = {{TG_F32, SHAPE_WHOLE}},
    .expression = "copy",
    /* TensorFlow elides copies. */
    .engines = ENGINES_ELEMENTWISE & ~ENGINE(BACKEND_TENSORFLOW) &
               ~ENGINE(BACKEND_TENSORFLOW_XLA),
};

const case_size stream_sizes[] = {
    SIZE_TIMED("64MiB", 0, 16 << 20),
    SIZE_CHECKED("1", 0, 1),
    SIZE_CHECKED("1003", 0, 1003),
    SIZES_END,
};

/* -- Growth with the number of elements ------------------------------------ */

#define SIZE_CURVE(label, n) {label, 0, n, 0, 0, SIZE_OF_CURVE}

const case_size chain_curve[] = {
    SIZE_CURVE("1e3", 1000),     SIZE_CURVE("1e4", 10000),
    SIZE_CURVE("1e5", 100000),   SIZE_CURVE("1e6", 1000000),
    SIZE_CURVE("1e7", 10000000), SIZES_END,
};

const case_size axpy_curve[] = {
    SIZE_CURVE("1e3", 1000),
    SIZE_CURVE("3e3", 3000),
    SIZE_CURVE("1e4", 10000),
    SIZE_CURVE("3e4", 30000),
    SIZE_CURVE("1e5", 100000),
    SIZE_CURVE("3e5", 300000),
    SIZE_CURVE("1e6", 1000000),
    SIZE_CURVE("3e6", 3000000),
    SIZE_CURVE("1e7", 10000000),
    SIZE_CURVE("1e8", 100000000),
    SIZES_END,
};

/* -- add: few elements, so that the call dominates ------------------------- */

static void trace_add(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], in[1]));
}

#define ADD_OF(second, called) \
    { \
        .callback = trace_add, .kernels = BY_HAND(add), \
        .inputs = {INPUT(TG_F32, SHAPE_WHOLE, -1, 1), \
                   second(TG_F32, SHAPE_WHOLE, -1, 1)}, \
        .results = {{TG_F32, SHAPE_WHOLE}}, .is_called = called, \
    }

const tensor_case run_case = ADD_OF(INPUT, false);
const tensor_case run_group_case = ADD_OF(INPUT_VARIABLE, false);
const tensor_case call_case = ADD_OF(INPUT, true);

const case_size add_sizes[] = {
    SIZE_TIMED("16", 0, 16),
    SIZE_CHECKED("3", 0, 3),
    SIZES_END,
};

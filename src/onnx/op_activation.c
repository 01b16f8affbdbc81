/* SPDX-License-Identifier: MIT */
/*
 * op_activation.c - activation functions with parameters.
 */
#include "onnx_run.h"

static tg_value parameter(const tgi_onnx_call *c, const char *name,
                          double otherwise)
{
    return tgi_onnx_scalar_like(c, tgi_onnx_in(c, 0),
                                tgi_onnx_float(c, name, otherwise));
}

void tgi_onnx_build_celu(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0, F2(celu, tgi_onnx_in(c, 0), parameter(c, "alpha", 1)));
}

void tgi_onnx_build_elu(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0, F2(elu, tgi_onnx_in(c, 0), parameter(c, "alpha", 1)));
}

void tgi_onnx_build_gelu(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    tgi_onnx_out(c, 0,
                 tgi_onnx_is(c, "approximate", "tanh", "none")
                     ? F1(gelu_tanh, x)
                     : F1(gelu, x));
}

void tgi_onnx_build_hard_sigmoid(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0, F3(hard_sigmoid, tgi_onnx_in(c, 0),
                          parameter(c, "alpha", (double)0.2f),
                          parameter(c, "beta", 0.5)));
}

void tgi_onnx_build_leaky_relu(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0, F2(leaky_relu, tgi_onnx_in(c, 0),
                          parameter(c, "alpha", (double)0.01f)));
}

/* Before opset 7 a slope with one axis is one per channel. */
void tgi_onnx_build_prelu(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    tg_value slope = tgi_onnx_in(c, 1);
    int64_t dims[TG_MAX_RANK] = {tg_value_dim(slope, 0)};
    const int rank = tg_value_rank(x);
    if (c->opset < 7 && tg_value_rank(slope) == 1 && rank > 2) {
        for (int i = 1; i < rank - 1; i++)
            dims[i] = 1;
        slope = tg_reshape_at(TG_IN(slope), rank - 1, dims, c->site);
    }
    tgi_onnx_out(c, 0, F2(prelu, x, slope));
}

/* gamma * (x if x > 0, else alpha * (exp(x) - 1)) */
void tgi_onnx_build_selu(const tgi_onnx_call *c)
{
    const bool is_old = c->opset < 6;
    const tg_value alpha = parameter(
        c, "alpha", is_old ? (double)1.6732f : (double)1.67326319217681884766f);
    const tg_value gamma = parameter(
        c, "gamma", is_old ? (double)1.0507f : (double)1.05070102214813232422f);
    tgi_onnx_out(c, 0,
                 F2(mul, gamma, F2(elu, tgi_onnx_in(c, 0), alpha)));
}

void tgi_onnx_build_shrink(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0, F3(shrink, tgi_onnx_in(c, 0),
                          parameter(c, "lambd", 0.5), parameter(c, "bias", 0)));
}

void tgi_onnx_build_thresholded_relu(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0, F2(thresholded_relu, tgi_onnx_in(c, 0),
                          parameter(c, "alpha", 1)));
}

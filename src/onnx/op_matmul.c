/* SPDX-License-Identifier: MIT */
/*
 * op_matmul.c - matrix products.
 */
#include <string.h>

#include "onnx_run.h"

void tgi_onnx_build_matmul(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0,
                 tg_matmul_with_at(TG_IN(tgi_onnx_in(c, 0)),
                                   TG_IN(tgi_onnx_in(c, 1)), TG_MATMUL_PLAIN,
                                   c->site));
}

/* x times a number, unless it is 1. */
static tg_value times(const tgi_onnx_call *c, tg_value x, double factor)
{
    return factor == 1 ? x : F2(mul, x, tgi_onnx_scalar_like(c, x, factor));
}

void tgi_onnx_build_gemm(const tgi_onnx_call *c)
{
    const int flags = (tgi_onnx_int(c, "transA", 0) ? TG_TRANSPOSE_A : 0) |
                      (tgi_onnx_int(c, "transB", 0) ? TG_TRANSPOSE_B : 0);
    const double alpha = tgi_onnx_float(c, "alpha", 1);
    const double beta = tgi_onnx_float(c, "beta", 1);
    const tg_value a = tgi_onnx_in(c, 0), b = tgi_onnx_in(c, 1);
    if (tgi_onnx_is_float(tg_value_dtype(a)) && tgi_onnx_has(c, 2)) {
        tgi_onnx_out(c, 0,
                     tg_gemm_at(TG_IN(a), TG_IN(b), TG_IN(tgi_onnx_in(c, 2)),
                                alpha, beta, flags, c->site));
        return;
    }
    tg_value y = times(
        c, tg_matmul_with_at(TG_IN(a), TG_IN(b), flags, c->site), alpha);
    if (tgi_onnx_has(c, 2))
        y = F2(add, y, times(c, tgi_onnx_in(c, 2), beta));
    tgi_onnx_out(c, 0, y);
}

void tgi_onnx_build_einsum(const tgi_onnx_call *c)
{
    const Onnx__AttributeProto *a = tgi_onnx_attribute(c, "equation");
    tg_operand parts[16];
    char labels[256];
    size_t n = 0;
    if (!a || c->node->n_inputs > 16 || a->s.len >= sizeof(labels)) {
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                      "no equation, or one of more than 16 operands");
        return;
    }
    for (size_t i = 0; i < a->s.len; i++)
        if (a->s.data[i] != ' ')
            labels[n++] = (char)a->s.data[i];
    labels[n] = 0;
    for (size_t i = 0; i < c->node->n_inputs; i++)
        parts[i] = TG_IN(tgi_onnx_in(c, i));
    tgi_onnx_out(c, 0, tg_einsum_at(labels, parts, c->node->n_inputs, c->site));
}

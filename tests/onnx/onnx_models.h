/* SPDX-License-Identifier: MIT */
/* onnx_models.h - small models, for tests and as seeds of mutants. */
#ifndef TGI_TEST_ONNX_MODELS_H
#define TGI_TEST_ONNX_MODELS_H

#include <stdbool.h>

#include "onnx/onnx_messages.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

/* y = relu(x w + b), for x [n, 2]. */
static inline proto dense_model(void)
{
    static const float w[] = {1, -1, 2, 0.5f, 1, 3}, b[] = {0.5f, 0, -1};
    proto g = {.n = 0};
    const proto w_initial =
        tensor("w", MESSAGE_F32, 2, DIMS(2, 3), w, sizeof(w));
    const proto b_initial = tensor("b", MESSAGE_F32, 1, DIMS(3), b, sizeof(b));
    const proto gemm = node("Gemm", "x,w,b", "h");
    const proto relu = node("Relu", "h", "y");
    add_initial(&g, &w_initial);
    add_initial(&g, &b_initial);
    add_node(&g, &gemm);
    add_node(&g, &relu);
    add_in(&g, "x", MESSAGE_F32, 2, DIMS(-1, 2));
    add_out(&g, "y");
    return model(&g, 13);
}

/* y = reshape(x, [shape(x)[0], shape(x)[1] * 3]) for x [n, 2, 3]. */
static inline proto shape_chain(void)
{
    proto g = {.n = 0};
    const proto nodes[] = {
        node("Shape", "x", "s"),         node("Gather", "s,zero", "n"),
        node("Gather", "s,one", "m"),    node("Mul", "m,three", "k"),
        node("Concat", "n,k", "target"), node("Reshape", "x,target", "y")};
    add_ints(&g, "zero", 1, DIMS(0));
    add_ints(&g, "one", 1, DIMS(1));
    add_ints(&g, "three", 1, DIMS(3));
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        proto n = nodes[i];
        if (i == 4)
            set_int(&n, "axis", 0);
        add_node(&g, &n);
    }
    add_in(&g, "x", MESSAGE_F32, 3, DIMS(-1, -1, 3));
    add_out(&g, "y");
    return model(&g, 13);
}

static inline proto reshape_by_input(void)
{
    proto g = {.n = 0};
    const proto reshape = node("Reshape", "x,shape", "y");
    add_node(&g, &reshape);
    add_in(&g, "x", MESSAGE_F32, 1, DIMS(6));
    add_in(&g, "shape", MESSAGE_I64, 1, DIMS(2));
    add_out(&g, "y");
    return model(&g, 13);
}

/* y = c ? x + x : -x, where the branches use the value of the outer graph. */
static inline proto branch_model(void)
{
    proto then = {.n = 0}, otherwise = {.n = 0}, g = {.n = 0};
    const proto add = node("Add", "x,x", "a"), neg = node("Neg", "x", "b");
    add_node(&then, &add);
    add_out(&then, "a");
    add_node(&otherwise, &neg);
    add_out(&otherwise, "b");
    proto branch = node("If", "c", "y");
    set_graph(&branch, "then_branch", &then);
    set_graph(&branch, "else_branch", &otherwise);
    add_node(&g, &branch);
    add_in(&g, "c", MESSAGE_BOOL, 0, NULL);
    add_in(&g, "x", MESSAGE_F32, 0, NULL);
    add_out(&g, "y");
    return model(&g, 13);
}

/* Doubles x while it is below 100, at most n times. */
static inline proto loop_model(void)
{
    static const float limit = 100;
    proto body = {.n = 0}, g = {.n = 0};
    const proto bound =
        tensor("limit", MESSAGE_F32, 0, NULL, &limit, sizeof(limit));
    const proto twice = node("Add", "v,v", "w");
    const proto less = node("Less", "w,limit", "go");
    add_in(&body, "i", MESSAGE_I64, 0, NULL);
    add_in(&body, "c", MESSAGE_BOOL, 0, NULL);
    add_in(&body, "v", MESSAGE_F32, 0, NULL);
    add_node(&body, &twice);
    add_node(&body, &less);
    add_out(&body, "go");
    add_out(&body, "w");
    proto loop = node("Loop", "n,,x", "y");
    set_graph(&loop, "body", &body);
    add_initial(&g, &bound);
    add_node(&g, &loop);
    add_in(&g, "n", MESSAGE_I64, 0, NULL);
    add_in(&g, "x", MESSAGE_F32, 0, NULL);
    add_out(&g, "y");
    return model(&g, 13);
}

/* slope(x) is LeakyRelu with its attribute alpha, which has a default. */
static inline proto function_model(bool gives_alpha)
{
    proto g = {.n = 0}, usual = {.n = 0};
    proto f = function("slope", "p", "q", 13);
    proto leaky = node("LeakyRelu", "p", "q");
    set_reference(&leaky, "alpha", "alpha");
    put_message(&f, 7, &leaky);
    put_text(&usual, 1, "alpha");
    put_float(&usual, 2, 0.5f);
    put_int(&usual, 20, 1);
    put_message(&f, 11, &usual);
    proto call = node("slope", "x", "y");
    put_text(&call, 7, "local");
    if (gives_alpha)
        set_float(&call, "alpha", 0.25f);
    add_node(&g, &call);
    add_in(&g, "x", MESSAGE_F32, 0, NULL);
    add_out(&g, "y");
    proto m = model(&g, 13);
    put_message(&m, 25, &f);
    return m;
}

/* y = (x - p) (w - q) for bytes x, w with their zero points, one per row of x
   and one per column of w. */
static inline proto integer_product(int64_t m, int64_t k, int64_t n)
{
    proto g = {.n = 0};
    const proto product = node("MatMulInteger", "x,w,p,q", "y");
    add_node(&g, &product);
    add_in(&g, "x", MESSAGE_U8, 2, DIMS(m, k));
    add_in(&g, "w", MESSAGE_I8, 2, DIMS(k, n));
    add_in(&g, "p", MESSAGE_U8, 1, DIMS(m));
    add_in(&g, "q", MESSAGE_I8, 1, DIMS(n));
    add_out(&g, "y");
    return model(&g, 13);
}

/* The same of a convolution with windows at even positions of x, which begin in
   its border; one zero point per filter. */
static inline proto integer_convolution(const int64_t *x, const int64_t *w)
{
    proto g = {.n = 0};
    proto conv = node("ConvInteger", "x,w,p,q", "y");
    set_ints(&conv, "pads", 4, DIMS(1, 1, 0, 0));
    set_ints(&conv, "strides", 2, DIMS(2, 2));
    add_node(&g, &conv);
    add_in(&g, "x", MESSAGE_U8, 4, x);
    add_in(&g, "w", MESSAGE_I8, 4, w);
    add_in(&g, "p", MESSAGE_U8, 0, NULL);
    add_in(&g, "q", MESSAGE_I8, 1, w);
    add_out(&g, "y");
    return model(&g, 13);
}

#endif /* TGI_TEST_ONNX_MODELS_H */

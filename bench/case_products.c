/* SPDX-License-Identifier: MIT */
/*
 * case_products.c - matrix products, and layers that contain them. Sizes are
 * rows x inner x columns, preceded by the batch if there is one.
 */
#include "cases.h"

/* -- matmul ---------------------------------------------------------------- */

static void trace_matmul(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul(in[0], in[1]));
}

#define MATMUL_OF(dtype, tolerance, ...) \
    { \
        .callback = trace_matmul, .kernels = {__VA_ARGS__}, \
        .inputs = {INPUT(dtype, SHAPE_LEFT, -1, 1), \
                   INPUT(dtype, SHAPE_RIGHT, -1, 1)}, \
        .results = {{dtype, SHAPE_WHOLE}}, .absolute = tolerance, \
        .expression = "matmul", .engines = ENGINES_ARRAY, \
    }

const tensor_case matmul_case =
    MATMUL_OF(TG_F32, 1e-4, [BACKEND_C] = plain_matmul,
              [BACKEND_OPENBLAS] = openblas_matmul,
              [BACKEND_BLIS] = blis_matmul, [BACKEND_ONEDNN] = onednn_matmul);

/* Small enough for LIBXSMM's kernels, which do not block. */
const tensor_case small_matmul_case =
    MATMUL_OF(TG_F32, 1e-4, [BACKEND_C] = plain_matmul,
              [BACKEND_OPENBLAS] = openblas_matmul,
              [BACKEND_BLIS] = blis_matmul, [BACKEND_ONEDNN] = onednn_matmul,
              [BACKEND_LIBXSMM] = libxsmm_matmul);

const tensor_case matmul_f64_case =
    MATMUL_OF(TG_F64, 1e-12, [BACKEND_C] = plain_matmul_f64,
              [BACKEND_OPENBLAS] = openblas_matmul_f64,
              [BACKEND_BLIS] = blis_matmul_f64);

const case_size small_matmul_sizes[] = {
    SIZE_PRODUCT("1000x8x8x8", 1000, 8, 8, 8, SIZE_BY_DEFAULT),
    SIZE_PRODUCT("1000x16x16x16", 1000, 16, 16, 16, SIZE_ON_REQUEST),
    SIZE_PRODUCT("1000x32x32x32", 1000, 32, 32, 32, SIZE_ON_REQUEST),
    SIZE_PRODUCT("1000x64x64x64", 1000, 64, 64, 64, SIZE_BY_DEFAULT),
    SIZE_PRODUCT("1x1x1", 0, 1, 1, 1, SIZE_IN_CHECK),
    SIZE_PRODUCT("3x5x7", 0, 3, 5, 7, SIZE_IN_CHECK),
    SIZE_PRODUCT("7x3x5x17", 7, 3, 5, 17, SIZE_IN_CHECK),
    SIZES_END,
};

const case_size matmul_sizes[] = {
    SIZE_PRODUCT("128x128x128", 0, 128, 128, 128, SIZE_ON_REQUEST),
    SIZE_PRODUCT("256x256x256", 0, 256, 256, 256, SIZE_ON_REQUEST),
    SIZE_PRODUCT("512x512x512", 0, 512, 512, 512, SIZE_BY_DEFAULT),
    SIZE_PRODUCT("1024x1024x1024", 0, 1024, 1024, 1024, SIZE_ON_REQUEST),
    SIZE_PRODUCT("32x784x128", 0, 32, 784, 128, SIZE_BY_DEFAULT),
    SIZE_PRODUCT("64x512x10", 0, 64, 512, 10, SIZE_ON_REQUEST),
    SIZE_PRODUCT("17x257x33", 0, 17, 257, 33, SIZE_IN_CHECK),
    SIZE_PRODUCT("3x5x300x37", 3, 5, 300, 37, SIZE_IN_CHECK),
    SIZES_END,
};

const case_size vector_matmul_sizes[] = {
    SIZE_PRODUCT("1x1024x1024", 0, 1, 1024, 1024, SIZE_ON_REQUEST),
    SIZE_PRODUCT("1024x1024x1", 0, 1024, 1024, 1, SIZE_ON_REQUEST),
    SIZE_PRODUCT("1x300x70", 0, 1, 300, 70, SIZE_IN_CHECK),
    SIZE_PRODUCT("70x300x1", 0, 70, 300, 1, SIZE_IN_CHECK),
    SIZES_END,
};

const case_size matmul_f64_sizes[] = {
    SIZE_PRODUCT("1024x1024x1024", 0, 1024, 1024, 1024, SIZE_ON_REQUEST),
    SIZE_PRODUCT("17x257x33", 0, 17, 257, 33, SIZE_IN_CHECK),
    SIZES_END,
};

/* Beside processes that compute. */
const case_size busy_matmul_sizes[] = {
    SIZE_PRODUCT("256x256x256", 0, 256, 256, 256, SIZE_BY_DEFAULT),
    SIZES_END,
};

/* -- matmul_bias_relu ------------------------------------------------------ */

static tg_value affine(tg_value x, tg_value weights, tg_value bias)
{
    return tg_add(tg_matmul(x, weights), bias);
}

static void trace_matmul_bias_relu(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_relu(affine(in[0], in[1], in[2])));
}

const tensor_case matmul_bias_relu_case = {
    .callback = trace_matmul_bias_relu,
    .kernels = {[BACKEND_C] = plain_dense, [BACKEND_OPENBLAS] = openblas_dense,
                [BACKEND_ONEDNN] = onednn_dense},
    .inputs = {INPUT(TG_F32, SHAPE_LEFT, -1, 1),
               INPUT(TG_F32, SHAPE_RIGHT, -1, 1),
               INPUT(TG_F32, SHAPE_ROW, -1, 1)},
    .results = {{TG_F32, SHAPE_WHOLE}},
    .absolute = 1e-4,
    .expression = "matmul_bias_relu",
    .engines = ENGINES_ARRAY,
};

const case_size matmul_bias_relu_sizes[] = {
    SIZE_PRODUCT("64x784x128", 0, 64, 784, 128, SIZE_ON_REQUEST),
    SIZE_PRODUCT("512x512x512", 0, 512, 512, 512, SIZE_ON_REQUEST),
    SIZE_PRODUCT("1024x1024x1024", 0, 1024, 1024, 1024, SIZE_ON_REQUEST),
    SIZE_PRODUCT("1x3x5", 0, 1, 3, 5, SIZE_IN_CHECK),
    SIZE_PRODUCT("17x257x33", 0, 17, 257, 33, SIZE_IN_CHECK),
    SIZES_END,
};

/* -- mlp_forward: 784-256-128-10 ------------------------------------------- */

tg_value mlp_of(tg_value x, const tg_value *layers)
{
    const tg_value first = tg_relu(affine(x, layers[0], layers[1]));
    const tg_value second = tg_relu(affine(first, layers[2], layers[3]));
    return affine(second, layers[4], layers[5]);
}

static void trace_mlp_forward(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, mlp_of(in[0], in + 1));
}

const tensor_case mlp_forward_case = {
    .callback = trace_mlp_forward,
    .kernels = {[BACKEND_C] = plain_mlp, [BACKEND_OPENBLAS] = openblas_mlp,
                [BACKEND_ONEDNN] = onednn_mlp},
    .inputs =
        {INPUT(TG_F32, SHAPE(ROWS, MLP_IN), 0, 1),
         INPUT_VARIABLE(TG_F32, SHAPE(MLP_IN, MLP_FIRST), -0.1, 0.1),
         INPUT_VARIABLE(TG_F32, SHAPE(MLP_FIRST), -0.1, 0.1),
         INPUT_VARIABLE(TG_F32, SHAPE(MLP_FIRST, MLP_SECOND), -0.1, 0.1),
         INPUT_VARIABLE(TG_F32, SHAPE(MLP_SECOND), -0.1, 0.1),
         INPUT_VARIABLE(TG_F32, SHAPE(MLP_SECOND, MLP_OUT), -0.1, 0.1),
         INPUT_VARIABLE(TG_F32, SHAPE(MLP_OUT), -0.1, 0.1)},
    .results = {{TG_F32, SHAPE(ROWS, MLP_OUT)}},
    .scratch = SHAPE(ROWS, MLP_FIRST + MLP_SECOND),
    .absolute = 1e-5,
    .relative = 1e-5,
    .expression = "mlp_forward",
    .engines = ENGINES_ARRAY,
};

const case_size mlp_sizes[] = {
    SIZE_PRODUCT("64", 0, 64, MLP_IN, MLP_OUT, SIZE_BY_DEFAULT),
    SIZE_PRODUCT("1", 0, 1, MLP_IN, MLP_OUT, SIZE_IN_CHECK),
    SIZE_PRODUCT("7", 0, 7, MLP_IN, MLP_OUT, SIZE_IN_CHECK),
    SIZES_END,
};

/* -- attention: heads x queries x keys x columns --------------------------- */

static void trace_attention(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value q = in[0], k = in[1], v = in[2];
    const tg_value scores =
        tg_mul(tg_matmul_with(q, k, TG_TRANSPOSE_B), ATTENTION_SCALE);
    tg_return(t, tg_matmul(tg_softmax(scores, -1), v));
}

const tensor_case attention_case = {
    .callback = trace_attention,
    .kernels = {[BACKEND_C] = plain_attention,
                [BACKEND_OPENBLAS] = openblas_attention},
    .inputs = {INPUT(TG_F32, SHAPE(BATCH, ROWS, COLUMNS), -2, 2),
               INPUT(TG_F32, SHAPE(BATCH, INNER, COLUMNS), -2, 2),
               INPUT(TG_F32, SHAPE(BATCH, INNER, COLUMNS), -1, 1)},
    .results = {{TG_F32, SHAPE_WHOLE}},
    .scratch = SHAPE(BATCH, ROWS, INNER),
    .absolute = 1e-5,
    .relative = 1e-5,
    .expression = "attention",
    .engines = ENGINES_ARRAY,
};

const case_size attention_sizes[] = {
    SIZE_PRODUCT("8x256x256x64", 8, 256, 256, 64, SIZE_BY_DEFAULT),
    SIZE_PRODUCT("2x3x5x7", 2, 3, 5, 7, SIZE_IN_CHECK),
    SIZE_PRODUCT("3x17x35x64", 3, 17, 35, 64, SIZE_IN_CHECK),
    SIZES_END,
};

/* SPDX-License-Identifier: MIT */
/*
 * case_rows.c - reductions, and cases that process row by row.
 */
#include "cases.h"

#define EPSILON 1e-5

/* -- sum ------------------------------------------------------------------- */

static void trace_sum(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(in[0], TG_ALL_AXES));
}

const tensor_case sum_case = {
    .callback = trace_sum,
    .kernels = BY_HAND(sum),
    .inputs = {INPUT(TG_F32, SHAPE_WHOLE, 0, 1)},
    .results = {{TG_F32, SHAPE_SCALAR}},
    .relative = 2e-5,
    .expression = "sum",
    .engines = ENGINES_LOOP,
};

const case_size sum_sizes[] = {
    SIZE_TIMED("1e7", 0, 10000000),
    SIZE_CHECKED("1", 0, 1),
    SIZE_CHECKED("63", 0, 63),
    SIZE_CHECKED("4097", 0, 4097),
    SIZE_CHECKED("100003", 0, 100003),
    SIZES_END,
};

/* -- softmax --------------------------------------------------------------- */

static void trace_softmax(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_softmax(in[0], -1));
}

const tensor_case softmax_case = {
    .callback = trace_softmax,
    .kernels = BY_HAND(softmax),
    .inputs = {INPUT(TG_F32, SHAPE_WHOLE, -5, 5)},
    .results = {{TG_F32, SHAPE_WHOLE}},
    .absolute = 1e-8,
    .relative = 1e-5,
    .expression = "softmax",
    .engines = ENGINES_LOOP,
};

/* -- layer_norm ------------------------------------------------------------ */

static void trace_layer_norm(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_layer_norm(in[0], in[1], in[2], EPSILON));
}

const tensor_case layer_norm_case = {
    .callback = trace_layer_norm,
    .kernels = BY_HAND(layer_norm),
    /* The callback contains epsilon; kernels receive it as an input. */
    .inputs = {INPUT(TG_F32, SHAPE_WHOLE, -3, 5),
               INPUT(TG_F32, SHAPE_ROW, 0.5, 1.5),
               INPUT(TG_F32, SHAPE_ROW, -1, 1),
               INPUT_SCALAR(TG_F32, EPSILON)},
    .results = {{TG_F32, SHAPE_WHOLE}},
    .absolute = 1e-5,
    .relative = 1e-5,
    .expression = "layer_norm",
    .engines = ENGINES_LOOP,
};

const case_size row_sizes[] = {
    SIZE_TIMED("1024x1024", 1024, 1024),
    SIZE_CHECKED("3x5", 3, 5),
    SIZE_CHECKED("5x200", 5, 200),
    SIZE_CHECKED("2x4099", 2, 4099),
    SIZE_CHECKED("2x12345", 2, 12345),
    SIZES_END,
};

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

/* -- sum_axis_0, sum_axis_1, sum_axis_2: of batch x rows x columns --------- */

#define SUM_AXIS(axis, result) \
    static void trace_sum_axis_##axis(tg_trace *t, const tg_value *in, \
                                      void *user) \
    { \
        (void)user; \
        tg_return(t, tg_sum(in[0], TG_AXES(axis))); \
    } \
    const tensor_case sum_axis_##axis##_case = { \
        .callback = trace_sum_axis_##axis, \
        .kernels = {[BACKEND_C] = plain_sum_axis_##axis}, \
        .inputs = {INPUT(TG_F32, SHAPE_WHOLE, 0, 1)}, \
        .results = {{TG_F32, result}}, \
        .relative = 2e-5, \
        .expression = "sum_axis_" #axis, \
        .engines = ENGINES_GRADIENT | ENGINE(BACKEND_NUMPY), \
    }

#define SHAPE_ROWS_COLUMNS SHAPE(ROWS, COLUMNS)
#define SHAPE_BATCH_COLUMNS SHAPE(BATCH, COLUMNS)
#define SHAPE_BATCH_ROWS SHAPE(BATCH, ROWS)
SUM_AXIS(0, SHAPE_ROWS_COLUMNS);
SUM_AXIS(1, SHAPE_BATCH_COLUMNS);
SUM_AXIS(2, SHAPE_BATCH_ROWS);

const case_size sum_axis_sizes[] = {
    SIZE_PRODUCT("64x128x256", 64, 128, 0, 256, SIZE_BY_DEFAULT),
    SIZE_PRODUCT("2x1x3", 2, 1, 0, 3, SIZE_IN_CHECK),
    SIZE_PRODUCT("3x5x37", 3, 5, 0, 37, SIZE_IN_CHECK),
    SIZES_END,
};

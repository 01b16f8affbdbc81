/* SPDX-License-Identifier: MIT */
/*
 * case_conv.c - convolutions by 3 x 3 filters and their gradients, and pooling,
 * of square images. A size is batch, side, channels and filters.
 */
#include "cases.h"

#define IMAGES SHAPE(BATCH, ROWS, ROWS, INNER)
#define FILTERS SHAPE(CONV_WINDOW, CONV_WINDOW, INNER, COLUMNS)
#define MAPS SHAPE(BATCH, ROWS, ROWS, COLUMNS)
#define HALF_MAPS SHAPE(BATCH, HALF_ROWS, HALF_ROWS, COLUMNS)

/* Includes the multiply-adds with padding, as is usual. */
double conv_count(const case_size *size)
{
    return size_count(size) * (double)size->rows * CONV_WINDOW * CONV_WINDOW;
}

double image_count(const case_size *size)
{
    return size_count(size) * (double)size->rows;
}

/* -- conv, conv_images, conv_filters --------------------------------------- */

static tg_value conv_of(const tg_value *in)
{
    return tg_conv2d(in[0], in[1], .padding = TG_PADDING_SAME);
}

static void trace_conv(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, conv_of(in));
}

/* in[2] is the gradient of the result. The convolution itself is dead. */
static tg_value gradient_of(const tg_value *in, tg_value by)
{
    return tg_gradient(tg_sum(tg_mul(conv_of(in), in[2]), TG_ALL_AXES), by);
}

static void trace_conv_images(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, gradient_of(in, in[0]));
}

static void trace_conv_filters(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, gradient_of(in, in[1]));
}

#define CONV_OF(name, result, the_engines) \
    { \
        .callback = trace_##name, \
        .kernels = {[BACKEND_C] = plain_##name, \
                    [BACKEND_ONEDNN] = onednn_##name}, \
        .inputs = {INPUT(TG_F32, IMAGES, -1, 1), \
                   INPUT(TG_F32, FILTERS, -1, 1), \
                   INPUT(TG_F32, MAPS, -1, 1)}, \
        .results = {{TG_F32, result}}, .absolute = 1e-3, .relative = 1e-4, \
        .expression = #name, .engines = the_engines, \
    }

const tensor_case conv_case = {
    .callback = trace_conv,
    .kernels = {[BACKEND_C] = plain_conv, [BACKEND_ONEDNN] = onednn_conv},
    .inputs = {INPUT(TG_F32, IMAGES, -1, 1), INPUT(TG_F32, FILTERS, -1, 1)},
    .results = {{TG_F32, MAPS}},
    .absolute = 1e-3,
    .relative = 1e-4,
    .expression = "conv",
    .engines = ENGINES_ARRAY,
};
const tensor_case conv_images_case =
    CONV_OF(conv_images, IMAGES, ENGINES_NETWORK);
const tensor_case conv_filters_case =
    CONV_OF(conv_filters, FILTERS, ENGINES_GRADIENT);

const case_size conv_sizes[] = {
    SIZE_PRODUCT("1x64x64x3x32", 1, 64, 3, 32, SIZE_BY_DEFAULT),
    SIZE_PRODUCT("8x56x56x64x64", 8, 56, 64, 64, SIZE_ON_REQUEST),
    SIZE_PRODUCT("1x1x1x1x1", 1, 1, 1, 1, SIZE_IN_CHECK),
    SIZE_PRODUCT("2x5x5x3x17", 2, 5, 3, 17, SIZE_IN_CHECK),
    SIZE_PRODUCT("3x7x7x33x5", 3, 7, 33, 5, SIZE_IN_CHECK),
    SIZES_END,
};

/* -- depthwise: a filter for each channel ---------------------------------- */

static void trace_depthwise(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_conv2d(in[0], in[1], .padding = TG_PADDING_SAME,
                           .groups = tg_value_dim(in[0], -1)));
}

const tensor_case depthwise_case = {
    .callback = trace_depthwise,
    .kernels = {[BACKEND_C] = plain_depthwise,
                [BACKEND_ONEDNN] = onednn_depthwise},
    .inputs = {INPUT(TG_F32, MAPS, -1, 1),
               INPUT(TG_F32, SHAPE(CONV_WINDOW, CONV_WINDOW, 1, COLUMNS), -1,
                     1)},
    .results = {{TG_F32, MAPS}},
    .absolute = 1e-5,
    .relative = 1e-5,
    .expression = "depthwise",
    .engines = ENGINES_NETWORK,
    .has_known_sizes = true, /* the number of groups */
};

/* -- Pooling --------------------------------------------------------------- */

#define POOL_3X3 \
    .window = {3, 3}, .stride = {1, 1}, .padding = TG_PADDING_SAME
#define POOL_2X2 .window = {2, 2}

static void trace_max_pool_3x3(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_max_pool(in[0], POOL_3X3));
}

static void trace_max_pool_2x2(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_max_pool(in[0], POOL_2X2));
}

/* Padding is not counted. */
static void trace_avg_pool_3x3(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_avg_pool(in[0], POOL_3X3));
}

static void trace_avg_pool_2x2(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_avg_pool(in[0], POOL_2X2));
}

#define POOL_OF(name, result, tolerance) \
    { \
        .callback = trace_##name, .kernels = {[BACKEND_C] = plain_##name}, \
        .inputs = {INPUT(TG_F32, MAPS, -1, 1)}, \
        .results = {{TG_F32, result}}, .absolute = tolerance, \
        .expression = #name, .engines = ENGINES_NETWORK, \
    }

const tensor_case max_pool_3x3_case = POOL_OF(max_pool_3x3, MAPS, 0);
const tensor_case max_pool_2x2_case = POOL_OF(max_pool_2x2, HALF_MAPS, 0);
const tensor_case avg_pool_3x3_case = POOL_OF(avg_pool_3x3, MAPS, 1e-6);
const tensor_case avg_pool_2x2_case = POOL_OF(avg_pool_2x2, HALF_MAPS, 1e-6);

const case_size image_sizes[] = {
    SIZE_PRODUCT("8x56x56x64", 8, 56, 0, 64, SIZE_BY_DEFAULT),
    SIZE_PRODUCT("1x2x2x1", 1, 2, 0, 1, SIZE_IN_CHECK),
    SIZE_PRODUCT("2x5x5x19", 2, 5, 0, 19, SIZE_IN_CHECK),
    SIZES_END,
};

/* SPDX-License-Identifier: MIT */
/*
 * case_conv.c - convolutions by 3 x 3 filters and their gradients, and pooling,
 * of square images. A size is batch, side, channels and filters.
 */
#include "cases.h"

#define IMAGES SHAPE(BATCH, ROWS, ROWS, INNER)
#define FILTERS SHAPE(CONV_WINDOW, CONV_WINDOW, INNER, COLUMNS)
#define MAPS SHAPE(BATCH, ROWS, ROWS, COLUMNS)

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

static void trace_max_pool(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_max_pool(in[0], .window = {CONV_WINDOW, CONV_WINDOW},
                             .stride = {1, 1}, .padding = TG_PADDING_SAME));
}

#define CONV_OF(trace, kernel, result) \
    { \
        .callback = trace, .kernels = {[BACKEND_C] = kernel}, \
        .inputs = {INPUT(TG_F32, IMAGES, -1, 1), \
                   INPUT(TG_F32, FILTERS, -1, 1), \
                   INPUT(TG_F32, MAPS, -1, 1)}, \
        .results = {{TG_F32, result}}, .absolute = 1e-3, .relative = 1e-4, \
    }

const tensor_case conv_case = {
    .callback = trace_conv,
    .kernels = {[BACKEND_C] = plain_conv},
    .inputs = {INPUT(TG_F32, IMAGES, -1, 1), INPUT(TG_F32, FILTERS, -1, 1)},
    .results = {{TG_F32, MAPS}},
    .absolute = 1e-3,
    .relative = 1e-4,
};
const tensor_case conv_images_case =
    CONV_OF(trace_conv_images, plain_conv_images, IMAGES);
const tensor_case conv_filters_case =
    CONV_OF(trace_conv_filters, plain_conv_filters, FILTERS);

const case_size conv_sizes[] = {
    SIZE_PRODUCT("1x64x64x3x32", 1, 64, 3, 32, SIZE_BY_DEFAULT),
    SIZE_PRODUCT("8x56x56x64x64", 8, 56, 64, 64, SIZE_ON_REQUEST),
    SIZE_PRODUCT("1x1x1x1x1", 1, 1, 1, 1, SIZE_IN_CHECK),
    SIZE_PRODUCT("2x5x5x3x17", 2, 5, 3, 17, SIZE_IN_CHECK),
    SIZE_PRODUCT("3x7x7x33x5", 3, 7, 33, 5, SIZE_IN_CHECK),
    SIZES_END,
};

const tensor_case max_pool_case = {
    .callback = trace_max_pool,
    .kernels = {[BACKEND_C] = plain_max_pool},
    .inputs = {INPUT(TG_F32, MAPS, -1, 1)},
    .results = {{TG_F32, MAPS}},
};

const case_size max_pool_sizes[] = {
    SIZE_PRODUCT("8x56x56x64", 8, 56, 0, 64, SIZE_BY_DEFAULT),
    SIZE_PRODUCT("1x1x1x1", 1, 1, 0, 1, SIZE_IN_CHECK),
    SIZE_PRODUCT("2x5x5x19", 2, 5, 0, 19, SIZE_IN_CHECK),
    SIZES_END,
};

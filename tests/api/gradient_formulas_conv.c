/* SPDX-License-Identifier: MIT */
/*
 * gradient_formulas_conv.c - convolutions and pooling. PyTorch has channels
 * first. See gradient_formulas.h.
 */
#include "api/gradient_formulas.h"

#define FIRST .layout = TG_CHANNELS_FIRST
#define PAD(n) .padding = TG_PADDING_EXPLICIT, .low = {n, n}, .high = {n, n}

static tg_value conv_strided(const tg_value *in)
{
    return tg_square(tg_conv2d(in[0], in[1], FIRST, .stride = {2, 1}, PAD(1)));
}

static tg_value conv_dilated(const tg_value *in)
{
    return tg_square(tg_conv2d(in[0], in[1], FIRST, .dilation = {2, 3}, PAD(2)));
}

static tg_value conv_groups(const tg_value *in)
{
    return tg_square(tg_conv2d(in[0], in[1], FIRST, .groups = 2));
}

static tg_value conv_depthwise(const tg_value *in)
{
    return tg_square(tg_conv2d(in[0], in[1], FIRST, .groups = 3,
                               .stride = {2, 2}, PAD(1)));
}

static tg_value conv_3d(const tg_value *in)
{
    return tg_square(tg_conv3d(in[0], in[1], FIRST, .stride = {1, 2, 1}));
}

/* The windows of a transpose must be known. */
static tg_value conv_transposed(const tg_value *in)
{
    const tg_value w = tg_reshape(in[1], TG_DIMS(3, 2, 3, 4));
    return tg_square(tg_conv2d_transpose(in[0], w, FIRST, .stride = {2, 3},
                                         PAD(1)));
}

static tg_value conv_transposed_groups(const tg_value *in)
{
    const tg_value w = tg_reshape(in[1], TG_DIMS(4, 1, 2, 2));
    return tg_square(tg_conv2d_transpose(in[0], w, FIRST, .groups = 2,
                                         .dilation = {2, 1}));
}

static tg_value max_pool_overlapping(const tg_value *in)
{
    return tg_square(tg_max_pool(in[0], FIRST, .window = {3, 2},
                                 .stride = {2, 1}));
}

static tg_value max_pool_padded(const tg_value *in)
{
    return tg_square(tg_max_pool(in[0], FIRST, .window = {3, 3},
                                 .stride = {2, 2}, PAD(1)));
}

static tg_value avg_pool_counting(const tg_value *in)
{
    return tg_square(tg_avg_pool(in[0], FIRST, .window = {3, 3},
                                 .stride = {2, 2}, PAD(1),
                                 .counts_padding = true));
}

static tg_value avg_pool_inside(const tg_value *in)
{
    return tg_square(tg_avg_pool(in[0], FIRST, .window = {3, 3},
                                 .stride = {2, 2}, PAD(1)));
}

static tg_value lp_pool(const tg_value *in)
{
    return tg_lp_pool(in[0], FIRST, .window = {2, 3}, .p = 3);
}

const formula convolutions_formulas[] = {
    FORMULA(conv_strided),
    FORMULA(conv_dilated),
    FORMULA(conv_groups),
    FORMULA(conv_depthwise),
    FORMULA(conv_3d),
    FORMULA(conv_transposed),
    FORMULA(conv_transposed_groups),
    FORMULA(max_pool_overlapping),
    FORMULA(max_pool_padded),
    FORMULA(avg_pool_counting),
    FORMULA(avg_pool_inside),
    FORMULA(lp_pool),
    FORMULAS_END,
};

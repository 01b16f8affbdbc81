/* SPDX-License-Identifier: MIT */
/*
 * gradient_formulas_networks.c - layers and networks. See gradient_formulas.h.
 */
#include "api/gradient_formulas.h"

#include <math.h>

static tg_value softmax(const tg_value *in)
{
    return tg_square(tg_softmax(in[0], 1));
}

static tg_value log_softmax(const tg_value *in)
{
    return tg_mul(tg_log_softmax(in[0], 0), in[1]);
}

static tg_value cross_entropy(const tg_value *in)
{
    return tg_softmax_cross_entropy(in[0], in[1]);
}

static tg_value cross_entropy_of_shares(const tg_value *in)
{
    const tg_value x = in[0], y = in[1];
    const tg_value shares = tg_div(y, tg_sum(y, tg_keep(TG_AXES(1))));
    return tg_softmax_cross_entropy(x, shares);
}

static tg_value layer_norm(const tg_value *in)
{
    const tg_value x = in[0], scale = in[1], shift = in[2];
    return tg_square(tg_layer_norm(x, scale, shift, 1e-3));
}

static tg_value batch_norm(const tg_value *in)
{
    const tg_value scale = in[1], shift = in[2];
    const tg_value x = tg_sub(in[0], tg_mean(in[0], TG_AXES(0)));
    const tg_value variance = tg_mean(tg_square(x), TG_AXES(0));
    const tg_value y = tg_mul(x, tg_rsqrt(tg_add(variance, 1e-3)));
    return cube(tg_add(tg_mul(y, scale), shift));
}

/* Attention with heads of `width` columns and an optional mask. */
static tg_value attend(tg_value q, tg_value k, tg_value v, int width,
                       const tg_value *mask)
{
    tg_value scores = tg_div(tg_matmul_with(q, k, TG_TRANSPOSE_B),
                             sqrt((double)width));
    if (mask)
        scores = tg_select(*mask, scores, -1e30);
    return tg_matmul(tg_softmax(scores, -1), v);
}

static tg_value attention(const tg_value *in)
{
    const tg_value q = in[0], k = in[1], v = in[2];
    return attend(q, k, v, 4, NULL);
}

/* Part i of three, as 2 heads of 2 columns each. */
static tg_value heads_of(tg_value qkv, int64_t i)
{
    const tg_value part = tg_slice(qkv, 1, 4 * i, 4 * i + 4, 1);
    return tg_transpose(tg_reshape(part, TG_DIMS(3, 2, 2)), TG_PERM(1, 0, 2));
}

static tg_value transformer_block(const tg_value *in)
{
    const tg_value scale = in[1], shift = in[2], qkv = in[3], mix = in[4];
    const tg_value up = in[5], down = in[6];
    tg_value x = in[0];
    tg_value y = tg_layer_norm(x, scale, shift, 1e-3);
    const tg_value all = tg_matmul(y, qkv);
    const tg_value q = heads_of(all, 0), k = heads_of(all, 1);
    const tg_value v = heads_of(all, 2);
    const tg_value mask = tg_ge(tg_iota(TG_I32, TG_DIMS(3, 3), 0),
                                tg_iota(TG_I32, TG_DIMS(3, 3), 1));
    const tg_value heads = attend(q, k, v, 2, &mask);
    const tg_value rows =
        tg_reshape(tg_transpose(heads, TG_PERM(1, 0, 2)), TG_DIMS(3, 4));
    x = tg_add(x, tg_matmul(rows, mix));
    y = tg_layer_norm(x, scale, shift, 1e-3);
    return tg_add(x, tg_matmul(tg_gelu(tg_matmul(y, up)), down));
}

static tg_value logistic_regression(const tg_value *in)
{
    const tg_value w = in[0], b = in[1], x = in[2], y = in[3];
    const tg_value logits = tg_add(tg_matmul(x, w), b);
    return tg_mean(tg_sub(tg_softplus(logits), tg_mul(y, logits)),
                   TG_ALL_AXES);
}

static tg_value perceptron(const tg_value *in)
{
    const tg_value w1 = in[0], x = in[1], b1 = in[2], w2 = in[3], b2 = in[4];
    const tg_value w3 = in[5], b3 = in[6], i = in[7];
    tg_value h = tg_tanh(tg_add(tg_matmul(x, w1), b1));
    h = tg_relu(tg_add(tg_matmul(h, w2), b2));
    const tg_value logits = tg_add(tg_matmul(h, w3), b3);
    return tg_mean(tg_softmax_cross_entropy(logits, i), TG_ALL_AXES);
}

static tg_value bag_of_words(const tg_value *in)
{
    const tg_value table = in[0], w = in[1], label = in[3];
    const tg_value i = tg_reshape(in[2], TG_DIMS(2, 3));
    const tg_value bags = tg_mean(tg_gather(table, i, 0), TG_AXES(1));
    return tg_mean(tg_softmax_cross_entropy(tg_matmul(bags, w), label),
                   TG_ALL_AXES);
}

static tg_value autoencoder(const tg_value *in)
{
    const tg_value x = in[0], w = in[1], v = in[2], u = in[3], noise = in[4];
    const tg_value h = tg_tanh(tg_matmul(x, w));
    const tg_value mean = tg_matmul(h, v);
    const tg_value flipped = tg_slice(v, 1, -1, TG_END, -1);
    const tg_value spread = tg_mul(tg_matmul(h, flipped), 0.25);
    const tg_value z = tg_add(mean, tg_mul(tg_exp(spread), noise));
    const tg_value wide = tg_sub(tg_exp(tg_mul(2, spread)), 1);
    const tg_value kl = tg_mul(0.5, tg_sub(tg_add(tg_square(mean), wide),
                                           tg_mul(2, spread)));
    const tg_value off = tg_square(tg_sub(tg_matmul(z, u), x));
    return tg_add(tg_sum(off, TG_ALL_AXES), tg_sum(kl, TG_ALL_AXES));
}

const formula networks_formulas[] = {
    FORMULA(softmax),
    FORMULA(log_softmax),
    FORMULA(cross_entropy),
    FORMULA(cross_entropy_of_shares),
    FORMULA(layer_norm),
    FORMULA(batch_norm),
    FORMULA(attention),
    FORMULA(transformer_block),
    FORMULA(logistic_regression),
    FORMULA(perceptron),
    FORMULA(bag_of_words),
    FORMULA(autoencoder),
    FORMULAS_END,
};

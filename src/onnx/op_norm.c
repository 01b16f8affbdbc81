/* SPDX-License-Identifier: MIT */
/*
 * op_norm.c - normalisation.
 */
#include "op_windows.h"

static double epsilon_of(const tgi_onnx_call *c)
{
    return tgi_onnx_float(c, "epsilon", (double)1e-5f);
}

/* A vector by channel as a factor of x, whose axis 1 is that of channels. */
static tg_value by_channel(const tgi_onnx_call *c, tg_value vector, int rank)
{
    int64_t dims[TG_MAX_RANK] = {tg_value_dim(vector, 0)};
    for (int i = 1; i < rank - 1; i++)
        dims[i] = 1;
    return rank > 1 && tg_value_rank(vector) == 1
               ? tg_reshape_at(TG_IN(vector), rank - 1, dims, c->site)
               : vector;
}

/* All axes but that of channels. */
static tg_axes without_channels(int rank)
{
    int axis[TG_MAX_RANK], n = 0;
    for (int i = 0; i < rank; i++)
        if (i != 1)
            axis[n++] = i;
    return tg_axes_of((size_t)n, axis);
}

/* Mean and variance of the examples, and the updated running ones. */
static void train_statistics(const tgi_onnx_call *c, tg_value x, tg_value *mean,
                             tg_value *variance)
{
    const tg_axes axes = without_channels(tg_value_rank(x));
    const tg_value old[] = {*mean, *variance};
    const double momentum = tgi_onnx_float(c, "momentum", (double)0.9f);
    *mean = tg_mean_at(TG_IN(x), axes, c->site);
    *variance = tg_var_at(TG_IN(x), axes, 0, c->site);
    const tg_value current[] = {*mean, *variance};
    for (size_t i = 0; i < 2; i++) {
        const tg_dtype dtype = tg_value_dtype(old[i]);
        const tg_value now = tg_cast_at(TG_IN(current[i]), dtype, c->site);
        tgi_onnx_out(
            c, i + 1,
            F2(add,
               F2(mul, old[i], tgi_onnx_scalar_like(c, old[i], momentum)),
               F2(mul, now, tgi_onnx_scalar_like(c, now, 1 - momentum))));
    }
}

/* (x - mean) * rsqrt(variance + epsilon) * scale + shift */
void tgi_onnx_build_batch_normalization(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const int rank = tgi_onnx_in_rank(c, 0);
    tg_value mean = tgi_onnx_in(c, 3), variance = tgi_onnx_in(c, 4);
    if (tgi_onnx_int(c, "training_mode", 0))
        train_statistics(c, x, &mean, &variance);
    const tg_dtype dtype = tg_value_dtype(x);
    mean = tg_cast_at(TG_IN(mean), dtype, c->site);
    variance = tg_cast_at(TG_IN(variance), dtype, c->site);
    const tg_value scale =
        F2(mul, tg_cast_at(TG_IN(tgi_onnx_in(c, 1)), dtype, c->site),
           F1(rsqrt,
              F2(add, variance, tgi_onnx_scalar_like(c, x, epsilon_of(c)))));
    const tg_value shift =
        F2(sub, tg_cast_at(TG_IN(tgi_onnx_in(c, 2)), dtype, c->site),
           F2(mul, mean, scale));
    tgi_onnx_out(c, 0,
                 F2(add, F2(mul, x, by_channel(c, scale, rank)),
                    by_channel(c, shift, rank)));
}

void tgi_onnx_build_instance_normalization(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0,
                 tg_instance_norm_at(TG_IN(tgi_onnx_in(c, 0)),
                                     TG_IN(tgi_onnx_in(c, 1)),
                                     TG_IN(tgi_onnx_in(c, 2)), epsilon_of(c),
                                     TG_CHANNELS_FIRST, c->site));
}

/* Scale and shift are by group at opset 18, by channel from 21 on. */
void tgi_onnx_build_group_normalization(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const int64_t n = tgi_onnx_int(c, "num_groups", 1);
    const int64_t channels = tg_value_dim(x, 1);
    tg_value scale = tgi_onnx_in(c, 1), shift = tgi_onnx_in(c, 2);
    if (c->opset < 21 && !tgi_onnx_failed(c)) {
        if (!tg_dim_is_known(channels) || n < 1 || channels % n) {
            tgi_onnx_fail(c, TG_ERROR_SHAPE, "%lld channels in %lld groups",
                          (long long)channels, (long long)n);
            return;
        }
        scale = tg_repeat_at(TG_IN(scale), channels / n, 0, c->site);
        shift = tg_repeat_at(TG_IN(shift), channels / n, 0, c->site);
    }
    tgi_onnx_out(c, 0,
                 tg_group_norm_at(TG_IN(x), TG_IN(scale), TG_IN(shift), n,
                                  epsilon_of(c), TG_CHANNELS_FIRST, c->site));
}

/* The axes from `axis` to the last, kept. */
static tg_axes from_axis(const tgi_onnx_call *c, int rank)
{
    int axes[TG_MAX_RANK];
    size_t n = 0;
    for (int i = tgi_onnx_axis(c, tgi_onnx_int(c, "axis", -1), rank); i < rank;
         i++)
        axes[n++] = i;
    return tg_keep(tg_axes_of(n, axes));
}

void tgi_onnx_build_layer_normalization(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const tg_axes axes = from_axis(c, tgi_onnx_in_rank(c, 0));
    const tg_value mean = tg_mean_at(TG_IN(x), axes, c->site);
    const tg_value centred = F2(sub, x, mean);
    const tg_value variance =
        tg_mean_at(TG_IN(F1(square, centred)), axes, c->site);
    const tg_value inverse =
        F1(rsqrt, F2(add, variance, tgi_onnx_scalar_like(c, x, epsilon_of(c))));
    tg_value y = F2(mul, F2(mul, centred, inverse), tgi_onnx_in(c, 1));
    if (tgi_onnx_has(c, 2))
        y = F2(add, y, tgi_onnx_in(c, 2));
    tgi_onnx_out(c, 0, y);
    tgi_onnx_out(c, 1, mean);
    tgi_onnx_out(c, 2, inverse);
}

void tgi_onnx_build_rms_normalization(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const tg_axes axes = from_axis(c, tgi_onnx_in_rank(c, 0));
    const tg_value mean = tg_mean_at(TG_IN(F1(square, x)), axes, c->site);
    const tg_value inverse =
        F1(rsqrt, F2(add, mean, tgi_onnx_scalar_like(c, x, epsilon_of(c))));
    tgi_onnx_out(c, 0, F2(mul, F2(mul, x, inverse), tgi_onnx_in(c, 1)));
}

void tgi_onnx_build_lrn(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0,
                 tg_local_response_norm_at(
                     TG_IN(tgi_onnx_in(c, 0)), tgi_onnx_int(c, "size", 1),
                     tgi_onnx_float(c, "alpha", (double)1e-4f),
                     tgi_onnx_float(c, "beta", 0.75),
                     tgi_onnx_float(c, "bias", 1), TG_CHANNELS_FIRST, c->site));
}

/* x divided by its norm; 0 where that is 0. */
void tgi_onnx_build_lp_normalization(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const int axis = tgi_onnx_axis(c, tgi_onnx_int(c, "axis", -1),
                                   tgi_onnx_in_rank(c, 0));
    const tg_axes axes = tg_keep(tg_axes_of(1, &axis));
    const tg_value norm = tgi_onnx_int(c, "p", 2) == 1
                              ? tg_norm_l1_at(TG_IN(x), axes, c->site)
                              : tg_norm_l2_at(TG_IN(x), axes, c->site);
    const tg_value zero = tgi_onnx_scalar_like(c, x, 0);
    tgi_onnx_out(c, 0,
                 F3(select, F2(eq, norm, zero), zero, F2(div, x, norm)));
}

/* (x - mean) / (deviation + 1e-9) */
void tgi_onnx_build_mean_variance_normalization(const tgi_onnx_call *c)
{
    static const int64_t usual[] = {0, 2, 3};
    const tg_value x = tgi_onnx_in(c, 0);
    size_t n;
    int axis[TG_MAX_RANK];
    const int64_t *axes = tgi_onnx_ints(c, "axes", &n);
    if (!axes) {
        axes = usual;
        n = 3;
    }
    for (size_t i = 0; i < n && i < TG_MAX_RANK; i++)
        axis[i] = tgi_onnx_axis(c, axes[i], tgi_onnx_in_rank(c, 0));
    if (n > TG_MAX_RANK || tgi_onnx_failed(c)) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "%zu axes", n);
        return;
    }
    const tg_axes over = tg_keep(tg_axes_of(n, axis));
    const tg_value centred = F2(sub, x, tg_mean_at(TG_IN(x), over, c->site));
    const tg_value deviation = tg_std_at(TG_IN(x), over, 0, c->site);
    tgi_onnx_out(c, 0,
                 F2(div, centred,
                    F2(add, deviation, tgi_onnx_scalar_like(c, x, 1e-9))));
}

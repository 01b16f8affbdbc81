/* SPDX-License-Identifier: MIT */
/*
 * gradient_formulas.c - elementwise functions and index maps. See
 * gradient_formulas.h.
 */
#include "api/gradient_formulas.h"

#include <math.h>

/* 0, 1, 2, … with the dtype of x. */
static tg_value count_like(tg_value x, int64_t n)
{
    return tg_iota(tg_value_dtype(x), TG_DIMS(n), 0);
}

/* -- Functions of single elements ------------------------------------------ */

static tg_value polynomial(const tg_value *in)
{
    const tg_value x = in[0];
    return tg_add(tg_sub(cube(x), tg_mul(2, x)), tg_div(1, x));
}

static tg_value chain(const tg_value *in)
{
    const tg_value x = in[0], a = in[1], b = in[2], c = in[3];
    const tg_value y = tg_tanh(tg_add(tg_mul(a, x), b));
    return tg_sub(tg_mul(y, tg_sigmoid(tg_mul(c, x))), tg_mul(0.5, x));
}

static tg_value exponentials(const tg_value *in)
{
    const tg_value x = in[0];
    const tg_value y = tg_add(tg_exp(x), tg_mul(tg_exp2(x), tg_expm1(x)));
    return tg_add(tg_mul(tg_log(y), tg_log2(tg_add(x, 1))),
                  tg_mul(tg_log10(x), tg_log1p(x)));
}

static tg_value trigonometry(const tg_value *in)
{
    const tg_value x = in[0], y = in[1];
    return tg_add(tg_mul(tg_sin(x), tg_cos(y)), tg_tan(tg_div(x, 2)));
}

static tg_value inverse_trigonometry(const tg_value *in)
{
    const tg_value x = in[0], y = in[1];
    return tg_add(tg_mul(tg_asin(x), tg_acos(tg_div(x, 2))),
                  tg_mul(tg_atan(y), tg_atan2(x, y)));
}

static tg_value hyperbolics(const tg_value *in)
{
    const tg_value x = in[0], y = in[1];
    const tg_value z = tg_add(tg_mul(tg_sinh(x), tg_cosh(y)),
                              tg_mul(tg_asinh(x), tg_atanh(y)));
    return tg_add(z, tg_acosh(tg_add(tg_mul(x, x), 1.5)));
}

static tg_value roots(const tg_value *in)
{
    const tg_value x = in[0], y = in[1];
    return tg_add(tg_add(tg_mul(tg_sqrt(x), tg_rsqrt(y)), tg_cbrt(y)),
                  tg_hypot(x, y));
}

static tg_value powers(const tg_value *in)
{
    const tg_value x = in[0], y = in[1];
    return tg_add(tg_pow(x, y), tg_pow(tg_add(x, 1), 2.5));
}

static tg_value whole_powers(const tg_value *in)
{
    return tg_pow(in[0], tg_stop_gradient(in[1]));
}

static tg_value error_functions(const tg_value *in)
{
    const tg_value x = in[0];
    return tg_add(tg_mul(tg_erf(x), tg_erfc(tg_div(x, 2))), tg_gelu(x));
}

static tg_value activations(const tg_value *in)
{
    const tg_value x = in[0];
    return tg_add(tg_add(tg_mul(tg_silu(x), tg_softplus(x)), tg_sigmoid(x)),
                  tg_tanh(x));
}

static tg_value piecewise(const tg_value *in)
{
    const tg_value x = in[0], y = in[1];
    tg_value z = tg_add(tg_mul(tg_max(x, y), tg_min(x, tg_mul(2, y))),
                        tg_abs(tg_mul(x, y)));
    z = tg_add(z, tg_mul(tg_clamp(x, -1, 1.25), tg_relu(y)));
    return tg_select(tg_gt(x, y), tg_mul(z, x), tg_sub(z, y));
}

static tg_value steps(const tg_value *in)
{
    const tg_value x = in[0];
    return tg_add(tg_mul(tg_floor(x), x),
                  tg_mul(tg_mul(tg_round(x), tg_sign(x)), x));
}

static tg_value phi(tg_value x)
{
    return tg_mul(0.5, tg_erfc(tg_mul(x, -sqrt(0.5))));
}

static tg_value black_scholes(const tg_value *in)
{
    const tg_value s = in[0], k = in[1], t = in[2], r = in[3], v = in[4];
    const tg_value drift = tg_add(r, tg_mul(0.5, tg_mul(v, v)));
    const tg_value d1 = tg_div(tg_add(tg_log(tg_div(s, k)), tg_mul(drift, t)),
                               tg_mul(v, tg_sqrt(t)));
    const tg_value d2 = tg_sub(d1, tg_mul(v, tg_sqrt(t)));
    return tg_sub(tg_mul(s, phi(d1)),
                  tg_mul(tg_mul(k, tg_exp(tg_mul(tg_neg(r), t))), phi(d2)));
}

static tg_value rosenbrock(const tg_value *in)
{
    const tg_value a = tg_slice(in[0], 0, 0, -1, 1);
    const tg_value b = tg_slice(in[0], 0, 1, TG_END, 1);
    return tg_add(tg_mul(100, tg_square(tg_sub(b, tg_mul(a, a)))),
                  tg_square(tg_sub(1, a)));
}

static tg_value stopped(const tg_value *in)
{
    const tg_value x = in[0], y = in[1];
    return tg_add(tg_mul(tg_stop_gradient(tg_mul(x, y)), x),
                  tg_mul(tg_exp(tg_stop_gradient(y)), y));
}

const formula elementwise_formulas[] = {
    FORMULA(polynomial),
    FORMULA(chain),
    FORMULA(exponentials),
    FORMULA(trigonometry),
    FORMULA(inverse_trigonometry),
    FORMULA(hyperbolics),
    FORMULA(roots),
    FORMULA(powers),
    FORMULA(whole_powers),
    FORMULA(error_functions),
    FORMULA(activations),
    FORMULA(piecewise),
    FORMULA(steps),
    FORMULA(black_scholes),
    FORMULA(rosenbrock),
    FORMULA(stopped),
    FORMULAS_END,
};

/* -- Shapes and places ----------------------------------------------------- */

static tg_value broadcasts(const tg_value *in)
{
    const tg_value x = in[0], y = in[1], z = in[2], s = in[3];
    return tg_sub(tg_add(tg_mul(x, y), tg_mul(z, s)), tg_mul(y, z));
}

static tg_value outer(const tg_value *in)
{
    const tg_value x = in[0], y = in[1];
    return tg_mul(tg_mul(x, y), x);
}

static tg_value transposed(const tg_value *in)
{
    const tg_value y = in[1];
    const tg_value z =
        tg_reshape(tg_transpose(in[0], TG_PERM(2, 0, 1)), TG_DIMS(4, 6));
    const tg_value back =
        tg_reshape(tg_transpose(z, TG_PERM(1, 0)), TG_DIMS(4, 6));
    return tg_add(tg_mul(z, y), back);
}

static tg_value strided(const tg_value *in)
{
    const tg_value x = in[0];
    const tg_value flipped = tg_slice(x, 0, -1, TG_END, -1);
    return tg_add(tg_mul(tg_slice(x, 0, 1, 8, 3), tg_slice(x, 0, 2, 5, 1)),
                  tg_slice(flipped, 0, 0, 6, 2));
}

static tg_value padded(const tg_value *in)
{
    const tg_value v = in[1];
    tg_value y = tg_pad(in[0], 0, 1, 2, v);
    y = tg_pad(y, 1, 2, 1, 0);
    return tg_mul(tg_mul(y, y), count_like(y, 6));
}

static tg_value joined(const tg_value *in)
{
    const tg_value x = in[0], y = in[1], z = in[2];
    return tg_mul(tg_square(tg_concat(1, x, y, z, x)), count_like(x, 9));
}

static tg_value embedding(const tg_value *in)
{
    return cube(tg_gather(in[0], in[1], 0));
}

static tg_value clamped_places(const tg_value *in)
{
    return tg_square(tg_gather_with(in[0], in[1], 1, TG_GATHER_CLAMP));
}

static tg_value zeroed_places(const tg_value *in)
{
    const tg_value y = tg_gather_with(in[0], in[1], 1, TG_GATHER_ZERO);
    return tg_square(tg_add(y, 1));
}

static tg_value scattered_sums(const tg_value *in)
{
    const tg_value x = in[0], y = in[1], i = in[2];
    return cube(tg_scatter(x, i, y, 0, TG_SCATTER_ADD));
}

static tg_value scattered(const tg_value *in)
{
    const tg_value x = in[0], y = in[1], i = in[2];
    return tg_square(tg_scatter(x, i, tg_mul(y, y), 0, TG_SCATTER_SET));
}

static tg_value moved_window(const tg_value *in)
{
    const tg_value x = in[0], y = in[1], at = in[2];
    const tg_value window = tg_mul(tg_dynamic_slice(x, 0, at, 2), y);
    const tg_value first = tg_sub(at, 2);
    return tg_square(tg_dynamic_update_slice(x, window, 0, first));
}

static tg_value convolution_1d(const tg_value *in)
{
    const tg_value x = in[0], w = in[1], b = in[2];
    tg_value y = tg_reshape(b, TG_DIMS(1, 4, 1));
    for (int64_t k = 0; k < 3; k++) {
        const tg_value window = tg_slice(x, 2, k, k + 7, 1);
        const tg_value tap = tg_slice(w, 2, k, k + 1, 1);
        y = tg_add(y, tg_einsum("bcn,dck->bdn", window, tap));
    }
    return tg_tanh(y);
}

/* 3 x 3 with stride 2 and a border of zeros. */
static tg_value convolution_2d(const tg_value *in)
{
    const tg_value w = in[1];
    const tg_value x = tg_pad(tg_pad(in[0], 2, 1, 1, 0), 3, 1, 1, 0);
    tg_value y = tg_scalar(tg_value_dtype(x), 0);
    for (int64_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < 3; j++) {
            const tg_value rows = tg_slice(x, 2, i, i + 5, 2);
            const tg_value window = tg_slice(rows, 3, j, j + 5, 2);
            const tg_value tap =
                tg_slice(tg_slice(w, 2, i, i + 1, 1), 3, j, j + 1, 1);
            y = tg_add(y, tg_einsum("bchw,dcij->bdhw", window, tap));
        }
    return tg_tanh(y);
}

static tg_value max_pool(const tg_value *in)
{
    const tg_value windows = tg_reshape(in[0], TG_DIMS(2, 2, 2, 3, 2));
    return tg_square(tg_reduce_max(windows, TG_AXES(2, 4)));
}

static tg_value laplacian(const tg_value *in)
{
    const tg_value u = in[0];
    const tg_value rows = tg_slice(u, 0, 1, -1, 1);
    const tg_value columns = tg_slice(u, 1, 1, -1, 1);
    const tg_value inner = tg_slice(rows, 1, 1, -1, 1);
    const tg_value above = tg_slice(columns, 0, 0, -2, 1);
    const tg_value below = tg_slice(columns, 0, 2, TG_END, 1);
    const tg_value left = tg_slice(rows, 1, 0, -2, 1);
    const tg_value right = tg_slice(rows, 1, 2, TG_END, 1);
    const tg_value around = tg_add(tg_add(tg_add(above, below), left), right);
    return tg_mul(tg_square(tg_sub(around, tg_mul(4, inner))), inner);
}

const formula shapes_formulas[] = {
    FORMULA(broadcasts),
    FORMULA(outer),
    FORMULA(transposed),
    FORMULA(strided),
    FORMULA(padded),
    FORMULA(joined),
    FORMULA(embedding),
    FORMULA(clamped_places),
    FORMULA(zeroed_places),
    FORMULA(scattered_sums),
    FORMULA(scattered),
    FORMULA(moved_window),
    FORMULA(convolution_1d),
    FORMULA(convolution_2d),
    FORMULA(max_pool),
    FORMULA(laplacian),
    FORMULAS_END,
};

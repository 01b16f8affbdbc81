/* SPDX-License-Identifier: MIT */
/*
 * random_gradient_weights.c - values of random programs that do not depend on a
 * source. If extents are unknown, they are computed from element positions.
 */
#include "random/random_gradient.h"

tg_value gr_number(gr_frame *f, double number)
{
    return tg_scalar(f->root->dtype, number);
}

static bool is_known(const gr_value *x)
{
    bool known = true;
    for (int i = 0; i < x->shape.rank; i++)
        known &= tg_value_dim(x->value, i) >= 0;
    return known;
}

static tg_value constant(gr_frame *f, const gr_value *x, const double *data)
{
    float small[GR_MAX_COUNT];
    const int64_t n = gr_count(&x->shape);
    for (int64_t i = 0; i < n; i++)
        small[i] = (float)data[i];
    const bool is_f32 = f->root->dtype == TG_F32;
    return tg_constant(f->root->dtype, x->shape.rank, x->shape.dims,
                       is_f32 ? (const void *)small : data);
}

/* Row-major positions, if extents are not all known. */
static tg_value positions(const gr_value *x)
{
    int64_t dims[GR_MAX_RANK], stride = 1;
    tg_value sum = {0, 0};
    for (int i = 0; i < x->shape.rank; i++)
        dims[i] = tg_value_dim(x->value, i);
    for (int i = x->shape.rank - 1; i >= 0; i--) {
        const tg_value term =
            tg_mul(tg_iota(TG_I64, x->shape.rank, dims, i), stride);
        sum = tg_is_valid(sum) ? tg_add(sum, term) : term;
        stride *= x->shape.dims[i];
    }
    return sum;
}

tg_value gr_weights(gr_frame *f, const gr_value *x, double low, double high)
{
    double data[GR_MAX_COUNT];
    if (is_known(x)) {
        for (int64_t i = 0; i < gr_count(&x->shape); i++)
            data[i] = gr_uniform(f, low, high);
        return constant(f, x, data);
    }
    const double half = (high - low) / 2;
    const tg_value at = tg_cast(positions(x), f->root->dtype);
    const tg_value wave =
        tg_sin(tg_add(tg_mul(at, gr_uniform(f, 1, 3)), gr_uniform(f, 0, 6)));
    return tg_add(tg_mul(wave, half), low + half);
}

tg_value gr_signs(gr_frame *f, const gr_value *x, double size)
{
    double data[GR_MAX_COUNT];
    if (is_known(x)) {
        for (int64_t i = 0; i < gr_count(&x->shape); i++)
            data[i] = gr_one_in(f, 2) ? size : -size;
        return constant(f, x, data);
    }
    const int64_t period = 2 + gr_below(f, 2);
    const tg_value at = tg_rem(positions(x), period);
    return tg_select(tg_eq(at, (int64_t)gr_below(f, 2)), gr_number(f, size),
                     gr_number(f, -size));
}

tg_value gr_steps(gr_frame *f, const gr_value *x, double gap)
{
    double data[GR_MAX_COUNT];
    const int64_t n = gr_count(&x->shape);
    if (is_known(x)) {
        for (int64_t i = 0; i < n; i++) { /* inside-out shuffle */
            const int64_t k = gr_below(f, (int)i + 1);
            data[i] = data[k];
            data[k] = gap * (double)i;
        }
        return constant(f, x, data);
    }
    return tg_mul(tg_cast(positions(x), f->root->dtype),
                  gr_one_in(f, 2) ? gap : -gap);
}

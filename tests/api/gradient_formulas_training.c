/* SPDX-License-Identifier: MIT */
/*
 * gradient_formulas_training.c - losses and functions around training. See
 * gradient_formulas.h.
 */
#include "api/gradient_formulas.h"

static tg_value one_hot_rows(const tg_value *in)
{
    const tg_dtype dtype = tg_value_dtype(in[0]);
    return tg_square(tg_matmul(tg_one_hot(in[1], 4, dtype), in[0]));
}

static tg_value stacked(const tg_value *in)
{
    const tg_value s = tg_stack(1, in[0], tg_mul(in[1], in[2]), in[1]);
    tg_value part[3];
    tg_unstack(s, 1, part, 3);
    part[1] = tg_add(part[0], part[1]);
    part[2] = tg_add(part[1], part[2]);
    return tg_mul(cube(s), tg_stack(-2, part[0], part[1], part[2]));
}

static tg_value rolled(const tg_value *in)
{
    return tg_add(tg_mul(tg_square(tg_roll(in[0], 1, 2)), in[1]),
                  tg_roll(tg_mul(in[0], in[1]), -2, -4));
}

static tg_value variance(const tg_value *in)
{
    return tg_mul(tg_var(in[0], TG_AXES(1), 1), tg_var(in[0], TG_ALL_AXES, 0));
}

static tg_value deviation(const tg_value *in)
{
    return tg_add(tg_std(in[0], TG_AXES(0), 0),
                  tg_square(tg_std(in[0], TG_AXES(0), 1)));
}

static tg_value sigmoid_of_shares(const tg_value *in)
{
    return tg_sigmoid_cross_entropy(in[0], in[1]);
}

static tg_value sigmoid_of_classes(const tg_value *in)
{
    return tg_sigmoid_cross_entropy(in[0], in[1]);
}

static tg_value squared_error(const tg_value *in)
{
    return tg_mean_squared_error(in[0], in[1]);
}

static tg_value absolute_error(const tg_value *in)
{
    return tg_mean_absolute_error(in[0], in[1]);
}

static tg_value huber(const tg_value *in)
{
    return tg_huber_loss(in[0], in[1], 0.75);
}

const formula training_formulas[] = {
    FORMULA(one_hot_rows),
    FORMULA(stacked),
    FORMULA(rolled),
    FORMULA(variance),
    FORMULA(deviation),
    FORMULA(sigmoid_of_shares),
    FORMULA(sigmoid_of_classes),
    FORMULA(squared_error),
    FORMULA(absolute_error),
    FORMULA(huber),
    FORMULAS_END,
};

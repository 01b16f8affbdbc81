/* SPDX-License-Identifier: MIT */
/*
 * initial.h - initialisers: how a new variable or tensor is filled.
 *
 * Random initialisers are for float types. They draw from a seed that is
 * derived from the seed of the context (tg_context_options) and the full name
 * of the variable, so the values do not depend on the order in which variables
 * are created. tg_seeded sets the seed instead; one seed gives one sequence
 * of numbers, on every machine.
 */
#ifndef TGJIT_INITIAL_H
#define TGJIT_INITIAL_H

#include "base.h"

TG_BEGIN_DECLS

typedef enum tg_initial_kind {
    TG_INITIAL_ZEROS = 0,
    TG_INITIAL_NUMBER = 1,
    TG_INITIAL_DATA = 2,
    TG_INITIAL_UNIFORM = 3,
    TG_INITIAL_NORMAL = 4,
    TG_INITIAL_TRUNCATED_NORMAL = 5,
    TG_INITIAL_SCALED_UNIFORM = 6,
    TG_INITIAL_SCALED_NORMAL = 7,
    TG_INITIAL_ORTHOGONAL = 8,
    TG_INITIAL_UNSET = 9
} tg_initial_kind;

/* Returned by the functions below; its members are not an interface. */
typedef struct tg_initial {
    tg_initial_kind kind;
    bool has_seed;
    double a, b; /* number | low, high | mean, deviation | scale, fan | gain */
    uint64_t seed;
    const void *data;
} tg_initial;

static inline tg_initial tg_initial_of(tg_initial_kind kind, double a,
                                       double b)
{
    tg_initial initial;
    initial.kind = kind;
    initial.has_seed = false;
    initial.a = a;
    initial.b = b;
    initial.seed = 0;
    initial.data = NULL;
    return initial;
}

static inline tg_initial tg_zeros(void)
{
    return tg_initial_of(TG_INITIAL_ZEROS, 0, 0);
}

/* Elements that are not set. Write all of them, such as by tg_variable_map or
   tg_tensor_data, before anything reads them: for data that is read into its
   place, which then is touched once. */
static inline tg_initial tg_unset(void)
{
    return tg_initial_of(TG_INITIAL_UNSET, 0, 0);
}

/* Every element is `number`, which the dtype must be able to hold. */
static inline tg_initial tg_fill(double number)
{
    return tg_initial_of(TG_INITIAL_NUMBER, number, 0);
}

static inline tg_initial tg_ones(void)
{
    return tg_fill(1);
}

/* Copies the elements from `data`, row-major. It is read during creation. */
static inline tg_initial tg_from_data(const void *data)
{
    tg_initial initial = tg_initial_of(TG_INITIAL_DATA, 0, 0);
    initial.data = data;
    return initial;
}

/* Uniform in [low, high). */
static inline tg_initial tg_uniform(double low, double high)
{
    return tg_initial_of(TG_INITIAL_UNIFORM, low, high);
}

static inline tg_initial tg_normal(double mean, double deviation)
{
    return tg_initial_of(TG_INITIAL_NORMAL, mean, deviation);
}

/* Normal, but values further than two deviations from the mean are drawn
   again. */
static inline tg_initial tg_truncated_normal(double mean, double deviation)
{
    return tg_initial_of(TG_INITIAL_TRUNCATED_NORMAL, mean, deviation);
}

/*
 * Variance scaling, for weights. The variance is 2 / (fan_in + fan_out)
 * (Glorot), 2 / fan_in (He) or 1 / fan_in (LeCun). For weights [in, out] these
 * are `in` and `out`; for kernels [height, width, in, out] both are multiplied
 * by height * width; vectors have fan_in = fan_out. The plain names draw from
 * a uniform distribution, the others from a truncated normal one.
 */
enum { TG_FAN_IN = 0, TG_FAN_AVERAGE = 1 };

static inline tg_initial tg_glorot(void)
{
    return tg_initial_of(TG_INITIAL_SCALED_UNIFORM, 1, TG_FAN_AVERAGE);
}

static inline tg_initial tg_glorot_normal(void)
{
    return tg_initial_of(TG_INITIAL_SCALED_NORMAL, 1, TG_FAN_AVERAGE);
}

static inline tg_initial tg_he(void)
{
    return tg_initial_of(TG_INITIAL_SCALED_UNIFORM, 2, TG_FAN_IN);
}

static inline tg_initial tg_he_normal(void)
{
    return tg_initial_of(TG_INITIAL_SCALED_NORMAL, 2, TG_FAN_IN);
}

static inline tg_initial tg_lecun(void)
{
    return tg_initial_of(TG_INITIAL_SCALED_UNIFORM, 1, TG_FAN_IN);
}

static inline tg_initial tg_lecun_normal(void)
{
    return tg_initial_of(TG_INITIAL_SCALED_NORMAL, 1, TG_FAN_IN);
}

/*
 * `gain` times a random matrix whose columns are orthonormal, or whose rows
 * are if it has fewer rows than columns. Leading axes count as rows; the rank
 * must be at least 2.
 */
static inline tg_initial tg_orthogonal(double gain)
{
    return tg_initial_of(TG_INITIAL_ORTHOGONAL, gain, 0);
}

/* A random initialiser that draws from this seed. */
static inline tg_initial tg_seeded(tg_initial initial, uint64_t seed)
{
    initial.has_seed = true;
    initial.seed = seed;
    return initial;
}

TG_END_DECLS

#endif /* TGJIT_INITIAL_H */

/* SPDX-License-Identifier: MIT */
/*
 * finite_differences.h - for tests of libraries of operations: gradients of a
 * callback in f64, and of its gradient, against differences of its results;
 * sessions.
 */
#ifndef TGI_TEST_FINITE_DIFFERENCES_H
#define TGI_TEST_FINITE_DIFFERENCES_H

#include <math.h>

#include "support/api.h"

/* Interpreted, then compiled if that is possible. */
static inline void in_both(void check(session *s))
{
    static const char *const modes[] = {"off", "auto"};
    for (int i = 0; i < 2; i++) {
        session s;
        session_begin_with(&s, (tg_context_options){.jit = modes[i]});
        check(&s);
        session_end(&s);
    }
}

#define EACH_POLICY(policy) \
    for (tg_policy policy = TG_EXACT; policy <= TG_RELAXED; policy++)

/* A function of one value with up to 4 results. */
typedef struct differentiated {
    size_t (*function)(tg_value x, tg_value *out);
    int order; /* 1: its gradient; 2: that of its gradient */
} differentiated;

/* The sum of the results, with weights of their own. */
static inline tg_value weighted_sum(const tg_value *y, size_t n, double seed)
{
    tg_value sum = tg_scalar(TG_F64, 0);
    for (size_t i = 0; i < n; i++) {
        tg_value flat = tg_reshape(y[i], TG_DIMS(-1));
        tg_value at = tg_iota(TG_F64, TG_DIMS(tg_value_dim(flat, 0)), 0);
        tg_value weight = tg_sin(tg_add(tg_mul(at, 1.7), seed + (double)i));
        sum = tg_add(sum, tg_sum(tg_mul(flat, weight), TG_ALL_AXES));
    }
    return sum;
}

/* Returns the weighted sum and its gradient. */
static inline void sum_and_gradient(tg_trace *t, const tg_value *in, void *user)
{
    const differentiated *d = user;
    tg_value y[4];
    const size_t n = d->function(in[0], y);
    tg_value sum = weighted_sum(y, n, 0.3);
    tg_value gradient = tg_gradient(sum, in[0]);
    if (d->order == 2) {
        sum = weighted_sum(&gradient, 1, 0.9);
        gradient = tg_gradient(sum, in[0]);
    }
    tg_return(t, sum, gradient);
}

static inline double call_sum(tg_function *f, tg_tensor *x, double *gradient)
{
    tg_tensor *sum = NULL, *g = NULL;
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&sum, &g)));
    const double value = *(const double *)tg_tensor_data(sum);
    if (gradient)
        memcpy(gradient, tg_tensor_data(g),
               (size_t)tg_tensor_count(x) * sizeof(double));
    tg_tensor_release(sum);
    tg_tensor_release(g);
    return value;
}

enum { MAX_DIFFERENCES = 256 };

/* Compares each element of the gradient, relative to 1 + its magnitude. */
static inline void check_gradient_at(int line, tg_context *ctx,
                                     size_t (*function)(tg_value, tg_value *),
                                     int order, tg_policy policy,
                                     const double *data, int rank,
                                     const int64_t *dims)
{
    differentiated d = {function, order};
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = policy;
    tg_function *f =
        tg_function_create(ctx, sum_and_gradient, &d, &options);
    tg_tensor *x = tg_tensor_copy(ctx, data, TG_F64, rank, dims);
    double gradient[MAX_DIFFERENCES];
    cr_assert(f && x && tg_tensor_count(x) <= MAX_DIFFERENCES);
    call_sum(f, x, gradient);
    double *element = tg_tensor_data(x);
    for (int64_t i = 0; i < tg_tensor_count(x); i++) {
        const double saved = element[i], step = 1e-5;
        element[i] = saved + step;
        const double above = call_sum(f, x, NULL);
        element[i] = saved - step;
        const double below = call_sum(f, x, NULL);
        element[i] = saved;
        const double want = (above - below) / (2 * step);
        cr_assert_lt(fabs(gradient[i] - want), 1e-6 * (1 + fabs(want)),
                     "line %d: element %lld of derivative %d is %.9g, not %.9g",
                     line, (long long)i, order, gradient[i], want);
    }
    tg_tensor_release(x);
    tg_function_release(f);
}

#define check_gradient(ctx, function, order, policy, data, ...) \
    check_gradient_at(__LINE__, ctx, function, order, policy, data, \
                      __VA_ARGS__)

#endif /* TGI_TEST_FINITE_DIFFERENCES_H */

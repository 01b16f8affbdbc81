/* SPDX-License-Identifier: MIT */
/*
 * traced.h - callbacks whose graphs are goldens. #line below makes their source
 * locations independent of the path. Each operation is on its own line, because
 * compilers differ in the line they report for a multi-line expression.
 */
#ifndef TGI_TEST_TRACED_H
#define TGI_TEST_TRACED_H

#include "tgjit.h"

#line 1 "model.c"
static inline void gelu_like(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = tg_name(in[0], "x");
    tg_value half = tg_mul(x, 0.5);
    tg_value inner = tg_mul(x, 0.79788);
    tg_value curve = tg_tanh(inner);
    tg_value whole = tg_add(curve, 1.0);
    tg_return(t, tg_mul(half, whole));
}

static inline void normalise(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value mean = tg_mean(in[0], tg_keep(TG_AXES(-1)));
    tg_value centred = tg_sub(in[0], mean);
    tg_value top = tg_slice(centred, 0, 0, 2, 1);
    tg_value joined = tg_concat(0, top, centred);
    tg_return(t, tg_reshape(joined, TG_DIMS(-1)), tg_extent(in[0], 0));
}

static inline void train_step(tg_trace *t, const tg_value *in, void *user)
{
    tg_variable *const *weights = user;
    tg_value before = tg_read(weights[0]);
    tg_value hidden = tg_matmul(in[0], weights[0]);
    tg_value loss = tg_sum(hidden, TG_ALL_AXES);
    tg_assign_sub(weights[0], tg_mul(loss, 0.1));
    tg_assign_add(weights[1], 1);
    tg_print(t, "loss %v", loss);
    tg_return(t, loss, before);
}

static inline void with_static(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = in[0];
    for (int64_t i = 0; i < tg_static_int(t, 1); i++)
        y = tg_mul(y, y);
    tg_return(t, y);
}

static inline void caller(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y[2];
    tg_apply(user, TG_ARGS(in[0]), y, 2);
    tg_return(t, tg_add(y[0], 1), y[1]);
}

static inline void is_large(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value largest = tg_reduce_max(in[0], TG_ALL_AXES);
    tg_return(t, tg_gt(largest, 1.0));
}

static inline void halve(tg_trace *t, const tg_value *in, void *user)
{
    tg_assign_add((tg_variable *)user, 1);
    tg_return(t, tg_mul(in[0], 0.5));
}

static inline void keep(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, in[0]);
}

static inline void lower(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y;
    tg_value first = tg_eq(in[0], 0);
    tg_cond(first, keep, halve, user, TG_ARGS(in[1]), &y, 1);
    tg_return(t, tg_sub(y, 1.0));
}

static inline void flow(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y = tg_name(in[0], "x");
    tg_while_limit(100, is_large, halve, user, TG_ARGS(y), &y, 1);
    tg_for(in[1], lower, user, TG_ARGS(y), &y, 1);
    tg_return(t, y, tg_read((tg_variable *)user));
}

#endif /* TGI_TEST_TRACED_H */

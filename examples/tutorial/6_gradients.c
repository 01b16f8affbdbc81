/* SPDX-License-Identifier: MIT */
/* 6_gradients.c - finds size and rate from measurements, by gradient descent. */
#include <math.h>

#include "../check.h"

enum { N = 50 };

TG_DEFINE_BUNDLE(sample, size, rate)

/* Receives the iteration and the last loss; `user` has what `fit` received. */
typedef struct data {
    const sample *s;
    tg_value times, seen;
} data;

static void descend(tg_trace *t, const tg_value *in, void *user)
{
    (void)in;
    const data *d = user;
    const tg_value y = tg_mul(
        d->s->size, tg_exp(tg_neg(tg_mul(d->s->rate, d->times))));
    const tg_value loss = tg_mean(tg_square(tg_sub(y, d->seen)), TG_ALL_AXES);

    tg_variable *v[2];
    tg_value g[2];
    const size_t n = tg_bundle_gradients(loss, &sample_type, d->s, v, g, 2);
    for (size_t i = 0; i < n; i++)
        tg_assign_sub(v[i], tg_mul(g[i], 0.01));
    tg_return(t, loss);
}

/* All iterations are one call. */
static void fit(tg_trace *t, const tg_value *in, void *user)
{
    data d = {user, in[0], in[1]};
    tg_value loss;
    tg_for(in[2], descend, &d, TG_ARGS(0.0f), &loss, 1);
    tg_return(t, loss);
}

int main(void)
{
    float times[N], seen[N];
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    for (int i = 0; i < N; i++) { /* errors of 1 % */
        times[i] = (float)i * 0.1f;
        seen[i] = 8 * expf(-0.5f * times[i]) * (i % 2 ? 1.01f : 0.99f);
    }
    sample s = {
        tg_variable_create(ctx, "size", TG_F32, TG_SCALAR, tg_fill(4)),
        tg_variable_create(ctx, "rate", TG_F32, TG_SCALAR, tg_fill(0.2))};
    TG_AUTO(tg_function) f = tg_function_create(ctx, fit, &s, NULL);
    TG_AUTO(tg_tensor) t = tg_tensor_wrap(ctx, times, TG_F32, TG_DIMS(N));
    TG_AUTO(tg_tensor) y = tg_tensor_wrap(ctx, seen, TG_F32, TG_DIMS(N));
    check(s.size && s.rate && f && t && y);

    for (int64_t n = 1; n <= 1000; n *= 10) {
        float loss, size, rate;
        check(!tg_call(f, TG_ARGS(t, y, n), TG_RESULTS(&loss)));
        check(!tg_variable_get(s.size, &size, sizeof(size)));
        check(!tg_variable_get(s.rate, &rate, sizeof(rate)));
        printf("%4d more: loss %.4f, size %.2f, rate %.3f\n", (int)n,
               (double)loss, (double)size, (double)rate);
    }
    tg_bundle_release(&sample_type, &s);
    return 0;
}

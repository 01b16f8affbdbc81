/* SPDX-License-Identifier: MIT */
/* 2_bind.c - bind once, run many times. */
#include <time.h>

#include "../check.h"

enum { N = 64, RUNS = 100000 };

static void decay(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[1], tg_exp(tg_neg(tg_mul(in[2], in[0])))));
}

int main(void)
{
    float times[N], other[N];
    for (int i = 0; i < N; i++) {
        times[i] = (float)i;
        other[i] = 0;
    }
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_function) f = tg_function_create(ctx, decay, NULL, NULL);
    TG_AUTO(tg_tensor) t = tg_tensor_wrap(ctx, times, TG_F32, TG_DIMS(N));
    TG_AUTO(tg_tensor) out = NULL;
    check(f && t);

    /* Signature, buffers and code are settled here. */
    TG_AUTO(tg_bound) b = tg_bind(f, TG_ARGS(t, 8.0f, 0.5f), TG_RESULTS(&out));
    check(b);
    const float *y = tg_tensor_f32(out); /* every run writes here */
    const clock_t begin = clock();
    for (int i = 0; i < RUNS; i++)
        check(!tg_run(b));
    const double ns = (double)(clock() - begin) / CLOCKS_PER_SEC * 1e9 / RUNS;
    printf("y[1] = %.4f, %.0f ns a run\n", (double)y[1], ns);

    /* Another buffer takes the place of argument 0. */
    check(!tg_bound_set(b, 0, other));
    check(!tg_run(b));
    printf("y[1] = %.4f\n", (double)y[1]);
    return 0;
}

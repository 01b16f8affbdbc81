/* SPDX-License-Identifier: MIT */
/* 1_compile.c - a C loop, and the same as a compiled function. */
#include <math.h>

#include "../check.h"

enum { N = 1000 };

/* Activity of a sample at times t: size * exp(-rate * t). */
static void decay_in_c(const float *t, float size, float rate, float *out)
{
    for (int i = 0; i < N; i++)
        out[i] = size * expf(-rate * t[i]);
}

/* The same, recorded once. in[0] is t, in[1] size, in[2] rate. */
static void decay(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[1], tg_exp(tg_neg(tg_mul(in[2], in[0])))));
}

int main(void)
{
    static float times[N], expected[N];
    for (int i = 0; i < N; i++)
        times[i] = (float)i * 0.01f;
    decay_in_c(times, 8, 0.5f, expected);

    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_function) f = tg_function_create(ctx, decay, NULL, NULL);
    TG_AUTO(tg_tensor) t = tg_tensor_wrap(ctx, times, TG_F32, TG_DIMS(N));
    TG_AUTO(tg_tensor) out = NULL;
    check(f && t);
    check(!tg_call(f, TG_ARGS(t, 8.0f, 0.5f), TG_RESULTS(&out)));

    const float *y = tg_tensor_f32(out);
    float most = 0;
    for (int i = 0; i < N; i++)
        most = fmaxf(most, fabsf(y[i] / expected[i] - 1));
    printf("%s\n", tg_tensor_text(out));
    printf("largest relative difference: %s\n",
           most < 1e-6f ? "below 1e-6" : "too large");
    printf("%s", tg_explain_retrace(f));
    return 0;
}

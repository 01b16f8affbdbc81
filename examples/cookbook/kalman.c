/* SPDX-License-Identifier: MIT */
/*
 * kalman.c - a Kalman filter that estimates position and speed from noisy
 * positions: a scan over the observations, which carries the estimate and its
 * covariance in registers.
 */
#include "compare.h"

enum { N = 100000 };
#define TIME 0.1f
#define MODEL_NOISE 1e-3f
#define NOISE 0.25f /* variance of an observation */

/* Receives position, speed, the covariances xx, xv and vv, and an observation.
   Stacks the position. */
static void step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = tg_add(in[0], tg_mul(in[1], TIME)), v = in[1];
    const tg_value xv = tg_add(in[3], tg_mul(in[4], TIME));
    const tg_value xx = tg_add(
        tg_add(in[2], tg_mul(tg_add(in[3], xv), TIME)), MODEL_NOISE);
    const tg_value vv = tg_add(in[4], MODEL_NOISE);
    const tg_value scale = tg_reciprocal(tg_add(xx, NOISE));
    const tg_value gain_x = tg_mul(xx, scale), gain_v = tg_mul(xv, scale);
    const tg_value error = tg_sub(in[5], x);
    const tg_value best = tg_add(x, tg_mul(gain_x, error));
    tg_return(t, best, tg_add(v, tg_mul(gain_v, error)),
              tg_sub(xx, tg_mul(gain_x, xx)), tg_sub(xv, tg_mul(gain_x, xv)),
              tg_sub(vv, tg_mul(gain_v, xv)), best);
}

static void filter(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value end[5], path;
    tg_scan(step, NULL, TG_ARGS(0.0f, 0.0f, 1.0f, 0.0f, 1.0f), TG_ARGS(in[0]),
            end, 5, &path, 1);
    tg_return(t, path);
}

/* -- Plain C --------------------------------------------------------------- */

static float seen[N], plain[N];

static void plain_filter(void)
{
    float x = 0, v = 0, xx = 1, xv = 0, vv = 1;
    for (int i = 0; i < N; i++) {
        x += v * TIME;
        xx += TIME * (xv + (xv + vv * TIME)) + MODEL_NOISE;
        xv += vv * TIME;
        vv += MODEL_NOISE;
        const float scale = 1 / (xx + NOISE);
        const float gain_x = xx * scale, gain_v = xv * scale;
        const float error = seen[i] - x;
        x += gain_x * error;
        v += gain_v * error;
        vv -= gain_v * xv;
        xv -= gain_x * xv;
        xx -= gain_x * xx;
        plain[i] = x;
    }
}

int main(void)
{
    for (int i = 0; i < N; i++)
        seen[i] = sinf((float)i * 1e-3f) + random_number() - 0.5f;
    TG_AUTO(tg_context) ctx = one_thread();
    TG_AUTO(tg_function) f = tg_function_create(ctx, filter, NULL, NULL);
    TG_AUTO(tg_tensor) x = tg_tensor_wrap(ctx, seen, TG_F32, TG_DIMS(N));
    TG_AUTO(tg_tensor) out = NULL;
    check(f && x);
    TG_AUTO(tg_bound) b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&out));
    check(b);
    compare("kalman, 100,000 observations", b, plain_filter,
            tg_tensor_data(out), plain, N, 1e-3);
    return 0;
}

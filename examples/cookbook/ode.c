/* SPDX-License-Identifier: MIT */
/*
 * ode.c - 4096 pendulums with friction by the method of Runge and Kutta, 200
 * steps a call. examples/ode_fit.c differentiates such a loop to fit its
 * parameters.
 */
#include "compare.h"

enum { N = 4096, STEPS = 200 };
#define TIME 0.01f
#define FRICTION 0.1f

typedef struct state {
    tg_value angle, speed;
} state;

/* x + y * factor */
static state moved(state x, state y, float factor)
{
    return (state){tg_add(x.angle, tg_mul(y.angle, factor)),
                   tg_add(x.speed, tg_mul(y.speed, factor))};
}

/* The change of a state in time. */
static state flow(state x)
{
    return (state){x.speed, tg_sub(tg_neg(tg_sin(x.angle)),
                                   tg_mul(x.speed, FRICTION))};
}

/* Receives the iteration, angles and speeds. */
static void step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const state x = {in[1], in[2]};
    const state a = flow(x), b = flow(moved(x, a, TIME / 2)),
                c = flow(moved(x, b, TIME / 2)), d = flow(moved(x, c, TIME));
    const state sum = moved(moved(moved(a, b, 2), c, 2), d, 1);
    const state end = moved(x, sum, TIME / 6);
    tg_return(t, end.angle, end.speed);
}

static void swing(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value end[2];
    tg_for(STEPS, step, NULL, TG_ARGS(in[0], tg_mul(in[0], 0)), end, 2);
    tg_return(t, end[0]);
}

/* -- Plain C --------------------------------------------------------------- */

static float start[N], angle[N], speed[N];

static void plain_swing(void)
{
    memcpy(angle, start, sizeof(start));
    memset(speed, 0, sizeof(speed));
    for (int k = 0; k < STEPS; k++)
        for (int i = 0; i < N; i++) {
            const float x = angle[i], v = speed[i];
            const float va = -sinf(x) - FRICTION * v;
            const float xb = v + TIME / 2 * va;
            const float vb = -sinf(x + TIME / 2 * v) - FRICTION * xb;
            const float xc = v + TIME / 2 * vb;
            const float vc = -sinf(x + TIME / 2 * xb) - FRICTION * xc;
            const float xd = v + TIME * vc;
            const float vd = -sinf(x + TIME * xc) - FRICTION * xd;
            angle[i] = x + TIME / 6 * (v + 2 * xb + 2 * xc + xd);
            speed[i] = v + TIME / 6 * (va + 2 * vb + 2 * vc + vd);
        }
}

int main(void)
{
    for (int i = 0; i < N; i++)
        start[i] = 3 * (float)i / N;
    TG_AUTO(tg_context) ctx = one_thread();
    TG_AUTO(tg_function) f = tg_function_create(ctx, swing, NULL, NULL);
    TG_AUTO(tg_tensor) x = tg_tensor_wrap(ctx, start, TG_F32, TG_DIMS(N));
    TG_AUTO(tg_tensor) out = NULL;
    check(f && x);
    TG_AUTO(tg_bound) b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&out));
    check(b);
    compare("pendulums, 4096, 200 steps", b, plain_swing, tg_tensor_data(out),
            angle, N, 1e-4);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * nbody.c - bodies that attract each other. The forces are an expression over
 * all pairs, [N, N], of which only the sums are stored.
 */
#include "compare.h"

enum { N = 1024, STEPS = 10 };
#define TIME 1e-3f
#define SOFT 1e-2f /* squared distance within which forces fade */

/* x[j] - x[i], [N, N]. */
static tg_value apart(tg_value x)
{
    return tg_sub(x, tg_expand_dims(x, 1));
}

/* Receives the iteration, positions and velocities along three axes. */
static void step(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value mass = *(const tg_value *)user;
    tg_value by[3], square = tg_scalar(TG_F32, SOFT);
    for (int i = 0; i < 3; i++) {
        by[i] = apart(in[1 + i]);
        square = tg_add(square, tg_square(by[i]));
    }
    const tg_value inverse = tg_rsqrt(square);
    const tg_value pull = tg_mul(mass, tg_mul(inverse, tg_square(inverse)));
    tg_value x[3], v[3];
    for (int i = 0; i < 3; i++) {
        const tg_value force = tg_sum(tg_mul(pull, by[i]), TG_AXES(1));
        v[i] = tg_add(in[4 + i], tg_mul(force, TIME));
        x[i] = tg_add(in[1 + i], tg_mul(v[i], TIME));
    }
    tg_return(t, x[0], x[1], x[2], v[0], v[1], v[2]);
}

/* Receives positions [3, N] and masses; the bodies are at rest. */
static void simulate(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x[3], mass = in[1], end[6];
    tg_unstack(in[0], 0, x, 3);
    const tg_value rest = tg_mul(x[0], 0);
    tg_for(STEPS, step, &mass, TG_ARGS(x[0], x[1], x[2], rest, rest, rest), end,
           6);
    tg_return(t, tg_stack(0, end[0], end[1], end[2]));
}

/* -- Plain C --------------------------------------------------------------- */

static float start[3][N], mass[N], x[3][N], v[3][N];

static void plain_simulate(void)
{
    memcpy(x, start, sizeof(x));
    memset(v, 0, sizeof(v));
    for (int k = 0; k < STEPS; k++) {
        for (int i = 0; i < N; i++) {
            float fx = 0, fy = 0, fz = 0;
            for (int j = 0; j < N; j++) {
                const float dx = x[0][j] - x[0][i], dy = x[1][j] - x[1][i],
                            dz = x[2][j] - x[2][i];
                const float inverse =
                    1 / sqrtf(SOFT + dx * dx + dy * dy + dz * dz);
                const float pull = mass[j] * inverse * inverse * inverse;
                fx += pull * dx;
                fy += pull * dy;
                fz += pull * dz;
            }
            v[0][i] += fx * TIME;
            v[1][i] += fy * TIME;
            v[2][i] += fz * TIME;
        }
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < N; j++)
                x[i][j] += v[i][j] * TIME;
    }
}

int main(void)
{
    for (int j = 0; j < N; j++) {
        for (int i = 0; i < 3; i++)
            start[i][j] = random_number();
        mass[j] = random_number() / N;
    }
    TG_AUTO(tg_context) ctx = one_thread();
    TG_AUTO(tg_function) f = tg_function_create(ctx, simulate, NULL, NULL);
    TG_AUTO(tg_tensor) places =
        tg_tensor_wrap(ctx, start, TG_F32, TG_DIMS(3, N));
    TG_AUTO(tg_tensor) masses = tg_tensor_wrap(ctx, mass, TG_F32, TG_DIMS(N));
    TG_AUTO(tg_tensor) out = NULL;
    check(f && places && masses);
    TG_AUTO(tg_bound) b =
        tg_bind(f, TG_ARGS(places, masses), TG_RESULTS(&out));
    check(b);
    compare("n-body, 1024 bodies, 10 steps", b, plain_simulate,
            tg_tensor_data(out), x[0], 3 * N, 1e-4);
    return 0;
}

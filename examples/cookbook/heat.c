/* SPDX-License-Identifier: MIT */
/* heat.c - the heat equation on a square with cold borders, 100 steps a call. */
#include "compare.h"

enum { N = 512, STEPS = 100 };
#define RATE 0.2f

/* Elements 1 … n - 2 of both axes, moved by (down, right). */
static tg_value inner(tg_value u, int64_t down, int64_t right)
{
    return tg_slice_axes(u, TG_DIMS(1 + down, 1 + right),
                         TG_DIMS(N - 1 + down, N - 1 + right));
}

/* Receives the iteration and the temperatures. */
static void step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value u = in[1];
    const tg_value sides = tg_add(tg_add(inner(u, -1, 0), inner(u, 1, 0)),
                                  tg_add(inner(u, 0, -1), inner(u, 0, 1)));
    const tg_value change =
        tg_mul(tg_sub(sides, tg_mul(inner(u, 0, 0), 4)), RATE);
    tg_return(t, tg_add(u, tg_pad_axes(change, TG_DIMS(1, 1), TG_DIMS(1, 1),
                                       0)));
}

static void heat(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value u;
    tg_for(STEPS, step, NULL, TG_ARGS(in[0]), &u, 1);
    tg_return(t, u);
}

/* -- Plain C --------------------------------------------------------------- */

static float start[N][N], plain[2][N][N];

static void plain_heat(void)
{
    memcpy(plain[0], start, sizeof(start));
    memcpy(plain[1], start, sizeof(start));
    for (int k = 0; k < STEPS; k++) {
        float (*restrict u)[N] = plain[k % 2], (*restrict v)[N] =
            plain[1 - k % 2];
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                v[i][j] = u[i][j] + RATE * (u[i - 1][j] + u[i + 1][j] +
                                            u[i][j - 1] + u[i][j + 1] -
                                            4 * u[i][j]);
    }
}

int main(void)
{
    for (int i = N / 4; i < N / 2; i++)
        for (int j = N / 3; j < N / 2; j++)
            start[i][j] = 100;
    TG_AUTO(tg_context) ctx = one_thread();
    TG_AUTO(tg_function) f = tg_function_create(ctx, heat, NULL, NULL);
    TG_AUTO(tg_tensor) u = tg_tensor_wrap(ctx, start, TG_F32, TG_DIMS(N, N));
    TG_AUTO(tg_tensor) out = NULL;
    check(f && u);
    TG_AUTO(tg_bound) b = tg_bind(f, TG_ARGS(u), TG_RESULTS(&out));
    check(b);
    compare("heat, 512 x 512, 100 steps", b, plain_heat, tg_tensor_data(out),
            plain[STEPS % 2][0], N * N, 1e-3);
    return 0;
}

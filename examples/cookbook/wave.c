/* SPDX-License-Identifier: MIT */
/* wave.c - the wave equation on a torus: a loop carries two fields. */
#include "compare.h"

enum { N = 512, STEPS = 100 };
#define SPEED 0.25f /* of the wave, squared, in cells per step */

/* Receives the iteration, and the heights of this and the last step. */
static void step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value u = in[1], last = in[2];
    const tg_value sides =
        tg_add(tg_add(tg_roll(u, 0, 1), tg_roll(u, 0, -1)),
               tg_add(tg_roll(u, 1, 1), tg_roll(u, 1, -1)));
    const tg_value force = tg_mul(tg_sub(sides, tg_mul(u, 4)), SPEED);
    tg_return(t, tg_add(tg_sub(tg_mul(u, 2), last), force), u);
}

static void wave(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value u[2];
    tg_for(STEPS, step, NULL, TG_ARGS(in[0], in[0]), u, 2);
    tg_return(t, u[0]);
}

/* -- Plain C --------------------------------------------------------------- */

static float start[N][N], plain[3][N][N];

/* One row; the columns before the first and behind the last one are those of
   the other side. */
static void plain_row(const float *restrict u, const float *restrict above,
                      const float *restrict below, const float *restrict last,
                      float *restrict next)
{
    for (int j = 1; j < N - 1; j++)
        next[j] = 2 * u[j] - last[j] +
                  SPEED * (above[j] + below[j] + u[j - 1] + u[j + 1] - 4 * u[j]);
    for (int j = 0; j < N; j += N - 1)
        next[j] = 2 * u[j] - last[j] +
                  SPEED * (above[j] + below[j] + u[(j + N - 1) % N] +
                           u[(j + 1) % N] - 4 * u[j]);
}

static void plain_wave(void)
{
    memcpy(plain[0], start, sizeof(start));
    memcpy(plain[2], start, sizeof(start));
    for (int k = 0; k < STEPS; k++)
        for (int i = 0; i < N; i++)
            plain_row(plain[k % 3][i], plain[k % 3][(i + N - 1) % N],
                      plain[k % 3][(i + 1) % N], plain[(k + 2) % 3][i],
                      plain[(k + 1) % 3][i]);
}

int main(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            const float x = (float)(i - N / 2), y = (float)(j - N / 2);
            start[i][j] = 1 / (1 + 0.01f * (x * x + y * y));
        }
    TG_AUTO(tg_context) ctx = one_thread();
    TG_AUTO(tg_function) f = tg_function_create(ctx, wave, NULL, NULL);
    TG_AUTO(tg_tensor) u = tg_tensor_wrap(ctx, start, TG_F32, TG_DIMS(N, N));
    TG_AUTO(tg_tensor) out = NULL;
    check(f && u);
    TG_AUTO(tg_bound) b = tg_bind(f, TG_ARGS(u), TG_RESULTS(&out));
    check(b);
    compare("wave, 512 x 512, 100 steps", b, plain_wave, tg_tensor_data(out),
            plain[STEPS % 3][0], N * N, 1e-3);
    return 0;
}

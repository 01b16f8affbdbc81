/* SPDX-License-Identifier: MIT */
/*
 * jacobi.c - Poisson's equation by Jacobi's method: a loop that ends when the
 * solution hardly changes, or after a limit. It is one call.
 */
#include "compare.h"

enum { N = 128, LIMIT = 10000 };
#define TOLERANCE 1e-4f

static tg_value inner(tg_value u, int64_t down, int64_t right)
{
    return tg_slice_axes(u, TG_DIMS(1 + down, 1 + right),
                         TG_DIMS(N - 1 + down, N - 1 + right));
}

/* Receives the solution so far and its last change. */
static void goes_on(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_gt(in[1], TOLERANCE));
}

static void improve(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value u = in[0], load = *(const tg_value *)user;
    const tg_value sides = tg_add(tg_add(inner(u, -1, 0), inner(u, 1, 0)),
                                  tg_add(inner(u, 0, -1), inner(u, 0, 1)));
    const tg_value better = tg_mul(tg_add(sides, inner(load, 0, 0)), 0.25);
    const tg_value change = tg_reduce_max(
        tg_abs(tg_sub(better, inner(u, 0, 0))), TG_ALL_AXES);
    tg_return(t, tg_pad_axes(better, TG_DIMS(1, 1), TG_DIMS(1, 1), 0), change);
}

static void poisson(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value load = in[0], end[2];
    const tg_value zeros = tg_mul(load, 0);
    tg_while_limit(LIMIT, goes_on, improve, &load, TG_ARGS(zeros, 1.0f), end,
                   2);
    tg_return(t, end[0]);
}

/* -- Plain C --------------------------------------------------------------- */

static float load[N][N], plain[2][N][N], solution[N][N];

static float plain_step(float (*restrict u)[N], float (*restrict v)[N])
{
    float change = 0;
    for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < N - 1; j++) {
            v[i][j] = 0.25f * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] +
                               u[i][j + 1] + load[i][j]);
            const float by = fabsf(v[i][j] - u[i][j]);
            change = by > change ? by : change;
        }
    return change;
}

static void plain_poisson(void)
{
    memset(plain, 0, sizeof(plain));
    int k = 0;
    while (plain_step(plain[k % 2], plain[(k + 1) % 2]) > TOLERANCE)
        k++;
    memcpy(solution, plain[(k + 1) % 2], sizeof(solution));
}

int main(void)
{
    for (int i = 0; i < N; i++)
        load[i][i] = 0.01f;
    TG_AUTO(tg_context) ctx = one_thread();
    TG_AUTO(tg_function) f = tg_function_create(ctx, poisson, NULL, NULL);
    TG_AUTO(tg_tensor) x = tg_tensor_wrap(ctx, load, TG_F32, TG_DIMS(N, N));
    TG_AUTO(tg_tensor) out = NULL;
    check(f && x);
    TG_AUTO(tg_bound) b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&out));
    check(b);
    /* The loops may end one step apart. */
    compare("jacobi, 128 x 128, to a tolerance", b, plain_poisson,
            tg_tensor_data(out), solution[0], N * N, 2 * (double)TOLERANCE);
    return 0;
}

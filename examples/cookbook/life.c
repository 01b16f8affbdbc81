/* SPDX-License-Identifier: MIT */
/* life.c - Conway's Game of Life on a torus of bytes, 100 generations a call. */
#include "compare.h"

enum { N = 512, STEPS = 100 };

/* Receives the iteration and the cells, 0 or 1. */
static void step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value cells = in[1];
    const tg_value rows = tg_add(tg_add(tg_roll(cells, 0, 1), cells),
                                 tg_roll(cells, 0, -1));
    const tg_value block =
        tg_add(tg_add(tg_roll(rows, 1, 1), rows), tg_roll(rows, 1, -1));
    /* Three in the block of nine, or four around a living cell. */
    const tg_value lives = tg_or(
        tg_eq(block, 3), tg_and(tg_eq(block, 4), tg_ne(cells, 0)));
    tg_return(t, tg_cast(lives, TG_U8));
}

/* Returns the cells, and in each row how many live. */
static void life(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value cells;
    tg_for(STEPS, step, NULL, TG_ARGS(in[0]), &cells, 1);
    tg_return(t, cells, tg_sum(tg_cast(cells, TG_F32), TG_AXES(1)));
}

/* -- Plain C --------------------------------------------------------------- */

static uint8_t start[N][N], plain[2][N][N];
static float plain_sums[N];

static void plain_row(const uint8_t *restrict above, const uint8_t *restrict row,
                      const uint8_t *restrict below, uint8_t *restrict next)
{
    uint8_t sums[N + 2];
    for (int j = 0; j < N; j++)
        sums[j + 1] = (uint8_t)(above[j] + row[j] + below[j]);
    sums[0] = sums[N];
    sums[N + 1] = sums[1];
    for (int j = 0; j < N; j++) {
        const uint8_t block = (uint8_t)(sums[j] + sums[j + 1] + sums[j + 2]);
        next[j] = (block == 3) | ((block == 4) & row[j]);
    }
}

static void plain_life(void)
{
    memcpy(plain[0], start, sizeof(start));
    for (int k = 0; k < STEPS; k++)
        for (int i = 0; i < N; i++)
            plain_row(plain[k % 2][(i + N - 1) % N], plain[k % 2][i],
                      plain[k % 2][(i + 1) % N], plain[(k + 1) % 2][i]);
    for (int i = 0; i < N; i++) {
        plain_sums[i] = 0;
        for (int j = 0; j < N; j++)
            plain_sums[i] += plain[STEPS % 2][i][j];
    }
}

int main(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            start[i][j] = random_number() < 0.3f;
    TG_AUTO(tg_context) ctx = one_thread();
    TG_AUTO(tg_function) f = tg_function_create(ctx, life, NULL, NULL);
    TG_AUTO(tg_tensor) x = tg_tensor_wrap(ctx, start, TG_U8, TG_DIMS(N, N));
    TG_AUTO(tg_tensor) cells = NULL;
    TG_AUTO(tg_tensor) sums = NULL;
    check(f && x);
    TG_AUTO(tg_bound) b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&cells, &sums));
    check(b);
    compare("life, 512 x 512, 100 generations", b, plain_life,
            tg_tensor_data(sums), plain_sums, N, 0);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * kmeans.c - ten steps of k-means. The distances of all pairs come from one
 * matrix product, and the new centres from another one, with a one-hot matrix.
 */
#include "compare.h"

enum { POINTS = 8192, CENTRES = 32, FEATURES = 16, STEPS = 10 };

/* Receives the iteration and the centres; `user` is the points. */
static void step(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value x = *(const tg_value *)user, c = in[1];
    /* |x - c|^2 without |x|^2, which is the same for all centres. */
    const tg_value products = tg_matmul_with(x, c, TG_TRANSPOSE_B);
    const tg_value distance = tg_sub(tg_sum(tg_square(c), TG_AXES(1)),
                                     tg_mul(products, 2));
    const tg_value member =
        tg_one_hot(tg_argmin(distance, 1), CENTRES, TG_F32);
    const tg_value sums = tg_matmul_with(member, x, TG_TRANSPOSE_A);
    const tg_value counts = tg_max(tg_sum(member, TG_AXES(0)), 1);
    tg_return(t, tg_div(sums, tg_expand_dims(counts, 1)));
}

static void cluster(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = in[0], c;
    tg_for(STEPS, step, &x, TG_ARGS(in[1]), &c, 1);
    tg_return(t, c);
}

/* -- Plain C --------------------------------------------------------------- */

static float points[POINTS][FEATURES], centres[CENTRES][FEATURES];

static int nearest(const float *restrict point)
{
    int best = 0;
    float least = 1e30f;
    for (int k = 0; k < CENTRES; k++) {
        float distance = 0;
        for (int i = 0; i < FEATURES; i++)
            distance += (point[i] - centres[k][i]) * (point[i] - centres[k][i]);
        if (distance < least) {
            least = distance;
            best = k;
        }
    }
    return best;
}

static void plain_cluster(void)
{
    memcpy(centres, points, sizeof(centres));
    for (int step = 0; step < STEPS; step++) {
        float sums[CENTRES][FEATURES] = {{0}}, counts[CENTRES] = {0};
        for (int i = 0; i < POINTS; i++) {
            const int k = nearest(points[i]);
            counts[k]++;
            for (int j = 0; j < FEATURES; j++)
                sums[k][j] += points[i][j];
        }
        for (int k = 0; k < CENTRES; k++)
            for (int j = 0; j < FEATURES; j++)
                centres[k][j] = sums[k][j] / (counts[k] > 1 ? counts[k] : 1);
    }
}

int main(void)
{
    for (int i = 0; i < POINTS; i++)
        for (int j = 0; j < FEATURES; j++)
            points[i][j] = random_number() + (float)(i % CENTRES == j);
    TG_AUTO(tg_context) ctx = one_thread();
    TG_AUTO(tg_function) f = tg_function_create(ctx, cluster, NULL, NULL);
    TG_AUTO(tg_tensor) x =
        tg_tensor_wrap(ctx, points, TG_F32, TG_DIMS(POINTS, FEATURES));
    TG_AUTO(tg_tensor) c =
        tg_tensor_copy(ctx, points, TG_F32, TG_DIMS(CENTRES, FEATURES));
    TG_AUTO(tg_tensor) out = NULL;
    check(f && x && c);
    TG_AUTO(tg_bound) b = tg_bind(f, TG_ARGS(x, c), TG_RESULTS(&out));
    check(b);
    compare("k-means, 8192 points, 10 steps", b, plain_cluster,
            tg_tensor_data(out), centres[0], CENTRES * FEATURES, 1e-2);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * filters.c - the edges of an image of bytes: a blur, Sobel's two filters, and
 * the length of the gradient, fused. The borders repeat the nearest pixel.
 */
#include "compare.h"

enum { N = 1024 };

/* Weights a, b, a of three neighbours along an axis of extent N + 2. */
static tg_value three(tg_value x, int axis, float a, float b, float c)
{
    return tg_add(tg_add(tg_mul(tg_slice(x, axis, 0, -2, 1), a),
                         tg_mul(tg_slice(x, axis, 1, -1, 1), b)),
                  tg_mul(tg_slice(x, axis, 2, TG_END, 1), c));
}

static tg_value bordered(tg_value x)
{
    return tg_pad_from_axes(x, TG_DIMS(1, 1), TG_DIMS(1, 1), TG_PAD_EDGE);
}

static void edges(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value image = bordered(tg_cast(in[0], TG_F32));
    const tg_value blurred = bordered(
        three(three(image, 0, 0.25f, 0.5f, 0.25f), 1, 0.25f, 0.5f, 0.25f));
    const tg_value down = three(three(blurred, 1, 1, 2, 1), 0, -1, 0, 1);
    const tg_value right = three(three(blurred, 0, 1, 2, 1), 1, -1, 0, 1);
    tg_return(t, tg_sqrt(tg_add(tg_square(down), tg_square(right))));
}

/* -- Plain C --------------------------------------------------------------- */

static uint8_t image[N][N];
static float plain[N][N], bigger[N + 2][N + 2], blurred[N + 2][N + 2];

static void add_border(float (*x)[N + 2])
{
    for (int i = 1; i <= N; i++) {
        x[i][0] = x[i][1];
        x[i][N + 1] = x[i][N];
    }
    memcpy(x[0], x[1], sizeof(x[0]));
    memcpy(x[N + 1], x[N], sizeof(x[0]));
}

static void plain_edges(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            bigger[i + 1][j + 1] = image[i][j];
    add_border(bigger);
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= N; j++) {
            const float *a = &bigger[i - 1][j], *b = &bigger[i][j],
                        *c = &bigger[i + 1][j];
            blurred[i][j] = 0.0625f * (a[-1] + c[-1] + a[1] + c[1]) +
                            0.125f * (a[0] + b[-1] + b[1] + c[0]) +
                            0.25f * b[0];
        }
    add_border(blurred);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            const float *a = &blurred[i][j + 1], *b = &blurred[i + 1][j + 1],
                        *c = &blurred[i + 2][j + 1];
            const float down =
                c[-1] - a[-1] + 2 * (c[0] - a[0]) + c[1] - a[1];
            const float right =
                a[1] - a[-1] + 2 * (b[1] - b[-1]) + c[1] - c[-1];
            plain[i][j] = sqrtf(down * down + right * right);
        }
}

int main(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            image[i][j] = (uint8_t)((i ^ j) / 4 + (i * j >> 12));
    TG_AUTO(tg_context) ctx = one_thread();
    TG_AUTO(tg_function) f = tg_function_create(ctx, edges, NULL, NULL);
    TG_AUTO(tg_tensor) x = tg_tensor_wrap(ctx, image, TG_U8, TG_DIMS(N, N));
    TG_AUTO(tg_tensor) out = NULL;
    check(f && x);
    TG_AUTO(tg_bound) b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&out));
    check(b);
    compare("edges, 1024 x 1024", b, plain_edges, tg_tensor_data(out), plain[0],
            N * N, 1e-2);
    return 0;
}

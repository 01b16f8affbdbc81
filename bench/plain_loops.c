/* SPDX-License-Identifier: MIT */
/*
 * plain_loops.c - loops with a loop-carried dependence in plain C. See
 * plain_elementwise.c.
 */
#include <string.h>

#include "peers.h"

void plain_scan_3x3(const kernel_buffers *b)
{
    const float *restrict x = b->in[0];
    const float *restrict start = b->in[1], *restrict a = b->in[2];
    float *restrict last = b->out[0], *restrict all = b->out[1];
    float c[9], next[9];
    memcpy(c, start, sizeof(c));
    for (int64_t step = 0; step < b->count; step++) {
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                float sum = x[step];
                for (int k = 0; k < 3; k++)
                    sum += a[3 * i + k] * c[3 * k + j];
                next[3 * i + j] = sum;
            }
        for (int i = 0; i < 9; i++)
            all[9 * step + i] = c[i] = next[i];
    }
    memcpy(last, c, sizeof(c));
}

void plain_lorenz(const kernel_buffers *b)
{
    double x = *(const double *)b->in[0];
    double y = *(const double *)b->in[1];
    double z = *(const double *)b->in[2];
    for (int step = 0; step < LORENZ_STEPS; step++) {
        const double dx = (y - x) * 10.0;
        const double dy = x * (28.0 - z) - y;
        const double dz = x * y - z * (8.0 / 3);
        x += dx * LORENZ_STEP;
        y += dy * LORENZ_STEP;
        z += dz * LORENZ_STEP;
    }
    *(double *)b->out[0] = x;
    *(double *)b->out[1] = y;
    *(double *)b->out[2] = z;
}

/* Double-buffered: the next state overwrites the previous one. After an even
   number of steps the buffers are in their original order. */
void plain_wave_1d(const kernel_buffers *b)
{
    _Static_assert(WAVE_STEPS % 2 == 0, "buffers end in their order");
    const int64_t n = b->columns;
    double *before = b->out[0], *now = b->out[1];
    memcpy(before, b->in[0], (size_t)n * sizeof(*before));
    memcpy(now, b->in[1], (size_t)n * sizeof(*now));
    for (int step = 0; step < WAVE_STEPS; step++) {
        double *restrict next = before;
        const double *restrict u = now;
        for (int64_t i = 1; i < n - 1; i++)
            next[i] = (2 * u[i] - next[i]) +
                      ((u[i - 1] + u[i + 1]) - 2 * u[i]) * WAVE_SPEED;
        next[0] = next[n - 1] = 0;
        before = now;
        now = next;
    }
}

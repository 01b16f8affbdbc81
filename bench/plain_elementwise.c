/* SPDX-License-Identifier: MIT */
/*
 * plain_elementwise.c - elementwise kernels in plain C. Compiled with fast math
 * for the host CPU (local.mk), so that gcc uses libmvec's vector functions.
 */
#include <math.h>
#include <string.h>

#include "peers.h"

void plain_add(const kernel_buffers *b)
{
    const float *restrict x = b->in[0], *restrict y = b->in[1];
    float *restrict out = b->out[0];
    for (int64_t i = 0; i < b->count; i++)
        out[i] = x[i] + y[i];
}

void plain_scale(const kernel_buffers *b)
{
    const float *restrict x = b->in[0];
    const float a = *(const float *)b->in[1];
    float *restrict out = b->out[0];
#pragma omp parallel for
    for (int64_t i = 0; i < b->count; i++)
        out[i] = a * x[i];
}

void plain_axpy(const kernel_buffers *b)
{
    const float *restrict x = b->in[0], *restrict y = b->in[1];
    const float a = *(const float *)b->in[2];
    float *restrict out = b->out[0];
#pragma omp parallel for
    for (int64_t i = 0; i < b->count; i++)
        out[i] = a * x[i] + y[i];
}

void plain_copy(const kernel_buffers *b)
{
    enum { PARTS = 16 };
    const char *x = b->in[0];
    char *out = b->out[0];
    const int64_t bytes = b->count * (int64_t)sizeof(float);
#pragma omp parallel for schedule(static)
    for (int part = 0; part < PARTS; part++) {
        const int64_t begin = bytes * part / PARTS;
        const int64_t end = bytes * (part + 1) / PARTS;
        memcpy(out + begin, x + begin, (size_t)(end - begin));
    }
}

void plain_chain(const kernel_buffers *b)
{
    const float *restrict x = b->in[0];
    const float a = *(const float *)b->in[1];
    const float shift = *(const float *)b->in[2];
    const float c = *(const float *)b->in[3];
    float *restrict out = b->out[0];
#pragma omp parallel for
    for (int64_t i = 0; i < b->count; i++)
        out[i] = tanhf(a * x[i] + shift) * (1.0f / (1.0f + expf(-(c * x[i])))) -
                 0.5f * x[i];
}

void plain_black_scholes(const kernel_buffers *b)
{
    const double *restrict spot = b->in[0];
    const double *restrict strike = b->in[1];
    const double *restrict years = b->in[2];
    const double rate = *(const double *)b->in[3];
    const double volatility = *(const double *)b->in[4];
    double *restrict call = b->out[0];
    double *restrict put = b->out[1];
    const double drift = rate + 0.5 * volatility * volatility;
#pragma omp parallel for
    for (int64_t i = 0; i < b->count; i++) {
        const double spread = volatility * sqrt(years[i]);
        const double d1 =
            (log(spot[i] / strike[i]) + drift * years[i]) / spread;
        const double d2 = d1 - spread;
        const double owed = strike[i] * exp(-rate * years[i]);
        const double n1 = 0.5 + 0.5 * erf(d1 * 0x1.6a09e667f3bcdp-1);
        const double n2 = 0.5 + 0.5 * erf(d2 * 0x1.6a09e667f3bcdp-1);
        call[i] = spot[i] * n1 - owed * n2;
        put[i] = owed * (1 - n2) - spot[i] * (1 - n1);
    }
}

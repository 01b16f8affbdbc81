/* SPDX-License-Identifier: MIT */
/*
 * plain_calls.c - the sum of a vector and several others, which the library has
 * in variables, in plain C. See plain_elementwise.c.
 */
#include "peers.h"

static inline void sum_of(const kernel_buffers *b, int n_variables)
{
    const float *restrict x = b->in[0];
    float *restrict out = b->out[0];
    for (int64_t i = 0; i < b->count; i++) {
        float sum = x[i] * 2;
        for (int k = 1; k <= n_variables; k++)
            sum += ((const float *)b->in[k])[i];
        out[i] = sum;
    }
}

#define VARIABLES(n) \
    void plain_variables_##n(const kernel_buffers *b) \
    { \
        sum_of(b, n); \
    }
VARIABLES(0)
VARIABLES(1)
VARIABLES(2)
VARIABLES(4)
VARIABLES(8)

/* SPDX-License-Identifier: MIT */
/*
 * libxsmm.c - LIBXSMM, which compiles a kernel for each size of small matrices.
 * It is column-major, so the operands are swapped. Debian has only a static
 * library, which is linked if the build finds it.
 */
#include "library.h"
#include "peers.h"

#ifdef HAVE_LIBXSMM

#include <libxsmm.h>

bool libxsmm_open(reason *out_why)
{
    (void)out_why;
    libxsmm_init();
    return true;
}

void libxsmm_matmul(const kernel_buffers *b)
{
    const int m = (int)b->rows, k = (int)b->inner, n = (int)b->columns;
    const float *left = b->in[0], *right = b->in[1];
    float *out = b->out[0];
    const float no_sum = 0;
    const libxsmm_smmfunction product = libxsmm_smmdispatch(
        n, m, k, NULL, NULL, NULL, NULL, &no_sum, NULL, NULL);
#pragma omp parallel for
    for (int64_t i = 0; i < b->batch; i++)
        product(right + i * k * n, left + i * m * k, out + i * m * n);
}

#else

bool libxsmm_open(reason *out_why)
{
    reason_set(out_why, "not in this build: LIBXSMM was not found");
    return false;
}

void libxsmm_matmul(const kernel_buffers *b)
{
    (void)b;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * blis.c - BLIS, through CBLAS.
 */
#include "blas.h"

static blas blis;
static void (*set_num_threads)(int64_t threads);

static void set_threads(int threads)
{
    set_num_threads(threads);
}

bool blis_open(reason *out_why)
{
    const library_function functions[] = {
        BLAS_FUNCTIONS(blis),
        {"bli_thread_set_num_threads", &set_num_threads},
        {NULL, NULL},
    };
    blis.set_threads = set_threads;
    return library_open("libblis.so.4", functions, out_why);
}

void blis_matmul(const kernel_buffers *b)
{
    blas_matmul(&blis, b);
}

void blis_matmul_f64(const kernel_buffers *b)
{
    blas_matmul_f64(&blis, b);
}

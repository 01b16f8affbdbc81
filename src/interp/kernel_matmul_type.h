/* SPDX-License-Identifier: MIT */
/*
 * kernel_matmul_type.h - template of kernel_matmul.c: matmuls of one dtype, and
 * its kernel.
 */
#if TAKES(NUM)

#define ID SUM
#include "interp/kernel_pairwise.h"
#undef ID

/* One element of a matrix-vector product: the reduction tree of SUM over
   products. */
static T CAT(dot_, DT)(const matmul *p, const char *a, const char *b)
{
    CAT(pairwise_SUM_, DT) blocks = {.n_blocks = 0};
    /* Runs once even if k is 0: an empty sum is 0. */
    for (int64_t start = 0; start == 0 || start < p->k; start += BLOCK) {
        int64_t end = p->k - start < BLOCK ? p->k : start + BLOCK;
        T lane[LANES] = {0};
        for (int64_t k = start; k < end; k++)
            lane[k % LANES] = R(MATMUL)(*(const T *)(a + k * p->a_column),
                                        *(const T *)(b + k * p->b_row),
                                        lane[k % LANES]);
        CAT(add_block_SUM_, DT)(&blocks, CAT(reduce_lanes_SUM_, DT)(lane));
    }
    return CAT(total_SUM_, DT)(&blocks);
}

/* n columns of one row, one k-block after the other. */
static void CAT(row_block_, DT)(const matmul *p, char *out, const char *a,
                              const char *b, int64_t n)
{
    T sum[COLUMNS];
    /* Runs once even if k is 0: an empty sum is 0. */
    for (int64_t start = 0; start == 0 || start < p->k; start += K_BLOCK) {
        int64_t end = p->k - start < K_BLOCK ? p->k : start + K_BLOCK;
        T block[COLUMNS] = {0};
        for (int64_t k = start; k < end; k++) {
            T x = *(const T *)(a + k * p->a_column);
            const char *row = b + k * p->b_row;
            for (int64_t j = 0; j < n; j++)
                block[j] = R(MATMUL)(x, *(const T *)(row + j * p->b_column),
                                     block[j]);
        }
        for (int64_t j = 0; j < n; j++)
            sum[j] = start ? R(ADD)(sum[j], block[j]) : block[j];
    }
    memcpy(out, sum, (size_t)n * sizeof(T));
}

/* One matmul per element of the run. */
static void LOOP(MATMUL)(tgi_run run)
{
    const matmul *p = run.user;
    for (int64_t i = 0; i < run.n; i++) {
        const char *a = &AT(char, 1), *b = &AT(char, 2);
        T *out = &AT(T, 0);
        if (p->is_dot) {
            for (int64_t j = 0; j < p->m * p->n; j++)
                out[j] = CAT(dot_, DT)(p, a + (p->n == 1 ? j * p->a_row : 0),
                                       b + (p->n == 1 ? 0 : j * p->b_column));
            continue;
        }
        for (int64_t row = 0; row < p->m; row++)
            for (int64_t j = 0; j < p->n; j += COLUMNS)
                CAT(row_block_, DT)(p, (char *)(out + row * p->n + j),
                                  a + row * p->a_row, b + j * p->b_column,
                                  p->n - j < COLUMNS ? p->n - j : COLUMNS);
    }
}

static tg_status KERNEL(MATMUL)(const tgi_kernel_args *args)
{
    return run_matmul(args, LOOP(MATMUL));
}

#else
#define kernel_MATMUL_BOOL NULL
#define kernel_MATMUL_F16 NULL
#define kernel_MATMUL_BF16 NULL
#endif

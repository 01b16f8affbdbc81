/* SPDX-License-Identifier: MIT */
/*
 * kernel_conv_type.h - template of kernel_conv.c: convolutions of one dtype,
 * and its kernel.
 */
#if TAKES(NUM)

/* n columns of one point, one k-block after the other. */
static void CAT(point_block_, DT)(const conv *p, T *out, const char *x,
                                  const char *w, int64_t n)
{
    T sum[COLUMNS];
    position at = {.x = 0};
    /* Runs once even if k is 0: an empty sum is 0. */
    for (int64_t start = 0; start == 0 || start < p->k; start += K_BLOCK) {
        int64_t end = p->k - start < K_BLOCK ? p->k : start + K_BLOCK;
        T block[COLUMNS] = {0};
        for (int64_t k = start; k < end; k++) {
            T element = *(const T *)(x + at.x);
            for (int64_t j = 0; j < n; j++)
                block[j] =
                    R(MATMUL)(element,
                              *(const T *)(w + at.w + j * p->w_column),
                              block[j]);
            advance_position(p, &at);
        }
        for (int64_t j = 0; j < n; j++)
            sum[j] = start ? R(ADD)(sum[j], block[j]) : block[j];
    }
    memcpy(out, sum, (size_t)n * sizeof(T));
}

static void LOOP(CONV)(tgi_run run)
{
    const conv *p = run.user;
    for (int64_t i = 0; i < run.n; i++)
        for (int64_t j = 0; j < p->n; j += COLUMNS)
            CAT(point_block_, DT)(p, &AT(T, 0) + j, &AT(char, 1),
                                  &AT(char, 2) + j * p->w_column,
                                  p->n - j < COLUMNS ? p->n - j : COLUMNS);
}

static tg_status KERNEL(CONV)(const tgi_kernel_args *args)
{
    return run_conv(args, LOOP(CONV));
}

#else
#define kernel_CONV_BOOL NULL
#define kernel_CONV_F16 NULL
#define kernel_CONV_BF16 NULL
#endif

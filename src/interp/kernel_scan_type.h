/* SPDX-License-Identifier: MIT */
/*
 * kernel_scan_type.h - template of kernel_scan.c: scans of one dtype, and its
 * kernel.
 */
#if TAKES(NUM)

static void LOOP(SCAN)(tgi_run run)
{
    const scan *s = run.user;
    for (int64_t i = 0; i < run.n; i++) {
        char *out = &AT(char, 0);
        const char *a = &AT(char, 1), *b = &AT(char, 2);
        T h = s->starts_at_one ? (T)1 : (T)-0.0;
        for (int64_t j = 0; j < s->n; j++) {
            h = R(MATMUL)(*(const T *)a, h, *(const T *)b);
            *(T *)out = h;
            out += s->stride[0];
            a += s->stride[1];
            b += s->stride[2];
        }
    }
}

static tg_status KERNEL(SCAN)(const tgi_kernel_args *args)
{
    return run_scan(args, LOOP(SCAN));
}

#else
#define kernel_SCAN_BOOL NULL
#define kernel_SCAN_F16 NULL
#define kernel_SCAN_BF16 NULL
#endif

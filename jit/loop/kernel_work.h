/* SPDX-License-Identifier: MIT */
/*
 * kernel_work.h - the work of one run of a kernel, for profiles.
 */
#ifndef TGI_KERNEL_WORK_H
#define TGI_KERNEL_WORK_H

#include "loop/loops.h"

typedef struct tgi_kernel_work {
    /* Bytes that must move at least: each buffer's elements that are loaded
       count once, and those stored once, however often. */
    double bytes;
    /* Arithmetic operations: 2 for a multiply-add of a matmul or an fma; for
       other operations, the instructions of a vector by the cost model, which
       has one operation per element in each. Loads and stores count nothing. */
    double flops;
    unsigned element_bytes; /* of the widest arithmetic; 0: there is none */
} tgi_kernel_work;

/* `values` are those of the loops' extents, `sizes` the bytes of buffers. */
tgi_kernel_work tgi_kernel_work_of(const tgi_loops *loops,
                                   const tgi_kernel_loops *kernel,
                                   const int64_t *values, const int64_t *sizes);

#endif /* TGI_KERNEL_WORK_H */

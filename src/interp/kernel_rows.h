/* SPDX-License-Identifier: MIT */
/*
 * kernel_rows.h - for kernel templates that expand op.def: names of generated
 * functions, and a loop's access to its operands.
 */
#ifndef TGI_KERNEL_ROWS_H
#define TGI_KERNEL_ROWS_H

/* Names generated for an op and the current dtype. */
#define LOOP(ID) CAT4(loop_, ID, _, DT)
#define KERNEL(ID) CAT4(kernel_, ID, _, DT)
#define TABLE CAT(kernels_, DT)

/* Element i of view `view` of `run`. */
#define AT(type, view) \
    (*(type *)(run.data[view] + i * run.strides[view]))

#endif /* TGI_KERNEL_ROWS_H */

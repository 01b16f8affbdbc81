/* SPDX-License-Identifier: MIT */
/*
 * kernel_rows.h - for templates of kernels that expand op.def: the names of
 * generated functions, and a loop's access to its operands.
 */
#ifndef TGI_KERNEL_ROWS_H
#define TGI_KERNEL_ROWS_H

/* Names of what is made for an op and the current type. */
#define LOOP(ID) CAT4(loop_, ID, _, DT)
#define KERNEL(ID) CAT4(kernel_, ID, _, DT)
#define TABLE CAT(kernels_, DT)

/* Element i of view `view` of the stretch `run`. */
#define AT(type, view) \
    (*(type *)(run.data[view] + i * run.strides[view]))

#endif /* TGI_KERNEL_ROWS_H */

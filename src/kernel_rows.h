/* SPDX-License-Identifier: MIT */
/*
 * kernel_rows.h - for templates that go through op.def: which family of
 * kernels made from recipes a row belongs to, and the loop's view of memory.
 */
#ifndef TGI_KERNEL_ROWS_H
#define TGI_KERNEL_ROWS_H

/* By the class of a row: its number of operands, REDUCE, or NONE. */
#define FAMILY_UNARY 1
#define FAMILY_BINARY 2
#define FAMILY_TERNARY 3
#define FAMILY_CAST NONE
#define FAMILY_REDUCE REDUCE
#define FAMILY_LEAF NONE
#define FAMILY_VIEW NONE
#define FAMILY_INDEX NONE
#define FAMILY_MATMUL NONE
#define FAMILY_RANDOM NONE
#define FAMILY_STATE NONE
#define FAMILY_EFFECT NONE
#define FAMILY_REGION NONE

/* Names of what is made for an op and the current type. */
#define LOOP(ID) CAT4(loop_, ID, _, DT)
#define KERNEL(ID) CAT4(kernel_, ID, _, DT)
#define TABLE CAT(kernels_, DT)

/* Element i of view `view` of the stretch `run`. */
#define AT(type, view) \
    (*(type *)(run.data[view] + i * run.strides[view]))

#endif /* TGI_KERNEL_ROWS_H */

/* SPDX-License-Identifier: MIT */
/*
 * op_family.h - for templates that expand op.def: maps the class of a row to
 * its recipe family, which is the number of operands, REDUCE, or NONE.
 */
#ifndef TGI_OP_FAMILY_H
#define TGI_OP_FAMILY_H

#define FAMILY_UNARY 1
#define FAMILY_BINARY 2
#define FAMILY_TERNARY 3
#define FAMILY_CAST NONE
#define FAMILY_REDUCE REDUCE
#define FAMILY_LEAF NONE
#define FAMILY_VIEW NONE
#define FAMILY_INDEX NONE
#define FAMILY_MATMUL NONE
#define FAMILY_CONV NONE
#define FAMILY_SCAN NONE
#define FAMILY_RANDOM NONE
#define FAMILY_STATE NONE
#define FAMILY_EFFECT NONE
#define FAMILY_REGION NONE

#endif /* TGI_OP_FAMILY_H */

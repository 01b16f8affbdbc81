/* SPDX-License-Identifier: MIT */
/*
 * op.h - the operations as an enum and a table of properties, from op.def.
 */
#ifndef TGI_OP_H
#define TGI_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"

typedef enum tgi_op {
    TGI_OP_NONE = 0,
#define OP(ID, ...) TGI_OP_##ID,
#include "ir/op.def"
#undef OP
    TGI_OPS
} tgi_op;

typedef enum tgi_op_class {
    TGI_OPCLASS_LEAF,
    TGI_OPCLASS_UNARY,
    TGI_OPCLASS_CAST,
    TGI_OPCLASS_BINARY,
    TGI_OPCLASS_TERNARY,
    TGI_OPCLASS_VIEW,
    TGI_OPCLASS_INDEX,
    TGI_OPCLASS_REDUCE,
    TGI_OPCLASS_SCAN,
    TGI_OPCLASS_MATMUL,
    TGI_OPCLASS_CONV,
    TGI_OPCLASS_RANDOM,
    TGI_OPCLASS_STATE,
    TGI_OPCLASS_EFFECT,
    TGI_OPCLASS_REGION
} tgi_op_class;

typedef enum tgi_op_result {
    TGI_RESULT_SAME,
    TGI_RESULT_BOOL,
    TGI_RESULT_I64,
    TGI_RESULT_EXPLICIT
} tgi_op_result;

typedef enum tgi_op_gradient {
    TGI_GRADIENT_NONE,
    TGI_GRADIENT_ZERO,
    TGI_GRADIENT_KINKED,
    TGI_GRADIENT_SMOOTH
} tgi_op_gradient;

typedef enum tgi_op_domain {
    TGI_DOMAIN_NONE,
    TGI_DOMAIN_REAL,
    TGI_DOMAIN_POSITIVE,
    TGI_DOMAIN_UNIT,
    TGI_DOMAIN_SMALL,
    TGI_DOMAIN_ABOVE_1
} tgi_op_domain;

enum {
    TGI_FLAG_COMMUTATIVE = 1,
    TGI_FLAG_ORDERED = 2,
    TGI_FLAG_EFFECT = 4,
    TGI_FLAG_MAY_FAIL = 8,
    TGI_FLAG_FAST = 16
};

typedef struct tgi_op_info {
    const char *name;
    const char *doc;
    int8_t arity; /* -1: varies */
    uint8_t cls;
    uint8_t types; /* tgi_dtype_class set */
    uint8_t result;
    uint8_t gradient;
    uint8_t domain;
    uint8_t flags;
} tgi_op_info;

extern const tgi_op_info tgi_op_table[TGI_OPS];

static inline bool tgi_op_is_elementwise(int op)
{
    return tgi_op_table[op].cls >= TGI_OPCLASS_UNARY &&
           tgi_op_table[op].cls <= TGI_OPCLASS_TERNARY;
}

static inline bool tgi_op_has(int op, unsigned flags)
{
    return (tgi_op_table[op].flags & flags) != 0;
}

/* The op that takes the place of `op` in functions of fast accuracy. */
static inline tgi_op tgi_op_fast(tgi_op op)
{
    return op + 1 < TGI_OPS && tgi_op_has(op + 1, TGI_FLAG_FAST) ? op + 1 : op;
}

#endif /* TGI_OP_H */

/* SPDX-License-Identifier: MIT */
/*
 * op.c - the table of operations, generated from op.def.
 */
#include "ir/op.h"

/* -- Names that op.def uses ------------------------------------------------ */

#define ANY -1 /* as an arity; as a type, ANY is pasted and not expanded */

enum {
    COMMUTATIVE = TGI_FLAG_COMMUTATIVE,
    ORDERED = TGI_FLAG_ORDERED,
    EFFECT = TGI_FLAG_EFFECT,
    MAY_FAIL = TGI_FLAG_MAY_FAIL,
    FAST = TGI_FLAG_FAST
};

/* -- The table ------------------------------------------------------------- */

const tgi_op_info tgi_op_table[TGI_OPS] = {
    [TGI_OP_NONE] = {.name = "none", .doc = "no operation"},
#define OP(ID, NAME, CLASS, ARITY, TYPES, RESULT, GRADIENT, DOMAIN, FLAGS, \
           DOC) \
    [TGI_OP_##ID] = { \
        .name = #NAME, \
        .doc = DOC, \
        .arity = ARITY, \
        .cls = TGI_OPCLASS_##CLASS, \
        .types = TGI_CLASS_##TYPES, \
        .result = TGI_RESULT_##RESULT, \
        .gradient = TGI_GRADIENT_##GRADIENT, \
        .domain = TGI_DOMAIN_##DOMAIN, \
        .flags = FLAGS, \
    },
#include "ir/op.def"
#undef OP
};

_Static_assert(TGI_OPS <= UINT8_MAX + 1, "a node stores its op in a byte");

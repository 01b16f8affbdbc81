/* SPDX-License-Identifier: MIT */
/*
 * gradient_rules.c - the table of gradient rules, by the rows of op.def: a row
 * that says SMOOTH or KINKED has the rule of its name, in the file of its
 * family (gradient_unary.c …), or the library does not link.
 */
#include "gradient/gradient_primitives.h"

#define ENTRY_SMOOTH(ID, name) [TGI_OP_##ID] = tgi_gradient_##name,
#define ENTRY_KINKED(ID, name) ENTRY_SMOOTH(ID, name)
#define ENTRY_ZERO(ID, name)
#define ENTRY_NONE(ID, name)

tgi_gradient_rule *const tgi_gradient_rules[TGI_OPS] = {
#define OP(ID, name, cls, arity, types, result, gradient, ...) \
    ENTRY_##gradient(ID, name)
#include "ir/op.def"
#undef OP
};

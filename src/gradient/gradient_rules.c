/* SPDX-License-Identifier: MIT */
/*
 * gradient_rules.c - the table of gradient rules, generated from op.def. An op
 * with gradient SMOOTH or KINKED must have a rule of its name in the file of
 * its family (gradient_unary.c, …), or linking fails.
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

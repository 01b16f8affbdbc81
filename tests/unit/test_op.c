/* SPDX-License-Identifier: MIT */
/* test_op.c - invariants of the rows of the op table. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "ir/op.h"

#define each_op(op) for (int op = TGI_OP_NONE + 1; op < TGI_OPS; op++)

Test(op, rows_are_in_the_order_of_the_enum)
{
    static const char *const names[] = {
#define OP(ID, name, ...) #name,
#include "ir/op.def"
#undef OP
    };
    cr_assert_eq(sizeof names / sizeof names[0], TGI_OPS - 1);
    each_op(op)
        cr_assert_str_eq(tgi_op_table[op].name, names[op - 1]);
}

Test(op, names_are_unique_and_documented)
{
    each_op(op) {
        cr_assert_gt(strlen(tgi_op_table[op].doc), 0);
        for (int other = op + 1; other < TGI_OPS; other++)
            cr_assert_str_neq(tgi_op_table[op].name, tgi_op_table[other].name);
    }
}

Test(op, classes_fix_the_number_of_operands)
{
    each_op(op) {
        const tgi_op_info *info = &tgi_op_table[op];
        switch (info->cls) {
        case TGI_OPCLASS_LEAF:
            cr_assert_eq(info->arity, 0, "%s", info->name);
            break;
        case TGI_OPCLASS_UNARY:
        case TGI_OPCLASS_CAST:
        case TGI_OPCLASS_VIEW:
        case TGI_OPCLASS_REDUCE:
            cr_assert_eq(info->arity, 1, "%s", info->name);
            break;
        case TGI_OPCLASS_BINARY:
        case TGI_OPCLASS_MATMUL:
        case TGI_OPCLASS_CONV:
        case TGI_OPCLASS_SCAN:
            cr_assert_eq(info->arity, 2, "%s", info->name);
            break;
        case TGI_OPCLASS_TERNARY:
            cr_assert_eq(info->arity, 3, "%s", info->name);
            break;
        default:
            cr_assert_geq(info->arity, -1, "%s", info->name);
        }
    }
}

Test(op, elementwise_ops_are_those_of_four_classes)
{
    each_op(op) {
        int cls = tgi_op_table[op].cls;
        bool is_one = cls == TGI_OPCLASS_UNARY || cls == TGI_OPCLASS_CAST ||
                      cls == TGI_OPCLASS_BINARY || cls == TGI_OPCLASS_TERNARY;
        cr_assert_eq(tgi_op_is_elementwise(op), is_one, "%s",
                     tgi_op_table[op].name);
    }
}

Test(op, only_two_operands_commute)
{
    each_op(op) if (tgi_op_has(op, TGI_FLAG_COMMUTATIVE)) cr_assert_eq(
        tgi_op_table[op].cls, TGI_OPCLASS_BINARY, "%s", tgi_op_table[op].name);
    cr_assert(tgi_op_has(TGI_OP_ADD, TGI_FLAG_COMMUTATIVE));
    cr_assert_not(tgi_op_has(TGI_OP_SUB, TGI_FLAG_COMMUTATIVE));
    cr_assert_not(tgi_op_has(TGI_OP_LT, TGI_FLAG_COMMUTATIVE));
}

Test(op, effects_are_ordered)
{
    each_op(op)
        if (tgi_op_has(op, TGI_FLAG_EFFECT))
            cr_assert(tgi_op_has(op, TGI_FLAG_ORDERED), "%s",
                      tgi_op_table[op].name);
    cr_assert(tgi_op_has(TGI_OP_ASSIGN, TGI_FLAG_EFFECT));
    cr_assert(tgi_op_has(TGI_OP_CALL, TGI_FLAG_ORDERED));
    cr_assert_not(tgi_op_has(TGI_OP_READ, TGI_FLAG_ORDERED));
}

Test(op, fast_forms_follow_the_op_that_they_replace)
{
    int n = 0;
    each_op(op)
    {
        const tgi_op_info *fast = &tgi_op_table[op];
        if (!tgi_op_has(op, TGI_FLAG_FAST)) {
            const int replacing = (int)tgi_op_fast((tgi_op)op);
            cr_assert(replacing == op || replacing == op + 1);
            continue;
        }
        const tgi_op_info *full = fast - 1;
        char name[32];
        snprintf(name, sizeof name, "%s_fast", full->name);
        cr_assert_str_eq(fast->name, name);
        cr_assert_eq((int)tgi_op_fast((tgi_op)(op - 1)), op);
        cr_assert_eq((int)tgi_op_fast((tgi_op)op), op);
        cr_assert_eq(fast->cls, full->cls, "%s", name);
        cr_assert_eq(fast->types, full->types, "%s", name);
        cr_assert_eq(fast->result, full->result, "%s", name);
        cr_assert_eq(fast->gradient, full->gradient, "%s", name);
        cr_assert_eq(fast->domain, full->domain, "%s", name);
        cr_assert_eq(fast->flags, full->flags | TGI_FLAG_FAST, "%s", name);
        n++;
    }
    cr_assert_gt(n, 0);
    cr_assert_eq(tgi_op_fast(TGI_OP_SQRT), TGI_OP_SQRT);
}

Test(op, every_op_takes_some_type)
{
    each_op(op)
        cr_assert_neq(tgi_op_table[op].types, TGI_CLASS_NONE);
    cr_assert_eq(tgi_op_table[TGI_OP_SQRT].types, TGI_CLASS_FLOAT);
    cr_assert_eq(tgi_op_table[TGI_OP_NOT].types, TGI_CLASS_BITS);
    cr_assert_eq(tgi_op_table[TGI_OP_EQ].result, TGI_RESULT_BOOL);
    cr_assert_eq(tgi_op_table[TGI_OP_ARGMAX].result, TGI_RESULT_I64);
}

Test(op, smooth_float_ops_have_a_domain_to_draw_from)
{
    each_op(op)
        if (tgi_op_is_elementwise(op) &&
            tgi_op_table[op].gradient >= TGI_GRADIENT_KINKED)
            cr_assert_neq(tgi_op_table[op].domain, TGI_DOMAIN_NONE, "%s",
                          tgi_op_table[op].name);
}

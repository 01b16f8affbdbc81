/* SPDX-License-Identifier: MIT */
/*
 * ops_formula.h - functions of operands that are formulas over builders. The
 * formula gets the nodes of the operands and returns that of the result; it is
 * not called if an operand is invalid.
 */
#ifndef TGI_OPS_FORMULA_H
#define TGI_OPS_FORMULA_H

#include "build/build_formula.h"
#include "front/trace/trace_state.h"

typedef tgi_ref tgi_formula(tgi_builder *b, const tgi_ref *in);

/* At most 3 operands. They are converted to a common dtype of these classes
   first; for ANY, the formula is left to do it. For FLOAT and NUM, halves become
   f32 and the result, if it is f32, a half; for REAL, they are left as they
   are. */
tg_value tgi_formula_apply(const char *name, tgi_formula *formula,
                           unsigned classes, const tg_operand *operands,
                           size_t n, tg_site site);

/* Defines tg_name_at by the formula below it, of IN[0], … */
#define FORMULA_1(name, classes) \
    static tgi_formula build_##name; \
    tg_value tg_##name##_at(tg_operand x, tg_site site) \
    { \
        return tgi_formula_apply(#name, build_##name, TGI_CLASS_##classes, &x, \
                                 1, site); \
    } \
    static tgi_ref build_##name(tgi_builder *b, const tgi_ref *in)
#define FORMULA_2(name, classes) \
    static tgi_formula build_##name; \
    tg_value tg_##name##_at(tg_operand x, tg_operand y, tg_site site) \
    { \
        return tgi_formula_apply(#name, build_##name, TGI_CLASS_##classes, \
                                 (tg_operand[]){x, y}, 2, site); \
    } \
    static tgi_ref build_##name(tgi_builder *b, const tgi_ref *in)
#define FORMULA_3(name, classes) \
    static tgi_formula build_##name; \
    tg_value tg_##name##_at(tg_operand x, tg_operand y, tg_operand z, \
                            tg_site site) \
    { \
        return tgi_formula_apply(#name, build_##name, TGI_CLASS_##classes, \
                                 (tg_operand[]){x, y, z}, 3, site); \
    } \
    static tgi_ref build_##name(tgi_builder *b, const tgi_ref *in)

/* The operands of a formula, and a number of their dtype. */
#define X in[0]
#define Y in[1]
#define Z in[2]
#define K(number) tgi_build_number_like(b, X, number)

#endif /* TGI_OPS_FORMULA_H */

/* SPDX-License-Identifier: MIT */
/*
 * gradient_primitives.h - the words gradient rules are written in, so that a rule
 * reads as the formula it is. Included by the files of rules and their table
 * alone.
 *
 *     RULE(mul) { return PART(0, MUL(G, B)) && PART(1, MUL(G, A)); }
 *
 * G is the gradient of the node's value and Y that value; A, B and C are its
 * inputs, X the only one. PART gives an input its part, which is built, and
 * its operands kept, only if somebody wants it.
 *
 * The operands of a word are evaluated from left to right, which C leaves
 * open: nodes come in one order, whoever compiled the library.
 *
 * ADD and SUB do not contract (gradient.c says why): a rule says FMA where it
 * means it.
 */
#ifndef TGI_GRADIENT_PRIMITIVES_H
#define TGI_GRADIENT_PRIMITIVES_H

#include "gradient/gradient_rule.h"

/* -- Rules ----------------------------------------------------------------- */

/* One for each row that says SMOOTH or KINKED. */
#define DECLARE_SMOOTH(name) tgi_gradient_rule tgi_gradient_##name;
#define DECLARE_KINKED(name) DECLARE_SMOOTH(name)
#define DECLARE_ZERO(name)
#define DECLARE_NONE(name)
#define OP(ID, name, cls, arity, types, result, gradient, ...) \
    DECLARE_##gradient(name)
#include "ir/op.def"
#undef OP

#define RULE(name) bool tgi_gradient_##name(tgi_rule *rule)
#define PART(i, part) \
    (!tgi_rule_wants(rule, i) || tgi_rule_add(rule, i, part))

/* -- Values ---------------------------------------------------------------- */

#define G (rule->gradient)
#define Y tgi_rule_value(rule)
#define A tgi_rule_input(rule, 0)
#define B tgi_rule_input(rule, 1)
#define C tgi_rule_input(rule, 2)
#define X A
#define K(number) tgi_rule_number(rule, number)

/* -- Operations ------------------------------------------------------------ */

#define WORD_1(OP, x) tgi_build_1(rule->b, TGI_OP_##OP, x)
#define WORD_2(OP, x, y) \
    IN_ORDER_2(TGI_OP_##OP, x, y, TG_NEW_NAME(tgi_x_), \
               TG_NEW_NAME(tgi_y_))
#define WORD_3(OP, x, y, z) \
    IN_ORDER_3(TGI_OP_##OP, x, y, z, TG_NEW_NAME(tgi_x_), \
               TG_NEW_NAME(tgi_y_), TG_NEW_NAME(tgi_z_))
#define IN_ORDER_2(op, x, y, first, second) \
    __extension__({ \
        const tgi_ref first = x; \
        const tgi_ref second = y; \
        tgi_build_2(rule->b, op, first, second); \
    })
#define IN_ORDER_3(op, x, y, z, first, second, third) \
    __extension__({ \
        const tgi_ref first = x; \
        const tgi_ref second = y; \
        const tgi_ref third = z; \
        tgi_build_3(rule->b, op, first, second, third); \
    })

#define NEG(a) WORD_1(NEG, a)
#define SIGN(a) WORD_1(SIGN, a)
#define SQRT(a) WORD_1(SQRT, a)
#define RSQRT(a) WORD_1(RSQRT, a)
#define EXP(a) WORD_1(EXP, a)
#define LOG(a) WORD_1(LOG, a)
#define SIN(a) WORD_1(SIN, a)
#define COS(a) WORD_1(COS, a)
#define SINH(a) WORD_1(SINH, a)
#define COSH(a) WORD_1(COSH, a)
#define ERFC(a) WORD_1(ERFC, a)
#define SIGMOID(a) WORD_1(SIGMOID, a)
#define ADD(a, b) WORD_2(ADD, a, b)
#define SUB(a, b) WORD_2(SUB, a, b)
#define MUL(a, b) WORD_2(MUL, a, b)
#define DIV(a, b) WORD_2(DIV, a, b)
#define MIN(a, b) WORD_2(MIN, a, b)
#define MAX(a, b) WORD_2(MAX, a, b)
#define POW(a, b) WORD_2(POW, a, b)
#define HYPOT(a, b) WORD_2(HYPOT, a, b)
#define AND(a, b) WORD_2(AND, a, b)
#define OR(a, b) WORD_2(OR, a, b)
#define EQ(a, b) WORD_2(EQ, a, b)
#define NE(a, b) WORD_2(NE, a, b)
#define LT(a, b) WORD_2(LT, a, b)
#define LE(a, b) WORD_2(LE, a, b)
#define FMA(a, b, c) WORD_3(FMA, a, b, c)
#define SELECT(a, b, c) WORD_3(SELECT, a, b, c)

/* -- Shapes ---------------------------------------------------------------- */

static inline const tgi_node *tgi_rule_node(const tgi_rule *rule, uint32_t i)
{
    return tgi_graph_node(rule->graph, rule->node->inputs[i]);
}

static inline const tgi_shape *tgi_rule_shape(const tgi_rule *rule, uint32_t i)
{
    return tgi_graph_shape(rule->graph, rule->node->inputs[i]);
}

/*
 * Views and copies of another shape. Unlike the builders they record no
 * conditions: those of the node that a rule is for are enough. `shape` 0
 * stands for a failure that is recorded.
 */
tgi_ref tgi_rule_reshape(tgi_rule *rule, tgi_ref x, tgi_shape_ref shape);
tgi_ref tgi_rule_broadcast(tgi_rule *rule, tgi_ref x, tgi_shape_ref shape);
tgi_ref tgi_rule_slice(tgi_rule *rule, tgi_ref x, const tgi_attr_slice *attr,
                       tgi_shape_ref shape);
tgi_ref tgi_rule_pad(tgi_rule *rule, tgi_ref x, tgi_ref value,
                     const tgi_attr_pad *attr, tgi_shape_ref shape);

/* The shape of these extents, any of which may be TGI_DIM_NONE: then 0. */
tgi_shape_ref tgi_rule_shape_of(tgi_rule *rule, int rank, const tgi_dim *dims);

/* A reduction with this mask. */
tgi_ref tgi_rule_reduce(tgi_rule *rule, tgi_op op, tgi_ref x, uint64_t mask);

/*
 * Summed back to the shape of input i, which was broadcast to that of x. The
 * last `n_equal` axes were not: they are the same, if by other names.
 */
tgi_ref tgi_rule_unbroadcast(tgi_rule *rule, tgi_ref x, uint32_t i,
                             int n_equal);

#endif /* TGI_GRADIENT_PRIMITIVES_H */

/* SPDX-License-Identifier: MIT */
/*
 * gradient_primitives.h - the primitives that gradient rules are written in, so
 * that a rule reads as its formula. Included only by the files of rules and by
 * their table.
 *
 *     RULE(mul)
 *     {
 *         return ADD_GRADIENT(0, MUL(G, B)) && ADD_GRADIENT(1, MUL(G, A));
 *     }
 *
 * G is the gradient of the node's value and Y that value. A, B and C are its
 * inputs, X the only one. ADD_GRADIENT adds to the gradient of an input; its
 * argument is evaluated, and so forward values are saved, only if that gradient
 * is needed.
 *
 * Operands are evaluated from left to right, which C does not guarantee, so
 * that the order of nodes does not depend on the compiler.
 *
 * ADD and SUB do not contract (see tgi_tape_init): a rule uses FMA explicitly.
 */
#ifndef TGI_GRADIENT_PRIMITIVES_H
#define TGI_GRADIENT_PRIMITIVES_H

#include "gradient/gradient_rule.h"

/* -- Rules ----------------------------------------------------------------- */

/* One for each row of op.def with gradient SMOOTH or KINKED. */
#define DECLARE_SMOOTH(name) tgi_gradient_rule tgi_gradient_##name;
#define DECLARE_KINKED(name) DECLARE_SMOOTH(name)
#define DECLARE_ZERO(name)
#define DECLARE_NONE(name)
#define OP(ID, name, cls, arity, types, result, gradient, ...) \
    DECLARE_##gradient(name)
#include "ir/op.def"
#undef OP

#define RULE(name) bool tgi_gradient_##name(tgi_rule *rule)
#define ADD_GRADIENT(i, gradient_part) \
    (!tgi_rule_wants(rule, i) || tgi_rule_add(rule, i, gradient_part))

/* -- Values ---------------------------------------------------------------- */

#define G (rule->gradient)
#define Y tgi_rule_value(rule)
#define A tgi_rule_input(rule, 0)
#define B tgi_rule_input(rule, 1)
#define C tgi_rule_input(rule, 2)
#define X A
#define K(number) tgi_rule_number(rule, number)

/* -- Operations ------------------------------------------------------------ */

#define BUILD_1(OP, x) tgi_build_1(rule->b, TGI_OP_##OP, x)
#define BUILD_2(OP, x, y) \
    IN_ORDER_2(TGI_OP_##OP, x, y, TG_NEW_NAME(tgi_x_), \
               TG_NEW_NAME(tgi_y_))
#define BUILD_3(OP, x, y, z) \
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

#define NEG(a) BUILD_1(NEG, a)
#define SIGN(a) BUILD_1(SIGN, a)
#define SQRT(a) BUILD_1(SQRT, a)
#define RSQRT(a) BUILD_1(RSQRT, a)
#define EXP(a) BUILD_1(EXP, a)
#define LOG(a) BUILD_1(LOG, a)
#define SIN(a) BUILD_1(SIN, a)
#define COS(a) BUILD_1(COS, a)
#define SINH(a) BUILD_1(SINH, a)
#define COSH(a) BUILD_1(COSH, a)
#define ERFC(a) BUILD_1(ERFC, a)
#define ERFC_FAST(a) BUILD_1(ERFC_FAST, a)
#define SIGMOID(a) BUILD_1(SIGMOID, a)
#define SIGMOID_FAST(a) BUILD_1(SIGMOID_FAST, a)
#define ADD(a, b) BUILD_2(ADD, a, b)
#define SUB(a, b) BUILD_2(SUB, a, b)
#define MUL(a, b) BUILD_2(MUL, a, b)
#define DIV(a, b) BUILD_2(DIV, a, b)
#define MIN(a, b) BUILD_2(MIN, a, b)
#define MAX(a, b) BUILD_2(MAX, a, b)
#define POW(a, b) BUILD_2(POW, a, b)
#define HYPOT(a, b) BUILD_2(HYPOT, a, b)
#define AND(a, b) BUILD_2(AND, a, b)
#define OR(a, b) BUILD_2(OR, a, b)
#define EQ(a, b) BUILD_2(EQ, a, b)
#define NE(a, b) BUILD_2(NE, a, b)
#define LT(a, b) BUILD_2(LT, a, b)
#define LE(a, b) BUILD_2(LE, a, b)
#define FMA(a, b, c) BUILD_3(FMA, a, b, c)
#define SELECT(a, b, c) BUILD_3(SELECT, a, b, c)

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
 * Views and pads. Unlike the builders they add no checks, because the checks of
 * the differentiated node suffice. They return 0 if `x` or `shape` is 0, that
 * is, after a failure (recorded).
 */
tgi_ref tgi_rule_reshape(tgi_rule *rule, tgi_ref x, tgi_shape_ref shape);
tgi_ref tgi_rule_broadcast(tgi_rule *rule, tgi_ref x, tgi_shape_ref shape);
tgi_ref tgi_rule_slice(tgi_rule *rule, tgi_ref x, const tgi_attr_slice *attr,
                       tgi_shape_ref shape);
tgi_ref tgi_rule_pad(tgi_rule *rule, tgi_ref x, tgi_ref value,
                     const tgi_attr_pad *attr, tgi_shape_ref shape);

/* The shape of these extents; 0 if any of them is TGI_DIM_NONE (recorded). */
tgi_shape_ref tgi_rule_shape_of(tgi_rule *rule, int rank, const tgi_dim *dims);

/* A reduction over the axes of `mask`. */
tgi_ref tgi_rule_reduce(tgi_rule *rule, tgi_op op, tgi_ref x, uint64_t mask);

/*
 * Sums x to the shape of input i, which was broadcast to the shape of x. The
 * last `n_equal` axes were not broadcast: their extents are equal, but may have
 * other names.
 */
tgi_ref tgi_rule_unbroadcast(tgi_rule *rule, tgi_ref x, uint32_t i,
                             int n_equal);

#endif /* TGI_GRADIENT_PRIMITIVES_H */

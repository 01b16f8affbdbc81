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
 * The operations are those of build_formula.h. ADD and SUB do not contract (see
 * tgi_tape_init): a rule uses FMA explicitly.
 */
#ifndef TGI_GRADIENT_PRIMITIVES_H
#define TGI_GRADIENT_PRIMITIVES_H

#define FORMULA_BUILDER rule->b
#include "build/build_formula.h"
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

/* SPDX-License-Identifier: MIT */
/*
 * gradient_binary.c - gradient rules of elementwise operations with two and
 * three operands. All operands have one shape: broadcasts are separate nodes.
 */
#include "gradient/gradient_primitives.h"

RULE(add)
{
    return ADD_GRADIENT(0, G) && ADD_GRADIENT(1, G);
}

RULE(sub)
{
    return ADD_GRADIENT(0, G) && ADD_GRADIENT(1, NEG(G));
}

RULE(mul)
{
    return ADD_GRADIENT(0, MUL(G, B)) && ADD_GRADIENT(1, MUL(G, A));
}

RULE(div)
{
    tgi_ref quotient = DIV(G, B);
    return ADD_GRADIENT(0, quotient) && ADD_GRADIENT(1, NEG(MUL(quotient, Y)));
}

RULE(fma)
{
    return ADD_GRADIENT(0, MUL(G, B)) && ADD_GRADIENT(1, MUL(G, A)) &&
           ADD_GRADIENT(2, G);
}

/* -- Choices --------------------------------------------------------------- */

RULE(select)
{
    return ADD_GRADIENT(1, SELECT(A, G, K(0))) &&
           ADD_GRADIENT(2, SELECT(A, K(0), G));
}

/* True if input i is a constant or a broadcast of one. */
static bool is_constant(const tgi_rule *rule, uint32_t i)
{
    const tgi_node *node = tgi_rule_node(rule, i);
    while (node->op == TGI_OP_BROADCAST)
        node = tgi_graph_node(rule->graph, node->inputs[0]);
    return node->op == TGI_OP_CONSTANT;
}

/* Routes the gradient to operand 0 where the condition holds, else to operand
   1. */
static bool route_to_first_if(tgi_rule *rule, tgi_ref is_first)
{
    return ADD_GRADIENT(0, SELECT(is_first, G, K(0))) &&
           ADD_GRADIENT(1, SELECT(is_first, K(0), G));
}

/*
 * To operand 0 if a >= b, which is a >= max(a, b), even for NaN. If a is a
 * constant, as in max(0, x), the result is used so that x is not saved.
 */
RULE(max)
{
    tgi_ref other = is_constant(rule, 0) ? Y : B;
    return route_to_first_if(rule, LE(other, A));
}

RULE(min)
{
    tgi_ref other = is_constant(rule, 0) ? Y : B;
    return route_to_first_if(rule, LE(A, other));
}

/* -- Powers and angles ----------------------------------------------------- */

/*
 * b * a^(b-1). At a = b = 0 the exponent -1 is replaced by 0, so that the
 * result is 0 instead of NaN. By the exponent: a^b * log(a) where a > 0, else
 * 0. The branch not selected is finite too, for second derivatives.
 */
static tgi_ref derivative_by_base(tgi_rule *rule)
{
    tgi_ref a = A, b = B;
    tgi_ref are_zero = AND(EQ(a, K(0)), EQ(b, K(0)));
    return MUL(b, POW(a, SELECT(are_zero, K(0), SUB(b, K(1)))));
}

static tgi_ref derivative_by_exponent(tgi_rule *rule)
{
    tgi_ref a = A;
    tgi_ref has_log = LT(K(0), a);
    tgi_ref power = SELECT(has_log, Y, K(0));
    return MUL(power, LOG(SELECT(has_log, a, K(1))));
}

RULE(pow)
{
    return ADD_GRADIENT(0, MUL(G, derivative_by_base(rule))) &&
           ADD_GRADIENT(1, MUL(G, derivative_by_exponent(rule)));
}

/* The distance from the origin, but 1 at the origin, so that quotients by it
   are 0 there instead of NaN. */
static tgi_ref nonzero_distance(tgi_rule *rule, tgi_ref y)
{
    return SELECT(EQ(y, K(0)), K(1), y);
}

RULE(hypot)
{
    tgi_ref y = nonzero_distance(rule, Y);
    return ADD_GRADIENT(0, MUL(G, DIV(A, y))) &&
           ADD_GRADIENT(1, MUL(G, DIV(B, y)));
}

/* b / (a*a + b*b) and -a / (a*a + b*b) without overflow. */
static bool atan2_rule(tgi_rule *rule)
{
    tgi_ref a = A, b = B;
    tgi_ref r = nonzero_distance(rule, HYPOT(a, b));
    return ADD_GRADIENT(0, DIV(MUL(G, DIV(b, r)), r)) &&
           ADD_GRADIENT(1, NEG(DIV(MUL(G, DIV(a, r)), r)));
}

RULE(atan2)
{
    return atan2_rule(rule);
}

RULE(atan2_fast)
{
    return atan2_rule(rule);
}

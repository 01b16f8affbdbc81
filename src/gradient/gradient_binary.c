/* SPDX-License-Identifier: MIT */
/*
 * gradient_binary.c - gradient rules of elementwise operations with two and
 * three operands. These have one shape: broadcasts are nodes of their own.
 */
#include "gradient/gradient_primitives.h"

RULE(add)
{
    return PART(0, G) && PART(1, G);
}

RULE(sub)
{
    return PART(0, G) && PART(1, NEG(G));
}

RULE(mul)
{
    return PART(0, MUL(G, B)) && PART(1, MUL(G, A));
}

RULE(div)
{
    tgi_ref part = DIV(G, B);
    return PART(0, part) && PART(1, NEG(MUL(part, Y)));
}

RULE(fma)
{
    return PART(0, MUL(G, B)) && PART(1, MUL(G, A)) && PART(2, G);
}

/* -- Choices --------------------------------------------------------------- */

RULE(select)
{
    return PART(1, SELECT(A, G, K(0))) && PART(2, SELECT(A, K(0), G));
}

/* True if input i is one number, whatever the call. */
static bool is_number(const tgi_rule *rule, uint32_t i)
{
    const tgi_node *node = tgi_rule_node(rule, i);
    while (node->op == TGI_OP_BROADCAST)
        node = tgi_graph_node(rule->graph, node->inputs[0]);
    return node->op == TGI_OP_CONSTANT;
}

/* All to the first operand where that is true, else to the second. */
static bool to_first_if(tgi_rule *rule, tgi_ref is_first)
{
    return PART(0, SELECT(is_first, G, K(0))) &&
           PART(1, SELECT(is_first, K(0), G));
}

/*
 * To the first one if a >= b. That is a >= max(a, b), also for NaN: beside a
 * number, as in max(0, x), the value serves and x is not kept.
 */
RULE(max)
{
    tgi_ref other = is_number(rule, 0) ? Y : B;
    return to_first_if(rule, LE(other, A));
}

RULE(min)
{
    tgi_ref other = is_number(rule, 0) ? Y : B;
    return to_first_if(rule, LE(A, other));
}

/* -- Powers and angles ----------------------------------------------------- */

/*
 * b * a^(b-1), which is 0 if a and b are: there the exponent, -1, is replaced
 * by one that gives a number. And a^b * log(a) where there is a logarithm, else
 * 0; what is not chosen is a number too, for the gradient of this.
 */
static tgi_ref by_base(tgi_rule *rule)
{
    tgi_ref a = A, b = B;
    tgi_ref are_zero = AND(EQ(a, K(0)), EQ(b, K(0)));
    return MUL(b, POW(a, SELECT(are_zero, K(0), SUB(b, K(1)))));
}

static tgi_ref by_exponent(tgi_rule *rule)
{
    tgi_ref a = A;
    tgi_ref has_log = LT(K(0), a);
    tgi_ref power = SELECT(has_log, Y, K(0));
    return MUL(power, LOG(SELECT(has_log, a, K(1))));
}

RULE(pow)
{
    return PART(0, MUL(G, by_base(rule))) &&
           PART(1, MUL(G, by_exponent(rule)));
}

/* The distance of a point from the origin; in the origin 1, so that what is
   divided by it is 0 there and not NaN. */
static tgi_ref distance(tgi_rule *rule, tgi_ref y)
{
    return SELECT(EQ(y, K(0)), K(1), y);
}

RULE(hypot)
{
    tgi_ref y = distance(rule, Y);
    return PART(0, MUL(G, DIV(A, y))) && PART(1, MUL(G, DIV(B, y)));
}

/* b / (a*a + b*b) and -a / (a*a + b*b) without overflow. */
RULE(atan2)
{
    tgi_ref a = A, b = B;
    tgi_ref r = distance(rule, HYPOT(a, b));
    return PART(0, DIV(MUL(G, DIV(b, r)), r)) &&
           PART(1, NEG(DIV(MUL(G, DIV(a, r)), r)));
}

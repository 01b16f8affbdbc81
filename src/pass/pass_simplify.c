/* SPDX-License-Identifier: MIT */
/*
 * pass_simplify.c - algebraic simplification of elementwise expressions.
 *
 * Every rule must give the same bits for all operands. Signed zeros, infinities
 * and denormals count; of a NaN, only that it is one. So there is no x*0 -> 0,
 * no x+0 -> x and no x-x -> 0 for floats. Rules see through broadcasts of
 * scalar constants. Commutative operands are sorted by ref, so that a + b and b
 * + a become one node.
 *
 * Requires:    a verified graph.
 * Preserves:   every bit of results and effects, but for the bits of NaNs.
 * Invalidates: refs.
 * Terminates:  one sweep, since inputs are simplified before their users. A
 *              rule either replaces the node by an existing one or a
 *              constant, or removes at least one node from the expression;
 *              rules are retried until none applies.
 */
#include <string.h>

#include "base/error.h"
#include "ir/rebuild.h"
#include "pass/pass.h"

#define INT TGI_CLASS_INT
#define SINT TGI_CLASS_SINT
#define UINT TGI_CLASS_UINT
#define FLOAT TGI_CLASS_FLOAT
#define HALF TGI_CLASS_HALF
#define BOOL TGI_CLASS_BOOL
#define BITS TGI_CLASS_BITS
#define NUM TGI_CLASS_NUM
#define ANY TGI_CLASS_ANY
#define STORED TGI_CLASS_STORED

/* The node being simplified. */
typedef struct rewriter {
    tgi_graph *graph;
    tgi_node node; /* its inputs are `in` */
    tgi_ref in[3];
    tgi_ref replacement; /* not 0: replaces the node */
    bool failed;    /* out of memory, recorded */
} rewriter;

/* -- Matching -------------------------------------------------------------- */

static const tgi_node *node_at(const rewriter *w, tgi_ref ref)
{
    return tgi_graph_node(w->graph, ref);
}

/* Input i if it is an `op`, else NULL. */
static const tgi_node *input_if(const rewriter *w, int i, tgi_op op)
{
    const tgi_node *node = node_at(w, w->in[i]);
    return node->op == op ? node : NULL;
}

typedef enum number_kind { ZERO, NEGATIVE_ZERO, ONE, ALL_ONES } number_kind;

/* True if every element of `ref` has the bits of that number. */
static bool is_splat(const rewriter *w, tgi_ref ref, number_kind wanted)
{
    const tgi_node *node = node_at(w, ref);
    while (node->op == TGI_OP_BROADCAST)
        node = node_at(w, node->inputs[0]);
    if (node->op != TGI_OP_CONSTANT)
        return false;
    const tgi_literal *literal =
        ((const tgi_attr_literal *)node->attr)->literal;
    size_t bytes = tg_dtype_bytes((tg_dtype)node->dtype);
    if (literal->bytes != bytes)
        return false;

    bool is_float = tgi_dtype_is(node->dtype, FLOAT);
    char element[8];
    if (wanted == ALL_ONES && tgi_dtype_is(node->dtype, INT)) {
        memset(element, 0xff, sizeof element);
    } else {
        double value = wanted == ZERO ? 0.0 : wanted == ONE ? 1.0 : -0.0;
        if (wanted == ALL_ONES) /* of bool: true */
            value = 1.0;
        if (wanted == NEGATIVE_ZERO && !is_float)
            return false;
        const tgi_number as_number = {TGI_NUMBER_FLOAT, {.f = value}};
        if (!tgi_dtype_store(node->dtype, as_number, element))
            return false;
    }
    return memcmp(literal->data, element, bytes) == 0;
}

/* -- Rewriting ------------------------------------------------------------- */

static bool replace_by(rewriter *w, tgi_ref ref)
{
    w->replacement = ref;
    return true;
}

/* Rewrites the node to an `op` of these inputs, as many as it takes. */
static bool rewrite_to(rewriter *w, tgi_op op, tgi_ref a, tgi_ref b, tgi_ref c)
{
    w->node.op = (uint8_t)op;
    w->node.n_inputs = (uint32_t)tgi_op_table[op].arity;
    w->in[0] = a;
    w->in[1] = b;
    w->in[2] = c;
    return true;
}

/* Replaces the node by a broadcast 0 or, if `one`, 1 (bool or integer). */
static bool replace_by_splat(rewriter *w, bool one)
{
    char element[8];
    const tgi_number value = {TGI_NUMBER_UINT, {.u = one}};
    tgi_dtype_store(w->node.dtype, value, element);
    tgi_shape_ref scalar = tgi_shape_intern(w->graph->dims, 0, NULL);
    tgi_ref ref = 0;
    if (scalar)
        ref = tgi_graph_add_constant(w->graph, (tg_dtype)w->node.dtype, scalar,
                                     element, tg_dtype_bytes(w->node.dtype), 0,
                                     tgi_node_site(&w->node));
    if (ref && w->node.shape != scalar) {
        tgi_node broadcast = w->node;
        broadcast.op = TGI_OP_BROADCAST;
        broadcast.n_inputs = 1;
        broadcast.inputs = &ref;
        ref = tgi_graph_add(w->graph, &broadcast);
    }
    w->failed = ref == 0;
    return replace_by(w, ref);
}

/* -- Rules on a constant operand ------------------------------------------- */

typedef enum operand_side { RIGHT, EITHER } operand_side;
typedef enum rule_outcome { OTHER_OPERAND, SPLAT } rule_outcome;

/* op(x, number) is x or the number. */
static const struct constant_rule {
    uint8_t op;
    uint8_t classes;
    uint8_t number_kind;
    uint8_t operand_side;
    uint8_t rule_outcome;
} constant_rules[] = {
    /* Exact for every x. */
    {TGI_OP_MUL, NUM, ONE, EITHER, OTHER_OPERAND},
    {TGI_OP_DIV, NUM, ONE, RIGHT, OTHER_OPERAND},
    /* x + -0 is x even for x = -0, where x + +0 would be +0. */
    {TGI_OP_ADD, FLOAT, NEGATIVE_ZERO, EITHER, OTHER_OPERAND},
    /* x - +0 is x + -0. */
    {TGI_OP_SUB, FLOAT, ZERO, RIGHT, OTHER_OPERAND},
    /* Integers and bits: exact, with or without wrapping. */
    {TGI_OP_ADD, INT, ZERO, EITHER, OTHER_OPERAND},
    {TGI_OP_SUB, INT, ZERO, RIGHT, OTHER_OPERAND},
    {TGI_OP_MUL, INT, ZERO, EITHER, SPLAT},
    {TGI_OP_SHL, INT, ZERO, RIGHT, OTHER_OPERAND},
    {TGI_OP_SHR, INT, ZERO, RIGHT, OTHER_OPERAND},
    {TGI_OP_OR, BITS, ZERO, EITHER, OTHER_OPERAND},
    {TGI_OP_OR, BITS, ALL_ONES, EITHER, SPLAT},
    {TGI_OP_XOR, BITS, ZERO, EITHER, OTHER_OPERAND},
    {TGI_OP_AND, BITS, ALL_ONES, EITHER, OTHER_OPERAND},
    {TGI_OP_AND, BITS, ZERO, EITHER, SPLAT},
    /* Bools compared with a constant. */
    {TGI_OP_EQ, BOOL, ALL_ONES, EITHER, OTHER_OPERAND},
    {TGI_OP_NE, BOOL, ZERO, EITHER, OTHER_OPERAND},
};

static bool apply_constant_rules(rewriter *w)
{
    int dtype = node_at(w, w->in[0])->dtype;
    for (size_t i = 0; i < sizeof constant_rules / sizeof *constant_rules;
         i++) {
        const struct constant_rule *rule = &constant_rules[i];
        if (rule->op != w->node.op || !tgi_dtype_is(dtype, rule->classes))
            continue;
        for (int k = 1; k >= (rule->operand_side == EITHER ? 0 : 1); k--)
            if (is_splat(w, w->in[k], (number_kind)rule->number_kind))
                return replace_by(
                    w, w->in[rule->rule_outcome == OTHER_OPERAND ? !k : k]);
    }
    return false;
}

/* -- Rules on one operand -------------------------------------------------- */

/* -(-x), !!x: the op is its own inverse, bit for bit. */
static bool cancel_inverse(rewriter *w)
{
    const tgi_node *inner = input_if(w, 0, (tgi_op)w->node.op);
    return inner && replace_by(w, inner->inputs[0]);
}

/* |x||, sign(sign x): the op is idempotent. */
static bool drop_idempotent(rewriter *w)
{
    return input_if(w, 0, (tgi_op)w->node.op) && replace_by(w, w->in[0]);
}

/* STOP only matters to gradients, which are built before the passes run. */
static bool drop_stop(rewriter *w)
{
    return replace_by(w, w->in[0]);
}

static bool drop_unsigned_abs(rewriter *w)
{
    return replace_by(w, w->in[0]);
}

/* -x| is |x|; the smallest integer is its own negative. */
static bool abs_of_neg(rewriter *w)
{
    const tgi_node *inner = input_if(w, 0, TGI_OP_NEG);
    return inner && rewrite_to(w, TGI_OP_ABS, inner->inputs[0], 0, 0);
}

/* Rounding an integral float in any direction is the identity, even for -0. */
static bool drop_rounding(rewriter *w)
{
    const tgi_node *inner = node_at(w, w->in[0]);
    switch (inner->op) {
    case TGI_OP_FLOOR:
    case TGI_OP_CEIL:
    case TGI_OP_ROUND:
    case TGI_OP_TRUNC:
        return replace_by(w, w->in[0]);
    case TGI_OP_CAST:
        return tgi_dtype_is(node_at(w, inner->inputs[0])->dtype,
                            BITS) &&
               replace_by(w, w->in[0]);
    default:
        return false;
    }
}

/*
 * not(a == b) is a != b, even for NaN. not(a < b) is b <= a only in a total
 * order, so not for floats.
 */
static bool not_of_comparison(rewriter *w)
{
    const tgi_node *inner = node_at(w, w->in[0]);
    bool is_ordered = inner->n_inputs > 0 &&
                      !tgi_dtype_is(node_at(w, inner->inputs[0])->dtype, FLOAT);
    switch (inner->op) {
    case TGI_OP_EQ:
        return rewrite_to(w, TGI_OP_NE, inner->inputs[0], inner->inputs[1], 0);
    case TGI_OP_NE:
        return rewrite_to(w, TGI_OP_EQ, inner->inputs[0], inner->inputs[1], 0);
    case TGI_OP_LT:
        return is_ordered &&
               rewrite_to(w, TGI_OP_LE, inner->inputs[1], inner->inputs[0], 0);
    case TGI_OP_LE:
        return is_ordered &&
               rewrite_to(w, TGI_OP_LT, inner->inputs[1], inner->inputs[0], 0);
    default:
        return false;
    }
}

/* -- Casts ----------------------------------------------------------------- */

/* True if dtype `to` represents every value of dtype `from`. */
static bool represents_all(int from, int to)
{
    int from_bits = 8 * (int)tgi_dtype_bytes(from);
    int to_bits = 8 * (int)tgi_dtype_bytes(to);
    /* Integers of up to this many bits are exact in the float. */
    int exact = to == TG_F32 ? 24 : 53;
    if (from == to || tgi_dtype_is(from, BOOL))
        return true;
    if (tgi_dtype_is(from, HALF))
        return tgi_dtype_is(to, FLOAT);
    if (tgi_dtype_is(to, HALF))
        return false;
    if (tgi_dtype_is(from, FLOAT) || tgi_dtype_is(to, BOOL))
        return from == TG_F32 && to == TG_F64;
    if (tgi_dtype_is(to, FLOAT))
        return from_bits - tgi_dtype_is(from, SINT) <= exact;
    if (tgi_dtype_is(from, UINT) && tgi_dtype_is(to, SINT))
        return from_bits < to_bits;
    return tgi_dtype_is(from, UINT) == tgi_dtype_is(to, UINT) &&
           from_bits <= to_bits;
}

/*
 * a -> b -> c is a -> c if b represents every value of a, because a cast
 * depends only on the value. But casts from float saturate where casts from
 * integers wrap, so integer -> float -> integer must not lose values in c
 * either. Among integers, b may also lose the bits that c drops.
 */
static bool can_skip_cast(int a, int b, int c)
{
    if (!tgi_dtype_casts_to(a, c))
        return false;
    if (tgi_dtype_is(a, INT) && tgi_dtype_is(b, INT) && tgi_dtype_is(c, INT) &&
        tgi_dtype_bytes(c) <= tgi_dtype_bytes(b))
        return true;
    bool may_saturate =
        tgi_dtype_is(a, INT) && tgi_dtype_is(b, FLOAT) && tgi_dtype_is(c, INT);
    return represents_all(a, b) && (!may_saturate || represents_all(a, c));
}

static bool cast_to_same(rewriter *w)
{
    return node_at(w, w->in[0])->dtype == w->node.dtype &&
           replace_by(w, w->in[0]);
}

static bool cast_of_cast(rewriter *w)
{
    const tgi_node *inner = input_if(w, 0, TGI_OP_CAST);
    return inner &&
           can_skip_cast(node_at(w, inner->inputs[0])->dtype, inner->dtype,
                         w->node.dtype) &&
           rewrite_to(w, TGI_OP_CAST, inner->inputs[0], 0, 0);
}

/* -- Rules on two equal operands ------------------------------------------- */

static bool equal_to_operand(rewriter *w)
{
    return w->in[0] == w->in[1] && replace_by(w, w->in[0]);
}

static bool equal_to_zero(rewriter *w)
{
    return w->in[0] == w->in[1] && replace_by_splat(w, false);
}

static bool equal_to_one(rewriter *w)
{
    return w->in[0] == w->in[1] && replace_by_splat(w, true);
}

/* -- Negated operands ------------------------------------------------------ */

/* x + -y is x - y: by definition in IEEE 754, and for wrapping integers. */
static bool add_of_neg(rewriter *w)
{
    for (int k = 0; k < 2; k++) {
        const tgi_node *inner = input_if(w, k, TGI_OP_NEG);
        if (inner)
            return rewrite_to(w, TGI_OP_SUB, w->in[!k], inner->inputs[0], 0);
    }
    return false;
}

static bool sub_of_neg(rewriter *w)
{
    const tgi_node *inner = input_if(w, 1, TGI_OP_NEG);
    return inner && rewrite_to(w, TGI_OP_ADD, w->in[0], inner->inputs[0], 0);
}

/* -- Three operands -------------------------------------------------------- */

/* x * 1 is exact, so only the sum rounds. */
static bool fma_by_one(rewriter *w)
{
    for (int k = 0; k < 2; k++)
        if (is_splat(w, w->in[k], ONE))
            return rewrite_to(w, TGI_OP_ADD, w->in[!k], w->in[2], 0);
    return false;
}

/* Adding -0 to the exact product changes nothing, not even the sign of zero. */
static bool fma_plus_negative_zero(rewriter *w)
{
    return is_splat(w, w->in[2], NEGATIVE_ZERO) &&
           rewrite_to(w, TGI_OP_MUL, w->in[0], w->in[1], 0);
}

static bool select_constant(rewriter *w)
{
    if (is_splat(w, w->in[0], ONE))
        return replace_by(w, w->in[1]);
    return is_splat(w, w->in[0], ZERO) && replace_by(w, w->in[2]);
}

static bool select_same(rewriter *w)
{
    return w->in[1] == w->in[2] && replace_by(w, w->in[1]);
}

static bool select_of_not(rewriter *w)
{
    const tgi_node *inner = input_if(w, 0, TGI_OP_NOT);
    return inner &&
           rewrite_to(w, TGI_OP_SELECT, inner->inputs[0], w->in[2], w->in[1]);
}

/* c ? true : false */
static bool select_to_condition(rewriter *w)
{
    return is_splat(w, w->in[1], ONE) && is_splat(w, w->in[2], ZERO) &&
           replace_by(w, w->in[0]);
}

/* -- The rules ------------------------------------------------------------- */

/* `classes` are dtype classes of the last operand: for SELECT, of its
   values. */
static const struct rule {
    uint8_t op;
    uint8_t classes;
    bool (*apply)(rewriter *w);
} rules[] = {
    {TGI_OP_STOP, STORED, drop_stop},
    {TGI_OP_NEG, NUM, cancel_inverse},
    {TGI_OP_NOT, BITS, cancel_inverse},
    {TGI_OP_NOT, BOOL, not_of_comparison},
    {TGI_OP_ABS, UINT, drop_unsigned_abs},
    {TGI_OP_ABS, NUM, drop_idempotent},
    {TGI_OP_ABS, SINT | FLOAT, abs_of_neg},
    {TGI_OP_SIGN, NUM, drop_idempotent},
    {TGI_OP_FLOOR, FLOAT, drop_rounding},
    {TGI_OP_CEIL, FLOAT, drop_rounding},
    {TGI_OP_ROUND, FLOAT, drop_rounding},
    {TGI_OP_TRUNC, FLOAT, drop_rounding},
    {TGI_OP_CAST, STORED, cast_to_same},
    {TGI_OP_CAST, STORED, cast_of_cast},
    {TGI_OP_ADD, NUM, add_of_neg},
    {TGI_OP_SUB, NUM, sub_of_neg},
    {TGI_OP_SUB, INT, equal_to_zero},
    {TGI_OP_XOR, BITS, equal_to_zero},
    {TGI_OP_MIN, ANY, equal_to_operand},
    {TGI_OP_MAX, ANY, equal_to_operand},
    {TGI_OP_AND, BITS, equal_to_operand},
    {TGI_OP_OR, BITS, equal_to_operand},
    /* NaN != NaN, but no x is less than itself. */
    {TGI_OP_EQ, BITS, equal_to_one},
    {TGI_OP_NE, BITS, equal_to_zero},
    {TGI_OP_LE, BITS, equal_to_one},
    {TGI_OP_LT, ANY, equal_to_zero},
    {TGI_OP_FMA, FLOAT, fma_by_one},
    {TGI_OP_FMA, FLOAT, fma_plus_negative_zero},
    {TGI_OP_SELECT, STORED, select_constant},
    {TGI_OP_SELECT, STORED, select_same},
    {TGI_OP_SELECT, STORED, select_of_not},
    {TGI_OP_SELECT, BOOL, select_to_condition},
};

static bool apply_rules(rewriter *w)
{
    int dtype = node_at(w, w->in[w->node.n_inputs - 1])->dtype;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].op == w->node.op &&
            tgi_dtype_is(dtype, rules[i].classes) && rules[i].apply(w))
            return true;
    return w->node.n_inputs == 2 && apply_constant_rules(w);
}

/* -- The pass -------------------------------------------------------------- */

static tgi_ref simplify_node(tgi_rebuild *rebuild, tgi_ref old,
                             const tgi_node *node)
{
    (void)old;
    if (!tgi_op_is_elementwise(node->op))
        return tgi_graph_add(rebuild->out, node);

    rewriter w = {.graph = rebuild->out, .node = *node};
    memcpy(w.in, node->inputs, node->n_inputs * sizeof *w.in);
    w.node.inputs = w.in;
    while (!w.replacement && !w.failed && apply_rules(&w))
        ;
    if (w.failed || w.replacement)
        return w.failed ? 0 : w.replacement;
    if (tgi_op_has(w.node.op, TGI_FLAG_COMMUTATIVE) && w.in[0] > w.in[1])
        rewrite_to(&w, (tgi_op)w.node.op, w.in[1], w.in[0], 0);
    return tgi_graph_add(w.graph, &w.node);
}

tg_status tgi_pass_simplify(const tgi_graph *in, tgi_graph **out_graph)
{
    tgi_rebuild rebuild = {
        .in = in, .visit = simplify_node, .region = tgi_pass_simplify};
    tg_status status = tgi_rebuild_run(&rebuild);
    *out_graph = rebuild.out;
    return status;
}

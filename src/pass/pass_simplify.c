/* SPDX-License-Identifier: MIT */
/*
 * pass_simplify.c - replaces elementwise expressions by smaller ones.
 *
 * What every rule must obey: for every operand, the new expression has the
 * same bits as the old one. Signed zeros, infinities and denormals count; of
 * NaNs only that it is one. So there is no x*0 -> 0, no x+0 -> x and no
 * x-x -> 0 for floats. Rules see through broadcasts of single constants.
 *
 * Why it ends: inputs have been simplified before their users, so one sweep
 * is enough. A rule either answers with a node that is there already (or with
 * a constant), or takes at least one node out of the expression; the rules
 * are tried again on what is left until none applies.
 *
 * Operands that may be swapped are put in the order of their refs, so that
 * a + b and b + a become one node.
 */
#include <string.h>

#include "base/error.h"
#include "ir/rebuild.h"
#include "pass/pass.h"

#define INT TGI_CLASS_INT
#define SINT TGI_CLASS_SINT
#define UINT TGI_CLASS_UINT
#define FLOAT TGI_CLASS_FLOAT
#define BOOL TGI_CLASS_BOOL
#define BITS TGI_CLASS_BITS
#define NUM TGI_CLASS_NUM
#define ANY TGI_CLASS_ANY

/* The node being simplified. */
typedef struct rewriter {
    tgi_graph *graph;
    tgi_node node; /* its inputs are `in` */
    tgi_ref in[3];
    tgi_ref answer; /* not 0: this is the value */
    bool failed;    /* out of memory, recorded */
} rewriter;

/* -- Looking --------------------------------------------------------------- */

static const tgi_node *at(const rewriter *w, tgi_ref ref)
{
    return tgi_graph_node(w->graph, ref);
}

/* Input i, if it is an `op`; else NULL. */
static const tgi_node *input_if(const rewriter *w, int i, tgi_op op)
{
    const tgi_node *node = at(w, w->in[i]);
    return node->op == op ? node : NULL;
}

typedef enum number { ZERO, NEGATIVE_ZERO, ONE, ALL_ONES } number;

/* Whether `ref` is that number in every place, by its bits. */
static bool is_number(const rewriter *w, tgi_ref ref, number wanted)
{
    const tgi_node *node = at(w, ref);
    while (node->op == TGI_OP_BROADCAST)
        node = at(w, node->inputs[0]);
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
        if (wanted == ALL_ONES) /* of bool, that is true */
            value = 1.0;
        if (wanted == NEGATIVE_ZERO && !is_float)
            return false;
        const tgi_number as_number = {TGI_NUMBER_FLOAT, {.f = value}};
        if (!tgi_dtype_store(node->dtype, as_number, element))
            return false;
    }
    return memcmp(literal->data, element, bytes) == 0;
}

/* -- Answering ------------------------------------------------------------- */

static bool answer(rewriter *w, tgi_ref ref)
{
    w->answer = ref;
    return true;
}

/* The node becomes an `op` of these inputs, as many as it takes. */
static bool become(rewriter *w, tgi_op op, tgi_ref a, tgi_ref b, tgi_ref c)
{
    w->node.op = (uint8_t)op;
    w->node.n_inputs = (uint32_t)tgi_op_table[op].arity;
    w->in[0] = a;
    w->in[1] = b;
    w->in[2] = c;
    return true;
}

/* All elements are 0 or, if `one`, 1 (of bool or integers). */
static bool answer_number(rewriter *w, bool one)
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
    return answer(w, ref);
}

/* -- Rules on a constant operand ------------------------------------------- */

typedef enum side { RIGHT, EITHER } side;
typedef enum outcome { THE_OTHER, THE_NUMBER } outcome;

/* op(x, number) is x or the number. */
static const struct number_rule {
    uint8_t op;
    uint8_t classes;
    uint8_t number;
    uint8_t side;
    uint8_t outcome;
} number_rules[] = {
    /* Exact for every x. */
    {TGI_OP_MUL, NUM, ONE, EITHER, THE_OTHER},
    {TGI_OP_DIV, NUM, ONE, RIGHT, THE_OTHER},
    /* x + -0 is x: also for x = -0, where x + +0 would be +0. */
    {TGI_OP_ADD, FLOAT, NEGATIVE_ZERO, EITHER, THE_OTHER},
    /* The same sum, written as a difference. */
    {TGI_OP_SUB, FLOAT, ZERO, RIGHT, THE_OTHER},
    /* Integers and bits: plain algebra, wrapping or not. */
    {TGI_OP_ADD, INT, ZERO, EITHER, THE_OTHER},
    {TGI_OP_SUB, INT, ZERO, RIGHT, THE_OTHER},
    {TGI_OP_MUL, INT, ZERO, EITHER, THE_NUMBER},
    {TGI_OP_SHL, INT, ZERO, RIGHT, THE_OTHER},
    {TGI_OP_SHR, INT, ZERO, RIGHT, THE_OTHER},
    {TGI_OP_OR, BITS, ZERO, EITHER, THE_OTHER},
    {TGI_OP_OR, BITS, ALL_ONES, EITHER, THE_NUMBER},
    {TGI_OP_XOR, BITS, ZERO, EITHER, THE_OTHER},
    {TGI_OP_AND, BITS, ALL_ONES, EITHER, THE_OTHER},
    {TGI_OP_AND, BITS, ZERO, EITHER, THE_NUMBER},
    /* Bools compared with a constant. */
    {TGI_OP_EQ, BOOL, ALL_ONES, EITHER, THE_OTHER},
    {TGI_OP_NE, BOOL, ZERO, EITHER, THE_OTHER},
};

static bool apply_number_rules(rewriter *w)
{
    int dtype = at(w, w->in[0])->dtype;
    for (size_t i = 0; i < sizeof number_rules / sizeof *number_rules; i++) {
        const struct number_rule *rule = &number_rules[i];
        if (rule->op != w->node.op || !tgi_dtype_is(dtype, rule->classes))
            continue;
        for (int k = 1; k >= (rule->side == EITHER ? 0 : 1); k--)
            if (is_number(w, w->in[k], (number)rule->number))
                return answer(w, w->in[rule->outcome == THE_OTHER ? !k : k]);
    }
    return false;
}

/* -- Rules on one operand -------------------------------------------------- */

/* -(-x), !!x: undoes itself, bit for bit. */
static bool undo(rewriter *w)
{
    const tgi_node *inner = input_if(w, 0, (tgi_op)w->node.op);
    return inner && answer(w, inner->inputs[0]);
}

/* ||x||, sign(sign x): the second time changes nothing. */
static bool repeat(rewriter *w)
{
    return input_if(w, 0, (tgi_op)w->node.op) && answer(w, w->in[0]);
}

/* Gradients have been taken: what stops them is of no use any more. */
static bool stop(rewriter *w)
{
    return answer(w, w->in[0]);
}

static bool unsigned_abs(rewriter *w)
{
    return answer(w, w->in[0]);
}

/* |-x|: the sign goes anyway; the smallest integer is its own negative. */
static bool abs_of_neg(rewriter *w)
{
    const tgi_node *inner = input_if(w, 0, TGI_OP_NEG);
    return inner && become(w, TGI_OP_ABS, inner->inputs[0], 0, 0);
}

/* Rounding an integer, in whatever direction, gives it back, -0 too. */
static bool round_integer(rewriter *w)
{
    const tgi_node *inner = at(w, w->in[0]);
    switch (inner->op) {
    case TGI_OP_FLOOR:
    case TGI_OP_CEIL:
    case TGI_OP_ROUND:
    case TGI_OP_TRUNC:
        return answer(w, w->in[0]);
    case TGI_OP_CAST:
        return !tgi_dtype_is(at(w, inner->inputs[0])->dtype, FLOAT) &&
               answer(w, w->in[0]);
    default:
        return false;
    }
}

/*
 * not(a == b) is a != b, also for NaN. not(a < b) is b <= a only where any
 * two are ordered: not for floats.
 */
static bool not_of_comparison(rewriter *w)
{
    const tgi_node *inner = at(w, w->in[0]);
    bool is_ordered = inner->n_inputs > 0 &&
                      !tgi_dtype_is(at(w, inner->inputs[0])->dtype, FLOAT);
    switch (inner->op) {
    case TGI_OP_EQ:
        return become(w, TGI_OP_NE, inner->inputs[0], inner->inputs[1], 0);
    case TGI_OP_NE:
        return become(w, TGI_OP_EQ, inner->inputs[0], inner->inputs[1], 0);
    case TGI_OP_LT:
        return is_ordered &&
               become(w, TGI_OP_LE, inner->inputs[1], inner->inputs[0], 0);
    case TGI_OP_LE:
        return is_ordered &&
               become(w, TGI_OP_LT, inner->inputs[1], inner->inputs[0], 0);
    default:
        return false;
    }
}

/* -- Casts ----------------------------------------------------------------- */

/* Whether every number of type `from` is one of type `to`. */
static bool holds_all(int from, int to)
{
    int from_bits = 8 * (int)tgi_dtype_bytes(from);
    int to_bits = 8 * (int)tgi_dtype_bytes(to);
    /* Of a float: integers up to this many bits are exact. */
    int exact = to == TG_F32 ? 24 : 53;
    if (from == to || tgi_dtype_is(from, BOOL))
        return true;
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
 * a -> b -> c is a -> c if b holds all of a, since a cast depends on the
 * number alone; but a float saturates where an integer wraps, so that integer
 * -> float -> integer must not lose anything in the end either. Among
 * integers b may also lose what c would not keep.
 */
static bool cast_skips(int a, int b, int c)
{
    if (tgi_dtype_is(a, INT) && tgi_dtype_is(b, INT) && tgi_dtype_is(c, INT) &&
        tgi_dtype_bytes(c) <= tgi_dtype_bytes(b))
        return true;
    bool may_saturate =
        tgi_dtype_is(a, INT) && tgi_dtype_is(b, FLOAT) && tgi_dtype_is(c, INT);
    return holds_all(a, b) && (!may_saturate || holds_all(a, c));
}

static bool cast_to_same(rewriter *w)
{
    return at(w, w->in[0])->dtype == w->node.dtype && answer(w, w->in[0]);
}

static bool cast_of_cast(rewriter *w)
{
    const tgi_node *inner = input_if(w, 0, TGI_OP_CAST);
    return inner &&
           cast_skips(at(w, inner->inputs[0])->dtype, inner->dtype,
                      w->node.dtype) &&
           become(w, TGI_OP_CAST, inner->inputs[0], 0, 0);
}

/* -- Rules on two equal operands ------------------------------------------- */

static bool same_is_it(rewriter *w)
{
    return w->in[0] == w->in[1] && answer(w, w->in[0]);
}

static bool same_is_zero(rewriter *w)
{
    return w->in[0] == w->in[1] && answer_number(w, false);
}

static bool same_is_one(rewriter *w)
{
    return w->in[0] == w->in[1] && answer_number(w, true);
}

/* -- Negated operands ------------------------------------------------------ */

/* x + -y is x - y: IEEE defines the difference so, and integers wrap. */
static bool add_of_neg(rewriter *w)
{
    for (int k = 0; k < 2; k++) {
        const tgi_node *inner = input_if(w, k, TGI_OP_NEG);
        if (inner)
            return become(w, TGI_OP_SUB, w->in[!k], inner->inputs[0], 0);
    }
    return false;
}

static bool sub_of_neg(rewriter *w)
{
    const tgi_node *inner = input_if(w, 1, TGI_OP_NEG);
    return inner && become(w, TGI_OP_ADD, w->in[0], inner->inputs[0], 0);
}

/* -- Three operands -------------------------------------------------------- */

/* x * 1 is exact: what is left to round is the sum. */
static bool fma_by_one(rewriter *w)
{
    for (int k = 0; k < 2; k++)
        if (is_number(w, w->in[k], ONE))
            return become(w, TGI_OP_ADD, w->in[!k], w->in[2], 0);
    return false;
}

/* Adding -0 to the exact product changes nothing, a zero's sign neither. */
static bool fma_plus_nothing(rewriter *w)
{
    return is_number(w, w->in[2], NEGATIVE_ZERO) &&
           become(w, TGI_OP_MUL, w->in[0], w->in[1], 0);
}

static bool select_known(rewriter *w)
{
    if (is_number(w, w->in[0], ONE))
        return answer(w, w->in[1]);
    return is_number(w, w->in[0], ZERO) && answer(w, w->in[2]);
}

static bool select_same(rewriter *w)
{
    return w->in[1] == w->in[2] && answer(w, w->in[1]);
}

static bool select_of_not(rewriter *w)
{
    const tgi_node *inner = input_if(w, 0, TGI_OP_NOT);
    return inner &&
           become(w, TGI_OP_SELECT, inner->inputs[0], w->in[2], w->in[1]);
}

/* c ? true : false */
static bool select_itself(rewriter *w)
{
    return is_number(w, w->in[1], ONE) && is_number(w, w->in[2], ZERO) &&
           answer(w, w->in[0]);
}

/* -- The rules ------------------------------------------------------------- */

/* `classes` are those of the last operand: what select chooses from. */
static const struct rule {
    uint8_t op;
    uint8_t classes;
    bool (*apply)(rewriter *w);
} rules[] = {
    {TGI_OP_STOP, ANY, stop},
    {TGI_OP_NEG, NUM, undo},
    {TGI_OP_NOT, BITS, undo},
    {TGI_OP_NOT, BOOL, not_of_comparison},
    {TGI_OP_ABS, UINT, unsigned_abs},
    {TGI_OP_ABS, NUM, repeat},
    {TGI_OP_ABS, SINT | FLOAT, abs_of_neg},
    {TGI_OP_SIGN, NUM, repeat},
    {TGI_OP_FLOOR, FLOAT, round_integer},
    {TGI_OP_CEIL, FLOAT, round_integer},
    {TGI_OP_ROUND, FLOAT, round_integer},
    {TGI_OP_TRUNC, FLOAT, round_integer},
    {TGI_OP_CAST, ANY, cast_to_same},
    {TGI_OP_CAST, ANY, cast_of_cast},
    {TGI_OP_ADD, NUM, add_of_neg},
    {TGI_OP_SUB, NUM, sub_of_neg},
    {TGI_OP_SUB, INT, same_is_zero},
    {TGI_OP_XOR, BITS, same_is_zero},
    {TGI_OP_MIN, ANY, same_is_it},
    {TGI_OP_MAX, ANY, same_is_it},
    {TGI_OP_AND, BITS, same_is_it},
    {TGI_OP_OR, BITS, same_is_it},
    /* NaN != NaN; but no x is less than itself. */
    {TGI_OP_EQ, BITS, same_is_one},
    {TGI_OP_NE, BITS, same_is_zero},
    {TGI_OP_LE, BITS, same_is_one},
    {TGI_OP_LT, ANY, same_is_zero},
    {TGI_OP_FMA, FLOAT, fma_by_one},
    {TGI_OP_FMA, FLOAT, fma_plus_nothing},
    {TGI_OP_SELECT, ANY, select_known},
    {TGI_OP_SELECT, ANY, select_same},
    {TGI_OP_SELECT, ANY, select_of_not},
    {TGI_OP_SELECT, BOOL, select_itself},
};

static bool apply_rules(rewriter *w)
{
    int dtype = at(w, w->in[w->node.n_inputs - 1])->dtype;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].op == w->node.op &&
            tgi_dtype_is(dtype, rules[i].classes) && rules[i].apply(w))
            return true;
    return w->node.n_inputs == 2 && apply_number_rules(w);
}

/* -- The pass -------------------------------------------------------------- */

static tgi_ref visit(tgi_rebuild *rebuild, tgi_ref old, const tgi_node *node)
{
    (void)old;
    if (!tgi_op_is_elementwise(node->op))
        return tgi_graph_add(rebuild->out, node);

    rewriter w = {.graph = rebuild->out, .node = *node};
    memcpy(w.in, node->inputs, node->n_inputs * sizeof *w.in);
    w.node.inputs = w.in;
    while (!w.answer && !w.failed && apply_rules(&w))
        ;
    if (w.failed || w.answer)
        return w.failed ? 0 : w.answer;
    if (tgi_op_has(w.node.op, TGI_FLAG_COMMUTATIVE) && w.in[0] > w.in[1])
        become(&w, (tgi_op)w.node.op, w.in[1], w.in[0], 0);
    return tgi_graph_add(w.graph, &w.node);
}

tg_status tgi_pass_simplify(const tgi_graph *in, tgi_graph **out_graph)
{
    tgi_rebuild rebuild = {
        .in = in, .visit = visit, .region = tgi_pass_simplify};
    tg_status status = tgi_rebuild_run(&rebuild);
    *out_graph = rebuild.out;
    return status;
}

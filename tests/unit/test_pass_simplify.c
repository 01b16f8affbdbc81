/* SPDX-License-Identifier: MIT */
/*
 * test_pass_simplify.c - each rule of the simplify pass: it applies where it
 * should, and not where it would change bits. Every case also runs on edge
 * values before and after the pass.
 */
#include "support/passes.h"

/* The result of a graph after the pass. */
typedef struct verdict {
    int op;
    tgi_ref inputs[3];
    uint32_t n_inputs;
    int64_t param; /* its number if it is a parameter */
} verdict;

static tgi_graph *g;
static tgi_ref x, y, c; /* two parameters of one type, and a bool one */

static void begin(tg_dtype dtype)
{
    g = tgi_graph_create("f", NULL);
    cr_assert_not_null(g);
    tgi_shape_ref s = shape_of(g, N_EDGES * N_EDGES);
    x = param(g, dtype, s);
    y = param(g, dtype, s);
    c = param(g, TG_BOOL, s);
}

/* Simplifies the graph with the result `value`, and releases it. */
static verdict simplify(tgi_ref value)
{
    tgi_graph_add_result(g, value);
    tgi_graph *out = run_pass(tgi_pass_simplify, g);
    const tgi_node *node = tgi_graph_node(out, out->results.data[0]);
    verdict v = {.op = node->op, .n_inputs = node->n_inputs, .param = -1};
    for (uint32_t i = 0; i < node->n_inputs && i < 3; i++)
        v.inputs[i] = node->inputs[i];
    if (node->op == TGI_OP_PARAM)
        v.param = ((const tgi_attr_index *)node->attr)->index;
    tgi_graph_release(out);
    tgi_graph_release(g);
    return v;
}

#define becomes(value, wanted) \
    do { \
        verdict v_ = simplify(value); \
        cr_assert_eq(v_.op, TGI_OP_##wanted, "became %s", \
                     tgi_op_table[v_.op].name); \
        check_nothing_is_alive(); \
    } while (0)

#define is_param(value, number) \
    do { \
        verdict v_ = simplify(value); \
        cr_assert_eq(v_.param, number, "became %s", \
                     tgi_op_table[v_.op].name); \
        check_nothing_is_alive(); \
    } while (0)

static const tg_dtype all_types[] = {TG_BOOL, TG_I8,  TG_I16, TG_I32,
                                     TG_I64,  TG_U8,  TG_U16, TG_U32,
                                     TG_U64,  TG_F32, TG_F64};

/* -- Constant operands ----------------------------------------------------- */

/* The simplified op(x, number) and op(number, x); PARAM is x itself. */
static void check_number(tgi_op op, unsigned classes, double value, int right,
                         int left)
{
    for (size_t i = 0; i < N_OF(all_types); i++) {
        if (!tgi_dtype_is(all_types[i], classes))
            continue;
        for (int is_left = 0; is_left < 2; is_left++) {
            begin(all_types[i]);
            tgi_ref k = number_like(g, x, value);
            verdict v = simplify(is_left
                                     ? apply_n(g, op, INPUTS(k, x))
                                     : apply_n(g, op, INPUTS(x, k)));
            cr_assert_eq(v.op, is_left ? left : right,
                         "%s of %s and %g became %s", tgi_op_table[op].name,
                         tg_dtype_name(all_types[i]), value,
                         tgi_op_table[v.op].name);
        }
    }
    check_nothing_is_alive();
}

#define TYPES(name) TGI_CLASS_##name
#define NUMBER(op, types, value, right, left) \
    check_number(TGI_OP_##op, TYPES(types), value, TGI_OP_##right, \
                 TGI_OP_##left)

Test(pass_simplify, times_one_is_nothing)
{
    NUMBER(MUL, NUM, 1, PARAM, PARAM);
    NUMBER(MUL, NUM, 2, MUL, MUL);
    NUMBER(DIV, NUM, 1, PARAM, DIV);
}

Test(pass_simplify, times_zero_is_zero_for_integers_only)
{
    NUMBER(MUL, INT, 0, BROADCAST, BROADCAST);
    NUMBER(MUL, FLOAT, 0, MUL, MUL);
}

Test(pass_simplify, plus_zero_minds_the_sign_of_zero)
{
    NUMBER(ADD, INT, 0, PARAM, PARAM);
    NUMBER(ADD, FLOAT, -0.0, PARAM, PARAM);
    NUMBER(ADD, FLOAT, 0, ADD, ADD);
    NUMBER(SUB, INT, 0, PARAM, SUB);
    NUMBER(SUB, FLOAT, 0, PARAM, SUB);
    NUMBER(SUB, FLOAT, -0.0, SUB, SUB);
}

Test(pass_simplify, bits_with_none_or_all)
{
    NUMBER(OR, BITS, 0, PARAM, PARAM);
    NUMBER(XOR, BITS, 0, PARAM, PARAM);
    NUMBER(AND, BITS, 0, BROADCAST, BROADCAST);
    NUMBER(AND, SINT, -1, PARAM, PARAM);
    NUMBER(OR, SINT, -1, BROADCAST, BROADCAST);
    NUMBER(AND, BOOL, 1, PARAM, PARAM);
    NUMBER(OR, BOOL, 1, BROADCAST, BROADCAST);
    NUMBER(AND, INT, 1, AND, AND);
}

Test(pass_simplify, all_bits_of_unsigned_types)
{
    begin(TG_U32);
    uint32_t ones = UINT32_MAX;
    tgi_ref k = tgi_graph_add_constant(g, TG_U32, scalar_shape(g), &ones, 4, 0,
                                       (tg_site){NULL, 0});
    k = broadcast(g, k, tgi_graph_node(g, x)->shape);
    is_param(apply(g, AND, k, x), 0);
}

Test(pass_simplify, shifts_by_nothing)
{
    NUMBER(SHL, INT, 0, PARAM, SHL);
    NUMBER(SHR, INT, 0, PARAM, SHR);
    NUMBER(SHL, INT, 1, SHL, SHL);
}

Test(pass_simplify, bools_compared_with_constants)
{
    NUMBER(EQ, BOOL, 1, PARAM, PARAM);
    NUMBER(NE, BOOL, 0, PARAM, PARAM);
    NUMBER(EQ, BOOL, 0, EQ, EQ);
    NUMBER(EQ, INT, 1, EQ, EQ);
}

Test(pass_simplify, min_and_max_with_constants_stay)
{
    NUMBER(MIN, NUM, 0, MIN, MIN);
    NUMBER(MAX, NUM, 0, MAX, MAX);
}

Test(pass_simplify, long_constants_are_not_examined)
{
    g = tgi_graph_create("f", NULL);
    float ones[2] = {1, 1};
    x = param(g, TG_F32, shape_of(g, 2));
    tgi_ref k = tgi_graph_add_constant(g, TG_F32, shape_of(g, 2), ones, 8, 0,
                                       (tg_site){NULL, 0});
    becomes(apply(g, MUL, x, k), MUL);
}

/* -- One operand ----------------------------------------------------------- */

Test(pass_simplify, negating_twice_is_nothing)
{
    for (size_t i = 1; i < N_OF(all_types); i++) {
        begin(all_types[i]);
        is_param(apply(g, NEG, apply(g, NEG, x)), 0);
    }
    begin(TG_BOOL);
    is_param(apply(g, NOT, apply(g, NOT, x)), 0);
    begin(TG_I16);
    is_param(apply(g, NOT, apply(g, NOT, x)), 0);
    begin(TG_F32);
    is_param(apply(g, NEG, apply(g, NEG, apply(g, NEG, apply(g, NEG, x)))),
             0);
}

Test(pass_simplify, stop_gradient_is_removed)
{
    for (size_t i = 0; i < N_OF(all_types); i++) {
        begin(all_types[i]);
        is_param(apply(g, STOP, apply(g, STOP, x)), 0);
    }
    check_nothing_is_alive();
}

Test(pass_simplify, abs_of_neg_is_abs)
{
    begin(TG_I8);
    becomes(apply(g, ABS, apply(g, ABS, x)), ABS);
    begin(TG_I8);
    verdict v = simplify(apply(g, ABS, apply(g, NEG, x)));
    cr_assert(v.op == TGI_OP_ABS && v.inputs[0] == 1);
    begin(TG_F64);
    v = simplify(apply(g, ABS, apply(g, NEG, x)));
    cr_assert(v.op == TGI_OP_ABS && v.inputs[0] == 1);
    begin(TG_U8);
    is_param(apply(g, ABS, x), 0);
    begin(TG_U8); /* abs of a wrapped -x is -x */
    becomes(apply(g, ABS, apply(g, NEG, x)), NEG);
    begin(TG_F32);
    v = simplify(apply(g, SIGN, apply(g, SIGN, x)));
    cr_assert(v.op == TGI_OP_SIGN && v.inputs[0] == 1);
    check_nothing_is_alive();
}

Test(pass_simplify, rounding_is_idempotent)
{
    static const tgi_op ops[] = {TGI_OP_FLOOR, TGI_OP_CEIL, TGI_OP_ROUND,
                                 TGI_OP_TRUNC};
    for (size_t a = 0; a < N_OF(ops); a++) {
        for (size_t b = 0; b < N_OF(ops); b++) {
            begin(a & 1 ? TG_F32 : TG_F64);
            tgi_ref inner = apply_n(g, ops[a], INPUTS(x));
            verdict v = simplify(apply_n(g, ops[b], INPUTS(inner)));
            cr_assert_eq(v.op, (int)ops[a]);
        }
        begin(TG_I32);
        tgi_ref inner = cast(g, x, TG_F32);
        becomes(apply_n(g, ops[a], INPUTS(inner)), CAST);
        begin(TG_F64);
        inner = cast(g, x, TG_F32);
        verdict v = simplify(apply_n(g, ops[a], INPUTS(inner)));
        cr_assert_eq(v.op, (int)ops[a], "a rounded float is not an integer");
    }
    check_nothing_is_alive();
}

Test(pass_simplify, not_of_a_comparison_is_the_other_one)
{
    for (size_t i = 0; i < N_OF(all_types); i++) {
        bool is_float = tgi_dtype_is(all_types[i], TGI_CLASS_FLOAT);
        begin(all_types[i]);
        becomes(apply(g, NOT, apply(g, EQ, x, y)), NE);
        begin(all_types[i]);
        becomes(apply(g, NOT, apply(g, NE, x, y)), EQ);
        begin(all_types[i]);
        verdict v = simplify(apply(g, NOT, apply(g, LT, x, y)));
        cr_assert_eq(v.op, is_float ? TGI_OP_NOT : TGI_OP_LE);
        cr_assert(is_float || (v.inputs[0] == 2 && v.inputs[1] == 1));
        begin(all_types[i]);
        v = simplify(apply(g, NOT, apply(g, LE, x, y)));
        cr_assert_eq(v.op, is_float ? TGI_OP_NOT : TGI_OP_LT);
    }
    check_nothing_is_alive();
}

/* -- Casts ----------------------------------------------------------------- */

Test(pass_simplify, casts_to_the_same_type_go)
{
    begin(TG_F32);
    is_param(cast(g, x, TG_F32), 0);
}

/* True if x -> b -> c became x -> c (or x). Also compares bits. */
static bool skips(tg_dtype a, tg_dtype b, tg_dtype to)
{
    begin(a);
    verdict v = simplify(cast(g, cast(g, x, b), to));
    cr_assert(v.param == 0 || v.op == TGI_OP_CAST);
    return v.param == 0 || v.inputs[0] == 1;
}

Test(pass_simplify, chains_of_casts_that_lose_nothing_are_one)
{
    cr_assert(skips(TG_F32, TG_F64, TG_F32));
    cr_assert(skips(TG_I8, TG_I32, TG_I64));
    cr_assert(skips(TG_I32, TG_I64, TG_I32));
    cr_assert(skips(TG_I32, TG_U32, TG_I32), "wrapped there and back");
    cr_assert(skips(TG_I64, TG_I32, TG_I8), "bits that are lost anyway");
    cr_assert(skips(TG_U8, TG_I16, TG_F32));
    cr_assert(skips(TG_I16, TG_F32, TG_F64));
    cr_assert(skips(TG_I32, TG_F64, TG_F32));
    cr_assert(skips(TG_I8, TG_F32, TG_I16));
    cr_assert(skips(TG_F32, TG_F64, TG_I16));
    cr_assert(skips(TG_BOOL, TG_F32, TG_BOOL));
    cr_assert(skips(TG_BOOL, TG_I8, TG_F64));
    check_nothing_is_alive();
}

Test(pass_simplify, chains_of_casts_that_lose_something_stay)
{
    cr_assert_not(skips(TG_F64, TG_F32, TG_F64));
    cr_assert_not(skips(TG_I32, TG_F32, TG_I32));
    cr_assert_not(skips(TG_I32, TG_I8, TG_I32));
    cr_assert_not(skips(TG_I8, TG_U16, TG_I32), "the sign is lost");
    cr_assert_not(skips(TG_I32, TG_F64, TG_I8), "saturates, does not wrap");
    cr_assert_not(skips(TG_F32, TG_I32, TG_F32));
    cr_assert_not(skips(TG_I32, TG_BOOL, TG_I32));
    cr_assert_not(skips(TG_U64, TG_F64, TG_U64));
    check_nothing_is_alive();
}

Test(pass_simplify, all_chains_of_casts_keep_their_bits)
{
    for (size_t a = 0; a < N_OF(all_types); a++)
        for (size_t b = 0; b < N_OF(all_types); b++)
            for (size_t to = 0; to < N_OF(all_types); to++)
                skips(all_types[a], all_types[b], all_types[to]);
    check_nothing_is_alive();
}

/* -- Equal operands -------------------------------------------------------- */

static void check_same(tgi_op op, unsigned classes, int wanted)
{
    for (size_t i = 0; i < N_OF(all_types); i++)
        if (tgi_dtype_is(all_types[i], classes)) {
            begin(all_types[i]);
            verdict v = simplify(apply_n(g, op, INPUTS(x, x)));
            cr_assert_eq(v.op, wanted, "%s of %s became %s",
                         tgi_op_table[op].name, tg_dtype_name(all_types[i]),
                         tgi_op_table[v.op].name);
        }
    check_nothing_is_alive();
}

#define SAME(op, types, wanted) \
    check_same(TGI_OP_##op, TYPES(types), TGI_OP_##wanted)

Test(pass_simplify, equal_operands)
{
    SAME(MIN, ANY, PARAM);
    SAME(MAX, ANY, PARAM);
    SAME(AND, BITS, PARAM);
    SAME(OR, BITS, PARAM);
    SAME(XOR, BITS, BROADCAST);
    SAME(SUB, INT, BROADCAST);
    SAME(EQ, BITS, BROADCAST);
    SAME(NE, BITS, BROADCAST);
    SAME(LE, BITS, BROADCAST);
    SAME(LT, ANY, BROADCAST);
}

Test(pass_simplify, equal_operands_may_be_nan)
{
    SAME(SUB, FLOAT, SUB);
    SAME(EQ, FLOAT, EQ);
    SAME(NE, FLOAT, NE);
    SAME(LE, FLOAT, LE);
    SAME(DIV, NUM, DIV);
}

Test(pass_simplify, operands_that_commute_are_put_in_order)
{
    begin(TG_F32);
    tgi_ref a = apply(g, ADD, x, y), b = apply(g, ADD, y, x);
    cr_assert_neq(a, b);
    verdict v = simplify(apply(g, MUL, a, b));
    cr_assert(v.op == TGI_OP_MUL && v.inputs[0] == v.inputs[1]);
    begin(TG_F32);
    a = apply(g, SUB, x, y), b = apply(g, SUB, y, x);
    v = simplify(apply(g, MUL, a, b));
    cr_assert(v.op == TGI_OP_MUL && v.inputs[0] != v.inputs[1]);
    check_nothing_is_alive();
}

/* -- Negated operands ------------------------------------------------------ */

Test(pass_simplify, adding_a_negative_is_subtracting)
{
    for (size_t i = 1; i < N_OF(all_types); i++) {
        begin(all_types[i]);
        verdict v = simplify(apply(g, ADD, apply(g, NEG, x), y));
        cr_assert(v.op == TGI_OP_SUB && v.inputs[0] == 2 && v.inputs[1] == 1);
        begin(all_types[i]);
        becomes(apply(g, SUB, x, apply(g, NEG, y)), ADD);
        begin(all_types[i]);
        becomes(apply(g, SUB, apply(g, NEG, x), y), SUB);
    }
}

/* -- Three operands -------------------------------------------------------- */

Test(pass_simplify, fma_with_one_is_a_sum)
{
    begin(TG_F32);
    becomes(apply(g, FMA, x, number_like(g, x, 1), y), ADD);
    begin(TG_F64);
    becomes(apply(g, FMA, number_like(g, x, 1), x, y), ADD);
    begin(TG_F64);
    becomes(apply(g, FMA, x, number_like(g, x, -1), y), FMA);
}

Test(pass_simplify, fma_with_nothing_to_add_is_a_product)
{
    begin(TG_F32);
    becomes(apply(g, FMA, x, y, number_like(g, x, -0.0)), MUL);
    begin(TG_F32); /* -0 + +0 would lose the sign */
    becomes(apply(g, FMA, x, y, number_like(g, x, 0.0)), FMA);
    begin(TG_F32);
    tgi_ref one = number_like(g, x, 1), zero = number_like(g, x, -0.0);
    is_param(apply(g, FMA, x, one, zero), 0);
}

Test(pass_simplify, select_of_a_known_condition)
{
    begin(TG_F32);
    is_param(apply(g, SELECT, number_like(g, c, 1), x, y), 0);
    begin(TG_F32);
    is_param(apply(g, SELECT, number_like(g, c, 0), x, y), 1);
    begin(TG_F32);
    becomes(apply(g, SELECT, c, x, y), SELECT);
}

Test(pass_simplify, select_between_equals)
{
    begin(TG_I8);
    is_param(apply(g, SELECT, c, y, y), 1);
}

Test(pass_simplify, select_by_a_negated_condition_swaps)
{
    begin(TG_F32);
    verdict v = simplify(apply(g, SELECT, apply(g, NOT, c), x, y));
    cr_assert(v.op == TGI_OP_SELECT && v.inputs[0] == 3 && v.inputs[1] == 2 &&
              v.inputs[2] == 1);
    check_nothing_is_alive();
}

Test(pass_simplify, select_of_true_and_false_is_the_condition)
{
    begin(TG_F32);
    tgi_ref yes = number_like(g, c, 1), no = number_like(g, c, 0);
    is_param(apply(g, SELECT, c, yes, no), 2);
    begin(TG_F32);
    yes = number_like(g, c, 1), no = number_like(g, c, 0);
    becomes(apply(g, SELECT, c, no, yes), SELECT);
    begin(TG_F32);
    yes = number_like(g, x, 1), no = number_like(g, x, 0);
    becomes(apply(g, SELECT, c, yes, no), SELECT);
}

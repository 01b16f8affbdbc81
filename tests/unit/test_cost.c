/* SPDX-License-Identifier: MIT */
/*
 * test_cost.c - the cost model: counts of recipes, uniform operands, widths,
 * and nodes of a graph.
 */
#include <criterion/criterion.h>

#include "recipe/cost_node.h"
#include "support/building.h"
#include "support/emit_eval.h"

static tgi_cost cost_of(int op, tg_dtype dtype)
{
    return tgi_cost_of_op(op, dtype, 0, TGI_COST_256);
}

static uint32_t count(int op, tg_dtype dtype)
{
    return cost_of(op, dtype).instructions;
}

static uint32_t time_of(int op, tg_dtype dtype)
{
    return cost_of(op, dtype).half_cycles;
}

Test(cost, one_primitive_is_one_instruction)
{
    static const int ops[] = {TGI_OP_ADD, TGI_OP_SUB, TGI_OP_MUL, TGI_OP_NEG,
                              TGI_OP_ABS, TGI_OP_FMA, TGI_OP_LT};
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
        cr_expect_eq(count(ops[i], TG_F32), 1, "%s", tgi_op_table[ops[i]].name);
        cr_expect_eq(time_of(ops[i], TG_F64), 1, "%s",
                     tgi_op_table[ops[i]].name);
    }
    cr_expect_eq(count(TGI_OP_STOP, TG_F32), 0);
    cr_expect_eq(count(TGI_OP_ADD, TG_I64), 1);
    cr_expect_eq(
        tgi_cost_of_step(TGI_OP_SUM, TG_F32, TGI_COST_256).instructions, 1);
    cr_expect_eq(
        tgi_cost_of_step(TGI_OP_MATMUL, TG_F32, TGI_COST_256).half_cycles, 1);
}

/* Primitives with operands that depend on an operand of the recipe. */
static uint32_t n_primitives(const recording *r)
{
    bool is_used[RECORDED_VALUES], varies[RECORDED_VALUES];
    uint32_t n = 0;
    recording_find_used(r, is_used);
    for (int i = 0; i < r->n; i++) {
        const recorded *value = &r->values[i];
        varies[i] = value->kind == RECORDED_OPERAND;
        if (value->kind != RECORDED_PRIMITIVE)
            continue;
        for (int k = 0; k < tgi_primitive_table[value->primitive].n_operands;
             k++)
            varies[i] |= varies[value->in[k]];
        n += is_used[i] && varies[i] &&
             value->primitive != TGI_PRIMITIVE_BITS_OF &&
             value->primitive != TGI_PRIMITIVE_FLOAT_OF &&
             value->primitive != TGI_PRIMITIVE_SIGN_BIT;
    }
    return n;
}

Test(cost, the_count_of_a_recipe_is_that_of_its_primitives)
{
    static const int ops[] = {TGI_OP_EXP,  TGI_OP_SOFTPLUS, TGI_OP_TANH,
                              TGI_OP_ERF,  TGI_OP_SIGMOID,  TGI_OP_ATAN,
                              TGI_OP_SIGN, TGI_OP_DIV};
    static recording r;
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
        cr_assert(recording_of_op(&r, ops[i], TG_F32), "%s", r.fault);
        const uint32_t n =
            tgi_cost_of_op(ops[i], TG_F32, 0, TGI_COST_512).instructions;
        cr_expect_eq(n, n_primitives(&r), "%s: %u", tgi_op_table[ops[i]].name,
                     n);
    }
}

Test(cost, scaling_by_a_power_of_2_is_one_instruction_of_avx_512_only)
{
    for (int dtype = TG_F32; dtype <= TG_F64; dtype++)
        cr_expect_eq(
            cost_of(TGI_OP_EXP, (tg_dtype)dtype).instructions,
            5 + tgi_cost_of_op(TGI_OP_EXP, (tg_dtype)dtype, 0, TGI_COST_512)
                    .instructions);
}

/* Rare code has a size, but takes no time. */
static bool has_rare_code(int op)
{
    static const int ops[] = {
        TGI_OP_SIN,       TGI_OP_COS,      TGI_OP_TAN,      TGI_OP_SIN_FAST,
        TGI_OP_COS_FAST,  TGI_OP_TAN_FAST, TGI_OP_LOG,      TGI_OP_LOG_FAST,
        TGI_OP_LOG2,      TGI_OP_LOG10,    TGI_OP_LOG2_FAST, TGI_OP_LOG10_FAST,
        TGI_OP_LOG1P,     TGI_OP_POW,      TGI_OP_RSQRT,    TGI_OP_CBRT,
        TGI_OP_ATAN2_FAST};
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
        if (ops[i] == op)
            return true;
    return false;
}

Test(cost, every_recipe_has_a_cost_and_keeps_it)
{
    for (int op = 1; op < TGI_OPS; op++)
        for (int dtype = 1; dtype < TGI_DTYPES; dtype++) {
            if (!tgi_op_is_elementwise(op) || tgi_op_table[op].cls == TGI_OPCLASS_CAST ||
                !tgi_dtype_is(dtype, tgi_op_table[op].types))
                continue;
            for (int width = 0; width < TGI_COST_WIDTHS; width++) {
                const tgi_cost_width w = (tgi_cost_width)width;
                const tgi_cost first =
                    tgi_cost_of_op(op, (tg_dtype)dtype, 0, w);
                const tgi_cost again =
                    tgi_cost_of_op(op, (tg_dtype)dtype, 0, w);
                cr_expect_eq(first.instructions, again.instructions);
                cr_expect_eq(first.half_cycles, again.half_cycles);
                /* Identities. */
                cr_expect(first.instructions > 0 || op == TGI_OP_STOP ||
                              (op == TGI_OP_ABS &&
                               tgi_dtype_is(dtype, TGI_CLASS_UINT)),
                          "%s %s", tgi_op_table[op].name,
                          tg_dtype_name((tg_dtype)dtype));
                if (!has_rare_code(op))
                    cr_expect_geq(first.half_cycles, first.instructions);
            }
        }
    cr_expect_eq(count(TGI_OP_EXP, TG_I32), 0, "there is no such recipe");
}

Test(cost, divisions_and_roots_take_longer_than_their_instruction)
{
    cr_expect_eq(count(TGI_OP_DIV, TG_F32), 1);
    cr_expect_gt(time_of(TGI_OP_DIV, TG_F32), TGI_COST_CHEAP);
    cr_expect_gt(time_of(TGI_OP_DIV, TG_F64), time_of(TGI_OP_DIV, TG_F32));
    cr_expect_gt(time_of(TGI_OP_SQRT, TG_F64), time_of(TGI_OP_SQRT, TG_F32));
    cr_expect_gt(time_of(TGI_OP_DIV, TG_I64), time_of(TGI_OP_DIV, TG_F64));
    cr_expect_leq(time_of(TGI_OP_MIN, TG_F32), TGI_COST_CHEAP);
    for (int op = TGI_OP_DIV; op <= TGI_OP_REM; op++)
        cr_expect_gt(time_of(op, TG_I32), time_of(TGI_OP_MUL, TG_I32));
    /* A vector of 512 bits needs the divider twice as long. */
    cr_expect_eq(
        tgi_cost_of_op(TGI_OP_DIV, TG_F32, 0, TGI_COST_512).half_cycles,
        2 * time_of(TGI_OP_DIV, TG_F32));
    cr_expect_eq(tgi_cost_width_of(128), TGI_COST_128);
    cr_expect_eq(tgi_cost_width_of(256), TGI_COST_256);
    cr_expect_eq(tgi_cost_width_of(512), TGI_COST_512);
}

Test(cost, uniform_operands_are_computed_before_the_loop)
{
    /* The range of the count is tested for every element, or once. */
    cr_expect_eq(count(TGI_OP_SHR, TG_I32), 5);
    cr_expect_eq(
        tgi_cost_of_op(TGI_OP_SHR, TG_I32, 2, TGI_COST_256).instructions, 1);
    cr_expect_eq(
        tgi_cost_of_op(TGI_OP_ADD, TG_F32, 2, TGI_COST_256).instructions, 1);
    cr_expect_eq(
        tgi_cost_of_op(TGI_OP_POW, TG_F32, 3, TGI_COST_256).instructions, 0);
    cr_expect_lt(
        tgi_cost_of_op(TGI_OP_POW, TG_F32, 2, TGI_COST_256).instructions,
        count(TGI_OP_POW, TG_F32));
}

Test(cost, casts_between_integers_of_one_width_are_free)
{
    cr_expect_eq(tgi_cost_of_cast(TGI_OP_CAST, TG_I32, TG_U32, TGI_COST_256).instructions,
                 0);
    cr_expect_eq(tgi_cost_of_cast(TGI_OP_CAST, TG_I32, TG_F32, TGI_COST_256).instructions,
                 1);
    cr_expect_gt(tgi_cost_of_cast(TGI_OP_CAST, TG_F64, TG_I64, TGI_COST_256).instructions,
                 tgi_cost_of_cast(TGI_OP_CAST, TG_F64, TG_I64, TGI_COST_512).instructions);
}

Test(cost, a_node_with_a_broadcast_scalar_has_a_uniform_operand)
{
    building w = building_begin();
    const tgi_graph *g = w.graph;
    const tgi_ref x = of_type(&w, TG_I32, 100), y = of_type(&w, TG_I32, 100);
    const tgi_ref n = param(w.graph, TG_I32, scalar_shape(w.graph));
    const tgi_ref all = tgi_build_broadcast(&w.b, n, 1, (const tgi_dim[]){100});
    const tgi_ref is_less = tgi_build_2(&w.b, TGI_OP_LT, x, y);
    const tgi_ref chosen = tgi_build_3(&w.b, TGI_OP_SELECT, is_less, x, y);
    const tgi_ref by_row = tgi_build_2(&w.b, TGI_OP_SHR, x, y);
    const tgi_ref by_number = tgi_build_2(&w.b, TGI_OP_SHR, x, all);
    cr_assert(by_row && by_number && chosen);
    cr_expect_eq(tgi_cost_of_node(g, by_row).instructions, 5);
    cr_expect_eq(tgi_cost_of_node(g, by_number).instructions, 1);
    cr_expect_eq(tgi_cost_of_node(g, chosen).instructions, 1);
    cr_expect_eq(tgi_cost_of_node(g, x).instructions, 0);
    building_end(&w);
}

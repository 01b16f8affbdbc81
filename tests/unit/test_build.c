/* SPDX-License-Identifier: MIT */
/*
 * test_build.c - builders of elementwise operations: contraction, dtypes of
 * plain numbers, and broadcasts.
 */
#include <math.h>

#include "support/api.h"
#include "support/building.h"

/* -- Contraction ----------------------------------------------------------- */

Test(build, a_product_plus_something_is_an_fma)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 3), y = f32_of(&w, 3), z = f32_of(&w, 3);
    tgi_ref product = tgi_build_2(&w.b, TGI_OP_MUL, x, y);
    check_node(&w, tgi_build_2(&w.b, TGI_OP_ADD, product, z), FMA, x, y, z);
    check_node(&w, tgi_build_2(&w.b, TGI_OP_ADD, z, product), FMA, x, y, z);
    building_end(&w);
}

Test(build, of_two_products_the_left_one_is_contracted)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 3), y = f32_of(&w, 3), z = f32_of(&w, 3);
    tgi_ref left = tgi_build_2(&w.b, TGI_OP_MUL, x, y);
    tgi_ref right = tgi_build_2(&w.b, TGI_OP_MUL, y, z);
    check_node(&w, tgi_build_2(&w.b, TGI_OP_ADD, left, right), FMA, x, y,
               right);
    check_node(&w, tgi_build_2(&w.b, TGI_OP_ADD, right, left), FMA, y, z,
               left);
    building_end(&w);
}

Test(build, a_difference_negates_its_subtrahend)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 3), y = f32_of(&w, 3), z = f32_of(&w, 3);
    tgi_ref product = tgi_build_2(&w.b, TGI_OP_MUL, x, y);
    tgi_ref minus_z = tgi_build_1(&w.b, TGI_OP_NEG, z);
    tgi_ref minus_x = tgi_build_1(&w.b, TGI_OP_NEG, x);
    check_node(&w, tgi_build_2(&w.b, TGI_OP_SUB, product, z), FMA, x, y,
               minus_z);
    check_node(&w, tgi_build_2(&w.b, TGI_OP_SUB, z, product), FMA, minus_x, y,
               z);
    tgi_ref other = tgi_build_2(&w.b, TGI_OP_MUL, y, z);
    tgi_ref minus_other = tgi_build_1(&w.b, TGI_OP_NEG, other);
    check_node(&w, tgi_build_2(&w.b, TGI_OP_SUB, product, other), FMA, x, y,
               minus_other);
    building_end(&w);
}

Test(build, other_uses_of_a_product_do_not_matter)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 3), y = f32_of(&w, 3), z = f32_of(&w, 3);
    tgi_ref product = tgi_build_2(&w.b, TGI_OP_MUL, x, y);
    tgi_ref used = tgi_build_1(&w.b, TGI_OP_EXP, product);
    check_node(&w, tgi_build_2(&w.b, TGI_OP_ADD, product, z), FMA, x, y, z);
    check_node(&w, tgi_build_2(&w.b, TGI_OP_ADD, product, used), FMA, x, y,
               used);
    check_node(&w, tgi_build_2(&w.b, TGI_OP_ADD, product, product), FMA, x, y,
               product);
    building_end(&w);
}

Test(build, broadcasts_between_do_not_hide_a_product)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 3), y = f32_scalar(&w), z = f32_of(&w, 2, 3);
    tgi_ref product = tgi_build_2(&w.b, TGI_OP_MUL, x, y);
    tgi_shape_ref wide = shape_of(w.graph, 2, 3);
    tgi_ref wide_x = broadcast(w.graph, x, wide);
    tgi_ref wide_y =
        broadcast(w.graph, broadcast(w.graph, y, shape_of(w.graph, 3)), wide);
    tgi_ref sum = tgi_build_2(&w.b, TGI_OP_ADD, z, product);
    check_node(&w, sum, FMA, wide_x, wide_y, z);

    /* The same with explicit broadcasts, even two. */
    tgi_ref spread = tgi_build_broadcast(&w.b, product, 2, (int64_t[]){1, 3});
    spread = tgi_build_broadcast(&w.b, spread, 2, (int64_t[]){2, 3});
    cr_assert_eq(tgi_build_2(&w.b, TGI_OP_ADD, spread, z), sum);

    /* And if the other operand is broadcast. */
    tgi_ref large = tgi_build_2(&w.b, TGI_OP_MUL, z, z);
    check_node(&w, tgi_build_2(&w.b, TGI_OP_ADD, large, x), FMA, z, z, wide_x);
    building_end(&w);
}

Test(build, contraction_looks_through_broadcasts_only)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 2, 2), z = f32_of(&w, 2, 2);
    tgi_ref product = tgi_build_2(&w.b, TGI_OP_MUL, x, x);
    tgi_ref others[] = {
        tgi_build_1(&w.b, TGI_OP_NEG, product),
        tgi_build_transpose(&w.b, product, 2, (int[]){1, 0}),
        tgi_build_reshape(
            &w.b, tgi_build_reshape(&w.b, product, 1, (int64_t[]){4}), 2,
            (int64_t[]){2, 2}),
        /* With unknown extents it could not be distinguished from these. */
        tgi_build_reshape(&w.b, product, 2, (int64_t[]){2, 2}),
        tgi_build_slice(&w.b, product, 0, 1, TG_END, -1),
        tgi_build_cast(&w.b, tgi_build_cast(&w.b, product, TG_F64), TG_F32),
    };
    for (size_t i = 0; i < N_OF(others); i++) {
        tgi_ref sum = tgi_build_2(&w.b, TGI_OP_ADD, others[i], z);
        cr_assert_eq(tgi_graph_node(w.graph, sum)->op, TGI_OP_ADD,
                     "case %zu is %s", i,
                     tgi_op_table[tgi_graph_node(w.graph, sum)->op].name);
    }
    building_end(&w);
}

Test(build, no_other_operation_contracts)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 3), y = f32_of(&w, 3);
    tgi_ref product = tgi_build_2(&w.b, TGI_OP_MUL, x, y);
    check_node(&w, tgi_build_2(&w.b, TGI_OP_MAX, product, y), MAX, product, y);
    check_node(&w, tgi_build_2(&w.b, TGI_OP_DIV, product, y), DIV, product, y);
    building_end(&w);
}

Test(build, integers_are_not_contracted)
{
    building w = building_begin();
    tgi_ref x = of_type(&w, TG_I32, 3), y = of_type(&w, TG_I32, 3);
    tgi_ref product = tgi_build_2(&w.b, TGI_OP_MUL, x, y);
    check_node(&w, tgi_build_2(&w.b, TGI_OP_ADD, product, y), ADD, product, y);
    check_node(&w, tgi_build_2(&w.b, TGI_OP_SUB, y, product), SUB, y, product);
    building_end(&w);
}

Test(build, contraction_can_be_disabled)
{
    building w = building_begin();
    w.b.no_contraction = true;
    tgi_ref x = f32_of(&w, 3), y = f32_of(&w, 3);
    tgi_ref product = tgi_build_2(&w.b, TGI_OP_MUL, x, x);
    check_node(&w, tgi_build_2(&w.b, TGI_OP_ADD, product, y), ADD, product, y);
    check_node(&w, tgi_build_2(&w.b, TGI_OP_SUB, product, y), SUB, product, y);
    building_end(&w);
}

Test(build, plain_numbers_take_part_in_contraction)
{
    building w = building_begin();
    tgi_ref x = f32_scalar(&w);
    tgi_ref product = tgi_build_2(&w.b, TGI_OP_MUL, x, weak_double(&w, 0.5));
    tgi_ref sum = tgi_build_2(&w.b, TGI_OP_ADD, product, weak_int(&w, 1));
    check_node(&w, sum, FMA, x, number(w.graph, TG_F32, 0.5),
               number(w.graph, TG_F32, 1));
    /* An operation on numbers only returns a number. */
    tgi_ref alone = tgi_build_2(
        &w.b, TGI_OP_ADD,
        tgi_build_2(&w.b, TGI_OP_MUL, weak_double(&w, 2), weak_double(&w, 3)),
        weak_double(&w, 4));
    cr_assert(tgi_graph_node(w.graph, alone)->flags & TGI_NODE_WEAK);
    check_type(&w, tgi_build_2(&w.b, TGI_OP_ADD, x, x), "f32[]");
    building_end(&w);
}

static void product_plus(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(tg_mul(in[0], in[1]), in[2]));
}

/* (1 + e)^2 - (1 + 2e) is e^2, and 0 if the product is rounded. */
static float one_rounding_or_two(bool no_contraction, tg_policy policy)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.no_contraction = no_contraction;
    tg_context *ctx = tg_context_create(&options);
    tg_function_options how = TG_FUNCTION_OPTIONS_INIT;
    how.policy = policy;
    tg_function *f = tg_function_create(ctx, product_plus, NULL, &how);
    tg_tensor *x = f32_vector(ctx, 1 + 0x1p-12f);
    tg_tensor *y = f32_vector(ctx, -1 - 0x1p-11f);
    tg_tensor *result = call_one(f, TG_ARGS(x, x, y));
    const float value = *(float *)tg_tensor_data(result);
    tg_tensor_release(result);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    tg_context_release(ctx);
    check_nothing_is_alive();
    return value;
}

Test(build, contraction_is_seen_in_the_bits)
{
    cr_expect_eq(one_rounding_or_two(false, TG_EXACT), 0x1p-24f);
    cr_expect_eq(one_rounding_or_two(false, TG_RELAXED), 0x1p-24f);
    cr_expect_eq(one_rounding_or_two(true, TG_EXACT), 0);
    cr_expect_eq(one_rounding_or_two(true, TG_RELAXED), 0);
}

/* -- Dtypes ---------------------------------------------------------------- */

Test(build, plain_numbers_take_the_type_of_the_other_operand)
{
    static const tg_dtype numbers[] = {TG_I8,  TG_I16, TG_I32, TG_I64, TG_U8,
                                       TG_U16, TG_U32, TG_U64, TG_F32, TG_F64};
    building w = building_begin();
    for (size_t i = 0; i < N_OF(numbers); i++) {
        tgi_ref x = param(w.graph, numbers[i], scalar_shape(w.graph));
        tgi_ref difference =
            tgi_build_2(&w.b, TGI_OP_SUB, x,
                        i % 2 ? weak_int(&w, 3) : weak_double(&w, 3));
        const tgi_node *node = tgi_graph_node(w.graph, difference);
        cr_assert_eq(node->dtype, numbers[i]);
        cr_assert_eq(node->inputs[0], x);
        const void *element = tgi_graph_constant(w.graph, node->inputs[1]);
        char three[8];
        cr_assert(tgi_dtype_store(
            numbers[i], (tgi_number){TGI_NUMBER_INT, {.i = 3}}, three));
        cr_assert_arr_eq(element, three, tg_dtype_bytes(numbers[i]));
    }
    tgi_ref truth = of_type(&w, TG_BOOL, 3);
    check_type(&w, tgi_build_2(&w.b, TGI_OP_AND, truth, weak_int(&w, 1)),
               "bool[3]");
    building_end(&w);
}

Test(build, a_number_that_does_not_fit_is_refused)
{
    building w = building_begin();
    tgi_ref i8 = of_type(&w, TG_I8, 3), u8 = of_type(&w, TG_U8, 3);
    tgi_ref f32 = f32_of(&w, 3), truth = of_type(&w, TG_BOOL, 3);
    check_refused(&w, tgi_build_2(&w.b, TGI_OP_ADD, i8, weak_int(&w, 128)),
                  TG_ERROR_DTYPE, "the number 128 is not representable in i8");
    check_refused(&w, tgi_build_2(&w.b, TGI_OP_ADD, i8, weak_double(&w, 1.5)),
                  TG_ERROR_DTYPE, "the number 1.5 is not representable in i8");
    check_refused(&w, tgi_build_2(&w.b, TGI_OP_ADD, weak_int(&w, -1), u8),
                  TG_ERROR_DTYPE, "the number -1 is not representable in u8");
    check_refused(&w, tgi_build_2(&w.b, TGI_OP_ADD, f32, weak_double(&w, 1e39)),
                  TG_ERROR_DTYPE,
                  "the number 1e+39 is not representable in f32");
    check_refused(&w, tgi_build_2(&w.b, TGI_OP_AND, truth, weak_int(&w, 2)),
                  TG_ERROR_DTYPE, "the number 2 is not representable in bool");
    check_type(&w, tgi_build_2(&w.b, TGI_OP_ADD, f32, weak_double(&w, 0.1)),
               "f32[3]"); /* rounding is fine */
    building_end(&w);
}

Test(build, plain_numbers_find_a_common_type)
{
    building w = building_begin();
    tgi_ref ints = tgi_build_2(&w.b, TGI_OP_ADD, weak_int(&w, 1),
                               weak_int(&w, 2));
    check_type(&w, ints, "i32[]");
    tgi_ref mixed = tgi_build_2(&w.b, TGI_OP_ADD, ints, weak_double(&w, 0.5));
    check_type(&w, mixed, "f64[]");
    tgi_ref large = tgi_build_number(&w.b, TG_DTYPE_NONE, TG_U64,
                                     (tgi_number){TGI_NUMBER_UINT, {.u = 7}});
    check_refused(&w, tgi_build_2(&w.b, TGI_OP_ADD, large, ints),
                  TG_ERROR_DTYPE,
                  "u64[] x i32[]: dtypes u64 and i32 differ; "
                  "convert one with tg_cast");
    /* The result is still weakly typed … */
    check_type(&w, tgi_build_2(&w.b, TGI_OP_MUL, mixed, f32_of(&w, 2)),
               "f32[2]");
    /* … but not that of a comparison or a typed scalar. */
    tgi_ref less = tgi_build_2(&w.b, TGI_OP_LT, ints, weak_int(&w, 9));
    check_type(&w, less, "bool[]");
    cr_assert_not(tgi_graph_node(w.graph, less)->flags & TGI_NODE_WEAK);
    tgi_ref typed = tgi_build_number(&w.b, TG_F64, TG_F64,
                                     (tgi_number){TGI_NUMBER_INT, {.i = 1}});
    check_refused(&w, tgi_build_2(&w.b, TGI_OP_ADD, f32_scalar(&w), typed),
                  TG_ERROR_DTYPE,
                  "f32[] x f64[]: dtypes f32 and f64 differ; "
                  "convert one with tg_cast");
    building_end(&w);
}

Test(build, numbers_given_at_the_call_adapt_too)
{
    building w = building_begin();
    tgi_ref f32 = f32_of(&w, 3), i32 = of_type(&w, TG_I32, 3);
    tgi_ref whole = tgi_graph_add_param(w.graph, TGI_OP_PARAM, TG_I32,
                                        scalar_shape(w.graph),
                                        TGI_NODE_NUMBER);
    tgi_ref real = tgi_graph_add_param(w.graph, TGI_OP_PARAM, TG_F64,
                                       scalar_shape(w.graph),
                                       TGI_NODE_NUMBER);
    check_node(&w, tgi_build_2(&w.b, TGI_OP_ADD, f32, whole), ADD, f32,
               broadcast(w.graph, cast(w.graph, whole, TG_F32),
                         shape_of(w.graph, 3)));
    check_type(&w, tgi_build_2(&w.b, TGI_OP_ADD, i32, whole), "i32[3]");
    cr_assert_eq(w.graph->number_checks.n, 0);
    /* Whether a number fits is checked at the call, once per dtype. */
    for (int i = 0; i < 2; i++)
        check_type(&w, tgi_build_2(&w.b, TGI_OP_ADD, i32, real), "i32[3]");
    cr_assert_eq(w.graph->number_checks.n, 1);
    cr_assert_eq(w.graph->number_checks.data[0].param, real);
    cr_assert_eq(w.graph->number_checks.data[0].dtype, TG_I32);
    check_type(&w, tgi_build_2(&w.b, TGI_OP_ADD, f32, real), "f32[3]");
    cr_assert_eq(w.graph->number_checks.n, 2);
    /* The range of a number computed from arguments is unknown. */
    check_refused(&w,
                  tgi_build_2(&w.b, TGI_OP_ADD, i32,
                              tgi_build_2(&w.b, TGI_OP_MUL, real, real)),
                  TG_ERROR_DTYPE,
                  "f64[]: a number computed from arguments is not converted "
                  "to i32 implicitly; use tg_cast");
    building_end(&w);
}

Test(build, element_types_that_differ_are_refused)
{
    building w = building_begin();
    tgi_ref f32 = f32_of(&w, 3), f64 = of_type(&w, TG_F64, 3);
    tgi_ref i32 = of_type(&w, TG_I32, 3), truth = of_type(&w, TG_BOOL, 3);
    check_refused(&w, tgi_build_2(&w.b, TGI_OP_ADD, f32, f64), TG_ERROR_DTYPE,
                  "f32[3] x f64[3]: dtypes f32 and f64 differ; "
                  "convert one with tg_cast");
    check_refused(&w, tgi_build_3(&w.b, TGI_OP_FMA, f32, f32, f64),
                  TG_ERROR_DTYPE,
                  "f32[3] x f32[3] x f64[3]: dtypes f32 and f64 differ; "
                  "convert one with tg_cast");
    check_refused(&w, tgi_build_3(&w.b, TGI_OP_SELECT, f32, f32, f32),
                  TG_ERROR_DTYPE,
                  "f32[3] x f32[3] x f32[3]: the condition is not bool");
    check_refused(&w, tgi_build_3(&w.b, TGI_OP_SELECT, truth, f32, i32),
                  TG_ERROR_DTYPE,
                  "f32[3] x i32[3]: dtypes f32 and i32 differ; "
                  "convert one with tg_cast");
    building_end(&w);
}

/* One message for each set of types in the op table. */
Test(build, a_type_that_an_operation_does_not_take_is_refused)
{
    building w = building_begin();
    tgi_ref f32 = f32_of(&w, 2), i32 = of_type(&w, TG_I32, 2);
    tgi_ref truth = of_type(&w, TG_BOOL, 2);
    check_refused(&w, tgi_build_1(&w.b, TGI_OP_EXP, i32), TG_ERROR_DTYPE,
                  "i32[2]: needs a float type");
    check_refused(&w, tgi_build_2(&w.b, TGI_OP_REM, f32, f32), TG_ERROR_DTYPE,
                  "f32[2] x f32[2]: needs an integer type");
    check_refused(&w, tgi_build_2(&w.b, TGI_OP_AND, f32, f32), TG_ERROR_DTYPE,
                  "f32[2] x f32[2]: needs bool or an integer type");
    check_refused(&w, tgi_build_2(&w.b, TGI_OP_ADD, truth, truth),
                  TG_ERROR_DTYPE, "bool[2] x bool[2]: needs a number type");
    for (int op = 1; op < TGI_OPS; op++) {
        if (!tgi_op_is_elementwise(op) || op == TGI_OP_SELECT ||
            tgi_op_table[op].cls == TGI_OPCLASS_CAST)
            continue;
        for (int dtype = 1; dtype < TGI_DTYPES; dtype++) {
            if (!tgi_dtype_is_valid(dtype))
                continue;
            const tgi_op_info *info = &tgi_op_table[op];
            tgi_ref x = of_type(&w, (tg_dtype)dtype, 2);
            tgi_ref built = tgi_build_elementwise(
                &w.b, op, (tgi_ref[]){x, x, x}, (size_t)info->arity);
            /* Halves are computed in f32. */
            const int computed =
                tgi_dtype_is(dtype, TGI_CLASS_HALF) ? TG_F32 : dtype;
            cr_expect_eq(built != 0, tgi_dtype_is(computed, info->types),
                         "%s of %s", info->name,
                         tg_dtype_name((tg_dtype)dtype));
        }
    }
    tg_error_clear();
    building_end(&w);
}

Test(build, casts_end_weakness_and_are_dropped_where_they_do_nothing)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 2);
    cr_assert_eq(tgi_build_cast(&w.b, x, TG_F32), x);
    tgi_ref typed = tgi_build_cast(&w.b, weak_double(&w, 1), TG_F64);
    cr_assert_not(tgi_graph_node(w.graph, typed)->flags & TGI_NODE_WEAK);
    check_refused(&w, tgi_build_2(&w.b, TGI_OP_ADD, x, typed), TG_ERROR_DTYPE,
                  "f32[2] x f64[]: dtypes f32 and f64 differ; "
                  "convert one with tg_cast");
    check_refused(&w, tgi_build_cast(&w.b, x, (tg_dtype)99), TG_ERROR_DTYPE,
                  "f32[2]: 99 is not an element type");
    building_end(&w);
}

/* -- Broadcasts ------------------------------------------------------------ */

Test(build, operands_are_broadcast_to_one_shape)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 4, 1), y = f32_of(&w, 2, 1, 3);
    tgi_ref sum = tgi_build_2(&w.b, TGI_OP_ADD, x, y);
    check_type(&w, sum, "f32[2,4,3]");
    tgi_shape_ref shape = shape_of(w.graph, 2, 4, 3);
    check_node(&w, sum, ADD, broadcast(w.graph, x, shape),
               broadcast(w.graph, y, shape));
    check_type(&w, tgi_build_2(&w.b, TGI_OP_ADD, x, f32_of(&w, 0, 1, 1)),
               "f32[0,4,1]");
    check_type(&w, tgi_build_2(&w.b, TGI_OP_ADD, f32_of(&w, 0), f32_of(&w, 1)),
               "f32[0]");
    check_refused(&w, tgi_build_2(&w.b, TGI_OP_ADD, f32_of(&w, 0), y),
                  TG_ERROR_SHAPE,
                  "f32[0] x f32[2,1,3]: shapes do not broadcast");
    check_refused(&w, tgi_build_2(&w.b, TGI_OP_ADD, f32_of(&w, 2), y),
                  TG_ERROR_SHAPE,
                  "f32[2] x f32[2,1,3]: shapes do not broadcast");
    building_end(&w);
}

Test(build, a_broadcast_to_a_too_large_shape_is_refused)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, INT64_C(1) << 40, 1);
    tgi_ref y = f32_of(&w, 1, INT64_C(1) << 40);
    check_refused(&w, tgi_build_2(&w.b, TGI_OP_ADD, x, y), TG_ERROR_OVERFLOW,
                  "the shape has too many elements");
    building_end(&w);
}

/* -- Failure --------------------------------------------------------------- */

Test(build, an_operand_that_failed_fails_silently)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 3);
    tg_error_clear();
    cr_expect_eq(tgi_build_2(&w.b, TGI_OP_ADD, x, 0), 0);
    cr_expect_eq(tgi_build_cast(&w.b, 0, TG_F32), 0);
    cr_expect_eq(tgi_build_reshape(&w.b, 0, 1, (int64_t[]){1}), 0);
    cr_expect_eq(tgi_build_broadcast(&w.b, 0, 1, (int64_t[]){1}), 0);
    cr_expect_eq(tgi_build_transpose(&w.b, 0, 0, NULL), 0);
    cr_expect_eq(tgi_build_slice(&w.b, 0, 0, 0, 1, 1), 0);
    cr_expect_eq(tgi_build_pad(&w.b, x, 0, 0, 1, 0), 0);
    cr_expect_eq(tgi_build_concat(&w.b, 0, (tgi_ref[]){x, 0}, 2), 0);
    cr_expect_eq(tgi_build_gather(&w.b, x, 0, 0, TG_GATHER_CHECK), 0);
    cr_expect_eq(tgi_build_reduce(&w.b, TGI_OP_SUM, 0, TG_ALL_AXES), 0);
    cr_expect_eq(tgi_build_mean(&w.b, 0, TG_ALL_AXES), 0);
    cr_expect_eq(tgi_build_arg_reduce(&w.b, TGI_OP_ARGMAX, 0, 0), 0);
    cr_expect_eq(tgi_build_matmul(&w.b, x, 0, 0), 0);
    tgi_ref key = param(w.graph, TG_U64, scalar_shape(w.graph));
    cr_expect_eq(tgi_build_random_bits(&w.b, TG_U32, 0, key, 0, NULL), 0);
    cr_expect_eq(tgi_build_random(&w.b, true, TG_F32, key, 0, 0, NULL), 0);
    cr_expect_eq(tg_error_last()->status, TG_OK, "%s", tg_error(NULL));
    building_end(&w);
}

static bool build_much(void)
{
    tgi_graph *graph = tgi_graph_create("test", NULL);
    if (!graph)
        return false;
    tgi_builder b = {.graph = graph, .site = {"user.c", 7}, .op_name = "op"};
    tgi_dim n = tgi_dim_symbol(graph->dims, (tgi_symbol){0, 0});
    tgi_shape_ref shape = n == TGI_DIM_NONE
                              ? 0
                              : tgi_shape_intern(graph->dims, 2,
                                                 (tgi_dim[]){n, 3});
    tgi_ref x = shape ? tgi_graph_add_param(graph, TGI_OP_PARAM, TG_F32,
                                            shape, 0)
                      : 0;
    tgi_ref half = tgi_build_number(&b, TG_DTYPE_NONE, TG_F64,
                                    (tgi_number){TGI_NUMBER_FLOAT, {.f = 0.5}});
    tgi_ref y = tgi_build_2(&b, TGI_OP_ADD, tgi_build_2(&b, TGI_OP_MUL, x,
                                                        half), x);
    y = tgi_build_mean(&b, y, tg_keep(TG_AXES(0)));
    y = tgi_build_2(&b, TGI_OP_SUB, x, y);
    y = tgi_build_slice(&b, y, 0, -2, TG_END, 1);
    y = tgi_build_concat(&b, 0, (tgi_ref[]){y, x}, 2);
    y = tgi_build_matmul(&b, y, x, TG_TRANSPOSE_B);
    y = tgi_build_reshape(&b, y, 1, (int64_t[]){-1});
    const bool good = y && tgi_graph_add_result(graph, y);
    tgi_graph_release(graph);
    return good;
}

Test(build, every_lack_of_memory_is_reported)
{
    check_every_fault(build_much);
}

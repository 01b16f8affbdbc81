/* SPDX-License-Identifier: MIT */
/*
 * test_semantics_results.c - promises 29 to 32: bundle types, result slots,
 * assignment, and arguments and options that do not fit. Each test runs
 * interpreted and compiled.
 */
#include "support/modes.h"

TG_DEFINE_BUNDLE(layer, weights, bias)
TG_DEFINE_BUNDLE(other, weights, bias)

/* -- 29: bundles ----------------------------------------------------------- */

static void use_layer(tg_trace *t, const tg_value *in, void *user)
{
    const layer *l = tg_bundle_argument(t, 1, &layer_type);
    (void)user;
    if (l)
        tg_return(t, tg_add(tg_mul(in[0], l->weights), l->bias));
}

static void check_bundle_types(session *s)
{
    layer l = {f32_scalar_variable(s->ctx, "w", 3),
               f32_scalar_variable(s->ctx, "b", 1)};
    tg_function *f = tg_function_create(s->ctx, use_layer, NULL, NULL);
    tg_function *g = tg_function_create(s->ctx, use_layer, NULL, NULL);
    float y = 0;
    check_works(tg_call(f, TG_ARGS(2.0f, tg_bundle_of(&layer_type, &l)),
                        TG_RESULTS(&y)));
    cr_assert_eq(y, 7);
    check_fails(tg_call(g, TG_ARGS(2.0f, tg_bundle_of(&other_type, &l)),
                        TG_RESULTS(&y)),
                TG_ERROR_INVALID_ARGUMENT, "bundle 'other'", "'layer'");
    check_fails(tg_call(g, TG_ARGS(2.0f, l.bias), TG_RESULTS(&y)),
                TG_ERROR_INVALID_ARGUMENT, "tg_bundle_argument");
    cr_assert_eq(y, 7);
    tg_bundle_release(&layer_type, &l);
    tg_function_release(f);
    tg_function_release(g);
}

Test(semantics, line_29_another_bundle_type_is_an_error_in_every_mode)
{
    in_modes(check_bundle_types);
}

/* -- 30: result slots ------------------------------------------------------ */

static void scale(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 2));
}

static void check_slots(session *s)
{
    tg_function *f = tg_function_create(s->ctx, scale, NULL, NULL);
    tg_tensor *batch = f32_vector(s->ctx, 1, 2), *last = f32_vector(s->ctx, 5);
    tg_tensor *y = NULL;
    /* NULL: a new tensor. */
    check_works(tg_call(f, TG_ARGS(batch), TG_RESULTS(&y)));
    tg_tensor *const first = y;
    /* One that fits: overwritten. */
    tg_tensor_f32(batch)[0] = 7;
    check_works(tg_call(f, TG_ARGS(batch), TG_RESULTS(&y)));
    cr_assert_eq(y, first);
    cr_assert_eq(tg_tensor_f32(y)[0], 14);
    /* One that does not: refused, or replaced if it is marked fresh. */
    check_fails(tg_call(f, TG_ARGS(last), TG_RESULTS(&y)), TG_ERROR_SHAPE,
                "result 0 is f32[1], but the output tensor is f32[2]");
    cr_assert_eq(y, first);
    check_works(tg_call(f, TG_ARGS(last), TG_RESULTS(TG_FRESH(&y))));
    /* Typed access. */
    cr_assert_null(tg_tensor_f64(y));
    check_record(TG_ERROR_DTYPE, "tg_tensor_f64: the tensor has dtype f32");
    check_f32(y, 10);
    tg_tensor_release(batch);
    tg_tensor_release(last);
    tg_function_release(f);
}

Test(semantics, line_30_slots_are_filled_overwritten_or_replaced)
{
    in_modes(check_slots);
}

/* -- 31: assignment -------------------------------------------------------- */

static void assign_argument(tg_trace *t, const tg_value *in, void *user)
{
    tg_assign((tg_variable *)user, in[0]);
    tg_return(t);
}

static void check_assignment(session *s)
{
    tg_variable *v =
        tg_variable_create(s->ctx, "v", TG_F32, TG_DIMS(2, 2), tg_zeros());
    tg_function *f = tg_function_create(s->ctx, assign_argument, v, NULL);
    tg_tensor *exact =
        tg_tensor_create(s->ctx, TG_F32, TG_DIMS(2, 2), tg_fill(3));
    tg_tensor *scalar =
        tg_tensor_create(s->ctx, TG_F32, TG_SCALAR, tg_fill(5));
    tg_tensor *wrong[] = {
        tg_tensor_create(s->ctx, TG_F32, TG_DIMS(2), tg_fill(9)),
        tg_tensor_create(s->ctx, TG_F32, TG_DIMS(1, 2), tg_fill(9)),
        tg_tensor_create(s->ctx, TG_F32, TG_DIMS(1), tg_fill(9)),
        tg_tensor_create(s->ctx, TG_F32, TG_DIMS(1, 1), tg_fill(9)),
        tg_tensor_create(s->ctx, TG_F32, TG_DIMS(1, 2, 2), tg_fill(9))};
    call_only(f, TG_ARGS(exact));
    check_variable(v, 3, 3, 3, 3);
    call_only(f, TG_ARGS(scalar));
    check_variable(v, 5, 5, 5, 5);
    call_only(f, TG_ARGS(7));
    check_variable(v, 7, 7, 7, 7);
    for (int i = 0; i < 5; i++) {
        check_fails(tg_call(f, TG_ARGS(wrong[i]), TG_RESULTS()),
                    TG_ERROR_SHAPE, "assign", "'v'");
        check_fails(tg_variable_assign(v, wrong[i]), TG_ERROR_SHAPE,
                    "tg_variable_assign", "'v'");
        check_variable(v, 7, 7, 7, 7);
        tg_tensor_release(wrong[i]);
    }
    check_works(tg_variable_assign(v, exact)); /* the host has the same rule */
    check_variable(v, 3, 3, 3, 3);
    check_works(tg_variable_assign(v, scalar));
    check_variable(v, 5, 5, 5, 5);
    tg_tensor_release(exact);
    tg_tensor_release(scalar);
    tg_function_release(f);
    tg_variable_release(v);
}

Test(semantics, line_31_assignments_take_the_exact_shape_or_a_scalar)
{
    in_modes(check_assignment);
}

/* -- 32: signatures and options -------------------------------------------- */

static void check_declared(session *s)
{
    tg_function *f = tg_function_create(
        s->ctx, scale, NULL, TG_SIGNATURE(TG_SPEC(TG_F32, TG_UNKNOWN)));
    tg_variable *v =
        tg_variable_create(s->ctx, "v", TG_F32, TG_DIMS(2), tg_fill(4));
    check_fails(tg_call(f, TG_ARGS(v), TG_RESULTS()), TG_ERROR_SIGNATURE,
                "argument 0", "tg_value_of");
    check_f32(call_one(f, TG_ARGS(tg_value_of(v))), 8, 8);
    tg_tensor *x = f32_vector(s->ctx, 1, 2, 3);
    check_f32(call_one(f, TG_ARGS(x)), 2, 4, 6);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(x);

    tg_function *g = tg_function_create(
        s->ctx, scale, NULL, TG_SIGNATURE(TG_SPEC_VARIABLE_OF(TG_F32, 2)));
    check_f32(call_one(g, TG_ARGS(v)), 8, 8);
    check_fails(tg_call(g, TG_ARGS(tg_value_of(v)), TG_RESULTS()),
                TG_ERROR_SIGNATURE, "argument 0");
    tg_function_release(g);
    g = tg_function_create(s->ctx, scale, NULL,
                           TG_SIGNATURE(TG_SPEC(TG_F32), TG_SPEC(TG_I32, 3)));
    check_fails(tg_call(g, TG_ARGS(1.0f), TG_RESULTS()), TG_ERROR_SIGNATURE,
                "argument 1 is missing");
    tg_function_release(g);
    tg_function_release(f);
    tg_variable_release(v);
}

Test(semantics, line_32_a_declared_tensor_given_a_variable_is_an_error)
{
    in_modes(check_declared);
}

static void check_options(session *s)
{
    const size_t alive = tg_live_objects();
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = (tg_policy)17;
    cr_assert_null(tg_function_create(s->ctx, scale, NULL, &options));
    check_record(TG_ERROR_INVALID_ARGUMENT, "policy");
    options = (tg_function_options){.struct_bytes = 3};
    cr_assert_null(tg_function_create(s->ctx, scale, NULL, &options));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_function_options");
    cr_assert_null(tg_function_create(
        s->ctx, scale, NULL, TG_SIGNATURE(TG_SPEC(TG_DTYPE_NONE, 1))));
    cr_assert_null(tg_function_create(
        s->ctx, scale, NULL, TG_SIGNATURE(TG_SPEC(TG_F32, INT64_MIN))));
    tg_context_options words = {.struct_bytes = sizeof words, .jit = "maybe"};
    cr_assert_null(tg_context_create(&words));
    check_record(TG_ERROR_INVALID_ARGUMENT, "maybe");
    words = (tg_context_options){.struct_bytes = sizeof words, .threads = -4};
    cr_assert_null(tg_context_create(&words));
    check_record(TG_ERROR_INVALID_ARGUMENT, "-4");
    cr_assert_eq(tg_live_objects(), alive, "nothing was created");
}

Test(semantics, line_32_impossible_options_create_nothing)
{
    in_modes(check_options);
}

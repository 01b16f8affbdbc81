/* SPDX-License-Identifier: MIT */
/*
 * test_semantics_tracing.c - promises 1 to 3: which calls share a trace: dtypes
 * and shapes, static values, and generalising. Test names contain the number of
 * the promise.
 */
#include <math.h>

#include "support/api.h"

/* Number of executions of the callbacks. */
static void twice(tg_trace *t, const tg_value *in, void *user)
{
    if (user)
        ++*(int *)user;
    tg_return(t, tg_mul(in[0], 2));
}

static void add_all(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], in[1]));
}

static tg_tensor *f32_zeros(tg_context *ctx, int64_t n)
{
    return tg_tensor_create(ctx, TG_F32, TG_DIMS(n), tg_zeros());
}

/* -- 1: dtypes and shapes -------------------------------------------------- */

Test(semantics, line_01_equal_specs_give_the_very_same_object)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);
    tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(3));
    tg_concrete *a = tg_function_concrete(f, &spec, 1);
    tg_concrete *b = tg_function_concrete(f, &spec, 1);
    cr_assert_not_null(a);
    cr_assert_eq(a, b);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_concrete_release(a);
    tg_concrete_release(b);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_01_calls_of_one_spec_run_the_callback_once)
{
    session s;
    session_begin(&s);
    int n_runs = 0;
    tg_function *f = tg_function_create(s.ctx, twice, &n_runs, NULL);
    for (int i = 0; i < 4; i++) {
        tg_tensor *x = f32_vector(s.ctx, i, i + 1);
        check_f32(call_one(f, TG_ARGS(x)), 2 * i, 2 * i + 2);
        tg_tensor_release(x);
    }
    tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(2));
    tg_concrete_release(tg_function_concrete(f, &spec, 1));
    cr_assert_eq(n_runs, 1);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_01_a_new_dtype_makes_a_new_trace)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = i32_vector(s.ctx, 1, 2);
    call_only(f, TG_ARGS(x));
    call_only(f, TG_ARGS(y));
    cr_assert_eq(tg_function_trace_count(f), 2);
    call_only(f, TG_ARGS(x));
    call_only(f, TG_ARGS(y));
    cr_assert_eq(tg_function_trace_count(f), 2);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_01_a_new_rank_makes_a_new_trace)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);
    tg_tensor *x[3] = {
        tg_tensor_create(s.ctx, TG_F32, TG_SCALAR, tg_zeros()),
        tg_tensor_create(s.ctx, TG_F32, TG_DIMS(4), tg_zeros()),
        tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, 2), tg_zeros()),
    };
    for (int i = 0; i < 6; i++)
        call_only(f, TG_ARGS(x[i % 3]));
    cr_assert_eq(tg_function_trace_count(f), 3);
    for (int i = 0; i < 3; i++)
        tg_tensor_release(x[i]);
    tg_function_release(f);
    session_end(&s);
}

/* -- 2: static arguments --------------------------------------------------- */

static void no_op(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)in, (void)user;
}

Test(semantics, line_02_one_and_one_point_zero_and_true_are_three)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, no_op, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        call_only(f, TG_ARGS(TG_STATIC(1)));
        call_only(f, TG_ARGS(TG_STATIC(1.0)));
        call_only(f, TG_ARGS(TG_STATIC((bool)true)));
        cr_assert_eq(tg_function_trace_count(f), 3);
    }
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_02_the_type_of_a_static_number_counts)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, no_op, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        call_only(f, TG_ARGS(TG_STATIC((int8_t)1)));
        call_only(f, TG_ARGS(TG_STATIC((int64_t)1)));
        call_only(f, TG_ARGS(TG_STATIC((uint32_t)1)));
        call_only(f, TG_ARGS(TG_STATIC(1.0f)));
        call_only(f, TG_ARGS(TG_STATIC(1.0)));
        cr_assert_eq(tg_function_trace_count(f), 5);
    }
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_02_static_values_are_compared_by_bits)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, no_op, NULL, NULL);
    const double values[] = {0.0, -0.0, 1.5, (double)NAN, -1.5};
    for (int i = 0; i < 10; i++)
        call_only(f, TG_ARGS(TG_STATIC(values[i % 5])));
    cr_assert_eq(tg_function_trace_count(f), 5);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_02_static_strings_are_compared_by_text)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, no_op, NULL, NULL);
    char relu[] = "relu", relu_again[] = "relu", tanh_name[] = "tanh";
    call_only(f, TG_ARGS(TG_STATIC(relu)));
    call_only(f, TG_ARGS(TG_STATIC(relu_again)));
    cr_assert_eq(tg_function_trace_count(f), 1);
    call_only(f, TG_ARGS(TG_STATIC(tanh_name)));
    call_only(f, TG_ARGS(TG_STATIC("")));
    cr_assert_eq(tg_function_trace_count(f), 3);
    relu[0] = 'R'; /* the key is a copy */
    call_only(f, TG_ARGS(TG_STATIC(relu_again)));
    cr_assert_eq(tg_function_trace_count(f), 3);
    tg_function_release(f);
    session_end(&s);
}

typedef struct seen_statics {
    int64_t i;
    double f;
    char string[16];
    int64_t flag;
} seen_statics;

static void look_at_statics(tg_trace *t, const tg_value *in, void *user)
{
    seen_statics *seen = user;
    seen->i = tg_static_int(t, 1);
    seen->f = tg_static_float(t, 2);
    snprintf(seen->string, sizeof seen->string, "%s", tg_static_string(t, 3));
    seen->flag = tg_static_int(t, 4);
    cr_assert_not(tg_is_valid(in[3])); /* a string is not a value */
    tg_return(t, tg_add(tg_mul(in[0], in[1]), in[2]));
}

Test(semantics, line_02_the_callback_sees_static_values)
{
    session s;
    session_begin(&s);
    seen_statics seen = {0};
    tg_function *f = tg_function_create(s.ctx, look_at_statics, &seen, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(x, TG_STATIC(3), TG_STATIC(0.5),
                                  TG_STATIC("name"), TG_STATIC((bool)1))),
              3.5f, 6.5f);
    cr_assert_eq(seen.i, 3);
    cr_assert_eq(seen.f, 0.5);
    cr_assert_str_eq(seen.string, "name");
    cr_assert_eq(seen.flag, 1);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_02_plain_numbers_never_retrace_by_value)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, add_all, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(x, 1)), 2, 3);
    check_f32(call_one(f, TG_ARGS(x, 10)), 11, 12);
    check_f32(call_one(f, TG_ARGS(x, -4)), -3, -2);
    cr_assert_eq(tg_function_trace_count(f), 1);
    check_f32(call_one(f, TG_ARGS(x, 0.5)), 1.5f, 2.5f); /* another dtype */
    check_f32(call_one(f, TG_ARGS(x, 0.25)), 1.25f, 2.25f);
    cr_assert_eq(tg_function_trace_count(f), 2);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_02_scalar_tensors_never_retrace_by_value)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, add_all, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    for (int i = 0; i < 5; i++) {
        tg_tensor *n =
            tg_tensor_copy(s.ctx, &(float){(float)i}, TG_F32, TG_SCALAR);
        check_f32(call_one(f, TG_ARGS(x, n)), 1 + i, 2 + i);
        tg_tensor_release(n);
    }
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

/* -- 3: generalising and declared signatures ------------------------------- */

static void sum_of(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(in[0], TG_ALL_AXES));
}

/* Calls it with n f32 ones; the sum must be n. */
static void check_sum_of_ones(tg_context *ctx, tg_function *f, int n)
{
    float ones[16];
    for (int i = 0; i < n; i++)
        ones[i] = 1;
    tg_tensor *x = tg_tensor_copy(ctx, ones, TG_F32, TG_DIMS(n));
    check_f32(call_one(f, TG_ARGS(x)), (float)n);
    tg_tensor_release(x);
}

Test(semantics, line_03_generalising_makes_two_traces_for_four_lengths)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, sum_of, NULL, NULL);
    const int lengths[] = {3, 5, 7, 9};
    for (int i = 0; i < 4; i++)
        check_sum_of_ones(s.ctx, f, lengths[i]);
    cr_assert_eq(tg_function_trace_count(f), 2);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_03_policies_can_be_forced)
{
    session s;
    session_begin(&s);
    const struct {
        tg_policy policy;
        size_t n_traces;
    } rows[] = {{TG_EXACT, 4}, {TG_RELAXED, 1}, {TG_GENERALISE, 2}};
    for (int row = 0; row < 3; row++) {
        tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
        options.policy = rows[row].policy;
        tg_function *f = tg_function_create(s.ctx, sum_of, NULL, &options);
        for (int n = 3; n <= 9; n += 2)
            check_sum_of_ones(s.ctx, f, n);
        cr_assert_eq(tg_function_trace_count(f), rows[row].n_traces);
        tg_function_release(f);
    }
    session_end(&s);
}

Test(semantics, line_03_a_signature_with_unknown_dims_serves_all_sizes)
{
    session s;
    session_begin(&s);
    const tg_spec signature[] = {tg_spec_tensor(TG_F32, TG_DIMS(TG_UNKNOWN))};
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.signature = signature;
    options.n_signature = 1;
    tg_function *f = tg_function_create(s.ctx, sum_of, NULL, &options);
    for (int n = 0; n <= 9; n++)
        check_sum_of_ones(s.ctx, f, n);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_03_a_call_off_the_signature_names_argument_and_specs)
{
    session s;
    session_begin(&s);
    const tg_spec signature[] = {
        tg_spec_tensor(TG_F32, TG_DIMS(TG_UNKNOWN)),
        tg_spec_tensor(TG_F32, TG_DIMS(TG_UNKNOWN, 3)),
    };
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.signature = signature;
    options.n_signature = 2;
    tg_function *f = tg_function_create(s.ctx, add_all, NULL, &options);
    tg_tensor *x = f32_zeros(s.ctx, 3), *i = i32_vector(s.ctx, 1, 2, 3);
    tg_tensor *y = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, 3), tg_zeros());
    tg_tensor *z = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, 4), tg_zeros());
    call_only(f, TG_ARGS(x, y));

    const int line = __LINE__ + 1;
    check_fails(tg_call(f, TG_ARGS(x, z), TG_RESULTS()), TG_ERROR_SIGNATURE,
                "add_all", "argument 1", "f32[?1,3]", "f32[2,4]");
    cr_assert_eq(tg_error_last()->line, line);
    cr_assert_str_eq(tg_error_last()->file, __FILE__);
    check_fails(tg_call(f, TG_ARGS(i, y), TG_RESULTS()), TG_ERROR_SIGNATURE,
                "argument 0", "f32[?0]", "i32[3]");
    check_fails(tg_call(f, TG_ARGS(x, x), TG_RESULTS()), TG_ERROR_SIGNATURE,
                "argument 1", "f32[?1,3]", "f32[3]");
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS()), TG_ERROR_SIGNATURE, "2",
                "1");
    check_fails(tg_call(f, TG_ARGS(x, TG_STATIC(1)), TG_RESULTS()),
                TG_ERROR_SIGNATURE, "argument 1", "static");
    call_only(f, TG_ARGS(x, y));
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(x);
    tg_tensor_release(i);
    tg_tensor_release(y);
    tg_tensor_release(z);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_03_numbers_take_the_dtype_of_the_signature)
{
    session s;
    session_begin(&s);
    const tg_spec signature[] = {tg_spec_tensor(TG_F32, TG_DIMS(2)),
                                 tg_spec_tensor(TG_F32, TG_SCALAR)};
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.signature = signature;
    options.n_signature = 2;
    tg_function *f = tg_function_create(s.ctx, add_all, NULL, &options);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(x, 1)), 2, 3);
    check_f32(call_one(f, TG_ARGS(x, 0.5)), 1.5f, 2.5f);
    check_f32(call_one(f, TG_ARGS(x, (int64_t)4)), 5, 6);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_03_dims_with_one_name_must_be_equal)
{
    session s;
    session_begin(&s);
    const tg_spec signature[] = {tg_spec_tensor(TG_F32, TG_DIMS(TG_SAME(1))),
                                 tg_spec_tensor(TG_F32, TG_DIMS(TG_SAME(1)))};
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.signature = signature;
    options.n_signature = 2;
    tg_function *f = tg_function_create(s.ctx, add_all, NULL, &options);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = f32_vector(s.ctx, 5);
    check_f32(call_one(f, TG_ARGS(x, x)), 2, 4);
    check_f32(call_one(f, TG_ARGS(y, y)), 10);
    check_fails(tg_call(f, TG_ARGS(x, y), TG_RESULTS()), TG_ERROR_SIGNATURE,
                "argument 1");
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
}

/* Records whether the extent of the argument was known to the trace. */
static void is_known(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_scalar(TG_F32, tg_dim_is_known(tg_value_dim(in[0], 0))));
}

Test(semantics, line_03_the_most_specific_trace_wins)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, is_known, NULL, NULL);
    tg_tensor *x3 = f32_zeros(s.ctx, 3), *x5 = f32_zeros(s.ctx, 5),
              *x7 = f32_zeros(s.ctx, 7);
    check_f32(call_one(f, TG_ARGS(x3)), 1);
    check_f32(call_one(f, TG_ARGS(x5)), 0);
    check_f32(call_one(f, TG_ARGS(x7)), 0);
    check_f32(call_one(f, TG_ARGS(x3)), 1);
    cr_assert_eq(tg_function_trace_count(f), 2);

    tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(7));
    tg_concrete *exact = tg_function_concrete(f, &spec, 1);
    cr_assert_not_null(exact, "%s", tg_error(NULL));
    check_f32(call_one(f, TG_ARGS(x7)), 1);
    check_f32(call_one(f, TG_ARGS(x5)), 0);
    cr_assert_eq(tg_function_trace_count(f), 3);
    tg_concrete_release(exact);
    tg_tensor_release(x3);
    tg_tensor_release(x5);
    tg_tensor_release(x7);
    tg_function_release(f);
    session_end(&s);
}

static void count_known(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const int n = tg_dim_is_known(tg_value_dim(in[0], 0)) +
                  tg_dim_is_known(tg_value_dim(in[0], 1));
    tg_return(t, tg_scalar(TG_F32, n));
}

Test(semantics, line_03_fewer_unknown_dims_are_more_specific)
{
    session s;
    session_begin(&s);
    const tg_spec specs[] = {
        tg_spec_tensor(TG_F32, TG_DIMS(TG_UNKNOWN, TG_UNKNOWN)),
        tg_spec_tensor(TG_F32, TG_DIMS(TG_UNKNOWN, 3))};
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, 3), tg_zeros());
    tg_tensor *y = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, 4), tg_zeros());
    for (int first = 0; first < 2; first++) { /* whichever is older */
        tg_function *f = tg_function_create(s.ctx, count_known, NULL, NULL);
        tg_concrete_release(tg_function_concrete(f, &specs[first], 1));
        tg_concrete_release(tg_function_concrete(f, &specs[1 - first], 1));
        check_f32(call_one(f, TG_ARGS(x)), 1);
        check_f32(call_one(f, TG_ARGS(y)), 0);
        cr_assert_eq(tg_function_trace_count(f), 2);
        tg_function_release(f);
    }
    tg_tensor_release(x);
    tg_tensor_release(y);
    session_end(&s);
}

Test(semantics, line_03_dims_that_change_together_stay_equal)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, add_all, NULL, NULL);
    tg_tensor *a = f32_vector(s.ctx, 1), *b = f32_vector(s.ctx, 1, 2, 3),
              *c = f32_vector(s.ctx, 1, 2, 3, 4, 5);
    check_f32(call_one(f, TG_ARGS(b, b)), 2, 4, 6);
    check_f32(call_one(f, TG_ARGS(c, c)), 2, 4, 6, 8, 10);
    check_f32(call_one(f, TG_ARGS(a, a)), 2);
    cr_assert_eq(tg_function_trace_count(f), 2);
    check_f32(call_one(f, TG_ARGS(b, a)), 2, 3, 4);
    check_f32(call_one(f, TG_ARGS(a, c)), 2, 3, 4, 5, 6);
    check_fails(tg_call(f, TG_ARGS(b, c), TG_RESULTS()), TG_ERROR_SHAPE,
                "add");
    tg_tensor_release(a);
    tg_tensor_release(b);
    tg_tensor_release(c);
    tg_function_release(f);
    session_end(&s);
}

static void needs_extents(tg_trace *t, const tg_value *in, void *user)
{
    ++*(int *)user;
    const int64_t n = tg_value_dim(in[0], 0);
    if (!tg_dim_is_known(n)) {
        tg_fail(t, "the extent is not known");
        return;
    }
    tg_return(t, tg_mul(in[0], (double)n));
}

Test(semantics, line_03_a_callback_that_needs_extents_gets_them)
{
    session s;
    session_begin(&s);
    int n_runs = 0;
    tg_function *f = tg_function_create(s.ctx, needs_extents, &n_runs, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1), *y = f32_vector(s.ctx, 1, 2),
              *z = f32_vector(s.ctx, 1, 2, 3);
    check_f32(call_one(f, TG_ARGS(x)), 1);
    check_f32(call_one(f, TG_ARGS(y)), 2, 4);
    cr_assert_eq(n_runs, 3); /* once without success */
    check_f32(call_one(f, TG_ARGS(z)), 3, 6, 9);
    cr_assert_eq(n_runs, 4); /* and not again */
    cr_assert_eq(tg_function_trace_count(f), 3);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(z);
    tg_function_release(f);
    session_end(&s);
}

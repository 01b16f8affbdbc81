/* SPDX-License-Identifier: MIT */
/*
 * test_result_slots.c - where results go: tensors, C numbers, TG_FRESH, NULL.
 */
#include "support/modes.h"

/* -- Numbers --------------------------------------------------------------- */

static void return_all(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = in[0];
    tg_return(t, tg_cast(x, TG_BOOL), tg_cast(x, TG_I8), tg_cast(x, TG_I16),
              tg_cast(x, TG_I32), tg_cast(x, TG_I64), tg_cast(x, TG_U8),
              tg_cast(x, TG_U16), tg_cast(x, TG_U32), tg_cast(x, TG_U64),
              tg_cast(x, TG_F32), tg_cast(x, TG_F64));
}

static void check_numbers(session *s)
{
    tg_function *f = tg_function_create(s->ctx, return_all, NULL, NULL);
    bool b = false;
    int8_t i8 = 0;
    int16_t i16 = 0;
    int32_t i32 = 0;
    int64_t i64 = 0;
    uint8_t u8 = 0;
    uint16_t u16 = 0;
    uint32_t u32 = 0;
    uint64_t u64 = 0;
    float f32 = 0;
    double f64 = 0;
    tg_tensor *x = tg_tensor_create(s->ctx, TG_F64, TG_DIMS(1, 1), tg_fill(3));
    /* One element has any rank. */
    const tg_operand args[] = {tg_in_tensor(x), tg_in_f64(3.0)};
    for (int i = 0; i < 2; i++) {
        b = false, i8 = 0, i16 = 0, i32 = 0, i64 = 0, u8 = 0, u16 = 0;
        u32 = 0, u64 = 0, f32 = 0, f64 = 0;
        check_works(tg_call(f, &args[i], (size_t)1,
                            TG_RESULTS(&b, &i8, &i16, &i32, &i64, &u8, &u16,
                                       &u32, &u64, &f32, &f64)));
        cr_assert(b && i8 == 3 && i16 == 3 && i32 == 3 && i64 == 3);
        cr_assert(u8 == 3 && u16 == 3 && u32 == 3 && u64 == 3);
        cr_assert(f32 == 3 && f64 == 3);
    }
    long long wide = 0;
    unsigned long long unsigned_wide = 0;
    char character = 0;
    check_works(tg_call(f, TG_ARGS(4.0),
                        TG_RESULTS(NULL, &character, NULL, NULL, &wide, NULL,
                                   NULL, NULL, &unsigned_wide)));
    cr_assert(character == 4 && wide == 4 && unsigned_wide == 4);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(results, a_number_receives_a_result_of_its_type)
{
    in_modes(check_numbers);
}

static void two_sums(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(in[0], TG_ALL_AXES), tg_mul(in[0], 2));
}

static void check_wrong_numbers(session *s)
{
    tg_function *f = tg_function_create(s->ctx, two_sums, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 2), *y = NULL;
    double d = 7;
    float sum = 7, element = 7;
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(&d, &y)), TG_ERROR_DTYPE,
                "two_sums: result 0 is f32[], but the output is a number of "
                "type f64",
                "test_result_slots.c:");
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(&sum, &element)),
                TG_ERROR_SHAPE, "result 1 is f32[2]", "number of type f32");
    cr_assert(d == 7 && sum == 7 && element == 7);
    cr_assert_null(y);
    /* One address for two numbers. */
    tg_tensor *one = f32_vector(s->ctx, 5);
    check_fails(tg_call(f, TG_ARGS(one), TG_RESULTS(&sum, &sum)),
                TG_ERROR_INVALID_ARGUMENT, "results 0 and 1 overlap");
    check_works(tg_call(f, TG_ARGS(one), TG_RESULTS(&sum, &element)));
    cr_assert(sum == 5 && element == 10);
    tg_tensor_release(one);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(results, a_number_of_another_type_or_for_many_elements_is_refused)
{
    in_modes(check_wrong_numbers);
}

static void check_null_numbers(session *s)
{
    tg_function *f = tg_function_create(s->ctx, two_sums, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 2), **none = NULL;
    float *no_number = NULL;
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(no_number, none)));
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(NULL, NULL, NULL)));
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(TG_FRESH(none))));
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(results, null_addresses_of_every_type_discard)
{
    in_modes(check_null_numbers);
}

/* -- Fresh tensors --------------------------------------------------------- */

static void check_fresh(session *s)
{
    tg_function *f = tg_function_create(s->ctx, two_sums, NULL, NULL);
    tg_tensor *y = NULL;
    const tg_tensor *before = NULL;
    for (int i = 0; i < 6; i++) {
        /* The short last batch has another shape. */
        tg_tensor *x =
            i == 5 ? f32_vector(s->ctx, 7) : f32_vector(s->ctx, 1, 2);
        check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(NULL, TG_FRESH(&y))));
        cr_assert_eq(tg_tensor_count(y), i == 5 ? 1 : 2);
        if (i > 0 && i < 5)
            cr_assert_eq(y, before, "a tensor that fits is overwritten");
        before = y;
        tg_tensor_release(x);
    }
    /* Another dtype. */
    check_works(tg_call(f, TG_ARGS(2), TG_RESULTS(NULL, TG_FRESH(&y))));
    cr_assert_eq(tg_tensor_dtype(y), TG_I32);
    /* Without TG_FRESH it is refused, and stays. */
    tg_tensor *x = f32_vector(s->ctx, 1, 2);
    before = y;
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(NULL, &y)), TG_ERROR_SHAPE,
                "result 1 is f32[2], but the output tensor is i32[]");
    cr_assert_eq(y, before);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
}

Test(results, a_fresh_slot_is_reused_or_replaced)
{
    in_modes(check_fresh);
}

/* A slot may hold the last reference to an argument of the call. */
static void check_fresh_argument(session *s)
{
    tg_function *f = tg_function_create(s->ctx, two_sums, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 2, 3);
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(TG_FRESH(&x))));
    check_f32(x, 6);
    tg_function_release(f);
}

Test(results, a_fresh_slot_may_hold_an_argument)
{
    in_modes(check_fresh_argument);
}

/* -- One slot for two results ---------------------------------------------- */

static void element_at(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(in[0], TG_ALL_AXES), tg_mul(in[0], 2),
              tg_gather(in[0], in[1], 0), tg_add(in[0], 1));
}

static void check_same_slot(session *s)
{
    tg_function *f = tg_function_create(s->ctx, two_sums, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1), *y = NULL;
    static const char message[] = "results 0 and 1 have the same slot";
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(&y, &y)),
                TG_ERROR_INVALID_ARGUMENT, message);
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(TG_FRESH(&y), &y)),
                TG_ERROR_INVALID_ARGUMENT, message);
    cr_assert_null(y);
    cr_assert_null(tg_bind(f, TG_ARGS(x), TG_RESULTS(&y, &y)));
    check_record(TG_ERROR_INVALID_ARGUMENT, message);
    cr_assert_null(y);
    /* One tensor in two slots. */
    tg_tensor *a = f32_vector(s->ctx, 9), *b = a;
    tg_function *g = tg_function_create(s->ctx, element_at, NULL, NULL);
    check_fails(tg_call(g, TG_ARGS(x, 0), TG_RESULTS(NULL, &a, NULL, &b)),
                TG_ERROR_INVALID_ARGUMENT, "results 1 and 3 overlap");
    tg_function_release(g);
    check_f32(a, 9);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(results, one_slot_cannot_take_two_results)
{
    in_modes(check_same_slot);
}

/* -- Failures -------------------------------------------------------------- */

static void check_failure(session *s)
{
    tg_function *f = tg_function_create(s->ctx, element_at, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 2), *doubled = f32_vector(s->ctx, 7);
    tg_tensor *const before = doubled;
    tg_tensor *new = NULL;
    float sum = 7, element = 7;
    check_fails(tg_call(f, TG_ARGS(x, 2),
                        TG_RESULTS(&sum, TG_FRESH(&doubled), &element, &new)),
                TG_ERROR_INDEX, "gather");
    cr_assert(sum == 7 && element == 7, "%g %g", (double)sum, (double)element);
    cr_assert_eq(doubled, before);
    cr_assert_null(new);
    check_works(tg_call(f, TG_ARGS(x, 1),
                        TG_RESULTS(&sum, TG_FRESH(&doubled), &element, &new)));
    cr_assert(sum == 3 && element == 2);
    check_f32(doubled, 2, 4);
    check_f32(new, 2, 3);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(results, a_failed_call_leaves_all_slots_alone)
{
    in_modes(check_failure);
}

/* -- Bound calls ----------------------------------------------------------- */

static void check_bound(session *s)
{
    tg_function *f = tg_function_create(s->ctx, two_sums, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 2), *y = f32_vector(s->ctx, 1);
    float sum = 0, other = 0;
    double wrong = 7;
    cr_assert_null(tg_bind(f, TG_ARGS(x), TG_RESULTS(&wrong)));
    check_record(TG_ERROR_DTYPE, "result 0 is f32[]");
    tg_bound *b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&sum, TG_FRESH(&y)));
    cr_assert_not_null(b, "%s", tg_error(NULL));
    cr_assert_eq(tg_tensor_count(y), 2);
    check_works(tg_run(b));
    cr_assert_eq(sum, 3);
    tg_tensor_f32(x)[0] = 10;
    check_works(tg_run(b));
    cr_assert_eq(sum, 12);
    check_works(tg_bound_set_result(b, 0, &other));
    check_works(tg_run(b));
    cr_assert(sum == 12 && other == 12);
    tg_bound_release(b);
    check_f32(y, 20, 4);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(results, bound_calls_fill_numbers_and_fresh_tensors)
{
    in_modes(check_bound);
}

/* -- Calls without arguments or results ------------------------------------ */

static void count_up(tg_trace *t, const tg_value *in, void *user)
{
    (void)in;
    cr_assert_eq(tg_argument_count(t), 0);
    cr_assert_eq(tg_argument_count(NULL), 0);
    tg_assign_add((tg_variable *)user, 1);
    tg_return(t);
}

static void check_nothing_passed(session *s)
{
    tg_variable *v = f32_scalar_variable(s->ctx, "v", 0);
    tg_function *f = tg_function_create(s->ctx, count_up, v, NULL);
    float x = 7;
    check_works(tg_call(f, TG_ARGS(), TG_RESULTS()));
    check_works(tg_call(f, TG_ARGS(), TG_RESULTS(NULL)));
    check_fails(tg_call(f, TG_ARGS(), TG_RESULTS(&x)),
                TG_ERROR_INVALID_ARGUMENT, "returns 0 results, but 1");
    check_variable(v, 2);
    cr_assert_eq(x, 7);
    tg_variable_release(v);
    tg_function_release(f);
}

Test(results, calls_may_pass_and_return_nothing)
{
    in_modes(check_nothing_passed);
}

static void sum_arguments(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value sum = in[0];
    for (size_t i = 1; i < tg_argument_count(t); i++)
        sum = tg_add(sum, in[i]);
    tg_return(t, sum);
}

static void check_argument_count(session *s)
{
    tg_function *f = tg_function_create(s->ctx, sum_arguments, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1);
    const tg_tensor *only_read = x;
    float y = 0;
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)));
    cr_assert_eq(y, 1);
    check_works(tg_call(f, TG_ARGS(only_read, 2, 3), TG_RESULTS(&y)));
    cr_assert_eq(y, 6);
    check_works(tg_call(f, TG_ARGS(x, only_read, x, 4), TG_RESULTS(&y)));
    cr_assert_eq(y, 7);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(results, callbacks_see_how_many_arguments_there_are)
{
    in_modes(check_argument_count);
}

/* SPDX-License-Identifier: MIT */
/*
 * test_call.c - calls: where results are stored, which are discarded, and that
 * a failed call changes nothing.
 */
#include "support/api.h"

static void three(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], 1), tg_mul(in[0], 2), tg_sum(in[0], TG_AXES(0)));
}

static void same(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, in[0]);
}

static void nothing(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)in, (void)user;
}

/* -- Results --------------------------------------------------------------- */

Test(call, new_results_belong_to_the_caller)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, three, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    tg_tensor *a = NULL, *b = NULL, *c = NULL;
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&a, &b, &c)));
    tg_tensor_release(x);
    tg_function_release(f);
    cr_assert_eq((uintptr_t)tg_tensor_data(a) % 64, 0);
    cr_assert_eq(tg_tensor_rank(c), 0);
    check_f32(a, 2, 3);
    check_f32(b, 2, 4);
    check_f32(c, 3);
    session_end(&s);
}

Test(call, results_that_fit_are_overwritten)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, three, NULL, NULL);
    float memory[4] = {0, 0, 0, 9};
    tg_tensor *mine = tg_tensor_wrap(s.ctx, memory + 1, TG_F32, TG_DIMS(2));
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *before = mine, *sum = NULL;
    for (int i = 0; i < 2; i++) {
        check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(NULL, &mine, &sum)));
        cr_assert_eq(mine, before);
    }
    cr_assert(memory[0] == 0 && memory[1] == 2 && memory[2] == 4 &&
              memory[3] == 9);
    check_f32(sum, 3);
    tg_tensor_release(mine);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

Test(call, results_may_be_discarded)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, three, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = NULL;
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS()));
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(NULL)));
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(NULL, NULL, NULL)));
    /* More results than exist may be requested if they are discarded. */
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(NULL, NULL, NULL, NULL)));
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(NULL, &y)));
    check_f32(y, 2, 4);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

Test(call, a_missing_result_is_an_error)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, nothing, NULL, NULL);
    tg_function *g = tg_function_create(s.ctx, same, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1), *y = NULL, *z = NULL;
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS()));
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)),
                TG_ERROR_INVALID_ARGUMENT,
                "nothing: returns 0 results, but 1 was requested");
    check_fails(tg_call(g, TG_ARGS(x), TG_RESULTS(&y, &z)),
                TG_ERROR_INVALID_ARGUMENT,
                "same: returns 1 result, but 2 were requested");
    cr_assert(!y && !z, "no result is stored");
    tg_tensor_release(x);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
}

Test(call, a_tensor_that_does_not_fit_its_result_is_refused)
{
    session s, other;
    session_begin(&s);
    session_begin(&other);
    tg_function *f = tg_function_create(s.ctx, three, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    tg_tensor *longer = f32_vector(s.ctx, 7, 7, 7), *first = NULL;
    tg_tensor *integers = i32_vector(s.ctx, 7, 7);
    tg_tensor *matrix =
        tg_tensor_create(s.ctx, TG_F32, TG_DIMS(1, 2), tg_zeros());
    tg_tensor *foreign = f32_vector(other.ctx, 1, 2);
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(&first, &longer)),
                TG_ERROR_SHAPE,
                "three: result 1 is f32[2], but the output tensor is f32[3]");
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(&first, &integers)),
                TG_ERROR_SHAPE, "but the output tensor is i32[2]");
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(&first, &matrix)),
                TG_ERROR_SHAPE, "but the output tensor is f32[1,2]");
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(&first, &foreign)),
                TG_ERROR_INVALID_ARGUMENT,
                "result 1: the tensor belongs to another context");
    cr_assert_null(first);
    check_f32(longer, 7, 7, 7);
    tg_tensor_release(integers);
    tg_tensor_release(matrix);
    tg_tensor_release(foreign);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_context_release(other.ctx);
    session_end(&s);
}

/* -- Overlap --------------------------------------------------------------- */

static void swap_two(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, in[1], in[0]);
}

/* Results are written when all are known. */
Test(call, arguments_may_be_results_at_once)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, swap_two, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = f32_vector(s.ctx, 3, 4);
    check_works(tg_call(f, TG_ARGS(x, y), TG_RESULTS(&x, &y)));
    check_f32(x, 3, 4);
    check_f32(y, 1, 2);
    tg_function_release(f);
    session_end(&s);
}

Test(call, tensors_of_no_elements_overlap_nothing)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, swap_two, NULL, NULL);
    float memory[2] = {1, 2};
    tg_tensor *none = tg_tensor_wrap(s.ctx, memory, TG_F32, TG_DIMS(0));
    tg_tensor *also = tg_tensor_wrap(s.ctx, memory, TG_F32, TG_DIMS(0));
    check_works(tg_call(f, TG_ARGS(none, also), TG_RESULTS(&none, &also)));
    tg_tensor_release(none);
    tg_tensor_release(also);
    tg_function_release(f);
    session_end(&s);
}

/* -- Numbers --------------------------------------------------------------- */

static void sum_of(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(tg_add(in[0], in[1]), tg_add(in[2], in[3])));
}

Test(call, plain_numbers_are_data_of_the_call)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, sum_of, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(x, 1, 2.5, -3.0f)), 1.5f, 2.5f);
    check_f32(call_one(f, TG_ARGS(x, 10, 0.5, 3.0f)), 14.5f, 15.5f);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

static void many(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_operand results[40];
    for (int i = 0; i < 40; i++)
        results[i] = tg_in_value(tg_add(in[i % 32], i));
    tg_return_at(t, results, 40, TG_HERE);
}

Test(call, many_arguments_and_results)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, many, NULL, NULL);
    tg_operand args[32];
    tg_tensor *results[40] = {NULL};
    tg_result places[40];
    for (int i = 0; i < 32; i++)
        args[i] = tg_in_tensor(f32_vector(s.ctx, 100.0f * (float)i));
    for (int i = 0; i < 40; i++)
        places[i] = TG_OUT(&results[i]);
    check_works(tg_call_at(f, args, 32, places, 40, TG_HERE));
    for (int i = 0; i < 40; i++)
        check_f32(results[i], (float)(100 * (i % 32) + i));
    for (int i = 0; i < 32; i++)
        tg_tensor_release(args[i].as.tensor);
    tg_function_release(f);
    session_end(&s);
}

/* -- Values of variables --------------------------------------------------- */

typedef struct values_test {
    tg_variable *v;
} values_test;

/* Assigns the captured variable whose value is also an argument. */
static void overwrite(tg_trace *t, const tg_value *in, void *user)
{
    const values_test *test = user;
    tg_assign(test->v, tg_mul(in[0], 10));
    tg_assign_add(test->v, 1);
    tg_return(t, in[0], in[1], test->v);
}

Test(call, a_value_passed_twice_and_assigned_inside_is_unchanged)
{
    session s;
    session_begin(&s);
    values_test test = {f32_scalar_variable(s.ctx, "v", 3)};
    tg_function *f = tg_function_create(s.ctx, overwrite, &test, NULL);
    for (int i = 0; i < 2; i++) {
        tg_tensor *a = NULL, *b = NULL, *c = NULL;
        check_works(tg_call(f, TG_ARGS(tg_value_of(test.v),
                                       tg_value_of(test.v)),
                            TG_RESULTS(&a, &b, &c)));
        check_f32(a, i ? 31 : 3);
        check_f32(b, i ? 31 : 3);
        check_f32(c, i ? 311 : 31);
    }
    tg_variable_release(test.v);
    tg_function_release(f);
    session_end(&s);
}

/* -- Failure --------------------------------------------------------------- */

static void index_of(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], 1), tg_gather(in[0], in[1], 0));
}

Test(call, a_failed_call_changes_no_result)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, index_of, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *at = i32_vector(s.ctx, 1);
    tg_tensor *sum = f32_vector(s.ctx, 7, 7), *element = NULL;
    ((int32_t *)tg_tensor_data(at))[0] = 2;
    check_fails(tg_call(f, TG_ARGS(x, at), TG_RESULTS(&sum, &element)),
                TG_ERROR_INDEX, "test_call.c:", "gather");
    cr_assert_null(element);
    cr_assert_eq(*(float *)tg_tensor_data(sum), 7);
    ((int32_t *)tg_tensor_data(at))[0] = 1;
    check_works(tg_call(f, TG_ARGS(x, at), TG_RESULTS(&sum, &element)));
    check_f32(sum, 2, 3);
    check_f32(element, 2);
    tg_tensor_release(x);
    tg_tensor_release(at);
    tg_function_release(f);
    session_end(&s);
}

static bool call_much(void)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_function *f = ctx ? tg_function_create(ctx, index_of, NULL, NULL) : NULL;
    tg_tensor *x = f ? f32_vector(ctx, 1, 2) : NULL;
    tg_variable *v =
        x ? tg_variable_create(ctx, "at", TG_I64, TG_DIMS(1), tg_zeros())
          : NULL;
    tg_tensor *a = NULL, *b = NULL;
    const bool good =
        v && tg_call(f, TG_ARGS(x, tg_value_of(v)), TG_RESULTS(&a, &b)) ==
                 TG_OK;
    cr_assert_eq(a != NULL, good);
    cr_assert_eq(b != NULL, good);
    tg_tensor_release(a);
    tg_tensor_release(b);
    tg_tensor_release(x);
    tg_variable_release(v);
    tg_function_release(f);
    tg_context_release(ctx);
    return good;
}

Test(call, every_lack_of_memory_is_reported)
{
    check_every_fault(call_much);
}

/* After an out-of-memory failure, the next call works. */
Test(call, a_call_that_lacked_memory_can_be_repeated)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, three, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    for (long nth = 0;; nth++) {
        tg_tensor *a = NULL, *b = NULL, *c = NULL;
        tg_function_clear(f);
        tgi_alloc_inject_failure(nth, false);
        const tg_status status =
            tg_call(f, TG_ARGS(x), TG_RESULTS(&a, &b, &c));
        const bool has_failed = tgi_alloc_inject_failure(-1, false) > nth;
        if (status) {
            cr_assert_eq(status, TG_ERROR_OUT_OF_MEMORY);
            check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&a, &b, &c)));
        }
        check_f32(a, 2, 3);
        check_f32(b, 2, 4);
        check_f32(c, 3);
        if (!has_failed)
            break;
    }
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

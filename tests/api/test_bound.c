/* SPDX-License-Identifier: MIT */
/*
 * test_bound.c - bound calls: buffers are resolved once and may be replaced,
 * every run overwrites the results, and the call retains all it uses.
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "support/api.h"

static void scale_add(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(tg_mul(in[0], in[1]), 1), in[0]);
}

static void increment(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_assign_add(in[0], in[1]));
}

/* -- Running --------------------------------------------------------------- */

Test(bound, results_exist_at_once_and_every_run_overwrites_them)
{
    session s;
    session_begin(&s);
    float data[] = {1, 2};
    tg_function *f = tg_function_create(s.ctx, scale_add, NULL, NULL);
    tg_tensor *x = tg_tensor_wrap(s.ctx, data, TG_F32, TG_DIMS(2)), *y = NULL;
    tg_bound *b = tg_bind(f, TG_ARGS(x, 10), TG_RESULTS(&y));
    cr_assert_not_null(b, "%s", tg_error(s.ctx));
    cr_assert_not_null(y);
    const float *result = tg_tensor_data(y);
    check_works(tg_run(b));
    cr_assert(result[0] == 11 && result[1] == 21);
    data[0] = 5;
    check_works(tg_run(b));
    cr_assert(result[0] == 51 && result[1] == 21);
    tg_bound_release(b);
    cr_assert_eq(result[0], 51, "the result is the caller's own");
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
}

Test(bound, running_takes_no_memory)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, scale_add, NULL, NULL);
    tg_function *g = tg_function_create(s.ctx, increment, NULL, NULL);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 0);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = NULL;
    tg_bound *b = tg_bind(f, TG_ARGS(x, 2), TG_RESULTS(&y));
    tg_bound *c = tg_bind(g, TG_ARGS(v, 1), TG_RESULTS());
    cr_assert(b && c);
    tgi_alloc_inject_failure(0, true);
    for (int i = 0; i < 3; i++) {
        check_works(tg_run(b));
        check_works(tg_run(c));
    }
    cr_assert_eq(tgi_alloc_inject_failure(-1, false), 0);
    check_f32(y, 3, 5);
    check_variable(v, 3);
    tg_bound_release(b);
    tg_bound_release(c);
    tg_tensor_release(x);
    tg_variable_release(v);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
}

/* A matrix product in the middle, so that a value must be stored. */
static void twice_product(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul(tg_matmul(in[0], in[0]), in[0]));
}

Test(bound, it_reports_the_memory_of_a_run)
{
    const char *const modes[] = {"off", "auto"};
    const uint64_t stored = 32 * 32 * sizeof(float);
    for (int i = 0; i < 2; i++) {
        session s;
        session_begin_with(&s, (tg_context_options){.jit = modes[i]});
        tg_function *f = tg_function_create(s.ctx, twice_product, NULL, NULL);
        tg_tensor *x =
            tg_tensor_create(s.ctx, TG_F32, TG_DIMS(32, 32), tg_zeros());
        tg_tensor *y = NULL;
        tg_bound *b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&y));
        cr_assert_not_null(b, "%s", tg_error(s.ctx));
        uint64_t least = 1;
        const uint64_t bytes = tg_bound_bytes(b, &least);
        cr_assert_eq(tg_bound_bytes(b, NULL), bytes);
        cr_assert_geq(bytes, stored);
        cr_assert(least == 0 || (least >= stored && least <= bytes),
                  "%" PRIu64 " of %" PRIu64, least, bytes);
        cr_assert(i || least == 0, "interpreted");
        tg_bound_release(b);
        tg_tensor_release(y);
        tg_tensor_release(x);
        tg_function_release(f);
        session_end(&s);
    }
    uint64_t least = 1;
    cr_assert_eq(tg_bound_bytes(NULL, &least), 0);
    cr_assert_eq(least, 0);
}

/* Sums over rows and over columns, which no kernel computes both. */
static void sums_of_doubled(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value doubled = tg_shl(in[0], 1);
    tg_return(t, tg_sum(doubled, TG_AXES(0)), tg_sum(doubled, TG_AXES(1)));
}

static void sums_of_logarithms(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value logs = tg_log(tg_cast(in[0], TG_F32));
    tg_return(t, tg_sum(logs, TG_AXES(0)), tg_sum(logs, TG_AXES(1)));
}

static uint64_t bytes_of_sums(tg_callback *callback, uint64_t *out_least)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "auto", .threads = 1});
    tg_function *f = tg_function_create(s.ctx, callback, NULL, NULL);
    tg_tensor *x =
        tg_tensor_create(s.ctx, TG_I32, TG_DIMS(300, 500), tg_fill(1));
    tg_tensor *columns = NULL, *rows = NULL;
    tg_bound *b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&columns, &rows));
    cr_assert_not_null(b, "%s", tg_error(s.ctx));
    cr_assert(!tg_run(b), "%s", tg_error(s.ctx));
    const uint64_t bytes = tg_bound_bytes(b, out_least);
    tg_bound_release(b);
    tg_tensor_release(rows);
    tg_tensor_release(columns);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
    return bytes;
}

/* An operand of two kernels is stored only if it is not cheap to compute. */
Test(bound, cheap_operands_of_several_kernels_are_not_stored)
{
    const uint64_t matrix = 300 * 500 * sizeof(int32_t);
    uint64_t least;
    cr_assert_geq(bytes_of_sums(sums_of_logarithms, &least), matrix);
    if (least == 0)
        cr_skip_test("interpreted");
    cr_assert_lt(bytes_of_sums(sums_of_doubled, &least), matrix);
    cr_assert_eq(least, 0);
}

Test(bound, it_keeps_all_that_it_uses)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_function *f = tg_function_create(ctx, scale_add, NULL, NULL);
    tg_variable *v =
        tg_variable_create(ctx, "v", TG_F32, TG_DIMS(2), tg_fill(3));
    tg_tensor *x = f32_vector(ctx, 1, 2), *y = NULL, *z = NULL;
    tg_bound *b =
        tg_bind(f, TG_ARGS(x, tg_value_of(v)), TG_RESULTS(&y, &z));
    cr_assert_not_null(b);
    tg_function_release(f);
    tg_variable_release(v);
    tg_tensor_release(x);
    tg_tensor_release(z);
    tg_context_release(ctx);
    check_works(tg_run(b));
    check_works(tg_run(b));
    tg_bound_release(b);
    check_f32(y, 4, 7);
    check_nothing_is_alive();
}

Test(bound, two_of_one_function_do_not_meet)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, scale_add, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = NULL, *z = NULL;
    tg_bound *a = tg_bind(f, TG_ARGS(x, 2), TG_RESULTS(&y));
    tg_bound *b = tg_bind(f, TG_ARGS(x, 3), TG_RESULTS(&z));
    check_works(tg_run(a));
    check_works(tg_run(b));
    check_works(tg_run(a));
    check_f32(y, 3, 5);
    check_f32(z, 4, 7);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_bound_release(a);
    tg_bound_release(b);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

/* -- Variables ------------------------------------------------------------- */

Test(bound, variables_are_live)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, increment, NULL, NULL);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 1);
    tg_tensor *now = NULL;
    tg_bound *b = tg_bind(f, TG_ARGS(v, 2), TG_RESULTS(&now));
    check_variable(v, 1); /* binding does not run */
    check_works(tg_run(b));
    set_variable(v, 100);
    const uint64_t version = tg_variable_version(v);
    check_works(tg_run(b));
    cr_assert_gt(tg_variable_version(v), version);
    check_variable(v, 102);
    cr_assert_not_null(tg_variable_map(v, TG_READ));
    check_fails(tg_run(b), TG_ERROR_BUSY, "increment: ");
    check_works(tg_variable_unmap(v));
    check_f32(now, 102);
    tg_bound_release(b);
    tg_variable_release(v);
    tg_function_release(f);
    session_end(&s);
}

static void overwrite(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_assign(in[0], -1);
    tg_return(t, tg_assign(in[0], tg_mul(in[1], 2)), in[1]);
}

/* A value argument is the contents before each run, even if it is used after
   the variable was written. */
Test(bound, the_value_of_a_variable_that_the_call_writes)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, overwrite, NULL, NULL);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 1);
    tg_tensor *now = NULL, *before = NULL;
    tg_bound *b =
        tg_bind(f, TG_ARGS(v, tg_value_of(v)), TG_RESULTS(&now, &before));
    cr_assert_not_null(b, "%s", tg_error(s.ctx));
    for (int i = 0; i < 4; i++)
        check_works(tg_run(b)); /* doubles it */
    check_variable(v, 16);
    check_f32(now, 16);
    check_f32(before, 8);
    tg_bound_release(b);
    tg_variable_release(v);
    tg_function_release(f);
    session_end(&s);
}

/* -- Swapping -------------------------------------------------------------- */

Test(bound, buffers_of_arguments_can_be_swapped)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, scale_add, NULL, NULL);
    float one[] = {1, 2}, other[] = {3, 4};
    double factor = 100;
    tg_tensor *x = tg_tensor_wrap(s.ctx, one, TG_F32, TG_DIMS(2)), *y = NULL;
    tg_bound *b = tg_bind(f, TG_ARGS(x, 2.0), TG_RESULTS(&y));
    const float *result = tg_tensor_data(y);
    check_works(tg_bound_set(b, 0, other));
    check_works(tg_run(b));
    cr_assert(result[0] == 7 && result[1] == 9);
    check_works(tg_bound_set(b, 1, &factor)); /* a number has memory too */
    check_works(tg_run(b));
    cr_assert(result[0] == 301 && result[1] == 401);
    factor = 0;
    check_works(tg_bound_set(b, 0, one));
    check_works(tg_run(b));
    cr_assert(result[0] == 1 && result[1] == 1);
    tg_bound_release(b);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
}

Test(bound, buffers_of_results_can_be_swapped)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, scale_add, NULL, NULL);
    float elsewhere[] = {0, 0}, again[] = {0, 0};
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = NULL;
    tg_bound *b = tg_bind(f, TG_ARGS(x, 2), TG_RESULTS(&y));
    check_works(tg_run(b));
    check_works(tg_bound_set_result(b, 0, elsewhere));
    check_works(tg_bound_set_result(b, 1, again)); /* the result was
                                                      discarded before */
    ((float *)tg_tensor_data(x))[0] = 9;
    check_works(tg_run(b));
    cr_assert(elsewhere[0] == 19 && elsewhere[1] == 5);
    cr_assert(again[0] == 9 && again[1] == 2);
    check_f32(y, 3, 5);
    check_fails(tg_bound_set_result(b, 2, again), TG_ERROR_INVALID_ARGUMENT,
                "scale_add: there is no result 2");
    tg_bound_release(b);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

Test(bound, a_refused_swap_changes_nothing)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, scale_add, NULL, NULL);
    float memory[] = {1, 2, 3};
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 2);
    tg_tensor *x = tg_tensor_wrap(s.ctx, memory, TG_F32, TG_DIMS(2));
    tg_tensor *y = NULL, *z = NULL;
    tg_bound *b = tg_bind(f, TG_ARGS(x, v), TG_RESULTS(&y, &z));
    const tg_status bad = TG_ERROR_INVALID_ARGUMENT;
    check_fails(tg_bound_set(b, 0, NULL), bad,
                "argument 0 is NULL or not aligned");
    check_fails(tg_bound_set(b, 0, (char *)memory + 1), bad, "not aligned");
    check_fails(tg_bound_set(b, 1, memory), bad,
                "argument 1 is not a tensor or number");
    check_fails(tg_bound_set(b, 2, memory), bad,
                "argument 2 is not a tensor or number");
    check_fails(tg_bound_set(b, SIZE_MAX, memory), bad,
                "is not a tensor or number");
    check_fails(tg_bound_set_result(b, 0, NULL), bad,
                "result 0 is NULL or not aligned");
    check_fails(tg_bound_set_result(b, 0, memory + 1), bad,
                "result 0 overlaps a part of an argument");
    check_fails(tg_bound_set_result(b, 0, tg_tensor_data(z)), bad,
                "test_bound.c:", "results 0 and 1 overlap");
    check_works(tg_run(b));
    check_f32(y, 3, 5);
    check_f32(z, 1, 2);
    /* A result may be stored in the argument itself. */
    check_works(tg_bound_set_result(b, 0, memory));
    check_works(tg_run(b));
    cr_assert(memory[0] == 3 && memory[1] == 5 && memory[2] == 3);
    tg_bound_release(b);
    tg_tensor_release(x);
    tg_variable_release(v);
    tg_function_release(f);
    session_end(&s);
}

/* -- Failure --------------------------------------------------------------- */

static void pick(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_gather(in[0], in[1], 0));
}

Test(bound, a_run_that_fails_leaves_the_result_and_can_be_repeated)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, pick, NULL, NULL);
    int32_t at[] = {1, 0};
    tg_tensor *x = f32_vector(s.ctx, 5, 6), *y = NULL;
    tg_tensor *i = tg_tensor_wrap(s.ctx, at, TG_I32, TG_DIMS(2));
    tg_bound *b = tg_bind(f, TG_ARGS(x, i), TG_RESULTS(&y));
    check_works(tg_run(b));
    at[1] = 7;
    check_fails(tg_run(b), TG_ERROR_INDEX, "gather", "7");
    cr_assert_eq(((float *)tg_tensor_data(y))[0], 6);
    at[1] = 1;
    check_works(tg_run(b));
    check_f32(y, 6, 6);
    tg_bound_release(b);
    tg_tensor_release(x);
    tg_tensor_release(i);
    tg_function_release(f);
    session_end(&s);
}

Test(bound, invalid_bindings_are_refused)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, pick, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 5, 6), *y = NULL;
    cr_assert_null(tg_bind(NULL, TG_ARGS(x), TG_RESULTS(&y)));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_bind: the function is NULL");
    cr_assert_null(tg_bind(f, TG_ARGS(x, x), TG_RESULTS(&y)));
    check_record(TG_ERROR_DTYPE, "gather: ");
    cr_assert_null(tg_bind(f, TG_ARGS(x, 0), TG_RESULTS(&y, &y)));
    check_record(TG_ERROR_INVALID_ARGUMENT,
                 "returns 1 result, but 2 were requested");
    cr_assert_null(y);
    tg_bound_release(NULL);
    check_fails(tg_run(NULL), TG_ERROR_INVALID_ARGUMENT, "tg_run");
    check_fails(tg_bound_set(NULL, 0, x), TG_ERROR_INVALID_ARGUMENT, "NULL");
    check_fails(tg_bound_set_result(NULL, 0, x), TG_ERROR_INVALID_ARGUMENT,
                "NULL");
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

static bool bind_and_run(void)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_function *f =
        ctx ? tg_function_create(ctx, increment, NULL, NULL) : NULL;
    tg_variable *v =
        f ? tg_variable_create(ctx, "v", TG_F32, TG_DIMS(2), tg_fill(1))
          : NULL;
    tg_tensor *y = NULL;
    tg_bound *b = v ? tg_bind(f, TG_ARGS(v, tg_value_of(v)), TG_RESULTS(&y))
                    : NULL;
    cr_assert_eq(y != NULL, b != NULL);
    const bool good = b && tg_run(b) == TG_OK;
    tg_bound_release(b);
    tg_tensor_release(y);
    tg_variable_release(v);
    tg_function_release(f);
    tg_context_release(ctx);
    return good;
}

Test(bound, every_lack_of_memory_is_reported)
{
    check_every_fault(bind_and_run);
}

/* -- Extents --------------------------------------------------------------- */

static void sum_and_scale(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(tg_mul(in[0], in[1]), TG_ALL_AXES), tg_mul(in[0], 10));
}

Test(bound, it_follows_the_extents_of_its_tensors)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, sum_and_scale, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2, 3), *z = f32_vector(s.ctx, 5, 6);
    tg_tensor *wrong = i32_vector(s.ctx, 1), *scaled = NULL;
    float sum = 0;
    tg_bound *b = tg_bind(f, TG_ARGS(x, x), TG_RESULTS(&sum, &scaled));
    for (int i = 0; i < 40; i++) { /* more sets of extents than are kept */
        tg_tensor *y =
            tg_tensor_create(s.ctx, TG_F32, TG_DIMS(i + 4), tg_fill(2));
        check_works(tg_bound_set_tensor(b, 0, y));
        check_works(tg_bound_set_tensor(b, 1, y));
        tg_tensor_release(y);
        check_works(tg_run(b));
        cr_assert_eq(sum, 4.0f * (float)(i + 4));
        cr_assert_eq(tg_tensor_count(tg_bound_result(b, 1)), i + 4);
    }
    check_works(tg_bound_set_tensor(b, 0, z));
    check_fails(tg_run(b), TG_ERROR_SHAPE, "test_bound.c:");
    check_works(tg_bound_set_tensor(b, 1, z));
    check_works(tg_run(b));
    cr_assert_eq(sum, 61);
    check_fails(tg_bound_set_tensor(b, 0, wrong), TG_ERROR_DTYPE, "f32", "i32");
    check_fails(tg_bound_set_tensor(b, 0, NULL), TG_ERROR_INVALID_ARGUMENT,
                "NULL");
    check_fails(tg_bound_set_tensor(b, 2, x), TG_ERROR_INVALID_ARGUMENT,
                "argument 2");
    check_fails(tg_bound_set_tensor(NULL, 2, x), TG_ERROR_INVALID_ARGUMENT,
                "NULL");
    check_works(tg_bound_set_tensor(b, 0, x));
    check_works(tg_bound_set_tensor(b, 1, x));
    check_works(tg_run(b));
    cr_assert_eq(sum, 14);
    cr_assert_eq(tg_bound_result(b, 1), scaled, "that of tg_bind again");
    check_f32(scaled, 10, 20, 30);
    cr_assert_null(tg_bound_result(b, 0));
    cr_assert_null(tg_bound_result(b, 7));
    tg_bound_release(b);
    tg_tensor_release(x);
    tg_tensor_release(z);
    tg_tensor_release(wrong);
    tg_function_release(f);
    session_end(&s);
}

Test(bound, memory_of_a_result_fits_one_size_only)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, sum_and_scale, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = f32_vector(s.ctx, 3);
    float data[2] = {0, 0}, sum = 0, factor = 3;
    tg_bound *b = tg_bind(f, TG_ARGS(x, 2.0f), TG_RESULTS(&sum));
    cr_assert_not_null(b, "%s", tg_error(NULL));
    check_works(tg_bound_set_result(b, 1, data));
    check_works(tg_bound_set(b, 1, &factor));
    check_works(tg_bound_set_tensor(b, 0, y));
    check_fails(tg_run(b), TG_ERROR_SHAPE, "result 1", "4 bytes", "has 8");
    check_works(tg_bound_set_tensor(b, 0, x));
    check_works(tg_run(b));
    cr_assert(sum == 9 && data[0] == 10 && data[1] == 20);
    check_fails(tg_bound_set_result(b, 1, tg_tensor_f32(x) + 1),
                TG_ERROR_INVALID_ARGUMENT, "overlaps");
    check_works(tg_run(b));
    cr_assert(sum == 9 && data[0] == 10);
    tg_bound_release(b);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
}

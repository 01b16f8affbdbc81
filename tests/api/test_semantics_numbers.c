/* SPDX-License-Identifier: MIT */
/*
 * test_semantics_numbers.c - promise 28: the dtype of plain numbers, and
 * numbers that a dtype cannot hold. Test names contain the number of the
 * promise. Each test runs interpreted and compiled.
 */
#include <math.h>

#include "support/modes.h"

/* -- Functions of one formula ---------------------------------------------- */

typedef tg_value formula(const tg_value *in);

static void compute(tg_trace *t, const tg_value *in, void *user)
{
    formula *const *f = user;
    tg_return(t, (*f)(in));
}

#define DEFINE(name, expression) \
    static tg_value name(const tg_value *in) \
    { \
        (void)in; \
        return expression; \
    }

static tg_function *function_of(session *s, formula *const *f)
{
    return tg_function_create(s->ctx, compute, (void *)(uintptr_t)f, NULL);
}

/* The result has this dtype, and all elements, as f64, this value. */
static void check_call_at(int line, session *s, formula *f,
                          const tg_operand *args, size_t n_args,
                          tg_dtype dtype, double value)
{
    tg_function *function = function_of(s, &f);
    tg_tensor *y = NULL;
    check_works_at(line, tg_call(function, args, n_args, TG_RESULTS(&y)));
    cr_assert_eq(tg_tensor_dtype(y), dtype, "line %d: it is %s, not %s", line,
                 tg_dtype_name(tg_tensor_dtype(y)), tg_dtype_name(dtype));
    for (int64_t i = 0; i < tg_tensor_count(y); i++) {
        const tgi_number number =
            tgi_dtype_load(dtype, (char *)tg_tensor_data(y) +
                                      (size_t)i * tg_dtype_bytes(dtype));
        const double is = number.kind == TGI_NUMBER_INT    ? (double)number.as.i
                          : number.kind == TGI_NUMBER_UINT ? (double)number.as.u
                                                           : number.as.f;
        cr_assert(is == value, "line %d: it is %.17g, not %.17g", line, is,
                  value);
    }
    tg_tensor_release(y);
    tg_function_release(function);
}

#define check_call(s, f, args, dtype, value) \
    check_call_at(__LINE__, s, f, args, dtype, value)

static void check_refused_at(int line, session *s, formula *f,
                             const tg_operand *args, size_t n_args,
                             bool is_traced, const char *const *pieces)
{
    tg_function *function = function_of(s, &f);
    tg_tensor *y = NULL;
    check_failure_at(line, tg_call(function, args, n_args, TG_RESULTS(&y)),
                     TG_ERROR_DTYPE, pieces);
    cr_assert_null(y);
    cr_assert_eq(tg_function_trace_count(function), is_traced ? 1 : 0,
                 "line %d: %zu traces", line,
                 tg_function_trace_count(function));
    tg_function_release(function);
}

/* A literal out of range: the trace fails. */
#define check_trace_refused(s, f, args, ...) \
    check_refused_at(__LINE__, s, f, args, false, \
                     (const char *const[]){__VA_ARGS__, NULL})
/* An argument out of range: the trace exists, the call fails. */
#define check_call_refused(s, f, args, ...) \
    check_refused_at(__LINE__, s, f, args, true, \
                     (const char *const[]){__VA_ARGS__, NULL})

/* Two elements of each dtype. */
static tg_tensor *ones(session *s, tg_dtype dtype)
{
    char elements[16] = {0};
    const tgi_number one = {TGI_NUMBER_INT, {.i = 1}};
    for (size_t i = 0; i < 2; i++)
        cr_assert(tgi_dtype_store(dtype, one,
                                  elements + i * tg_dtype_bytes(dtype)));
    tg_tensor *x = tg_tensor_copy(s->ctx, elements, dtype, TG_DIMS(2));
    cr_assert_not_null(x);
    return x;
}

/* -- Literals -------------------------------------------------------------- */

DEFINE(twice, tg_mul(in[0], 2))
DEFINE(twice_as_float, tg_mul(2.0, in[0]))

static void literals_take_any_type(session *s)
{
    check_call(s, twice, TG_ARGS(5.0f), TG_F32, 10);
    check_call(s, twice, TG_ARGS(5.0), TG_F64, 10);
    check_call(s, twice, TG_ARGS((uint8_t)5), TG_U8, 10);
    check_call(s, twice, TG_ARGS((int8_t)-5), TG_I8, -10);
    check_call(s, twice, TG_ARGS((int16_t)5), TG_I16, 10);
    check_call(s, twice, TG_ARGS((uint16_t)5), TG_U16, 10);
    check_call(s, twice, TG_ARGS(5), TG_I32, 10);
    check_call(s, twice, TG_ARGS(5u), TG_U32, 10);
    check_call(s, twice, TG_ARGS((int64_t)5), TG_I64, 10);
    check_call(s, twice, TG_ARGS((uint64_t)5), TG_U64, 10);
    check_call(s, twice_as_float, TG_ARGS((uint8_t)5), TG_U8, 10);
    check_call(s, twice_as_float, TG_ARGS(5.0f), TG_F32, 10);
    check_call(s, twice, TG_ARGS(TG_STATIC(5.0f)), TG_F32, 10);
    check_call(s, twice, TG_ARGS(TG_STATIC((int8_t)5)), TG_I8, 10);
    static const tg_dtype dtypes[] = {TG_I8,  TG_I16, TG_I32, TG_I64, TG_U8,
                                      TG_U16, TG_U32, TG_U64, TG_F32, TG_F64};
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(*dtypes); i++) {
        tg_tensor *x = ones(s, dtypes[i]);
        check_call(s, twice, TG_ARGS(x), dtypes[i], 2);
        check_call(s, twice_as_float, TG_ARGS(x), dtypes[i], 2);
        tg_tensor_release(x);
    }
}

Test(semantics, line_28_a_literal_adopts_the_dtype_of_the_other_operand)
{
    in_modes(literals_take_any_type);
}

DEFINE(add_300, tg_add(in[0], 300))
DEFINE(add_minus_1, tg_add(-1, in[0]))
DEFINE(add_2_40, tg_add(in[0], INT64_C(1) << 40))
DEFINE(add_half, tg_add(in[0], 0.5))
DEFINE(add_nan, tg_add(in[0], NAN))
DEFINE(add_1e300, tg_add(in[0], 1e300))
DEFINE(add_infinity, tg_add(in[0], INFINITY))
DEFINE(add_tenth, tg_add(in[0], 0.1))
DEFINE(add_2_24, tg_add(in[0], 16777217))
DEFINE(under_300, tg_lt(in[0], 300))
DEFINE(clamp_300, tg_clamp(in[0], 0, 300))
DEFINE(pad_300, tg_pad(in[0], 0, 1, 1, 300))
DEFINE(select_300, tg_select(tg_eq(in[0], 1), 300, in[0]))
DEFINE(scalar_300, tg_add(in[0], tg_scalar(TG_I8, 300)))
DEFINE(concat_300, tg_concat(0, in[0], tg_broadcast(300, TG_DIMS(2))))

static void literals_must_fit(session *s)
{
    tg_tensor *i8 = ones(s, TG_I8), *u8 = ones(s, TG_U8);
    tg_tensor *i32 = ones(s, TG_I32), *f32 = ones(s, TG_F32);
    check_trace_refused(s, add_300, TG_ARGS(i8), "add", "300", "i8");
    check_trace_refused(s, add_300, TG_ARGS((int8_t)1), "300", "i8");
    check_trace_refused(s, add_300, TG_ARGS(TG_STATIC((int8_t)1)), "300", "i8");
    check_trace_refused(s, add_minus_1, TG_ARGS(u8), "-1", "u8");
    check_trace_refused(s, add_minus_1, TG_ARGS((uint64_t)1), "-1", "u64");
    check_trace_refused(s, add_2_40, TG_ARGS(i32), "1099511627776", "i32");
    check_trace_refused(s, add_2_40, TG_ARGS(1), "1099511627776", "i32");
    check_trace_refused(s, add_half, TG_ARGS(i32), "0.5", "i32");
    check_trace_refused(s, add_half, TG_ARGS(1), "0.5", "i32");
    check_trace_refused(s, add_nan, TG_ARGS(i32), "nan", "i32");
    check_trace_refused(s, add_infinity, TG_ARGS(i32), "inf", "i32");
    check_trace_refused(s, add_1e300, TG_ARGS(f32), "1e+300", "f32");
    check_trace_refused(s, add_1e300, TG_ARGS(1.0f), "1e+300", "f32");
    check_trace_refused(s, under_300, TG_ARGS(i8), "lt", "300", "i8");
    check_trace_refused(s, clamp_300, TG_ARGS(i8), "clamp", "300", "i8");
    check_trace_refused(s, pad_300, TG_ARGS(i8), "pad", "300", "i8");
    check_trace_refused(s, select_300, TG_ARGS(i8), "select", "300", "i8");
    check_trace_refused(s, scalar_300, TG_ARGS(i8), "scalar", "300", "i8");
    check_trace_refused(s, concat_300, TG_ARGS(i8), "concat", "i8", "i32");
    /* Float dtypes round. */
    check_call(s, add_tenth, TG_ARGS(f32), TG_F32, (double)(1 + 0.1f));
    check_call(s, add_2_24, TG_ARGS(f32), TG_F32, 16777216);
    check_call(s, add_infinity, TG_ARGS(f32), TG_F32, (double)INFINITY);
    tg_tensor_release(i8);
    tg_tensor_release(u8);
    tg_tensor_release(i32);
    tg_tensor_release(f32);
}

Test(semantics, line_28_a_literal_that_does_not_fit_fails_the_trace)
{
    in_modes(literals_must_fit);
}

DEFINE(three, tg_add(tg_add(1, 2), tg_mul(in[0], 0)))
DEFINE(sum_of_ints, tg_add(1, (int64_t)2))
DEFINE(sum_of_signs, tg_add(-1, 2u))
DEFINE(sum_of_floats, tg_add(1, 2.5f))
DEFINE(wide_sum, tg_add(2.5f, tg_add(1, 0.25)))
DEFINE(truth, tg_add((bool)true, 2))
DEFINE(no_common, tg_add(1, (uint64_t)2))
DEFINE(times_third, tg_mul(in[0], tg_div(1.0, 3.0)))
DEFINE(add_900, tg_add(in[0], tg_clamp(tg_mul(300, 3), 0, 1000)))
DEFINE(add_90, tg_add(in[0], tg_clamp(tg_mul(30, 3), 0, 1000)))

static void literals_among_themselves(session *s)
{
    tg_tensor *i8 = ones(s, TG_I8), *f32 = ones(s, TG_F32);
    check_call(s, three, TG_ARGS(i8), TG_I8, 3);
    check_call(s, sum_of_ints, TG_ARGS(), TG_I64, 3);
    check_call(s, sum_of_signs, TG_ARGS(), TG_I64, 1);
    check_call(s, sum_of_floats, TG_ARGS(), TG_F32, 3.5);
    check_call(s, wide_sum, TG_ARGS(), TG_F64, 3.75);
    check_call(s, truth, TG_ARGS(), TG_I32, 3);
    check_trace_refused(s, no_common, TG_ARGS(), "i32", "u64");
    check_call(s, times_third, TG_ARGS(f32), TG_F32,
               (double)(float)(1.0 / 3.0));
    /* The result is a literal, whose value is known. */
    check_trace_refused(s, add_900, TG_ARGS(i8), "900", "i8");
    check_call(s, add_90, TG_ARGS(i8), TG_I8, 91);
    tg_tensor_release(i8);
    tg_tensor_release(f32);
}

Test(semantics, line_28_operations_on_literals_return_literals)
{
    in_modes(literals_among_themselves);
}

/* -- Arguments against tensors and variables ------------------------------- */

DEFINE(sum, tg_add(in[0], in[1]))
DEFINE(product, tg_mul(in[0], in[1]))

static void arguments_take_the_type_of_tensors(session *s)
{
    tg_tensor *i8 = ones(s, TG_I8), *u8 = ones(s, TG_U8);
    tg_tensor *i32 = ones(s, TG_I32), *f32 = ones(s, TG_F32);
    check_call(s, product, TG_ARGS(f32, 0.1), TG_F32, (double)0.1f);
    check_call(s, product, TG_ARGS(3, f32), TG_F32, 3);
    check_call(s, sum, TG_ARGS(i8, 126), TG_I8, 127);
    check_call(s, sum, TG_ARGS(i32, 2.0), TG_I32, 3);
    check_call(s, sum, TG_ARGS(u8, (int64_t)254), TG_U8, 255);
    check_call(s, sum, TG_ARGS(f32, (double)INFINITY), TG_F32,
               (double)INFINITY);
    check_call(s, sum, TG_ARGS(f32, 16777217), TG_F32, 16777216);
    check_call(s, sum, TG_ARGS(i8, TG_STATIC(126)), TG_I8, 127);

    check_call_refused(s, sum, TG_ARGS(i8, 300), "argument 1", "300", "i8",
                       "add");
    check_call_refused(s, sum, TG_ARGS(300, i8), "argument 0", "300", "i8");
    check_call_refused(s, sum, TG_ARGS(i32, INT64_C(1) << 40), "argument 1",
                       "1099511627776", "i32");
    check_call_refused(s, sum, TG_ARGS(u8, -1), "argument 1", "-1", "u8");
    check_call_refused(s, sum, TG_ARGS(i32, 2.5), "argument 1", "2.5", "i32");
    check_call_refused(s, sum, TG_ARGS(i32, (double)NAN), "nan", "i32");
    check_call_refused(s, sum, TG_ARGS(i32, NAN), "nan", "i32");
    check_call_refused(s, sum, TG_ARGS(f32, 1e300), "1e+300", "f32");
    check_trace_refused(s, sum, TG_ARGS(i8, TG_STATIC(300)), "300", "i8");
    tg_tensor_release(i8);
    tg_tensor_release(u8);
    tg_tensor_release(i32);
    tg_tensor_release(f32);
}

Test(semantics, line_28_an_argument_has_the_type_of_the_tensor_it_meets)
{
    in_modes(arguments_take_the_type_of_tensors);
}

/* Numbers are data: neither valid nor invalid ones cause a trace, and a
   rejected call changes nothing. */
static void count_and_add(tg_trace *t, const tg_value *in, void *user)
{
    tg_assign_add((tg_variable *)user, 1);
    tg_print(t, "ran");
    tg_return(t, tg_add(in[0], in[1]));
}

static void refused_calls_do_nothing(session *s)
{
    tg_variable *count = tg_variable_create(s->ctx, "count", TG_I64, TG_SCALAR,
                                            tg_zeros());
    tg_function *f = tg_function_create(s->ctx, count_and_add, count, NULL);
    for (int64_t n = 2; n < 6; n++) { /* exact, then generalised */
        tg_tensor *x = tg_tensor_create(s->ctx, TG_I8, TG_DIMS(n), tg_zeros());
        tg_tensor *y = NULL;
        check_fails(tg_call(f, TG_ARGS(x, 300), TG_RESULTS(&y)),
                    TG_ERROR_DTYPE, "argument 1", "300", "i8");
        cr_assert_null(y);
        y = call_one(f, TG_ARGS(x, 100));
        cr_assert_eq(((int8_t *)tg_tensor_data(y))[n - 1], 100);
        tg_tensor_release(x);
        tg_tensor_release(y);
    }
    cr_assert_eq(tg_function_trace_count(f), 2);
    int64_t n_runs;
    check_works(tg_variable_get(count, &n_runs, sizeof(n_runs)));
    cr_assert_eq(n_runs, 4);
    cr_assert_str_eq(s->printed, "ran\nran\nran\nran\n");
    tg_function_release(f);
    tg_variable_release(count);
}

Test(semantics, line_28_a_refused_argument_changes_nothing)
{
    in_modes(refused_calls_do_nothing);
}

static void assign_both(tg_trace *t, const tg_value *in, void *user)
{
    tg_variable *v = user;
    tg_assign(v, in[0]);
    tg_assign_add(v, in[1]);
    tg_return(t, tg_read(v));
}

static void assign_300(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)in;
    tg_assign((tg_variable *)user, 300);
}

static void add_to_it_300(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)in;
    tg_assign_add((tg_variable *)user, 300);
}

static void variables_hold_what_they_can(session *s)
{
    tg_variable *v = tg_variable_create(s->ctx, "v", TG_I8, TG_DIMS(2),
                                        tg_fill(-128));
    cr_assert_not_null(v);
    tg_function *f = tg_function_create(s->ctx, assign_both, v, NULL);
    tg_tensor *y = call_one(f, TG_ARGS(100, 27));
    cr_assert_eq(((int8_t *)tg_tensor_data(y))[1], 127);
    check_fails(tg_call(f, TG_ARGS(300, 0), TG_RESULTS()), TG_ERROR_DTYPE,
                "argument 0", "300", "i8", "assign");
    check_fails(tg_call(f, TG_ARGS(0, -129), TG_RESULTS()), TG_ERROR_DTYPE,
                "argument 1", "-129", "i8", "assign_add");
    int8_t is[2];
    check_works(tg_variable_get(v, is, sizeof(is)));
    cr_assert_eq(is[0], 127);
    tg_function *g = tg_function_create(s->ctx, assign_300, v, NULL);
    check_fails(tg_call(g, TG_ARGS(), TG_RESULTS()), TG_ERROR_DTYPE,
                "assign", "300", "i8");
    tg_function *h = tg_function_create(s->ctx, add_to_it_300, v, NULL);
    check_fails(tg_call(h, TG_ARGS(), TG_RESULTS()), TG_ERROR_DTYPE,
                "assign_add", "300", "i8");
    cr_assert_null(tg_variable_create(s->ctx, "full", TG_I8, TG_DIMS(2),
                                      tg_fill(300)));
    check_record(TG_ERROR_DTYPE, "300", "i8");
    cr_assert_null(tg_variable_create(s->ctx, "half", TG_I8, TG_DIMS(2),
                                      tg_fill(0.5)));
    check_record(TG_ERROR_DTYPE, "0.5", "i8");
    tg_tensor_release(y);
    tg_function_release(f);
    tg_function_release(g);
    tg_function_release(h);
    tg_variable_release(v);
}

Test(semantics, line_28_a_variable_takes_numbers_that_fit)
{
    in_modes(variables_hold_what_they_can);
}

/* -- Arguments among themselves, and what is computed from them ------------ */

static void arguments_promote(session *s)
{
    check_call(s, sum, TG_ARGS(1, 2), TG_I32, 3);
    check_call(s, sum, TG_ARGS(1.5f, 2.0f), TG_F32, 3.5);
    check_call(s, sum, TG_ARGS(1.5f, 0.1), TG_F64, 1.6);
    check_call(s, sum, TG_ARGS(1, 0.5), TG_F64, 1.5);
    check_call(s, sum, TG_ARGS(1, 0.5f), TG_F32, 1.5);
    check_call(s, sum, TG_ARGS((bool)true, (int8_t)2), TG_I8, 3);
    check_call(s, sum, TG_ARGS((int8_t)1, INT64_C(2)), TG_I64, 3);
    check_call(s, sum, TG_ARGS((int8_t)-1, (uint8_t)200), TG_I16, 199);
    check_call(s, sum, TG_ARGS(-1, 4000000000u), TG_I64, 3999999999.0);
    check_trace_refused(s, sum, TG_ARGS(1, UINT64_C(2)), "i32", "u64");
    check_call(s, sum, TG_ARGS(TG_STATIC(1), 0.5f), TG_F32, 1.5);
}

Test(semantics, line_28_number_arguments_are_promoted)
{
    in_modes(arguments_promote);
}

DEFINE(half_rate, tg_mul(in[0], tg_mul(in[1], 0.5)))
DEFINE(add_twice, tg_add(in[0], tg_mul(in[1], 2)))
DEFINE(add_cast_twice, tg_add(in[0], tg_cast(tg_mul(in[1], 2), TG_I8)))
DEFINE(add_extended, tg_add(in[0], tg_broadcast(in[1], TG_DIMS(2))))

static void computed_numbers_stay_numbers(session *s)
{
    tg_tensor *i8 = ones(s, TG_I8), *i32 = ones(s, TG_I32);
    tg_tensor *f32 = ones(s, TG_F32);
    check_call(s, half_rate, TG_ARGS(f32, 0.2), TG_F32, (double)0.1f);
    check_call(s, add_twice, TG_ARGS(f32, 4), TG_F32, 9);
    check_call(s, add_twice, TG_ARGS(i32, (int8_t)4), TG_I32, 9);
    check_call(s, add_twice, TG_ARGS(i32, 4), TG_I32, 9);
    check_trace_refused(s, add_twice, TG_ARGS(i8, 4), "i32", "i8", "tg_cast");
    check_trace_refused(s, add_twice, TG_ARGS(i32, 4.0), "f64", "i32",
                        "tg_cast");
    check_call(s, add_cast_twice, TG_ARGS(i8, 4), TG_I8, 9);
    /* A tensor is not a number any more. */
    check_trace_refused(s, add_extended, TG_ARGS(i8, 4), "i8", "i32");
    tg_tensor_release(i8);
    tg_tensor_release(i32);
    tg_tensor_release(f32);
}

Test(semantics, line_28_expressions_of_number_arguments_adapt_without_loss)
{
    in_modes(computed_numbers_stay_numbers);
}

/* -- Branches, loops and calls --------------------------------------------- */

/* in[0] of the enclosing function is captured. */
static void add_captured(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, tg_add(in[0], *(const tg_value *)user));
}

static void leave_it(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, in[0]);
}

static void add_given(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], in[1]));
}

static void add_in_iteration(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, tg_add(in[1], *(const tg_value *)user));
}

static tg_value by_capture(const tg_value *in)
{
    tg_value y;
    tg_cond((bool)true, add_captured, leave_it, (void *)(uintptr_t)&in[1],
            TG_ARGS(in[0]), &y, 1);
    return y;
}

static tg_value by_argument(const tg_value *in)
{
    tg_value y;
    tg_cond((bool)true, add_given, leave_it, NULL, TG_ARGS(in[0], in[1]), &y,
            1);
    return y;
}

static tg_value by_literal(const tg_value *in)
{
    tg_value y;
    tg_cond((bool)true, add_given, leave_it, NULL, TG_ARGS(in[0], 300), &y, 1);
    return y;
}

static tg_value by_computed(const tg_value *in)
{
    tg_value y;
    tg_cond((bool)true, add_given, leave_it, NULL,
            TG_ARGS(in[0], tg_mul(in[1], 1)), &y, 1);
    return y;
}

static tg_value by_iterations(const tg_value *in)
{
    tg_value y;
    tg_for(2, add_in_iteration, (void *)(uintptr_t)&in[1], TG_ARGS(in[0]), &y,
           1);
    return y;
}

static void return_captured(tg_trace *t, const tg_value *in, void *user)
{
    (void)in;
    tg_return(t, *(const tg_value *)user);
}

/* A number returned by a branch or body takes the dtype of the others. */
static tg_value by_branch_result(const tg_value *in)
{
    tg_value y, x = tg_reduce_max(in[0], TG_ALL_AXES);
    tg_cond((bool)true, return_captured, leave_it, (void *)(uintptr_t)&in[1],
            TG_ARGS(x), &y, 1);
    return y;
}

static tg_value by_body_result(const tg_value *in)
{
    tg_value y, x = tg_reduce_max(in[0], TG_ALL_AXES);
    tg_for(1, return_captured, (void *)(uintptr_t)&in[1], TG_ARGS(x), &y, 1);
    return y;
}

static void regions_agree(session *s)
{
    static formula *const formulas[] = {by_capture, by_argument, by_iterations,
                                        by_branch_result, by_body_result};
    static const double results[] = {4, 4, 7, 3, 3};
    tg_tensor *i8 = ones(s, TG_I8);
    for (size_t i = 0; i < sizeof(results) / sizeof(*results); i++) {
        check_call(s, formulas[i], TG_ARGS(i8, 3), TG_I8, results[i]);
        check_call(s, formulas[i], TG_ARGS(i8, TG_STATIC(3)), TG_I8,
                   results[i]);
        check_call_refused(s, formulas[i], TG_ARGS(i8, 300), "argument 1",
                           "300", "i8");
        check_trace_refused(s, formulas[i], TG_ARGS(i8, TG_STATIC(300)), "300",
                            "i8");
    }
    check_trace_refused(s, by_literal, TG_ARGS(i8), "300", "i8");
    check_trace_refused(s, by_computed, TG_ARGS(i8, 3), "i32", "i8", "tg_cast");
    tg_tensor_release(i8);
}

Test(semantics, line_28_branches_and_loops_convert_numbers)
{
    in_modes(regions_agree);
}

static void choose_number(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, in[0], 1);
}

static void choose_literal(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    tg_return(t, 7, 2.5);
}

static void choose(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y[2];
    tg_cond(tg_gt(in[0], 0), choose_number, choose_literal, NULL,
            TG_ARGS(in[0]), y, 2);
    tg_return(t, y[0], y[1]);
}

static void branches_of_numbers(session *s)
{
    tg_function *f = tg_function_create(s->ctx, choose, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        tg_tensor *a = NULL, *b = NULL;
        check_works(tg_call(f, TG_ARGS((int16_t)i), TG_RESULTS(&a, &b)));
        cr_assert_eq(tg_tensor_dtype(a), TG_I16);
        cr_assert_eq(*(int16_t *)tg_tensor_data(a), i ? 1 : 7);
        cr_assert_eq(tg_tensor_dtype(b), TG_F64);
        cr_assert_eq(*(double *)tg_tensor_data(b), i ? 1 : 2.5);
        tg_tensor_release(a);
        tg_tensor_release(b);
    }
    tg_function_release(f);
}

Test(semantics, line_28_branches_that_return_numbers_agree_on_a_type)
{
    in_modes(branches_of_numbers);
}

typedef struct nested {
    tg_function *callee;
    bool is_literal, is_computed;
} nested;

static void call_nested(tg_trace *t, const tg_value *in, void *user)
{
    const nested *n = user;
    tg_value y;
    if (n->is_literal)
        tg_apply(n->callee, TG_ARGS(in[0], 300), &y, 1);
    else if (n->is_computed)
        tg_apply(n->callee, TG_ARGS(in[0], tg_mul(in[1], 1)), &y, 1);
    else
        tg_apply(n->callee, TG_ARGS(in[0], in[1]), &y, 1);
    tg_return(t, y);
}

/* Declared or not, the callee's conditions apply to its caller. */
static void nested_calls(session *s, const tg_function_options *options,
                         const char *const *computed)
{
    formula *f = sum;
    tg_tensor *x = ones(s, TG_I8);
    nested n = {tg_function_create(s->ctx, compute, &f, options), false, false};
    nested twice_nested = {
        tg_function_create(s->ctx, call_nested, &n, NULL), false, false};
    tg_function *outer =
        tg_function_create(s->ctx, call_nested, &twice_nested, NULL);
    tg_tensor *y = call_one(outer, TG_ARGS(x, 3));
    cr_assert_eq(tg_tensor_dtype(y), TG_I8);
    cr_assert_eq(((int8_t *)tg_tensor_data(y))[1], 4);
    tg_tensor_release(y);
    check_fails(tg_call(outer, TG_ARGS(x, 300), TG_RESULTS()), TG_ERROR_DTYPE,
                "argument 1", "300", "i8");
    cr_assert_eq(tg_function_trace_count(outer), 1);
    tg_function_release(outer);

    n.is_literal = true;
    outer = tg_function_create(s->ctx, call_nested, &n, NULL);
    check_fails(tg_call(outer, TG_ARGS(x), TG_RESULTS()), TG_ERROR_DTYPE,
                "300", "i8");
    tg_function_release(outer);
    n.is_literal = false;
    n.is_computed = true;
    outer = tg_function_create(s->ctx, call_nested, &n, NULL);
    check_failure_at(__LINE__, tg_call(outer, TG_ARGS(x, 3), TG_RESULTS()),
                     TG_ERROR_DTYPE, computed);
    tg_function_release(outer);
    tg_function_release(twice_nested.callee);
    tg_function_release(n.callee);
    tg_tensor_release(x);
}

static void nested_calls_agree(session *s)
{
    static const char *const pieces[] = {"i32", "i8", "tg_cast", NULL};
    nested_calls(s, NULL, pieces);
    const tg_spec specs[] = {tg_spec_tensor(TG_I8, TG_DIMS(2)),
                             tg_spec_tensor(TG_I8, TG_SCALAR)};
    const tg_function_options options = {.struct_bytes = sizeof(options),
                                         .signature = specs,
                                         .n_signature = 2};
    nested_calls(s, &options, pieces);
}

Test(semantics, line_28_nested_calls_convert_numbers)
{
    in_modes(nested_calls_agree);
}

/* -- Declared and bound ---------------------------------------------------- */

static void declared_arguments(session *s)
{
    formula *f = twice;
    const tg_spec spec = tg_spec_tensor(TG_I8, TG_SCALAR);
    const tg_function_options options = {.struct_bytes = sizeof(options),
                                         .name = "g",
                                         .signature = &spec,
                                         .n_signature = 1};
    tg_function *g = tg_function_create(s->ctx, compute, &f, &options);
    tg_tensor *y = call_one(g, TG_ARGS(5.0));
    cr_assert_eq(tg_tensor_dtype(y), TG_I8);
    cr_assert_eq(*(int8_t *)tg_tensor_data(y), 10);
    tg_tensor_release(y);
    check_fails(tg_call(g, TG_ARGS(300), TG_RESULTS()), TG_ERROR_SIGNATURE,
                "g: argument 0", "300", "i8");
    check_fails(tg_call(g, TG_ARGS(0.5), TG_RESULTS()), TG_ERROR_SIGNATURE,
                "g: argument 0", "0.5", "i8");
    tg_concrete *c = tg_function_concrete(g, &spec, 1);
    check_fails(tg_concrete_call(c, TG_ARGS(-129), TG_RESULTS()),
                TG_ERROR_SIGNATURE, "g: argument 0", "-129", "i8");
    tg_concrete_release(c);
    tg_function_release(g);
}

Test(semantics, line_28_a_declared_scalar_takes_numbers_it_can_hold)
{
    in_modes(declared_arguments);
}

static void bound_numbers(session *s)
{
    formula *f = sum;
    tg_function *g = function_of(s, &f);
    tg_tensor *x = ones(s, TG_I8), *y = NULL;
    cr_assert_null(tg_bind(g, TG_ARGS(x, 300), TG_RESULTS(&y)));
    check_record(TG_ERROR_DTYPE, "argument 1", "300", "i8");
    cr_assert_null(y);
    tg_bound *b = tg_bind(g, TG_ARGS(x, 3), TG_RESULTS(&y));
    cr_assert_not_null(b);
    int8_t *result = tg_tensor_data(y);
    check_works(tg_run(b));
    cr_assert_eq(result[0], 4);

    /* The contents of the memory at run time are checked. */
    int32_t number = 300;
    check_works(tg_bound_set(b, 1, &number));
    check_fails(tg_run(b), TG_ERROR_DTYPE, "argument 1", "300", "i8");
    cr_assert_eq(result[0], 4);
    number = 100;
    check_works(tg_run(b));
    cr_assert_eq(result[0], 101);
    number = -129;
    check_fails(tg_run(b), TG_ERROR_DTYPE, "argument 1", "-129", "i8");
    tg_bound_release(b);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(g);
}

Test(semantics, line_28_bound_calls_check_numbers_too)
{
    in_modes(bound_numbers);
}

/* -- Gradients ------------------------------------------------------------- */

DEFINE(by_tensor, tg_gradient(tg_mul(in[0], in[1]), in[0]))
DEFINE(by_number, tg_gradient(tg_mul(in[0], in[1]), in[1]))
DEFINE(by_rate, tg_gradient(tg_mul(in[0], tg_mul(in[1], 0.5)), in[1]))

static void gradients_have_the_types_of_sources(session *s)
{
    tg_tensor *x = ones(s, TG_F32);
    check_call(s, by_tensor, TG_ARGS(x, 0.1), TG_F32, (double)0.1f);
    check_call(s, by_number, TG_ARGS(x, 0.1), TG_F64, 2);
    check_call(s, by_rate, TG_ARGS(x, 0.1), TG_F64, 1);
    check_call(s, by_number, TG_ARGS(1.0f, 3.0f), TG_F32, 1);
    check_call(s, by_number, TG_ARGS(2.0f, 3.0), TG_F64, 2);
    check_call_refused(s, by_tensor, TG_ARGS(x, 1e300), "argument 1",
                       "1e+300", "f32");
    tg_tensor_release(x);
}

Test(semantics, line_28_gradients_have_the_types_of_their_sources)
{
    in_modes(gradients_have_the_types_of_sources);
}

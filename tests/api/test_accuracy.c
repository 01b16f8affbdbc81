/* SPDX-License-Identifier: MIT */
/*
 * test_accuracy.c - fast accuracy: what selects it, that an operation keeps it
 * in branches, loops, other functions and gradients, and that interpreted and
 * compiled code agree for every width and number of threads.
 */
#include "support/api.h"
#include "support/vector_widths.h"

enum { N = 1000 };

typedef struct elements {
    float x[N];
} elements;

/* -- Callbacks ------------------------------------------------------------- */

static void plain(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(tg_tanh(in[0]), tg_silu(in[0])));
}

static void explicit_fast(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(tg_tanh_fast(in[0]), tg_silu_fast(in[0])));
}

static void all_functions(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = in[0];
    const tg_value square = tg_mul(x, x);
    tg_value sum = tg_log(tg_add(square, 1));
    sum = tg_add(tg_log2(tg_add(square, 0.1)), sum);
    sum = tg_add(tg_log10(tg_add(tg_mul(square, 1e-40), 1e-44)), sum);
    sum = tg_add(tg_sin(tg_mul(x, 1e5)), sum); /* also of large angles */
    sum = tg_add(tg_cos(tg_mul(x, 1e5)), sum);
    sum = tg_add(tg_tan(tg_mul(x, 1e5)), sum);
    sum = tg_add(tg_atan(x), sum);
    sum = tg_add(tg_atan2(x, tg_floor(x)), sum);
    sum = tg_add(tg_tanh(x), sum);
    sum = tg_add(tg_erf(x), sum);
    sum = tg_add(tg_erfc(x), sum);
    sum = tg_add(tg_sigmoid(x), sum);
    sum = tg_add(tg_silu(x), sum);
    tg_return(t, tg_add(tg_gelu(x), sum));
}

static void body(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(tg_tanh(in[1]), tg_silu(in[1])));
}

/* The same in the body of a loop, and in a branch. */
static void in_loop(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y;
    tg_for(1, body, user, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

static void in_branch(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y;
    const tg_value first = tg_slice(in[0], 0, 0, 1, 1);
    const tg_value is_real =
        tg_eq(tg_sum(first, TG_ALL_AXES), tg_sum(first, TG_ALL_AXES));
    tg_cond(is_real, plain, plain, user, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

/* Of another function, which is `user`. */
static void in_function(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y;
    tg_apply((tg_function *)user, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

static void gradient_of_plain(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value y = tg_add(tg_silu(in[0]), tg_gelu(in[0]));
    tg_return(t, tg_gradient(tg_sum(y, TG_ALL_AXES), in[0]));
}

static void gradient_of_fast(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value y = tg_add(tg_silu_fast(in[0]), tg_gelu_fast(in[0]));
    tg_return(t, tg_gradient(tg_sum(y, TG_ALL_AXES), in[0]));
}

/* -- Calls ----------------------------------------------------------------- */

static tg_function *function_in(tg_context *ctx, tg_callback *callback,
                                void *user, tg_accuracy_level accuracy)
{
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.accuracy = accuracy;
    tg_function *f = tg_function_create(ctx, callback, user, &options);
    cr_assert_not_null(f, "%s", tg_error(NULL));
    return f;
}

/* Of N arguments between -8 and 8. */
static elements results_of(tg_function *f, tg_context *ctx)
{
    elements out;
    tg_tensor *x = tg_tensor_create(ctx, TG_F32, TG_DIMS(N), tg_zeros());
    tg_tensor *y = NULL;
    cr_assert_not_null(x);
    for (int i = 0; i < N; i++)
        ((float *)tg_tensor_data(x))[i] = 16.0f * (float)i / N - 8;
    cr_assert_eq(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)), TG_OK, "%s",
                 tg_error(NULL));
    memcpy(out.x, tg_tensor_data(y), sizeof(out.x));
    tg_tensor_release(x);
    tg_tensor_release(y);
    return out;
}

static elements call_in(tg_context *ctx, tg_callback *callback, void *user,
                        tg_accuracy_level accuracy)
{
    tg_function *f = function_in(ctx, callback, user, accuracy);
    const elements out = results_of(f, ctx);
    tg_function_release(f);
    return out;
}

static elements call(tg_callback *callback, tg_accuracy_level of_context,
                     tg_accuracy_level of_function)
{
    session s;
    session_begin_with(&s, (tg_context_options){.accuracy = of_context});
    const elements out = call_in(s.ctx, callback, NULL, of_function);
    session_end(&s);
    return out;
}

static bool are_equal(elements a, elements b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

/* -- What selects it ------------------------------------------------------- */

Test(accuracy, a_function_chooses_or_has_that_of_its_context)
{
    const elements full = call(plain, TG_ACCURACY_DEFAULT, TG_ACCURACY_DEFAULT);
    const elements fast =
        call(explicit_fast, TG_ACCURACY_DEFAULT, TG_ACCURACY_DEFAULT);
    cr_expect_not(are_equal(full, fast));
    cr_expect(
        are_equal(call(plain, TG_ACCURACY_DEFAULT, TG_ACCURACY_FAST), fast));
    cr_expect(
        are_equal(call(plain, TG_ACCURACY_FAST, TG_ACCURACY_DEFAULT), fast));
    cr_expect(are_equal(call(plain, TG_ACCURACY_FAST, TG_ACCURACY_FULL), full));
    cr_expect(
        are_equal(call(plain, TG_ACCURACY_FULL, TG_ACCURACY_DEFAULT), full));
    cr_expect(are_equal(call(explicit_fast, TG_ACCURACY_FULL, TG_ACCURACY_FULL),
                        fast));
}

Test(accuracy, branches_and_loops_have_that_of_their_function)
{
    const elements fast = call(plain, TG_ACCURACY_DEFAULT, TG_ACCURACY_FAST);
    cr_expect(
        are_equal(call(in_loop, TG_ACCURACY_DEFAULT, TG_ACCURACY_FAST), fast));
    cr_expect(are_equal(call(in_branch, TG_ACCURACY_DEFAULT, TG_ACCURACY_FAST),
                        fast));
}

Test(accuracy, a_function_that_is_called_keeps_its_own)
{
    session s;
    session_begin(&s);
    tg_function *full = function_in(s.ctx, plain, NULL, TG_ACCURACY_DEFAULT);
    tg_function *fast = function_in(s.ctx, plain, NULL, TG_ACCURACY_FAST);
    cr_expect(are_equal(call_in(s.ctx, in_function, full, TG_ACCURACY_FAST),
                        results_of(full, s.ctx)));
    cr_expect(are_equal(call_in(s.ctx, in_function, fast, TG_ACCURACY_FULL),
                        results_of(fast, s.ctx)));
    tg_function_release(full);
    tg_function_release(fast);
    session_end(&s);
}

Test(accuracy, a_gradient_has_that_of_its_operations)
{
    const elements fast =
        call(gradient_of_fast, TG_ACCURACY_DEFAULT, TG_ACCURACY_DEFAULT);
    cr_expect(are_equal(
        call(gradient_of_plain, TG_ACCURACY_DEFAULT, TG_ACCURACY_FAST), fast));
    cr_expect_not(are_equal(
        call(gradient_of_plain, TG_ACCURACY_DEFAULT, TG_ACCURACY_DEFAULT),
        fast));
}

Test(accuracy, other_values_are_rejected)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.accuracy = (tg_accuracy_level)3;
    cr_expect_null(tg_context_create(&options));
    cr_expect_eq(tg_error_last()->status, TG_ERROR_INVALID_ARGUMENT);
    session s;
    session_begin(&s);
    tg_function_options of = TG_FUNCTION_OPTIONS_INIT;
    of.accuracy = (tg_accuracy_level)-1;
    cr_expect_null(tg_function_create(s.ctx, plain, NULL, &of));
    cr_expect_eq(tg_error_last()->status, TG_ERROR_INVALID_ARGUMENT);
    session_end(&s);
}

/* -- Bits ------------------------------------------------------------------ */

Test(accuracy, compiled_code_has_the_bits_of_the_interpreter)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "off"});
    const elements expected =
        call_in(s.ctx, all_functions, NULL, TG_ACCURACY_FAST);
    session_end(&s);
    for (int bits = 128; bits <= 512; bits *= 2)
        for (int threads = 1; threads <= 3; threads++) {
            session_begin_with(&s, (tg_context_options){
                                       .jit = "required",
                                       .threads = threads,
                                       .vector_bits = host_vector_bits(bits)});
            cr_expect(
                are_equal(call_in(s.ctx, all_functions, NULL, TG_ACCURACY_FAST),
                          expected),
                "%d bits, %d threads", bits, threads);
            session_end(&s);
        }
}

/* A small loop runs in registers; its code is first emitted into a temporary
   function. */
static void logistic_step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value y = tg_sigmoid(in[1]);
    tg_return(t, tg_add(y, tg_add(tg_silu(in[1]), tg_exp(tg_neg(y)))));
}

static void logistic_loop(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y;
    tg_for(5, logistic_step, user, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

Test(accuracy, small_loops_have_the_bits_of_the_interpreter)
{
    double given[2][3];
    for (int accuracy = TG_ACCURACY_FULL; accuracy <= TG_ACCURACY_FAST;
         accuracy++) {
        for (int is_compiled = 0; is_compiled < 2; is_compiled++) {
            session s;
            session_begin_with(
                &s,
                (tg_context_options){.jit = is_compiled ? "required" : "off",
                                     .accuracy = (tg_accuracy_level)accuracy});
            tg_function *f =
                tg_function_create(s.ctx, logistic_loop, NULL, NULL);
            tg_tensor *x =
                tg_tensor_create(s.ctx, TG_F64, TG_DIMS(3), tg_zeros());
            tg_tensor *y = NULL;
            cr_assert_eq(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)), TG_OK, "%s",
                         tg_error(NULL));
            memcpy(given[is_compiled], tg_tensor_data(y), sizeof(given[0]));
            tg_tensor_release(x);
            tg_tensor_release(y);
            tg_function_release(f);
            session_end(&s);
        }
        cr_expect_eq(memcmp(given[0], given[1], sizeof(given[0])), 0);
    }
}

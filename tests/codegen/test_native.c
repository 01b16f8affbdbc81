/* SPDX-License-Identifier: MIT */
/*
 * test_native.c - compiled calls behave like interpreted ones: results, effects
 * and their order, and the state after a failure. random-graphs and the op
 * matrix compare the numbers.
 */
#include "support/mappings.h"
#include "support/modes.h"

static tg_tensor *i32_range(tg_context *ctx, int64_t n, int32_t limit)
{
    tg_tensor *x = tg_tensor_create(ctx, TG_I32, TG_DIMS(n), tg_zeros());
    cr_assert_not_null(x);
    int32_t *data = tg_tensor_data(x);
    for (int64_t i = 0; i < n; i++)
        data[i] = (int32_t)(7 * i) % limit;
    return x;
}

static tg_variable *f32_variable(tg_context *ctx, const char *name, int64_t n,
                                 double fill)
{
    tg_variable *v =
        tg_variable_create(ctx, name, TG_F32, TG_DIMS(n), tg_fill(fill));
    cr_assert_not_null(v, "%s", tg_error(NULL));
    return v;
}

/* -- Checks that fail ------------------------------------------------------ */

enum { LENGTH = 100, PICKS = 5000 };

/* in: v, w, x, indices, indices */
static void fail_between(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value before = tg_read(in[0]);
    tg_assign_add(in[0], 1);
    tg_print(t, "first %v", tg_sum(in[0], TG_ALL_AXES));
    tg_value one = tg_gather(in[2], in[3], 0);
    tg_assign(in[1], tg_mul(in[1], 2));
    tg_print(t, "second %v", tg_sum(in[1], TG_ALL_AXES));
    tg_value two = tg_gather(tg_read(in[0]), in[4], 0);
    tg_assign(in[0], tg_slice(in[0], 0, -1, TG_END, -1));
    tg_assign(in[1], before);
    tg_print(t, "third %v", tg_sum(in[1], TG_ALL_AXES));
    tg_return(t, tg_mul(one, two), tg_sum(before, TG_ALL_AXES));
}

/* Calls it with these indices at two positions; records all effects. */
static void call_failing(session *s, outcome *out, int32_t first,
                         int32_t second)
{
    tg_function *f = tg_function_create(s->ctx, fail_between, NULL, NULL);
    tg_variable *v = f32_variable(s->ctx, "v", LENGTH, 1);
    tg_variable *w = f32_variable(s->ctx, "w", LENGTH, 10);
    tg_tensor *x = f32_range(s->ctx, LENGTH), *sum = NULL;
    tg_tensor *i = i32_range(s->ctx, PICKS, LENGTH);
    tg_tensor *k = i32_range(s->ctx, PICKS, LENGTH);
    tg_tensor *y = f32_range(s->ctx, PICKS);
    int32_t *at = tg_tensor_data(i);
    at[4777] = at[3999] = at[4998] = first;
    ((int32_t *)tg_tensor_data(k))[PICKS - 1] = second;
    for (int round = 0; round < 2; round++) {
        const tg_status status =
            note_status(out, tg_call(f, TG_ARGS(v, w, x, i, k),
                                     TG_RESULTS(&y, &sum)));
        note_tensor(out, y);
        note_variable(out, v);
        note_variable(out, w);
        cr_assert_eq(status != TG_OK, sum == NULL);
        if (sum)
            note_tensor(out, sum);
        /* The same call succeeds once the cause is removed. */
        at[4777] = at[3999] = at[4998] = 5;
        ((int32_t *)tg_tensor_data(k))[PICKS - 1] = 6;
    }
    tg_tensor_release(sum);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(i);
    tg_tensor_release(k);
    tg_variable_release(v);
    tg_variable_release(w);
    tg_function_release(f);
}

static void both_are_bad(session *s, outcome *out)
{
    call_failing(s, out, LENGTH, -1);
    cr_assert(strstr(s->printed, "first"));
}

static void only_the_first_is_bad(session *s, outcome *out)
{
    call_failing(s, out, -7, 3);
}

static void only_the_second_is_bad(session *s, outcome *out)
{
    call_failing(s, out, 3, INT32_MAX);
}

static void none_is_bad(session *s, outcome *out)
{
    call_failing(s, out, 1, 2);
}

Test(native, a_failed_check_stops_later_steps)
{
    check_modes(both_are_bad);
    check_modes(only_the_first_is_bad);
    check_modes(only_the_second_is_bad);
    check_modes(none_is_bad);
    check_nothing_is_alive();
}

/* The index is computed from a value assigned just before; a second gather
   depends on the first. */
static void chained_gathers(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_assign_add(in[0], 1);
    tg_value a = tg_gather(in[1], tg_cast(tg_read(in[0]), TG_I32), 0);
    tg_assign_add(in[0], 1);
    tg_value b = tg_gather(in[1], tg_cast(a, TG_I32), 0);
    tg_return(t, a, b);
}

static void chains(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, chained_gathers, NULL, NULL);
    tg_variable *v = f32_variable(s->ctx, "v", 4, 0);
    tg_tensor *x = f32_vector(s->ctx, 0, 2, 1, 4, 9, 3), *a = NULL, *b = NULL;
    for (int i = 0; i < 6; i++) {
        note_status(out,
                    tg_call(f, TG_ARGS(v, x), TG_RESULTS(&a, &b)));
        note_variable(out, v);
    }
    tg_tensor_release(x);
    tg_tensor_release(a);
    tg_tensor_release(b);
    tg_variable_release(v);
    tg_function_release(f);
}

Test(native, indices_that_are_computed_are_checked_in_order)
{
    check_modes(chains);
    check_nothing_is_alive();
}

/* -- Results --------------------------------------------------------------- */

static void turn_around(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value sum = tg_sum(in[0], TG_ALL_AXES);
    tg_return(t, tg_slice(in[0], 0, -1, TG_END, -1), tg_add(in[1], sum),
              tg_mul(in[0], in[1]));
}

/* Results may be in the memory of arguments: each in its own, or crosswise. */
static void in_place(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, turn_around, NULL, NULL);
    for (int cross = 0; cross < 2; cross++) {
        tg_tensor *x = f32_range(s->ctx, 500), *z = NULL;
        tg_tensor *y = f32_range(s->ctx, 500);
        tg_tensor **first = cross ? &y : &x, **second = cross ? &x : &y;
        for (int i = 0; i < 2; i++)
            note_status(out, tg_call(f, TG_ARGS(x, y),
                                     TG_RESULTS(first, second, &z)));
        note_tensor(out, x);
        note_tensor(out, y);
        note_tensor(out, z);
        tg_tensor_release(x);
        tg_tensor_release(y);
        tg_tensor_release(z);
    }
    tg_function_release(f);
}

Test(native, results_may_be_arguments)
{
    check_modes(in_place);
    check_nothing_is_alive();
}

static void without_results(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, turn_around, NULL, NULL);
    tg_tensor *x = f32_range(s->ctx, 500), *y = f32_range(s->ctx, 500);
    tg_tensor *last = NULL;
    note_status(out, tg_call(f, TG_ARGS(x, y), TG_RESULTS()));
    note_status(out, tg_call(f, TG_ARGS(x, y), TG_RESULTS(NULL, NULL, &last)));
    note_tensor(out, last);
    note_status(out, tg_call(f, TG_ARGS(x, y), TG_RESULTS(NULL, &last, NULL)));
    note_tensor(out, last);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(last);
    tg_function_release(f);
}

Test(native, unrequested_results_are_discarded)
{
    check_modes(without_results);
    check_nothing_is_alive();
}

/* The same value as several results, an argument as a result, a constant. */
static void hand_through(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_exp(in[0]);
    const float table[] = {1, 2, 3};
    tg_return(t, y, in[0], y, tg_constant(TG_F32, TG_DIMS(3), table),
              tg_reshape(in[0], TG_DIMS(2, -1)), tg_scalar(TG_F32, 7),
              tg_extent(in[0], 0));
}

static void through(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, hand_through, NULL, NULL);
    tg_tensor *x = f32_range(s->ctx, 40), *y[7] = {NULL};
    note_status(out, tg_call(f, TG_ARGS(x),
                             TG_RESULTS(&y[0], &y[1], &y[2], &y[3], &y[4],
                                        &y[5], &y[6])));
    for (int i = 0; i < 7; i++) {
        note_tensor(out, y[i]);
        tg_tensor_release(y[i]);
    }
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(native, values_may_be_results_as_they_are)
{
    check_modes(through);
    check_nothing_is_alive();
}

/* -- Prints ---------------------------------------------------------------- */

static void print_often(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_print(t, "0: %v of %v", in[0], tg_extent(in[1], 0));
    for (int i = 1; i < 6; i++) {
        tg_assign(in[0], tg_add(tg_mul(in[0], 2), tg_mul(in[1], 0.5)));
        tg_print(t, "%v: %v", i, in[0]);
    }
    tg_print(t, "transposed %v and %v",
             tg_transpose(tg_reshape(in[1], TG_DIMS(2, -1)), TG_PERM(1, 0)),
             tg_iota(TG_I32, TG_DIMS(3), 0));
    tg_print(t, "no value");
}

static void prints(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, print_often, NULL, NULL);
    tg_variable *v = f32_variable(s->ctx, "v", 8, 1);
    tg_tensor *x = f32_range(s->ctx, 8);
    note_status(out, tg_call(f, TG_ARGS(v, x), TG_RESULTS()));
    note_status(out, tg_call(f, TG_ARGS(v, x), TG_RESULTS()));
    note_variable(out, v);
    tg_tensor_release(x);
    tg_variable_release(v);
    tg_function_release(f);
}

Test(native, prints_are_in_program_order)
{
    check_modes(prints);
    check_nothing_is_alive();
}

static void assign_around_print(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value old = tg_mul(in[0], 3);
    tg_assign(in[0], tg_add(in[0], 1));
    tg_print(t, "%v", in[0]);
    tg_assign(in[1], tg_add(in[1], old));
}

static void check_elements(tg_variable *variable, float want)
{
    const float *data = tg_variable_map(variable, TG_READ);
    cr_assert_not_null(data);
    for (int i = 0; i < 8; i++)
        cr_assert_eq(data[i], want, "%g, not %g", (double)data[i],
                     (double)want);
    check_works(tg_variable_unmap(variable));
}

/* Effects before a failing print have happened; effects after it have not. */
Test(native, a_failing_print_keeps_program_order)
{
    need_compiler();
    static const char *const modes[] = {"off", "required"};
    for (int m = 0; m < 2; m++) {
        session s;
        session_begin_with(&s, (tg_context_options){.jit = modes[m]});
        tg_function *f =
            tg_function_create(s.ctx, assign_around_print, NULL, NULL);
        tg_variable *v = f32_variable(s.ctx, "v", 8, 1);
        tg_variable *w = f32_variable(s.ctx, "w", 8, 10);
        tg_bound *bound = tg_bind(f, TG_ARGS(v, w), TG_RESULTS());
        cr_assert_not_null(bound, "%s", tg_error(NULL));
        tgi_alloc_inject_failure(0, true);
        const tg_status status = tg_run(bound);
        tgi_alloc_inject_failure(-1, false);
        check_fails(status, TG_ERROR_OUT_OF_MEMORY, "out of memory");
        check_elements(v, 2);
        check_elements(w, 10);
        check_works(tg_run(bound));
        check_elements(v, 3);
        check_elements(w, 16);
        tg_bound_release(bound);
        tg_variable_release(v);
        tg_variable_release(w);
        tg_function_release(f);
        session_end(&s);
    }
    check_nothing_is_alive();
}

/* -- Bound calls ----------------------------------------------------------- */

static void scale(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_slice(tg_mul(in[0], in[1]), 0, -1, TG_END, -1),
              tg_sum(in[0], TG_ALL_AXES));
}

static void rebound(session *s, outcome *out)
{
    enum { N = 300 };
    float a[N], b[N], c[N], k = 3;
    for (int i = 0; i < N; i++)
        a[i] = (float)i, b[i] = -0.5f * (float)i, c[i] = 0;
    tg_function *f = tg_function_create(s->ctx, scale, NULL, NULL);
    tg_tensor *x = tg_tensor_wrap(s->ctx, a, TG_F32, TG_DIMS(N));
    tg_tensor *y = NULL, *sum = NULL;
    tg_bound *bound = tg_bind(f, TG_ARGS(x, 2.0f), TG_RESULTS(&y, &sum));
    cr_assert_not_null(bound, "%s", tg_error(NULL));
    note_status(out, tg_run(bound));
    note_tensor(out, y);
    note_tensor(out, sum);
    check_works(tg_bound_set(bound, 0, b));
    check_works(tg_bound_set(bound, 1, &k));
    note_status(out, tg_run(bound));
    note_tensor(out, y);
    check_works(tg_bound_set_result(bound, 0, c));
    k = 5;
    note_status(out, tg_run(bound));
    note(out, c, sizeof(c));
    note_tensor(out, y); /* unchanged */
    /* In its own argument, then elsewhere again. */
    check_works(tg_bound_set_result(bound, 0, b));
    note_status(out, tg_run(bound));
    note_status(out, tg_run(bound));
    note(out, b, sizeof(b));
    note_status(out, tg_bound_set_result(bound, 0, b + 1));
    check_works(tg_bound_set_result(bound, 0, c));
    note_status(out, tg_run(bound));
    note(out, b, sizeof(b));
    note(out, c, sizeof(c));
    note_tensor(out, sum);
    tg_bound_release(bound);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(sum);
    tg_function_release(f);
}

Test(native, memory_of_bound_calls_may_be_swapped)
{
    check_modes(rebound);
    check_nothing_is_alive();
}

static void row_statistics(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_softmax(tg_mul(in[0], in[1]), -1);
    tg_return(t, y, tg_sum(y, TG_AXES(0)),
              tg_concat(0, in[0], in[0]), tg_cast(tg_extent(in[0], 1), TG_I32));
}

/* One trace with unknown extents serves all sizes, including 0 and 1. */
static void all_sizes(session *s, outcome *out)
{
    static const int64_t sizes[] = {3, 1, 0, 65, 2};
    float data[65 * 65], row[65];
    for (int i = 0; i < 65 * 65; i++)
        data[i] = (float)(i % 17) * 0.125f;
    for (int i = 0; i < 65; i++)
        row[i] = (float)i * 0.0625f;
    const tg_spec signature[] = {
        tg_spec_tensor(TG_F32, TG_DIMS(TG_UNKNOWN, TG_UNKNOWN)),
        tg_spec_tensor(TG_F32, TG_DIMS(TG_UNKNOWN))};
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.signature = signature;
    options.n_signature = 2;
    tg_function *f = tg_function_create(s->ctx, row_statistics, NULL, &options);
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 5; k++) {
            const int64_t m = sizes[i], n = sizes[k];
            for (int own = 0; own < 2; own++) {
                const int64_t width = own ? n : 1;
                tg_tensor *x =
                    tg_tensor_wrap(s->ctx, data, TG_F32, TG_DIMS(m, n));
                tg_tensor *z =
                    tg_tensor_wrap(s->ctx, row, TG_F32, TG_DIMS(width));
                tg_tensor *y[4] = {NULL};
                tg_bound *bound =
                    tg_bind(f, TG_ARGS(x, z),
                            TG_RESULTS(&y[0], &y[1], &y[2], &y[3]));
                note_status(out, bound ? TG_OK : tg_error_last()->status);
                for (int run = 0; bound && run < 2; run++) {
                    note_status(out, tg_run(bound));
                    out->n -= run ? 0 : sizeof(tg_status);
                }
                uint64_t hash = 1469598103934665603u;
                for (int r = 0; r < 4; r++) {
                    const unsigned char *at = tg_tensor_data(y[r]);
                    for (size_t b = 0; b < tg_tensor_bytes(y[r]); b++)
                        hash = (hash ^ at[b]) * 1099511628211u;
                    tg_tensor_release(y[r]);
                }
                note(out, &hash, sizeof(hash));
                tg_bound_release(bound);
                tg_tensor_release(x);
                tg_tensor_release(z);
            }
        }
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_function_release(f);
}

Test(native, bound_calls_with_unknown_extents_serve_all_sizes)
{
    check_modes(all_sizes);
    check_nothing_is_alive();
}

/* -- Nothing at all -------------------------------------------------------- */

/* in: v[0], x[0,3], i[0], y[3,0] */
static void with_nothing(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = in[1], y = in[3];
    tg_value mean = tg_mean(y, TG_AXES(1)); /* NaNs */
    tg_assign_add(in[0], 1);
    tg_print(t, "%v %v", in[0], x);
    tg_return(t, tg_exp(x), tg_sum(x, TG_AXES(0)), tg_sum(x, TG_ALL_AXES),
              tg_prod(y, TG_AXES(1)), tg_ne(mean, mean),
              tg_matmul(y, x), tg_matmul(x, y), tg_gather(x, in[2], 1),
              tg_gather(y, in[2], 0), tg_concat(0, x, x),
              tg_concat(0, x, tg_matmul(y, x)), tg_pad(x, 0, 1, 2, 5),
              tg_transpose(x, TG_PERM(1, 0)), tg_exp(tg_sub(y, 1)),
              tg_random_uniform(5, TG_F32, TG_DIMS(0, 2)),
              tg_iota(TG_I64, TG_DIMS(0), 0), tg_any(tg_gt(x, 0), TG_ALL_AXES),
              tg_all(tg_gt(y, 0), TG_AXES(1)),
              tg_gather_with(y, in[2], 1, TG_GATHER_ZERO),
              tg_slice(tg_pad(x, 0, 0, 3, 2), 0, 1, 1, 1));
}

enum { N_NOTHINGS = 20 };

static void nothing(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, with_nothing, NULL, NULL);
    tg_variable *v = f32_variable(s->ctx, "v", 0, 1);
    tg_tensor *x = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(0, 3), tg_zeros());
    tg_tensor *i = tg_tensor_create(s->ctx, TG_I32, TG_DIMS(0), tg_zeros());
    tg_tensor *z = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(3, 0), tg_zeros());
    tg_tensor *y[N_NOTHINGS] = {NULL};
    tg_result results[N_NOTHINGS];
    for (int r = 0; r < N_NOTHINGS; r++)
        results[r] = TG_OUT(&y[r]);
    cr_assert_eq(note_status(out, tg_call(f, TG_ARGS(v, x, i, z), results,
                                          (size_t)N_NOTHINGS)),
                 TG_OK, "%s", tg_error(NULL));
    note_status(out, tg_call(f, TG_ARGS(v, x, i, z), TG_RESULTS()));
    for (int r = 0; r < N_NOTHINGS; r++) {
        for (int axis = 0; axis < tg_tensor_rank(y[r]); axis++)
            note(out, &tg_tensor_dims(y[r])[axis], sizeof(int64_t));
        note_tensor(out, y[r]);
        tg_tensor_release(y[r]);
    }
    note_variable(out, v);
    tg_tensor_release(x);
    tg_tensor_release(i);
    tg_tensor_release(z);
    tg_variable_release(v);
    tg_function_release(f);
}

Test(native, nothing_is_computed_from_nothing)
{
    check_modes(nothing);
    check_nothing_is_alive();
}

static void do_nothing(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)in, (void)user;
}

static void empty_function(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, do_nothing, NULL, NULL);
    note_status(out, tg_call(f, TG_ARGS(), TG_RESULTS()));
    note_status(out, tg_call(f, TG_ARGS(1), TG_RESULTS()));
    tg_function_release(f);
}

Test(native, a_function_may_do_nothing)
{
    check_modes(empty_function);
    check_nothing_is_alive();
}

/* -- Memory ---------------------------------------------------------------- */

static void keeps_much(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_exp(in[0]); /* 256 KiB, used by two kernels */
    tg_return(t, tg_sum(tg_transpose(y, TG_PERM(1, 0)), TG_AXES(1)),
              tg_matmul(y, y));
}

Test(native, the_memory_limit_is_enforced)
{
    need_compiler();
    for (int small = 0; small < 2; small++) {
        session s;
        session_begin_with(&s,
                           (tg_context_options){
                               .jit = "required",
                               .memory_limit = small ? 300000 : 1 << 20});
        tg_function *f = tg_function_create(s.ctx, keeps_much, NULL, NULL);
        tg_tensor *x =
            tg_tensor_create(s.ctx, TG_F32, TG_DIMS(256, 256), tg_zeros());
        memset(tg_tensor_data(x), 0, tg_tensor_bytes(x));
        for (int i = 0; i < 2; i++)
            if (small)
                check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS()),
                            TG_ERROR_OUT_OF_MEMORY, "temporaries", "300000");
            else
                check_works(tg_call(f, TG_ARGS(x), TG_RESULTS()));
        tg_tensor_release(x);
        tg_function_release(f);
        session_end(&s);
    }
}

static void square(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], in[0]));
}

/* Compiles and drops a function `n` times. */
static void compile_and_free(tg_context *ctx, int n)
{
    for (int i = 0; i < n; i++) {
        tg_function *f = tg_function_create(ctx, square, NULL, NULL);
        tg_tensor *y = call_one(f, TG_ARGS((float)i));
        const float want = (float)i * (float)i;
        cr_assert_eq(*(float *)tg_tensor_data(y), want);
        tg_tensor_release(y);
        tg_function_release(f);
    }
}

/* TGJIT_TEST_CYCLES: number of cycles, for long runs. */
Test(native, compiling_and_freeing_for_long_takes_no_memory)
{
    need_compiler();
    const char *cycles = getenv("TGJIT_TEST_CYCLES");
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "required"});
    compile_and_free(s.ctx, 50);
    const size_t bytes = tg_live_bytes(), objects = tg_live_objects();
    const mappings before = read_mappings();
    compile_and_free(s.ctx, cycles ? atoi(cycles) : 300);
    const mappings after = read_mappings();
    cr_assert_eq(tg_live_bytes(), bytes);
    cr_assert_eq(tg_live_objects(), objects);
    cr_assert_leq(after.n, before.n + 8, "%d mappings, then %d", before.n,
                  after.n);
    cr_assert_leq(after.n_executable, before.n_executable);
    cr_assert_eq(after.n_both, 0);
    session_end(&s);
}

/* A binding remains valid if memory for another one is missing. */
Test(native, a_binding_that_finds_no_memory_changes_nothing)
{
    need_compiler();
    enum { N = 100 };
    float a[N], b[N];
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "required"});
    for (int i = 0; i < N; i++)
        a[i] = (float)i, b[i] = -1;
    tg_function *f = tg_function_create(s.ctx, square, NULL, NULL);
    tg_tensor *x = tg_tensor_wrap(s.ctx, a, TG_F32, TG_DIMS(N));
    tg_tensor *y = tg_tensor_wrap(s.ctx, b, TG_F32, TG_DIMS(N));
    tg_bound *bound = tg_bind(f, TG_ARGS(x), TG_RESULTS(&y));
    cr_assert_not_null(bound);
    tgi_alloc_inject_failure(0, true);
    const tg_status status = tg_bound_set(bound, 0, b);
    tgi_alloc_inject_failure(-1, false);
    check_fails(status, TG_ERROR_OUT_OF_MEMORY, "out of memory");
    check_works(tg_run(bound));
    for (int i = 0; i < N; i++)
        cr_assert_eq(b[i], (float)(i * i));
    check_works(tg_bound_set(bound, 0, b));
    check_works(tg_run(bound));
    for (int i = 0; i < N; i++)
        cr_assert_eq(b[i], (float)(i * i) * (float)(i * i));
    tg_bound_release(bound);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
}

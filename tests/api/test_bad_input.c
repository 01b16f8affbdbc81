/* SPDX-License-Identifier: MIT */
/*
 * test_bad_input.c - invalid use outside of operations: handles, sizes,
 * options, buffers and callbacks. Each call returns an error and changes
 * nothing, or returns the right result; it never crashes, hangs or leaks.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/api.h"

static void twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 2));
}

/* -- NULL and foreign handles ---------------------------------------------- */

Test(bad_input, null_handles_are_refused_when_objects_are_made)
{
    const int64_t dims[] = {2};
    float data[2] = {0};
    cr_assert_null(tg_tensor_create(NULL, TG_F32, 1, dims, tg_zeros()));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_tensor_create", "NULL");
    cr_assert_null(tg_tensor_wrap(NULL, data, TG_F32, 1, dims));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_tensor_wrap", "NULL");
    cr_assert_null(tg_tensor_copy(NULL, data, TG_F32, 1, dims));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_tensor_copy", "NULL");
    cr_assert_null(tg_variable_create(NULL, "v", TG_F32, 1, dims, tg_zeros()));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_variable_create", "NULL");
    cr_assert_null(tg_generator_create(NULL, "g", 1));
    check_record(TG_ERROR_INVALID_ARGUMENT, "NULL");
    cr_assert_null(tg_group_create(NULL));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_group_create", "NULL");
    cr_assert_null(tg_function_create(NULL, twice, NULL, NULL));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_function_create", "NULL");
    check_nothing_is_alive();
}

Test(bad_input, null_handles_are_refused_when_called)
{
    cr_assert_eq(tg_call(NULL, TG_ARGS(), TG_RESULTS()),
                 TG_ERROR_INVALID_ARGUMENT);
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_call", "NULL", __FILE__);
    cr_assert_null(tg_bind(NULL, TG_ARGS(), TG_RESULTS()));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_bind", "NULL");
    check_fails(tg_run(NULL), TG_ERROR_INVALID_ARGUMENT, "tg_run");
    check_fails(tg_bound_set(NULL, 0, NULL), TG_ERROR_INVALID_ARGUMENT,
                "tg_bound_set");
    check_fails(tg_bound_set_result(NULL, 0, NULL), TG_ERROR_INVALID_ARGUMENT,
                "tg_bound_set_result");
    cr_assert_null(tg_function_concrete(NULL, NULL, 0));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_function_concrete");
    check_fails(tg_concrete_call(NULL, TG_ARGS(), TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT, "tg_concrete_call");
    cr_assert_null(tg_variable_map(NULL, TG_READ));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_variable_map");
    check_fails(tg_variable_unmap(NULL), TG_ERROR_INVALID_ARGUMENT,
                "tg_variable_unmap");
    check_fails(tg_variable_get(NULL, NULL, 0), TG_ERROR_INVALID_ARGUMENT,
                "tg_variable_get");
    check_fails(tg_variable_set(NULL, NULL, 0), TG_ERROR_INVALID_ARGUMENT,
                "tg_variable_set");
}

Test(bad_input, null_handles_have_no_texts)
{
    tg_error_clear();
    cr_assert_null(tg_function_text(NULL, TG_TEXT_SHORT));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_function_text");
    tg_error_clear();
    cr_assert_null(tg_concrete_text(NULL, TG_TEXT_SHORT));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_concrete_text");
    tg_error_clear();
    cr_assert_null(tg_explain_retrace(NULL));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_explain_retrace");
}

Test(bad_input, null_handles_are_nothing_to_release_or_ask)
{
    tg_context_release(NULL);
    tg_tensor_release(NULL);
    tg_variable_release(NULL);
    tg_group_release(NULL);
    tg_function_release(NULL);
    tg_concrete_release(NULL);
    tg_bound_release(NULL);
    tg_text_free(NULL);
    tg_bundle_release(NULL, NULL);
    tg_function_clear(NULL);
    cr_assert_null(tg_context_retain(NULL));
    cr_assert_null(tg_tensor_retain(NULL));
    cr_assert_null(tg_variable_retain(NULL));
    cr_assert_null(tg_group_retain(NULL));
    cr_assert_null(tg_function_retain(NULL));
    cr_assert_null(tg_concrete_retain(NULL));
    cr_assert_null(tg_tensor_data(NULL));
    cr_assert_null(tg_tensor_dims(NULL));
    cr_assert_eq(tg_tensor_dtype(NULL), TG_DTYPE_NONE);
    cr_assert_eq(tg_tensor_rank(NULL), -1);
    cr_assert_eq(tg_tensor_count(NULL), 0);
    cr_assert_eq(tg_tensor_bytes(NULL), 0);
    cr_assert_null(tg_variable_dims(NULL));
    cr_assert_eq(tg_variable_dtype(NULL), TG_DTYPE_NONE);
    cr_assert_eq(tg_variable_rank(NULL), -1);
    cr_assert_eq(tg_variable_count(NULL), 0);
    cr_assert_eq(tg_variable_bytes(NULL), 0);
    cr_assert_eq(tg_variable_version(NULL), 0);
    cr_assert_not(tg_variable_is_trainable(NULL));
    cr_assert_str_eq(tg_variable_name(NULL), "");
    cr_assert_str_eq(tg_function_name(NULL), "");
    cr_assert_eq(tg_function_trace_count(NULL), 0);
    cr_assert_not(tg_function_retrace(NULL, 0, NULL));
    cr_assert_eq(tg_context_variables(NULL, TG_ALL_VARIABLES, NULL, 5), 0);
    cr_assert_null(tg_context_find_variable(NULL, "v"));
    cr_assert_eq(tg_bundle_variables(NULL, NULL, TG_ALL_VARIABLES, NULL, 5), 0);
    cr_assert_eq(tg_bundle_count(NULL, NULL, TG_ALL_VARIABLES), 0);
    cr_assert_eq(tg_trace_status(NULL), TG_ERROR_INVALID_ARGUMENT);
}

Test(bad_input, null_arguments_and_results)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_fails(tg_call_at(f, NULL, 3, TG_RESULTS(), TG_HERE),
                TG_ERROR_INVALID_ARGUMENT, "arguments", "NULL");
    check_fails(tg_call(f, TG_ARGS((tg_tensor *)NULL), TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT, "argument 0", "NULL");
    check_fails(tg_call(f, TG_ARGS((tg_variable *)NULL), TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT, "variable", "NULL");
    check_fails(tg_call(f, TG_ARGS(tg_value_of(NULL)), TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT, "NULL");
    check_fails(tg_call(f, TG_ARGS(TG_STATIC((char *)NULL)), TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT, "argument 0", "NULL");
    check_fails(tg_call(f, TG_ARGS(tg_make_static(TG_IN(x))), TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT, "static");
    check_fails(tg_call(f, TG_ARGS("plain text"), TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT, "argument 0");
    check_fails(tg_call(f, TG_ARGS(((tg_operand){.kind = 99})), TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT, "argument 0");
    check_fails(tg_call(f, TG_ARGS(((tg_operand){.kind = TG_OPERAND_INT,
                                                 .dtype = 99})),
                        TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT, "argument 0");
    cr_assert_null(tg_function_concrete(f, NULL, 1));
    check_record(TG_ERROR_INVALID_ARGUMENT, "NULL");
    cr_assert_eq(tg_function_trace_count(f), 0);

    /* Results without a tensor are discarded, which is not an error. */
    check_works(tg_call_at(f, TG_ARGS(x), NULL, 4, TG_HERE));
    tg_tensor *y = NULL, *z = NULL;
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(&y, &z)),
                TG_ERROR_INVALID_ARGUMENT, "1 result, but 2 were requested");
    cr_assert_null(y);
    cr_assert_null(tg_bind(f, TG_ARGS(x), TG_RESULTS(&y, &z)));
    check_record(TG_ERROR_INVALID_ARGUMENT, "1 result, but 2 were requested");
    cr_assert_null(y);
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y, NULL)));
    check_f32(y, 2, 4);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

static void use_foreign_tensor(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, tg_add(in[0], (tg_tensor *)user));
}

static void use_foreign_variable(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, tg_add(in[0], (tg_variable *)user));
}

static void use_foreign_function(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y;
    tg_apply((tg_function *)user, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

Test(bad_input, foreign_handles_are_refused)
{
    session s, other;
    session_begin(&s);
    session_begin(&other);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    tg_tensor *far_x = f32_vector(other.ctx, 1, 2);
    tg_variable *far_v = f32_scalar_variable(other.ctx, "far", 1);
    tg_group *far_group = tg_group_create(other.ctx);
    tg_function *far_f = tg_function_create(other.ctx, twice, NULL, NULL);
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);

    check_fails(tg_call(f, TG_ARGS(far_x), TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT, "argument 0", "another context");
    check_fails(tg_call(f, TG_ARGS(far_v), TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT, "'far'", "another context");
    check_fails(tg_call(f, TG_ARGS(tg_value_of(far_v)), TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT, "'far'", "another context");
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(&far_x)),
                TG_ERROR_INVALID_ARGUMENT, "result 0", "another context");
    tg_variable_options options = TG_VARIABLE_OPTIONS_INIT;
    options.group = far_group;
    cr_assert_null(tg_variable_create_with(s.ctx, "v", TG_F32, TG_SCALAR,
                                           tg_zeros(), &options));
    check_record(TG_ERROR_INVALID_ARGUMENT, "group", "another context");

    const struct {
        tg_callback *callback;
        void *user;
    } rows[] = {{use_foreign_variable, far_v},
                {use_foreign_function, far_f},
                {use_foreign_variable, NULL},
                {use_foreign_function, NULL},
                {use_foreign_tensor, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tg_function *g = tg_function_create(s.ctx, rows[i].callback,
                                            rows[i].user, NULL);
        check_fails(tg_call(g, TG_ARGS(x), TG_RESULTS()),
                    TG_ERROR_INVALID_ARGUMENT,
                    rows[i].user ? "another context" : "NULL");
        tg_function_release(g);
    }
    check_f32(call_one(f, TG_ARGS(x)), 2, 4);
    cr_assert_eq(tg_function_trace_count(f), 1);
    cr_assert_str_eq(tg_error(other.ctx), "");
    tg_tensor_release(x);
    tg_tensor_release(far_x);
    tg_variable_release(far_v);
    tg_group_release(far_group);
    tg_function_release(far_f);
    tg_function_release(f);
    tg_context_release(other.ctx);
    session_end(&s);
}

/* -- Sizes ----------------------------------------------------------------- */

/* Creates a tensor and a variable of that shape; both must be rejected
   alike. */
static void check_shape_refused(tg_context *ctx, tg_dtype dtype, int rank,
                                const int64_t *dims, tg_status wanted)
{
    static double memory[4];
    cr_assert_null(tg_tensor_create(ctx, dtype, rank, dims, tg_zeros()));
    check_record(wanted, "tg_tensor_create");
    cr_assert_null(tg_tensor_wrap(ctx, memory, dtype, rank, dims));
    check_record(wanted, "tg_tensor_wrap");
    cr_assert_null(tg_tensor_copy(ctx, memory, dtype, rank, dims));
    check_record(wanted, "tg_tensor_copy");
    cr_assert_null(
        tg_variable_create(ctx, "v", dtype, rank, dims, tg_fill(1)));
    check_record(wanted, "tg_variable_create");
    const tg_spec specs[] = {tg_spec_tensor(dtype, rank, dims),
                             tg_spec_variable(dtype, rank, dims)};
    for (int i = 0; i < 2; i++) {
        tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
        options.signature = &specs[i];
        options.n_signature = 1;
        if (rank == 1 && dims && dims[0] == TG_UNKNOWN && i == 0)
            continue; /* valid in a tensor spec */
        cr_assert_null(tg_function_create(ctx, twice, NULL, &options));
        check_record(wanted, "");
        tg_function *f = tg_function_create(ctx, twice, NULL, NULL);
        cr_assert_null(tg_function_concrete(f, &specs[i], 1));
        check_record(wanted, "");
        tg_function_release(f);
    }
}

Test(bad_input, rank_extents_and_sizes_are_checked_at_creation)
{
    session s;
    session_begin(&s);
    const int64_t ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    const int64_t big = INT64_C(1) << 32;
    check_shape_refused(s.ctx, TG_F32, 9, ones, TG_ERROR_OVERFLOW);
    check_shape_refused(s.ctx, TG_F32, -1, ones, TG_ERROR_OVERFLOW);
    check_shape_refused(s.ctx, TG_F32, INT32_MAX, ones, TG_ERROR_OVERFLOW);
    check_shape_refused(s.ctx, TG_F32, 1, (int64_t[]){-1}, TG_ERROR_SHAPE);
    check_shape_refused(s.ctx, TG_F32, 1, (int64_t[]){INT64_MIN},
                        TG_ERROR_SHAPE);
    check_shape_refused(s.ctx, TG_F32, 2, (int64_t[]){0, -7000},
                        TG_ERROR_SHAPE);
    check_shape_refused(s.ctx, TG_F32, 1, (int64_t[]){INT64_MAX},
                        TG_ERROR_OVERFLOW);
    check_shape_refused(s.ctx, TG_F64, 1, (int64_t[]){INT64_C(1) << 60},
                        TG_ERROR_OVERFLOW);
    check_shape_refused(s.ctx, TG_I8, 2, (int64_t[]){big, big},
                        TG_ERROR_OVERFLOW);
    check_shape_refused(s.ctx, TG_DTYPE_NONE, 1, ones, TG_ERROR_DTYPE);
    check_shape_refused(s.ctx, (tg_dtype)(TG_F64 + 1), 1, ones,
                        TG_ERROR_DTYPE);
    check_shape_refused(s.ctx, (tg_dtype)-3, 1, ones, TG_ERROR_DTYPE);
    check_shape_refused(s.ctx, (tg_dtype)1000, 1, ones, TG_ERROR_DTYPE);
    cr_assert_null(tg_tensor_create(s.ctx, TG_F32, 2, NULL, tg_zeros()));
    check_record(TG_ERROR_INVALID_ARGUMENT, "NULL");
    cr_assert_null(tg_variable_create(s.ctx, "v", TG_F32, 2, NULL, tg_zeros()));
    check_record(TG_ERROR_INVALID_ARGUMENT, "NULL");
    cr_assert_null(tg_tensor_copy(s.ctx, NULL, TG_F32, TG_DIMS(2)));
    check_record(TG_ERROR_INVALID_ARGUMENT, "NULL");
    cr_assert_null(tg_tensor_wrap(s.ctx, NULL, TG_F32, TG_DIMS(2)));
    check_record(TG_ERROR_INVALID_ARGUMENT, "NULL");
    session_end(&s);
}

/* x[n] reshaped to a cube whose extents are known only at the call. */
static void cube(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const int64_t n = tg_value_dim(in[0], 0);
    tg_return(t, tg_sum(tg_exp(tg_broadcast(in[0], TG_DIMS(n, n, n))),
                        TG_ALL_AXES));
}

Test(bad_input, run_time_sizes_are_checked_by_the_call)
{
    session s;
    session_begin(&s);
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = TG_RELAXED;
    tg_function *f = tg_function_create(s.ctx, cube, NULL, &options);
    tg_tensor *small = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(4), tg_zeros());
    tg_tensor *large =
        tg_tensor_create(s.ctx, TG_F32, TG_DIMS(1 << 22), tg_zeros());
    check_f32(call_one(f, TG_ARGS(small)), 64);
    check_fails(tg_call(f, TG_ARGS(large), TG_RESULTS()), TG_ERROR_OVERFLOW,
                "");
    check_f32(call_one(f, TG_ARGS(small)), 64);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(small);
    tg_tensor_release(large);
    tg_function_release(f);
    session_end(&s);
}

/* -- Zero-size dims -------------------------------------------------------- */

static void reduce_all(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = in[0], is_one = tg_eq(x, 1);
    tg_return(t, tg_sum(x, TG_AXES(0)), tg_prod(x, TG_AXES(0)),
              tg_mean(x, TG_AXES(0)),
              tg_cast(tg_any(is_one, TG_AXES(0)), TG_F32),
              tg_cast(tg_all(is_one, TG_AXES(0)), TG_F32));
}

Test(bad_input, reductions_of_nothing_give_their_identity)
{
    session s;
    session_begin(&s);
    for (int policy = TG_EXACT; policy <= TG_RELAXED; policy++) {
        tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
        options.policy = (tg_policy)policy;
        tg_function *f = tg_function_create(s.ctx, reduce_all, NULL, &options);
        tg_tensor *x =
            tg_tensor_create(s.ctx, TG_F32, TG_DIMS(0, 2), tg_zeros());
        tg_tensor *y[5] = {NULL};
        check_works(tg_call(f, TG_ARGS(x),
                            TG_RESULTS(&y[0], &y[1], &y[2], &y[3], &y[4])));
        check_f32(y[0], 0, 0);
        check_f32(y[1], 1, 1);
        const float *mean = tg_tensor_data(y[2]);
        cr_assert(isnan(mean[0]) && isnan(mean[1]));
        tg_tensor_release(y[2]);
        check_f32(y[3], 0, 0);
        check_f32(y[4], 1, 1);
        tg_tensor_release(x);
        tg_function_release(f);
    }
    session_end(&s);
}

static void largest(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_reduce_max(in[0], TG_ALL_AXES));
}

static void smallest_at(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_argmin(in[0], 0));
}

Test(bad_input, max_of_nothing_is_an_error_of_the_call)
{
    session s;
    session_begin(&s);
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = TG_RELAXED;
    tg_tensor *none = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(0), tg_zeros());
    tg_tensor *x = f32_vector(s.ctx, 1, 7, 3);
    tg_function *f = tg_function_create(s.ctx, largest, NULL, &options);
    check_f32(call_one(f, TG_ARGS(x)), 7);
    check_fails(tg_call(f, TG_ARGS(none), TG_RESULTS()), TG_ERROR_SHAPE,
                "reduce_max", __FILE__);
    tg_function *g = tg_function_create(s.ctx, smallest_at, NULL, &options);
    check_i64(call_one(g, TG_ARGS(x)), 0);
    check_fails(tg_call(g, TG_ARGS(none), TG_RESULTS()), TG_ERROR_SHAPE,
                "argmin", __FILE__);
    tg_tensor_release(none);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
}

static void all_kinds_of_nothing(tg_trace *t, const tg_value *in, void *user)
{
    tg_value x = in[0]; /* [0,3] */
    tg_variable *v = user;
    tg_assign(v, tg_exp(x));
    tg_print(t, "%v", x);
    tg_value no_indices = tg_iota(TG_I32, TG_DIMS(0), 0);
    tg_return(
        t, tg_matmul_with(x, x, TG_TRANSPOSE_A), /* [3,3] of zeros */
        tg_matmul_with(x, x, TG_TRANSPOSE_B),    /* [0,0] */
        tg_concat(0, x, tg_iota(TG_F32, TG_DIMS(2, 3), 1), x),
        tg_gather(tg_transpose(x, TG_PERM(1, 0)), no_indices, 0),
        tg_gather(x, no_indices, 0), tg_pad(x, 0, 1, 1, 5),
        tg_reshape(x, TG_DIMS(3, 0, 7)), tg_slice(x, 0, 0, TG_END, 2),
        tg_softmax(x, 1), tg_random_normal(3, TG_F32, TG_DIMS(0)), tg_read(v));
}

Test(bad_input, tensors_of_nothing_go_through_every_operation)
{
    session s;
    session_begin(&s);
    tg_variable *v =
        tg_variable_create(s.ctx, "v", TG_F32, TG_DIMS(0, 3), tg_fill(1));
    tg_tensor *x = tg_tensor_wrap(s.ctx, NULL, TG_F32, TG_DIMS(0, 3));
    cr_assert_not_null(x, "%s", tg_error(NULL));
    for (int policy = TG_EXACT; policy <= TG_RELAXED; policy++) {
        tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
        options.policy = (tg_policy)policy;
        tg_function *f =
            tg_function_create(s.ctx, all_kinds_of_nothing, v, &options);
        tg_tensor *y[11] = {NULL};
        check_works(tg_call(f, TG_ARGS(x),
                            TG_RESULTS(&y[0], &y[1], &y[2], &y[3], &y[4],
                                       &y[5], &y[6], &y[7], &y[8], &y[9],
                                       &y[10])));
        const int64_t counts[11] = {9, 0, 6, 0, 0, 6, 0, 0, 0, 0, 0};
        for (int i = 0; i < 11; i++)
            cr_assert_eq(tg_tensor_count(y[i]), counts[i], "result %d", i);
        check_f32(y[0], 0, 0, 0, 0, 0, 0, 0, 0, 0);
        check_f32(y[2], 0, 1, 2, 0, 1, 2);
        check_f32(y[5], 5, 5, 5, 5, 5, 5);
        for (int i = 0; i < 11; i++)
            if (counts[i] == 0)
                tg_tensor_release(y[i]);
        tg_function_release(f);
    }
    cr_assert_str_eq(s.printed, "[]\n[]\n");
    tg_tensor_release(x);
    tg_variable_release(v);
    session_end(&s);
}

/* -- More than 2^31 elements ----------------------------------------------- */

/* Selects bytes from the far end of a large tensor, in several ways. */
static void pick_far(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const int64_t half = tg_value_dim(in[0], 0) / 2;
    tg_value x = in[0];
    tg_value halves = tg_reshape(x, TG_DIMS(2, half));
    tg_return(t, tg_slice(x, 0, -3, TG_END, 1),
              tg_slice(x, 0, -1, -4, -1),
              tg_gather(x, in[1], 0),
              tg_slice(tg_slice(halves, 0, 1, 2, 1), 1, half - 3, half, 1),
              tg_slice(tg_transpose(halves, TG_PERM(1, 0)), 0, half - 1, half,
                       1),
              tg_slice(x, 0, 0, TG_END, half));
}

Test(bad_input, more_than_two_to_the_31_elements_work)
{
    session s;
    session_begin(&s);
    const int64_t n = (INT64_C(1) << 32) + 128;
    uint8_t *data = mmap(NULL, (size_t)n, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cr_assert_neq(data, MAP_FAILED);
    for (uint8_t i = 1; i <= 3; i++)
        data[n - i] = i;
    data[n / 2] = 77;
    data[n / 2 - 1] = 78;
    tg_function *f = tg_function_create(s.ctx, pick_far, NULL, NULL);
    tg_tensor *x = tg_tensor_wrap(s.ctx, data, TG_U8, TG_DIMS(n));
    tg_tensor *i =
        tg_tensor_copy(s.ctx, (int64_t[]){n - 2, n / 2, 0}, TG_I64, TG_DIMS(3));
    tg_tensor *y[6] = {NULL};
    check_works(tg_call(f, TG_ARGS(x, i),
                        TG_RESULTS(&y[0], &y[1], &y[2], &y[3], &y[4], &y[5])));
    const uint8_t want[6][3] = {{3, 2, 1}, {1, 2, 3}, {2, 77, 0},
                                {3, 2, 1}, {78, 1},   {0, 77}};
    for (int k = 0; k < 6; k++) {
        const size_t bytes = k < 4 ? 3 : 2;
        cr_assert_eq(tg_tensor_bytes(y[k]), bytes);
        cr_assert_eq(memcmp(tg_tensor_data(y[k]), want[k], bytes), 0,
                     "result %d", k);
        tg_tensor_release(y[k]);
    }
    tg_tensor *bad = tg_tensor_copy(s.ctx, (int64_t[]){0, 1, n}, TG_I64,
                                    TG_DIMS(3));
    check_fails(tg_call(f, TG_ARGS(x, bad), TG_RESULTS()), TG_ERROR_INDEX,
                "index 4294967424 at position [2]");
    tg_tensor_release(x);
    tg_tensor_release(i);
    tg_tensor_release(bad);
    tg_function_release(f);
    munmap(data, (size_t)n);
    session_end(&s);
}

/* -- Indices --------------------------------------------------------------- */

static int gather_line;

static void pick(tg_trace *t, const tg_value *in, void *user)
{
    const tg_gather_mode mode = *(tg_gather_mode *)user;
    gather_line = __LINE__ + 1;
    tg_value y = tg_gather_with(in[0], in[1], 0, mode);
    tg_return(t, y);
}

Test(bad_input, an_index_out_of_range_names_position_and_value)
{
    session s;
    session_begin(&s);
    tg_gather_mode mode = TG_GATHER_CHECK;
    tg_function *f = tg_function_create(s.ctx, pick, &mode, NULL);
    tg_tensor *x = f32_vector(s.ctx, 10, 20, 30);
    tg_tensor *bad = tg_tensor_copy(s.ctx, (int32_t[]){0, 1, 2, 2, -1, 9},
                                    TG_I32, TG_DIMS(2, 3));
    tg_tensor *y = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, 3), tg_zeros());
    check_fails(tg_call(f, TG_ARGS(x, bad), TG_RESULTS(&y)), TG_ERROR_INDEX,
                "gather: index -1 at position [1,1]", "axis 0", "extent 3");
    cr_assert_eq(tg_error_last()->line, gather_line);
    cr_assert_str_eq(tg_error_last()->file, __FILE__);
    check_f32(y, 0, 0, 0, 0, 0, 0); /* unchanged */
    tg_tensor_release(x);
    tg_tensor_release(bad);
    tg_function_release(f);
    session_end(&s);
}

Test(bad_input, indices_of_every_type_are_checked)
{
    session s;
    session_begin(&s);
    tg_gather_mode mode = TG_GATHER_CHECK;
    tg_function *f = tg_function_create(s.ctx, pick, &mode, NULL);
    tg_tensor *x = f32_vector(s.ctx, 10, 20, 30);
    const uint64_t extreme[] = {UINT64_MAX, (uint64_t)INT64_MIN, 3};
    for (int dtype = TG_I8; dtype <= TG_U64; dtype++)
        for (int i = 0; i < 3; i++) {
            char element[8]; /* the low bytes, or the high ones */
            const size_t bytes = tg_dtype_bytes((tg_dtype)dtype);
            memcpy(element,
                   (const char *)&extreme[i] + (i == 1 ? 8 - bytes : 0),
                   bytes);
            tg_tensor *index = tg_tensor_copy(s.ctx, element, (tg_dtype)dtype,
                                              TG_DIMS(1));
            check_fails(tg_call(f, TG_ARGS(x, index), TG_RESULTS()),
                        TG_ERROR_INDEX, "gather", "position [0]");
            tg_tensor_release(index);
        }
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

Test(bad_input, indices_can_be_clamped_or_give_zeros)
{
    session s;
    session_begin(&s);
    tg_tensor *x = f32_vector(s.ctx, 10, 20, 30);
    tg_tensor *i = i32_vector(s.ctx, INT32_MIN, -1, 0, 2, 3, INT32_MAX);
    tg_gather_mode mode = TG_GATHER_CLAMP;
    tg_function *f = tg_function_create(s.ctx, pick, &mode, NULL);
    check_f32(call_one(f, TG_ARGS(x, i)), 10, 10, 10, 30, 30, 30);
    tg_function_release(f);
    mode = TG_GATHER_ZERO;
    f = tg_function_create(s.ctx, pick, &mode, NULL);
    check_f32(call_one(f, TG_ARGS(x, i)), 0, 0, 10, 30, 0, 0);
    tg_function_release(f);
    tg_tensor_release(x);
    tg_tensor_release(i);
    session_end(&s);
}

/* -- Broadcast to more than there is --------------------------------------- */

static const int64_t far_too_many = INT64_C(1000000000000000);

static void blow_up(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_broadcast(in[0], TG_DIMS(far_too_many)));
}

static void blow_up_inside(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value large = tg_exp(tg_broadcast(in[0], TG_DIMS(far_too_many)));
    tg_return(t, tg_slice(large, 0, 0, 1, 1));
}

static void blow_up_by_count(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    tg_return(t, tg_sum(tg_iota(TG_I64, TG_DIMS(far_too_many), 0),
                        TG_ALL_AXES));
}

/* An allocator that records the largest request and rejects large ones. */
static size_t largest_request;

static void *allocate_modestly(size_t bytes, size_t align, void *user)
{
    (void)user;
    if (bytes > largest_request)
        largest_request = bytes;
    void *memory = NULL;
    if (bytes > (size_t)1 << 30 || posix_memalign(&memory, align, bytes))
        return NULL;
    return memory;
}

static void release_modestly(void *memory, size_t bytes, size_t align,
                             void *user)
{
    (void)bytes, (void)align, (void)user;
    free(memory);
}

Test(bad_input, broadcast_to_ten_to_the_15_is_out_of_memory)
{
    const tg_allocator modest = {allocate_modestly, release_modestly, NULL};
    check_works(tg_allocator_set(&modest));
    tg_callback *const callbacks[] = {blow_up, blow_up_inside,
                                      blow_up_by_count};
    for (int i = 0; i < 3; i++) {
        session s;
        /* Compiled, the last two need little memory, but a lot of time. */
        session_begin_with(&s,
                           (tg_context_options){.jit = i ? "off" : NULL,
                                                .memory_limit = UINT64_MAX});
        tg_function *f = tg_function_create(s.ctx, callbacks[i], NULL, NULL);
        tg_function *good = tg_function_create(s.ctx, twice, NULL, NULL);
        tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = NULL;
        /* Loads the plugin, so that its memory does not count. */
        check_f32(call_one(good, TG_ARGS(x)), 2, 4);
        largest_request = 0;
        struct rusage before, after;
        getrusage(RUSAGE_SELF, &before);
        check_fails(tg_call(f, TG_ARGS(1.0f), TG_RESULTS(&y)),
                    TG_ERROR_OUT_OF_MEMORY, "out of memory");
        getrusage(RUSAGE_SELF, &after);
        cr_assert_null(y);
        cr_assert_geq(largest_request, (size_t)far_too_many);
        cr_assert_lt(after.ru_maxrss - before.ru_maxrss, 64 << 10); /* KiB */
        check_f32(call_one(good, TG_ARGS(x)), 2, 4);
        tg_tensor_release(x);
        tg_function_release(good);
        tg_function_release(f);
        session_end(&s);
    }
    cr_assert_null(
        tg_tensor_create(NULL, TG_F32, TG_DIMS(far_too_many), tg_zeros()));
    session s;
    session_begin_with(&s, (tg_context_options){.memory_limit = UINT64_MAX});
    cr_assert_null(
        tg_tensor_create(s.ctx, TG_F32, TG_DIMS(far_too_many), tg_zeros()));
    check_record(TG_ERROR_OUT_OF_MEMORY, "out of memory");
    cr_assert_null(tg_variable_create(s.ctx, "v", TG_F32,
                                      TG_DIMS(far_too_many), tg_zeros()));
    check_record(TG_ERROR_OUT_OF_MEMORY, "out of memory");
    session_end(&s);
    check_works(tg_allocator_set(NULL));
}

static void exp_of_thousand(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = tg_broadcast(in[0], TG_DIMS(1000));
    tg_return(t, tg_sum(tg_sin(tg_exp(x)), TG_ALL_AXES));
}

Test(bad_input, a_context_may_limit_the_memory_of_a_call)
{
    session s;
    session_begin_with(&s, (tg_context_options){.memory_limit = 3000,
                                                .jit = "off"});
    tg_function *f = tg_function_create(s.ctx, exp_of_thousand, NULL, NULL);
    check_fails(tg_call(f, TG_ARGS(1.0f), TG_RESULTS()),
                TG_ERROR_OUT_OF_MEMORY, "limit", "3000");
    cr_assert_null(tg_tensor_create(s.ctx, TG_F32, TG_DIMS(1000), tg_zeros()));
    check_record(TG_ERROR_OUT_OF_MEMORY, "limit", "4000");
    tg_function_release(f);
    session_end(&s);
    session_begin_with(&s, (tg_context_options){.memory_limit = 100000});
    f = tg_function_create(s.ctx, exp_of_thousand, NULL, NULL);
    call_only(f, TG_ARGS(1.0f));
    tg_function_release(f);
    session_end(&s);
}

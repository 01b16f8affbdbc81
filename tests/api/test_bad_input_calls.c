/* SPDX-License-Identifier: MIT */
/*
 * test_bad_input_calls.c - overlapping and misaligned buffers, bound calls,
 * variables, and invalid options.
 */
#include "support/api.h"

static void twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 2));
}

/* -- Overlap --------------------------------------------------------------- */

static void transpose_and_reverse(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_transpose(in[0], TG_PERM(1, 0)),
              tg_slice(in[1], 0, -1, TG_END, -1));
}

Test(bad_input, a_result_may_alias_an_argument_exactly)
{
    session s;
    session_begin(&s);
    tg_function *f =
        tg_function_create(s.ctx, transpose_and_reverse, NULL, NULL);
    float a[4] = {1, 2, 3, 4}, b[3] = {5, 6, 7};
    tg_tensor *x = tg_tensor_wrap(s.ctx, a, TG_F32, TG_DIMS(2, 2));
    tg_tensor *y = tg_tensor_wrap(s.ctx, b, TG_F32, TG_DIMS(3));
    tg_tensor *out_x = x, *out_y = y;
    check_works(tg_call(f, TG_ARGS(x, y), TG_RESULTS(&out_x, &out_y)));
    check_floats_at(__LINE__, a, (float[]){1, 3, 2, 4}, 4);
    check_floats_at(__LINE__, b, (float[]){7, 6, 5}, 3);
    tg_bound *bound = tg_bind(f, TG_ARGS(x, y), TG_RESULTS(&out_x, &out_y));
    check_works(tg_run(bound));
    check_floats_at(__LINE__, a, (float[]){1, 2, 3, 4}, 4);
    check_floats_at(__LINE__, b, (float[]){5, 6, 7}, 3);
    tg_bound_release(bound);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
}

static void swap_arguments(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, in[1], in[0]);
}

Test(bad_input, results_may_alias_other_arguments)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, swap_arguments, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = f32_vector(s.ctx, 3, 4);
    check_works(tg_call(f, TG_ARGS(x, y), TG_RESULTS(&x, &y)));
    check_f32(x, 3, 4);
    check_f32(y, 1, 2);
    tg_function_release(f);
    session_end(&s);
}

Test(bad_input, partial_overlap_is_refused)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);
    float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    tg_tensor *x = tg_tensor_wrap(s.ctx, data, TG_F32, TG_DIMS(4));
    for (int i = 1; i < 4; i++) {
        tg_tensor *y = tg_tensor_wrap(s.ctx, data + i, TG_F32, TG_DIMS(4));
        check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)),
                    TG_ERROR_INVALID_ARGUMENT, "twice", "result 0 overlaps");
        cr_assert_null(tg_bind(f, TG_ARGS(x), TG_RESULTS(&y)));
        check_record(TG_ERROR_INVALID_ARGUMENT, "result 0 overlaps");
        tg_tensor_release(y);
    }
    check_floats_at(__LINE__, data, (float[]){1, 2, 3, 4, 5, 6, 7, 8}, 8);
    tg_tensor *y = tg_tensor_wrap(s.ctx, data + 4, TG_F32, TG_DIMS(4));
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)));
    check_floats_at(__LINE__, data, (float[]){1, 2, 3, 4, 2, 4, 6, 8}, 8);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
}

Test(bad_input, results_that_overlap_each_other_are_refused)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, swap_arguments, NULL, NULL);
    float data[3] = {0, 0, 0};
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    tg_tensor *a = tg_tensor_wrap(s.ctx, data, TG_F32, TG_DIMS(2));
    tg_tensor *b = tg_tensor_wrap(s.ctx, data + 1, TG_F32, TG_DIMS(2));
    check_fails(tg_call(f, TG_ARGS(x, x), TG_RESULTS(&a, &b)),
                TG_ERROR_INVALID_ARGUMENT, "results 0 and 1 overlap");
    check_fails(tg_call(f, TG_ARGS(x, x), TG_RESULTS(&a, &a)),
                TG_ERROR_INVALID_ARGUMENT,
                "results 0 and 1 have the same slot");
    check_floats_at(__LINE__, data, (float[]){0, 0, 0}, 3);
    tg_tensor_release(x);
    tg_tensor_release(a);
    tg_tensor_release(b);
    tg_function_release(f);
    session_end(&s);
}

static void read_captured(tg_trace *t, const tg_value *in, void *user)
{
    (void)in;
    tg_return(t, tg_mul((tg_variable *)user, 2));
}

Test(bad_input, results_that_overlap_a_variable_are_refused)
{
    session s;
    session_begin(&s);
    tg_variable *v = tg_variable_create(s.ctx, "v", TG_F32, TG_DIMS(2),
                                        tg_fill(1));
    float *data = tg_variable_map(v, TG_READ);
    check_works(tg_variable_unmap(v));
    tg_tensor *y = tg_tensor_wrap(s.ctx, data, TG_F32, TG_DIMS(2));
    tg_function *f = tg_function_create(s.ctx, read_captured, v, NULL);
    check_fails(tg_call(f, TG_ARGS(), TG_RESULTS(&y)),
                TG_ERROR_INVALID_ARGUMENT, "variable");
    tg_function *g = tg_function_create(s.ctx, twice, NULL, NULL);
    check_fails(tg_call(g, TG_ARGS(v), TG_RESULTS(&y)),
                TG_ERROR_INVALID_ARGUMENT, "variable");
    check_fails(tg_call(g, TG_ARGS(tg_value_of(v)), TG_RESULTS(&y)),
                TG_ERROR_INVALID_ARGUMENT, "variable");
    check_variable(v, 1, 1);
    tg_tensor_release(y);
    tg_variable_release(v);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
}

Test(bad_input, a_swapped_buffer_must_not_overlap_either)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = f32_vector(s.ctx, 0, 0, 0);
    float *out = tg_tensor_data(y), other[2] = {10, 20};
    tg_tensor *result = tg_tensor_wrap(s.ctx, out, TG_F32, TG_DIMS(2));
    tg_bound *b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&result));
    check_fails(tg_bound_set(b, 0, out + 1), TG_ERROR_INVALID_ARGUMENT,
                "overlaps");
    check_works(tg_run(b)); /* with the old argument */
    check_floats_at(__LINE__, out, (float[]){2, 4, 0}, 3);
    check_works(tg_bound_set(b, 0, other));
    check_fails(tg_bound_set_result(b, 0, other + 1),
                TG_ERROR_INVALID_ARGUMENT, "overlaps");
    check_works(tg_run(b));
    check_floats_at(__LINE__, out, (float[]){20, 40, 0}, 3);
    tg_bound_release(b);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(result);
    tg_function_release(f);
    session_end(&s);
}

/* -- Alignment ------------------------------------------------------------- */

Test(bad_input, element_alignment_is_enough)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);
    _Alignas(64) float in[40], out[40];
    for (int i = 0; i < 40; i++)
        in[i] = (float)i;
    for (int shift = 0; shift < 16; shift++) {
        tg_tensor *x = tg_tensor_wrap(s.ctx, in + shift, TG_F32, TG_DIMS(20));
        tg_tensor *y =
            tg_tensor_wrap(s.ctx, out + 15 - shift, TG_F32, TG_DIMS(20));
        memset(out, 0, sizeof out);
        check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)));
        for (int i = 0; i < 20; i++)
            cr_assert_eq(out[15 - shift + i], (float)(2 * (shift + i)));
        cr_assert_eq(out[35 - shift], 0);
        tg_tensor_release(x);
        tg_tensor_release(y);
    }
    tg_function_release(f);
    session_end(&s);
}

Test(bad_input, less_than_element_alignment_is_refused)
{
    session s;
    session_begin(&s);
    _Alignas(64) char memory[64] = {0};
    for (int dtype = TG_BOOL; dtype <= TG_F64; dtype++) {
        const size_t bytes = tg_dtype_bytes((tg_dtype)dtype);
        if (bytes < 2)
            continue;
        cr_assert_null(tg_tensor_wrap(s.ctx, memory + bytes / 2,
                                      (tg_dtype)dtype, TG_DIMS(2)));
        check_record(TG_ERROR_INVALID_ARGUMENT, "aligned");
    }
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = NULL;
    tg_bound *b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&y));
    check_fails(tg_bound_set(b, 0, memory + 2), TG_ERROR_INVALID_ARGUMENT,
                "aligned");
    check_fails(tg_bound_set_result(b, 0, memory + 1),
                TG_ERROR_INVALID_ARGUMENT, "aligned");
    check_works(tg_run(b));
    check_f32(y, 2, 4);
    tg_bound_release(b);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

/* -- Bound calls ----------------------------------------------------------- */

static void add_to_variable(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_assign_add(in[0], in[1]));
}

Test(bad_input, only_tensors_and_numbers_of_a_bound_call_are_swapped)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 0);
    tg_function *f = tg_function_create(s.ctx, add_to_variable, NULL, NULL);
    tg_bound *b = tg_bind(f, TG_ARGS(v, 2.0f, TG_STATIC(1)), TG_RESULTS());
    cr_assert_not_null(b, "%s", tg_error(NULL));
    float number = 5;
    check_fails(tg_bound_set(b, 0, &number), TG_ERROR_INVALID_ARGUMENT,
                "argument 0");
    check_fails(tg_bound_set(b, 2, &number), TG_ERROR_INVALID_ARGUMENT,
                "argument 2");
    check_fails(tg_bound_set(b, 3, &number), TG_ERROR_INVALID_ARGUMENT,
                "argument 3");
    check_fails(tg_bound_set(b, SIZE_MAX, &number), TG_ERROR_INVALID_ARGUMENT,
                "argument");
    check_fails(tg_bound_set(b, 1, NULL), TG_ERROR_INVALID_ARGUMENT, "NULL");
    check_fails(tg_bound_set_result(b, 1, &number), TG_ERROR_INVALID_ARGUMENT,
                "no result 1");
    check_fails(tg_bound_set_result(b, 0, NULL), TG_ERROR_INVALID_ARGUMENT,
                "NULL");
    check_works(tg_run(b));
    check_variable(v, 2);
    check_works(tg_bound_set(b, 1, &number));
    float result = 0;
    check_works(tg_bound_set_result(b, 0, &result));
    check_works(tg_run(b));
    cr_assert_eq(result, 7);
    tg_bound_release(b);
    tg_variable_release(v);
    tg_function_release(f);
    session_end(&s);
}

Test(bad_input, results_of_another_spec_are_refused)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    tg_tensor *wrong[] = {
        tg_tensor_create(s.ctx, TG_F32, TG_DIMS(3), tg_zeros()),
        tg_tensor_create(s.ctx, TG_F64, TG_DIMS(2), tg_zeros()),
        tg_tensor_create(s.ctx, TG_F32, TG_DIMS(1, 2), tg_zeros()),
        tg_tensor_create(s.ctx, TG_F32, TG_SCALAR, tg_zeros())};
    for (int i = 0; i < 4; i++) {
        tg_tensor *y = wrong[i];
        check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)), TG_ERROR_SHAPE,
                    "twice", "result 0 is f32[2]");
        cr_assert_eq(y, wrong[i]);
        cr_assert_null(tg_bind(f, TG_ARGS(x), TG_RESULTS(&y)));
        check_record(TG_ERROR_SHAPE, "result 0 is f32[2]");
        tg_tensor_release(y);
    }
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

/* -- Variables ------------------------------------------------------------- */

Test(bad_input, variables_are_copied_whole_or_not_at_all)
{
    session s;
    session_begin(&s);
    tg_variable *v = tg_variable_create(s.ctx, "v", TG_F32, TG_DIMS(2),
                                        tg_fill(1));
    float data[4] = {7, 7, 7, 7};
    check_fails(tg_variable_get(v, data, 4), TG_ERROR_INVALID_ARGUMENT, "'v'",
                "8 bytes, not 4");
    check_fails(tg_variable_set(v, data, 16), TG_ERROR_INVALID_ARGUMENT,
                "8 bytes, not 16");
    check_fails(tg_variable_get(v, NULL, 8), TG_ERROR_INVALID_ARGUMENT, "NULL");
    check_fails(tg_variable_set(v, NULL, 8), TG_ERROR_INVALID_ARGUMENT, "NULL");
    check_variable(v, 1, 1);
    check_fails(tg_variable_unmap(v), TG_ERROR_STATE, "'v'", "not mapped");
    tg_variable_release(v);
    tg_initial none = tg_zeros();
    none.kind = (tg_initial_kind)77;
    cr_assert_null(tg_variable_create(s.ctx, "v", TG_F32, TG_SCALAR, none));
    check_record(TG_ERROR_INVALID_ARGUMENT, "77");
    cr_assert_null(tg_variable_create(s.ctx, "v", TG_F32, TG_DIMS(2),
                                      tg_from_data(NULL)));
    check_record(TG_ERROR_INVALID_ARGUMENT, "NULL");
    cr_assert_null(tg_variable_create(s.ctx, "v", TG_I32, TG_DIMS(2),
                                      tg_seeded(tg_uniform(0, 1), 1)));
    check_record(TG_ERROR_DTYPE, "i32");
    session_end(&s);
}

Test(bad_input, a_mapped_variable_is_busy_for_calls_of_its_thread)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 1);
    tg_function *f = tg_function_create(s.ctx, add_to_variable, NULL, NULL);
    tg_bound *b = tg_bind(f, TG_ARGS(v, 1.0f), TG_RESULTS());
    cr_assert_not_null(tg_variable_map(v, TG_WRITE));
    check_fails(tg_call(f, TG_ARGS(v, 1.0f), TG_RESULTS()), TG_ERROR_BUSY,
                "add_to_variable");
    check_fails(tg_run(b), TG_ERROR_BUSY, "add_to_variable");
    check_fails(tg_call(f, TG_ARGS(v, tg_value_of(v)), TG_RESULTS()),
                TG_ERROR_BUSY, "add_to_variable");
    check_variable(v, 1); /* a thread may map a variable twice */
    check_works(tg_variable_unmap(v));
    check_works(tg_run(b));
    check_variable(v, 2);
    tg_bound_release(b);
    tg_variable_release(v);
    tg_function_release(f);
    session_end(&s);
}

/* -- Options and specs ----------------------------------------------------- */

Test(bad_input, options_structs_carry_their_size)
{
    tg_context_options options = {0};
    cr_assert_null(tg_context_create(&options));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_context_options",
                 "struct_bytes");
    options.struct_bytes = SIZE_MAX;
    cr_assert_null(tg_context_create(&options));
    check_record(TG_ERROR_INVALID_ARGUMENT, "struct_bytes");

    session s;
    session_begin(&s);
    tg_function_options of_function = {0};
    cr_assert_null(tg_function_create(s.ctx, twice, NULL, &of_function));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_function_options");
    tg_variable_options of_variable = {0};
    cr_assert_null(tg_variable_create_with(s.ctx, "v", TG_F32, TG_SCALAR,
                                           tg_zeros(), &of_variable));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_variable_options");

    /* A program built against a newer library, which sets unknown members. */
    struct {
        tg_function_options known;
        uint64_t news[4];
    } newer = {.known = {.struct_bytes = sizeof newer}};
    tg_function *f = tg_function_create(s.ctx, twice, NULL, &newer.known);
    cr_assert_not_null(f, "%s", tg_error(NULL));
    tg_function_release(f);
    newer.news[3] = 1;
    cr_assert_null(tg_function_create(s.ctx, twice, NULL, &newer.known));
    check_record(TG_ERROR_UNSUPPORTED, "newer");
    session_end(&s);
}

Test(bad_input, functions_check_their_options)
{
    session s;
    session_begin(&s);
    cr_assert_null(tg_function_create_named(s.ctx, "f", NULL, NULL, NULL));
    check_record(TG_ERROR_INVALID_ARGUMENT, "'f'", "callback");
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = (tg_policy)9;
    cr_assert_null(tg_function_create(s.ctx, twice, NULL, &options));
    check_record(TG_ERROR_INVALID_ARGUMENT,
                 "tg_function_options.policy: 9 is not one of TG_GENERALISE, "
                 "TG_EXACT, TG_RELAXED");
    options = (tg_function_options)TG_FUNCTION_OPTIONS_INIT;
    options.n_signature = 1;
    cr_assert_null(tg_function_create(s.ctx, twice, NULL, &options));
    check_record(TG_ERROR_INVALID_ARGUMENT, "NULL");
    tg_spec spec = tg_spec_tensor(TG_F32, TG_SCALAR);
    spec.kind = (tg_spec_kind)55;
    options.signature = &spec;
    cr_assert_null(tg_function_create(s.ctx, twice, NULL, &options));
    check_record(TG_ERROR_INVALID_ARGUMENT, "55");
    spec = tg_spec_bundle(NULL, NULL);
    cr_assert_null(tg_function_create(s.ctx, twice, NULL, &options));
    check_record(TG_ERROR_INVALID_ARGUMENT, "bundle");
    spec = tg_spec_static(TG_IN((tg_tensor *)NULL));
    cr_assert_null(tg_function_create(s.ctx, twice, NULL, &options));
    check_record(TG_ERROR_INVALID_ARGUMENT, "static");
    spec = tg_spec_tensor(TG_F32, TG_DIMS(TG_SAME(1000000)));
    cr_assert_null(tg_function_create(s.ctx, twice, NULL, &options));
    check_record(TG_ERROR_SHAPE, "");
    session_end(&s);
}

typedef struct hole {
    tg_variable *v;
} hole;

Test(bad_input, bundle_types_are_checked)
{
    session s;
    session_begin(&s);
    hole h = {f32_scalar_variable(s.ctx, "v", 1)};
    const tg_bundle_field fields[] = {TG_FIELD(hole, v)};
    const tg_bundle_type no_fields = {"hole", sizeof(hole), NULL, 1};
    const tg_bundle_type too_small = {"hole", 4, fields, 1};
    tg_bundle_type endless = {"endless", sizeof(hole), NULL, 1};
    const tg_bundle_field itself[] = {{"self", 0, &endless}};
    endless.fields = itself;
    const tg_bundle_type *const types[] = {&no_fields, &too_small, &endless};
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);
    for (int i = 0; i < 3; i++)
        check_fails(tg_call(f, TG_ARGS(tg_bundle_of(types[i], &h)),
                            TG_RESULTS()),
                    TG_ERROR_INVALID_ARGUMENT, "argument 0");
    cr_assert_eq(
        tg_bundle_variables(&endless, &h, TG_ALL_VARIABLES, NULL, 0), 0);
    tg_bundle_release(&endless, &h);
    tg_variable_release(h.v);
    tg_function_release(f);
    session_end(&s);
}

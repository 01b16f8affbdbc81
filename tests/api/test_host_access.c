/* SPDX-License-Identifier: MIT */
/*
 * test_host_access.c - tensors and variables in the hands of the host: typed
 * elements, single elements, text, initialisers, assignment, clean-up.
 */
#include <math.h>

#include "support/api.h"

/* -- Typed access ---------------------------------------------------------- */

#define CHECK_TYPED(name, type, dtype) \
    do { \
        tg_tensor *x = \
            tg_tensor_create(s.ctx, dtype, TG_DIMS(2), tg_fill(1)); \
        type *elements = tg_tensor_##name(x); \
        cr_assert_eq((void *)elements, tg_tensor_data(x)); \
        cr_assert(TG_TO_DOUBLE(elements[1]) == 1); \
        cr_assert_eq(tg_tensor_##name(other) != NULL, dtype == TG_F32); \
        if (dtype != TG_F32) \
            check_record(TG_ERROR_DTYPE, \
                         "tg_tensor_" #name ": the tensor has dtype f32"); \
        cr_assert_null(tg_tensor_##name(NULL)); \
        check_record(TG_ERROR_INVALID_ARGUMENT, \
                     "tg_tensor_" #name ": the tensor is NULL"); \
        tg_tensor_release(x); \
    } while (0);

Test(tensor, elements_are_accessed_by_their_type_only)
{
    session s;
    session_begin(&s);
    tg_tensor *other = tg_tensor_create(s.ctx, TG_F32, TG_SCALAR, tg_zeros());
    TG_TENSOR_TYPES(CHECK_TYPED)
    tg_tensor_release(other);
    session_end(&s);
}

/* -- Single elements ------------------------------------------------------- */

Test(tensor, an_element_is_copied_to_a_number)
{
    session s;
    session_begin(&s);
    const int32_t data[] = {1, 2, 3, 4, 5, 6};
    tg_tensor *x = tg_tensor_copy(s.ctx, data, TG_I32, TG_DIMS(2, 3));
    tg_tensor *scalar = tg_tensor_create(s.ctx, TG_F64, TG_SCALAR, tg_fill(8));
    int32_t element = 0;
    double number = 0;
    check_works(tg_tensor_get(x, &element, 0, 0));
    cr_assert_eq(element, 1);
    check_works(tg_tensor_get(x, &element, 1, 0));
    cr_assert_eq(element, 4);
    check_works(tg_tensor_get(x, &element, 1, 2));
    cr_assert_eq(element, 6);
    check_works(tg_tensor_get(scalar, &number));
    cr_assert_eq(number, 8);
    tg_tensor_release(x);
    tg_tensor_release(scalar);
    session_end(&s);
}

Test(tensor, an_element_that_does_not_exist_is_an_error)
{
    session s;
    session_begin(&s);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_I32, TG_DIMS(2, 3), tg_zeros());
    tg_tensor *empty = tg_tensor_create(s.ctx, TG_I32, TG_DIMS(0), tg_zeros());
    tg_tensor *slot = NULL;
    int32_t element = 7;
    float number = 7;
    check_fails(tg_tensor_get(x, &element, 2, 0), TG_ERROR_INDEX,
                "tg_tensor_get: index 2 of axis 0 is not below 2",
                "test_host_access.c:");
    check_fails(tg_tensor_get(x, &element, 0, 3), TG_ERROR_INDEX,
                "index 3 of axis 1");
    check_fails(tg_tensor_get(x, &element, -1, 0), TG_ERROR_INDEX, "index -1");
    check_fails(tg_tensor_get(x, &element, 0), TG_ERROR_SHAPE,
                "1 index for a tensor of rank 2");
    check_fails(tg_tensor_get(x, &element, 0, 0, 0), TG_ERROR_SHAPE,
                "3 indices for a tensor of rank 2");
    check_fails(tg_tensor_get(x, &element), TG_ERROR_SHAPE, "0 indices");
    check_fails(tg_tensor_get(empty, &element, 0), TG_ERROR_INDEX, "below 0");
    check_fails(tg_tensor_get(x, &number, 0, 0), TG_ERROR_DTYPE,
                "the tensor has dtype i32, but the number has type f32");
    check_fails(tg_tensor_get(x, NULL, 0, 0), TG_ERROR_INVALID_ARGUMENT,
                "destination");
    check_fails(tg_tensor_get(x, &slot, 0, 0), TG_ERROR_INVALID_ARGUMENT,
                "not a number");
    check_fails(tg_tensor_get_at(x, TG_OUT(&element), 2, NULL, TG_HERE),
                TG_ERROR_INVALID_ARGUMENT, "tg_tensor_get");
    tg_tensor *none = NULL;
    check_fails(tg_tensor_get(none, &element, 0), TG_ERROR_INVALID_ARGUMENT,
                "the tensor is NULL");
    cr_assert(element == 7 && number == 7);
    tg_tensor_release(x);
    tg_tensor_release(empty);
    session_end(&s);
}

/* -- Text ------------------------------------------------------------------ */

static void print_argument(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_print(t, "%v", in[0]);
    tg_print(t, "%t, 100%%, %t and %v", in[0], tg_sum(in[0], TG_ALL_AXES),
             in[0]);
    tg_return(t);
}

/* tg_tensor_text and tg_tensor_format write what tg_print does. */
Test(tensor, text_has_the_format_of_prints)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, print_argument, NULL, NULL);
    const float data[] = {1, -2.5f, INFINITY, 1e-20f, 0, 3};
    tg_tensor *x[] = {
        tg_tensor_copy(s.ctx, data, TG_F32, TG_DIMS(2, 3)),
        tg_tensor_copy(s.ctx, data, TG_F32, TG_SCALAR),
        tg_tensor_create(s.ctx, TG_I64, TG_DIMS(9), tg_ones()),
        tg_tensor_create(s.ctx, TG_I8, TG_DIMS(0, 2), tg_zeros())};
    static const char *const types[] = {"f32[2,3]", "f32[]", "i64[9]",
                                        "i8[0,2]"};
    for (int i = 0; i < 4; i++) {
        char want[512];
        s.printed[0] = '\0';
        call_only(f, TG_ARGS(x[i]));
        snprintf(want, sizeof want, "%s\n", tg_tensor_text(x[i]));
        cr_assert_eq(strncmp(s.printed, want, strlen(want)), 0, "%s",
                     s.printed);
        const char *second = s.printed + strlen(want);
        char type[32];
        snprintf(type, sizeof type, "%s, 100%%, ", types[i]);
        cr_assert_eq(strncmp(second, type, strlen(type)), 0, "%s", second);
        cr_assert_str_eq(tg_tensor_format(x[i], "%t"), types[i]);
        tg_tensor_release(x[i]);
    }
    tg_function_release(f);
    session_end(&s);
}

Test(tensor, a_format_may_repeat_the_tensor)
{
    session s;
    session_begin(&s);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    cr_assert_str_eq(tg_tensor_text(x), "[1 2]");
    cr_assert_str_eq(tg_tensor_format(x, "x is %t: %v"), "x is f32[2]: [1 2]");
    cr_assert_str_eq(tg_tensor_format(x, "%v%v%v %% %d %"),
                     "[1 2][1 2][1 2] % %d %");
    cr_assert_str_eq(tg_tensor_format(x, ""), "");
    tg_tensor_f32(x)[0] = 5;
    cr_assert_str_eq(tg_tensor_text(x), "[5 2]");
    cr_assert_str_eq(tg_tensor_text(NULL), "");
    check_record(TG_ERROR_INVALID_ARGUMENT,
                 "tg_tensor_text: the tensor is NULL");
    cr_assert_str_eq(tg_tensor_format(x, NULL), "");
    check_record(TG_ERROR_INVALID_ARGUMENT,
                 "tg_tensor_format: the format is NULL");
    tg_tensor_release(x);
    session_end(&s);
}

static void print_wrongly(tg_trace *t, const tg_value *in, void *user)
{
    switch (*(const int *)user) {
    case 0:
        tg_print(t, "%t");
        break;
    case 1:
        tg_print(t, "%t %v", in[0]);
        break;
    default:
        tg_print(t, "%s", in[0]);
    }
}

Test(print, placeholders_and_values_must_agree)
{
    static const char *const messages[] = {
        "print: the format takes 1 value, but 0 were given",
        "print: the format takes 2 values, but 1 was given",
        "print: the format may contain only %v, %t and %%"};
    session s;
    session_begin(&s);
    for (int i = 0; i < 3; i++) {
        tg_function *f = tg_function_create(s.ctx, print_wrongly, &i, NULL);
        check_fails(tg_call(f, TG_ARGS(1), TG_RESULTS()),
                    TG_ERROR_INVALID_ARGUMENT, messages[i]);
        tg_function_release(f);
    }
    session_end(&s);
}

/* -- Initialised tensors --------------------------------------------------- */

Test(tensor, initialisers_fill_new_tensors)
{
    session s;
    session_begin(&s);
    const double data[] = {1, 2, 3};
    tg_tensor *ones = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2), tg_ones());
    tg_tensor *copied =
        tg_tensor_create(s.ctx, TG_F64, TG_DIMS(3), tg_from_data(data));
    tg_tensor *bytes = tg_tensor_create(s.ctx, TG_U8, TG_DIMS(3), tg_fill(255));
    tg_tensor *truth = tg_tensor_create(s.ctx, TG_BOOL, TG_DIMS(2), tg_ones());
    cr_assert_eq(memcmp(tg_tensor_data(copied), data, sizeof data), 0);
    cr_assert(tg_tensor_u8(bytes)[2] == 255 && tg_tensor_bool(truth)[1]);
    check_f32(ones, 1, 1);
    tg_tensor_release(copied);
    tg_tensor_release(bytes);
    tg_tensor_release(truth);

    tg_tensor *a = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(8, 8),
                                    tg_seeded(tg_normal(0, 1), 3));
    tg_tensor *b = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(8, 8),
                                    tg_seeded(tg_normal(0, 1), 3));
    tg_tensor *c = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(8, 8),
                                    tg_seeded(tg_normal(0, 1), 4));
    const size_t n = tg_tensor_bytes(a);
    cr_assert_eq(memcmp(tg_tensor_data(a), tg_tensor_data(b), n), 0);
    cr_assert_neq(memcmp(tg_tensor_data(a), tg_tensor_data(c), n), 0);
    tg_tensor_release(a);
    tg_tensor_release(b);
    tg_tensor_release(c);

    cr_assert_null(tg_tensor_create(s.ctx, TG_I8, TG_DIMS(2), tg_fill(300)));
    check_record(TG_ERROR_DTYPE, "300", "i8");
    cr_assert_null(
        tg_tensor_create(s.ctx, TG_I32, TG_DIMS(2), tg_uniform(0, 1)));
    cr_assert_neq(tg_error_last()->status, TG_OK);
    cr_assert_null(
        tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2), tg_orthogonal(1)));
    cr_assert_neq(tg_error_last()->status, TG_OK);
    session_end(&s);
}

/* -- Assignment by the host ------------------------------------------------ */

Test(variable, the_host_assigns_tensors_and_numbers)
{
    session s;
    session_begin(&s);
    tg_variable *v =
        tg_variable_create(s.ctx, "v", TG_F32, TG_DIMS(2), tg_zeros());
    tg_tensor *exact = f32_vector(s.ctx, 1, 2);
    const tg_tensor *only_read = exact;
    tg_tensor *scalar = tg_tensor_create(s.ctx, TG_F32, TG_SCALAR, tg_fill(7));
    const uint64_t version = tg_variable_version(v);
    check_works(tg_variable_assign(v, exact));
    check_variable(v, 1, 2);
    cr_assert_gt(tg_variable_version(v), version);
    check_works(tg_variable_assign(v, scalar));
    check_variable(v, 7, 7);
    check_works(tg_variable_assign(v, only_read));
    check_variable(v, 1, 2);
    check_works(tg_variable_assign(v, 3));
    check_variable(v, 3, 3);
    check_works(tg_variable_assign(v, 0.1)); /* rounds, as tg_assign does */
    check_variable(v, 0.1f, 0.1f);
    tg_tensor_release(exact);
    tg_tensor_release(scalar);
    tg_variable_release(v);
    session_end(&s);
}

Test(variable, an_assignment_that_does_not_fit_changes_nothing)
{
    session s;
    session_begin(&s);
    tg_variable *v =
        tg_variable_create(s.ctx, "v", TG_F32, TG_DIMS(2), tg_fill(1));
    tg_variable *small =
        tg_variable_create(s.ctx, "small", TG_I8, TG_SCALAR, tg_fill(1));
    tg_tensor *long_one = f32_vector(s.ctx, 1, 2, 3);
    tg_tensor *one = f32_vector(s.ctx, 9);
    tg_tensor *integers = i32_vector(s.ctx, 1, 2);
    tg_tensor *none = NULL;
    const uint64_t version = tg_variable_version(v);
    check_fails(tg_variable_assign(v, long_one), TG_ERROR_SHAPE,
                "tg_variable_assign: variable 'v' is f32[2], but the tensor is "
                "f32[3]",
                "test_host_access.c:");
    check_fails(tg_variable_assign(v, one), TG_ERROR_SHAPE, "f32[1]");
    check_fails(tg_variable_assign(v, integers), TG_ERROR_DTYPE, "i32[2]");
    check_fails(tg_variable_assign(v, none), TG_ERROR_INVALID_ARGUMENT,
                "the tensor is NULL");
    check_fails(tg_variable_assign(v, "text"), TG_ERROR_INVALID_ARGUMENT,
                "a tensor or a number");
    check_fails(tg_variable_assign(v, v), TG_ERROR_INVALID_ARGUMENT,
                "a tensor or a number");
    check_fails(tg_variable_assign(v, 1e300), TG_ERROR_DTYPE,
                "variable 'v' is f32, which cannot represent 1e+300");
    check_fails(tg_variable_assign(small, 300), TG_ERROR_DTYPE, "i8", "300");
    check_fails(tg_variable_assign(small, 0.5), TG_ERROR_DTYPE, "0.5");
    check_fails(tg_variable_assign(small, (double)NAN), TG_ERROR_DTYPE, "nan");
    tg_variable *nothing = NULL;
    check_fails(tg_variable_assign(nothing, 1), TG_ERROR_INVALID_ARGUMENT,
                "tg_variable_assign");
    check_variable(v, 1, 1);
    cr_assert_eq(tg_variable_version(v), version);
    check_works(tg_variable_assign(small, -128));
    tg_tensor_release(long_one);
    tg_tensor_release(one);
    tg_tensor_release(integers);
    tg_variable_release(v);
    tg_variable_release(small);
    session_end(&s);
}

static tg_status assign_inside(const tg_host_buffer *in, size_t n_in,
                               const tg_host_buffer *out, size_t n_out,
                               void *user)
{
    (void)in, (void)n_in, (void)out, (void)n_out;
    return tg_variable_assign((tg_variable *)user, 2);
}

static void call_host(tg_trace *t, const tg_value *in, void *user)
{
    (void)in;
    tg_assign_add((tg_variable *)user, 1);
    tg_host_call(t, assign_inside, user, TG_ARGS(), NULL, NULL, 0);
}

/* Maps of one thread nest, and an assignment maps; but it does not interfere
   with a call. */
Test(variable, an_assignment_is_busy_inside_a_call_that_uses_the_variable)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 1);
    tg_function *f = tg_function_create(s.ctx, call_host, v, NULL);
    float *data = tg_variable_map(v, TG_READ);
    cr_assert_not_null(data);
    check_works(tg_variable_assign(v, 2));
    cr_assert_eq(*data, 2);
    check_fails(tg_call(f, TG_ARGS(), TG_RESULTS()), TG_ERROR_BUSY, "mapped");
    check_works(tg_variable_unmap(v));
    check_fails(tg_call(f, TG_ARGS(), TG_RESULTS()), TG_ERROR_BUSY,
                "in use by a call of this thread");
    check_variable(v, 3);
    tg_function_release(f);
    tg_variable_release(v);
    session_end(&s);
}

Test(variable, a_tensor_over_the_variables_own_memory_may_be_assigned)
{
    session s;
    session_begin(&s);
    tg_variable *v =
        tg_variable_create(s.ctx, "v", TG_F32, TG_DIMS(2), tg_fill(4));
    void *data = tg_variable_map(v, TG_READ);
    tg_tensor *x = tg_tensor_wrap(s.ctx, data, TG_F32, TG_DIMS(2));
    check_works(tg_variable_unmap(v));
    check_works(tg_variable_assign(v, x));
    check_variable(v, 4, 4);
    tg_tensor_release(x);
    tg_variable_release(v);
    session_end(&s);
}

/* -- Clean-up -------------------------------------------------------------- */

static void add_one(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], 1));
}

/* Returns early: every block releases what it holds. */
static int leave_early(int where)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_tensor) none = NULL;
    if (where == 0)
        return 0;
    TG_AUTO(tg_function) f = tg_function_create(ctx, add_one, NULL, NULL);
    TG_AUTO(tg_variable) v =
        tg_variable_create(ctx, "v", TG_F32, TG_DIMS(2), tg_zeros());
    TG_AUTO(tg_group) group = tg_group_create(ctx);
    TG_AUTO(tg_tensor) y = NULL;
    if (where == 1)
        return 1;
    if (tg_call(f, TG_ARGS(v), TG_RESULTS(&y)))
        return -1;
    TG_AUTO(tg_bound) b = tg_bind(f, TG_ARGS(v), TG_RESULTS(&y));
    const tg_spec spec = TG_SPEC(TG_F32, 2);
    TG_AUTO(tg_concrete) c = tg_function_concrete(f, &spec, 1);
    if (!b || !c || !group)
        return -1;
    return 2;
}

Test(cleanup, objects_are_released_at_the_end_of_their_block)
{
    for (int where = 0; where < 3; where++) {
        cr_assert_eq(leave_early(where), where, "%s", tg_error(NULL));
        check_nothing_is_alive();
    }
}

/* SPDX-License-Identifier: MIT */
/*
 * test_variable.c - variables: names, initial values, host access to the
 * contents, versions and groups.
 */
#include <math.h>
#include <pthread.h>

#include "front/object/variable_object.h"
#include "support/api.h"

static tg_variable *make(tg_context *ctx, const char *name)
{
    tg_variable *v =
        tg_variable_create(ctx, name, TG_F32, TG_DIMS(2), tg_zeros());
    cr_assert_not_null(v, "%s", tg_error(ctx));
    return v;
}

/* -- Names ----------------------------------------------------------------- */

Test(variable, names_are_unique_in_a_context)
{
    session s, other;
    session_begin(&s);
    tg_variable *a = make(s.ctx, "w"), *b = make(s.ctx, "w");
    tg_variable *c = make(s.ctx, "w");
    cr_assert_str_eq(tg_variable_name(a), "w");
    cr_assert_str_eq(tg_variable_name(b), "w_1");
    cr_assert_str_eq(tg_variable_name(c), "w_2");
    /* A suffix in use is skipped; a free one is used. */
    tg_variable *d = make(s.ctx, "v_1"), *e = make(s.ctx, "v");
    tg_variable *f = make(s.ctx, "v");
    cr_assert_str_eq(tg_variable_name(f), "v_2");
    tg_variable_release(b);
    b = make(s.ctx, "w");
    cr_assert_str_eq(tg_variable_name(b), "w_1");
    tg_context_options defaults = {0};
    session_begin_with(&other, defaults);
    tg_variable *elsewhere = make(other.ctx, "w");
    cr_assert_str_eq(tg_variable_name(elsewhere), "w");
    tg_variable *const all[] = {a, b, c, d, e, f, elsewhere};
    for (size_t i = 0; i < 7; i++)
        tg_variable_release(all[i]);
    tg_context_release(other.ctx);
    session_end(&s);
}

Test(variable, without_a_name_it_is_called_variable)
{
    session s;
    session_begin(&s);
    tg_variable *a = make(s.ctx, NULL), *b = make(s.ctx, "");
    cr_assert_str_eq(tg_variable_name(a), "variable");
    cr_assert_str_eq(tg_variable_name(b), "variable_1");
    tg_variable_release(a);
    tg_variable_release(b);
    session_end(&s);
}

Test(variable, a_context_lists_its_variables_in_order)
{
    session s;
    session_begin(&s);
    tg_variable_options fixed = TG_VARIABLE_OPTIONS_INIT;
    fixed.untrainable = true;
    tg_variable *a = make(s.ctx, "a");
    tg_variable *b = tg_variable_create_with(s.ctx, "b", TG_F32, TG_SCALAR,
                                             tg_zeros(), &fixed);
    tg_variable *c =
        tg_variable_create(s.ctx, "c", TG_I64, TG_SCALAR, tg_zeros());
    tg_variable *d = make(s.ctx, "d");
    cr_assert(tg_variable_is_trainable(a));
    cr_assert_not(tg_variable_is_trainable(b));
    cr_assert_not(tg_variable_is_trainable(c), "integers have no gradient");
    tg_variable *list[4] = {NULL};
    cr_assert_eq(tg_context_variables(s.ctx, TG_ALL_VARIABLES, list, 4), 4);
    cr_assert(list[0] == a && list[1] == b && list[2] == c && list[3] == d);
    for (int i = 0; i < 4; i++)
        tg_variable_release(list[i]);
    list[1] = NULL;
    cr_assert_eq(tg_context_variables(s.ctx, TG_TRAINABLE, list, 1), 2);
    cr_assert(list[0] == a && !list[1]);
    tg_variable_release(list[0]);
    cr_assert_eq(tg_context_variables(s.ctx, TG_TRAINABLE, NULL, 9), 2);
    cr_assert_eq(tg_context_variables(NULL, TG_TRAINABLE, list, 4), 0);

    tg_variable *found = tg_context_find_variable(s.ctx, "c");
    cr_assert_eq(found, c);
    tg_variable_release(c);
    tg_variable_release(found); /* it was retained for us */
    cr_assert_null(tg_context_find_variable(s.ctx, "c"));
    cr_assert_null(tg_context_find_variable(s.ctx, NULL));
    cr_assert_null(tg_context_find_variable(NULL, "a"));
    tg_variable_release(a);
    tg_variable_release(b);
    tg_variable_release(d);
    session_end(&s);
}

/* -- Creation -------------------------------------------------------------- */

Test(variable, facts)
{
    session s;
    session_begin(&s);
    tg_variable *v =
        tg_variable_create(s.ctx, "v", TG_I16, TG_DIMS(3, 5), tg_fill(-2));
    cr_assert_eq(tg_variable_dtype(v), TG_I16);
    cr_assert_eq(tg_variable_rank(v), 2);
    cr_assert_eq(tg_variable_dims(v)[1], 5);
    cr_assert_eq(tg_variable_count(v), 15);
    cr_assert_eq(tg_variable_bytes(v), 30);
    const int16_t *data = tg_variable_map(v, TG_READ);
    cr_assert_eq((uintptr_t)data % 64, 0);
    for (int i = 0; i < 15; i++)
        cr_assert_eq(data[i], -2);
    check_works(tg_variable_unmap(v));
    tg_variable_release(v);
    session_end(&s);
}

Test(variable, initial_values)
{
    session s;
    session_begin(&s);
    const float data[] = {1.5f, -0.0f, INFINITY};
    tg_variable *given = tg_variable_create(s.ctx, "given", TG_F32, TG_DIMS(3),
                                            tg_from_data(data));
    check_variable(given, 1.5f, -0.0f, INFINITY);
    tg_variable *full =
        tg_variable_create(s.ctx, "full", TG_U8, TG_DIMS(3), tg_fill(255));
    uint8_t bytes[3];
    check_works(tg_variable_get(full, bytes, 3));
    cr_assert(bytes[0] == 255 && bytes[2] == 255);
    tg_variable *empty = tg_variable_create(s.ctx, "empty", TG_F32, TG_DIMS(0),
                                            tg_from_data(NULL));
    cr_assert_not_null(empty);
    check_works(tg_variable_get(empty, NULL, 0));
    tg_variable_release(given);
    tg_variable_release(full);
    tg_variable_release(empty);
    session_end(&s);
}

static void draw(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    tg_return(t, tg_random_uniform(42, TG_F32, TG_DIMS(2, 3)),
              tg_random_normal(42, TG_F32, TG_DIMS(2, 3)));
}

/* A seed gives the numbers that the operations give with that key. */
Test(variable, random_initial_values_repeat)
{
    session s;
    session_begin(&s);
    tg_variable *u = tg_variable_create(s.ctx, "u", TG_F32, TG_DIMS(2, 3),
                                        tg_seeded(tg_uniform(0, 1), 42));
    tg_variable *scaled =
        tg_variable_create(s.ctx, "scaled", TG_F32, TG_DIMS(2, 3),
                           tg_seeded(tg_uniform(-4, 4), 42));
    tg_variable *n = tg_variable_create(s.ctx, "n", TG_F32, TG_DIMS(2, 3),
                                        tg_seeded(tg_normal(0, 1), 42));
    tg_variable *other = tg_variable_create(s.ctx, "o", TG_F32, TG_DIMS(2, 3),
                                            tg_seeded(tg_uniform(0, 1), 43));
    tg_function *f = tg_function_create(s.ctx, draw, NULL, NULL);
    tg_tensor *uniform = NULL, *normal = NULL;
    check_works(tg_call(f, TG_ARGS(), TG_RESULTS(&uniform, &normal)));
    float a[6], b[6], c[6], d[6];
    check_works(tg_variable_get(u, a, sizeof(a)));
    check_works(tg_variable_get(n, b, sizeof(b)));
    check_works(tg_variable_get(scaled, c, sizeof(c)));
    check_works(tg_variable_get(other, d, sizeof(d)));
    cr_assert_arr_eq(a, tg_tensor_data(uniform), sizeof(a));
    cr_assert_arr_eq(b, tg_tensor_data(normal), sizeof(b));
    cr_assert_arr_neq(a, d, sizeof(a));
    for (int i = 0; i < 6; i++)
        cr_assert_eq(c[i], a[i] * 8 - 4);
    tg_tensor_release(uniform);
    tg_tensor_release(normal);
    tg_function_release(f);
    tg_variable_release(u);
    tg_variable_release(scaled);
    tg_variable_release(n);
    tg_variable_release(other);
    session_end(&s);
}

#define check_no_variable(variable, status, ...) \
    do { \
        cr_assert_null(variable); \
        check_record(status, __VA_ARGS__); \
    } while (0)

Test(variable, bad_arguments_are_refused)
{
    session s, other;
    session_begin(&s);
    session_begin(&other);
    const tg_initial zeros = tg_zeros();
    check_no_variable(
        tg_variable_create(NULL, "v", TG_F32, TG_SCALAR, zeros),
        TG_ERROR_INVALID_ARGUMENT, "tg_variable_create: the context is NULL");
    check_no_variable(
        tg_variable_create(s.ctx, "v", (tg_dtype)14, TG_SCALAR, zeros),
        TG_ERROR_DTYPE, "14 is not an element type");
    check_no_variable(
        tg_variable_create(s.ctx, "v", TG_F32, TG_DIMS(-1), zeros),
        TG_ERROR_SHAPE, "extent -1 of axis 0 is negative");
    check_no_variable(
        tg_variable_create(s.ctx, "v", TG_F32, TG_DIMS(2), tg_from_data(NULL)),
        TG_ERROR_INVALID_ARGUMENT, "the initial data is NULL");
    check_no_variable(tg_variable_create(s.ctx, "v", TG_I32, TG_SCALAR,
                                         tg_seeded(tg_uniform(0, 1), 1)),
                      TG_ERROR_DTYPE,
                      "a random initial value needs a float dtype, not i32");
    tg_initial unknown = {.kind = (tg_initial_kind)10};
    check_no_variable(
        tg_variable_create(s.ctx, "v", TG_F32, TG_SCALAR, unknown),
        TG_ERROR_INVALID_ARGUMENT, "10 is not a kind of initial value");
    tg_variable_options options = TG_VARIABLE_OPTIONS_INIT;
    options.group = tg_group_create(other.ctx);
    check_no_variable(tg_variable_create_with(s.ctx, "v", TG_F32, TG_SCALAR,
                                              zeros, &options),
                      TG_ERROR_INVALID_ARGUMENT,
                      "the group belongs to another context");
    tg_group_release(options.group);
    options.group = NULL;
    options.struct_bytes = 3;
    check_no_variable(tg_variable_create_with(s.ctx, "v", TG_F32, TG_SCALAR,
                                              zeros, &options),
                      TG_ERROR_INVALID_ARGUMENT, "struct_bytes is 3");
    cr_assert_null(tg_context_find_variable(s.ctx, "v"));
    cr_assert_null(tg_group_create(NULL));
    tg_context_release(other.ctx);
    session_end(&s);
}

Test(variable, invalid_variables_are_reported)
{
    cr_assert_null(tg_variable_retain(NULL));
    tg_variable_release(NULL);
    cr_assert_str_eq(tg_variable_name(NULL), "");
    cr_assert_eq(tg_variable_dtype(NULL), TG_DTYPE_NONE);
    cr_assert_eq(tg_variable_rank(NULL), -1);
    cr_assert_null(tg_variable_dims(NULL));
    cr_assert_eq(tg_variable_count(NULL), 0);
    cr_assert_eq(tg_variable_bytes(NULL), 0);
    cr_assert_eq(tg_variable_version(NULL), 0);
    cr_assert_not(tg_variable_is_trainable(NULL));
    cr_assert_null(tg_variable_map(NULL, TG_READ));
    check_record(TG_ERROR_INVALID_ARGUMENT, "the variable is NULL");
    check_fails(tg_variable_unmap(NULL), TG_ERROR_INVALID_ARGUMENT, "NULL");
    check_fails(tg_variable_get(NULL, NULL, 0), TG_ERROR_INVALID_ARGUMENT,
                "NULL");
    check_fails(tg_variable_set(NULL, NULL, 0), TG_ERROR_INVALID_ARGUMENT,
                "NULL");
    cr_assert_null(tg_group_retain(NULL));
    tg_group_release(NULL);
}

Test(variable, it_keeps_its_context_and_group)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_variable_options options = TG_VARIABLE_OPTIONS_INIT;
    options.group = tg_group_create(ctx);
    tg_variable *v = tg_variable_create_with(ctx, "v", TG_F32, TG_DIMS(2),
                                             tg_zeros(), &options);
    tg_group_release(options.group);
    tg_context_release(ctx);
    set_variable(v, 1, 2);
    check_variable(v, 1, 2);
    cr_assert_eq(tg_variable_retain(v), v);
    tg_variable_release(v);
    tg_variable_release(v);
    check_nothing_is_alive();
}

/* -- Contents -------------------------------------------------------------- */

Test(variable, sizes_must_be_those_of_the_variable)
{
    session s;
    session_begin(&s);
    tg_variable *v = make(s.ctx, "v");
    float data[2] = {1, 2};
    check_fails(tg_variable_get(v, data, 4), TG_ERROR_INVALID_ARGUMENT,
                "tg_variable_get: variable 'v' has 8 bytes, not 4");
    check_fails(tg_variable_set(v, data, 16), TG_ERROR_INVALID_ARGUMENT,
                "tg_variable_set: variable 'v' has 8 bytes, not 16");
    check_fails(tg_variable_get(v, NULL, 8), TG_ERROR_INVALID_ARGUMENT,
                "data is NULL");
    check_fails(tg_variable_set(v, NULL, 8), TG_ERROR_INVALID_ARGUMENT,
                "data is NULL");
    check_variable(v, 0, 0);
    cr_assert_eq(tg_variable_version(v), 0);
    tg_variable_release(v);
    session_end(&s);
}

static void increment(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_assign_add(in[0], 1));
}

static void peek(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_neg(in[0]));
}

Test(variable, versions_go_up_when_contents_may_have_changed)
{
    session s;
    session_begin(&s);
    tg_variable *v = make(s.ctx, "v");
    tg_function *inc = tg_function_create(s.ctx, increment, NULL, NULL);
    tg_function *look = tg_function_create(s.ctx, peek, NULL, NULL);
    uint64_t version = tg_variable_version(v);
    float data[2] = {0};
    check_works(tg_variable_get(v, data, sizeof(data)));
    cr_assert_not_null(tg_variable_map(v, TG_READ));
    check_works(tg_variable_unmap(v));
    call_only(look, TG_ARGS(v));
    call_only(look, TG_ARGS(tg_value_of(v)));
    cr_assert_eq(tg_variable_version(v), version);
    set_variable(v, 1, 2);
    cr_assert_gt(tg_variable_version(v), version);
    version = tg_variable_version(v);
    call_only(inc, TG_ARGS(v));
    cr_assert_gt(tg_variable_version(v), version);
    version = tg_variable_version(v);
    cr_assert_not_null(tg_variable_map(v, TG_WRITE));
    cr_assert_eq(tg_variable_version(v), version, "raised at unmap");
    check_works(tg_variable_unmap(v));
    cr_assert_gt(tg_variable_version(v), version);
    check_variable(v, 2, 3);
    tg_function_release(inc);
    tg_function_release(look);
    tg_variable_release(v);
    session_end(&s);
}

/* -- Mapping --------------------------------------------------------------- */

Test(variable, maps_nest_and_end_one_by_one)
{
    session s;
    session_begin(&s);
    tg_variable *v = make(s.ctx, "v"), *w = make(s.ctx, "w");
    float *a = tg_variable_map(v, TG_WRITE);
    cr_assert_eq(tg_variable_map(v, TG_READ), a);
    cr_assert_not_null(tg_variable_map(w, TG_READ));
    a[0] = 5;
    check_works(tg_variable_unmap(v));
    const uint64_t version = tg_variable_version(v);
    a[1] = 0; /* still mapped for writing */
    check_works(tg_variable_unmap(v));
    cr_assert_gt(tg_variable_version(v), version);
    check_fails(tg_variable_unmap(v), TG_ERROR_STATE,
                "variable 'v' is not mapped by this thread");
    check_works(tg_variable_unmap(w));
    check_variable(v, 5, 0);
    tg_variable_release(v);
    tg_variable_release(w);
    session_end(&s);
}

Test(variable, one_of_the_same_group_is_not_mapped_along)
{
    session s;
    session_begin(&s);
    tg_variable_options options = TG_VARIABLE_OPTIONS_INIT;
    options.group = tg_group_create(s.ctx);
    tg_variable *v = tg_variable_create_with(s.ctx, "v", TG_F32, TG_DIMS(2),
                                             tg_zeros(), &options);
    tg_variable *w = tg_variable_create_with(s.ctx, "w", TG_F32, TG_DIMS(2),
                                             tg_zeros(), &options);
    tg_group_release(options.group);
    cr_assert_not_null(tg_variable_map(v, TG_WRITE));
    check_fails(tg_variable_unmap(w), TG_ERROR_STATE,
                "variable 'w' is not mapped by this thread");
    check_works(tg_variable_unmap(v));
    tg_variable_release(v);
    tg_variable_release(w);
    session_end(&s);
}

Test(variable, a_call_on_a_mapped_group_is_busy)
{
    session s;
    session_begin(&s);
    tg_variable_options options = TG_VARIABLE_OPTIONS_INIT;
    options.group = tg_group_create(s.ctx);
    tg_variable *v = tg_variable_create_with(s.ctx, "v", TG_F32, TG_DIMS(2),
                                             tg_zeros(), &options);
    tg_variable *w = tg_variable_create_with(s.ctx, "w", TG_F32, TG_DIMS(2),
                                             tg_zeros(), &options);
    tg_variable *alone = make(s.ctx, "alone");
    tg_group_release(options.group);
    tg_function *inc = tg_function_create(s.ctx, increment, NULL, NULL);
    cr_assert_not_null(tg_variable_map(v, TG_READ));
    check_fails(tg_call(inc, TG_ARGS(v), TG_RESULTS()), TG_ERROR_BUSY,
                "increment: this thread has mapped one of its variables");
    check_fails(tg_call(inc, TG_ARGS(w), TG_RESULTS()), TG_ERROR_BUSY,
                "mapped");
    call_only(inc, TG_ARGS(alone));
    /* Mapping another variable of the group works, and so does copying. */
    cr_assert_not_null(tg_variable_map(w, TG_READ));
    check_works(tg_variable_unmap(w));
    set_variable(w, 7, 8);
    check_works(tg_variable_unmap(v));
    call_only(inc, TG_ARGS(w));
    check_variable(v, 0, 0);
    check_variable(w, 8, 9);
    check_variable(alone, 1, 1);
    tg_function_release(inc);
    tg_variable_release(v);
    tg_variable_release(w);
    tg_variable_release(alone);
    session_end(&s);
}

/* If one lock of a call is refused, those already taken are released. */
Test(variable, a_busy_call_releases_its_locks)
{
    session s;
    session_begin(&s);
    tg_variable *v = make(s.ctx, "v"), *w = make(s.ctx, "w");
    tg_function *look = tg_function_create(s.ctx, peek, NULL, NULL);
    cr_assert_not_null(tg_variable_map(w, TG_READ));
    check_fails(tg_call(look, TG_ARGS(v, w), TG_RESULTS()), TG_ERROR_BUSY,
                "mapped");
    call_only(look, TG_ARGS(v, 1));
    check_works(tg_variable_unmap(w));
    call_only(look, TG_ARGS(v, w));
    tg_function_release(look);
    tg_variable_release(v);
    tg_variable_release(w);
    session_end(&s);
}

static tg_variable *shared;

static void try_in_print(const char *text, void *user)
{
    (void)text;
    tg_status *statuses = user;
    float data[2];
    statuses[0] = tg_variable_map(shared, TG_READ) ? TG_OK
                                                   : tg_error_last()->status;
    statuses[1] = tg_variable_get(shared, data, sizeof(data));
    statuses[2] = tg_variable_unmap(shared);
}

static void print_it(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_print(t, "%v", in[0]);
}

/* The print runs inside the call, which holds the variable. */
Test(variable, user_code_inside_a_call_cannot_map_its_variables)
{
    tg_status statuses[3] = {TG_OK, TG_OK, TG_OK};
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.print_callback = try_in_print;
    options.print_user = statuses;
    tg_context *ctx = tg_context_create(&options);
    shared = make(ctx, "shared");
    tg_function *f = tg_function_create(ctx, print_it, NULL, NULL);
    call_only(f, TG_ARGS(shared));
    cr_assert_eq(statuses[0], TG_ERROR_BUSY);
    cr_assert_eq(statuses[1], TG_ERROR_BUSY);
    cr_assert_eq(statuses[2], TG_ERROR_STATE);
    check_variable(shared, 0, 0); /* the lock is free again */
    tg_function_release(f);
    tg_variable_release(shared);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

static void *add_many(void *user)
{
    tg_variable *v = user;
    for (int i = 0; i < 1000; i++) {
        float *data = tg_variable_map(v, TG_WRITE);
        data[0] += 1;
        tg_variable_unmap(v);
    }
    return NULL;
}

static void *unmap_elsewhere(void *user)
{
    static tg_status status;
    status = tg_variable_unmap(user);
    return &status;
}

Test(variable, threads_map_one_after_the_other)
{
    session s;
    session_begin(&s);
    tg_variable *v = make(s.ctx, "v");
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, add_many, v), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    check_variable(v, 4000, 0);

    cr_assert_not_null(tg_variable_map(v, TG_READ));
    void *status;
    cr_assert_eq(pthread_create(&threads[0], NULL, unmap_elsewhere, v), 0);
    pthread_join(threads[0], &status);
    cr_assert_eq(*(tg_status *)status, TG_ERROR_STATE);
    check_works(tg_variable_unmap(v));
    tg_variable_release(v);
    session_end(&s);
}

/* -- Stand-ins ------------------------------------------------------------- */

Test(variable, the_host_cannot_access_a_placeholder)
{
    session s;
    session_begin(&s);
    tgi_spec spec = {.dtype = TG_F32, .rank = 1, .dims = {2}, .count = 2,
                     .bytes = 8};
    tg_variable *v = tgi_variable_create_placeholder(s.ctx, "w", &spec, 17, 3);
    cr_assert_not_null(v);
    cr_assert_eq(tg_context_variables(s.ctx, TG_ALL_VARIABLES, NULL, 0), 0);
    cr_assert_null(tg_context_find_variable(s.ctx, "w"));
    cr_assert_str_eq(tg_variable_name(v), "w");
    cr_assert_null(tg_variable_map(v, TG_READ));
    check_record(TG_ERROR_TRACE,
                 "'w' is a placeholder for a bundle's variable and is valid "
                 "only in its own trace");
    check_fails(tg_variable_unmap(v), TG_ERROR_TRACE, "is a placeholder");
    float data[2];
    check_fails(tg_variable_get(v, data, 8), TG_ERROR_TRACE,
                "is a placeholder");
    tg_function *look = tg_function_create(s.ctx, peek, NULL, NULL);
    check_fails(tg_call(look, TG_ARGS(v), TG_RESULTS()), TG_ERROR_TRACE,
                "is a placeholder");
    tg_function_release(look);
    tg_variable_release(v);
    session_end(&s);
}

/* -- Memory ---------------------------------------------------------------- */

static bool make_variables(void)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_variable_options options = TG_VARIABLE_OPTIONS_INIT;
    options.group = ctx ? tg_group_create(ctx) : NULL;
    bool good = options.group != NULL;
    const tg_initial initials[] = {tg_zeros(), tg_fill(1),
                                   tg_seeded(tg_uniform(0, 1), 1),
                                   tg_seeded(tg_normal(0, 1), 1)};
    tg_variable *variables[4] = {NULL};
    for (int i = 0; i < 4 && good; i++) {
        variables[i] = tg_variable_create_with(ctx, "v", TG_F64, TG_DIMS(3),
                                               initials[i], &options);
        good = variables[i] != NULL;
    }
    for (int i = 0; i < 4; i++)
        tg_variable_release(variables[i]);
    tg_group_release(options.group);
    tg_context_release(ctx);
    return good;
}

Test(variable, every_lack_of_memory_is_reported)
{
    check_every_fault(make_variables);
}

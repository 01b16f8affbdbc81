/* SPDX-License-Identifier: MIT */
/*
 * test_build_symbolic.c - extents that are unknown until the call: the graphs
 * built, the results of calls, and their errors. Every error names the
 * operation, the extents and the line of the callback.
 */
#include <math.h>

#include "support/api.h"
#include "support/building.h"

/* -- One function, many shapes --------------------------------------------- */

static int noted_line;
#define NOTED(...) (noted_line = __LINE__, (__VA_ARGS__))

typedef struct shaped {
    int rank;
    int64_t dims[4];
} shaped;

typedef struct attempt {
    shaped x, y;         /* y is missing if its rank is -1 */
    shaped result;       /* if it succeeds */
    const char *message; /* if it fails: after file and line */
} attempt;

#define S(...) \
    { \
        (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
        { \
            __VA_ARGS__ \
        } \
    }
#define SCALAR_SHAPE {0, {0}}
#define NOTHING {-1, {0}}

static tg_tensor *counting(tg_context *ctx, const shaped *shape)
{
    tg_tensor *x =
        tg_tensor_create(ctx, TG_F32, shape->rank, shape->dims, tg_zeros());
    cr_assert_not_null(x);
    float *data = tg_tensor_data(x);
    for (int64_t i = 0; i < tg_tensor_count(x); i++)
        data[i] = (float)(i + 1);
    return x;
}

/* Calls f, all of whose extents are unknown, with the attempt's arguments. */
static void attempt_call(tg_context *ctx, tg_function *f, const attempt *a)
{
    tg_tensor *x = counting(ctx, &a->x);
    tg_tensor *y = a->y.rank < 0 ? NULL : counting(ctx, &a->y);
    tg_tensor *result = NULL;
    tg_error_clear();
    const tg_operand args[] = {tg_in_tensor(x), tg_in_tensor(y)};
    const tg_status status =
        tg_call(f, args, y ? 2 : 1, TG_RESULTS(&result));
    if (a->message) {
        cr_assert_eq(status, TG_ERROR_SHAPE, "%s: %s", tg_function_name(f),
                     tg_error(ctx));
        char whole[512];
        snprintf(whole, sizeof(whole), "%s:%d: %s", tg_error_last()->file,
                 noted_line, a->message);
        cr_assert_str_eq(tg_error(ctx), whole);
        cr_assert_not_null(strstr(whole, "test_build_symbolic.c:"));
        cr_assert_null(result);
    } else {
        cr_assert_eq(status, TG_OK, "%s: %s", tg_function_name(f),
                     tg_error(ctx));
        cr_assert_eq(tg_tensor_rank(result), a->result.rank);
        for (int i = 0; i < a->result.rank; i++)
            cr_assert_eq(tg_tensor_dims(result)[i], a->result.dims[i],
                         "%s: axis %d is %lld", tg_function_name(f), i,
                         (long long)tg_tensor_dims(result)[i]);
    }
    tg_tensor_release(result);
    tg_tensor_release(x);
    tg_tensor_release(y);
}

/* One trace serves all attempts: its signature has unknown extents. */
static void check_attempts_of(const char *name, tg_callback *callback,
                              const attempt *attempts, size_t n)
{
    session s;
    session_begin(&s);
    const int64_t unknown[4] = {TG_UNKNOWN, TG_UNKNOWN, TG_UNKNOWN,
                                TG_UNKNOWN};
    const tg_spec specs[] = {
        tg_spec_tensor(TG_F32, attempts[0].x.rank, unknown),
        tg_spec_tensor(TG_F32, attempts[0].y.rank, unknown)};
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.signature = specs;
    options.n_signature = attempts[0].y.rank < 0 ? 1 : 2;
    tg_function *f =
        tg_function_create_named(s.ctx, name, callback, NULL, &options);
    for (size_t i = 0; i < n; i++)
        attempt_call(s.ctx, f, &attempts[i]);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_function_release(f);
    session_end(&s);
}

#define check_attempts(callback, ...) \
    do { \
        const attempt attempts[] = {__VA_ARGS__}; \
        check_attempts_of(#callback, callback, attempts, \
                          sizeof(attempts) / sizeof(*attempts)); \
    } while (0)

/* A callback that returns one expression of x (and y). */
#define CALLBACK(name, ...) \
    static void name(tg_trace *t, const tg_value *in, void *user) \
    { \
        const tg_value x = in[0]; \
        (void)user; \
        tg_return(t, NOTED(__VA_ARGS__)); \
    }

/* -- Elementwise and broadcast --------------------------------------------- */

CALLBACK(sum_of_two, tg_add(x, in[1]))
CALLBACK(sum_with_three, tg_add(x, tg_iota(TG_F32, TG_DIMS(3), 0)))
CALLBACK(spread_to_three, tg_broadcast(x, TG_DIMS(2, 3)))
CALLBACK(spread_like, tg_broadcast(x, TG_DIMS(tg_value_dim(in[1], 0))))

Test(build_symbolic, operands_broadcast_if_the_call_lets_them)
{
    check_attempts(sum_of_two, {S(3), S(3), S(3), NULL},
                   {S(1), S(4), S(4), NULL}, {S(4), S(1), S(4), NULL},
                   {S(0), S(1), S(0), NULL}, {S(1), S(1), S(1), NULL},
                   {S(2), S(3), NOTHING,
                    "add: [2] and [3] do not broadcast"},
                   {S(0), S(3), NOTHING,
                    "add: [0] and [3] do not broadcast"});
    check_attempts(sum_with_three, {S(3), NOTHING, S(3), NULL},
                   {S(1), NOTHING, S(3), NULL},
                   {S(2), NOTHING, NOTHING,
                    "add: [2] and [3] do not broadcast"});
}

Test(build_symbolic, broadcast_to_a_shape)
{
    check_attempts(spread_to_three, {S(3), NOTHING, S(2, 3), NULL},
                   {S(1), NOTHING, S(2, 3), NULL},
                   {S(4), NOTHING, NOTHING,
                    "broadcast: [4] does not broadcast to [2,3]"});
    check_attempts(spread_like, {S(1), S(5), S(5), NULL},
                   {S(5), S(5), S(5), NULL}, {S(1), S(0), S(0), NULL},
                   {S(5), S(1), NOTHING,
                    "broadcast: [5] does not broadcast to [1]"});
}

/* -- Reshape --------------------------------------------------------------- */

CALLBACK(two_rows, tg_reshape(x, TG_DIMS(2, -1)))
CALLBACK(three_by_four, tg_reshape(x, TG_DIMS(3, 4)))
CALLBACK(flat, tg_reshape(x, TG_DIMS(-1)))
CALLBACK(reversed_dims,
         tg_reshape(x, TG_DIMS(tg_value_dim(x, 1), tg_value_dim(x, 0))))
CALLBACK(as_long_as, tg_reshape(x, TG_DIMS(tg_value_dim(in[1], 0))))
CALLBACK(rows, tg_reshape(x, TG_DIMS(tg_value_dim(x, 0), -1)))

Test(build_symbolic, reshape)
{
    check_attempts(two_rows, {S(4, 3), NOTHING, S(2, 6), NULL},
                   {S(2, 0), NOTHING, S(2, 0), NULL},
                   {S(3, 3), NOTHING, NOTHING,
                    "reshape: numbers of elements: 9 and 8 are not equal"});
    check_attempts(three_by_four, {S(12), NOTHING, S(3, 4), NULL},
                   {S(11), NOTHING, NOTHING,
                    "reshape: numbers of elements: 11 and 12 are not equal"});
    check_attempts(flat, {S(3, 5), NOTHING, S(15), NULL},
                   {S(0, 5), NOTHING, S(0), NULL});
    check_attempts(reversed_dims, {S(3, 5), NOTHING, S(5, 3), NULL});
    check_attempts(as_long_as, {S(2, 3), S(6), S(6), NULL},
                   {S(2, 3), S(5), NOTHING,
                    "reshape: numbers of elements: 6 and 5 are not equal"});
    /* As with known extents: -1 is undetermined beside 0. */
    check_attempts(rows, {S(2, 3, 4), NOTHING, S(2, 12), NULL},
                   {S(2, 0, 4), NOTHING, S(2, 0), NULL},
                   {S(0, 3, 4), NOTHING, NOTHING,
                    "reshape: extents beside one of -1: must not be 0"});
}

/* -- Slices ---------------------------------------------------------------- */

CALLBACK(from_1_to_4, tg_slice(x, 0, 1, 4, 1))
CALLBACK(last_three, tg_slice(x, 0, -3, TG_END, 1))
CALLBACK(all_but_last, tg_slice(x, 0, 0, -1, 1))
CALLBACK(every_third, tg_slice(x, 0, 0, TG_END, 3))
CALLBACK(backwards_by_two, tg_slice(x, 0, -1, TG_END, -2))
CALLBACK(from_5_down, tg_slice(x, 0, 5, TG_END, -1))
CALLBACK(up_to_the_other, tg_slice(x, 0, 0, tg_value_dim(in[1], 0), 1))

Test(build_symbolic, slices_are_checked_at_the_call)
{
    check_attempts(
        from_1_to_4, {S(4), NOTHING, S(3), NULL}, {S(9), NOTHING, S(3), NULL},
        {S(3), NOTHING, NOTHING,
         "slice: slice position and extent: 4 exceeds 3"});
    check_attempts(
        last_three, {S(3), NOTHING, S(3), NULL}, {S(9), NOTHING, S(3), NULL},
        {S(2), NOTHING, NOTHING,
         "slice: slice position and extent: 3 exceeds 2"});
    check_attempts(
        all_but_last, {S(1), NOTHING, S(0), NULL}, {S(5), NOTHING, S(4), NULL},
        {S(0), NOTHING, NOTHING,
         "slice: slice position and extent: 1 exceeds 0"});
    check_attempts(
        from_5_down, {S(6), NOTHING, S(6), NULL}, {S(9), NOTHING, S(6), NULL},
        {S(5), NOTHING, NOTHING,
         "slice: slice position and extent: 6 exceeds 5"});
    check_attempts(
        up_to_the_other, {S(5), S(2), S(2), NULL}, {S(5), S(5), S(5), NULL},
        {S(5), S(0), S(0), NULL},
        {S(5), S(6), NOTHING,
         "slice: slice position and extent: 6 exceeds 5"});
}

Test(build_symbolic, steps_round_up)
{
    check_attempts(every_third, {S(0), NOTHING, S(0), NULL},
                   {S(1), NOTHING, S(1), NULL}, {S(3), NOTHING, S(1), NULL},
                   {S(4), NOTHING, S(2), NULL}, {S(9), NOTHING, S(3), NULL});
    check_attempts(backwards_by_two, {S(0), NOTHING, S(0), NULL},
                   {S(1), NOTHING, S(1), NULL}, {S(2), NOTHING, S(1), NULL},
                   {S(5), NOTHING, S(3), NULL});
}

/* The elements too: shape and offsets depend on the extent. */
Test(build_symbolic, slices_take_the_right_elements)
{
    session s;
    session_begin(&s);
    tg_function_options relaxed = TG_FUNCTION_OPTIONS_INIT;
    relaxed.policy = TG_RELAXED;
    tg_function *back =
        tg_function_create(s.ctx, backwards_by_two, NULL, &relaxed);
    tg_function *last = tg_function_create(s.ctx, last_three, NULL, &relaxed);
    tg_tensor *five = f32_vector(s.ctx, 0, 1, 2, 3, 4);
    tg_tensor *six = f32_vector(s.ctx, 0, 1, 2, 3, 4, 5);
    check_f32(call_one(back, TG_ARGS(five)), 4, 2, 0);
    check_f32(call_one(back, TG_ARGS(six)), 5, 3, 1);
    check_f32(call_one(last, TG_ARGS(five)), 2, 3, 4);
    check_f32(call_one(last, TG_ARGS(six)), 3, 4, 5);
    cr_assert_eq(tg_function_trace_count(back), 1);
    tg_tensor_release(five);
    tg_tensor_release(six);
    tg_function_release(back);
    tg_function_release(last);
    session_end(&s);
}

/* -- Pad, concat, gather --------------------------------------------------- */

CALLBACK(padded, tg_pad(x, 0, 1, 2, 0))
CALLBACK(padded_by_the_other, tg_pad(x, 0, 0, tg_value_dim(in[1], 0), 0))
CALLBACK(joined, tg_concat(0, x, in[1], x))
CALLBACK(joined_sideways, tg_concat(1, x, in[1]))
CALLBACK(clamped, tg_gather_with(x, 7, 0, TG_GATHER_CLAMP))

Test(build_symbolic, pad_and_concat)
{
    check_attempts(padded, {S(3), NOTHING, S(6), NULL},
                   {S(0), NOTHING, S(3), NULL});
    check_attempts(padded_by_the_other, {S(3), S(4), S(7), NULL});
    check_attempts(joined, {S(2, 3), S(1, 3), S(5, 3), NULL},
                   {S(0, 3), S(1, 3), S(1, 3), NULL},
                   {S(2, 3), S(2, 4), NOTHING,
                    "concat: extents: 3 and 4 are not equal"});
    check_attempts(joined_sideways, {S(2, 3), S(2, 4), S(2, 7), NULL},
                   {S(2, 3), S(1, 3), NOTHING,
                    "concat: extents: 2 and 1 are not equal"});
}

Test(build_symbolic, clamping_needs_an_element)
{
    check_attempts(clamped, {S(3), NOTHING, SCALAR_SHAPE, NULL},
                   {S(0), NOTHING, NOTHING,
                    "gather: extent to clamp to: must not be 0"});
}

CALLBACK(four_from_somewhere, tg_dynamic_slice(x, 0, 7, 4))
CALLBACK(as_many_as_in_y, tg_dynamic_slice(x, 1, 7, tg_value_dim(in[1], 0)))

static tg_value two_numbers(void)
{
    return tg_iota(TG_I32, TG_DIMS(2), 0);
}

CALLBACK(y_scattered, tg_scatter(x, two_numbers(), in[1], 0, TG_SCATTER_SET))

Test(build_symbolic, scattered_updates_have_the_shape_of_a_gather)
{
    check_attempts(y_scattered, {S(9, 2), S(2, 2), S(9, 2), NULL},
                   {S(9, 2), S(3, 2), NOTHING,
                    "scatter: extents of the updates: 3 and 2 are not equal"},
                   {S(9, 2), S(2, 3), NOTHING,
                    "scatter: extents of the updates: 3 and 2 are not equal"});
}

CALLBACK(y_put_into_x, tg_dynamic_update_slice(x, in[1], 0, 7))

Test(build_symbolic, an_update_fits_into_its_operand)
{
    check_attempts(y_put_into_x, {S(9, 2), S(4, 2), S(9, 2), NULL},
                   {S(3, 2), S(4, 2), NOTHING,
                    "dynamic_update_slice: size of the slice and extent: 4 "
                    "exceeds 3"},
                   {S(3, 2), S(2, 3), NOTHING,
                    "dynamic_update_slice: extents: 3 and 2 are not equal"});
}

Test(build_symbolic, a_dynamic_slice_is_not_larger_than_its_axis)
{
    check_attempts(four_from_somewhere, {S(9), NOTHING, S(4), NULL},
                   {S(4), NOTHING, S(4), NULL},
                   {S(3), NOTHING, NOTHING,
                    "dynamic_slice: size of the slice and extent: "
                    "4 exceeds 3"});
    check_attempts(as_many_as_in_y, {S(2, 9), S(5), S(2, 5), NULL},
                   {S(2, 9), S(10), NOTHING,
                    "dynamic_slice: size of the slice and extent: "
                    "10 exceeds 9"});
}

/* -- Reductions and products ----------------------------------------------- */

CALLBACK(largest, tg_reduce_max(x, TG_AXES(0)))
CALLBACK(largest_keepdims, tg_reduce_max(x, tg_keep(TG_AXES(1))))
CALLBACK(where_smallest, tg_argmin(x, 1))
CALLBACK(total, tg_sum(x, TG_AXES(0)))
CALLBACK(soft, tg_softmax(x, 0))
CALLBACK(product, tg_matmul(x, in[1]))
CALLBACK(product_transposed, tg_matmul_with(x, in[1], TG_TRANSPOSE_A))

Test(build_symbolic, the_largest_of_nothing_is_refused_at_the_call)
{
    check_attempts(largest, {S(3, 2), NOTHING, S(2), NULL},
                   {S(3, 0), NOTHING, S(0), NULL},
                   {S(0, 2), NOTHING, NOTHING,
                    "reduce_max: extent to reduce: must not be 0"});
    check_attempts(largest_keepdims, {S(3, 2), NOTHING, S(3, 1), NULL});
    check_attempts(where_smallest, {S(3, 2), NOTHING, S(3), NULL},
                   {S(3, 0), NOTHING, NOTHING,
                    "argmin: extent to reduce: must not be 0"});
    check_attempts(total, {S(3, 2), NOTHING, S(2), NULL},
                   {S(0, 2), NOTHING, S(2), NULL});
    check_attempts(soft, {S(4), NOTHING, S(4), NULL},
                   {S(0), NOTHING, S(0), NULL});
}

Test(build_symbolic, inner_dimensions_are_compared_at_the_call)
{
    check_attempts(product, {S(2, 3), S(3, 4), S(2, 4), NULL},
                   {S(2, 0), S(0, 4), S(2, 4), NULL},
                   {S(2, 3), S(4, 4), NOTHING,
                    "matmul: inner dimensions: 3 and 4 are not equal"});
    check_attempts(product_transposed, {S(3, 2), S(3, 4), S(2, 4), NULL},
                   {S(2, 3), S(3, 4), NOTHING,
                    "matmul: inner dimensions: 2 and 3 are not equal"});
    check_attempts(product, {S(5, 2, 3), S(3, 4), S(5, 2, 4), NULL},
                   {S(0, 2, 3), S(3, 4), S(0, 2, 4), NULL});
    check_attempts(product, {S(5, 2, 3), S(5, 3, 4), S(5, 2, 4), NULL},
                   {S(1, 2, 3), S(5, 3, 4), S(5, 2, 4), NULL},
                   {S(2, 2, 3), S(5, 3, 4), NOTHING,
                    "matmul: [2,2,3] and [5,3,4] do not broadcast"});
    check_attempts(product, {S(3), S(3), SCALAR_SHAPE, NULL},
                   {S(3), S(2), NOTHING,
                    "matmul: inner dimensions: 3 and 2 are not equal"});
}

CALLBACK(labelled, tg_einsum("ij,jk->ki", x, in[1]))
CALLBACK(labelled_apart, tg_einsum("iaj,jb->abi", x, in[1]))
CALLBACK(labelled_dots, tg_einsum("...i,...i->...", x, in[1]))
CALLBACK(traced_out, tg_einsum("ii", x))
CALLBACK(dotted, tg_dot_general(x, in[1],
                                (tg_dot_axes){.contract_a = TG_AXES(0),
                                              .contract_b = TG_AXES(1)}))

Test(build_symbolic, extents_of_labels_are_compared_at_the_call)
{
    check_attempts(labelled, {S(2, 3), S(3, 4), S(4, 2), NULL},
                   {S(2, 0), S(0, 4), S(4, 2), NULL},
                   {S(2, 3), S(4, 4), NOTHING,
                    "einsum: label 'j' of \"ij,jk->ki\": 3 and 4 are not "
                    "equal"},
                   {S(2, 1), S(4, 4), NOTHING,
                    "einsum: label 'j' of \"ij,jk->ki\": 1 and 4 are not "
                    "equal"});
    check_attempts(labelled_apart, {S(2, 3, 5), S(5, 4), S(3, 4, 2), NULL},
                   {S(2, 0, 5), S(5, 4), S(0, 4, 2), NULL});
    check_attempts(labelled_dots, {S(2, 3), S(2, 3), S(2), NULL},
                   {S(1, 3), S(2, 3), S(2), NULL},
                   {S(2, 3), S(4, 3), NOTHING,
                    "einsum: [2,3] and [4,3] do not broadcast"});
    check_attempts(traced_out, {S(3, 3), NOTHING, SCALAR_SHAPE, NULL},
                   {S(3, 2), NOTHING, NOTHING,
                    "einsum: label 'i' of \"ii\": 3 and 2 are not equal"});
    check_attempts(dotted, {S(2, 3), S(4, 2), S(3, 4), NULL},
                   {S(2, 3), S(4, 3), NOTHING,
                    "dot_general: axes 0 and 1: 2 and 3 are not equal"});
}

/* -- Extents as numbers ---------------------------------------------------- */

static void measure(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    cr_assert_not(tg_dim_is_known(tg_value_dim(in[0], 0)));
    cr_assert_eq(tg_value_dim(in[0], 0), tg_value_dim(in[0], -2));
    cr_assert_neq(tg_value_dim(in[0], 0), tg_value_dim(in[0], 1));
    cr_assert_eq(tg_value_dim(in[0], 2), -1);
    cr_assert_eq(tg_value_rank(in[0]), 2);
    tg_value n = tg_mul(tg_extent(in[0], 0), tg_extent(in[0], -1));
    tg_value positions = tg_iota(TG_I64, TG_DIMS(tg_value_dim(in[0], 1)), 0);
    tg_return(t, n, tg_mean(in[0], TG_ALL_AXES), positions);
}

Test(build_symbolic, extents_become_numbers)
{
    session s;
    session_begin(&s);
    tg_function_options relaxed = TG_FUNCTION_OPTIONS_INIT;
    relaxed.policy = TG_RELAXED;
    tg_function *f = tg_function_create(s.ctx, measure, NULL, &relaxed);
    const shaped shapes[] = {S(2, 3), S(4, 1)};
    for (int i = 0; i < 2; i++) {
        tg_tensor *x = counting(s.ctx, &shapes[i]);
        tg_tensor *n = NULL, *mean = NULL, *positions = NULL;
        check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&n, &mean, &positions)));
        check_i64(n, i ? 4 : 6);
        check_f32(mean, i ? 2.5f : 3.5f);
        if (i)
            check_i64(positions, 0);
        else
            check_i64(positions, 0, 1, 2);
        tg_tensor_release(x);
    }
    tg_tensor *nothing =
        tg_tensor_create(s.ctx, TG_F32, TG_DIMS(0, 2), tg_zeros());
    tg_tensor *n = NULL, *mean = NULL;
    check_works(tg_call(f, TG_ARGS(nothing), TG_RESULTS(&n, &mean)));
    check_i64(n, 0);
    cr_assert(isnan(*(float *)tg_tensor_data(mean)));
    tg_tensor_release(mean);
    tg_tensor_release(nothing);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_function_release(f);
    session_end(&s);
}

/* -- Decided while tracing ------------------------------------------------- */

Test(build_symbolic, impossible_conditions_fail_the_trace)
{
    building w = building_begin();
    tgi_dim n = symbol(w.graph, 0, 0);
    tgi_dim more = tgi_dim_add(w.graph->dims, n, 1);
    tgi_ref x = f32_of(&w, n, n), longer = f32_of(&w, more, n);
    check_refused(&w, tgi_build_matmul(&w.b, x, longer, 0), TG_ERROR_SHAPE,
                  "f32[?0,?0] x f32[?0+1,?0]: inner dimensions ?0 and ?0+1 "
                  "differ");
    check_refused(&w, tgi_build_concat(&w.b, 1, (tgi_ref[]){x, longer}, 2),
                  TG_ERROR_SHAPE,
                  "f32[?0,?0] x f32[?0+1,?0]: shapes differ in an axis other "
                  "than 1");
    check_refused(&w, tgi_build_slice(&w.b, x, 0, 0, more, 1), TG_ERROR_SHAPE,
                  "f32[?0,?0]: positions are out of range for axis 0");
    cr_assert_eq(w.graph->checks.n, 0);
    building_end(&w);
}

Test(build_symbolic, proven_conditions_are_dropped)
{
    building w = building_begin();
    tgi_dim n = symbol(w.graph, 0, 0);
    tgi_ref x = f32_of(&w, n, 3), y = f32_of(&w, n, 3);
    check_type(&w, tgi_build_2(&w.b, TGI_OP_ADD, x, y), "f32[?0,3]");
    check_type(&w, tgi_build_concat(&w.b, 1, (tgi_ref[]){x, y}, 2),
               "f32[?0,6]");
    check_type(&w, tgi_build_matmul(&w.b, x, y, TG_TRANSPOSE_A), "f32[3,3]");
    check_type(&w, tgi_build_reshape(&w.b, x, 2, (int64_t[]){3, -1}),
               "f32[3,?0]");
    check_type(&w, tgi_build_slice(&w.b, x, 0, 0, TG_END, 1), "f32[?0,3]");
    check_type(&w, tgi_build_broadcast(&w.b, x, 3, (int64_t[]){2, n, 3}),
               "f32[2,?0,3]");
    check_type(&w, tgi_build_reduce(&w.b, TGI_OP_REDUCE_MAX, x, TG_AXES(1)),
               "f32[?0]");
    cr_assert_eq(w.graph->checks.n, 0);
    building_end(&w);
}

Test(build_symbolic, equal_conditions_are_stored_once)
{
    building w = building_begin();
    tgi_dim n = symbol(w.graph, 0, 0), m = symbol(w.graph, 1, 0);
    tgi_ref x = f32_of(&w, n), y = f32_of(&w, m);
    tgi_ref sum = tgi_build_2(&w.b, TGI_OP_ADD, x, y);
    tgi_build_2(&w.b, TGI_OP_MUL, x, y);
    tgi_build_2(&w.b, TGI_OP_SUB, x, y);
    cr_assert_eq(w.graph->checks.n, 1);
    /* The common extent broadcasts with either without another check. */
    tgi_build_2(&w.b, TGI_OP_MUL, sum, sum);
    cr_assert_eq(w.graph->checks.n, 1);
    building_end(&w);
}

Test(build_symbolic, extents_of_another_function_are_refused)
{
    building w = building_begin();
    tgi_ref x = f32_scalar(&w);
    tgi_graph *other = tgi_graph_create("other", NULL);
    tgi_dim foreign = symbol(other, 0, 0);
    cr_expect_eq(tgi_build_broadcast(&w.b, x, 1, (int64_t[]){foreign}), 0);
    cr_expect_eq(tg_error_last()->status, TG_ERROR_SHAPE);
    cr_expect_eq(tgi_build_slice(&w.b, f32_of(&w, 3), 0, foreign, TG_END, 1),
                 0);
    cr_expect_eq(tg_error_last()->status, TG_ERROR_SHAPE);
    cr_expect_eq(tgi_build_pad(&w.b, f32_of(&w, 3), 0, foreign, 0, x), 0);
    cr_expect_eq(tg_error_last()->status, TG_ERROR_SHAPE);
    tgi_graph_release(other);
    building_end(&w);
}

/* Each unknown extent fits, but their product overflows. */
CALLBACK(too_large, tg_broadcast(tg_sum(x, TG_ALL_AXES),
                                 TG_DIMS(tg_value_dim(x, 0), 1LL << 58)))

Test(build_symbolic, sizes_that_overflow_are_refused_at_the_call)
{
    session s;
    session_begin(&s);
    tg_function_options relaxed = TG_FUNCTION_OPTIONS_INIT;
    relaxed.policy = TG_RELAXED;
    tg_function *f = tg_function_create(s.ctx, too_large, NULL, &relaxed);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(64), tg_zeros());
    tg_tensor *y = NULL;
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)), TG_ERROR_OVERFLOW,
                ": broadcast: the size of the result overflows 64 bits");
    cr_assert_null(y);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

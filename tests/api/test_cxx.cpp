/* SPDX-License-Identifier: MIT */
/*
 * test_cxx.cpp - the interface in C++17: overloads instead of macros, brace
 * lists for arguments and shapes, and the caller's line in messages.
 */
#include <criterion/criterion.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <unistd.h>

#include "tgjit.h"

/* -- Support --------------------------------------------------------------- */

static void check_nothing_is_alive()
{
    cr_assert_eq(tg_live_objects(), 0, "%zu objects", tg_live_objects());
    cr_assert_eq(tg_live_bytes(), 0, "%zu bytes", tg_live_bytes());
}

static tg_tensor *vector_of(tg_context *ctx, const std::vector<float> &data)
{
    const int64_t n = (int64_t)data.size();
    return tg_tensor_copy(ctx, data.data(), TG_F32, 1, &n);
}

/* The elements of a result, which is released. */
static std::vector<float> taken(tg_tensor *tensor)
{
    cr_assert_not_null(tensor, "%s", tg_error(NULL));
    cr_assert_eq(tg_tensor_dtype(tensor), TG_F32);
    const float *data = static_cast<const float *>(tg_tensor_data(tensor));
    std::vector<float> elements(data, data + tg_tensor_count(tensor));
    tg_tensor_release(tensor);
    return elements;
}

using floats = std::vector<float>;

/* -- Operands of every type ------------------------------------------------ */

struct operands {
    tg_variable *variable;
    tg_tensor *tensor;
};

/* Adds 1 each time, as every number type. */
static void add_everything(tg_trace *t, const tg_value *in, void *user)
{
    const operands *o = static_cast<const operands *>(user);
    tg_value x = tg_add(in[0], in[1]);
    x = tg_add(x, o->variable);
    x = tg_add(o->tensor, x);
    x = tg_add(x, tg_value_of(o->variable));
    x = tg_add(x, 1);
    x = tg_add(1.0, x);
    x = tg_add(x, 1.0f);
    x = tg_add(x, 1L);
    x = tg_add(x, 1LL);
    x = tg_add(x, 1u);
    x = tg_add(x, 1ul);
    x = tg_add(x, 1ull);
    x = tg_add(x, (short)1);
    x = tg_add(x, (unsigned short)1);
    x = tg_add(x, (signed char)1);
    x = tg_add(x, (unsigned char)1);
    x = tg_add(x, (char)1);
    x = tg_add(x, true);
    x = tg_add(x, (int64_t)1);
    x = tg_add(x, (size_t)1);
    tg_return(t, x);
}

Test(cxx, operands_may_be_of_any_type)
{
    tg_context *ctx = tg_context_create(NULL);
    const int64_t n = 2;
    operands o = {
        tg_variable_create(ctx, "v", TG_F32, 1, &n, tg_fill(1)),
        vector_of(ctx, {1, 1}),
    };
    tg_function *f = tg_function_create(ctx, add_everything, &o, NULL);
    tg_tensor *x = vector_of(ctx, {0, 10}), *y = NULL;
    cr_assert_eq(tg_call(f, {x, 1}, {&y}), TG_OK, "%s", tg_error(ctx));
    cr_assert(taken(y) == floats({20, 30}));
    cr_assert_str_eq(tg_function_name(f), "add_everything");
    tg_tensor_release(x);
    tg_tensor_release(o.tensor);
    tg_variable_release(o.variable);
    tg_function_release(f);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* -- Every operation has its overload -------------------------------------- */

/* An operand that the operation accepts: an integer, a bool or x. */
static tg_value operand_of(const char *name, tg_value x)
{
    for (const char *other : {"not", "rem", "and", "or", "xor", "shl", "shr"})
        if (!strcmp(name, other))
            return tg_cast(x, TG_I32);
    return strcmp(name, "select") ? x : tg_gt(x, 0);
}

static void use_all(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = in[0];
    size_t n = 0;
#define CHECK(value) \
    cr_assert(tg_is_valid(value), "operation %zu: %s", ++n, tg_error(NULL));
#define ONE(name) CHECK(tg_##name(operand_of(#name, x)))
#define TWO(name) \
    CHECK(tg_##name(operand_of(#name, x), operand_of(#name, x)))
#define THREE(name) CHECK(tg_##name(operand_of(#name, x), x, x))
    TG_ELEMENTWISE_OPS(ONE, TWO, THREE)
    TG_ACTIVATIONS(ONE, TWO, THREE)
    tg_return(t, x);
}

/* Functions composed of operations; x is f32[2,3]. */
static void use_functions(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = in[0], i = tg_cast(tg_iota(TG_I64, {2, 3}, 1), TG_I32);
    const int first_axis = 0, last_axis = 1;
    const tg_axes first = tg_axes_of(1, &first_axis);
    const tg_axes last = tg_axes_of(1, &last_axis);
    tg_value parts[3], indices;
    size_t n = 0;
    CHECK(tg_bitcast(x, TG_I32));
    CHECK(tg_flatten(x, 0, 1));
    CHECK(tg_squeeze(tg_expand_dims(x, 0), first));
    tg_split(x, 1, parts, 3);
    CHECK(parts[2]);
    CHECK(tg_reverse(tg_tile(tg_repeat(x, 2, 0), {1, 2}), last));
    CHECK(tg_pad_from(x, 1, 1, 1, TG_PAD_WRAP));
    CHECK(tg_pad_from_axes(x, {1, 1}, {1, 1}, TG_PAD_EDGE));
    CHECK(tg_linspace(0, tg_scalar(TG_F32, 1), 4));
    CHECK(tg_tril(tg_add(tg_eye(TG_F32, 2, 3, 0), tg_arange(TG_F32, 0, 3, 1)),
                  0));
    CHECK(tg_take_along_axis(x, i, 1));
    CHECK(tg_put_along_axis(x, i, x, 1, TG_SCATTER_MAX));
    CHECK(tg_gather_nd_with(x, tg_iota(TG_I32, {4, 2}, 1), 0,
                            TG_GATHER_CLAMP));
    CHECK(tg_compress(x, tg_iota(TG_I32, {3}, 0), 1, 2));
    CHECK(tg_nonzero(x, 4));
    CHECK(tg_resize(x, last, {5}));
    CHECK(tg_sort(x, 1));
    CHECK(tg_top_k(x, 2, 1, &indices));
    CHECK(tg_unique(x, 4).values);
    CHECK(tg_median(x, last));
    CHECK(tg_logsumexp(x, last));
    CHECK(tg_argmax_axes(x, last, TG_ARG_LAST));
    CHECK(tg_gemm(x, x, 1, 0.5, 2, TG_TRANSPOSE_B));
    CHECK(tg_rms_norm(x, 1, 1e-5));
    CHECK(tg_instance_norm(x, 1, 0, 1e-5));
    CHECK(tg_dot_product_attention(x, x, x));
    CHECK(tg_class_loss(x, tg_iota(TG_I32, {2}, 0)));
    CHECK(tg_random_integers(1, TG_I8, 0, 5, {3}));
    CHECK(tg_random_gamma(1, 2, {3}));
    tg_return(t, x);
}

static void shapes(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = in[0]; /* f32[2,3] */
    const float ones[] = {1, 1};
    tg_value y = tg_broadcast(tg_constant(TG_F32, {2}, ones), {3, 2});
    y = tg_transpose(y, {1, 0});
    y = tg_reshape(tg_reshape(y, {-1}), {2, 3});
    y = tg_add(y, tg_iota(TG_F32, {2, 3}, 1));
    y = tg_add(y, tg_cast(tg_extent(x, 0), TG_F32));
    y = tg_slice(tg_pad(y, 0, 1, 1, 0), 0, 1, 3, 1);
    y = tg_slice(tg_concat(1, {x, y}), 1, 3, TG_END, 1);
    y = tg_gather(y, tg_scalar(TG_I64, 1), 0);
    y = tg_dynamic_update_slice(y, tg_dynamic_slice(y, 0, 99, 3), 0, 1);
    y = tg_scatter(y, tg_scalar(TG_I32, 0), tg_scalar(TG_F32, 0), 0,
                   TG_SCATTER_ADD);
    y = tg_scatter_with(y, 99, 5.0f, 0, TG_SCATTER_SET, TG_SCATTER_DROP);
    tg_value z = tg_gather_with(x, 99, 1, TG_GATHER_ZERO);
    tg_return(t, {y, z});
}

static void reductions(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = in[0]; /* {{1, 2, 3}, {4, 5, 6}} */
    tg_value sums = tg_sum(x, TG_AXES(0));
    tg_value all = tg_add(tg_sum(x, TG_ALL_AXES), tg_prod(x, TG_AXES({0, 1})));
    tg_value mean = tg_mean(x, tg_keep(TG_AXES(-1)));
    tg_value ends =
        tg_sub(tg_reduce_max(x, TG_AXES(1)), tg_reduce_min(x, TG_AXES(1)));
    tg_value flags = tg_select(tg_and(tg_any(tg_gt(x, 5), TG_ALL_AXES),
                                      tg_all(tg_gt(x, 0), TG_ALL_AXES)),
                               x, 0);
    tg_value where = tg_add(tg_argmax(x, 1), tg_argmin(x, 1));
    tg_value square = tg_matmul_with(x, x, TG_TRANSPOSE_B);
    tg_value row = tg_matmul(tg_slice(x, 0, 0, 1, 1), tg_transpose(x, {1, 0}));
    tg_value same = tg_einsum("ij,kj->ik", {x, x});
    tg_dot_axes axes = {TG_AXES(1), TG_AXES(1), {}, {}};
    same = tg_mul(tg_add(same, tg_dot_general(x, x, axes)), 0.5);
    tg_return(t, {sums, all, mean, ends, flags, tg_cast(where, TG_F32),
                  square, row, same});
}

static tg_tensor *matrix(tg_context *ctx)
{
    const float data[] = {1, 2, 3, 4, 5, 6};
    const int64_t dims[] = {2, 3};
    return tg_tensor_copy(ctx, data, TG_F32, 2, dims);
}

Test(cxx, every_elementwise_operation_has_an_overload)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_tensor *x = matrix(ctx);
    tg_function *f = tg_function_create(ctx, use_all, NULL, NULL);
    cr_assert_eq(tg_call(f, {x}, TG_RESULTS()), TG_OK, "%s", tg_error(ctx));
    tg_function_release(f);
    tg_tensor_release(x);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

Test(cxx, functions_have_overloads)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_tensor *x = matrix(ctx);
    tg_function *f = tg_function_create(ctx, use_functions, NULL, NULL);
    cr_assert_eq(tg_call(f, {x}, TG_RESULTS()), TG_OK, "%s", tg_error(ctx));
    tg_function_release(f);
    tg_tensor_release(x);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

Test(cxx, shapes_are_brace_lists)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_tensor *x = matrix(ctx), *y = NULL, *z = NULL;
    tg_function *f = tg_function_create(ctx, shapes, NULL, NULL);
    cr_assert_eq(tg_call(f, TG_ARGS(x), TG_RESULTS(&y, &z)), TG_OK, "%s",
                 tg_error(ctx));
    cr_assert(taken(y) == floats({3, 4, 5}));
    cr_assert(taken(z) == floats({0, 0}));
    tg_function_release(f);
    tg_tensor_release(x);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* Commas inside braces are not separators of extents. */
static void check_extents(tg_dims dims)
{
    cr_assert_eq(dims.size(), 2u);
    cr_assert_eq(dims.begin()[0], 3);
    cr_assert_eq(dims.begin()[1], 4);
}

Test(cxx, extents_may_have_braces)
{
    check_extents(TG_DIMS((int64_t)tg_dims{1, 2, 3}.size(), 4));
}

Test(cxx, reductions_take_axes)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_tensor *x = matrix(ctx), *y[9] = {};
    tg_function *f = tg_function_create(ctx, reductions, NULL, NULL);
    cr_assert_eq(tg_call(f, {x}, {&y[0], &y[1], &y[2], &y[3], &y[4], &y[5],
                                  &y[6], &y[7], &y[8]}),
                 TG_OK, "%s", tg_error(ctx));
    cr_assert_eq(tg_tensor_rank(y[2]), 2);
    cr_assert(taken(y[0]) == floats({5, 7, 9}));
    cr_assert(taken(y[1]) == floats({741}));
    cr_assert(taken(y[2]) == floats({2, 5}));
    cr_assert(taken(y[3]) == floats({2, 2}));
    cr_assert(taken(y[4]) == floats({1, 2, 3, 4, 5, 6}));
    cr_assert(taken(y[5]) == floats({2, 2}));
    cr_assert(taken(y[6]) == floats({14, 32, 32, 77}));
    cr_assert(taken(y[7]) == floats({14, 32}));
    cr_assert(taken(y[8]) == floats({14, 32, 32, 77}));
    tg_function_release(f);
    tg_tensor_release(x);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* -- Convolutions ---------------------------------------------------------- */

static void convolve(tg_trace *t, const tg_value *in, void *)
{
    tg_conv_options same = {};
    same.padding = TG_PADDING_SAME;
    tg_pool_options pairs = {};
    pairs.window[0] = 2;
    tg_value x = tg_reshape(in[0], {2, 3, 1}), w = tg_reshape(in[1], {2, 1, 1});
    tg_value filled = tg_reshape(in[1], {1, 2, 1});
    const int axis = 1;
    const int64_t size = 2;
    tg_return(t, {tg_conv(x, w), tg_conv1d(x, w, same),
                  tg_conv_transpose(filled, w), tg_max_pool(x, pairs),
                  tg_avg_pool(x, pairs), tg_lp_pool(x, pairs),
                  tg_global_max_pool(x), tg_global_avg_pool(x, TG_CHANNELS_LAST),
                  tg_windows(in[0], 1, &axis, &size)});
}

Test(cxx, convolutions_take_options)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_tensor *x = matrix(ctx), *w = vector_of(ctx, {1, 10}), *y[9] = {};
    tg_function *f = tg_function_create(ctx, convolve, NULL, NULL);
    cr_assert_eq(tg_call(f, {x, w}, {&y[0], &y[1], &y[2], &y[3], &y[4], &y[5],
                                     &y[6], &y[7], &y[8]}),
                 TG_OK, "%s", tg_error(ctx));
    cr_assert(taken(y[0]) == floats({21, 32, 54, 65}));
    cr_assert(taken(y[1]) == floats({21, 32, 3, 54, 65, 6}));
    cr_assert(taken(y[2]) == floats({1, 20, 100}));
    cr_assert(taken(y[3]) == floats({2, 5}));
    cr_assert(taken(y[4]) == floats({1.5f, 4.5f}));
    cr_assert(taken(y[5]) == floats({std::sqrt(5.0f), std::sqrt(41.0f)}));
    cr_assert(taken(y[6]) == floats({3, 6}));
    cr_assert(taken(y[7]) == floats({2, 5}));
    cr_assert(taken(y[8]) == floats({1, 2, 2, 3, 4, 5, 5, 6}));
    tg_function_release(f);
    tg_tensor_release(x);
    tg_tensor_release(w);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* -- Functions of several operations --------------------------------------- */

static void network(tg_trace *t, const tg_value *in, void *user)
{
    tg_value x = in[0];
    tg_value y = tg_layer_norm(x, 1, 0, 1e-5);
    y = tg_add(tg_softmax(y, -1), tg_exp(tg_log_softmax(y, -1)));
    y = tg_relu(tg_sum(y, TG_ALL_AXES));
    tg_value z = tg_random_uniform(7, TG_F32, {4});
    tg_value u = tg_random_uniform(static_cast<tg_variable *>(user), TG_F32,
                                   {4});
    tg_value n = tg_random_normal(7, TG_F32, {4});
    tg_value bits = tg_random_bits(TG_U32, 7, 0, {4});
    tg_return(t, {y, tg_sub(z, u), n, tg_cast(tg_ge(bits, 0), TG_F32)});
}

Test(cxx, functions_of_networks_and_random_numbers)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_variable *generator = tg_generator_create(ctx, NULL, 7);
    tg_tensor *x = matrix(ctx), *y[4] = {};
    tg_function *f = tg_function_create(ctx, network, generator, NULL);
    cr_assert_eq(tg_call(f, {x}, {&y[0], &y[1], &y[2], &y[3]}), TG_OK, "%s",
                 tg_error(ctx));
    const float sum = taken(y[0])[0];
    cr_assert_float_eq(sum, 4, 1e-5);
    cr_assert(taken(y[1]) == floats({0, 0, 0, 0}));
    for (float v : taken(y[2]))
        cr_assert(std::isfinite(v));
    cr_assert(taken(y[3]) == floats({1, 1, 1, 1}));
    tg_variable_release(generator);
    tg_function_release(f);
    tg_tensor_release(x);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* -- Static values, state, nested functions -------------------------------- */

static void double_and_add(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, {tg_mul(in[0], 2), tg_add(in[0], in[1])});
}

Test(cxx, plain_numbers_adopt_the_dtype_of_the_other_operand)
{
    tg_context *ctx = tg_context_create(nullptr);
    tg_function *f = tg_function_create(ctx, double_and_add, nullptr, nullptr);
    tg_tensor *a = nullptr, *b = nullptr;
    cr_assert_eq(tg_call(f, {5.0f, 0.5}, {&a, &b}), TG_OK);
    cr_assert_eq(tg_tensor_dtype(a), TG_F32);
    cr_assert_eq(tg_tensor_dtype(b), TG_F64);
    tg_tensor_release(a);
    tg_tensor_release(b);
    a = b = nullptr;
    const int8_t one = 1;
    const int64_t dims[] = {1};
    tg_tensor *x = tg_tensor_copy(ctx, &one, TG_I8, 1, dims);
    cr_assert_eq(tg_call(f, {x, 300}, {&a, &b}), TG_ERROR_DTYPE);
    cr_assert_eq(tg_call(f, {x, 126}, {&a, &b}), TG_OK);
    cr_assert_eq(*static_cast<int8_t *>(tg_tensor_data(b)), 127);
    tg_tensor_release(a);
    tg_tensor_release(b);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

static void power(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = in[0];
    for (int64_t i = 1; i < tg_static_int(t, 1); i++)
        y = tg_mul(y, in[0]);
    if (!strcmp(tg_static_string(t, 2), "negative"))
        y = tg_neg(y);
    tg_return(t, y);
}

Test(cxx, static_values_are_part_of_the_signature)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_tensor *x = vector_of(ctx, {2, 3}), *y = NULL;
    tg_function *f = tg_function_create(ctx, power, NULL, NULL);
    cr_assert_eq(tg_call(f, {x, TG_STATIC(3), TG_STATIC("positive")}, {&y}),
                 TG_OK, "%s", tg_error(ctx));
    cr_assert(taken(y) == floats({8, 27}));
    y = NULL;
    cr_assert_eq(tg_call(f, {x, TG_STATIC(2), TG_STATIC("negative")}, {&y}),
                 TG_OK, "%s", tg_error(ctx));
    cr_assert(taken(y) == floats({-4, -9}));
    cr_assert_eq(tg_function_trace_count(f), 2);
    tg_function_release(f);
    tg_tensor_release(x);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

struct pair {
    tg_variable *a, *b;
};
static const tg_bundle_field pair_fields[] = {TG_FIELD(pair, a),
                                              TG_FIELD(pair, b)};
static const tg_bundle_type pair_type = TG_BUNDLE(pair, pair_fields);

static void swap_pair(tg_trace *t, const tg_value *, void *user)
{
    auto p = static_cast<const pair *>(tg_bundle_argument(
        t, 0, static_cast<const tg_bundle_type *>(user)));
    if (!p)
        return;
    tg_value a = tg_read(p->a);
    tg_assign(p->a, p->b);
    tg_assign(p->b, a);
}

Test(cxx, bundles_are_requested_with_their_type)
{
    static const tg_bundle_type other = {"other", 8, pair_fields, 1};
    tg_context *ctx = tg_context_create(NULL);
    pair p = {tg_variable_create(ctx, "a", TG_F32, 0, NULL, tg_fill(1)),
              tg_variable_create(ctx, "b", TG_F32, 0, NULL, tg_fill(2))};
    for (const tg_bundle_type *type : {&pair_type, &other}) {
        tg_function *f = tg_function_create(
            ctx, swap_pair, const_cast<tg_bundle_type *>(type), NULL);
        const tg_status status =
            tg_call(f, {tg_bundle_of(&pair_type, &p)}, TG_RESULTS());
        cr_assert_eq(status, type == &pair_type ? TG_OK
                                                : TG_ERROR_INVALID_ARGUMENT);
        tg_function_release(f);
    }
    cr_assert_not_null(strstr(tg_error(ctx), "'pair' of 16 bytes, but 'other'"));
    float a = 0;
    cr_assert_eq(tg_variable_get(p.a, &a, sizeof a), TG_OK);
    cr_assert_eq(a, 2.0f);
    tg_bundle_release(&pair_type, &p);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

static void accumulate(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_variable *calls =
        tg_own_variable(t, "calls", TG_F32, {}, tg_zeros());
    tg_variable *first = tg_own_variable_from(t, "first", in[1]);
    tg_assign_add(calls, 1);
    tg_value before = tg_read(in[0]);
    tg_assign(in[0], tg_add(in[0], in[1]));
    tg_assign_sub(in[0], 0);
    tg_print(t, "%v then %v", {before, in[0]});
    tg_print(t, "plain");
    tg_assert(t, tg_gt(in[1], 0), "%v and %v", {in[1], before});
    tg_assert(t, true, "plain");
    tg_assert(t, tg_lt(in[1], 1000), "%t: %v, %v", in[1], before, 1);
    tg_return(t, {calls, first});
}

static void keep_text(const char *text, void *user)
{
    *static_cast<std::string *>(user) += std::string(text) + "\n";
}

Test(cxx, state_is_read_assigned_and_printed)
{
    std::string printed;
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.print_callback = keep_text;
    options.print_user = &printed;
    tg_context *ctx = tg_context_create(&options);
    tg_variable *v =
        tg_variable_create(ctx, "v", TG_F32, 0, NULL, tg_fill(1));
    tg_function *f = tg_function_create(ctx, accumulate, NULL, NULL);
    tg_tensor *calls = NULL, *first = NULL;
    cr_assert_eq(tg_call(f, {v, 2.5f}, {&calls, &first}), TG_OK, "%s",
                 tg_error(ctx));
    cr_assert(taken(calls) == floats({1}));
    cr_assert(taken(first) == floats({2.5f}));
    calls = NULL;
    cr_assert_eq(tg_call(f, {v, 0.5f}, {&calls, nullptr}), TG_OK);
    cr_assert(taken(calls) == floats({2}));
    cr_assert_str_eq(printed.c_str(),
                     "1 then 3.5\nplain\n3.5 then 4\nplain\n");
    cr_assert_eq(tg_call(f, {v, -0.5f}, {nullptr, nullptr}), TG_ERROR_ASSERT);
    cr_assert_not_null(strstr(tg_error(ctx), "assert: -0.5 and 4"));
    cr_assert_not_null(strstr(tg_error(ctx), "test_cxx.cpp:"));
    tg_variable_release(v);
    tg_function_release(f);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

static void twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, {tg_mul(in[0], 2), in[0]});
}

static void nested(tg_trace *t, const tg_value *in, void *user)
{
    tg_value results[2];
    tg_apply(static_cast<tg_function *>(user), {tg_add(in[0], 1)}, results, 2);
    tg_return(t, tg_add(results[0], results[1]));
}

Test(cxx, functions_call_functions)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_function *inner = tg_function_create(ctx, twice, NULL, NULL);
    tg_function *outer = tg_function_create(ctx, nested, inner, NULL);
    tg_tensor *x = vector_of(ctx, {1, 2}), *y = NULL;
    cr_assert_eq(tg_call(outer, {x}, {&y}), TG_OK, "%s", tg_error(ctx));
    cr_assert(taken(y) == floats({6, 9}));
    tg_tensor_release(x);
    tg_function_release(inner);
    tg_function_release(outer);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* -- Branches and loops ---------------------------------------------------- */

static void is_small(tg_trace *t, const tg_value *in, void *)
{
    tg_return(t, tg_lt(tg_sum(in[0], TG_ALL_AXES), 100));
}

static void once_more(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, tg_add(in[0], *static_cast<const tg_value *>(user)));
}

static void add_iteration(tg_trace *t, const tg_value *in, void *)
{
    tg_return(t, tg_add(in[1], tg_cast(in[0], TG_F32)));
}

static void flow(tg_trace *t, const tg_value *in, void *)
{
    tg_value x = in[0], y;
    tg_while(is_small, once_more, &x, {x}, &y, 1);
    tg_while_limit(1000, is_small, once_more, &x, {y}, &y, 1);
    tg_for(in[1], add_iteration, nullptr, {y}, &y, 1);
    tg_for_unrolled(3, add_iteration, nullptr, {y}, &y, 1);
    /* Callbacks may be lambdas. */
    tg_callback *const negate = [](tg_trace *u, const tg_value *v, void *) {
        tg_return(u, tg_neg(v[0]));
    };
    tg_callback *const branches[] = {
        [](tg_trace *u, const tg_value *v, void *) { tg_return(u, v[0]); },
        negate};
    tg_switch(1, branches, 2, nullptr, {y}, &y, 1);
    tg_cond(tg_gt(tg_sum(y, TG_ALL_AXES), 0), branches[0], negate, nullptr,
            {y}, &y, 1);
    tg_return(t, y);
}

Test(cxx, branches_and_loops_take_functions_and_lambdas)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_function *f = tg_function_create(ctx, flow, NULL, NULL);
    tg_tensor *x = vector_of(ctx, {10, 20}), *y = NULL;
    cr_assert_eq(tg_call(f, {x, 5}, {&y}), TG_OK, "%s", tg_error(ctx));
    cr_assert(taken(y) == floats({40 + 10 + 3, 80 + 10 + 3}));
    tg_tensor_release(x);
    tg_function_release(f);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* -- Less ceremony --------------------------------------------------------- */

TG_DEFINE_BUNDLE(layer, weights, bias)
TG_DEFINE_BUNDLE(model, (layer, first), (layer, second), temperature)

static void train(tg_trace *t, const tg_value *in, void *)
{
    auto m = static_cast<const model *>(tg_bundle_argument(t, 1, &model_type));
    if (!m)
        return;
    tg_value y = tg_add(tg_mul(in[0], m->first.weights), m->first.bias);
    y = tg_mul(tg_add(tg_mul(y, m->second.weights), m->second.bias),
               m->temperature);
    tg_variable *v[5];
    tg_value g[5];
    const size_t n = tg_bundle_gradients(y, &model_type, m, v, g, 5);
    for (size_t i = 0; i < n; i++)
        tg_assign_sub(v[i], g[i]);
    tg_return(t, y);
}

/* y = (x w1 + b1) w2 t; the gradients are x w2 t, w2 t, (x w1 + b1) t, t, y/t. */
Test(cxx, bundles_of_one_line_nest_and_have_gradients)
{
    tg_context *ctx = tg_context_create(nullptr);
    auto scalar = [ctx](const char *name, double value) {
        return tg_variable_create(ctx, name, TG_F32, TG_SCALAR,
                                  tg_fill(value));
    };
    model m = {{scalar("w", 2), scalar("b", 1)},
               {scalar("w", 3), scalar("b", 0)},
               scalar("t", 10)};
    tg_function *f = tg_function_create(ctx, train, nullptr, nullptr);
    float y = 0, w = 0, t = 0;
    cr_assert_eq(tg_call(f, TG_ARGS(2.0f, tg_bundle_of(&model_type, &m)),
                         TG_RESULTS(&y)),
                 TG_OK, "%s", tg_error(ctx));
    cr_assert_eq(y, 150.0f);
    cr_assert_eq(tg_variable_get(m.first.weights, &w, sizeof w), TG_OK);
    cr_assert_eq(w, 2.0f - 60);
    cr_assert_eq(tg_variable_get(m.temperature, &t, sizeof t), TG_OK);
    cr_assert_eq(t, 10.0f - 15);
    cr_assert_eq(tg_bundle_count(&model_type, &m, TG_ALL_VARIABLES), 5);
    tg_bundle_release(&model_type, &m);
    tg_function_release(f);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

static void add_scaled(tg_trace *t, const tg_value *in, void *user)
{
    tg_context *ctx = static_cast<tg_context *>(user);
    tg_scope_push(ctx, "norm", TG_REUSE_AUTO);
    tg_variable_options options = TG_VARIABLE_OPTIONS_INIT;
    options.untrainable = true;
    tg_variable *scale = tg_get_variable_with(ctx, "scale", TG_F32, TG_DIMS(),
                                              tg_fill(3), &options);
    tg_variable *shift =
        tg_get_variable(ctx, "shift", TG_F32, TG_DIMS(2), tg_ones());
    tg_scope_pop(ctx);
    tg_value y = tg_add(tg_mul(in[0], scale), shift);
    tg_print(t, "%t: %v", y, y);
    tg_value sum = tg_einsum("i,i->", y, tg_concat(0, in[0]));
    tg_return(t, y, sum, tg_concat(0, y, in[0], y));
}

Test(cxx, scopes_signatures_slots_and_cleanup_work_as_in_c)
{
    {
        std::string printed;
        tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
        options.print_callback = keep_text;
        options.print_user = &printed;
        TG_AUTO(tg_context) ctx = tg_context_create(&options);
        TG_AUTO(tg_function) f = tg_function_create(
            ctx, add_scaled, ctx, TG_SIGNATURE(TG_SPEC(TG_F32, 2)));
        TG_AUTO(tg_tensor) x =
            tg_tensor_create(ctx, TG_F32, TG_DIMS(2), tg_fill(2));
        const tg_tensor *only_read = x;
        TG_AUTO(tg_tensor) y = tg_tensor_create(ctx, TG_I8, {3}, tg_zeros());
        TG_AUTO(tg_tensor) all = nullptr;
        float sum = 0, element = 0;
        cr_assert_eq(tg_call(f, TG_ARGS(only_read),
                             TG_RESULTS(TG_FRESH(&y), &sum, &all)),
                     TG_OK, "%s", tg_error(ctx));
        cr_assert_eq(sum, 28.0f);
        cr_assert_str_eq(printed.c_str(), "f32[2]: [7 7]\n");
        cr_assert_str_eq(tg_tensor_text(y), "[7 7]");
        cr_assert_str_eq(tg_tensor_format(all, "%t"), "f32[6]");
        cr_assert_eq(tg_tensor_get(y, &element, 1), TG_OK);
        cr_assert_eq(element, 7.0f);
        cr_assert_eq(tg_tensor_get(y, &element, 2), TG_ERROR_INDEX);
        cr_assert_null(tg_tensor_f64(y));
        cr_assert_eq(tg_tensor_f32(y)[0], 7.0f);
        TG_AUTO(tg_variable) shift =
            tg_context_find_variable(ctx, "norm/shift");
        cr_assert_eq(tg_variable_assign(shift, 5), TG_OK);
        cr_assert_eq(tg_variable_assign(shift, x), TG_OK);
        cr_assert_eq(tg_variable_assign(shift, all), TG_ERROR_SHAPE);
        double wrong = 0;
        cr_assert_eq(tg_call(f, {x}, {nullptr, &wrong}), TG_ERROR_DTYPE);
        cr_assert_eq(tg_call(f, {shift}, {}), TG_ERROR_SIGNATURE);
    }
    check_nothing_is_alive();
}

static void cut(tg_trace *t, const tg_value *in, void *)
{
    tg_value x = tg_transpose(in[0], TG_PERM(1, 0));
    tg_value part = tg_slice_axes(x, {1, 0}, TG_DIMS(3, TG_END));
    part = tg_slice_axes_step(part, {0, -1}, {TG_END, TG_END}, {1, -1});
    part = tg_pad_axes(part, {0, 1}, {0, 0}, 9);
    part = tg_dynamic_slice_axes(part, {in[1], 0}, {1, 2});
    x = tg_dynamic_update_slice_axes(x, part, TG_ARGS(0, in[1]));
    tg_return(t, x);
}

Test(cxx, several_axes_are_cut_padded_and_replaced)
{
    tg_context *ctx = tg_context_create(nullptr);
    tg_function *f = tg_function_create(ctx, cut, nullptr, nullptr);
    const float data[] = {1, 2, 3, 4, 5, 6};
    tg_tensor *x = tg_tensor_copy(ctx, data, TG_F32, {2, 3}), *y = nullptr;
    cr_assert_eq(tg_call(f, {x, 0}, {&y}), TG_OK, "%s", tg_error(ctx));
    cr_assert(taken(y) == floats({9, 5, 2, 5, 3, 6}));
    tg_tensor_release(x);
    tg_function_release(f);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

static int returned_line;

static void return_wrongly(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value foreign = {1, 12345};
    switch (*static_cast<const int *>(user)) {
    case 0:
        returned_line = __LINE__ + 1;
        tg_return(t, in[0], foreign);
        break;
    case 1:
        returned_line = __LINE__ + 1;
        tg_print(t, "%v %v", in[0]);
        break;
    case 2:
        returned_line = __LINE__ + 1;
        tg_concat(3, in[0], in[0]);
        break;
    case 3:
        returned_line = __LINE__ + 1;
        tg_einsum("ij->", in[0]);
        break;
    default:
        tg_return(t);
    }
}

Test(cxx, lists_without_braces_name_the_line_too)
{
    tg_context *ctx = tg_context_create(nullptr);
    tg_tensor *x = vector_of(ctx, {1, 2});
    for (int which = 0; which < 5; which++) {
        tg_function *f =
            tg_function_create(ctx, return_wrongly, &which, nullptr);
        const tg_status status = tg_call(f, {x}, {});
        cr_assert_eq(status == TG_OK, which == 4, "%d", which);
        if (which < 4)
            cr_assert_eq(tg_error_last()->line, returned_line, "%s",
                         tg_error(ctx));
        tg_function_release(f);
    }
    tg_tensor_release(x);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* -- Bound and concrete ---------------------------------------------------- */

Test(cxx, bound_calls_run_many_times)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_function *f = tg_function_create(ctx, twice, NULL, NULL);
    float data[] = {1, 2}, other[] = {5, 6};
    const int64_t n = 2;
    tg_tensor *x = tg_tensor_wrap(ctx, data, TG_F32, 1, &n), *y = NULL;
    tg_bound *b = tg_bind(f, {x}, {&y});
    cr_assert_not_null(b, "%s", tg_error(ctx));
    cr_assert_eq(tg_run(b), TG_OK);
    data[0] = 10;
    cr_assert_eq(tg_run(b), TG_OK);
    const float *result = static_cast<const float *>(tg_tensor_data(y));
    cr_assert(result[0] == 20 && result[1] == 4);
    cr_assert_eq(tg_bound_set(b, 0, other), TG_OK);
    cr_assert_eq(tg_run(b), TG_OK);
    cr_assert(result[0] == 10 && result[1] == 12);
    tg_bound_release(b);

    const tg_spec spec = tg_spec_tensor(TG_F32, 1, &n);
    tg_concrete *c = tg_function_concrete(f, &spec, 1);
    cr_assert_not_null(c);
    cr_assert_eq(tg_concrete_call(c, {x}, {&y}), TG_OK, "%s", tg_error(ctx));
    cr_assert(taken(y) == floats({20, 4}));
    tg_concrete_release(c);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* -- Host calls ------------------------------------------------------------ */

static tg_status halve(const tg_host_buffer *in, size_t n_in,
                       const tg_host_buffer *out, size_t n_out, void *user)
{
    cr_assert(n_in == 1 && n_out == 1 && in[0].rank == 1);
    const float *x = static_cast<const float *>(in[0].data);
    float *y = static_cast<float *>(out[0].data);
    for (int64_t i = 0; i < in[0].dims[0]; i++)
        y[i] = x[i] / 2;
    ++*static_cast<int *>(user);
    return x[0] < 0 ? tg_host_fail("%g is negative", x[0]) : TG_OK;
}

static int host_line;

static void call_halve(tg_trace *t, const tg_value *in, void *user)
{
    const int64_t n = tg_value_dim(in[0], 0);
    const tg_host_spec spec = {TG_F32, 1, &n};
    tg_value y;
    host_line = __LINE__ + 1;
    tg_host_call(t, halve, user, {in[0]}, &spec, &y, 1);
    tg_host_call(t, [](const tg_host_buffer *, size_t, const tg_host_buffer *,
                       size_t, void *) { return TG_OK; },
                 nullptr, {}, nullptr, nullptr, 0);
    tg_return(t, tg_add(y, 1));
}

Test(cxx, functions_of_the_host_are_called)
{
    tg_context *ctx = tg_context_create(NULL);
    int n_calls = 0;
    tg_function *f = tg_function_create(ctx, call_halve, &n_calls, NULL);
    tg_tensor *x = vector_of(ctx, {2, 4}), *bad = vector_of(ctx, {-1, 4});
    tg_tensor *y = NULL;
    cr_assert_eq(tg_call(f, {x}, {&y}), TG_OK, "%s", tg_error(ctx));
    cr_assert(taken(y) == floats({2, 3}));
    cr_assert_eq(tg_call(f, {bad}, {}), TG_ERROR_CALLBACK);
    cr_assert_eq(tg_error_last()->line, host_line, "%s", tg_error(ctx));
    cr_assert_not_null(strstr(tg_error(ctx), "-1 is negative"));
    cr_assert_eq(n_calls, 2);
    tg_tensor_release(x);
    tg_tensor_release(bad);
    tg_function_release(f);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* -- Places ---------------------------------------------------------------- */

static int wrong_line;

static void fails(tg_trace *t, const tg_value *in, void *user)
{
    const int which = *static_cast<const int *>(user);
    if (which == 0) {
        wrong_line = __LINE__ + 1;
        tg_value y = tg_add(in[0], in[1]);
        tg_return(t, y);
    } else if (which == 1) {
        wrong_line = __LINE__ + 1;
        tg_return(t, tg_sum(in[0], TG_AXES(1)));
    } else if (which == 2) {
        wrong_line = __LINE__ + 1;
        tg_return(t, tg_reshape(in[0], {3}));
    } else if (which == 3) {
        wrong_line = __LINE__ + 1;
        tg_cond(in[0], twice, twice, nullptr, {in[0]}, nullptr, 0);
    } else if (which == 4) {
        wrong_line = __LINE__ + 1;
        tg_while(twice, twice, nullptr, {in[0]}, nullptr, 0);
    } else {
        wrong_line = __LINE__ + 1;
        tg_fail(t, "number %d", which);
    }
}

Test(cxx, errors_name_the_line_of_the_caller)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_tensor *x = vector_of(ctx, {1, 2}), *y = vector_of(ctx, {1, 2, 3});
    for (int which = 0; which < 6; which++) {
        tg_function *f = tg_function_create(ctx, fails, &which, NULL);
        cr_assert_neq(tg_call(f, {x, y}, {}), TG_OK);
        cr_assert_eq(tg_error_last()->line, wrong_line, "%s", tg_error(ctx));
        cr_assert_not_null(strstr(tg_error_last()->file, "test_cxx.cpp"));
        tg_function_release(f);
    }
    /* The line of the call itself, if the call is wrong. */
    tg_function *f = tg_function_create(ctx, twice, NULL, NULL);
    tg_tensor *none = NULL;
    const int line = __LINE__ + 1;
    const tg_status status = tg_call(f, {none}, {});
    cr_assert_eq(status, TG_ERROR_INVALID_ARGUMENT);
    cr_assert_eq(tg_error_last()->line, line, "%s", tg_error(ctx));
    tg_function_release(f);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* -- Files ----------------------------------------------------------------- */

Test(cxx, files_are_written_and_read)
{
    const std::string path =
        "/tmp/tgjit-cxx-" + std::to_string(getpid()) + ".safetensors";
    tg_context *ctx = tg_context_create(NULL);
    pair p = {tg_variable_create(ctx, "a", TG_F32, 0, NULL, tg_fill(1)),
              tg_variable_create(ctx, "b", TG_F32, 0, NULL, tg_fill(2))};
    cr_assert_eq(tg_bundle_save(&pair_type, &p, path.c_str()), TG_OK, "%s",
                 tg_error(ctx));
    tg_load_options options = TG_LOAD_OPTIONS_INIT;
    options.allow_extra = true;
    cr_assert_eq(tg_variables_load_with(&p.b, 1, path.c_str(), &options),
                 TG_OK, "%s", tg_error(ctx));
    tg_archive *archive = tg_archive_load(ctx, path.c_str());
    tg_tensor *b = tg_tensor_retain(tg_archive_get(archive, "b"));
    tg_archive_release(archive);
    cr_assert(taken(tg_tensor_from_dlpack(ctx, tg_tensor_to_dlpack(b))) ==
              floats({2}));
    cr_assert_eq(tg_npy_save(b, path.c_str()), TG_OK);
    tg_tensor_release(b);
    cr_assert(taken(tg_npy_load(ctx, path.c_str())) == floats({2}));
    const tg_csv_columns rest = {TG_F32, NULL, 1, TG_CSV_REST};
    tg_tensor *none = NULL;
    cr_assert_eq(tg_csv_load_columns(ctx, "/nowhere.csv", NULL, &rest, 1,
                                     &none),
                 TG_ERROR_FILE);
    unlink(path.c_str());
    tg_bundle_release(&pair_type, &p);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* -- Datasets -------------------------------------------------------------- */

Test(cxx, datasets_read_as_in_c)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_tensor *x = vector_of(ctx, {1, 2, 3}), *batch = NULL;
    tg_function *f = tg_function_create(ctx, twice, NULL, NULL);
    tg_dataset *d = tg_dataset_map(tg_dataset_from(ctx, TG_ARGS(x)), f);
    d = tg_dataset_zip(TG_DATASETS(d, tg_dataset_from(ctx, {x})));
    d = tg_dataset_batch(tg_dataset_enumerate(d), 2, TG_KEEP_REMAINDER);
    tg_iterator *it = tg_iterate(d);
    int n = 0;
    while (tg_next(it, TG_RESULTS(nullptr, &batch)) == TG_OK)
        cr_assert_eq(tg_tensor_f32(batch)[0], n++ ? 6 : 2);
    cr_assert_eq(n, 2);
    cr_assert_eq(tg_next(it, {&batch}), TG_END_OF_DATA);
    tg_iterator_release(it);
    tg_dataset_release(d);
    tg_tensor_release(batch);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* -- Training -------------------------------------------------------------- */

TG_DEFINE_BUNDLE(speaker, (tg_embedding_layer, words), (tg_dense_layer, dense),
                 (tg_gru_layer, gru), (tg_attention_layer, attention))
TG_DEFINE_OPTIMISER(speaker_optimiser, speaker)

struct trained {
    speaker net;
    speaker_optimiser state;
};

static void train_speaker(tg_trace *t, const tg_value *in, void *user)
{
    const trained *r = static_cast<const trained *>(user);
    tg_value x = tg_embedding(in[0], &r->net.words), hs, part[2];
    tg_gru(tg_reshape(x, {2, 3, 4}), tg_value{0, 0}, &r->net.gru, &hs);
    const tg_value mask = tg_causal_mask(3);
    x = tg_masked_attention(hs, hs, mask, &r->net.attention, 2);
    x = tg_add(tg_attention(x, hs, &r->net.attention, 2), tg_roll(x, 1, 1));
    x = tg_dropout(tg_dense(x, &r->net.dense), 0.5, 7, false);
    tg_unstack(x, 0, part, 2);
    x = tg_div(tg_stack(0, part[0], part[1]), tg_std(x, TG_ALL_AXES, 1));
    const tg_value hot = tg_one_hot(in[0], 4, TG_F32);
    tg_value loss = tg_huber_loss(x, tg_reshape(hot, {2, 3, 4}), 1.5);
    loss = tg_add(loss, tg_mean_squared_error(part[0], part[1]));
    tg_minimise(loss, tg_warm_up(r->state.steps, 3, 0.01),
                tg_with_clipping(tg_adam(0.9, 0.99, 1e-8), 1),
                &speaker_optimiser_type, &r->net, &r->state);
    tg_return(t, loss, tg_accuracy(hot, in[0]),
              tg_confusion_matrix(in[0], in[0], 4));
}

Test(cxx, layers_and_optimisers_train)
{
    tg_context *ctx = tg_context_create(NULL);
    trained r;
    cr_assert(!tg_embedding_create(ctx, "words", TG_F32, 4, 4, tg_normal(0, 1),
                                   &r.net.words));
    cr_assert(!tg_dense_create(ctx, "dense", TG_F32, 4, 4, tg_he(),
                               &r.net.dense));
    cr_assert(!tg_gru_create(ctx, "gru", TG_F32, 4, 4, &r.net.gru));
    cr_assert(!tg_attention_create(ctx, "attention", TG_F32, 4, 4,
                                   &r.net.attention));
    cr_assert(!tg_optimiser_create(ctx, "adam", tg_adam(0.9, 0.99, 1e-8),
                                   &speaker_optimiser_type, &r.net, &r.state));
    tg_function *f = tg_function_create(ctx, train_speaker, &r, NULL);
    const int64_t n = 6;
    const int32_t data[] = {0, 3, 1, 2, 2, 1};
    tg_tensor *x = tg_tensor_copy(ctx, data, TG_I32, 1, &n);
    float first = 0, loss = 0, accuracy = 0;
    for (int i = 0; i < 40; i++) {
        tg_tensor *counts = nullptr;
        cr_assert_eq(tg_call(f, {x}, {&loss, &accuracy, &counts}), TG_OK, "%s",
                     tg_error(ctx));
        cr_assert_eq(tg_tensor_i64(counts)[5], 2);
        tg_tensor_release(counts);
        first = i ? first : loss;
    }
    cr_assert_lt(loss, first);
    cr_assert_eq(accuracy, 1);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_bundle_release(&speaker_optimiser_type, &r.state);
    tg_bundle_release(&speaker_type, &r.net);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* SPDX-License-Identifier: MIT */
/*
 * test_semantics_gradients.c - promises 17 to 20: gradients, and edge cases
 * where a function has no derivative or its formula would overflow. Every
 * scenario runs interpreted and compiled, with extents known and unknown.
 */
#include <math.h>

#include "support/api.h"

#define NOTHING (-12345.0f) /* stands for a gradient that does not exist */

/* -- Calling --------------------------------------------------------------- */

/* A formula of vectors x and y. */
typedef tg_value formula(tg_value x, tg_value y);

/* The gradients for x and y; NOTHING if one does not exist. */
static void differentiate(tg_trace *t, const tg_value *in, void *user)
{
    formula *const *f = user;
    tg_value g[2];
    tg_gradients((*f)(in[0], in[1]), in, 2, g);
    for (int i = 0; i < 2; i++)
        if (!tg_is_valid(g[i]))
            g[i] = tg_broadcast(tg_scalar(TG_F32, (double)NOTHING), 1,
                                (int64_t[]){tg_value_dim(in[i], 0)});
    tg_return(t, g[0], g[1]);
}

/* Zeros are equal, and so are NaNs. */
static void check_numbers(int line, const char *how, const char *what,
                          tg_tensor *tensor, const float *want, int64_t n)
{
    cr_assert_eq(tg_tensor_count(tensor), n, "line %d", line);
    const float *is = tg_tensor_data(tensor);
    for (int64_t i = 0; i < n; i++)
        cr_expect(is[i] == want[i] || (isnan(is[i]) && isnan(want[i])),
                  "line %d, %s: %s, element %lld is %.9g, not %.9g", line,
                  how, what, (long long)i, (double)is[i],
                  (double)want[i]);
    tg_tensor_release(tensor);
}

typedef struct vector {
    const float *data;
    int64_t n;
} vector;
#define V(...) \
    ((vector){(const float[]){__VA_ARGS__}, LENGTH_OF(float, __VA_ARGS__)})

static void check_gradients_at(int line, formula *f, vector x, vector y,
                               vector want_x, vector want_y)
{
    static const struct {
        const char *name, *jit;
        tg_policy policy;
    } ways[] = {
        {"interpreted", "off", TG_EXACT},
        {"compiled, if possible", NULL, TG_EXACT},
        {"interpreted, unknown extents", "off", TG_RELAXED},
        {"compiled, unknown extents", NULL, TG_RELAXED},
    };
    for (int i = 0; i < 4; i++) {
        session s;
        session_begin_with(&s, (tg_context_options){.jit = ways[i].jit});
        tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
        options.policy = ways[i].policy;
        tg_function *g =
            tg_function_create(s.ctx, differentiate, &f, &options);
        tg_tensor *a = tg_tensor_copy(s.ctx, x.data, TG_F32, TG_DIMS(x.n));
        tg_tensor *b = tg_tensor_copy(s.ctx, y.data, TG_F32, TG_DIMS(y.n));
        tg_tensor *of_x = NULL, *of_y = NULL;
        check_works_at(line, tg_call(g, TG_ARGS(a, b),
                                     TG_RESULTS(&of_x, &of_y)));
        check_numbers(line, ways[i].name, "x", of_x, want_x.data, want_x.n);
        check_numbers(line, ways[i].name, "y", of_y, want_y.data, want_y.n);
        tg_tensor_release(a);
        tg_tensor_release(b);
        tg_function_release(g);
        session_end(&s);
    }
}
#define check_gradients(...) check_gradients_at(__LINE__, __VA_ARGS__)

#define FORMULA(name, ...) \
    static tg_value name(tg_value x, tg_value y) \
    { \
        (void)x, (void)y; \
        return __VA_ARGS__; \
    }

/* -- 17: targets, seeds, what is not connected ----------------------------- */

FORMULA(product, tg_mul(x, y))
FORMULA(first_only, tg_mul(x, 3))
FORMULA(neither, tg_add(tg_iota(TG_F32, TG_DIMS(2), 0), 1))

Test(semantics, line_17_a_target_stands_for_its_sum)
{
    check_gradients(product, V(1, 2, 3), V(4, 5, 6), V(4, 5, 6), V(1, 2, 3));
}

Test(semantics, line_17_unconnected_sources_have_no_gradient)
{
    check_gradients(first_only, V(1, 2), V(3, 4), V(3, 3),
                    V(NOTHING, NOTHING));
    check_gradients(neither, V(1, 2), V(3, 4), V(NOTHING, NOTHING),
                    V(NOTHING, NOTHING));
}

static void seeded(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value g[3];
    const tg_value y = tg_mul(in[0], in[0]), z = tg_exp(tg_mul(in[0], 0));
    tg_operand seeds[] = {TG_IN(in[1]), TG_IN(2)};
    tg_gradients_with(TG_ARGS(y, z), seeds, TG_UNCONNECTED_ZEROS,
                      TG_ARGS(in[0], in[1], in[2]), g);
    tg_return(t, g[0], g[1], g[2]);
}

Test(semantics, line_17_seeds_are_the_gradients_of_targets)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, seeded, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *w = f32_vector(s.ctx, 10, 100);
    tg_tensor *g[3] = {NULL};
    check_works(tg_call(f, TG_ARGS(x, w, w),
                        TG_RESULTS(&g[0], &g[1], &g[2])));
    check_f32(g[0], 20, 400);
    check_f32(g[1], 0, 0); /* a seed is not a target */
    check_f32(g[2], 0, 0);
    tg_tensor_release(x);
    tg_tensor_release(w);
    tg_function_release(f);
    session_end(&s);
}

/* -- 18: what lets no gradient through ------------------------------------- */

FORMULA(stopped, tg_mul(x, tg_stop_gradient(tg_mul(x, y))))
FORMULA(through_integers, tg_mul(x, tg_cast(tg_cast(y, TG_I32), TG_F32)))
FORMULA(rounded, tg_add(tg_mul(x, tg_floor(y)),
                        tg_add(tg_sign(y), tg_add(tg_round(y),
                                                  tg_add(tg_ceil(y),
                                                         tg_trunc(y))))))

Test(semantics, line_18_a_stopped_value_is_a_constant)
{
    check_gradients(stopped, V(2, 3), V(5, 7), V(10, 21),
                    V(NOTHING, NOTHING));
    check_gradients(through_integers, V(2, 3), V(5.5f, -7.5f), V(5, -7),
                    V(NOTHING, NOTHING));
}

Test(semantics, line_20_steps_have_the_gradient_zero)
{
    check_gradients(rounded, V(2, 3), V(5.5f, -7.5f), V(5, -8), V(0, 0));
}

/* -- 19: broadcasts -------------------------------------------------------- */

FORMULA(sum_of_both, tg_mul(tg_add(x, y), tg_add(x, y)))
FORMULA(column_and_row,
        tg_mul(tg_reshape(x, TG_DIMS(-1, 1)), tg_reshape(y, TG_DIMS(1, -1))))

Test(semantics, line_19_gradients_are_summed_back)
{
    check_gradients(sum_of_both, V(1), V(1, 2, 3), V(18), V(4, 6, 8));
    check_gradients(sum_of_both, V(1, 2, 3), V(1), V(4, 6, 8), V(18));
    check_gradients(sum_of_both, V(1, 2), V(1, 2), V(4, 8), V(4, 8));
    check_gradients(sum_of_both, V(1), V(1), V(4), V(4));
    check_gradients(column_and_row, V(1, 2), V(3, 4, 5), V(12, 12),
                    V(3, 3, 3));
}

/* -- 20: ties and edges ---------------------------------------------------- */

FORMULA(larger, tg_max(x, y))
FORMULA(smaller, tg_min(x, y))
FORMULA(rectified, tg_relu(x))
FORMULA(magnitude, tg_abs(x))
FORMULA(clamped, tg_clamp(x, -1.0, 1.0))
FORMULA(largest, tg_reduce_max(x, TG_ALL_AXES))
FORMULA(smallest, tg_reduce_min(x, TG_ALL_AXES))
FORMULA(power, tg_pow(x, y))
FORMULA(distance, tg_hypot(x, y))
FORMULA(angle, tg_atan2(x, y))
FORMULA(root, tg_sqrt(x))

Test(semantics, line_20_of_equals_the_first_gets_it_all)
{
    check_gradients(larger, V(1, 2, 3, 0), V(3, 2, 1, -0.0f), V(0, 1, 1, 1),
                    V(1, 0, 0, 0));
    check_gradients(smaller, V(1, 2, 3, 0), V(3, 2, 1, -0.0f), V(1, 1, 0, 1),
                    V(0, 0, 1, 0));
    check_gradients(clamped, V(-2, -1, 0, 1, 2), V(0), V(0, 1, 1, 1, 0),
                    V(NOTHING));
}

Test(semantics, line_20_relu_and_abs_of_zero_are_flat)
{
    check_gradients(rectified, V(-1, -0.0f, 0, 1, INFINITY, -INFINITY), V(0),
                    V(0, 0, 0, 1, 1, 0), V(NOTHING));
    check_gradients(magnitude, V(-2, -0.0f, 0, 3), V(0), V(-1, 0, 0, 1),
                    V(NOTHING));
}

Test(semantics, line_20_ties_share_evenly)
{
    check_gradients(largest, V(3, 1, 3, 2, 3, 3), V(0),
                    V(0.25f, 0, 0.25f, 0, 0.25f, 0.25f), V(NOTHING));
    check_gradients(smallest, V(3, 1, 3, 1), V(0), V(0, 0.5f, 0, 0.5f),
                    V(NOTHING));
    check_gradients(largest, V(0, -0.0f), V(0), V(0.5f, 0.5f), V(NOTHING));
    check_gradients(largest, V(-INFINITY, -INFINITY), V(0), V(0.5f, 0.5f),
                    V(NOTHING));
    /* NaN wins in the forward pass and here. */
    check_gradients(largest, V(1, NAN, 3, NAN), V(0), V(0, 0.5f, 0, 0.5f),
                    V(NOTHING));
}

Test(semantics, line_20_powers_of_zero_and_of_negative_numbers)
{
    check_gradients(power, V(0, 0, 0, -2, -2, -3, 2, -1),
                    V(0, 1, 2, 3, 2, 0, 3, -2), V(0, 1, 0, 12, -4, 0, 12, 2),
                    V(0, 0, 0, 0, 0, 0, 8 * (float)M_LN2, 0));
}

Test(semantics, line_20_distances_and_angles_do_not_overflow)
{
    check_gradients(distance, V(0, 3e38f, -3e-38f, 3), V(0, 0, 0, 4),
                    V(0, 1, -1, 0.6f), V(0, 0, 0, 0.8f));
    check_gradients(angle, V(0, 0, 0x1p100f, 1), V(0, 0x1p100f, 0, -1),
                    V(0, 0x1p-100f, 0, -0.5f), V(0, 0, -0x1p-100f, -0.5f));
    check_gradients(root, V(0, 0.25f), V(0), V(INFINITY, 1), V(NOTHING));
}

/* -- Products with zeros --------------------------------------------------- */

FORMULA(all_multiplied, tg_prod(x, TG_ALL_AXES))

/* The gradient of the gradient, weighted by y. */
static tg_value multiplied_twice(tg_value x, tg_value y)
{
    return tg_mul(tg_gradient(tg_prod(x, TG_ALL_AXES), x),
                  tg_stop_gradient(y));
}

Test(semantics, products_with_zeros_have_the_products_of_all_others)
{
    check_gradients(all_multiplied, V(2, 3, 4), V(0), V(12, 8, 6),
                    V(NOTHING));
    check_gradients(all_multiplied, V(2, 0, 4), V(0), V(0, 8, 0), V(NOTHING));
    check_gradients(all_multiplied, V(0, 3, 0), V(0), V(0, 0, 0), V(NOTHING));
    check_gradients(all_multiplied, V(7), V(0), V(1), V(NOTHING));
    /* A product that overflows: a quotient would be infinite. */
    check_gradients(all_multiplied, V(0x1p100f, 0x1p60f), V(0),
                    V(0x1p60f, 0x1p100f), V(NOTHING));
    /* More than one block. */
    check_gradients(all_multiplied,
                    V(2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 4),
                    V(0),
                    V(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0),
                    V(NOTHING));
    /* Weights 1, 10, 100 of [x1 x2, x0 x2, x0 x1]. */
    check_gradients(multiplied_twice, V(0, 3, 5), V(1, 10, 100),
                    V(350, 5, 3), V(NOTHING, NOTHING, NOTHING));
    check_gradients(multiplied_twice, V(0, 0, 5), V(1, 10, 100),
                    V(50, 5, 0), V(NOTHING, NOTHING, NOTHING));
}

/* -- Long products --------------------------------------------------------- */

static void gradient_of_product(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value y = tg_prod(in[0], TG_ALL_AXES);
    const tg_value first = tg_gradient(y, in[0]);
    tg_return(t, y, first, tg_gradient(tg_mul(first, in[1]), in[0]));
}

/* Bytes of a run with n elements: ones, except for a few. */
static uint64_t check_long_product(const char *jit, int64_t n, int threads)
{
    session s;
    session_begin_with(&s,
                       (tg_context_options){.jit = jit, .threads = threads});
    tg_function *f =
        tg_function_create(s.ctx, gradient_of_product, NULL, NULL);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(n), tg_zeros());
    tg_tensor *w = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(n), tg_zeros());
    float *at = tg_tensor_data(x), *weight = tg_tensor_data(w);
    const int64_t zero = n / 3, two = n / 2 + 5, three = n - 1;
    for (int64_t i = 0; i < n; i++) {
        at[i] = i == zero ? 0 : i == two ? 2 : i == three ? 3 : 1;
        weight[i] = i == two ? 5 : 0;
    }
    tg_tensor *y = NULL, *first = NULL, *second = NULL;
    tg_bound *b = tg_bind(f, TG_ARGS(x, w), TG_RESULTS(&y, &first, &second));
    cr_assert_not_null(b, "%s", tg_error(s.ctx));
    check_works(tg_run(b));
    const float *d = tg_tensor_data(first), *dd = tg_tensor_data(second);
    cr_assert_eq(*(const float *)tg_tensor_data(y), 0);
    for (int64_t i = 0; i < n; i++) {
        cr_assert_eq(d[i], i == zero ? 6 : 0, "%lld", (long long)i);
        /* 5 times the gradient for 2, which has a zero and a 3 in it. */
        cr_assert_eq(dd[i], i == zero ? 15 : 0, "%lld", (long long)i);
    }
    const uint64_t bytes = tg_bound_bytes(b, NULL);
    tg_bound_release(b);
    tg_tensor_release(x);
    tg_tensor_release(w);
    tg_tensor_release(y);
    tg_tensor_release(first);
    tg_tensor_release(second);
    tg_function_release(f);
    session_end(&s);
    return bytes;
}

/* The interpreter stores all values, so its memory is a measure. */
Test(semantics, gradients_of_products_are_linear)
{
    const uint64_t small = check_long_product("off", 1 << 14, 1),
                   large = check_long_product("off", 1 << 20, 1);
    cr_assert_leq(large, 66 * small, "%llu bytes, and %llu for 64 times more",
                  (unsigned long long)small, (unsigned long long)large);
    check_long_product(NULL, 5000, 1);
    check_long_product(NULL, 100003, 3);
}

/* -- Cross entropy --------------------------------------------------------- */

/* y is the class; logits are equal. */
FORMULA(entropy_of_class,
        tg_softmax_cross_entropy(
            tg_reshape(x, TG_DIMS(1, -1)),
            tg_cast(tg_slice(y, 0, 0, 1, 1), TG_I32)))
FORMULA(entropy_of_weights, tg_softmax_cross_entropy(x, tg_stop_gradient(y)))

Test(semantics, cross_entropy_pulls_towards_its_class)
{
    check_gradients(entropy_of_class, V(2, 2, 2, 2), V(1),
                    V(0.25f, -0.75f, 0.25f, 0.25f), V(NOTHING));
    /* A class that does not exist. */
    check_gradients(entropy_of_class, V(2, 2, 2, 2), V(-1), V(0, 0, 0, 0),
                    V(NOTHING));
    check_gradients(entropy_of_class, V(2, 2, 2, 2), V(4), V(0, 0, 0, 0),
                    V(NOTHING));
    /* An impossible class other than the label. */
    check_gradients(entropy_of_class, V(-INFINITY, 1, 1), V(1),
                    V(0, -0.5f, 0.5f), V(NOTHING));
    check_gradients(entropy_of_weights, V(2, 2, 2, 2), V(0.5f, 0.5f, 0, 0),
                    V(-0.25f, -0.25f, 0.25f, 0.25f),
                    V(NOTHING, NOTHING, NOTHING, NOTHING));
}

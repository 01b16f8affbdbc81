/* SPDX-License-Identifier: MIT */
/*
 * test_distributions.c - random numbers of other distributions than the uniform
 * and the normal one: their range and moments, the words that a generator
 * advances by, and the same bits interpreted and compiled.
 */
#include <math.h>

#include "support/modes.h"

enum { N = 1 << 14 };

/* A distribution, drawn N times. */
typedef struct distribution {
    const char *name;
    tg_callback *draw;
    double low, high; /* of all numbers, both included */
    double mean, deviation;
    uint64_t words; /* by which the generator advances, per element */
} distribution;

#define DRAW(name, expression) \
    static void name(tg_trace *t, const tg_value *in, void *user) \
    { \
        (void)user; \
        const tg_value g = in[0]; \
        tg_return(t, tg_cast(expression, TG_F64)); \
    }

DRAW(truncated_f32, tg_random_truncated_normal(g, TG_F32, TG_DIMS(N)))
DRAW(truncated_f64, tg_random_truncated_normal(g, TG_F64, TG_DIMS(N / 2, 2)))
DRAW(bernoulli, tg_random_bernoulli(g, 0.25, TG_DIMS(N)))
DRAW(never, tg_random_bernoulli(g, 0, TG_DIMS(N)))
DRAW(always, tg_random_bernoulli(g, tg_scalar(TG_F64, 1), TG_DIMS(N)))
DRAW(small_integers, tg_random_integers(g, TG_I8, -3, 8, TG_DIMS(N)))
DRAW(large_integers,
     tg_random_integers(g, TG_U64, 0, INT64_C(1) << 32, TG_DIMS(N)))
DRAW(one_integer, tg_random_integers(g, TG_I64, 7, 8, TG_DIMS(N)))
DRAW(small_gamma, tg_random_gamma(g, 0.5, TG_DIMS(N)))
DRAW(large_gamma, tg_random_gamma(g, tg_scalar(TG_F64, 4), TG_DIMS(N)))
DRAW(permutation, tg_random_permutation(g, N))

/* Classes 0 and 2 of three, with probability 1/4 and 3/4. */
static void categorical(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const float logits[] = {0, -INFINITY, 1.0986123f};
    const tg_value rows =
        tg_broadcast(tg_constant(TG_F32, TG_DIMS(3), logits), TG_DIMS(N, 3));
    tg_return(t, tg_cast(tg_random_categorical(in[0], rows), TG_F64));
}

static const distribution distributions[] = {
    {"truncated f32", truncated_f32, -2, 2, 0, 0.87962566, 12},
    {"truncated f64", truncated_f64, -2, 2, 0, 0.87962566, 24},
    {"bernoulli", bernoulli, 0, 1, 0.25, 0.4330127, 1},
    {"never", never, 0, 0, 0, 0, 1},
    {"always", always, 1, 1, 1, 0, 2},
    {"small integers", small_integers, -3, 7, 2, 3.16227766, 2},
    {"large integers", large_integers, 0, 0x1p32 - 1, 0x1p31, 0x1p32 / 3.4641,
     2},
    {"one integer", one_integer, 7, 7, 7, 0, 2},
    {"small gamma", small_gamma, 0, 30, 0.5, 0.70710678, 25},
    {"large gamma", large_gamma, 0, 60, 4, 2, 50},
    {"permutation", permutation, 0, N - 1, (N - 1) / 2.0, N / 3.4641016, 2},
    {"categorical", categorical, 0, 2, 1.5, 0.8660254, 3},
};
enum { N_DISTRIBUTIONS = sizeof(distributions) / sizeof(*distributions) };

/* Draws with a new generator; checks by how much it advances. */
static void draw_into(const mode *m, const distribution *d, double *out)
{
    session s;
    session_begin_mode(&s, m);
    tg_function *f =
        tg_function_create_named(s.ctx, "draw", d->draw, NULL, NULL);
    tg_variable *generator = tg_generator_create(s.ctx, NULL, 77);
    tg_tensor *drawn = NULL;
    check_works(tg_call(f, TG_ARGS(generator), TG_RESULTS(&drawn)));
    cr_assert_eq(tg_tensor_count(drawn), N);
    memcpy(out, tg_tensor_data(drawn), N * sizeof(*out));
    uint64_t state[2];
    check_works(tg_variable_get(generator, state, sizeof(state)));
    cr_expect_eq(state[1], d->words * N, "%s: %llu words", d->name,
                 (unsigned long long)state[1]);
    tg_tensor_release(drawn);
    tg_variable_release(generator);
    tg_function_release(f);
    session_end(&s);
}

static double drawn[N], again[N];

Test(distributions, have_their_range_and_moments)
{
    for (int i = 0; i < N_DISTRIBUTIONS; i++) {
        const distribution *d = &distributions[i];
        double sum = 0, squares = 0;
        draw_into(&all_modes[0], d, drawn);
        for (int k = 0; k < N; k++) {
            cr_assert(drawn[k] >= d->low && drawn[k] <= d->high,
                      "%s: element %d is %g", d->name, k, drawn[k]);
            sum += drawn[k];
            squares += (drawn[k] - d->mean) * (drawn[k] - d->mean);
        }
        /* Five standard errors of the mean; 10 % of the deviation. */
        cr_expect_leq(fabs(sum / N - d->mean), 5 * d->deviation / sqrt(N),
                      "%s: mean %g", d->name, sum / N);
        cr_expect_leq(fabs(sqrt(squares / N) - d->deviation),
                      0.1 * d->deviation, "%s: deviation %g", d->name,
                      sqrt(squares / N));
    }
}

Test(distributions, have_the_same_bits_when_compiled)
{
    need_compiler();
    for (int i = 0; i < N_DISTRIBUTIONS; i++) {
        draw_into(&all_modes[0], &distributions[i], drawn);
        for (int m = 1; m <= 2; m++) {
            draw_into(&all_modes[m], &distributions[i], again);
            cr_expect_arr_eq(drawn, again, sizeof(drawn), "%s, %s",
                             distributions[i].name, all_modes[m].name);
        }
    }
}

Test(distributions, a_permutation_has_every_number_once)
{
    static bool is_found[N];
    int n_in_place = 0;
    draw_into(&all_modes[0],
              &(distribution){"permutation", permutation, 0, 0, 0, 0, 2},
              drawn);
    for (int i = 0; i < N; i++) {
        const int at = (int)drawn[i];
        cr_assert(!is_found[at], "%d is there twice", at);
        is_found[at] = true;
        n_in_place += at == i;
    }
    cr_expect_lt(n_in_place, 10);
}

Test(distributions, small_integers_are_equally_frequent)
{
    int counts[11] = {0};
    draw_into(&all_modes[0],
              &(distribution){"integers", small_integers, 0, 0, 0, 0, 2},
              drawn);
    for (int i = 0; i < N; i++)
        counts[(int)drawn[i] + 3]++;
    for (int i = 0; i < 11; i++)
        cr_expect_lt(abs(counts[i] - N / 11), 200, "%d: %d", i - 3, counts[i]);
}

static void gamma_of_nothing(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    const float alpha[] = {-1, 0, NAN, 1};
    tg_return(t, tg_random_gamma(5, tg_constant(TG_F32, TG_DIMS(4), alpha),
                                 TG_DIMS(4)));
}

Test(distributions, gamma_of_invalid_parameters_is_nan)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, gamma_of_nothing, NULL, NULL);
    tg_tensor *result = NULL;
    check_works(tg_call(f, TG_ARGS(), TG_RESULTS(&result)));
    const float *x = tg_tensor_data(result);
    cr_expect(isnan(x[0]) && isnan(x[1]) && isnan(x[2]) && x[3] > 0);
    tg_tensor_release(result);
    tg_function_release(f);
    session_end(&s);
}

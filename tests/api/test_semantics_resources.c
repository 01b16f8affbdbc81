/* SPDX-License-Identifier: MIT */
/*
 * test_semantics_resources.c - promises 24, 26 and 27: random numbers, prints
 * and bundles.
 */
#include <unistd.h>

#include "support/api.h"

/* -- 24: the stream, against an implementation of its own ------------------ */

typedef struct philox {
    uint32_t v[4];
} philox;

/* Philox4x32-10 as described by its authors. */
static philox philox_block(philox counter, uint32_t key0, uint32_t key1)
{
    for (int round = 0; round < 10; round++) {
        const uint64_t a = UINT64_C(0xd2511f53) * counter.v[0];
        const uint64_t b = UINT64_C(0xcd9e8d57) * counter.v[2];
        counter = (philox){{(uint32_t)(b >> 32) ^ counter.v[1] ^ key0,
                            (uint32_t)b,
                            (uint32_t)(a >> 32) ^ counter.v[3] ^ key1,
                            (uint32_t)a}};
        key0 += 0x9e3779b9;
        key1 += 0xbb67ae85;
    }
    return counter;
}

/* Word `w` of the stream `key`. */
static uint32_t philox_word(uint64_t key, uint64_t w)
{
    const uint64_t block = w / 4;
    const philox counter = {{(uint32_t)block, (uint32_t)(block >> 32), 0, 0}};
    return philox_block(counter, (uint32_t)key, (uint32_t)(key >> 32)).v[w % 4];
}

/* The test vectors published with the algorithm. */
Test(semantics, line_24_the_reference_has_the_known_vectors)
{
    const struct {
        uint32_t counter[4], key[2], want[4];
    } rows[] = {
        {{0, 0, 0, 0},
         {0, 0},
         {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (int i = 0; i < 3; i++) {
        philox counter;
        memcpy(counter.v, rows[i].counter, sizeof counter.v);
        const philox block =
            philox_block(counter, rows[i].key[0], rows[i].key[1]);
        cr_assert_eq(memcmp(block.v, rows[i].want, sizeof block.v), 0);
    }
}

enum { N_WORDS = 11 };

static void draw_words(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_random_bits(TG_U32, in[0], in[1], TG_DIMS(N_WORDS)),
              tg_random_bits(TG_U64, in[0], in[1], TG_DIMS(N_WORDS)));
}

Test(semantics, line_24_words_are_those_of_philox)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, draw_words, NULL, NULL);
    uint64_t seed = 24;
    for (int i = 0; i < 200; i++) {
        /* Offsets of all sizes, also at carries of words and blocks. */
        const uint64_t key = i ? random_next(&seed) : 0;
        uint64_t offset = i ? random_next(&seed) >> random_below(&seed, 64) : 0;
        if (i % 4 == 1)
            offset = (UINT64_C(1) << random_below(&seed, 64)) - 3;
        tg_tensor *a = NULL, *b = NULL;
        check_works(tg_call(f, TG_ARGS(key, offset), TG_RESULTS(&a, &b)));
        const uint32_t *words = tg_tensor_data(a);
        const uint64_t *doubles = tg_tensor_data(b);
        for (uint64_t k = 0; k < N_WORDS; k++) {
            cr_assert_eq(words[k], philox_word(key, offset + k));
            cr_assert_eq(doubles[k],
                         philox_word(key, offset + 2 * k) |
                             (uint64_t)philox_word(key, offset + 2 * k + 1)
                                 << 32);
        }
        tg_tensor_release(a);
        tg_tensor_release(b);
    }
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_function_release(f);
    session_end(&s);
}

/* -- 24: numbers ----------------------------------------------------------- */

static void stateless_uniform(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_random_uniform(in[0], TG_F32, TG_DIMS(100)),
              tg_random_uniform(in[0], TG_F64, TG_DIMS(100)));
}

Test(semantics, line_24_uniform_numbers_are_the_high_bits_of_words)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, stateless_uniform, NULL, NULL);
    const uint64_t key = 0x123456789abcdef0;
    tg_tensor *a = NULL, *b = NULL;
    check_works(tg_call(f, TG_ARGS(key), TG_RESULTS(&a, &b)));
    const float *singles = tg_tensor_data(a);
    const double *doubles = tg_tensor_data(b);
    for (uint64_t i = 0; i < 100; i++) {
        const uint64_t both = philox_word(key, 2 * i) |
                              (uint64_t)philox_word(key, 2 * i + 1) << 32;
        cr_assert_eq(singles[i], (float)(philox_word(key, i) >> 8) * 0x1p-24f);
        cr_assert_eq(doubles[i], (double)(both >> 11) * 0x1p-53);
    }
    tg_tensor_release(a);
    tg_tensor_release(b);
    tg_function_release(f);
    session_end(&s);
}

typedef struct draws {
    tg_variable *generator;
    tg_dtype dtype;
    bool is_normal;
    int64_t n;
} draws;

static tg_value draw(const draws *d, int64_t n)
{
    return d->is_normal
               ? tg_random_normal(d->generator, d->dtype, TG_DIMS(n))
               : tg_random_uniform(d->generator, d->dtype, TG_DIMS(n));
}

static void draw_n(tg_trace *t, const tg_value *in, void *user)
{
    const draws *d = user;
    (void)in;
    tg_return(t, draw(d, d->n));
}

static void draw_n_by_halves(tg_trace *t, const tg_value *in, void *user)
{
    const draws *d = user;
    (void)in;
    tg_value first = draw(d, d->n / 2);
    tg_return(t, tg_concat(0, first, draw(d, d->n - d->n / 2)));
}

/* Calls it on a new generator with this seed. */
static tg_tensor *draw_from(tg_context *ctx, tg_callback *callback, draws d,
                            uint64_t seed, int n_calls)
{
    tg_tensor *result = NULL;
    d.generator = tg_generator_create(ctx, "generator", seed);
    tg_function *f = tg_function_create(ctx, callback, &d, NULL);
    for (int i = 0; i < n_calls; i++) {
        tg_tensor_release(result);
        result = call_one(f, TG_ARGS());
    }
    tg_function_release(f);
    tg_variable_release(d.generator);
    return result;
}

static void check_equal(tg_tensor *a, tg_tensor *b)
{
    cr_assert_eq(tg_tensor_bytes(a), tg_tensor_bytes(b));
    cr_assert_eq(memcmp(tg_tensor_data(a), tg_tensor_data(b),
                        tg_tensor_bytes(a)),
                 0);
    tg_tensor_release(a);
    tg_tensor_release(b);
}

static void check_different(tg_tensor *a, tg_tensor *b)
{
    cr_assert_eq(tg_tensor_bytes(a), tg_tensor_bytes(b));
    cr_assert_neq(memcmp(tg_tensor_data(a), tg_tensor_data(b),
                         tg_tensor_bytes(a)),
                  0);
    tg_tensor_release(a);
    tg_tensor_release(b);
}

static const draws all_draws[] = {
    {NULL, TG_F32, false, 20},
    {NULL, TG_F64, false, 20},
    {NULL, TG_F32, true, 20},
    {NULL, TG_F64, true, 20},
};

Test(semantics, line_24_one_seed_gives_the_same_numbers)
{
    session s;
    session_begin(&s);
    for (int i = 0; i < 4; i++) {
        const draws d = all_draws[i];
        check_equal(draw_from(s.ctx, draw_n, d, 5, 1),
                    draw_from(s.ctx, draw_n, d, 5, 1));
        check_different(draw_from(s.ctx, draw_n, d, 5, 1),
                        draw_from(s.ctx, draw_n, d, 6, 1));
        check_different(draw_from(s.ctx, draw_n, d, 5, 1),
                        draw_from(s.ctx, draw_n, d, 5, 2));
    }
    session_end(&s);
}

Test(semantics, line_24_ten_and_ten_are_twenty)
{
    session s;
    session_begin(&s);
    for (int i = 0; i < 4; i++) {
        draws d = all_draws[i];
        check_equal(draw_from(s.ctx, draw_n, d, 5, 1),
                    draw_from(s.ctx, draw_n_by_halves, d, 5, 1));
        d.n = 7; /* halves of 3 and 4 */
        check_equal(draw_from(s.ctx, draw_n, d, 5, 1),
                    draw_from(s.ctx, draw_n_by_halves, d, 5, 1));
        /* The second call of ten equals the second half of twenty. */
        d.n = 10;
        tg_tensor *second = draw_from(s.ctx, draw_n, d, 5, 2);
        d.n = 20;
        tg_tensor *both = draw_from(s.ctx, draw_n, d, 5, 1);
        const size_t half = tg_tensor_bytes(second);
        cr_assert_eq(memcmp(tg_tensor_data(second),
                            (char *)tg_tensor_data(both) + half, half),
                     0);
        tg_tensor_release(second);
        tg_tensor_release(both);
    }
    session_end(&s);
}

static void draw_as_matrix(tg_trace *t, const tg_value *in, void *user)
{
    const draws *d = user;
    (void)in;
    tg_return(t, d->is_normal
                     ? tg_random_normal(d->generator, d->dtype, TG_DIMS(4, 5))
                     : tg_random_uniform(d->generator, d->dtype,
                                         TG_DIMS(4, 5)));
}

Test(semantics, line_24_the_shape_does_not_matter)
{
    session s;
    session_begin(&s);
    for (int i = 0; i < 4; i++)
        check_equal(draw_from(s.ctx, draw_n, all_draws[i], 5, 1),
                    draw_from(s.ctx, draw_as_matrix, all_draws[i], 5, 1));
    session_end(&s);
}

static void draw_from_key(tg_trace *t, const tg_value *in, void *user)
{
    const draws *d = user;
    tg_return(t, d->is_normal
                     ? tg_random_normal(in[0], d->dtype, TG_DIMS(d->n))
                     : tg_random_uniform(in[0], d->dtype, TG_DIMS(d->n)));
}

Test(semantics, line_24_a_key_draws_the_numbers_of_a_new_generator)
{
    session s;
    session_begin(&s);
    for (int i = 0; i < 4; i++) {
        draws d = all_draws[i];
        tg_function *f = tg_function_create(s.ctx, draw_from_key, &d, NULL);
        check_equal(call_one(f, TG_ARGS((uint64_t)5)),
                    draw_from(s.ctx, draw_n, d, 5, 1));
        check_equal(call_one(f, TG_ARGS((uint64_t)5)), /* stateless */
                    call_one(f, TG_ARGS((uint64_t)5)));
        tg_function_release(f);
    }
    session_end(&s);
}

/* One number per element of the argument. */
static void draw_like(tg_trace *t, const tg_value *in, void *user)
{
    const int64_t n = tg_value_dim(in[0], 0);
    tg_return(t, tg_random_uniform((tg_variable *)user, TG_F64, TG_DIMS(n)));
}

Test(semantics, line_24_unknown_extents_draw_as_known_ones_do)
{
    session s;
    session_begin(&s);
    static const int64_t lengths[] = {5, 0, 7};
    tg_tensor *results[2][3];
    for (int policy = 0; policy < 2; policy++) {
        tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
        options.policy = policy ? TG_RELAXED : TG_EXACT;
        tg_variable *generator = tg_generator_create(s.ctx, NULL, 3);
        tg_function *f =
            tg_function_create(s.ctx, draw_like, generator, &options);
        for (int i = 0; i < 3; i++) {
            tg_tensor *x = tg_tensor_create(s.ctx, TG_F32,
                                            TG_DIMS(lengths[i]), tg_zeros());
            results[policy][i] = call_one(f, TG_ARGS(x));
            tg_tensor_release(x);
        }
        uint64_t state[2];
        check_works(tg_variable_get(generator, state, sizeof state));
        cr_assert_eq(state[0], 3);
        cr_assert_eq(state[1], 2 * (5 + 7));
        tg_variable_release(generator);
        tg_function_release(f);
    }
    for (int i = 0; i < 3; i++)
        check_equal(results[0][i], results[1][i]);
    session_end(&s);
}

/* -- 24: the generator is a variable --------------------------------------- */

static void draw_from_argument(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_random_normal(in[0], TG_F32, TG_DIMS(4)));
}

Test(semantics, line_24_a_generator_can_be_saved_and_set_back)
{
    session s;
    session_begin(&s);
    tg_variable *g = tg_generator_create(s.ctx, "dice", 1);
    cr_assert_eq(tg_variable_dtype(g), TG_U64);
    cr_assert_eq(tg_variable_count(g), 2);
    cr_assert_not(tg_variable_is_trainable(g));
    cr_assert_str_eq(tg_variable_name(g), "dice");

    tg_function *f = tg_function_create(s.ctx, draw_from_argument, NULL, NULL);
    call_only(f, TG_ARGS(g));
    uint64_t saved[2], now[2];
    check_works(tg_variable_get(g, saved, sizeof saved));
    cr_assert_eq(saved[1], 4 * 2);
    tg_tensor *a = call_one(f, TG_ARGS(g));
    check_works(tg_variable_get(g, now, sizeof now));
    cr_assert_eq(now[1], 8 * 2);
    check_works(tg_variable_set(g, saved, sizeof saved));
    check_equal(a, call_one(f, TG_ARGS(g)));

    tg_variable *other = tg_generator_create(s.ctx, "dice", 1);
    cr_assert_str_eq(tg_variable_name(other), "dice_1");
    call_only(f, TG_ARGS(other));
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_variable_release(other);
    tg_variable_release(g);
    tg_function_release(f);
    session_end(&s);
}

static void draw_before_failure(tg_trace *t, const tg_value *in, void *user)
{
    tg_variable *g = user;
    tg_random_uniform(g, TG_F32, TG_DIMS(3)); /* unused, but the generator
                                                 advances */
    tg_value picked = tg_gather(in[0], in[1], 0);
    tg_random_uniform(g, TG_F32, TG_DIMS(3));
    tg_return(t, picked);
}

Test(semantics, line_24_draws_are_effects_in_order)
{
    session s;
    session_begin(&s);
    tg_variable *g = tg_generator_create(s.ctx, NULL, 1);
    tg_function *f = tg_function_create(s.ctx, draw_before_failure, g, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *bad = i32_vector(s.ctx, 2),
              *good = i32_vector(s.ctx, 1);
    uint64_t state[2];
    check_fails(tg_call(f, TG_ARGS(x, bad), TG_RESULTS()), TG_ERROR_INDEX,
                "gather");
    check_works(tg_variable_get(g, state, sizeof state));
    cr_assert_eq(state[1], 3);
    call_only(f, TG_ARGS(x, good));
    check_works(tg_variable_get(g, state, sizeof state));
    cr_assert_eq(state[1], 9);
    tg_tensor_release(x);
    tg_tensor_release(bad);
    tg_tensor_release(good);
    tg_variable_release(g);
    tg_function_release(f);
    session_end(&s);
}

static void draw_from_no_generator(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_random_uniform(in[0], TG_F32, TG_DIMS(3)));
}

Test(semantics, line_24_other_variables_are_no_generators)
{
    session s;
    session_begin(&s);
    tg_function *f =
        tg_function_create(s.ctx, draw_from_no_generator, NULL, NULL);
    tg_variable *v[] = {
        tg_variable_create(s.ctx, NULL, TG_U64, TG_DIMS(3), tg_zeros()),
        tg_variable_create(s.ctx, NULL, TG_U64, TG_SCALAR, tg_zeros()),
        tg_variable_create(s.ctx, NULL, TG_I64, TG_DIMS(2), tg_zeros()),
    };
    for (int i = 0; i < 3; i++) {
        check_fails(tg_call(f, TG_ARGS(v[i]), TG_RESULTS()),
                    TG_ERROR_INVALID_ARGUMENT, "random_uniform", "u64[2]");
        tg_variable_release(v[i]);
    }
    tg_function_release(f);
    session_end(&s);
}

static void scaled_uniform(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = tg_random_uniform(in[0], TG_F32, TG_DIMS(9));
    tg_return(t, tg_add(tg_mul(x, 4.0), -1.0));
}

Test(semantics, line_24_initial_values_are_those_of_the_operation)
{
    session s;
    session_begin(&s);
    tg_variable *v = tg_variable_create(s.ctx, NULL, TG_F32, TG_DIMS(9),
                                        tg_seeded(tg_uniform(-1, 3), 77));
    tg_function *f = tg_function_create(s.ctx, scaled_uniform, NULL, NULL);
    tg_tensor *x = call_one(f, TG_ARGS((uint64_t)77));
    check_variable_at(__LINE__, v, tg_tensor_data(x), 9);
    tg_tensor_release(x);
    tg_variable_release(v);
    tg_function_release(f);
    session_end(&s);
}

/* -- 26: print ------------------------------------------------------------- */

static void print_argument(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_print(t, "%v", in[0]);
}

static void check_printed(session *s, tg_operand argument, const char *want)
{
    tg_function *f = tg_function_create(s->ctx, print_argument, NULL, NULL);
    s->printed[0] = '\0';
    call_only(f, &argument, 1);
    cr_assert_str_eq(s->printed, want, "\"%s\"", s->printed);
    tg_function_release(f);
}

Test(semantics, line_26_numbers_are_printed_by_type)
{
    session s;
    session_begin(&s);
    check_printed(&s, TG_IN(-7), "-7\n");
    check_printed(&s, TG_IN((bool)true), "true\n");
    check_printed(&s, TG_IN(0.5), "0.5\n");
    check_printed(&s, TG_IN(UINT64_MAX), "18446744073709551615\n");
    check_printed(&s, TG_IN((int8_t)-128), "-128\n");
    session_end(&s);
}

Test(semantics, line_26_tensors_are_printed_by_axis)
{
    session s;
    session_begin(&s);
    tg_tensor *x = f32_vector(s.ctx, 1, 2.5f, -3);
    tg_tensor *y = tg_tensor_copy(s.ctx, (int32_t[]){1, 2, 3, 4, 5, 6}, TG_I32,
                                  TG_DIMS(2, 3));
    tg_tensor *none = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(0), tg_zeros());
    check_printed(&s, TG_IN(x), "[1 2.5 -3]\n");
    check_printed(&s, TG_IN(y), "[[1 2 3]\n [4 5 6]]\n");
    check_printed(&s, TG_IN(none), "[]\n");
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(none);
    session_end(&s);
}

static void print_counts(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    tg_print(t, "%v", tg_iota(TG_I32, TG_DIMS(6), 0));
    tg_print(t, "%v", tg_iota(TG_I32, TG_DIMS(7), 0));
    tg_print(t, "%v", tg_iota(TG_I32, TG_DIMS(1000), 0));
    tg_print(t, "%v", tg_iota(TG_I32, TG_DIMS(8, 9), 1));
}

Test(semantics, line_26_long_axes_show_their_first_and_last_three)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, print_counts, NULL, NULL);
    call_only(f, TG_ARGS());
    cr_assert_str_eq(s.printed, "[0 1 2 3 4 5]\n"
                                "[0 1 2 ... 4 5 6]\n"
                                "[0 1 2 ... 997 998 999]\n"
                                "[[0 1 2 ... 6 7 8]\n"
                                " [0 1 2 ... 6 7 8]\n"
                                " [0 1 2 ... 6 7 8]\n"
                                " ...\n"
                                " [0 1 2 ... 6 7 8]\n"
                                " [0 1 2 ... 6 7 8]\n"
                                " [0 1 2 ... 6 7 8]]\n");
    tg_function_release(f);
    session_end(&s);
}

static void print_formats(tg_trace *t, const tg_value *in, void *user)
{
    char format[] = "100%% of %v and %v";
    tg_print(t, format, in[0], (tg_variable *)user);
    memset(format, 'x', sizeof format - 1); /* the format was copied */
    tg_print(t, "");
    tg_print(t, "%%v%v%%", 1);
}

Test(semantics, line_26_formats_have_values_and_percent_signs)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 2);
    tg_function *f = tg_function_create(s.ctx, print_formats, v, NULL);
    call_only(f, TG_ARGS(1));
    set_variable(v, 3);
    call_only(f, TG_ARGS(10));
    cr_assert_str_eq(s.printed, "100% of 1 and 2\n\n%v1%\n"
                                "100% of 10 and 3\n\n%v1%\n");
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_variable_release(v);
    tg_function_release(f);
    session_end(&s);
}

typedef struct bad_print {
    const char *format;
    int n_values;
} bad_print;

static void print_badly(tg_trace *t, const tg_value *in, void *user)
{
    const bad_print *bad = user;
    if (bad->n_values == 0)
        tg_print(t, bad->format);
    else
        tg_print(t, bad->format, in[0]);
}

Test(semantics, line_26_formats_that_do_not_fit_are_errors)
{
    session s;
    session_begin(&s);
    const bad_print rows[] = {{"%v", 0},  {"none", 1}, {"%d", 1},
                              {"100%", 0}, {"%v%v", 1}, {"%", 1}, {NULL, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bad_print bad = rows[i];
        tg_function *f = tg_function_create(s.ctx, print_badly, &bad, NULL);
        check_fails(tg_call(f, TG_ARGS(1), TG_RESULTS()),
                    TG_ERROR_INVALID_ARGUMENT, "print", __FILE__);
        tg_function_release(f);
    }
    cr_assert_str_eq(s.printed, "");
    session_end(&s);
}

Test(semantics, line_26_every_context_has_its_own_sink)
{
    session a, b;
    session_begin(&a);
    session_begin(&b);
    tg_function *f = tg_function_create(a.ctx, print_argument, NULL, NULL);
    tg_function *g = tg_function_create(b.ctx, print_argument, NULL, NULL);
    call_only(f, TG_ARGS(1));
    call_only(g, TG_ARGS(2));
    cr_assert_str_eq(a.printed, "1\n");
    cr_assert_str_eq(b.printed, "2\n");
    tg_function_release(f);
    tg_function_release(g);
    tg_context_release(a.ctx);
    session_end(&b);
}

Test(semantics, line_26_without_a_sink_prints_go_to_stderr)
{
    FILE *file = tmpfile();
    const int saved = dup(STDERR_FILENO);
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    tg_context *ctx = tg_context_create(NULL);
    tg_function *f = tg_function_create(ctx, print_argument, NULL, NULL);
    const tg_status status = tg_call(f, TG_ARGS(42), TG_RESULTS());
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    char text[64] = "";
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    check_works(status);
    cr_assert_str_eq(text, "42\n");
    tg_function_release(f);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* SPDX-License-Identifier: MIT */
/*
 * test_semantics_data.c - datasets: promise 23.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "jit.h"
#include "support/api.h"

static const char *const jit_modes[] = {"off", "required", "auto"};
enum { N_JIT_MODES = 3 };

static void need_jit(const char *jit)
{
    char text[1024];
    if (strcmp(jit, "required") == 0 && !tgi_jit_describe(text, sizeof(text)))
        cr_skip_test("%s", text);
}

/* 0, 1, … as f32 rows [n, 2] with the elements i and i + 0.5. */
static tg_tensor *pairs(tg_context *ctx, int64_t n)
{
    tg_tensor *x = tg_tensor_create(ctx, TG_F32, TG_DIMS(n, 2), tg_zeros());
    cr_assert_not_null(x, "%s", tg_error(NULL));
    float *data = tg_tensor_data(x);
    for (int64_t i = 0; i < n; i++) {
        data[2 * i] = (float)i;
        data[2 * i + 1] = (float)i + 0.5f;
    }
    return x;
}

static tg_dataset *count_to(tg_context *ctx, int64_t n)
{
    tg_tensor *x = tg_tensor_create(ctx, TG_I64, TG_DIMS(n), tg_zeros());
    int64_t *data = tg_tensor_data(x);
    for (int64_t i = 0; i < n; i++)
        data[i] = i;
    tg_dataset *d = tg_dataset_from(ctx, TG_ARGS(x));
    tg_tensor_release(x);
    return d;
}

/* Takes over a dataset of i64 scalars; checks all of them. */
static void check_numbers_at(int line, tg_dataset *d, const int64_t *want,
                             size_t n)
{
    tg_iterator *it = tg_iterate(d);
    cr_assert_not_null(it, "line %d: %s", line, tg_error(NULL));
    tg_dataset_release(d);
    for (size_t i = 0; i < n; i++) {
        int64_t x = -1;
        const tg_status status = tg_next(it, TG_RESULTS(&x));
        cr_assert_eq(status, TG_OK, "line %d: element %zu: %s", line, i,
                     tg_status_name(status));
        cr_assert_eq(x, want[i], "line %d: element %zu is %lld, not %lld", line,
                     i, (long long)x, (long long)want[i]);
    }
    for (int i = 0; i < 2; i++)
        cr_assert_eq(tg_next(it, TG_RESULTS()), TG_END_OF_DATA, "line %d",
                     line);
    tg_iterator_release(it);
}

#define check_numbers(d, ...) \
    check_numbers_at(__LINE__, d, (const int64_t[]){__VA_ARGS__}, \
                     sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* Reads n numbers of a new iteration. */
static void read_numbers(tg_dataset *d, int64_t *out, int n)
{
    tg_iterator *it = tg_iterate(d);
    for (int i = 0; i < n; i++)
        check_works(tg_next(it, TG_RESULTS(&out[i])));
    cr_assert_eq(tg_next(it, TG_RESULTS()), TG_END_OF_DATA);
    tg_iterator_release(it);
}

/* -- Description and sources ----------------------------------------------- */

Test(semantics, line_23_from_slices_axis_0_of_every_component)
{
    session s;
    session_begin(&s);
    tg_tensor *x = pairs(s.ctx, 3), *y = i32_vector(s.ctx, 7, 8, 9);
    tg_dataset *d = tg_dataset_from(s.ctx, TG_ARGS(x, y));
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_iterator *it = tg_iterate(d);
    tg_tensor *row = NULL;
    for (int i = 0; i < 3; i++) {
        int32_t label = 0;
        check_works(tg_next(it, TG_RESULTS(&row, &label)));
        cr_assert_eq(label, 7 + i);
        cr_assert_eq(tg_tensor_rank(row), 1);
        check_floats_at(__LINE__, tg_tensor_f32(row),
                        (const float[]){(float)i, (float)i + 0.5f}, 2);
    }
    cr_assert_eq(tg_next(it, TG_RESULTS(&row)), TG_END_OF_DATA);
    cr_assert_str_eq(tg_error(NULL), "", "the end is no error");
    tg_tensor_release(row);
    tg_iterator_release(it);
    tg_dataset_release(d);
    session_end(&s);
}

Test(semantics, line_23_lengths_must_agree)
{
    session s;
    session_begin(&s);
    tg_tensor *x = pairs(s.ctx, 3), *y = i32_vector(s.ctx, 7, 8);
    cr_assert_null(tg_dataset_from(s.ctx, TG_ARGS(x, y)));
    check_record(TG_ERROR_SHAPE, "tg_dataset_from", "3 slices", "has 2",
                 "test_semantics_data.c");
    tg_tensor_release(x);
    tg_tensor_release(y);
    session_end(&s);
}

Test(semantics, line_23_each_iteration_starts_anew)
{
    session s;
    session_begin(&s);
    tg_dataset *d = tg_dataset_take(count_to(s.ctx, 5), 3);
    tg_iterator *a = tg_iterate(d), *b = tg_iterate(d);
    tg_dataset_release(d);
    int64_t x, y;
    check_works(tg_next(a, TG_RESULTS(&x)));
    check_works(tg_next(a, TG_RESULTS(&x)));
    check_works(tg_next(b, TG_RESULTS(&y)));
    cr_assert(x == 1 && y == 0);
    tg_iterator_release(a);
    check_works(tg_next(b, TG_RESULTS(&y)));
    cr_assert_eq(y, 1);
    tg_iterator_release(b);
    session_end(&s);
}

/* -- Steps ----------------------------------------------------------------- */

Test(semantics, line_23_the_last_batch_is_short_unless_dropped)
{
    for (int drops = 0; drops < 2; drops++)
        for (int shuffles = 0; shuffles < 2; shuffles++) {
            session s;
            session_begin(&s);
            tg_tensor *x = pairs(s.ctx, 5), *batch = NULL;
            tg_dataset *d = tg_dataset_from(s.ctx, TG_ARGS(x));
            if (shuffles) /* elements are gathered, in the same order */
                d = tg_dataset_shuffle(d, 1, 0, TG_SAME_ORDER);
            d = tg_dataset_batch(d, 2,
                                 drops ? TG_DROP_REMAINDER : TG_KEEP_REMAINDER);
            tg_iterator *it = tg_iterate(d);
            for (int i = 0; i < 3 - drops; i++) {
                check_works(tg_next(it, TG_RESULTS(&batch)));
                const int64_t n = i < 2 ? 2 : 1;
                cr_assert_eq(tg_tensor_rank(batch), 2);
                cr_assert_eq(tg_tensor_dims(batch)[0], n);
                check_floats_at(__LINE__, tg_tensor_f32(batch),
                                tg_tensor_f32(x) + 4 * i, 2 * n);
            }
            cr_assert_eq(tg_next(it, TG_RESULTS(&batch)), TG_END_OF_DATA);
            tg_iterator_release(it);
            tg_dataset_release(d);
            tg_tensor_release(batch);
            tg_tensor_release(x);
            session_end(&s);
        }
}

enum { N_SHUFFLED = 50 };

static tg_dataset *shuffled(session *s, int64_t buffer, uint64_t seed,
                            tg_shuffle_order order)
{
    return tg_dataset_shuffle(count_to(s->ctx, N_SHUFFLED), buffer, seed,
                              order);
}

static void check_permutation(const int64_t *x)
{
    bool seen[N_SHUFFLED] = {false};
    for (int i = 0; i < N_SHUFFLED; i++) {
        cr_assert(x[i] >= 0 && x[i] < N_SHUFFLED && !seen[x[i]]);
        seen[x[i]] = true;
    }
}

Test(semantics, line_23_shuffle_the_same_seed_gives_the_same_order)
{
    session s;
    session_begin(&s);
    int64_t a[N_SHUFFLED], b[N_SHUFFLED];
    for (int64_t buffer = 1; buffer < 100; buffer += 33) {
        tg_dataset *d = shuffled(&s, buffer, 3, TG_RESHUFFLE);
        tg_dataset *e = shuffled(&s, buffer, 3, TG_RESHUFFLE);
        read_numbers(d, a, N_SHUFFLED);
        read_numbers(e, b, N_SHUFFLED);
        check_permutation(a);
        cr_assert_arr_eq(a, b, sizeof(a));
        for (int i = 0; i < N_SHUFFLED; i++)
            cr_assert_lt(a[i], i + buffer, "drawn from the buffer only");
        /* Buffers of copies and of row numbers give the same order. */
        tg_dataset *f = tg_dataset_shuffle(
            tg_dataset_take(count_to(s.ctx, N_SHUFFLED), N_SHUFFLED), buffer, 3,
            TG_RESHUFFLE);
        read_numbers(f, b, N_SHUFFLED);
        cr_assert_arr_eq(a, b, sizeof(a));
        tg_dataset_release(d);
        tg_dataset_release(e);
        tg_dataset_release(f);
    }
    tg_dataset *d = shuffled(&s, 100, 4, TG_RESHUFFLE);
    read_numbers(d, b, N_SHUFFLED);
    cr_assert_arr_neq(a, b, sizeof(a), "another seed");
    tg_dataset_release(d);
    session_end(&s);
}

/* Fixed for all machines and versions. */
Test(semantics, line_23_shuffle_the_order_is_that_of_philox)
{
    session s;
    session_begin(&s);
    check_numbers(tg_dataset_shuffle(count_to(s.ctx, 8), 8, 1, TG_SAME_ORDER),
                  7, 4, 5, 3, 2, 6, 0, 1);
    session_end(&s);
}

Test(semantics, line_23_reshuffle_each_epoch_or_not)
{
    session s;
    session_begin(&s);
    int64_t a[2 * N_SHUFFLED], b[2 * N_SHUFFLED];
    for (int same = 0; same < 2; same++) {
        tg_dataset *d = tg_dataset_repeat(
            shuffled(&s, 100, 5, same ? TG_SAME_ORDER : TG_RESHUFFLE), 2);
        read_numbers(d, a, 2 * N_SHUFFLED);
        read_numbers(d, b, 2 * N_SHUFFLED);
        check_permutation(a);
        check_permutation(a + N_SHUFFLED);
        cr_assert_eq(memcmp(a, a + N_SHUFFLED, sizeof(a) / 2) == 0, same);
        cr_assert_eq(memcmp(a, b, sizeof(a)) == 0, same);
        tg_dataset_release(d);
    }
    session_end(&s);
}

Test(semantics, line_23_repeat_take_skip)
{
    session s;
    session_begin(&s);
    check_numbers(tg_dataset_repeat(count_to(s.ctx, 2), 3), 0, 1, 0, 1, 0, 1);
    check_numbers(
        tg_dataset_take(tg_dataset_repeat(count_to(s.ctx, 2), TG_FOREVER), 5),
        0, 1, 0, 1, 0);
    check_numbers(tg_dataset_take(count_to(s.ctx, 2), 5), 0, 1);
    check_numbers(tg_dataset_skip(count_to(s.ctx, 4), 2), 2, 3);
    check_numbers_at(__LINE__, tg_dataset_skip(count_to(s.ctx, 4), 9), NULL, 0);
    check_numbers_at(__LINE__, tg_dataset_repeat(count_to(s.ctx, 4), 0), NULL,
                     0);
    check_numbers_at(__LINE__, tg_dataset_take(count_to(s.ctx, 4), 0), NULL, 0);
    check_numbers_at(
        __LINE__, tg_dataset_repeat(count_to(s.ctx, 0), TG_FOREVER), NULL, 0);
    session_end(&s);
}

Test(semantics, line_23_zip_ends_with_the_shortest)
{
    session s;
    session_begin(&s);
    tg_dataset *d = tg_dataset_zip(
        TG_DATASETS(count_to(s.ctx, 3), tg_dataset_skip(count_to(s.ctx, 9), 4),
                    tg_dataset_enumerate(count_to(s.ctx, 2))));
    tg_iterator *it = tg_iterate(d);
    for (int64_t i = 0; i < 2; i++) {
        int64_t x[4];
        check_works(tg_next(it, TG_RESULTS(&x[0], &x[1], &x[2], &x[3])));
        cr_assert(x[0] == i && x[1] == i + 4 && x[2] == i && x[3] == i);
    }
    cr_assert_eq(tg_next(it, TG_RESULTS()), TG_END_OF_DATA);
    tg_iterator_release(it);
    tg_dataset_release(d);
    session_end(&s);
}

Test(semantics, line_23_enumerate_adds_an_i64_in_front)
{
    session s;
    session_begin(&s);
    tg_dataset *d =
        tg_dataset_enumerate(tg_dataset_skip(count_to(s.ctx, 5), 3));
    tg_iterator *it = tg_iterate(d);
    for (int64_t i = 0; i < 2; i++) {
        int64_t number, x;
        check_works(tg_next(it, TG_RESULTS(&number, &x)));
        cr_assert(number == i && x == i + 3);
    }
    cr_assert_eq(tg_next(it, TG_RESULTS()), TG_END_OF_DATA);
    tg_iterator_release(it);
    tg_dataset_release(d);
    session_end(&s);
}

static void square_and_double(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], in[0]), tg_mul(in[0], 2));
}

static void is_odd(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_eq(tg_rem(in[0], 2), 1));
}

Test(semantics, line_23_map_and_filter_call_traced_functions)
{
    for (int m = 0; m < N_JIT_MODES; m++) {
        session s;
        need_jit(jit_modes[m]);
        session_begin_with(&s, (tg_context_options){.jit = jit_modes[m]});
        tg_function *f =
            tg_function_create(s.ctx, square_and_double, NULL, NULL);
        tg_function *g = tg_function_create(s.ctx, is_odd, NULL, NULL);
        tg_dataset *d = tg_dataset_filter(count_to(s.ctx, 6), g);
        d = tg_dataset_map(d, f);
        tg_function_release(f);
        tg_function_release(g);
        tg_iterator *it = tg_iterate(d);
        for (int64_t i = 1; i < 6; i += 2) {
            int64_t square, doubled;
            check_works(tg_next(it, TG_RESULTS(&square, &doubled)));
            cr_assert(square == i * i && doubled == 2 * i);
        }
        cr_assert_eq(tg_next(it, TG_RESULTS()), TG_END_OF_DATA);
        tg_iterator_release(it);
        tg_dataset_release(d);
        session_end(&s);
    }
}

Test(semantics, line_23_map_of_a_short_last_batch)
{
    for (int m = 0; m < N_JIT_MODES; m++) {
        session s;
        need_jit(jit_modes[m]);
        session_begin_with(&s, (tg_context_options){.jit = jit_modes[m]});
        tg_function *f =
            tg_function_create(s.ctx, square_and_double, NULL, NULL);
        tg_dataset *d = tg_dataset_map(
            tg_dataset_batch(count_to(s.ctx, 7), 3, TG_KEEP_REMAINDER), f);
        d = tg_dataset_repeat(d, 2);
        tg_iterator *it = tg_iterate(d);
        tg_tensor *x = NULL;
        for (int epoch = 0; epoch < 2; epoch++)
            for (int64_t i = 0; i < 7; i += 3) {
                check_works(tg_next(it, TG_RESULTS(&x)));
                const int64_t n = i < 6 ? 3 : 1;
                cr_assert_eq(tg_tensor_count(x), n);
                for (int64_t k = 0; k < n; k++)
                    cr_assert_eq(tg_tensor_i64(x)[k], (i + k) * (i + k));
            }
        cr_assert_eq(tg_next(it, TG_RESULTS()), TG_END_OF_DATA);
        tg_tensor_release(x);
        tg_iterator_release(it);
        tg_dataset_release(d);
        tg_function_release(f);
        session_end(&s);
    }
}

Test(semantics, line_23_prefetch_keeps_the_order)
{
    for (int64_t depth = 1; depth < 9; depth += 3) {
        session s;
        session_begin(&s);
        tg_dataset *d = tg_dataset_prefetch(
            tg_dataset_repeat(tg_dataset_prefetch(count_to(s.ctx, 100), depth),
                              3),
            depth);
        int64_t x[300];
        read_numbers(d, x, 300);
        for (int i = 0; i < 300; i++)
            cr_assert_eq(x[i], i % 100);
        tg_dataset_release(d);
        session_end(&s);
    }
}

/* -- Errors ---------------------------------------------------------------- */

/* Fails for the elements 2 and 3. */
static tg_status fail_for_some(const tg_host_buffer *in, size_t n_in,
                               const tg_host_buffer *out, size_t n_out,
                               void *user)
{
    (void)n_in, (void)n_out, (void)user;
    const int64_t x = *(const int64_t *)in[0].data;
    *(int64_t *)out[0].data = x;
    return x == 2 || x == 3 ? tg_host_fail("element %lld is bad", (long long)x)
                            : TG_OK;
}

static void fragile(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y;
    tg_host_call(t, fail_for_some, NULL, TG_ARGS(in[0]),
                 &(tg_host_spec){TG_I64, 0, NULL}, &y, 1);
    tg_return(t, y);
}

Test(semantics, line_23_errors_appear_at_their_element_in_order)
{
    for (int m = 0; m < N_JIT_MODES; m++)
        for (int prefetches = 0; prefetches < 2; prefetches++) {
            session s;
            need_jit(jit_modes[m]);
            session_begin_with(&s, (tg_context_options){.jit = jit_modes[m]});
            tg_function *f = tg_function_create(s.ctx, fragile, NULL, NULL);
            tg_dataset *d = tg_dataset_map(count_to(s.ctx, 5), f);
            if (prefetches)
                d = tg_dataset_prefetch(d, 8);
            tg_iterator *it = tg_iterate(d);
            for (int64_t i = 0; i < 5; i++) {
                int64_t x = -1;
                if (i == 2 || i == 3) {
                    char text[32];
                    snprintf(text, sizeof(text), "element %lld is bad",
                             (long long)i);
                    check_fails(tg_next(it, TG_RESULTS(&x)), TG_ERROR_CALLBACK,
                                text, "test_semantics_data.c:");
                    cr_assert_eq(x, -1);
                } else {
                    check_works(tg_next(it, TG_RESULTS(&x)));
                    cr_assert_eq(x, i);
                }
            }
            cr_assert_eq(tg_next(it, TG_RESULTS()), TG_END_OF_DATA);
            tg_iterator_release(it);
            tg_dataset_release(d);
            tg_function_release(f);
            session_end(&s);
        }
}

/* -- Cancelling ------------------------------------------------------------ */

static tg_status count_up(void *state, tg_element *element)
{
    int64_t *x = tg_element_data(element, 0);
    if (!x)
        return tg_error_last()->status;
    *x = atomic_fetch_add((atomic_llong *)state, 1);
    return TG_OK;
}

static void never(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_lt(in[0], 0));
}

/* The threads would work for ever: the test ends only if they are stopped. */
Test(semantics, line_23_releasing_an_iterator_joins_its_threads, .timeout = 60)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "off"});
    atomic_llong n = 0;
    const tg_generator generator = {.next = count_up};
    const tg_spec spec = TG_SPEC(TG_I64);
    tg_function *f = tg_function_create(s.ctx, never, NULL, NULL);
    for (int kind = 0; kind < 4; kind++) {
        tg_dataset *d =
            tg_dataset_from_generator(s.ctx, &spec, 1, &generator, &n);
        if (kind == 1)
            d = tg_dataset_filter(d, f);
        if (kind == 2)
            d = tg_dataset_skip(d, INT64_MAX);
        if (kind == 3)
            d = tg_dataset_batch(
                tg_dataset_filter(tg_dataset_prefetch(d, 1), f), INT64_MAX,
                TG_KEEP_REMAINDER);
        d = tg_dataset_prefetch(tg_dataset_prefetch(d, 3), 3);
        tg_iterator *it = tg_iterate(d);
        tg_dataset_release(d);
        while (atomic_load(&n) < 3)
            ;
        atomic_store(&n, 0);
        tg_iterator_release(it);
    }
    tg_function_release(f);
    session_end(&s);
}

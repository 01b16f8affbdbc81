/* SPDX-License-Identifier: MIT */
/*
 * test_dataset.c - datasets beyond the promises: files, result slots, bound
 * calls that iterators feed, generators, caches, interleaving, threads, forks,
 * and failing allocations.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/datasets.h"

/* Takes over a dataset of i64 scalars; adds up an iteration. -1: an error. */
static int64_t sum_of(tg_dataset *d)
{
    tg_iterator *it = tg_iterate(d);
    tg_dataset_release(d);
    int64_t sum = 0, x;
    tg_status status = it ? TG_OK : TG_ERROR_OUT_OF_MEMORY;
    while (!status && !(status = tg_next(it, TG_RESULTS(&x))))
        sum += x;
    tg_iterator_release(it);
    return status == TG_END_OF_DATA ? sum : -1;
}

/* -- Chains and files ------------------------------------------------------ */

Test(dataset, a_chain_has_a_limit)
{
    session s;
    session_begin(&s);
    tg_dataset *d = count_to(s.ctx, 3);
    for (int i = 1; i < TG_MAX_NESTING; i++)
        d = tg_dataset_take(d, 2);
    cr_assert_not_null(d, "%s", tg_error(NULL));
    cr_assert_eq(sum_of(tg_dataset_retain(d)), 1);
    cr_assert_null(tg_dataset_take(d, 2));
    check_record(TG_ERROR_LIMIT, "tg_dataset_take", "100");
    session_end(&s);
}

Test(dataset, npy_files_are_sliced_like_tensors)
{
    session s;
    session_begin(&s);
    char path[64];
    snprintf(path, sizeof(path), "/tmp/tgjit-data-%d.npy", (int)getpid());
    tg_tensor *x = f32_vector(s.ctx, 1, 2, 3);
    check_works(tg_npy_save(x, path));
    const char *paths[] = {path, path}, *missing[] = {path, "/nowhere.npy"};
    tg_dataset *d =
        tg_dataset_prefetch(tg_dataset_from_npy(s.ctx, paths, 2), 2);
    tg_iterator *it = tg_iterate(d);
    for (int i = 1; i <= 3; i++) {
        float a, b;
        check_works(tg_next(it, TG_RESULTS(&a, &b)));
        cr_assert(a == (float)i && b == (float)i);
    }
    cr_assert_eq(tg_next(it, TG_RESULTS()), TG_END_OF_DATA);
    cr_assert_null(tg_dataset_from_npy(s.ctx, missing, 2));
    check_record(TG_ERROR_FILE, "nowhere.npy");
    unlink(path);
    tg_iterator_release(it);
    tg_dataset_release(d);
    tg_tensor_release(x);
    session_end(&s);
}

/* -- Slots ----------------------------------------------------------------- */

/* Slices of tensors are pulled as numbers, 64 at a time; behind tg_dataset_take
   they are elements like any other. */
Test(dataset, a_shuffled_batch_of_slices_equals_one_of_elements)
{
    enum { ROWS = 256, WIDTH = 3 };
    session s;
    float data[ROWS][WIDTH];
    int32_t labels[ROWS];
    session_begin(&s);
    for (int i = 0; i < ROWS; i++) {
        labels[i] = i;
        for (int k = 0; k < WIDTH; k++)
            data[i][k] = (float)(i * WIDTH + k);
    }
    tg_tensor *x = tg_tensor_wrap(s.ctx, data, TG_F32, TG_DIMS(ROWS, WIDTH));
    tg_tensor *y = tg_tensor_wrap(s.ctx, labels, TG_I32, TG_DIMS(ROWS));
    tg_tensor *none =
        tg_tensor_create(s.ctx, TG_F64, TG_DIMS(ROWS, 0), tg_zeros());
    static const int64_t buffers[] = {1, 7, 100, ROWS, 1000};
    static const int64_t sizes[] = {1, 5, 64, 70, 300};
    for (int b = 0; b < 25; b++) {
        tg_iterator *it[2];
        tg_tensor *got[2][3] = {{NULL}};
        for (int k = 0; k < 2; k++) {
            tg_dataset *d = tg_dataset_from(s.ctx, TG_ARGS(x, y, none));
            d = k ? tg_dataset_take(d, ROWS) : d;
            d = tg_dataset_shuffle(d, buffers[b / 5], 7, TG_RESHUFFLE);
            d = tg_dataset_batch(d, sizes[b % 5], TG_KEEP_REMAINDER);
            d = tg_dataset_repeat(d, 2);
            it[k] = tg_iterate(d);
            tg_dataset_release(d);
        }
        int64_t n = 0;
        tg_status status[2] = {TG_OK, TG_OK};
        while (!status[0]) {
            for (int k = 0; k < 2; k++)
                status[k] = tg_next(it[k], TG_RESULTS(&got[k][0], &got[k][1],
                                                      &got[k][2]));
            cr_assert(status[0] == status[1]);
            if (status[0])
                break;
            const int64_t rows = tg_tensor_count(got[0][1]);
            n += rows;
            cr_assert(rows == tg_tensor_count(got[1][1]));
            cr_assert(memcmp(tg_tensor_data(got[0][0]),
                             tg_tensor_data(got[1][0]),
                             (size_t)rows * sizeof(data[0])) == 0);
            cr_assert(memcmp(tg_tensor_data(got[0][1]),
                             tg_tensor_data(got[1][1]),
                             (size_t)rows * sizeof(labels[0])) == 0);
            for (int64_t i = 0; i < rows; i++)
                cr_assert(tg_tensor_f32(got[0][0])[i * WIDTH] ==
                          (float)(tg_tensor_i32(got[0][1])[i] * WIDTH));
        }
        cr_assert(status[0] == TG_END_OF_DATA && n == 2 * ROWS);
        for (int k = 0; k < 2; k++) {
            tg_iterator_release(it[k]);
            for (int i = 0; i < 3; i++)
                tg_tensor_release(got[k][i]);
        }
    }
    tg_tensor_release(none);
    tg_tensor_release(y);
    tg_tensor_release(x);
    session_end(&s);
}

Test(dataset, an_element_that_does_not_fit_its_slots_is_not_lost)
{
    session s;
    session_begin(&s);
    tg_dataset *d = count_to(s.ctx, 2);
    tg_iterator *it = tg_iterate(d);
    float wrong;
    int64_t x = 0, y = 0;
    check_fails(tg_next(it, TG_RESULTS(&wrong)), TG_ERROR_DTYPE, "component 0",
                "i64[]", "f32", "test_dataset.c:");
    check_fails(tg_next(it, TG_RESULTS(&x, &y)), TG_ERROR_INVALID_ARGUMENT,
                "1 component,", "2 were requested");
    check_works(tg_next(it, TG_RESULTS(&x)));
    cr_assert_eq(x, 0);
    check_works(tg_next(it, TG_RESULTS(NULL)));
    cr_assert_eq(tg_next(it, TG_RESULTS(&x)), TG_END_OF_DATA);
    tg_iterator_release(it);
    tg_dataset_release(d);
    session_end(&s);
}

Test(dataset, a_tensor_that_fits_is_overwritten_and_another_replaced)
{
    session s;
    session_begin(&s);
    tg_dataset *d = tg_dataset_batch(count_to(s.ctx, 5), 2, TG_KEEP_REMAINDER);
    tg_iterator *it = tg_iterate(d);
    tg_tensor *x = NULL;
    check_works(tg_next(it, TG_RESULTS(&x)));
    const tg_tensor *first = x;
    check_works(tg_next(it, TG_RESULTS(&x)));
    cr_assert_eq(x, first);
    check_works(tg_next(it, TG_RESULTS(&x)));
    check_i64(x, 4);
    tg_iterator_release(it);
    tg_dataset_release(d);
    session_end(&s);
}

/* -- Bound calls ----------------------------------------------------------- */

static void add_up(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(tg_mul(in[0], in[1]), TG_ALL_AXES), tg_mul(in[0], 10));
}

Test(dataset, an_iterator_feeds_a_bound_call_and_the_short_batch)
{
    static const char *const modes[] = {"off", "auto"};
    for (int m = 0; m < 4; m++) {
        session s;
        session_begin_with(&s, (tg_context_options){.jit = modes[m / 2]});
        tg_function *f = tg_function_create(s.ctx, add_up, NULL, NULL);
        tg_dataset *d = tg_dataset_zip(
            TG_DATASETS(count_to(s.ctx, 10), count_to(s.ctx, 10)));
        d = tg_dataset_batch(d, 4, TG_KEEP_REMAINDER);
        d = tg_dataset_repeat(d, 4);
        if (m % 2)
            d = tg_dataset_prefetch(d, 2);
        tg_iterator *it = tg_iterate(d);
        tg_tensor *x = NULL, *y = NULL, *scaled = NULL;
        int64_t sum = 0, total = 0;
        int n = 0;
        check_works(tg_next(it, TG_RESULTS(&x, &y)));
        tg_bound *b =
            tg_bind(f, TG_ARGS(x, y), TG_RESULTS(&sum, TG_FRESH(&scaled)));
        cr_assert_not_null(b, "%s", tg_error(NULL));
        tg_status status = TG_OK;
        do {
            check_works(tg_run(b));
            total += sum;
            const int64_t first = n % 3 * 4, count = n % 3 < 2 ? 4 : 2;
            cr_assert_eq(scaled, tg_bound_result(b, 1));
            cr_assert_eq(tg_tensor_count(scaled), count);
            for (int64_t i = 0; i < count; i++)
                cr_assert_eq(tg_tensor_i64(scaled)[i], 10 * (first + i));
            if (++n == 6) /* from now on without memory */
                tgi_alloc_inject_failure(0, m % 2 == 0);
        } while (!(status = tg_next_bound(it, b)));
        const long n_allocations = tgi_alloc_inject_failure(-1, 0);
        cr_assert(m % 2 || n_allocations == 0, "%ld", n_allocations);
        cr_assert_eq(status, TG_END_OF_DATA, "%s", tg_error(NULL));
        cr_assert_eq(n, 12);
        cr_assert_eq(total, 4 * 285);
        tg_bound_release(b);
        tg_iterator_release(it);
        tg_tensor_release(x);
        tg_tensor_release(y);
        tg_tensor_release(scaled);
        tg_dataset_release(d);
        tg_function_release(f);
        session_end(&s);
    }
}

/* -- Generators ------------------------------------------------------------ */

/* Elements [k] of k numbers k, for k = 1 … n; counts its calls. */
typedef struct ragged {
    int64_t n, k;
    int n_open, n_close;
    bool fails_to_open;
    bool waits_for_it;
    _Atomic(tg_iterator *) it; /* used by the callback, wrongly */
} ragged;

static tg_status ragged_open(void *user, void **out_state)
{
    ragged *r = user;
    *out_state = r;
    r->k = 0;
    if (r->fails_to_open)
        return tg_host_fail("cannot open number %d", r->n_open);
    r->n_open++;
    return TG_OK;
}

static tg_status ragged_next(void *state, tg_element *element)
{
    ragged *r = state;
    if (r->k >= r->n)
        return TG_END_OF_DATA;
    int64_t *x = tg_element_resize(element, 0, TG_DIMS(++r->k));
    for (int64_t i = 0; x && i < r->k; i++)
        x[i] = r->k;
    while (r->waits_for_it && !atomic_load(&r->it))
        ;
    if (r->it && tg_next(r->it, TG_RESULTS()) != TG_ERROR_BUSY)
        return tg_host_fail("not busy");
    if (r->it)
        tg_iterator_release(r->it); /* does nothing */
    return x ? TG_OK : tg_error_last()->status;
}

static void ragged_close(void *state)
{
    ((ragged *)state)->n_close++;
}

static const tg_generator ragged_generator = {ragged_open, ragged_next,
                                              ragged_close};

static tg_dataset *ragged_dataset(tg_context *ctx, ragged *r)
{
    const tg_spec spec = TG_SPEC(TG_I64, TG_UNKNOWN);
    return tg_dataset_from_generator(ctx, &spec, 1, &ragged_generator, r);
}

Test(dataset, a_generator_is_opened_and_closed_once_per_pass)
{
    for (int prefetches = 0; prefetches < 2; prefetches++) {
        session s;
        session_begin(&s);
        ragged r = {.n = 3};
        tg_dataset *d = tg_dataset_repeat(ragged_dataset(s.ctx, &r), 2);
        if (prefetches)
            d = tg_dataset_prefetch(d, 1);
        tg_iterator *it = tg_iterate(d);
        tg_tensor *x = NULL;
        for (int i = 0; i < 5; i++) {
            check_works(tg_next(it, TG_RESULTS(&x)));
            cr_assert_eq(tg_tensor_count(x), i % 3 + 1);
            cr_assert_eq(tg_tensor_i64(x)[i % 3], i % 3 + 1);
        }
        tg_iterator_release(it);
        cr_assert(r.n_open == 2 && r.n_close == 2, "%d %d", r.n_open,
                  r.n_close);
        tg_tensor_release(x);
        tg_dataset_release(d);
        session_end(&s);
    }
}

Test(dataset, a_generator_that_does_not_open_fails_once)
{
    session s;
    session_begin(&s);
    ragged r = {.n = 3, .fails_to_open = true};
    tg_dataset *d = tg_dataset_repeat(ragged_dataset(s.ctx, &r), TG_FOREVER);
    tg_iterator *it = tg_iterate(d);
    check_fails(tg_next(it, TG_RESULTS()), TG_ERROR_CALLBACK, "cannot open");
    cr_assert_eq(tg_next(it, TG_RESULTS()), TG_END_OF_DATA);
    tg_iterator_release(it);
    cr_assert_eq(r.n_close, 0);
    tg_dataset_release(d);
    session_end(&s);
}

Test(dataset, elements_of_several_shapes_do_not_make_a_batch)
{
    session s;
    session_begin(&s);
    ragged r = {.n = 3};
    tg_dataset *d =
        tg_dataset_batch(ragged_dataset(s.ctx, &r), 2, TG_KEEP_REMAINDER);
    tg_iterator *it = tg_iterate(d);
    tg_tensor *x = NULL;
    check_fails(tg_next(it, TG_RESULTS(&x)), TG_ERROR_SHAPE, "i64[2]",
                "i64[1]");
    check_fails(tg_next(it, TG_RESULTS(&x)), TG_ERROR_SHAPE, "i64[3]",
                "i64[1]");
    check_works(tg_next(it, TG_RESULTS(&x)));
    cr_assert_eq(tg_next(it, TG_RESULTS(&x)), TG_END_OF_DATA);
    check_i64(x, 1);
    tg_iterator_release(it);
    tg_dataset_release(d);
    session_end(&s);
}

Test(dataset, a_callback_cannot_use_its_own_iterator, .timeout = 60)
{
    for (int prefetches = 0; prefetches < 2; prefetches++) {
        session s;
        session_begin(&s);
        ragged r = {.n = 3};
        tg_dataset *d = ragged_dataset(s.ctx, &r);
        if (prefetches)
            d = tg_dataset_prefetch(d, 1);
        r.waits_for_it = true;
        tg_iterator *it = tg_iterate(d);
        atomic_store(&r.it, it);
        tg_status status;
        while (!(status = tg_next(it, TG_RESULTS())))
            ;
        cr_assert_eq(status, TG_END_OF_DATA, "%s", tg_error(NULL));
        tg_iterator_release(it);
        tg_dataset_release(d);
        session_end(&s);
    }
}

/* -- Cache and interleave -------------------------------------------------- */

Test(dataset, a_cache_is_filled_by_the_first_complete_iteration)
{
    session s;
    session_begin(&s);
    ragged r = {.n = 4};
    tg_dataset *d = tg_dataset_cache(ragged_dataset(s.ctx, &r));
    for (int i = 0; i < 4; i++) {
        tg_iterator *it = tg_iterate(d);
        tg_tensor *x = NULL;
        const int64_t n = i == 0 ? 2 : 4; /* the first one is incomplete */
        for (int64_t k = 1; k <= n; k++) {
            check_works(tg_next(it, TG_RESULTS(&x)));
            cr_assert_eq(tg_tensor_count(x), k);
            cr_assert_eq(tg_tensor_i64(x)[k - 1], k);
        }
        if (i > 0)
            cr_assert_eq(tg_next(it, TG_RESULTS(&x)), TG_END_OF_DATA);
        tg_tensor_release(x);
        tg_iterator_release(it);
        cr_assert_eq(r.n_open, i == 0 ? 1 : 2);
    }
    tg_dataset_release(d);
    session_end(&s);
}

static void check_order(tg_dataset *d, const char *want)
{
    char is[64] = "";
    tg_iterator *it = tg_iterate(d);
    cr_assert_not_null(it, "%s", tg_error(NULL));
    tg_dataset_release(d);
    int64_t x;
    while (tg_next(it, TG_RESULTS(&x)) == TG_OK)
        snprintf(is + strlen(is), sizeof(is) - strlen(is), "%lld ",
                 (long long)x);
    tg_iterator_release(it);
    cr_assert_str_eq(is, want);
}

/* The numbers below that of the element. */
static tg_dataset *below(tg_tensor *const *components, size_t n, void *user)
{
    cr_assert_eq(n, 1);
    const int64_t count = *tg_tensor_i64(components[0]);
    if (count == 3 && user)
        return tg_dataset_take(count_to(user, 1), -1);
    return count_to(user, count);
}

Test(dataset, interleave_takes_blocks_in_turn)
{
    session s;
    session_begin(&s);
    check_order(tg_dataset_interleave(
                    TG_DATASETS(count_to(s.ctx, 4),
                                tg_dataset_skip(count_to(s.ctx, 12), 10)),
                    1),
                "0 10 1 11 2 3 ");
    check_order(tg_dataset_interleave(
                    TG_DATASETS(count_to(s.ctx, 5),
                                tg_dataset_skip(count_to(s.ctx, 13), 10)),
                    2),
                "0 1 10 11 2 3 12 4 ");
    check_order(
        tg_dataset_interleave_map(count_to(s.ctx, 3), below, s.ctx, 1, 1),
        "0 0 1 ");
    check_order(tg_dataset_prefetch(tg_dataset_interleave_map(
                                        tg_dataset_skip(count_to(s.ctx, 3), 1),
                                        below, s.ctx, 4, 1),
                                    3),
                "0 0 1 ");
    tg_dataset *d =
        tg_dataset_interleave_map(count_to(s.ctx, 5), below, s.ctx, 1, 9);
    tg_iterator *it = tg_iterate(d);
    int64_t x;
    for (int i = 0; i < 3; i++)
        check_works(tg_next(it, TG_RESULTS(&x)));
    check_fails(tg_next(it, TG_RESULTS(&x)), TG_ERROR_INVALID_ARGUMENT,
                "tg_dataset_take");
    for (int64_t i = 0; i < 4; i++) {
        check_works(tg_next(it, TG_RESULTS(&x)));
        cr_assert_eq(x, i);
    }
    cr_assert_eq(tg_next(it, TG_RESULTS(&x)), TG_END_OF_DATA);
    tg_iterator_release(it);
    tg_dataset_release(d);
    session_end(&s);
}

/* -- Threads and forks ----------------------------------------------------- */

static void *iterate_often(void *dataset)
{
    for (int i = 0; i < 20; i++)
        cr_assert_eq(sum_of(tg_dataset_retain(dataset)), 2 * 190);
    return NULL;
}

Test(dataset, threads_share_a_dataset)
{
    session s;
    session_begin(&s);
    tg_dataset *d = tg_dataset_cache(
        tg_dataset_shuffle(count_to(s.ctx, 20), 7, 1, TG_RESHUFFLE));
    d = tg_dataset_prefetch(tg_dataset_repeat(d, 2), 2);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, iterate_often, d), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    tg_dataset_release(d);
    session_end(&s);
}

Test(dataset, a_forked_child_gets_an_error_and_can_iterate_anew, .timeout = 60)
{
    session s;
    session_begin(&s);
    tg_dataset *d = tg_dataset_prefetch(
        tg_dataset_repeat(count_to(s.ctx, 3), TG_FOREVER), 2);
    tg_iterator *it = tg_iterate(d);
    check_works(tg_next(it, TG_RESULTS()));
    const pid_t child = fork();
    if (child == 0) {
        bool good = tg_next(it, TG_RESULTS()) == TG_ERROR_STATE &&
                    tg_next(it, TG_RESULTS()) == TG_END_OF_DATA;
        tg_iterator_release(it);
        it = tg_iterate(d);
        good = good && it && tg_next(it, TG_RESULTS()) == TG_OK;
        tg_iterator_release(it);
        _exit(good ? 0 : 1);
    }
    int status = 1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    check_works(tg_next(it, TG_RESULTS()));
    tg_iterator_release(it);
    tg_dataset_release(d);
    session_end(&s);
}

/* -- Faults ---------------------------------------------------------------- */

static void twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 2));
}

static void is_small(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_lt(in[0], 100));
}

/* Repeats a failed tg_next as an application would, a few times. */
static bool reads_all(tg_dataset *d, tg_function *step)
{
    tg_iterator *it = tg_iterate(d);
    tg_tensor *x = NULL, *y = NULL;
    tg_bound *b = NULL;
    bool good =
        it && tg_next(it, TG_RESULTS(&x, &y)) == TG_OK &&
        (!step || (b = tg_bind(step, TG_ARGS(x, y), TG_RESULTS(NULL, NULL))));
    tg_status status = good ? TG_OK : TG_ERROR_OUT_OF_MEMORY;
    while (!status)
        status = !b ? tg_next(it, TG_RESULTS(&x, &y))
                 : (status = tg_next_bound(it, b)) ? status
                                                   : tg_run(b);
    tg_bound_release(b);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_iterator_release(it);
    return status == TG_END_OF_DATA;
}

/* All steps but prefetch, whose thread would draw allocations at random
   moments; `with_prefetch` has it too. */
static bool scenario(bool with_prefetch)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.jit = "off";
    tg_context *ctx = tg_context_create(&options);
    tg_function *f = ctx ? tg_function_create(ctx, twice, NULL, NULL) : NULL;
    tg_function *g = f ? tg_function_create(ctx, is_small, NULL, NULL) : NULL;
    tg_function *h = g ? tg_function_create(ctx, add_up, NULL, NULL) : NULL;
    bool good = h != NULL;
    if (good) {
        ragged r = {.n = 1};
        tg_dataset *d = tg_dataset_map(count_to(ctx, 5), f);
        d = tg_dataset_shuffle(tg_dataset_filter(d, g), 3, 1, TG_RESHUFFLE);
        d = tg_dataset_interleave(TG_DATASETS(d, count_to(ctx, 2)), 1);
        d = tg_dataset_repeat(tg_dataset_skip(tg_dataset_cache(d), 1), 2);
        if (with_prefetch)
            d = tg_dataset_prefetch(d, 2);
        d = tg_dataset_enumerate(tg_dataset_take(d, 11));
        d = tg_dataset_batch(d, 3, TG_KEEP_REMAINDER);
        good = d && reads_all(d, NULL) && reads_all(d, h);
        tg_dataset_release(d);
        d = good ? tg_dataset_zip(
                       TG_DATASETS(ragged_dataset(ctx, &r),
                                   tg_dataset_interleave_map(count_to(ctx, 2),
                                                             below, ctx, 2, 1)))
                 : NULL;
        good = d && reads_all(d, NULL);
        tg_dataset_release(d);
    }
    tg_function_release(f);
    tg_function_release(g);
    tg_function_release(h);
    tg_context_release(ctx);
    return good;
}

static bool plain_scenario(void)
{
    return scenario(false);
}

static bool prefetch_scenario(void)
{
    return scenario(true);
}

Test(dataset, every_allocation_may_fail, .timeout = 300)
{
    check_every_fault(plain_scenario);
}

Test(dataset, every_allocation_may_fail_with_threads, .timeout = 300)
{
    check_every_fault(prefetch_scenario);
}

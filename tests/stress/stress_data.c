/* SPDX-License-Identifier: MIT */
/*
 * stress_data.c - eight threads iterate over the same datasets, with caches,
 * mapped functions, generators and prefetch in two places, and release many
 * iterators in the middle. Complete iterations deliver every element once, to
 * tensors or to a bound call of the thread.
 *
 * A plain program, so that it runs under ThreadSanitizer too. Takes the number
 * of rounds per thread.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tgjit.h"

enum {
    THREADS = 8,
    DEFAULT_ROUNDS = 200,
    ELEMENTS = 50,  /* of a tensor */
    GENERATED = 30, /* further ones */
    ALL = ELEMENTS + GENERATED,
    BATCH = 8,
    WATCHDOG_SECONDS = 540
};

static atomic_long n_passed, n_failed;
static long rounds = DEFAULT_ROUNDS;
static tg_dataset *shared_dataset;
static tg_function *summing;

static void check(bool good, const char *what, int line)
{
    if (good)
        atomic_fetch_add(&n_passed, 1);
    else if (atomic_fetch_add(&n_failed, 1) < 20)
        fprintf(stderr, "stress_data.c:%d: %s: %s\n", line, what,
                tg_error(NULL));
}

#define CHECK(condition) check(condition, #condition, __LINE__)

static void twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 2));
}

static void sum_up(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(in[0], TG_ALL_AXES));
}

/* -- A generator of the numbers from ELEMENTS on --------------------------- */

static tg_status open_range(void *user, void **out_state)
{
    (void)user;
    *out_state = calloc(1, sizeof(int64_t));
    return *out_state ? TG_OK : TG_ERROR_OUT_OF_MEMORY;
}

static tg_status next_of_range(void *state, tg_element *element)
{
    int64_t *n = state, *data = tg_element_data(element, 0);
    if (!data)
        return tg_error_last()->status;
    if (*n == GENERATED)
        return TG_END_OF_DATA;
    *data = ELEMENTS + (*n)++;
    return TG_OK;
}

static const tg_generator range = {
    .open = open_range, .next = next_of_range, .close = free};

/* -- Iterations ------------------------------------------------------------ */

/* Adds up all batches by a bound call. */
static int64_t run_bound(tg_status *out_status)
{
    tg_iterator *it = tg_iterate(shared_dataset);
    tg_tensor *x = NULL;
    int64_t sum = 0, one;
    *out_status = tg_next(it, TG_RESULTS(&x));
    tg_bound *b = tg_bind(summing, TG_ARGS(x), TG_RESULTS(&one));
    CHECK(b);
    while (b && !*out_status && !(*out_status = tg_run(b))) {
        sum += one;
        *out_status = tg_next_bound(it, b);
    }
    tg_bound_release(b);
    tg_tensor_release(x);
    tg_iterator_release(it);
    return sum;
}

/* Adds up the first `most` batches. */
static int64_t add_up(long most, tg_status *out_status)
{
    tg_iterator *it = tg_iterate(shared_dataset);
    tg_tensor *x = NULL;
    int64_t sum = 0;
    CHECK(it);
    *out_status = TG_OK;
    for (long n = 0; it && n < most; n++) {
        *out_status = tg_next(it, TG_RESULTS(&x));
        if (*out_status)
            break;
        for (int64_t i = 0; i < tg_tensor_count(x); i++)
            sum += tg_tensor_i64(x)[i];
    }
    tg_tensor_release(x);
    tg_iterator_release(it);
    return sum;
}

static void *work(void *user)
{
    const long number = *(const long *)user;
    tg_status status;
    for (long i = 0; i < rounds; i++) {
        if ((i + number) % 3 == 0) {
            const bool is_bound = (i + number) % 2;
            /* Every element doubled, in two repetitions. */
            CHECK((is_bound ? run_bound(&status) : add_up(1000, &status)) ==
                  ALL * (ALL - 1) * 2);
            CHECK(status == TG_END_OF_DATA);
        } else {
            (void)add_up((i + number) % 7, &status);
            CHECK(status == TG_OK);
        }
    }
    return NULL;
}

static bool make_dataset(tg_context *ctx, tg_function *f)
{
    int64_t data[ELEMENTS];
    for (int64_t i = 0; i < ELEMENTS; i++)
        data[i] = i;
    tg_tensor *x = tg_tensor_copy(ctx, data, TG_I64, TG_DIMS(ELEMENTS));
    const tg_spec scalar = tg_spec_tensor(TG_I64, TG_SCALAR);
    tg_dataset *d = tg_dataset_interleave(
        TG_DATASETS(
            tg_dataset_from(ctx, TG_ARGS(x)),
            tg_dataset_from_generator(ctx, &scalar, 1, &range, NULL)),
        2);
    d = tg_dataset_cache(tg_dataset_prefetch(tg_dataset_map(d, f), 3));
    d = tg_dataset_shuffle(d, 10, 1, TG_RESHUFFLE);
    d = tg_dataset_repeat(tg_dataset_batch(d, BATCH, TG_KEEP_REMAINDER), 2);
    shared_dataset = tg_dataset_prefetch(d, 2);
    tg_tensor_release(x);
    return shared_dataset != NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    long numbers[THREADS];
    int n_threads = 0;
    if (argc > 1)
        rounds = atol(argv[1]);
    alarm(WATCHDOG_SECONDS);
    tg_context *ctx = tg_context_create(NULL);
    tg_function *f = tg_function_create(ctx, twice, NULL, NULL);
    summing = tg_function_create(ctx, sum_up, NULL, NULL);
    CHECK(f && summing && make_dataset(ctx, f));
    for (; shared_dataset && n_threads < THREADS; n_threads++) {
        numbers[n_threads] = n_threads;
        if (pthread_create(&threads[n_threads], NULL, work,
                           &numbers[n_threads]))
            break;
    }
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    CHECK(tg_compile_wait(ctx) == TG_OK);
    tg_dataset_release(shared_dataset);
    tg_function_release(summing);
    tg_function_release(f);
    tg_context_release(ctx);
    CHECK(tg_live_objects() == 0 && tg_live_bytes() == 0);
    printf("%ld passed, %ld failed\n", atomic_load(&n_passed),
           atomic_load(&n_failed));
    return atomic_load(&n_failed) != 0;
}

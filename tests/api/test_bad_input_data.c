/* SPDX-License-Identifier: MIT */
/*
 * test_bad_input_data.c - datasets: every step rejects impossible arguments,
 * releases its input, and keeps the first error of a chain.
 */
#include "support/datasets.h"

Test(bad_input_data, null_goes_through_all_steps_and_keeps_the_first_error)
{
    session s;
    session_begin(&s);
    tg_dataset *d = tg_dataset_batch(count_to(s.ctx, 3), 0, TG_KEEP_REMAINDER);
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_dataset_batch", "0");
    d = tg_dataset_shuffle(d, 0, 1, TG_RESHUFFLE);
    d = tg_dataset_repeat(tg_dataset_take(tg_dataset_skip(d, -1), -1), -2);
    d = tg_dataset_zip(TG_DATASETS(count_to(s.ctx, 1), d));
    d = tg_dataset_interleave(TG_DATASETS(d, count_to(s.ctx, 1)), 0);
    d = tg_dataset_prefetch(tg_dataset_cache(tg_dataset_enumerate(d)), 0);
    d = tg_dataset_filter(tg_dataset_map(d, NULL), NULL);
    d = tg_dataset_interleave_map(d, NULL, NULL, 0, 0);
    cr_assert_null(d);
    cr_assert_null(tg_iterate(d));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_dataset_batch", "0");
    session_end(&s);
}

#define check_rejected(d, ...) \
    do { \
        tg_error_clear(); \
        cr_assert_null(d); \
        check_record(TG_ERROR_INVALID_ARGUMENT, __VA_ARGS__); \
    } while (0)

static void identity(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, in[0]);
}

Test(bad_input_data, impossible_numbers_are_rejected)
{
    session s, other;
    session_begin(&s);
    session_begin(&other);
    tg_function *f = tg_function_create(other.ctx, identity, NULL, NULL);
    check_rejected(tg_dataset_batch(count_to(s.ctx, 1), -3, TG_KEEP_REMAINDER),
                   "tg_dataset_batch", "-3");
    check_rejected(tg_dataset_batch(count_to(s.ctx, 1), 1, (tg_remainder)7),
                   "7");
    check_rejected(tg_dataset_shuffle(count_to(s.ctx, 1), 0, 1, TG_RESHUFFLE),
                   "tg_dataset_shuffle");
    check_rejected(
        tg_dataset_shuffle(count_to(s.ctx, 1), 1, 1, (tg_shuffle_order)9), "9");
    check_rejected(tg_dataset_repeat(count_to(s.ctx, 1), -2), "TG_FOREVER");
    check_rejected(tg_dataset_take(count_to(s.ctx, 1), -1), "negative");
    check_rejected(tg_dataset_skip(count_to(s.ctx, 1), -1), "negative");
    check_rejected(tg_dataset_prefetch(count_to(s.ctx, 1), 0), "depth");
    check_rejected(tg_dataset_prefetch(count_to(s.ctx, 1), 1 << 20), "depth");
    check_rejected(tg_dataset_interleave(TG_DATASETS(count_to(s.ctx, 1)), 0),
                   "block");
    check_rejected(tg_dataset_interleave(TG_DATASETS(), 1), "no datasets");
    check_rejected(tg_dataset_zip(TG_DATASETS()), "no datasets");
    check_rejected(tg_dataset_zip(TG_DATASETS(NULL)), "NULL");
    check_rejected(
        tg_dataset_zip(TG_DATASETS(count_to(s.ctx, 1), count_to(other.ctx, 1))),
        "another context");
    check_rejected(tg_dataset_map(count_to(s.ctx, 1), NULL), "NULL");
    check_rejected(tg_dataset_map(count_to(s.ctx, 1), f), "another context");
    check_rejected(tg_dataset_from(s.ctx, TG_ARGS()), "no tensors");
    check_rejected(tg_dataset_from(NULL, TG_ARGS(1)), "context");
    check_rejected(tg_dataset_from(s.ctx, TG_ARGS(1)), "not a tensor");
    check_rejected(tg_dataset_from_generator(s.ctx, NULL, 0, NULL, NULL),
                   "specs");
    const tg_spec spec = TG_SPEC(TG_F32);
    check_rejected(tg_dataset_from_generator(s.ctx, &spec, 1, NULL, NULL),
                   "next");
    check_rejected(tg_dataset_from_npy(s.ctx, NULL, 0), "no files");
    check_rejected(tg_iterate(NULL), "NULL");
    check_fails(tg_next(NULL, TG_RESULTS()), TG_ERROR_INVALID_ARGUMENT, "NULL");
    check_fails(tg_next_bound(NULL, NULL), TG_ERROR_INVALID_ARGUMENT, "NULL");
    tg_dataset_release(NULL);
    tg_iterator_release(NULL);
    tg_function_release(f);
    tg_context_release(other.ctx);
    session_end(&s);
}

/* SPDX-License-Identifier: MIT */
/*
 * test_ops_statistics.c - variance, standard deviation, accuracy and confusion
 * matrix, interpreted and compiled.
 */
#include <math.h>

#include "support/modes.h"

/* -- Spread ---------------------------------------------------------------- */

static void spread(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_stack(0, tg_var(in[0], TG_ALL_AXES, 0),
                          tg_var(in[0], TG_ALL_AXES, 1),
                          tg_std(in[0], TG_ALL_AXES, 0),
                          tg_std(in[0], TG_ALL_AXES, 1),
                          tg_reshape(tg_var(in[0], tg_keep(TG_AXES(0)), 0),
                                     TG_SCALAR)));
}

static void check_spread(session *s)
{
    tg_function *f = tg_function_create(
        s->ctx, spread, NULL, TG_SIGNATURE(TG_SPEC(TG_F32, TG_UNKNOWN)));
    /* One pass in f32 would lose all digits of these. */
    tg_tensor *x = f32_vector(s->ctx, 100001, 100003, 100005, 100007, 100009);
    check_f32(call_one(f, TG_ARGS(x)), 8, 10, sqrtf(8), sqrtf(10), 8);
    tg_tensor_release(x);
    x = f32_vector(s->ctx, 3);
    tg_tensor *y = call_one(f, TG_ARGS(x));
    const float *data = tg_tensor_data(y);
    cr_assert_eq(data[0], 0);
    cr_assert(isnan(data[1]) && isnan(data[3]));
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(ops_statistics, variance_takes_two_passes_and_a_correction)
{
    in_modes(check_spread);
}

/* -- Classifiers ----------------------------------------------------------- */

static void measure(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value found = tg_argmax(in[0], 1);
    tg_return(t, tg_accuracy(in[0], in[1]),
              tg_confusion_matrix(in[1], found, 3));
}

static const float scores[] = {
    5, 1, 2, /* 0 */
    1, 5, 5, /* 1: the first maximum */
    0, 1, 2, /* 2 */
    9, 1, 2, /* 0 */
    3, 2, 1, /* 0 */
};

static void check_measures(session *s)
{
    tg_function *f = tg_function_create(
        s->ctx, measure, NULL,
        TG_SIGNATURE(TG_SPEC(TG_F32, TG_SAME(1), 3),
                     TG_SPEC(TG_I32, TG_SAME(1))));
    for (int64_t n = 5; n >= 0; n -= 5) {
        tg_tensor *x = tg_tensor_copy(s->ctx, scores, TG_F32, TG_DIMS(n, 3));
        tg_tensor *labels = tg_tensor_copy(
            s->ctx, (int32_t[]){0, 1, 1, 2, -7}, TG_I32, TG_DIMS(n));
        tg_tensor *matrix = NULL;
        float accuracy;
        check_works(tg_call(f, TG_ARGS(x, labels),
                            TG_RESULTS(&accuracy, &matrix)));
        cr_assert_eq(tg_tensor_rank(matrix), 2);
        if (n) {
            cr_assert_eq(accuracy, 2.0f / 5);
            check_i64(matrix, 1, 0, 0, 0, 1, 1, 1, 0, 0);
        } else {
            cr_assert(isnan(accuracy));
            check_i64(matrix, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        }
        tg_tensor_release(labels);
        tg_tensor_release(x);
    }
    tg_function_release(f);
}

Test(ops_statistics, accuracy_and_confusion_matrix_count_rows)
{
    in_modes(check_measures);
}

/* The counts of many pairs, by threads and vectors of any number. */
static void count_many(session *s, outcome *out)
{
    enum { N = 1000 };
    int32_t labels[N];
    float rows[3 * N];
    for (int i = 0; i < N; i++) {
        labels[i] = i * 7 % 4;
        for (int k = 0; k < 3; k++)
            rows[3 * i + k] = (float)((i * 31 + k * 17) % 29);
    }
    tg_function *f = tg_function_create(s->ctx, measure, NULL, NULL);
    tg_tensor *x = tg_tensor_copy(s->ctx, rows, TG_F32, TG_DIMS(N, 3));
    tg_tensor *y = tg_tensor_copy(s->ctx, labels, TG_I32, TG_DIMS(N));
    tg_tensor *accuracy = NULL, *matrix = NULL;
    check_works(tg_call(f, TG_ARGS(x, y), TG_RESULTS(&accuracy, &matrix)));
    note_tensor(out, accuracy);
    note_tensor(out, matrix);
    tg_tensor_release(matrix);
    tg_tensor_release(accuracy);
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(ops_statistics, counts_do_not_depend_on_the_mode)
{
    check_modes(count_many);
}

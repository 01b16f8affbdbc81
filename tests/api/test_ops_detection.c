/* SPDX-License-Identifier: MIT */
/*
 * test_ops_detection.c - non-maximum suppression against a loop over sorted
 * boxes, interpreted and compiled, with known and unknown extents; windows of
 * signal processing.
 */
#include <math.h>

#include "support/modes.h"

enum { BATCHES = 2, CLASSES = 3, BOXES = 17, ROOM = 60 };

typedef struct selection {
    tg_box_format format;
    int64_t max_per_class, max_count;
} selection;

static void suppress(tg_trace *t, const tg_value *in, void *user)
{
    const selection *s = user;
    const tg_suppression_results r = tg_nonmax_suppression(
        in[0], in[1], s->max_per_class, 0.4, in[2], s->format, s->max_count);
    tg_return(t, r.indices, r.n);
}

/* -- The definition -------------------------------------------------------- */

static float overlap(const float *a, const float *b)
{
    float low[2], high[2], size[2], area[2] = {1, 1};
    for (int i = 0; i < 2; i++) {
        low[i] = fmaxf(fminf(a[i], a[i + 2]), fminf(b[i], b[i + 2]));
        high[i] = fminf(fmaxf(a[i], a[i + 2]), fmaxf(b[i], b[i + 2]));
        size[i] = fmaxf(high[i] - low[i], 0);
        area[0] *= fabsf(a[i + 2] - a[i]);
        area[1] *= fabsf(b[i + 2] - b[i]);
    }
    const float inner = size[0] * size[1];
    return inner > 0 ? inner / (area[0] + area[1] - inner) : 0;
}

/* Selects boxes [n, 4] of one class; returns their number. */
static int64_t select_class(const float *boxes, const float *scores,
                            float threshold, int64_t most, int64_t *selected)
{
    bool is_left[BOXES];
    for (int i = 0; i < BOXES; i++)
        is_left[i] = scores[i] > threshold;
    int64_t n = 0;
    while (n < most) {
        int best = -1;
        for (int i = 0; i < BOXES; i++)
            if (is_left[i] && (best < 0 || scores[i] > scores[best]))
                best = i;
        if (best < 0)
            break;
        selected[n++] = best;
        for (int i = 0; i < BOXES; i++)
            if (i == best ||
                overlap(&boxes[4 * best], &boxes[4 * i]) > 0.4f)
                is_left[i] = false;
    }
    return n;
}

/* -- Comparison ------------------------------------------------------------ */

static float noise(unsigned *state)
{
    *state = *state * 1664525 + 1013904223;
    return (float)(*state >> 8) / (float)(1 << 24);
}

static void fill(float *corners, float *centers, float *scores)
{
    unsigned state = 7;
    for (int i = 0; i < BATCHES * BOXES; i++) {
        float *c = &corners[4 * i];
        for (int k = 0; k < 4; k++)
            c[k] = 4 * noise(&state);
        centers[4 * i] = (c[1] + c[3]) / 2;
        centers[4 * i + 1] = (c[0] + c[2]) / 2;
        centers[4 * i + 2] = fabsf(c[3] - c[1]);
        centers[4 * i + 3] = fabsf(c[2] - c[0]);
    }
    for (int i = 0; i < BATCHES * CLASSES * BOXES; i++)
        scores[i] = roundf(16 * noise(&state)) / 16; /* some are equal */
    scores[3] = NAN;
}

static void check_selection(session *s, selection how, tg_policy policy,
                            float threshold)
{
    static float corners[BATCHES * BOXES * 4], centers[BATCHES * BOXES * 4];
    static float scores[BATCHES * CLASSES * BOXES];
    fill(corners, centers, scores);
    int64_t want[3 * ROOM * BATCHES * CLASSES], found[BOXES], n = 0;
    for (int i = 0; i < BATCHES * CLASSES; i++) {
        const int64_t m =
            select_class(&corners[i / CLASSES * BOXES * 4], &scores[i * BOXES],
                         threshold, how.max_per_class, found);
        for (int64_t k = 0; k < m; k++, n++) {
            want[3 * n] = i / CLASSES;
            want[3 * n + 1] = i % CLASSES;
            want[3 * n + 2] = found[k];
        }
    }
    for (int64_t k = 3 * n; k < 3 * how.max_count; k++)
        want[k] = -1;
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = policy;
    tg_function *f = tg_function_create(s->ctx, suppress, &how, &options);
    tg_tensor *x = tg_tensor_copy(
        s->ctx, how.format == TG_BOX_CENTER ? centers : corners, TG_F32,
        TG_DIMS(BATCHES, BOXES, 4));
    tg_tensor *y = tg_tensor_copy(s->ctx, scores, TG_F32,
                                  TG_DIMS(BATCHES, CLASSES, BOXES));
    tg_tensor *r[2] = {0};
    check_works(
        tg_call(f, TG_ARGS(x, y, threshold), TG_RESULTS(&r[0], &r[1])));
    check_i64_at(__LINE__, r[0], want, 3 * how.max_count);
    check_i64(r[1], n);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
}

static void check_selections(session *s)
{
    for (tg_policy policy = TG_EXACT; policy <= TG_RELAXED; policy++) {
        check_selection(s, (selection){TG_BOX_CORNERS, 100, ROOM}, policy,
                        -INFINITY);
        check_selection(s, (selection){TG_BOX_CENTER, 100, ROOM}, policy,
                        0.25f);
        check_selection(s, (selection){TG_BOX_CORNERS, 2, ROOM}, policy,
                        0.5f);
        check_selection(s, (selection){TG_BOX_CORNERS, 3, 4}, policy, 0);
        check_selection(s, (selection){TG_BOX_CORNERS, 0, 5}, policy, 0);
        check_selection(s, (selection){TG_BOX_CORNERS, 9, 5}, policy, 2);
    }
}

Test(ops_detection, selects_the_boxes_of_a_loop_over_sorted_ones)
{
    in_modes(check_selections);
}

/* -- Failures -------------------------------------------------------------- */

static tg_status call_suppress(session *s, int64_t n_boxes, tg_dtype dtype,
                               int64_t most)
{
    selection how = {TG_BOX_CORNERS, most, 4};
    tg_function *f = tg_function_create(s->ctx, suppress, &how, NULL);
    tg_tensor *x =
        tg_tensor_create(s->ctx, dtype, TG_DIMS(1, n_boxes, 4), tg_zeros());
    tg_tensor *y =
        tg_tensor_create(s->ctx, TG_F32, TG_DIMS(1, 1, 3), tg_zeros());
    tg_tensor *r[2] = {0};
    const tg_status status =
        tg_call(f, TG_ARGS(x, y, 0.5f), TG_RESULTS(&r[0], &r[1]));
    for (int i = 0; i < 2; i++)
        tg_tensor_release(r[i]);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    return status;
}

Test(ops_detection, rejects_other_types)
{
    session s;
    session_begin(&s);
    check_fails(call_suppress(&s, 4, TG_F32, 1), TG_ERROR_SHAPE,
                "nonmax_suppression:", "test_ops_detection.c:");
    check_fails(call_suppress(&s, 3, TG_F64, 1), TG_ERROR_DTYPE,
                "dtypes differ");
    check_fails(call_suppress(&s, 3, TG_I32, 1), TG_ERROR_DTYPE,
                "needs a float type");
    check_fails(call_suppress(&s, 3, TG_F32, -1), TG_ERROR_INVALID_ARGUMENT,
                "-1 boxes per class");
    session_end(&s);
}

/* -- Windows --------------------------------------------------------------- */

static void make_windows(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const int64_t n = tg_value_dim(in[0], 0);
    tg_return(t, tg_hann_window(TG_F64, n, TG_WINDOW_SYMMETRIC),
              tg_hamming_window(TG_F64, n, TG_WINDOW_PERIODIC),
              tg_blackman_window(TG_F64, n, TG_WINDOW_SYMMETRIC));
}

static void check_windows(session *s)
{
    static const double a[3][3] = {
        {0.5, 0.5, 0}, {0.54, 0.46, 0}, {0.42, 0.5, 0.08}};
    for (tg_policy policy = TG_EXACT; policy <= TG_RELAXED; policy++)
        for (int64_t n = 0; n < 10; n += n < 2 ? 1 : 7) {
            tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
            options.policy = policy;
            tg_function *f =
                tg_function_create(s->ctx, make_windows, NULL, &options);
            tg_tensor *x =
                tg_tensor_create(s->ctx, TG_F32, TG_DIMS(n), tg_zeros());
            tg_tensor *y[3] = {0};
            check_works(
                tg_call(f, TG_ARGS(x), TG_RESULTS(&y[0], &y[1], &y[2])));
            for (int i = 0; i < 3; i++) {
                const double period = (double)(i == 1 ? n : n - 1);
                const double *w = tg_tensor_data(y[i]);
                for (int64_t k = 0; k < n; k++) {
                    const double angle =
                        6.283185307179586 * (double)k / period;
                    const double want =
                        period > 0 ? a[i][0] - a[i][1] * cos(angle) +
                                         a[i][2] * cos(2 * angle)
                                   : 1;
                    cr_assert_float_eq(w[k], want, 1e-15,
                                       "window %d, element %lld: %.17g, not "
                                       "%.17g",
                                       i, (long long)k, w[k], want);
                }
                tg_tensor_release(y[i]);
            }
            tg_tensor_release(x);
            tg_function_release(f);
        }
}

Test(ops_detection, windows_are_sums_of_cosines)
{
    in_modes(check_windows);
}

/* SPDX-License-Identifier: MIT */
/*
 * test_losses.c - losses at the edges: at 0, for large operands, and for equal
 * ones. test_gradient_expected.c compares them with PyTorch elsewhere.
 */
#include <math.h>

#include "support/modes.h"

/* The loss of each element and its gradient, for f64 logits. */
static void sigmoid_loss(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value loss = tg_sigmoid_cross_entropy(in[0], in[1]);
    tg_return(t, loss, tg_gradient(loss, in[0]));
}

static void check_sigmoid(session *s)
{
    enum { N = 8 };
    const double x[N] = {0, 0, -0.0, 100, 100, -100, 1e300, -1e300};
    const int32_t label[N] = {0, 1, 1, 1, 0, 0, 1, 1};
    const double want[N] = {log(2), log(2), log(2), exp(-100),
                            100,    exp(-100), 0,   1e300};
    const double slope[N] = {0.5, -0.5, -0.5, -exp(-100), 1, exp(-100), 0, -1};
    tg_function *f = tg_function_create(
        s->ctx, sigmoid_loss, NULL,
        TG_SIGNATURE(TG_SPEC(TG_F64, TG_SAME(1)), TG_SPEC(TG_I32, TG_SAME(1))));
    tg_tensor *logits = tg_tensor_copy(s->ctx, x, TG_F64, TG_DIMS(N));
    tg_tensor *labels = tg_tensor_copy(s->ctx, label, TG_I32, TG_DIMS(N));
    tg_tensor *loss = NULL, *gradient = NULL;
    check_works(tg_call(f, TG_ARGS(logits, labels),
                        TG_RESULTS(&loss, &gradient)));
    for (int i = 0; i < N; i++) {
        const double is = tg_tensor_f64(loss)[i];
        cr_assert(fabs(is - want[i]) <= 1e-15 * want[i], "%d: %.17g, not %.17g",
                  i, is, want[i]);
        const double g = tg_tensor_f64(gradient)[i];
        cr_assert(fabs(g - slope[i]) <= 1e-15, "%d: %.17g, not %.17g", i, g,
                  slope[i]);
    }
    tg_tensor_release(gradient);
    tg_tensor_release(loss);
    tg_tensor_release(labels);
    tg_tensor_release(logits);
    tg_function_release(f);
}

Test(losses, sigmoid_cross_entropy_is_exact_at_zero_and_in_its_tails)
{
    in_modes(check_sigmoid);
}

static void differences(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value huber = tg_huber_loss(in[0], in[1], 2);
    tg_return(t, huber, tg_mean_absolute_error(in[0], in[1]),
              tg_mean_squared_error(in[0], in[1]), tg_gradient(huber, in[0]));
}

static void check_differences(session *s)
{
    tg_function *f = tg_function_create(s->ctx, differences, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 5, -4, 3);
    tg_tensor *y = f32_vector(s->ctx, 1, 3, -3, 9);
    tg_tensor *slope = NULL;
    float huber, absolute, squared;
    check_works(tg_call(f, TG_ARGS(x, y),
                        TG_RESULTS(&huber, &absolute, &squared, &slope)));
    cr_assert_eq(huber, (0 + 2 + 0.5f + 10) / 4);
    cr_assert_eq(absolute, 9.0f / 4);
    cr_assert_eq(squared, 41.0f / 4);
    check_f32(slope, 0, 0.5f, -0.25f, -0.5f);
    tg_tensor_release(y);
    tg_tensor_release(x);

    x = f32_vector(s->ctx, 1e30f, 0);
    y = f32_vector(s->ctx, -1e30f, 0);
    check_works(tg_call(f, TG_ARGS(x, y), TG_RESULTS(&huber)));
    cr_assert_float_eq(huber, 2e30f, 1e24f);
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(losses, means_of_differences_have_closed_forms)
{
    in_modes(check_differences);
}

/* SPDX-License-Identifier: MIT */
/*
 * test_loss_scale.c - mixed precision: layers of f32 variables compute in
 * halves, steps with gradients that are not finite change only the scale, and
 * the model of examples/digits_mlp.c learns as well as in f32.
 */
#include <math.h>

#include "support/api.h"

TG_DEFINE_BUNDLE(model, (tg_dense_layer, hidden), (tg_dense_layer, output))
TG_DEFINE_OPTIMISER(model_optimiser, model)
TG_DEFINE_BUNDLE(training, (model, net), (model_optimiser, adam),
                 (tg_loss_scaler, scaler))

enum { PIXELS = 64, HIDDEN = 64, DIGITS = 10, BATCH = 32 };

typedef struct experiment {
    training r;
    tg_dtype dtype;
    int64_t interval;
} experiment;

static const double rate = 3e-3;

static void experiment_begin(session *s, experiment *e, tg_dtype dtype,
                             double scale, int64_t interval)
{
    session_begin(s);
    e->dtype = dtype;
    e->interval = interval;
    check_works(tg_dense_create(s->ctx, "hidden", TG_F32, PIXELS, HIDDEN,
                                tg_he(), &e->r.net.hidden));
    check_works(tg_dense_create(s->ctx, "output", TG_F32, HIDDEN, DIGITS,
                                tg_glorot(), &e->r.net.output));
    check_works(tg_optimiser_create(s->ctx, "adam", tg_adam(0.9, 0.999, 1e-8),
                                    &model_optimiser_type, &e->r.net,
                                    &e->r.adam));
    check_works(
        tg_loss_scaler_create(s->ctx, "scaler", scale, &e->r.scaler));
}

static void experiment_end(session *s, experiment *e)
{
    tg_bundle_release(&training_type, &e->r);
    session_end(s);
}

/* Logits in f32, of layers that compute in the dtype. */
static tg_value logits_of(const experiment *e, tg_value x)
{
    const tg_value hidden =
        tg_relu(tg_dense(tg_cast(x, e->dtype), &e->r.net.hidden));
    return tg_cast(tg_dense(hidden, &e->r.net.output), TG_F32);
}

static void step(tg_trace *t, const tg_value *in, void *user)
{
    const experiment *e = user;
    const tg_value loss = tg_mean(
        tg_softmax_cross_entropy(logits_of(e, in[0]), in[1]), TG_ALL_AXES);
    tg_return(t, loss,
              tg_minimise_scaled(loss, rate, tg_adam(0.9, 0.999, 1e-8),
                                 &model_optimiser_type, &e->r.net, &e->r.adam,
                                 &e->r.scaler, e->interval));
}

static void accuracy(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, tg_accuracy(logits_of(user, in[0]), in[1]));
}

/* -- Steps that are skipped ------------------------------------------------ */

static float scale_of(const experiment *e)
{
    float scale = -1;
    const void *data = tg_variable_map(e->r.scaler.scale, TG_READ);
    memcpy(&scale, data, sizeof(scale));
    tg_variable_unmap(e->r.scaler.scale);
    return scale;
}

static int64_t steps_of(const experiment *e)
{
    int64_t steps = -1;
    const void *data = tg_variable_map(e->r.adam.steps, TG_READ);
    memcpy(&steps, data, sizeof(steps));
    tg_variable_unmap(e->r.adam.steps);
    return steps;
}

/* Pixels of 60000 overflow f16 in the gradient of the weights. */
Test(loss_scale, steps_without_finite_gradients_change_only_the_scale)
{
    session s;
    experiment e;
    experiment_begin(&s, &e, TG_F16, 65536, 2);
    tg_function *f = tg_function_create(s.ctx, step, &e, NULL);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(BATCH, PIXELS),
                                    tg_fill(0.5));
    tg_tensor *large = tg_tensor_create(
        s.ctx, TG_F32, TG_DIMS(BATCH, PIXELS), tg_fill(60000));
    tg_tensor *y =
        tg_tensor_create(s.ctx, TG_I64, TG_DIMS(BATCH), tg_fill(3));
    float loss, before[PIXELS * HIDDEN];
    bool is_finite;
    memcpy(before, tg_variable_map(e.r.net.hidden.weights, TG_READ),
           sizeof(before));
    tg_variable_unmap(e.r.net.hidden.weights);
    check_works(tg_call(f, TG_ARGS(large, y), TG_RESULTS(&loss, &is_finite)));
    cr_assert_not(is_finite);
    cr_assert_eq(scale_of(&e), 32768);
    cr_assert_eq(steps_of(&e), 0);
    cr_assert_eq(memcmp(before,
                        tg_variable_map(e.r.net.hidden.weights, TG_READ),
                        sizeof(before)),
                 0);
    tg_variable_unmap(e.r.net.hidden.weights);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(scale_of(&e), 32768);
        check_works(tg_call(f, TG_ARGS(x, y), TG_RESULTS(&loss, &is_finite)));
        cr_assert(is_finite);
        cr_assert_eq(steps_of(&e), i + 1);
    }
    cr_assert_eq(scale_of(&e), 65536, "doubled after two steps");
    tg_tensor_release(x);
    tg_tensor_release(large);
    tg_tensor_release(y);
    tg_function_release(f);
    experiment_end(&s, &e);
}

static void unscaled(tg_trace *t, const tg_value *in, void *user)
{
    const experiment *e = user;
    tg_loss_scaler none = {NULL, NULL};
    tg_minimise_scaled(tg_sum(in[0], TG_ALL_AXES), rate, tg_sgd(),
                       &model_optimiser_type, &e->r.net, &e->r.adam, &none, 0);
    tg_return(t);
}

Test(loss_scale, bad_arguments_are_refused)
{
    session s;
    experiment e;
    tg_loss_scaler scaler;
    experiment_begin(&s, &e, TG_F16, 1, 0);
    check_fails(tg_loss_scaler_create(s.ctx, "half", 0.5, &scaler),
                TG_ERROR_INVALID_ARGUMENT, "1 … 2^40, not 0.5");
    cr_assert_null(scaler.scale);
    tg_function *f = tg_function_create(s.ctx, unscaled, &e, NULL);
    check_fails(tg_call(f, TG_ARGS(1.0f), NULL, 0), TG_ERROR_INVALID_ARGUMENT,
                "minimise_scaled", "the scaler has not been created");
    tg_function_release(f);
    experiment_end(&s, &e);
}

/* -- Accuracy -------------------------------------------------------------- */

/* Images of noise around one pattern per digit: a model that learns finds most
   of them, one whose gradients vanish does not. */
static void draw_images(float *pixels, int64_t *labels, int n, unsigned seed)
{
    for (int i = 0; i < n; i++) {
        labels[i] = i % DIGITS;
        for (int p = 0; p < PIXELS; p++) {
            unsigned pattern =
                (unsigned)(p * 31 + (int)labels[i] * 7919) * 2654435761u;
            seed = seed * 1664525 + 1013904223;
            const float noise = (float)(seed >> 8) * 0x1p-24f;
            pixels[i * PIXELS + p] =
                0.45f * (float)(pattern >> 31) + 0.9f * noise;
        }
    }
}

static float learn(tg_dtype dtype, double scale, int64_t interval)
{
    enum { IMAGES = 1600, TESTS = 1000, EPOCHS = 4 };
    static float pixels[IMAGES * PIXELS], unseen[TESTS * PIXELS];
    static int64_t labels[IMAGES], wanted[TESTS];
    draw_images(pixels, labels, IMAGES, 1);
    draw_images(unseen, wanted, TESTS, 77);
    session s;
    experiment e;
    experiment_begin(&s, &e, dtype, scale, interval);
    tg_function *f = tg_function_create(s.ctx, step, &e, NULL);
    tg_function *test = tg_function_create(s.ctx, accuracy, &e, NULL);
    float loss, found;
    bool is_finite;
    for (int i = 0; i < EPOCHS * IMAGES / BATCH; i++) {
        const int at = i * BATCH % IMAGES;
        tg_tensor *x = tg_tensor_copy(s.ctx, pixels + at * PIXELS, TG_F32,
                                      TG_DIMS(BATCH, PIXELS));
        tg_tensor *y =
            tg_tensor_copy(s.ctx, labels + at, TG_I64, TG_DIMS(BATCH));
        check_works(tg_call(f, TG_ARGS(x, y), TG_RESULTS(&loss, &is_finite)));
        tg_tensor_release(x);
        tg_tensor_release(y);
    }
    tg_tensor *x =
        tg_tensor_copy(s.ctx, unseen, TG_F32, TG_DIMS(TESTS, PIXELS));
    tg_tensor *y = tg_tensor_copy(s.ctx, wanted, TG_I64, TG_DIMS(TESTS));
    check_works(tg_call(test, TG_ARGS(x, y), TG_RESULTS(&found)));
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    tg_function_release(test);
    experiment_end(&s, &e);
    return found;
}

Test(loss_scale, halves_learn_as_well_as_f32)
{
    const float f32 = learn(TG_F32, 1, 0);
    const float f16_static = learn(TG_F16, 1024, 0);
    const float f16_dynamic = learn(TG_F16, 65536, 20);
    const float bf16 = learn(TG_BF16, 1, 0);
    cr_assert_gt(f32, 0.9f, "%f", (double)f32);
    cr_expect_float_eq(f16_static, f32, 0.01f, "%f %f", (double)f16_static,
                       (double)f32);
    cr_expect_float_eq(f16_dynamic, f32, 0.01f, "%f %f", (double)f16_dynamic,
                       (double)f32);
    cr_expect_float_eq(bf16, f32, 0.01f, "%f %f", (double)bf16, (double)f32);
}

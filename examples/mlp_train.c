/* SPDX-License-Identifier: MIT */
/*
 * mlp_train.c - a three-layer network learns to classify points by ring. The
 * forward and backward pass and the parameter update are one call. The model is
 * a bundle, which as a gradient source stands for all of its variables.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>

enum { POINTS = 256, HIDDEN = 32, RINGS = 3, STEPS = 400 };

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* In [-1, 1); the same numbers on every machine. */
static float random_number(void)
{
    static uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    return (float)(int32_t)(state & ~0xffu) * 0x1p-31f;
}

/* -- The model ------------------------------------------------------------- */

TG_DEFINE_BUNDLE(model, w1, b1, w2, b2, w3, b3)

enum { PARAMETERS = 6 };

static tg_variable *weights(tg_context *ctx, const char *name, int64_t rows,
                            int64_t columns, float size)
{
    float data[HIDDEN * HIDDEN];
    for (int64_t i = 0; i < rows * columns; i++)
        data[i] = random_number() * size;
    tg_variable *made = tg_variable_create(
        ctx, name, TG_F32, TG_DIMS(rows, columns), tg_from_data(data));
    check(made);
    return made;
}

static tg_variable *biases(tg_context *ctx, const char *name, int64_t columns)
{
    tg_variable *made = tg_variable_create(ctx, name, TG_F32,
                                           TG_DIMS(columns), tg_zeros());
    check(made);
    return made;
}

static tg_value layer(tg_value x, tg_variable *w, tg_variable *b)
{
    return tg_add(tg_matmul(x, w), b);
}

static tg_value logits_of(const model *m, tg_value x)
{
    const tg_value first = tg_relu(layer(x, m->w1, m->b1));
    const tg_value second = tg_relu(layer(first, m->w2, m->b2));
    return layer(second, m->w3, m->b3);
}

/* -- Functions ------------------------------------------------------------- */

/* Receives the points and the ring of each. */
static void train_step(tg_trace *t, const tg_value *in, void *user)
{
    model *m = user;
    const tg_value logits = logits_of(m, in[0]);
    const tg_value loss =
        tg_mean(tg_softmax_cross_entropy(logits, in[1]), TG_ALL_AXES);

    tg_variable *parameters[PARAMETERS];
    tg_value gradients[PARAMETERS];
    tg_bundle_gradients(loss, &model_type, m, parameters, gradients,
                        PARAMETERS);
    for (int i = 0; i < PARAMETERS; i++)
        tg_assign_sub(parameters[i], tg_mul(gradients[i], 0.5));
    tg_return(t, loss);
}

/* The fraction of points that are classified correctly. */
static void accuracy(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value found = tg_argmax(logits_of(user, in[0]), 1);
    const tg_value is_right = tg_cast(tg_eq(found, in[1]), TG_F32);
    tg_return(t, tg_mean(is_right, TG_ALL_AXES));
}

static double call(tg_function *f, tg_tensor *x, tg_tensor *y)
{
    float result;
    check(!tg_call(f, TG_ARGS(x, y), TG_RESULTS(&result)));
    return (double)result;
}

int main(void)
{
    tg_context *ctx = tg_context_create(NULL);
    check(ctx);
    model m = {
        weights(ctx, "w1", 2, HIDDEN, 1),
        biases(ctx, "b1", HIDDEN),
        weights(ctx, "w2", HIDDEN, HIDDEN, 0.25f),
        biases(ctx, "b2", HIDDEN),
        weights(ctx, "w3", HIDDEN, RINGS, 0.25f),
        biases(ctx, "b3", RINGS),
    };
    float points[POINTS * 2];
    int64_t rings[POINTS];
    for (int i = 0; i < POINTS; i++) {
        const float x = random_number(), y = random_number();
        const float distance = x * x + y * y;
        points[2 * i] = x;
        points[2 * i + 1] = y;
        rings[i] = distance < 0.25f ? 0 : distance < 0.75f ? 1 : 2;
    }
    tg_tensor *x = tg_tensor_wrap(ctx, points, TG_F32, TG_DIMS(POINTS, 2));
    tg_tensor *y = tg_tensor_wrap(ctx, rings, TG_I64, TG_DIMS(POINTS));
    tg_function *train = tg_function_create(ctx, train_step, &m, NULL);
    tg_function *test = tg_function_create(ctx, accuracy, &m, NULL);
    check(x && y && train && test);

    printf("%lld parameters, %.1f %% right before\n",
           (long long)tg_bundle_count(&model_type, &m, TG_ALL_VARIABLES),
           100 * call(test, x, y));
    for (int step = 0; step <= STEPS; step++) {
        const double loss = call(train, x, y);
        if (step % 100 == 0)
            printf("step %3d: loss %.4f\n", step, loss);
    }
    printf("%.1f %% right after, %zu trace of the step\n",
           100 * call(test, x, y), tg_function_trace_count(train));

    tg_function_release(test);
    tg_function_release(train);
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_bundle_release(&model_type, &m);
    tg_context_release(ctx);
    return 0;
}

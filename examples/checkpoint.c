/* SPDX-License-Identifier: MIT */
/*
 * checkpoint.c - training is stopped, saved, and resumed in a fresh model: the
 * weights are those of a training without a stop, bit for bit. One file holds
 * the model, the state of the optimiser and that of the random numbers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tgjit.h>
#include <unistd.h>

enum { INPUTS = 4, BATCH = 32, STEPS = 20, STOP = 12 };

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* -- A model, its optimiser, and random data ------------------------------- */

typedef struct layer {
    tg_variable *weights, *bias;
} layer;

typedef struct training {
    layer model, velocity; /* of gradient descent with momentum */
    tg_variable *random;
} training;

static const tg_bundle_field layer_fields[] = {TG_FIELD(layer, weights),
                                               TG_FIELD(layer, bias)};
static const tg_bundle_type layer_type = TG_BUNDLE(layer, layer_fields);

static const tg_bundle_field training_fields[] = {
    TG_FIELD_BUNDLE(training, model, &layer_type),
    TG_FIELD_BUNDLE(training, velocity, &layer_type),
    TG_FIELD(training, random),
};
static const tg_bundle_type training_type =
    TG_BUNDLE(training, training_fields);

static layer layer_create(tg_context *ctx)
{
    return (layer){tg_variable_create(ctx, "weights", TG_F32, TG_DIMS(INPUTS),
                                      tg_zeros()),
                   tg_variable_create(ctx, "bias", TG_F32, TG_SCALAR,
                                      tg_zeros())};
}

static training training_create(tg_context *ctx, uint64_t seed)
{
    return (training){layer_create(ctx), layer_create(ctx),
                      tg_generator_create(ctx, "random", seed)};
}

static void descend(tg_variable *parameter, tg_variable *velocity, tg_value g)
{
    tg_assign(velocity, tg_add(tg_mul(velocity, 0.9), g));
    tg_assign_sub(parameter, tg_mul(velocity, 0.05));
}

/* The sum of the inputs is to be learnt. */
static void step(tg_trace *t, const tg_value *in, void *user)
{
    const training *r = user;
    (void)in;
    tg_value x = tg_random_normal(r->random, TG_F32, TG_DIMS(BATCH, INPUTS));
    tg_value y = tg_add(tg_matmul(x, r->model.weights), r->model.bias);
    tg_value error = tg_sub(y, tg_sum(x, TG_AXES(1)));
    tg_value loss = tg_mean(tg_mul(error, error), TG_ALL_AXES);
    tg_variable *parameters[] = {r->model.weights, r->model.bias};
    tg_value g[2];
    tg_gradients(loss, parameters, 2, g);
    descend(r->model.weights, r->velocity.weights, g[0]);
    descend(r->model.bias, r->velocity.bias, g[1]);
    tg_return(t, loss);
}

static void train(tg_context *ctx, training *r, int first, int end)
{
    tg_function *f = tg_function_create(ctx, step, r, NULL);
    for (int i = first; i < end; i++) {
        tg_tensor *loss = NULL;
        check(!tg_call(f, TG_ARGS(), TG_RESULTS(&loss)));
        if (i == first || i + 1 == end)
            printf("step %2d: loss %.4f\n", i,
                   (double)*(const float *)tg_tensor_data(loss));
        tg_tensor_release(loss);
    }
    tg_function_release(f);
}

int main(void)
{
    char path[64];
    snprintf(path, sizeof(path), "checkpoint-%ld.safetensors", (long)getpid());
    tg_context *ctx = tg_context_create(NULL);
    check(ctx);

    printf("without a stop\n");
    training whole = training_create(ctx, 7);
    train(ctx, &whole, 0, STEPS);

    printf("with a stop\n");
    training first = training_create(ctx, 7);
    train(ctx, &first, 0, STOP);
    check(!tg_bundle_save(&training_type, &first, path));

    training second = training_create(ctx, 99); /* as in another process */
    check(!tg_bundle_load(&training_type, &second, path));
    train(ctx, &second, STOP, STEPS);

    float a[INPUTS], b[INPUTS];
    check(!tg_variable_get(whole.model.weights, a, sizeof(a)));
    check(!tg_variable_get(second.model.weights, b, sizeof(b)));
    printf("the weights are %s\n",
           memcmp(a, b, sizeof(a)) == 0 ? "the same" : "others");

    tg_archive *file = tg_archive_load(ctx, path);
    check(file);
    for (size_t i = 0; i < tg_archive_count(file); i++)
        printf("  %s\n", tg_archive_name(file, i));
    tg_archive_release(file);
    unlink(path);
    tg_bundle_release(&training_type, &whole);
    tg_bundle_release(&training_type, &first);
    tg_bundle_release(&training_type, &second);
    tg_context_release(ctx);
    return 0;
}

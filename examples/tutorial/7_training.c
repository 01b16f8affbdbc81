/* SPDX-License-Identifier: MIT */
/* 7_training.c - a network learns the sum of two curves from a dataset, with a
   checkpoint in the middle. */
#include <math.h>
#include <unistd.h>

#include "../check.h"

enum { N = 1024, BATCH = 64, HIDDEN = 32 };

TG_DEFINE_BUNDLE(network, (tg_dense_layer, hidden), (tg_dense_layer, output))
TG_DEFINE_OPTIMISER(network_optimiser, network)
TG_DEFINE_BUNDLE(training, (network, net), (network_optimiser, adam))

static void create(tg_context *ctx, training *r)
{
    check(!tg_dense_create(ctx, "hidden", TG_F32, 1, HIDDEN, tg_glorot(),
                           &r->net.hidden));
    check(!tg_dense_create(ctx, "output", TG_F32, HIDDEN, 1, tg_glorot(),
                           &r->net.output));
    check(!tg_optimiser_create(ctx, "adam", tg_adam(0.9, 0.999, 1e-8),
                               &network_optimiser_type, &r->net, &r->adam));
}

/* Receives a batch of times and activities; returns the loss. */
static void step(tg_trace *t, const tg_value *in, void *user)
{
    const training *r = user;
    const tg_value hidden = tg_tanh(tg_dense(in[0], &r->net.hidden));
    const tg_value loss =
        tg_mean_squared_error(tg_dense(hidden, &r->net.output), in[1]);
    const tg_value mean = tg_mean(loss, TG_ALL_AXES);
    tg_minimise(mean, 0.01, tg_adam(0.9, 0.999, 1e-8), &network_optimiser_type,
                &r->net, &r->adam);
    tg_return(t, mean);
}

/* Trains for some epochs; returns the mean loss of the last one. */
static float train(tg_function *f, tg_dataset *batches, int epochs)
{
    TG_AUTO(tg_tensor) x = NULL;
    TG_AUTO(tg_tensor) y = NULL;
    float sum = 0;
    for (int i = 0; i < epochs; i++) {
        TG_AUTO(tg_iterator) it = tg_iterate(batches);
        float loss;
        for (sum = 0; tg_next(it, TG_RESULTS(&x, &y)) == TG_OK; sum += loss)
            check(!tg_call(f, TG_ARGS(x, y), TG_RESULTS(&loss)));
    }
    return sum * BATCH / N;
}

int main(void)
{
    static float times[N], seen[N];
    for (int i = 0; i < N; i++) {
        times[i] = (float)i * (4.0f / N);
        seen[i] = expf(-times[i]) + 0.3f * sinf(2 * times[i]);
    }
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    training r, loaded;
    create(ctx, &r);
    create(ctx, &loaded);
    TG_AUTO(tg_function) f = tg_function_create(ctx, step, &r, NULL);
    TG_AUTO(tg_function) again = tg_function_create(ctx, step, &loaded, NULL);
    TG_AUTO(tg_tensor) x = tg_tensor_wrap(ctx, times, TG_F32, TG_DIMS(N, 1));
    TG_AUTO(tg_tensor) y = tg_tensor_wrap(ctx, seen, TG_F32, TG_DIMS(N, 1));
    TG_AUTO(tg_dataset) d = tg_dataset_batch(
        tg_dataset_shuffle(tg_dataset_from(ctx, TG_ARGS(x, y)), N, 1,
                           TG_SAME_ORDER),
        BATCH, TG_KEEP_REMAINDER);
    check(f && again && x && y && d);

    printf("loss after 10 epochs: %.5f\n", (double)train(f, d, 10));
    char path[64];
    snprintf(path, sizeof(path), "tutorial-%ld.safetensors", (long)getpid());
    check(!tg_bundle_save(&training_type, &r, path));
    const float loss = train(f, d, 40);
    printf("loss after 50 epochs: %.5f\n", (double)loss);

    /* Model and optimiser continue where they were saved, bit for bit. */
    check(!tg_bundle_load(&training_type, &loaded, path));
    unlink(path);
    printf("resumed from the checkpoint: %s\n",
           train(again, d, 40) == loss ? "the same bits" : "different");
    tg_bundle_release(&training_type, &r);
    tg_bundle_release(&training_type, &loaded);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * digits_mlp.c - learns to read handwritten digits: rows of a CSV file, in
 * shuffled batches, train two dense layers by Adam. A checkpoint holds model,
 * optimiser and random numbers; the accuracy on images that were never trained
 * on is measured with a model loaded from it.
 *
 *     digits_mlp [DIGITS.CSV [CHECKPOINT]]    (see examples/data/README.md)
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>
#include <unistd.h>

#ifndef EXAMPLE_DATA
#define EXAMPLE_DATA "examples/data"
#endif

enum { PIXELS = 64, HIDDEN = 64, DIGITS = 10, BATCH = 32, EPOCHS = 40 };

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* -- Data ------------------------------------------------------------------ */

/* Elements are numbered; every fifth one is for the test. */
static void is_for_test(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_eq(tg_rem(in[0], 5), 4));
}

static void is_for_training(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_ne(tg_rem(in[0], 5), 4));
}

/* Drops the number, and scales pixels to 0 … 1. */
static void prepare(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_div(in[1], 16), in[2]);
}

/* Pairs of pixels and label. */
static tg_dataset *digits(tg_context *ctx, const char *path,
                          tg_callback *filter)
{
    const tg_csv_columns columns[] = {{.dtype = TG_F32, .n = PIXELS},
                                      {.dtype = TG_I64, .first = PIXELS}};
    TG_AUTO(tg_function) chosen = tg_function_create(ctx, filter, NULL, NULL);
    TG_AUTO(tg_function) scaled = tg_function_create(ctx, prepare, NULL, NULL);
    tg_dataset *d = tg_dataset_from_csv(ctx, path, NULL, columns, 2);
    d = tg_dataset_filter(tg_dataset_enumerate(d), chosen);
    return tg_dataset_cache(tg_dataset_map(d, scaled));
}

/* -- The model ------------------------------------------------------------- */

TG_DEFINE_BUNDLE(model, (tg_dense_layer, hidden), (tg_dense_layer, output))
TG_DEFINE_OPTIMISER(model_optimiser, model)
TG_DEFINE_BUNDLE(training, (model, net), (model_optimiser, adam), random)

static training training_create(tg_context *ctx)
{
    training r;
    check(!tg_dense_create(ctx, "hidden", TG_F32, PIXELS, HIDDEN, tg_he(),
                           &r.net.hidden));
    check(!tg_dense_create(ctx, "output", TG_F32, HIDDEN, DIGITS, tg_glorot(),
                           &r.net.output));
    check(!tg_optimiser_create(ctx, "adam", tg_adam(0.9, 0.999, 1e-8),
                               &model_optimiser_type, &r.net, &r.adam));
    r.random = tg_generator_create(ctx, "random", 1);
    return r;
}

static tg_value logits_of(const training *r, tg_value x, bool is_training)
{
    const tg_value hidden = tg_relu(tg_dense(x, &r->net.hidden));
    const tg_value some = tg_dropout(hidden, 0.2, r->random, is_training);
    return tg_dense(some, &r->net.output);
}

static void train_step(tg_trace *t, const tg_value *in, void *user)
{
    const training *r = user;
    const tg_value loss = tg_mean(
        tg_softmax_cross_entropy(logits_of(r, in[0], true), in[1]),
        TG_ALL_AXES);
    tg_minimise(loss, 3e-3, tg_adam(0.9, 0.999, 1e-8), &model_optimiser_type,
                &r->net, &r->adam);
    tg_return(t, loss);
}

static void accuracy(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, tg_accuracy(logits_of(user, in[0], false), in[1]));
}

int main(int argc, char **argv)
{
    const char *data = argc > 1 ? argv[1] : EXAMPLE_DATA "/digits.csv";
    char path[64];
    snprintf(path, sizeof(path), "digits-%ld.safetensors", (long)getpid());
    const char *checkpoint = argc > 2 ? argv[2] : path; /* kept if given */
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    check(ctx);
    training r = training_create(ctx), loaded = training_create(ctx);
    TG_AUTO(tg_function) step = tg_function_create(ctx, train_step, &r, NULL);
    TG_AUTO(tg_function) test = tg_function_create(ctx, accuracy, &loaded,
                                                   NULL);
    TG_AUTO(tg_dataset) all = tg_dataset_prefetch(
        tg_dataset_batch(tg_dataset_shuffle(digits(ctx, data, is_for_training),
                                            2000, 1, TG_RESHUFFLE),
                         BATCH, TG_KEEP_REMAINDER),
        2);
    check(all);
    TG_AUTO(tg_tensor) x = NULL;
    TG_AUTO(tg_tensor) y = NULL;
    for (int epoch = 1; epoch <= EPOCHS; epoch++) {
        float loss, sum = 0, n = 0;
        TG_AUTO(tg_iterator) it = tg_iterate(all);
        for (; tg_next(it, TG_RESULTS(&x, &y)) == TG_OK; sum += loss, n++)
            check(!tg_call(step, TG_ARGS(x, y), TG_RESULTS(&loss)));
        if (epoch % 10 == 0)
            printf("epoch %2d: loss %.3f\n", epoch, (double)(sum / n));
    }
    check(!tg_bundle_save(&training_type, &r, checkpoint));
    check(!tg_bundle_load(&training_type, &loaded, checkpoint));
    if (argc <= 2)
        unlink(checkpoint);

    float found;
    TG_AUTO(tg_dataset) held_out = tg_dataset_batch(
        digits(ctx, data, is_for_test), 2000, TG_KEEP_REMAINDER);
    TG_AUTO(tg_iterator) it = tg_iterate(held_out);
    check(tg_next(it, TG_RESULTS(&x, &y)) == TG_OK);
    check(!tg_call(test, TG_ARGS(x, y), TG_RESULTS(&found)));
    printf("test accuracy %.3f\n", (double)found);
    tg_bundle_release(&training_type, &r);
    tg_bundle_release(&training_type, &loaded);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * digits_cnn.c - learns to read handwritten digits by convolution: two layers
 * of 3 x 3 filters and pooling, then a dense one, trained by Adam. The accuracy
 * on images that were never trained on is measured with a checkpoint.
 *
 *     digits_cnn [DIGITS.CSV [CHECKPOINT]]    (see examples/data/README.md)
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>
#include <tgjit/mpi.h>
#include <unistd.h>

#ifndef EXAMPLE_DATA
#define EXAMPLE_DATA "examples/data"
#endif

enum { SIDE = 8, PIXELS = SIDE * SIDE, DIGITS = 10, BATCH = 32, EPOCHS = 20 };
enum { FIRST = 16, SECOND = 32, FEATURES = 2 * 2 * SECOND };

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* -- Data ------------------------------------------------------------------ */

/* Elements are numbered; every fifth one is for the test. */
static void is_chosen(tg_trace *t, const tg_value *in, void *is_for_test)
{
    const tg_value is_fifth = tg_eq(tg_rem(in[0], 5), 4);
    tg_return(t, is_for_test ? is_fifth : tg_not(is_fifth));
}

/* Drops the number; pixels become an image of one channel, 0 … 1. */
static void prepare(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_reshape(tg_div(in[1], 16), TG_DIMS(SIDE, SIDE, 1)), in[2]);
}

/* Pairs of image and label. */
static tg_dataset *digits(tg_context *ctx, const char *path, bool is_for_test)
{
    const tg_csv_columns columns[] = {{.dtype = TG_F32, .n = PIXELS},
                                      {.dtype = TG_I64, .first = PIXELS}};
    TG_AUTO(tg_function) chosen = tg_function_create(
        ctx, is_chosen, is_for_test ? ctx : NULL, NULL);
    TG_AUTO(tg_function) shaped = tg_function_create(ctx, prepare, NULL, NULL);
    tg_dataset *d = tg_dataset_from_csv(ctx, path, NULL, columns, 2);
    d = tg_dataset_filter(tg_dataset_enumerate(d), chosen);
    return tg_dataset_cache(tg_dataset_map(d, shaped));
}

/* -- The model ------------------------------------------------------------- */

TG_DEFINE_BUNDLE(model, (tg_conv_layer, first), (tg_conv_layer, second),
                 (tg_dense_layer, output))
TG_DEFINE_OPTIMISER(model_optimiser, model)
TG_DEFINE_BUNDLE(training, (model, net), (model_optimiser, adam))

static training training_create(tg_context *ctx)
{
    training r;
    check(!tg_conv_create(ctx, "first", TG_F32, TG_DIMS(3, 3), 1, FIRST,
                          tg_he(), &r.net.first));
    check(!tg_conv_create(ctx, "second", TG_F32, TG_DIMS(3, 3), FIRST, SECOND,
                          tg_he(), &r.net.second));
    check(!tg_dense_create(ctx, "output", TG_F32, FEATURES, DIGITS,
                           tg_glorot(), &r.net.output));
    check(!tg_optimiser_create(ctx, "adam", tg_adam(0.9, 0.999, 1e-8),
                               &model_optimiser_type, &r.net, &r.adam));
    return r;
}

static tg_value layer(tg_value x, const tg_conv_layer *filters)
{
    const tg_value y = tg_convolve(x, filters, .padding = TG_PADDING_SAME);
    return tg_max_pool(tg_relu(y), .window = {2, 2});
}

static tg_value logits_of(const training *r, tg_value x)
{
    tg_value y = layer(layer(x, &r->net.first), &r->net.second);
    y = tg_reshape(y, TG_DIMS(tg_value_dim(x, 0), FEATURES));
    return tg_dense(y, &r->net.output);
}

static void train_step(tg_trace *t, const tg_value *in, void *user)
{
    const training *r = user;
    const tg_value loss = tg_mean(
        tg_softmax_cross_entropy(logits_of(r, in[0]), in[1]), TG_ALL_AXES);
    tg_return(t, loss);
}

static void accuracy(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, tg_accuracy(logits_of(user, in[0]), in[1]));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *data = argc > 1 ? argv[1] : EXAMPLE_DATA "/digits.csv";
    char path[64];
    snprintf(path, sizeof(path), "digits-%ld.safetensors", (long)getpid());
    const char *checkpoint = argc > 2 ? argv[2] : path;
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    check(ctx);
    TG_AUTO(tg_mpi) mpi = tg_mpi_create(ctx, MPI_COMM_WORLD, NULL);
    training r = training_create(ctx), loaded = training_create(ctx);
    TG_AUTO(tg_function) step = tg_mpi_train_step(mpi, train_step, &r, 1e-3,
        tg_adam(0.9, 0.999, 1e-8), &model_optimiser_type, &r.net, &r.adam);
    TG_AUTO(tg_function) test = tg_function_create(ctx, accuracy, &loaded,
                                                   NULL);
    TG_AUTO(tg_dataset) all = tg_dataset_prefetch(
        tg_dataset_batch(tg_dataset_shuffle(digits(ctx, data, false), 2000, 1,
                                            TG_RESHUFFLE),
                         BATCH, TG_KEEP_REMAINDER),
        2);
    check((all = tg_mpi_dataset_shard(mpi, all)));
    TG_AUTO(tg_tensor) x = NULL;
    TG_AUTO(tg_tensor) y = NULL;
    for (int epoch = 1; epoch <= EPOCHS; epoch++) {
        float loss, sum = 0, n = 0;
        TG_AUTO(tg_iterator) it = tg_iterate(all);
        for (; tg_next(it, TG_RESULTS(&x, &y)) == TG_OK; sum += loss, n++)
            check(!tg_call(step, TG_ARGS(x, y), TG_RESULTS(&loss)));
        if (epoch % 5 == 0 && tg_mpi_rank(mpi) == 0)
            printf("epoch %2d: loss %.3f\n", epoch, (double)(sum / n));
    }
    if (MPI_Finalize() || tg_mpi_rank(mpi) != 0)
        return 0;
    check(!tg_bundle_save(&training_type, &r, checkpoint));
    check(!tg_bundle_load(&training_type, &loaded, checkpoint));
    unlink(path);

    float found;
    TG_AUTO(tg_dataset) held_out =
        tg_dataset_batch(digits(ctx, data, true), 2000, TG_KEEP_REMAINDER);
    TG_AUTO(tg_iterator) it = tg_iterate(held_out);
    check(tg_next(it, TG_RESULTS(&x, &y)) == TG_OK);
    check(!tg_call(test, TG_ARGS(x, y), TG_RESULTS(&found)));
    printf("test accuracy %.3f\n", (double)found);
    tg_bundle_release(&training_type, &r);
    tg_bundle_release(&training_type, &loaded);
}

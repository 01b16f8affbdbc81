/* SPDX-License-Identifier: MIT */
/*
 * epoch.c - a whole epoch as one call. The loop over shuffled minibatches, the
 * forward and backward pass and the update by Adam are one native function. A
 * loop in C that calls the same step for each minibatch computes the same
 * parameters and the same state of Adam, bit for bit, with one thread and with
 * two.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tgjit.h>

enum { BATCHES = 16, BATCH = 32, FEATURES = 24, HIDDEN = 48, CLASSES = 4 };
enum { ROWS = BATCHES * BATCH, EPOCHS = 3 };

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* In [-1, 1); the same numbers on every machine. */
static float random_number(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return (float)(int32_t)(*state & ~0xffu) * 0x1p-31f;
}

/* -- The model ------------------------------------------------------------- */

TG_DEFINE_BUNDLE(model, w1, b1, w2, b2)
TG_DEFINE_OPTIMISER(model_optimiser, model)
TG_DEFINE_BUNDLE(training, (model, net), (model_optimiser, adam))

enum { VARIABLES = 13, MAX_BYTES = FEATURES * HIDDEN * sizeof(float) };

static tg_variable *create(tg_context *ctx, const char *name, int64_t rows,
                           int64_t columns, uint32_t seed)
{
    float data[FEATURES * HIDDEN];
    for (int64_t i = 0; i < rows * columns; i++)
        data[i] = random_number(&seed) * 0.25f;
    tg_variable *made = tg_variable_create(
        ctx, name, TG_F32, TG_DIMS(rows, columns), tg_from_data(data));
    check(made);
    return made;
}

static training training_create(tg_context *ctx)
{
    training r = {.net = {create(ctx, "w1", FEATURES, HIDDEN, 1),
                          create(ctx, "b1", 1, HIDDEN, 2),
                          create(ctx, "w2", HIDDEN, CLASSES, 3),
                          create(ctx, "b2", 1, CLASSES, 4)}};
    check(!tg_optimiser_create(ctx, "adam", tg_adam(0.9, 0.999, 1e-8),
                               &model_optimiser_type, &r.net, &r.adam));
    return r;
}

/* One step of Adam; returns the loss before it. */
static tg_value train(const training *r, tg_value x, tg_value labels)
{
    const model *m = &r->net;
    const tg_value hidden = tg_relu(tg_add(tg_matmul(x, m->w1), m->b1));
    const tg_value logits = tg_add(tg_matmul(hidden, m->w2), m->b2);
    const tg_value loss =
        tg_mean(tg_softmax_cross_entropy(logits, labels), TG_ALL_AXES);
    tg_minimise(loss, 0.01, tg_adam(0.9, 0.999, 1e-8), &model_optimiser_type,
                m, &r->adam);
    return loss;
}

/* -- First version: a function for a step, called from C ------------------- */

static void step(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, train(user, in[0], in[1]));
}

/* -- Second version: a function for an epoch ------------------------------- */

typedef struct data {
    const training *r;
    tg_value x, labels, order;
} data;

/* Receives the index of the minibatch and the sum of the losses so far. */
static void minibatch(tg_trace *t, const tg_value *in, void *user)
{
    const data *all = user;
    const tg_value rows =
        tg_dynamic_slice(all->order, 0, tg_mul(in[0], BATCH), BATCH);
    const tg_value x = tg_gather(all->x, rows, 0);
    const tg_value labels = tg_gather(all->labels, rows, 0);
    tg_return(t, tg_add(in[1], train(all->r, x, labels)));
}

static void epoch(tg_trace *t, const tg_value *in, void *user)
{
    data all = {user, in[0], in[1], in[2]};
    tg_value sum;
    tg_for(BATCHES, minibatch, &all, TG_ARGS(0.0f), &sum, 1);
    tg_return(t, sum);
}

/* -- Comparison ------------------------------------------------------------ */

/* The rows of an epoch in random order (Fisher-Yates). */
static void shuffle(int64_t *order, uint32_t *state)
{
    for (int64_t i = 0; i < ROWS; i++)
        order[i] = i;
    for (int64_t i = ROWS - 1; i > 0; i--) {
        *state = *state * 1664525 + 1013904223;
        const int64_t k = (int64_t)((uint64_t)*state * (uint64_t)(i + 1) >> 32);
        const int64_t row = order[i];
        order[i] = order[k];
        order[k] = row;
    }
}

static float by_steps(tg_context *ctx, tg_function *f, float *x,
                      int64_t *labels, int64_t *order)
{
    float sum = 0;
    for (int i = 0; i < BATCHES; i++) {
        float rows[BATCH * FEATURES], loss;
        int64_t classes[BATCH];
        for (int k = 0; k < BATCH; k++) {
            const int64_t row = order[i * BATCH + k];
            memcpy(rows + k * FEATURES, x + row * FEATURES,
                   FEATURES * sizeof(*x));
            classes[k] = labels[row];
        }
        TG_AUTO(tg_tensor) some =
            tg_tensor_wrap(ctx, rows, TG_F32, TG_DIMS(BATCH, FEATURES));
        TG_AUTO(tg_tensor) theirs =
            tg_tensor_wrap(ctx, classes, TG_I64, TG_DIMS(BATCH));
        check(some && theirs);
        check(!tg_call(f, TG_ARGS(some, theirs), TG_RESULTS(&loss)));
        sum += loss;
    }
    return sum;
}

static float by_epoch(tg_context *ctx, tg_function *f, float *x,
                      int64_t *labels, int64_t *order)
{
    float sum;
    TG_AUTO(tg_tensor) all =
        tg_tensor_wrap(ctx, x, TG_F32, TG_DIMS(ROWS, FEATURES));
    TG_AUTO(tg_tensor) theirs =
        tg_tensor_wrap(ctx, labels, TG_I64, TG_DIMS(ROWS));
    TG_AUTO(tg_tensor) shuffled =
        tg_tensor_wrap(ctx, order, TG_I64, TG_DIMS(ROWS));
    check(all && theirs && shuffled);
    check(!tg_call(f, TG_ARGS(all, theirs, shuffled), TG_RESULTS(&sum)));
    return sum;
}

/* A copy of all variables, and the mean loss of each epoch. */
typedef struct snapshot {
    unsigned char bytes[VARIABLES][MAX_BYTES];
    float losses[EPOCHS];
} snapshot;

static void train_model(int threads, bool as_epochs, float *x, int64_t *labels,
                        snapshot *out)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.threads = threads;
    tg_context *ctx = tg_context_create(&options);
    check(ctx);
    training r = training_create(ctx);
    tg_function *f = as_epochs ? tg_function_create(ctx, epoch, &r, NULL)
                               : tg_function_create(ctx, step, &r, NULL);
    check(f);
    uint32_t state = 9;
    for (int i = 0; i < EPOCHS; i++) {
        int64_t order[ROWS];
        shuffle(order, &state);
        out->losses[i] = (as_epochs ? by_epoch : by_steps)(ctx, f, x, labels,
                                                           order) / BATCHES;
    }

    tg_variable *all[VARIABLES];
    check(tg_bundle_variables(&training_type, &r, TG_ALL_VARIABLES, all,
                              VARIABLES) == VARIABLES);
    for (int i = 0; i < VARIABLES; i++)
        check(!tg_variable_get(all[i], out->bytes[i],
                               tg_variable_bytes(all[i])));
    tg_bundle_release(&training_type, &r);
    tg_function_release(f);
    tg_context_release(ctx);
}

int main(void)
{
    static float x[ROWS * FEATURES];
    static int64_t labels[ROWS];
    uint32_t state = 5;
    for (int row = 0; row < ROWS; row++) {
        float *features = x + row * FEATURES;
        for (int i = 0; i < FEATURES; i++)
            features[i] = random_number(&state);
        labels[row] = (features[0] > features[1]) * 2 +
                      (features[2] * features[3] > 0);
    }

    static snapshot trained[2][2]; /* by threads, by as_epochs */
    for (int threads = 1; threads <= 2; threads++)
        for (int as_epochs = 0; as_epochs < 2; as_epochs++)
            train_model(threads, as_epochs, x, labels,
                        &trained[threads - 1][as_epochs]);

    for (int i = 0; i < EPOCHS; i++)
        printf("epoch %d: mean loss %.4f\n", i + 1,
               (double)trained[0][0].losses[i]);
    for (int threads = 1; threads <= 2; threads++)
        printf("%d thread(s): calls per step and calls per epoch: %s\n",
               threads,
               memcmp(&trained[threads - 1][0], &trained[threads - 1][1],
                      sizeof(snapshot))
                   ? "different bits"
                   : "same bits");
    printf("one thread and two: %s\n",
           memcmp(&trained[0][1], &trained[1][1], sizeof(snapshot))
               ? "different bits"
               : "same bits");
    return 0;
}

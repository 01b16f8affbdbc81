/* SPDX-License-Identifier: MIT */
/*
 * transformer_bytes.c - a small transformer learns to predict the next byte of
 * a text, its own source. The text is a tensor; every step draws a batch of
 * windows from it. A hundred steps are one call.
 *
 *     transformer_bytes [FILE]
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>

#ifndef EXAMPLE_DATA
#define EXAMPLE_DATA "examples/data"
#endif

enum { BYTES = 256, WIDTH = 32, HEADS = 4, TIME = 24, BATCH = 16 };
enum { CALLS = 5, STEPS = 100, MAX_TEXT = 1 << 20 };

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* -- The model ------------------------------------------------------------- */

TG_DEFINE_BUNDLE(block, (tg_norm_layer, norm1), (tg_attention_layer, attention),
                 (tg_norm_layer, norm2), (tg_dense_layer, up),
                 (tg_dense_layer, down))
TG_DEFINE_BUNDLE(model, (tg_embedding_layer, bytes),
                 (tg_embedding_layer, places), (block, only),
                 (tg_norm_layer, norm), (tg_dense_layer, output))
TG_DEFINE_OPTIMISER(model_optimiser, model)
TG_DEFINE_BUNDLE(training, (model, net), (model_optimiser, adam), random)

static tg_update_rule rule(void)
{
    return tg_with_clipping(tg_adamw(0.9, 0.99, 1e-8, 0.01), 1);
}

static void training_create(tg_context *ctx, training *r)
{
    model *m = &r->net;
    block *b = &m->only;
    const tg_initial small = tg_normal(0, 0.1), glorot = tg_glorot();
    check(!tg_embedding_create(ctx, "bytes", TG_F32, BYTES, WIDTH, small,
                               &m->bytes) &&
          !tg_embedding_create(ctx, "places", TG_F32, TIME, WIDTH, small,
                               &m->places) &&
          !tg_layer_norm_create(ctx, "norm1", TG_F32, WIDTH, &b->norm1) &&
          !tg_attention_create(ctx, "attention", TG_F32, WIDTH, WIDTH,
                               &b->attention) &&
          !tg_layer_norm_create(ctx, "norm2", TG_F32, WIDTH, &b->norm2) &&
          !tg_dense_create(ctx, "up", TG_F32, WIDTH, 128, glorot, &b->up) &&
          !tg_dense_create(ctx, "down", TG_F32, 128, WIDTH, glorot,
                           &b->down) &&
          !tg_layer_norm_create(ctx, "norm", TG_F32, WIDTH, &m->norm) &&
          !tg_dense_create(ctx, "output", TG_F32, WIDTH, BYTES, glorot,
                           &m->output) &&
          !tg_optimiser_create(ctx, "adam", rule(), &model_optimiser_type, m,
                               &r->adam));
    r->random = tg_generator_create(ctx, "random", 1);
    check(r->random);
}

static tg_value normalise(tg_value x, const tg_norm_layer *layer)
{
    return tg_layer_norm(x, layer->scale, layer->shift, 1e-5);
}

static tg_value transform(tg_value x, const block *b)
{
    const tg_value y = normalise(x, &b->norm1), mask = tg_causal_mask(TIME);
    x = tg_add(x, tg_masked_attention(y, y, mask, &b->attention, HEADS));
    const tg_value hidden = tg_gelu(tg_dense(normalise(x, &b->norm2), &b->up));
    return tg_add(x, tg_dense(hidden, &b->down));
}

/* -- Training -------------------------------------------------------------- */

/* Windows of TIME + 1 bytes at random places, as i32. */
static tg_value windows(const training *r, tg_value text)
{
    const tg_value last = tg_sub(tg_extent(text, 0), TIME);
    const tg_value u = tg_random_uniform(r->random, TG_F64, TG_DIMS(BATCH, 1));
    const tg_value start =
        tg_cast(tg_mul(u, tg_cast(last, TG_F64)), TG_I64);
    const tg_value at = tg_add(start, tg_iota(TG_I64, TG_DIMS(TIME + 1), 0));
    return tg_cast(tg_gather(text, at, 0), TG_I32);
}

typedef struct job {
    training *r;
    tg_value text;
} job;

/* Receives the number of the step and the sum of losses so far. */
static void train_step(tg_trace *t, const tg_value *in, void *user)
{
    const job *j = user;
    const model *m = &j->r->net;
    const tg_value all = windows(j->r, j->text);
    const tg_value given = tg_slice(all, 1, 0, TIME, 1);
    const tg_value next = tg_slice(all, 1, 1, TG_END, 1);
    const tg_value x = tg_add(tg_embedding(given, &m->bytes), m->places.table);
    const tg_value y = normalise(transform(x, &m->only), &m->norm);
    const tg_value loss = tg_mean(
        tg_softmax_cross_entropy(tg_dense(y, &m->output), next), TG_ALL_AXES);
    tg_minimise(loss, tg_warm_up(j->r->adam.steps, 20, 5e-3), rule(),
                &model_optimiser_type, m, &j->r->adam);
    tg_return(t, tg_add(in[1], loss));
}

static void train_steps(tg_trace *t, const tg_value *in, void *user)
{
    job j = {user, in[0]};
    tg_value sum;
    tg_for(STEPS, train_step, &j, TG_ARGS(0.0f), &sum, 1);
    tg_return(t, tg_div(sum, STEPS));
}

int main(int argc, char **argv)
{
    static unsigned char text[MAX_TEXT];
    const char *path =
        argc > 1 ? argv[1] : EXAMPLE_DATA "/../transformer_bytes.c";
    FILE *in = fopen(path, "rb");
    const size_t n = in ? fread(text, 1, sizeof(text), in) : 0;
    if (n <= TIME)
        return fprintf(stderr, "%s is no text\n", path), 1;
    fclose(in);
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_tensor) x = tg_tensor_wrap(ctx, text, TG_U8, TG_DIMS(n));
    training r;
    training_create(ctx, &r);
    TG_AUTO(tg_function) f = tg_function_create(ctx, train_steps, &r, NULL);
    float loss[CALLS];
    for (int i = 0; i < CALLS; i++) {
        check(!tg_call(f, TG_ARGS(x), TG_RESULTS(&loss[i])));
        printf("steps %d to %d: %.2f nats per byte\n", i * STEPS + 1,
               (i + 1) * STEPS, (double)loss[i]);
    }
    printf("the loss %s\n", loss[CALLS - 1] < loss[0] / 2 ? "halved" : "stays");
    tg_bundle_release(&training_type, &r);
    return 0;
}

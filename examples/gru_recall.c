/* SPDX-License-Identifier: MIT */
/*
 * gru_recall.c - a recurrent network learns to remember: it sees a sequence of
 * random bits, one at a time, and repeats each bit eight steps later. A hundred
 * training steps are one call: data, forward and backward pass through time and
 * the update by Adam are one native function.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>

enum { TIME = 24, BATCH = 32, UNITS = 16, DELAY = 8, CALLS = 6, STEPS = 100 };

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* -- The model ------------------------------------------------------------- */

TG_DEFINE_BUNDLE(model, (tg_gru_layer, memory), (tg_dense_layer, output))
TG_DEFINE_OPTIMISER(model_optimiser, model)
TG_DEFINE_BUNDLE(training, (model, net), (model_optimiser, adam), random)

static const tg_value no_state; /* zeros */

/* Random bits, 0 or 1, [time, batch, 1]. */
static tg_value draw_bits(const training *r)
{
    const tg_value u = tg_random_uniform(r->random, TG_F32,
                                         TG_DIMS(TIME, BATCH, 1));
    return tg_cast(tg_ge(u, 0.5), TG_F32);
}

/* The logits of the outputs and the bits they should be, both without the first
   steps, which have nothing to repeat. */
static tg_value recall(const training *r, tg_value *out_wanted)
{
    const tg_value bits = draw_bits(r);
    tg_value outputs;
    tg_gru(bits, no_state, &r->net.memory, &outputs);
    const tg_value logits = tg_dense(outputs, &r->net.output);
    *out_wanted = tg_slice(tg_roll(bits, 0, DELAY), 0, DELAY, TG_END, 1);
    return tg_slice(logits, 0, DELAY, TG_END, 1);
}

/* -- Functions ------------------------------------------------------------- */

/* Receives the number of the step and the loss of the one before. */
static void train_step(tg_trace *t, const tg_value *in, void *user)
{
    const training *r = user;
    tg_value wanted;
    const tg_value logits = recall(r, &wanted);
    const tg_value loss =
        tg_mean(tg_sigmoid_cross_entropy(logits, wanted), TG_ALL_AXES);
    const tg_value rate = tg_cosine_decay(r->adam.steps, 0.02, CALLS * STEPS,
                                          0.001);
    (void)in;
    tg_minimise(loss, rate, tg_with_clipping(tg_adam(0.9, 0.999, 1e-8), 1),
                &model_optimiser_type, &r->net, &r->adam);
    tg_return(t, loss);
}

static void train_steps(tg_trace *t, const tg_value *in, void *user)
{
    tg_value loss;
    (void)in;
    tg_for(STEPS, train_step, user, TG_ARGS(0.0f), &loss, 1);
    tg_return(t, loss);
}

/* The fraction of bits that are repeated correctly. */
static void test(tg_trace *t, const tg_value *in, void *user)
{
    tg_value wanted;
    const tg_value logits = recall(user, &wanted);
    const tg_value is_right = tg_eq(tg_gt(logits, 0), tg_gt(wanted, 0));
    (void)in;
    tg_return(t, tg_mean(tg_cast(is_right, TG_F32), TG_ALL_AXES));
}

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    training r;
    check(ctx);
    check(!tg_gru_create(ctx, "memory", TG_F32, 1, UNITS, &r.net.memory));
    check(!tg_dense_create(ctx, "output", TG_F32, UNITS, 1, tg_glorot(),
                           &r.net.output));
    check(!tg_optimiser_create(ctx, "adam", tg_adam(0.9, 0.999, 1e-8),
                               &model_optimiser_type, &r.net, &r.adam));
    r.random = tg_generator_create(ctx, "random", 1);
    TG_AUTO(tg_function) train = tg_function_create(ctx, train_steps, &r,
                                                    NULL);
    TG_AUTO(tg_function) measure = tg_function_create(ctx, test, &r, NULL);
    check(r.random && train && measure);

    for (int call = 1; call <= CALLS; call++) {
        float loss;
        check(!tg_call(train, TG_ARGS(), TG_RESULTS(&loss)));
        printf("step %d: loss %.3f\n", call * STEPS, (double)loss);
    }
    float right;
    check(!tg_call(measure, TG_ARGS(), TG_RESULTS(&right)));
    printf("bits repeated after %d steps: %.1f %%\n", DELAY,
           100 * (double)right);
    tg_bundle_release(&training_type, &r);
    return 0;
}

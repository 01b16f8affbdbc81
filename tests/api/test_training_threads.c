/* SPDX-License-Identifier: MIT */
/*
 * test_training_threads.c - two threads train one bundle: model, momentum and
 * the generator of the data. Every step is atomic, so that n steps of two
 * threads leave the bits of n steps of one, whichever thread made which.
 */
#include <pthread.h>
#include <stdlib.h>

#include "support/modes.h"

enum { INPUTS = 5, HIDDEN = 9, BATCH = 16, STEPS = 120 };

TG_DEFINE_BUNDLE(layer, weights, bias)
TG_DEFINE_BUNDLE(network, (layer, hidden), (layer, output))
TG_DEFINE_BUNDLE(training, (network, model), (network, momentum), random)

static layer layer_create(tg_context *ctx, int64_t in, int64_t out,
                          tg_initial initial)
{
    return (layer){
        tg_variable_create(ctx, "weights", TG_F32, TG_DIMS(in, out), initial),
        tg_variable_create(ctx, "bias", TG_F32, TG_DIMS(out), tg_zeros())};
}

static training training_create(tg_context *ctx)
{
    const tg_initial random = tg_seeded(tg_glorot(), 1);
    return (training){
        {layer_create(ctx, INPUTS, HIDDEN, random),
         layer_create(ctx, HIDDEN, 1, random)},
        {layer_create(ctx, INPUTS, HIDDEN, tg_zeros()),
         layer_create(ctx, HIDDEN, 1, tg_zeros())},
        tg_generator_create(ctx, "random", 3),
    };
}

static tg_value dense(const layer *l, tg_value x)
{
    return tg_add(tg_matmul(x, l->weights), l->bias);
}

/* Learns the largest of the inputs. */
static void step(tg_trace *t, const tg_value *in, void *user)
{
    const training *r = tg_bundle_argument(t, 0, &training_type);
    tg_variable *v[4], *momentum[4];
    tg_value g[4];
    (void)in, (void)user;
    if (!r)
        return;
    tg_value x = tg_random_uniform(r->random, TG_F32, TG_DIMS(BATCH, INPUTS));
    tg_value y = dense(&r->model.output, tg_tanh(dense(&r->model.hidden, x)));
    tg_value error = tg_sub(tg_reshape(y, TG_DIMS(BATCH)),
                            tg_reduce_max(x, TG_AXES(1)));
    tg_value loss = tg_mean(tg_square(error), TG_ALL_AXES);
    tg_bundle_gradients(loss, &network_type, &r->model, v, g, 4);
    tg_bundle_variables(&network_type, &r->momentum, TG_ALL_VARIABLES, momentum,
                        4);
    for (int i = 0; i < 4; i++) {
        tg_assign(momentum[i], tg_add(tg_mul(momentum[i], 0.9), g[i]));
        tg_assign_sub(v[i], tg_mul(momentum[i], 0.05));
    }
    tg_return(t, loss);
}

/* -- Threads --------------------------------------------------------------- */

typedef struct worker {
    tg_function *f;
    const training *r;
    bool is_bound;
    int n_steps;
    float losses[STEPS];
    tg_status status;
    pthread_barrier_t *start;
} worker;

static void *work(void *user)
{
    worker *w = user;
    float loss = 0;
    const tg_operand bundle = tg_bundle_of(&training_type, w->r);
    tg_bound *b = w->is_bound
                      ? tg_bind(w->f, TG_ARGS(bundle), TG_RESULTS(&loss))
                      : NULL;
    if (w->start)
        pthread_barrier_wait(w->start);
    w->status = !w->is_bound || b ? TG_OK : tg_error_last()->status;
    for (int i = 0; i < w->n_steps && !w->status; i++) {
        w->status = b ? tg_run(b)
                      : tg_call(w->f, TG_ARGS(bundle), TG_RESULTS(&loss));
        w->losses[i] = loss;
    }
    tg_bound_release(b);
    return NULL;
}

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The losses of all steps in order of size, and the final state. */
static void note_training(outcome *out, const training *r, float *losses)
{
    tg_variable *v[9];
    qsort(losses, STEPS, sizeof(*losses), compare_floats);
    note(out, losses, STEPS * sizeof(*losses));
    cr_assert_eq(tg_bundle_variables(&training_type, r, TG_ALL_VARIABLES, v, 9),
                 9);
    for (int i = 0; i < 9; i++)
        note_variable(out, v[i]);
}

static void train_alone(session *s, outcome *out)
{
    training r = training_create(s->ctx);
    tg_function *f = tg_function_create(s->ctx, step, NULL, NULL);
    worker w = {.f = f, .r = &r, .n_steps = STEPS};
    work(&w);
    check_works(w.status);
    note_training(out, &r, w.losses);
    tg_function_release(f);
    tg_bundle_release(&training_type, &r);
}

/* One thread calls, the other runs a bound call. */
static void train_together(session *s, outcome *out)
{
    training r = training_create(s->ctx);
    tg_function *f = tg_function_create(s->ctx, step, NULL, NULL);
    pthread_barrier_t start;
    pthread_t threads[2];
    worker w[2];
    float losses[STEPS];
    cr_assert(!pthread_barrier_init(&start, NULL, 2));
    for (int i = 0; i < 2; i++) {
        w[i] = (worker){.f = f, .r = &r, .is_bound = i, .n_steps = STEPS / 2,
                        .start = &start};
        cr_assert(!pthread_create(&threads[i], NULL, work, &w[i]));
    }
    for (int i = 0; i < 2; i++) {
        cr_assert(!pthread_join(threads[i], NULL));
        check_works(w[i].status);
        memcpy(losses + i * STEPS / 2, w[i].losses, sizeof(losses) / 2);
    }
    note_training(out, &r, losses);
    pthread_barrier_destroy(&start);
    tg_function_release(f);
    tg_bundle_release(&training_type, &r);
}

/* -- Tests ----------------------------------------------------------------- */

static void both(session *s, outcome *out)
{
    static outcome alone, together;
    alone.n = together.n = 0;
    train_alone(s, &alone);
    for (int i = 0; i < 5; i++) {
        together.n = 0;
        train_together(s, &together);
        cr_assert_eq(alone.n, together.n);
        cr_assert_eq(memcmp(alone.bytes, together.bytes, alone.n), 0,
                     "two threads leave other bits than one");
    }
    note(out, alone.bytes, alone.n);
}

/* Interpreted, compiled for 1 to 7 threads, and auto: the same bits. */
Test(training_threads, two_threads_train_one_bundle_in_all_modes,
     .timeout = 300)
{
    check_all_modes(both);
}

/* Calls are interpreted until the code is ready, in the midst of training. */
Test(training_threads, code_may_arrive_during_the_training, .timeout = 300)
{
    static outcome out;
    session s;
    setenv("TGJIT_COMPILE", "background", 1);
    session_begin_with(&s, (tg_context_options){.jit = "auto"});
    out.n = 0;
    both(&s, &out);
    check_works(tg_compile_wait(s.ctx));
    session_end(&s);
}

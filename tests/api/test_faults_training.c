/* SPDX-License-Identifier: MIT */
/*
 * test_faults_training.c - fault injection, as in test_faults.c, for layers,
 * optimisers and the functions around training.
 */
#include "support/api.h"

TG_DEFINE_BUNDLE(model, (tg_dense_layer, dense), (tg_lstm_layer, lstm),
                 (tg_attention_layer, attention), (tg_batch_norm_layer, norm))
TG_DEFINE_OPTIMISER(model_optimiser, model)
TG_DEFINE_BUNDLE(training, (model, net), (model_optimiser, adam))

static const tg_update_rule rule = {
    TG_RULE_ADAM, false, 0.9, 0.99, 1e-8, 0.1, 1};

static bool create(tg_context *ctx, training *r)
{
    model *m = &r->net;
    *r = (training){.adam.steps = NULL};
    return !tg_dense_create(ctx, "dense", TG_F32, 2, 4, tg_he(), &m->dense) &&
           !tg_lstm_create(ctx, "lstm", TG_F32, 4, 2, &m->lstm) &&
           !tg_attention_create(ctx, "attention", TG_F32, 2, 2,
                                &m->attention) &&
           !tg_batch_norm_create(ctx, "norm", TG_F32, 2, &m->norm) &&
           !tg_optimiser_create(ctx, "adam", rule, &model_optimiser_type, m,
                                &r->adam);
}

static void step(tg_trace *t, const tg_value *in, void *user)
{
    const training *r = user;
    const tg_lstm_state zeros = {{0, 0}, {0, 0}};
    tg_value hs, part[3];
    tg_lstm(tg_dense(in[0], &r->net.dense), zeros, &r->net.lstm, &hs);
    const tg_value x = tg_attention(hs, hs, &r->net.attention, 1);
    tg_unstack(tg_roll(x, 0, 1), 0, part, 3);
    const tg_value y = tg_batch_norm(tg_stack(0, part[0], part[1], part[2]),
                                     &r->net.norm, true, 0.1, 1e-5);
    const tg_value loss = tg_huber_loss(tg_dropout(y, 0.5, 7, true), in[0], 1);
    tg_minimise(loss, tg_cosine_decay(r->adam.steps, 0.1, 9, 0), rule,
                &model_optimiser_type, &r->net, &r->adam);
    tg_return(t, loss, tg_var(y, TG_ALL_AXES, 1));
}

static bool training_scenario(void)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.jit = "off";
    TG_AUTO(tg_context) ctx = tg_context_create(&options);
    training r;
    float loss;
    if (!ctx)
        return false;
    bool good = create(ctx, &r);
    TG_AUTO(tg_function) f =
        good ? tg_function_create(ctx, step, &r, NULL) : NULL;
    TG_AUTO(tg_tensor) x =
        f ? tg_tensor_create(ctx, TG_F32, TG_DIMS(3, 2, 2), tg_ones()) : NULL;
    good = x && !tg_call(f, TG_ARGS(x), TG_RESULTS(&loss));
    good = good && *tg_scope_name(ctx) == '\0';
    tg_bundle_release(&training_type, &r);
    return good;
}

Test(faults, training)
{
    check_every_fault(training_scenario);
}

/* -- Convolutions ---------------------------------------------------------- */

/* in: images of any size, filters */
static void convolve(tg_trace *t, const tg_value *in, void *user)
{
    const tg_conv_layer *layer = user;
    tg_value y = tg_convolve(in[0], layer, .stride = {2, 1}, .groups = 2,
                             .padding = TG_PADDING_SAME);
    y = tg_max_pool(tg_relu(y), .window = {2, 2}, .stride = {1, 1});
    y = tg_avg_pool(y, .window = {2, 2}, .padding = TG_PADDING_SAME);
    y = tg_conv2d_transpose(y, in[1], .stride = {1, 2});
    const tg_value loss = tg_sum(tg_square(y), TG_ALL_AXES);
    tg_return(t, tg_gradient(loss, layer->filters), tg_gradient(loss, in[1]));
}

static bool convolution_scenario(void)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.jit = "off";
    TG_AUTO(tg_context) ctx = tg_context_create(&options);
    tg_conv_layer layer = {NULL, NULL};
    if (!ctx || tg_conv_create(ctx, "conv", TG_F32, TG_DIMS(2, 2), 1, 2,
                               tg_ones(), &layer))
        return false;
    TG_AUTO(tg_function) f = tg_function_create(
        ctx, convolve, &layer,
        TG_SIGNATURE(TG_SPEC(TG_F32, TG_UNKNOWN, TG_UNKNOWN, TG_UNKNOWN, 2),
                     TG_SPEC(TG_F32, 2, 2, 3, 2)));
    TG_AUTO(tg_tensor) x =
        tg_tensor_create(ctx, TG_F32, TG_DIMS(1, 5, 4, 2), tg_ones());
    TG_AUTO(tg_tensor) w =
        tg_tensor_create(ctx, TG_F32, TG_DIMS(2, 2, 3, 2), tg_ones());
    TG_AUTO(tg_tensor) by_filters = NULL;
    const bool good = f && x && w && !tg_call(f, TG_ARGS(x, w),
                                              TG_RESULTS(&by_filters));
    tg_bundle_release(&tg_conv_layer_type, &layer);
    return good;
}

Test(faults, convolutions)
{
    check_every_fault(convolution_scenario);
}

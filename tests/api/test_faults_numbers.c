/* SPDX-License-Identifier: MIT */
/*
 * test_faults_numbers.c - memory that runs out while functions of halves and
 * quantised numbers are traced and run, and in calls with a deadline.
 */
#include "support/api.h"

static tg_context *begin(void)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.jit = "off";
    return tg_context_create(&options);
}

/* Calls a function of one matrix; true if that succeeds. */
static bool call_callback(tg_context *ctx, tg_callback *callback, void *user,
                          tg_dtype dtype)
{
    TG_AUTO(tg_function) f =
        tg_function_create(ctx, callback, user, NULL);
    TG_AUTO(tg_tensor) x =
        f ? tg_tensor_create(ctx, dtype, TG_DIMS(3, 4), tg_ones()) : NULL;
    TG_AUTO(tg_tensor) y = NULL;
    return x && tg_call(f, TG_ARGS(x), TG_RESULTS(&y)) == TG_OK &&
           tg_call_within(f, 1000, TG_ARGS(x), TG_RESULTS(&y)) == TG_OK;
}

/* -- Halves ---------------------------------------------------------------- */

TG_DEFINE_BUNDLE(model, (tg_dense_layer, layer))
TG_DEFINE_OPTIMISER(model_optimiser, model)
TG_DEFINE_BUNDLE(training, (model, net), (model_optimiser, sgd),
                 (tg_loss_scaler, scaler))

static void half_step(tg_trace *t, const tg_value *in, void *user)
{
    const training *r = user;
    const tg_value y = tg_cast(tg_dense(in[0], &r->net.layer), TG_F32);
    tg_return(t, tg_minimise_scaled(tg_mean(tg_square(y), TG_ALL_AXES), 0.1,
                                    tg_sgd(), &model_optimiser_type, &r->net,
                                    &r->sgd, &r->scaler, 10));
}

static bool halves_scenario(void)
{
    TG_AUTO(tg_context) ctx = begin();
    training r;
    memset(&r, 0, sizeof(r));
    const bool good =
        ctx &&
        !tg_dense_create(ctx, "net", TG_F32, 4, 2, tg_ones(), &r.net.layer) &&
        !tg_optimiser_create(ctx, "sgd", tg_sgd(), &model_optimiser_type,
                             &r.net, &r.sgd) &&
        !tg_loss_scaler_create(ctx, "scaler", 4, &r.scaler) &&
        call_callback(ctx, half_step, &r, TG_F16) &&
        call_callback(ctx, half_step, &r, TG_BF16);
    tg_bundle_release(&training_type, &r);
    return good;
}

Test(faults, training_in_halves)
{
    check_every_fault(halves_scenario);
}

/* -- Quantised numbers ----------------------------------------------------- */

static void quantise(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value scale, zero_point;
    const tg_value q = tg_quantize_dynamic(in[0], &scale, &zero_point);
    const tg_value other =
        tg_quantize(in[0], 0.5f, tg_cast(zero_point, TG_U8), 0);
    const tg_value product =
        tg_matmul_integer(q, tg_reshape(other, TG_DIMS(4, 3)));
    const tg_value back = tg_dequantize(q, scale, zero_point, 0);
    tg_return(t, tg_add(tg_sum(back, TG_ALL_AXES), tg_cast(product, TG_F32)));
}

static bool quantised_scenario(void)
{
    TG_AUTO(tg_context) ctx = begin();
    return ctx && call_callback(ctx, quantise, NULL, TG_F32);
}

Test(faults, quantised_numbers)
{
    check_every_fault(quantised_scenario);
}

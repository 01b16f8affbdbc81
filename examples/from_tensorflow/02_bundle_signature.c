/* SPDX-License-Identifier: MIT */
/*
 * 02_bundle_signature.c - weights and bias as one argument, a bundle. The
 * signature declares a layer and a batch of any size: one trace serves all
 * layers of these shapes and all batches.
 */
#include "../check.h"

TG_DEFINE_BUNDLE(layer, weights, bias)

static layer layer_create(tg_context *ctx, double weight, double bias)
{
    layer made = {
        tg_variable_create(ctx, "weights", TG_F32, TG_DIMS(3, 2),
                           tg_fill(weight)),
        tg_variable_create(ctx, "bias", TG_F32, TG_DIMS(2), tg_fill(bias)),
    };
    check(made.weights && made.bias);
    return made;
}

static void predict(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const layer *l = tg_bundle_argument(t, 0, &layer_type);
    if (l) /* NULL if the argument is not a layer */
        tg_return(t, tg_add(tg_matmul(in[1], l->weights), l->bias));
}

int main(void)
{
    float data[] = {1, 2, 3, 4, 5, 6};
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_tensor) x = tg_tensor_wrap(ctx, data, TG_F32, TG_DIMS(2, 3));
    check(ctx && x);
    layer a = layer_create(ctx, 1, 0.5);
    layer b = layer_create(ctx, -1, 0);
    TG_AUTO(tg_function) f = tg_function_create(
        ctx, predict, NULL,
        TG_SIGNATURE(tg_spec_bundle(&layer_type, &a),
                     TG_SPEC(TG_F32, TG_UNKNOWN, 3)));
    TG_AUTO(tg_tensor) y = NULL;
    check(f);

    check(!tg_call(f, TG_ARGS(tg_bundle_of(&layer_type, &a), x),
                   TG_RESULTS(&y)));
    printf("a:\n%s\n", tg_tensor_text(y));
    check(!tg_call(f, TG_ARGS(tg_bundle_of(&layer_type, &b), x),
                   TG_RESULTS(&y)));
    printf("b:\n%s\n", tg_tensor_text(y));
    printf("traces: %zu\n", tg_function_trace_count(f));

    tg_bundle_release(&layer_type, &a);
    tg_bundle_release(&layer_type, &b);
}

/* SPDX-License-Identifier: MIT */
/*
 * bundle.c - weights and bias as one argument. `predict` receives a layer as an
 * argument: one trace serves two layers. `nudge` captures a layer and updates
 * it; `predict` sees the update.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* -- The bundle type ------------------------------------------------------- */

TG_DEFINE_BUNDLE(layer, weights, bias)

static layer layer_create(tg_context *ctx, double weight, double bias)
{
    layer made = {
        tg_variable_create(ctx, "layer/weights", TG_F32, TG_DIMS(3, 2),
                           tg_fill(weight)),
        tg_variable_create(ctx, "layer/bias", TG_F32, TG_DIMS(2),
                           tg_fill(bias)),
    };
    check(made.weights && made.bias);
    return made;
}

/* -- Two functions over layers --------------------------------------------- */

static void predict(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const layer *l = tg_bundle_argument(t, 0, &layer_type);
    if (l) /* NULL if the argument is not a layer */
        tg_return(t, tg_add(tg_matmul(in[1], l->weights), l->bias));
}

static void nudge(tg_trace *t, const tg_value *in, void *user)
{
    (void)t;
    const layer *l = user;
    tg_assign_add(l->weights, in[0]);
    tg_assign_sub(l->bias, in[0]);
}

static void show(tg_function *f, const char *name, const layer *l, tg_tensor *x)
{
    tg_tensor *y = NULL;
    check(!tg_call(f, TG_ARGS(tg_bundle_of(&layer_type, l), x),
                   TG_RESULTS(&y)));
    printf("predict(%s, x) = %s\n", name, tg_tensor_text(y));
    tg_tensor_release(y);
}

int main(void)
{
    tg_context *ctx = tg_context_create(NULL);
    check(ctx);
    layer left = layer_create(ctx, 1, 0.5);
    layer right = layer_create(ctx, -1, 0);
    tg_function *p = tg_function_create(ctx, predict, NULL, NULL);
    tg_function *n = tg_function_create(ctx, nudge, &left, NULL);
    float data[] = {1, 2, 3};
    tg_tensor *x = tg_tensor_wrap(ctx, data, TG_F32, TG_DIMS(3));
    check(p && n && x);

    printf("a layer has %lld elements\n",
           (long long)tg_bundle_count(&layer_type, &left, TG_ALL_VARIABLES));
    show(p, "left", &left, x);
    show(p, "right", &right, x);

    puts("nudge(0.25)");
    check(!tg_call(n, TG_ARGS(0.25f), TG_RESULTS()));
    show(p, "left", &left, x);
    show(p, "right", &right, x);
    printf("traces of predict: %zu\n", tg_function_trace_count(p));

    tg_tensor_release(x);
    tg_function_release(n);
    tg_function_release(p);
    tg_bundle_release(&layer_type, &right);
    tg_bundle_release(&layer_type, &left);
    tg_context_release(ctx);
    return 0;
}

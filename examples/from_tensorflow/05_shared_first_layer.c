/* SPDX-License-Identifier: MIT */
/*
 * 05_shared_first_layer.c - two models have one first layer and different
 * second layers. The scope decides which weights a layer gets.
 */
#include "../check.h"

/* relu(x * weights), with the weights of the given scope. */
static tg_value dense(tg_context *ctx, const char *scope, tg_value x,
                      int64_t outputs)
{
    const int64_t inputs = tg_value_dim(x, -1);
    tg_scope_push(ctx, scope, TG_REUSE_AUTO);
    tg_variable *weights = tg_get_variable(
        ctx, "weights", TG_F32, TG_DIMS(inputs, outputs), tg_ones());
    tg_scope_pop(ctx);
    return tg_relu(tg_matmul(x, weights));
}

static void small(tg_trace *t, const tg_value *in, void *user)
{
    tg_value features = dense(user, "features", in[0], 4);
    tg_return(t, dense(user, "small", features, 1));
}

static void large(tg_trace *t, const tg_value *in, void *user)
{
    tg_value features = dense(user, "features", in[0], 4);
    tg_return(t, dense(user, "large", features, 3));
}

static void show(tg_function *f, tg_tensor *x)
{
    TG_AUTO(tg_tensor) y = NULL;
    check(!tg_call(f, TG_ARGS(x), TG_RESULTS(&y)));
    printf("%s: %s\n", tg_function_name(f), tg_tensor_text(y));
}

int main(void)
{
    float data[] = {1, 2};
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_function) f = tg_function_create(ctx, small, ctx, NULL);
    TG_AUTO(tg_function) g = tg_function_create(ctx, large, ctx, NULL);
    TG_AUTO(tg_tensor) x = tg_tensor_wrap(ctx, data, TG_F32, TG_DIMS(1, 2));
    check(ctx && f && g && x);
    show(f, x);
    show(g, x);

    TG_AUTO(tg_variable) shared =
        tg_context_find_variable(ctx, "features/weights");
    check(!tg_variable_assign(shared, 0.5)); /* changes both models */
    show(f, x);
    show(g, x);
}

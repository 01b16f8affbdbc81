/* SPDX-License-Identifier: MIT */
/*
 * 06_shared_convolution.c - two functions of images share the filters that
 * extract features; any number of images has one trace.
 */
#include "../check.h"

static tg_value features(tg_value images, tg_variable *filters)
{
    return tg_relu(tg_conv2d(images, filters, .padding = TG_PADDING_SAME));
}

static void strongest(tg_trace *t, const tg_value *in, void *user)
{
    tg_value found = features(in[0], user);
    tg_return(t, tg_reduce_max(found, TG_AXES(1, 2, 3)));
}

static void pooled(tg_trace *t, const tg_value *in, void *user)
{
    tg_value found = tg_max_pool(features(in[0], user), .window = {2, 2});
    tg_return(t, tg_reshape(found, TG_DIMS(-1, 4)));
}

static void show(tg_function *f, tg_tensor *images)
{
    TG_AUTO(tg_tensor) y = NULL;
    check(!tg_call(f, TG_ARGS(images), TG_RESULTS(&y)));
    printf("%s: %s\n", tg_function_name(f), tg_tensor_text(y));
}

int main(void)
{
    float data[2 * 16] = {0, 1, 5, 5, 0, 2, 5, 5, 0, 3, 9, 9, 0, 0, 9, 9, 7};
    float edges[] = {-1, 1};
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_variable) filters = tg_variable_create(
        ctx, "filters", TG_F32, TG_DIMS(1, 2, 1, 1), tg_from_data(edges));
    const tg_function_options *any =
        TG_SIGNATURE(TG_SPEC(TG_F32, TG_UNKNOWN, 4, 4, 1));
    TG_AUTO(tg_function) f = tg_function_create(ctx, strongest, filters, any);
    TG_AUTO(tg_function) g = tg_function_create(ctx, pooled, filters, any);
    TG_AUTO(tg_tensor) one =
        tg_tensor_wrap(ctx, data, TG_F32, TG_DIMS(1, 4, 4, 1));
    TG_AUTO(tg_tensor) two =
        tg_tensor_wrap(ctx, data, TG_F32, TG_DIMS(2, 4, 4, 1));
    check(ctx && filters && f && g && one && two);
    show(f, one);
    show(g, one);
    show(f, two);
    show(g, two);
    check(!tg_variable_assign(filters, 0.5)); /* changes both functions */
    show(f, two);
    show(g, two);
    printf("%zu traces\n", tg_function_trace_count(f));
}

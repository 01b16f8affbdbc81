/* SPDX-License-Identifier: MIT */
/*
 * 04_scope_constant.c - a normalisation constant shared by name. Both functions
 * ask for "norm/scale"; the first trace creates it, the second one finds it.
 */
#include "../check.h"

static tg_variable *scale_of(tg_context *ctx)
{
    tg_variable_options fixed = TG_VARIABLE_OPTIONS_INIT;
    fixed.untrainable = true;
    tg_scope_push(ctx, "norm", TG_REUSE_AUTO);
    tg_variable *scale = tg_get_variable_with(ctx, "scale", TG_F32, TG_SCALAR,
                                              tg_fill(255), &fixed);
    tg_scope_pop(ctx);
    return scale; /* the context owns it */
}

static void normalise(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, tg_div(in[0], scale_of(user)));
}

static void restore(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, tg_mul(in[0], scale_of(user)));
}

int main(void)
{
    float pixels[] = {0, 51, 255};
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_function) f = tg_function_create(ctx, normalise, ctx, NULL);
    TG_AUTO(tg_function) g = tg_function_create(ctx, restore, ctx, NULL);
    TG_AUTO(tg_tensor) x = tg_tensor_wrap(ctx, pixels, TG_F32, TG_DIMS(3));
    TG_AUTO(tg_tensor) unit = NULL;
    TG_AUTO(tg_tensor) back = NULL;
    check(ctx && f && g && x);

    check(!tg_call(f, TG_ARGS(x), TG_RESULTS(&unit)));
    check(!tg_call(g, TG_ARGS(unit), TG_RESULTS(&back)));
    printf("%s -> %s\n", tg_tensor_text(unit), tg_tensor_text(back));

    TG_AUTO(tg_variable) scale = tg_context_find_variable(ctx, "norm/scale");
    check(!tg_variable_assign(scale, 100)); /* both functions see it */
    check(!tg_call(f, TG_ARGS(x), TG_RESULTS(&unit)));
    check(!tg_call(g, TG_ARGS(unit), TG_RESULTS(&back)));
    printf("%s -> %s\n", tg_tensor_text(unit), tg_tensor_text(back));
}

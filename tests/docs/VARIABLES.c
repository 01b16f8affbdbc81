/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "VARIABLES.blocks.h"

static void layers(tg_trace *t, const tg_value *in, void *user)
{
    tg_context *ctx = user;
    tg_return(t, dense(ctx, "second", dense(ctx, "first", in[0], 4), 2));
}

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    CHECK(run(ctx) == 0);

    TG_AUTO(tg_function) f = tg_function_create(ctx, layers, ctx, NULL);
    TG_AUTO(tg_tensor) x = filled(ctx, TG_F32, TG_DIMS(5, 3), 1);
    TG_AUTO(tg_tensor) y = NULL;
    CHECK(!tg_call(f, TG_ARGS(x), TG_RESULTS(&y)));
    CHECK(tg_tensor_rank(y) == 2 && tg_tensor_dims(y)[1] == 2);

    model m = {{variable(ctx, "hw", TG_DIMS(3, 4), 0.5),
                variable(ctx, "hb", TG_DIMS(4), 0)},
               {variable(ctx, "ow", TG_DIMS(4, 2), 0.5),
                variable(ctx, "ob", TG_DIMS(2), 0)},
               variable(ctx, "temperature", TG_SCALAR, 2)};
    TG_AUTO(tg_function) g = tg_function_create(ctx, step, NULL, NULL);
    float first = 0, loss = 0;
    CHECK(!tg_call(g, TG_ARGS(tg_bundle_of(&model_type, &m), x),
                   TG_RESULTS(&first)));
    CHECK(!tg_call(g, TG_ARGS(tg_bundle_of(&model_type, &m), x),
                   TG_RESULTS(&loss)));
    CHECK(loss < first);
    return 0;
}

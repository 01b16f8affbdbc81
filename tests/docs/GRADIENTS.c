/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "GRADIENTS.blocks.h"

tg_value logits(const model *m, tg_value x)
{
    tg_value hidden = tg_tanh(tg_add(tg_matmul(x, m->w1), m->b1));
    return tg_add(tg_matmul(hidden, m->w2), m->b2);
}

tg_value example_loss(tg_value x, tg_value label, tg_value weights)
{
    tg_value y = tg_sum(tg_mul(x, weights), TG_ALL_AXES);
    return tg_square(tg_sub(y, label));
}

/* The gradient of 5 * identity(x), which is clamped to 1. */
static void clamped_gradient(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y;
    tg_custom_gradient(identity, clamped, NULL, TG_ARGS(in[0]), &y, 1);
    block3(in[0], y);
    tg_return(t, tg_gradient(tg_mul(y, 5), in[0]));
}

static void gradients_of_examples(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value gradients;
    tg_vmap_axes(example_gradient, NULL, ((int[]){0, 0, TG_UNBATCHED}), NULL,
                 TG_ARGS(in[0], in[1], in[2]), &gradients, 1);
    block5(in[0], in[1], in[2], gradients);
    tg_return(t, gradients);
}

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    model m = {variable(ctx, "w1", TG_DIMS(3, 4), 0.5),
               variable(ctx, "b1", TG_DIMS(4), 0),
               variable(ctx, "w2", TG_DIMS(4, 2), 0.5),
               variable(ctx, "b2", TG_DIMS(2), 0)};
    TG_AUTO(tg_function) f = tg_function_create(ctx, train_step, &m, NULL);
    TG_AUTO(tg_tensor) x = filled(ctx, TG_F32, TG_DIMS(5, 3), 1);
    TG_AUTO(tg_tensor) label = filled(ctx, TG_I64, TG_DIMS(5), 1);
    float first = 0, loss = 0;
    CHECK(!tg_call(f, TG_ARGS(x, label), TG_RESULTS(&first)));
    for (int i = 0; i < 10; i++)
        CHECK(!tg_call(f, TG_ARGS(x, label), TG_RESULTS(&loss)));
    CHECK(loss < first);

    float slope;
    TG_AUTO(tg_function) g =
        tg_function_create(ctx, clamped_gradient, NULL, NULL);
    CHECK(!tg_call(g, TG_ARGS(7.0f), TG_RESULTS(&slope)) && slope == 1);

    TG_AUTO(tg_function) h =
        tg_function_create(ctx, gradients_of_examples, NULL, NULL);
    TG_AUTO(tg_tensor) weights = filled(ctx, TG_F32, TG_DIMS(3), 1);
    TG_AUTO(tg_tensor) wanted = filled(ctx, TG_F32, TG_DIMS(5), 1);
    TG_AUTO(tg_tensor) out = NULL;
    CHECK(!tg_call(h, TG_ARGS(x, wanted, weights), TG_RESULTS(&out)));
    CHECK(tg_tensor_rank(out) == 2 && tg_tensor_f32(out)[14] == 4);
    return 0;
}

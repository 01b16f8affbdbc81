/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "DATASETS.blocks.h"

static void step(tg_trace *t, const tg_value *in, void *user)
{
    tg_variable *sum = user;
    tg_assign_add(sum, tg_sum(in[1], TG_ALL_AXES));
    tg_return(t, tg_sum(in[0], TG_ALL_AXES));
}

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_variable) sum = variable(ctx, "sum", TG_SCALAR, 0);
    TG_AUTO(tg_function) f = tg_function_create(ctx, step, sum, NULL);
    TG_AUTO(tg_tensor) images = filled(ctx, TG_F32, TG_DIMS(150, 4), 1);
    TG_AUTO(tg_tensor) labels = filled(ctx, TG_F32, TG_DIMS(150), 1);
    block1(ctx, images, labels, 1, f);
    float total;
    CHECK(!tg_variable_get(sum, &total, sizeof(total)));
    CHECK(total == 150); /* each element once, the short batch too */

    TG_AUTO(tg_dataset) d = tg_dataset_batch(
        tg_dataset_from(ctx, TG_ARGS(images, labels)), 64, TG_KEEP_REMAINDER);
    TG_AUTO(tg_iterator) it = tg_iterate(d);
    TG_AUTO(tg_tensor) loss = filled(ctx, TG_F32, TG_SCALAR, 0);
    CHECK(it);
    block2(it, NULL, NULL, loss, f);
    CHECK(!tg_variable_get(sum, &total, sizeof(total)));
    CHECK(total == 300);
    return 0;
}

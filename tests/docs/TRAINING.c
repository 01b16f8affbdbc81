/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "TRAINING.blocks.h"

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    training r;
    CHECK(!create(ctx, &r));
    TG_AUTO(tg_tensor) x = filled(ctx, TG_F32, TG_DIMS(96, 64), 0.5);
    TG_AUTO(tg_tensor) y = filled(ctx, TG_I64, TG_DIMS(96), 7);
    TG_AUTO(tg_dataset) batches = tg_dataset_batch(
        tg_dataset_repeat(tg_dataset_from(ctx, TG_ARGS(x, y)), 20), 32,
        TG_DROP_REMAINDER);
    CHECK(batches);
    CHECK(!train(ctx, batches, &r));
    CHECK(!tg_bundle_load(&training_type, &r, "r.safetensors"));
    return 0;
}

/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "FILES.blocks.h"

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_tensor) x = filled(ctx, TG_F32, TG_DIMS(2, 3), 1);
    CHECK(!tg_npy_save(x, "x.npy"));
    block1(ctx);

    model m = {variable(ctx, "w", TG_DIMS(2), 3), variable(ctx, "b", TG_DIMS(1), 4)};
    block3(m);
    float w[2];
    CHECK(!tg_variable_get(m.w, w, sizeof(w)) && w[0] == 3 && w[1] == 3);

    TG_AUTO(tg_archive) a = tg_archive_create(ctx);
    CHECK(a && !tg_archive_add(a, "encoder.weight", x) &&
          !tg_archive_save(a, "model.safetensors"));
    block2(ctx);
    TG_AUTO(tg_archive) copy = tg_archive_load(ctx, "copy.npz");
    CHECK(copy && tg_archive_get(copy, "weight"));

    adam optimiser = {variable(ctx, "m", TG_DIMS(2), 0),
                      variable(ctx, "v", TG_DIMS(2), 0)};
    tg_variable *generator = tg_generator_create(ctx, "generator", 1);
    CHECK(generator);
    block4(ctx, m, optimiser, generator);
    TG_AUTO(tg_archive) step =
        tg_archive_load(ctx, "step-1200.safetensors");
    CHECK(step);

    FILE *csv = fopen("train.csv", "w");
    CHECK(csv);
    fputs("label,x,y\n1,0.5,0.25\n2,0.75,1\n", csv);
    fclose(csv);
    block5(ctx);
    block6(ctx, x);
    return 0;
}

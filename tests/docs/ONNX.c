/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "ONNX.blocks.h"

/* The argument is the path of a model of one input of 784 features. */
int main(int argc, char **argv)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    CHECK(argc == 2);
    TG_AUTO(tg_onnx_model) m = tg_onnx_load(ctx, argv[1], NULL);
    CHECK(m && tg_onnx_input_count(m) == 1);
    const tg_spec *spec = tg_onnx_input_spec(m, 0);
    int64_t dims[TG_MAX_RANK];
    for (int i = 0; i < spec->rank; i++)
        dims[i] = spec->dims[i] < 0 ? 4 : spec->dims[i];
    TG_AUTO(tg_tensor) x = filled(ctx, TG_F32, spec->rank, dims, 0.5);
    TG_AUTO(tg_tensor) y = run_model(ctx, argv[1], x);
    CHECK(y);

    TG_AUTO(tg_tensor) wanted =
        filled(ctx, TG_F32, tg_tensor_rank(y), tg_tensor_dims(y), 0.1);
    TG_AUTO(tg_function) f = tg_function_create(ctx, train_step, m, NULL);
    float first = 0, loss = 0;
    CHECK(!tg_call(f, TG_ARGS(x, wanted), TG_RESULTS(&first)));
    CHECK(!tg_call(f, TG_ARGS(x, wanted), TG_RESULTS(&loss)));
    CHECK(loss < first);

    CHECK(!with_shape(m, x)); /* this model has no second input */
    return 0;
}

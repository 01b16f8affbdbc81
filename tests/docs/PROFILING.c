/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "PROFILING.blocks.h"

/* The nearest centre, by either formula. */
static void nearest(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_argmin(distances(in[0], in[1]), -1),
              tg_argmin(distances_by_matmul(in[0], in[1]), -1));
}

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_function) f = tg_function_create(ctx, nearest, NULL, NULL);
    TG_AUTO(tg_tensor) x = filled(ctx, TG_F32, TG_DIMS(POINTS, FEATURES), 0.25);
    TG_AUTO(tg_tensor) c = filled(ctx, TG_F32, TG_DIMS(2, FEATURES), 1);
    tg_tensor_f32(c)[FEATURES] = 0.5f; /* the second one is nearer */
    TG_AUTO(tg_tensor) i = NULL;
    TG_AUTO(tg_tensor) k = NULL;
    TG_AUTO(tg_bound) b = tg_bind(f, TG_ARGS(x, c), TG_RESULTS(&i, &k));
    CHECK(b);
    profile(b, 3);
    CHECK(tg_tensor_i64(i)[POINTS - 1] == 1 && tg_tensor_i64(k)[0] == 1);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * 09_model_struct.c - a model with a forward method. The method captures the
 * struct; its variable is live: assigning it changes the next call, which is
 * not traced again.
 */
#include "../check.h"

typedef struct model {
    tg_variable *slope;
    tg_function *forward;
} model;

static void forward(tg_trace *t, const tg_value *in, void *user)
{
    const model *m = user;
    tg_return(t, tg_mul(in[0], m->slope));
}

static void model_init(model *m, tg_context *ctx)
{
    m->slope = tg_variable_create(ctx, "slope", TG_F32, TG_SCALAR, tg_fill(2));
    m->forward = tg_function_create(ctx, forward, m, NULL);
    check(m->slope && m->forward);
}

static float model_forward(const model *m, float x)
{
    float y;
    check(!tg_call(m->forward, TG_ARGS(x), TG_RESULTS(&y)));
    return y;
}

static void model_deinit(model *m)
{
    tg_function_release(m->forward);
    tg_variable_release(m->slope);
}

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    check(ctx);
    model m;
    model_init(&m, ctx);

    printf("forward(3) = %g\n", (double)model_forward(&m, 3));
    check(!tg_variable_assign(m.slope, 10));
    printf("forward(3) = %g\n", (double)model_forward(&m, 3));
    printf("traces: %zu\n", tg_function_trace_count(m.forward));
    model_deinit(&m);
}

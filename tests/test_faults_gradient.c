/* SPDX-License-Identifier: MIT */
/*
 * test_faults_gradient.c - memory that runs out while gradients are asked
 * for: at every allocation in turn, once and for ever.
 */
#include "control.h"

typedef struct world {
    tg_context *ctx;
    tg_variable *v;
    tg_function *inner, *f;
    tg_tensor *x, *y;
    tg_value outside;
} world;

static void ignore_log(tg_log_level level, const char *component,
                       const char *message, void *user)
{
    (void)level, (void)component, (void)message, (void)user;
}

CALLBACK(times_outside)
{
    const world *w = user;
    tg_return(t, tg_mul(tg_mul(in[1], w->outside), w->v));
}

CALLBACK(is_small)
{
    tg_return(t, tg_lt(tg_sum(in[0], TG_ALL_AXES), 50.0));
}

CALLBACK(square_it)
{
    tg_return(t, tg_square(in[0]));
}

CALLBACK(while_inside)
{
    tg_value y;
    tg_while(is_small, square_it, NULL, TG_ARGS(in[1]), &y, 1);
    tg_return(t, tg_sin(y));
}

CALLBACK(sine)
{
    tg_return(t, tg_sin(in[0]));
}

CALLBACK(sine_backward)
{
    tg_return(t, tg_mul(in[2], tg_cos(in[0])));
}

CALLBACK(inner)
{
    tg_value y;
    tg_custom_gradient(sine, sine_backward, NULL, TG_ARGS(in[0]), &y, 1);
    tg_return(t, tg_exp(y));
}

CALLBACK(everything)
{
    world *w = user;
    tg_value x = in[0], y, z, g[2];
    w->outside = x;
    tg_for(2, times_outside, w, TG_ARGS(x), &y, 1);
    tg_for(2, while_inside, w, TG_ARGS(y), &z, 1);
    tg_cond(tg_gt(tg_sum(z, TG_ALL_AXES), 0.0), square_it, sine, NULL,
            TG_ARGS(z), &z, 1);
    tg_apply(w->inner, TG_ARGS(z), &z, 1);
    tg_checkpoint(square_it, NULL, TG_ARGS(z), &z, 1);
    const tg_operand sources[] = {TG_IN(x), TG_IN(w->v)};
    tg_gradients(z, sources, 2, g);
    /* One that does not exist has a reason, which is text. */
    const tg_value none = tg_gradient(y, z);
    if (tg_is_valid(none))
        tg_fail(t, "there is a gradient");
    tg_return(t, tg_gradient(g[0], x), g[1]);
}

static bool scenario_of(tg_callback *callback)
{
    world w = {.ctx = NULL};
    tg_context_options options = {.struct_bytes = sizeof(options),
                                  .jit = "off",
                                  .log_callback = ignore_log};
    const float data[] = {1, 0.5, 0.25};
    bool good = (w.ctx = tg_context_create(&options)) != NULL;
    if (good) {
        w.v = tg_variable_create(w.ctx, "v", TG_F32, TG_SCALAR, tg_fill(1));
        w.x = tg_tensor_copy(w.ctx, data, TG_F32, TG_DIMS(3));
        w.inner = tg_function_create(w.ctx, inner, NULL, NULL);
        w.f = tg_function_create(w.ctx, callback, &w, NULL);
        good = w.v && w.x && w.inner && w.f &&
               !tg_call(w.f, TG_ARGS(w.x), TG_RESULTS(&w.y));
    }
    tg_tensor_release(w.x);
    tg_tensor_release(w.y);
    tg_function_release(w.f);
    tg_function_release(w.inner);
    tg_variable_release(w.v);
    tg_context_release(w.ctx);
    return good;
}

static bool scenario(void)
{
    return scenario_of(everything);
}

Test(faults, gradients)
{
    check_every_fault(scenario);
}

CALLBACK(others)
{
    world *w = user;
    tg_value x = in[0], y;
    w->outside = x;
    tg_for(2, times_outside, w, TG_ARGS(x), &y, 1);
    tg_return(t, tg_jvp(y, x, x), tg_jacobian(y, x),
              tg_hessian_vector(y, x, x));
}

static bool derivative_scenario(void)
{
    return scenario_of(others);
}

Test(faults, other_derivatives)
{
    check_every_fault(derivative_scenario);
}

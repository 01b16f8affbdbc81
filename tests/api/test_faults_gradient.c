/* SPDX-License-Identifier: MIT */
/*
 * test_faults_gradient.c - fault injection while gradients are computed: every
 * allocation fails in turn, once or persistently.
 */
#include "support/control.h"

/* Other tests inject faults into these without gradients. */
#define ALL_PASSES \
    "inline,layout,crop,distribute,fold,simplify,hoist,shape,dead"

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

CALLBACK(square_by_variable)
{
    world *w = user;
    const tg_value y = tg_mul(tg_square(in[0]), tg_read(w->v));
    tg_assign_add(w->v, 1.0);
    tg_return(t, y);
}

CALLBACK(while_with_effects)
{
    tg_value y;
    tg_while(is_small, square_by_variable, user, TG_ARGS(in[0]), &y, 1);
    tg_return(t, tg_sin(y));
}

CALLBACK(branch_inside)
{
    tg_value y;
    tg_switch(in[0], ((tg_callback *[]){while_with_effects, square_it}), 2,
              user, TG_ARGS(in[1]), &y, 1);
    tg_return(t, y);
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

/* -- One feature per callback: the runs grow with the square of its size --- */

CALLBACK(through_loops)
{
    world *w = user;
    tg_value x = in[0], y, g[2];
    w->outside = x;
    tg_for(2, times_outside, w, TG_ARGS(x), &y, 1);
    const tg_operand sources[] = {TG_IN(x), TG_IN(w->v)};
    tg_gradients(y, sources, 2, g);
    tg_return(t, tg_gradient(g[0], x), g[1]);
}

CALLBACK(through_unbounded_loops)
{
    tg_value y;
    tg_for(1, while_inside, NULL, TG_ARGS(in[0]), &y, 1);
    tg_return(t, tg_gradient(y, in[0]));
}

/* A stack that passes through a branch and a loop. */
CALLBACK(through_passed_stacks)
{
    tg_value y;
    tg_for(1, branch_inside, user, TG_ARGS(in[0]), &y, 1);
    tg_return(t, tg_gradient(tg_gradient(y, in[0]), in[0]));
}

CALLBACK(through_branches)
{
    tg_value y;
    tg_cond(tg_gt(tg_sum(in[0], TG_ALL_AXES), 0.0), square_it, sine, NULL,
            TG_ARGS(in[0]), &y, 1);
    tg_checkpoint(square_it, NULL, TG_ARGS(y), &y, 1);
    tg_return(t, tg_gradient(y, in[0]));
}

CALLBACK(through_calls)
{
    const world *w = user;
    tg_value y;
    tg_apply(w->inner, TG_ARGS(in[0]), &y, 1);
    /* A gradient that does not exist has a reason, which is text. */
    const tg_value none = tg_gradient(in[0], y);
    if (tg_is_valid(none))
        tg_fail(t, "there is a gradient");
    tg_return(t, tg_gradient(y, in[0]));
}

CALLBACK(other_derivatives)
{
    const tg_value x = in[0], y = tg_sin(x);
    tg_return(t, tg_jvp(y, x, x), tg_jacobian(y, x),
              tg_hessian_vector(y, x, x));
}

static bool scenario_of(tg_callback *callback)
{
    world w = {.ctx = NULL};
    tg_context_options options = {.struct_bytes = sizeof(options),
                                  .jit = "off",
                                  .skip_passes = ALL_PASSES,
                                  .log_callback = ignore_log};
    const float data[] = {2, 0.5};
    bool good = (w.ctx = tg_context_create(&options)) != NULL;
    if (good) {
        w.v = tg_variable_create(w.ctx, "v", TG_F32, TG_SCALAR, tg_fill(1));
        w.x = tg_tensor_copy(w.ctx, data, TG_F32, TG_DIMS(2));
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

static bool through_loops_scenario(void)
{
    return scenario_of(through_loops);
}

Test(faults, gradients_through_loops)
{
    check_every_fault(through_loops_scenario);
}

static bool through_unbounded_loops_scenario(void)
{
    return scenario_of(through_unbounded_loops);
}

Test(faults, gradients_through_unbounded_loops)
{
    check_every_fault(through_unbounded_loops_scenario);
}

static bool through_passed_stacks_scenario(void)
{
    return scenario_of(through_passed_stacks);
}

Test(faults, gradients_through_passed_stacks)
{
    check_every_fault(through_passed_stacks_scenario);
}

static bool through_branches_scenario(void)
{
    return scenario_of(through_branches);
}

Test(faults, gradients_through_branches)
{
    check_every_fault(through_branches_scenario);
}

static bool through_calls_scenario(void)
{
    return scenario_of(through_calls);
}

Test(faults, gradients_through_calls)
{
    check_every_fault(through_calls_scenario);
}

static bool others_scenario(void)
{
    return scenario_of(other_derivatives);
}

Test(faults, other_derivatives)
{
    check_every_fault(others_scenario);
}

/* SPDX-License-Identifier: MIT */
/*
 * ode_fit.c - fits the spring constant and the friction of an oscillator to
 * observed positions. A scan integrates the equation of motion; gradients flow
 * back through all of its steps to the two parameters. The whole gradient
 * descent is one call: a loop around the scan and its gradient.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>

enum { STEPS = 120 };

static const double step_size = 0.05;

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* Receives position, speed and the step; `user` holds spring and friction. The
   position is stacked. */
static void swing(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value *by = user;
    const tg_value force = tg_neg(tg_add(tg_mul(by[0], in[0]),
                                         tg_mul(by[1], in[1])));
    const tg_value speed = tg_add(in[1], tg_mul(force, step_size));
    const tg_value place = tg_add(in[0], tg_mul(speed, step_size));
    tg_return(t, place, speed, place);
}

/* The positions at all steps, starting at rest at 1. */
static tg_value path_of(tg_value spring, tg_value friction)
{
    tg_value by[] = {spring, friction}, end[2], path;
    const tg_value numbers = tg_iota(TG_I64, TG_DIMS(STEPS), 0);
    tg_scan(swing, by, TG_ARGS(1.0, 0.0), TG_ARGS(numbers), end, 2, &path, 1);
    return path;
}

static void observe(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, path_of(in[0], in[1]));
}

/* Receives the iteration, spring, friction, and the previous loss. */
static void descend(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value seen = *(const tg_value *)user;
    const tg_value off = tg_sub(path_of(in[1], in[2]), seen);
    const tg_value loss = tg_mean(tg_square(off), TG_ALL_AXES);
    tg_value g[2];
    tg_gradients(loss, in + 1, 2, g);
    tg_return(t, tg_sub(in[1], g[0]), tg_sub(in[2], g[1]), loss);
}

/* Receives observations, number of iterations, and initial parameters. */
static void fit(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value seen = in[0], end[3];
    tg_for(in[1], descend, &seen, TG_ARGS(in[2], in[3], 0.0), end, 3);
    tg_return(t, end[0], end[1], end[2]);
}

static double number(const tg_tensor *tensor)
{
    return *(const double *)tg_tensor_data(tensor);
}

int main(void)
{
    tg_context *ctx = tg_context_create(NULL);
    check(ctx);
    tg_function *o = tg_function_create(ctx, observe, NULL, NULL);
    tg_function *f = tg_function_create(ctx, fit, NULL, NULL);
    check(o && f);
    tg_tensor *seen = NULL, *spring = NULL, *friction = NULL, *loss = NULL;
    check(!tg_call(o, TG_ARGS(2.0, 0.3), TG_RESULTS(&seen)));

    puts("descents  spring friction      loss");
    for (int64_t n = 1; n <= 81; n *= 3) {
        check(!tg_call(f, TG_ARGS(seen, n, 1.5, 0.0),
                       TG_RESULTS(&spring, &friction, &loss)));
        printf("%8lld %7.4f %8.4f %9.2g\n", (long long)n, number(spring),
               number(friction), number(loss));
    }

    tg_tensor_release(loss);
    tg_tensor_release(friction);
    tg_tensor_release(spring);
    tg_tensor_release(seen);
    tg_function_release(f);
    tg_function_release(o);
    tg_context_release(ctx);
    return 0;
}

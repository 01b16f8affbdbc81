/* SPDX-License-Identifier: MIT */
/*
 * linear_regression.c - fits a line to points by gradient descent. One call
 * computes the loss, its gradients and the new parameters; no derivative is
 * written by hand.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>

enum { POINTS = 16, STEPS = 40 };

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

typedef struct line {
    tg_variable *slope, *offset;
} line;

/* Receives x, y. */
static void descend(tg_trace *t, const tg_value *in, void *user)
{
    const line *l = user;
    const tg_value predicted = tg_add(tg_mul(in[0], l->slope), l->offset);
    const tg_value off = tg_sub(predicted, in[1]);
    const tg_value loss = tg_mean(tg_square(off), TG_ALL_AXES);

    tg_variable *parameters[] = {l->slope, l->offset};
    tg_value gradients[2];
    tg_gradients(loss, parameters, 2, gradients);
    for (int i = 0; i < 2; i++)
        tg_assign_sub(parameters[i], tg_mul(gradients[i], 0.1));
    tg_return(t, loss);
}

static double number(tg_variable *v)
{
    double now = 0;
    check(!tg_variable_get(v, &now, sizeof(now)));
    return now;
}

int main(void)
{
    tg_context *ctx = tg_context_create(NULL);
    check(ctx);
    line l = {
        tg_variable_create(ctx, "slope", TG_F64, TG_SCALAR, tg_zeros()),
        tg_variable_create(ctx, "offset", TG_F64, TG_SCALAR, tg_zeros()),
    };
    tg_function *f = tg_function_create(ctx, descend, &l, NULL);
    double xs[POINTS], ys[POINTS];
    for (int i = 0; i < POINTS; i++) {
        const double noise = (i * 7 % 5 - 2) / 64.0;
        xs[i] = (i - POINTS / 2) / 4.0;
        ys[i] = 1.5 * xs[i] - 0.75 + noise;
    }
    tg_tensor *x = tg_tensor_wrap(ctx, xs, TG_F64, TG_DIMS(POINTS));
    tg_tensor *y = tg_tensor_wrap(ctx, ys, TG_F64, TG_DIMS(POINTS));
    tg_tensor *loss = NULL;
    check(l.slope && l.offset && f && x && y);

    for (int step = 0; step <= STEPS; step++) {
        check(!tg_call(f, TG_ARGS(x, y), TG_RESULTS(&loss)));
        if (step % 10 == 0)
            printf("step %2d: loss %.6f\n", step,
                   *(const double *)tg_tensor_data(loss));
    }
    printf("y = %.4f x %+.4f\n", number(l.slope), number(l.offset));

    tg_tensor_release(loss);
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_variable_release(l.offset);
    tg_variable_release(l.slope);
    tg_context_release(ctx);
    return 0;
}

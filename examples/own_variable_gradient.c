/* SPDX-License-Identifier: MIT */
/*
 * own_variable_gradient.c - a function that creates its own variable and takes
 * its gradient, in one callback; and two mistakes: assigning the variable
 * between the read and the gradient, and using a value after the callback.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* The squared distance between w and the argument. */
static tg_value loss_of(tg_value w, tg_value x)
{
    return tg_sum(tg_square(tg_sub(w, x)), TG_ALL_AXES);
}

/* The first trace creates the variable; all calls share it. */
static void approach(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_variable *w =
        tg_own_variable(t, "w", TG_F64, TG_DIMS(2), tg_zeros());
    const tg_value loss = loss_of(tg_read(w), in[0]);
    tg_assign_sub(w, tg_mul(tg_gradient(loss, w), 0.25));
    tg_return(t, loss);
}

/* Wrong: gradients do not flow through an assignment. */
static void assign_first(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_variable *w =
        tg_own_variable(t, "w", TG_F64, TG_DIMS(2), tg_zeros());
    const tg_value moved = tg_assign(w, tg_mul(w, 0.5));
    const tg_value loss = loss_of(moved, in[0]);
    const tg_value gradient = tg_gradient(loss, w); /* does not exist */
    tg_return(t, tg_mul(gradient, 0.25));           /* fails */
}

/* Wrong: a value is valid only in its own trace. */
static void give_away(tg_trace *t, const tg_value *in, void *user)
{
    tg_value *kept = user;
    kept[0] = in[0];
    kept[1] = tg_sum(tg_square(in[0]), TG_ALL_AXES);
    tg_return(t, kept[1]);
}

int main(void)
{
    tg_context *ctx = tg_context_create(NULL);
    check(ctx);
    tg_value kept[2];
    tg_function *right = tg_function_create(ctx, approach, NULL, NULL);
    tg_function *wrong = tg_function_create(ctx, assign_first, NULL, NULL);
    tg_function *late = tg_function_create(ctx, give_away, kept, NULL);
    double data[] = {3, 4};
    tg_tensor *x = tg_tensor_wrap(ctx, data, TG_F64, TG_DIMS(2));
    tg_tensor *loss = NULL;
    check(right && wrong && late && x);

    for (int i = 0; i < 4; i++) {
        check(!tg_call(right, TG_ARGS(x), TG_RESULTS(&loss)));
        printf("loss %g\n", *(const double *)tg_tensor_data(loss));
    }
    if (tg_call(wrong, TG_ARGS(x), TG_RESULTS()))
        printf("%s\n", tg_error(NULL));
    check(!tg_call(late, TG_ARGS(x), TG_RESULTS()));
    if (!tg_is_valid(tg_gradient(kept[1], kept[0])))
        printf("%s\n", tg_error(NULL));

    tg_tensor_release(loss);
    tg_tensor_release(x);
    tg_function_release(late);
    tg_function_release(wrong);
    tg_function_release(right);
    tg_context_release(ctx);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * 13_gradient_inside.c - one function creates its variable, computes a loss,
 * takes the gradient and updates the variable. The first trace creates it; the
 * function owns it.
 */
#include "../check.h"

static void approach(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_variable *w = tg_own_variable(t, "w", TG_F64, TG_DIMS(2), tg_zeros());
    tg_value loss = tg_sum(tg_square(tg_sub(w, in[0])), TG_ALL_AXES);
    tg_assign_sub(w, tg_mul(tg_gradient(loss, w), 0.25));
    tg_return(t, loss);
}

int main(void)
{
    double target[] = {3, 4};
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_function) f = tg_function_create(ctx, approach, NULL, NULL);
    TG_AUTO(tg_tensor) x = tg_tensor_wrap(ctx, target, TG_F64, TG_DIMS(2));
    check(ctx && f && x);

    for (int i = 0; i < 4; i++) {
        double loss;
        check(!tg_call(f, TG_ARGS(x), TG_RESULTS(&loss)));
        printf("loss %g\n", loss);
    }

    double w[2];
    tg_variable *own;
    check(tg_function_variables(f, TG_ALL_VARIABLES, &own, 1) == 1);
    check(!tg_variable_get(own, w, sizeof(w)));
    printf("%s = %g %g\n", tg_variable_name(own), w[0], w[1]);
    tg_variable_release(own);
}

/* SPDX-License-Identifier: MIT */
/*
 * 07_scalar_signature.c - a function declared over one f32 scalar is fed with
 * the value of a variable. The variable itself does not match the signature.
 */
#include "../check.h"

static void square_plus_one(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(tg_square(in[0]), 1));
}

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_variable) v =
        tg_variable_create(ctx, "v", TG_F32, TG_SCALAR, tg_fill(3));
    TG_AUTO(tg_function) f = tg_function_create(ctx, square_plus_one, NULL,
                                                TG_SIGNATURE(TG_SPEC(TG_F32)));
    float y;
    check(ctx && v && f);

    check(!tg_call(f, TG_ARGS(tg_value_of(v)), TG_RESULTS(&y)));
    printf("f(value of v) = %g\n", (double)y);
    check(!tg_variable_assign(v, 4));
    check(!tg_call(f, TG_ARGS(tg_value_of(v)), TG_RESULTS(&y)));
    printf("f(value of v) = %g\n", (double)y);
    check(!tg_call(f, TG_ARGS(0.5f), TG_RESULTS(&y))); /* or any scalar */
    printf("f(0.5) = %g\n", (double)y);

    if (tg_call(f, TG_ARGS(v), TG_RESULTS(&y)))
        printf("f(v): %s\n", tg_error(ctx));
}

/* SPDX-License-Identifier: MIT */
/*
 * 15_variable_argument.c - a variable is passed to two functions, which assign
 * it. One trace of each serves every variable of that dtype and shape, and
 * changes the one it is given.
 */
#include "../check.h"

static void deposit(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_assign_add(in[0], in[1]));
}

static void add_interest(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_assign(in[0], tg_mul(in[0], 1.5)));
}

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_variable) ann =
        tg_variable_create(ctx, "ann", TG_F64, TG_SCALAR, tg_zeros());
    TG_AUTO(tg_variable) bob =
        tg_variable_create(ctx, "bob", TG_F64, TG_SCALAR, tg_fill(100));
    TG_AUTO(tg_function) f = tg_function_create(ctx, deposit, NULL, NULL);
    TG_AUTO(tg_function) g = tg_function_create(ctx, add_interest, NULL, NULL);
    check(ctx && ann && bob && f && g);

    double balance;
    check(!tg_call(f, TG_ARGS(ann, 10.0), TG_RESULTS()));
    check(!tg_call(g, TG_ARGS(ann), TG_RESULTS(&balance)));
    printf("ann has %g\n", balance);
    check(!tg_call(f, TG_ARGS(bob, -40.0), TG_RESULTS()));
    check(!tg_call(g, TG_ARGS(bob), TG_RESULTS(&balance)));
    printf("bob has %g\n", balance);
    printf("traces: %zu, %zu\n", tg_function_trace_count(f),
           tg_function_trace_count(g));
}

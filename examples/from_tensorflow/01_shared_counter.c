/* SPDX-License-Identifier: MIT */
/*
 * 01_shared_counter.c - two functions share a counter. Both capture the
 * variable: it reaches their callbacks as `user`.
 */
#include "../check.h"

static void increment(tg_trace *t, const tg_value *in, void *user)
{
    (void)in;
    tg_variable *counter = user;
    tg_return(t, tg_assign_add(counter, 1));
}

static void is_even(tg_trace *t, const tg_value *in, void *user)
{
    (void)in;
    tg_variable *counter = user;
    tg_return(t, tg_eq(tg_rem(counter, 2), 0));
}

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_variable) counter =
        tg_variable_create(ctx, "counter", TG_I64, TG_SCALAR, tg_zeros());
    TG_AUTO(tg_function) inc =
        tg_function_create(ctx, increment, counter, NULL);
    TG_AUTO(tg_function) even =
        tg_function_create(ctx, is_even, counter, NULL);
    check(ctx && counter && inc && even);

    for (int i = 0; i < 3; i++) {
        long count;
        bool yes;
        check(!tg_call(inc, TG_ARGS(), TG_RESULTS(&count)));
        check(!tg_call(even, TG_ARGS(), TG_RESULTS(&yes)));
        printf("%ld is %s\n", count, yes ? "even" : "odd");
    }
}

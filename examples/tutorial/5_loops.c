/* SPDX-License-Identifier: MIT */
/* 5_loops.c - loops and branches are part of the compiled function. */
#include "../check.h"

/* Receives a bracket of times; `user` is the activity that is looked for. */
static void is_wide(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_gt(tg_sub(in[1], in[0]), 1e-6));
}

static void halve(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value wanted = *(const tg_value *)user;
    const tg_value middle = tg_mul(tg_add(in[0], in[1]), 0.5);
    const tg_value activity = tg_mul(8, tg_exp(tg_mul(middle, -0.5)));
    const tg_value is_late = tg_lt(activity, wanted);
    tg_return(t, tg_select(is_late, in[0], middle),
              tg_select(is_late, middle, in[1]));
}

/* The time at which activity falls to in[0], by bisection. */
static void time_of(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value wanted = in[0], bracket[2];
    tg_while(is_wide, halve, &wanted, TG_ARGS(0.0, 100.0), bracket, 2);
    tg_return(t, bracket[0]);
}

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_function) f = tg_function_create(ctx, time_of, NULL, NULL);
    check(f);
    for (double wanted = 4; wanted > 0.4; wanted /= 2) {
        double time;
        check(!tg_call(f, TG_ARGS(wanted), TG_RESULTS(&time)));
        printf("falls to %.1f after %.4f hours\n", wanted, time);
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* 3_variables.c - state that two functions share. */
#include "../check.h"

/* Variables that belong together are a bundle: a struct that the library can
   list, save and differentiate. */
TG_DEFINE_BUNDLE(sample, size, rate)

static void decay(tg_trace *t, const tg_value *in, void *user)
{
    const sample *s = user;
    tg_return(t, tg_mul(s->size, tg_exp(tg_neg(tg_mul(s->rate, in[0])))));
}

/* Time passes: less of the sample is left. Returns what is left. */
static void wait_for(tg_trace *t, const tg_value *in, void *user)
{
    const sample *s = user;
    const tg_value left = tg_exp(tg_neg(tg_mul(s->rate, in[0])));
    tg_return(t, tg_assign(s->size, tg_mul(s->size, left)));
}

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    sample s = {
        tg_variable_create(ctx, "size", TG_F32, TG_SCALAR, tg_fill(8)),
        tg_variable_create(ctx, "rate", TG_F32, TG_SCALAR, tg_fill(0.5))};
    TG_AUTO(tg_function) f = tg_function_create(ctx, decay, &s, NULL);
    TG_AUTO(tg_function) later = tg_function_create(ctx, wait_for, &s, NULL);
    check(s.size && s.rate && f && later);

    float y, left;
    check(!tg_call(f, TG_ARGS(2.0f), TG_RESULTS(&y)));
    printf("activity in 2 hours: %.4f\n", (double)y);
    check(!tg_call(later, TG_ARGS(2.0f), TG_RESULTS(&left)));
    check(!tg_call(f, TG_ARGS(0.0f), TG_RESULTS(&y)));
    printf("2 hours later: %.4f, activity now: %.4f\n", (double)left,
           (double)y);

    /* The program changes the rate; nothing is traced again. */
    check(!tg_variable_assign(s.rate, 1.0f));
    check(!tg_call(f, TG_ARGS(2.0f), TG_RESULTS(&y)));
    printf("with another rate: %.4f\n", (double)y);
    printf("traces: %zu\n", tg_function_trace_count(f));
    tg_bundle_release(&sample_type, &s);
    return 0;
}

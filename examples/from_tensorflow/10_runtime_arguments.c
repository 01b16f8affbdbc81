/* SPDX-License-Identifier: MIT */
/*
 * 10_runtime_arguments.c - a tensor and a plain number as run-time arguments. A
 * number is data, not part of the signature: another value is not another
 * trace. With TG_STATIC it is.
 */
#include "../check.h"

static void power_sum(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(tg_pow(in[0], in[1]), TG_ALL_AXES));
}

int main(void)
{
    double data[] = {1, 2, 3};
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_function) f = tg_function_create(ctx, power_sum, NULL, NULL);
    TG_AUTO(tg_tensor) x = tg_tensor_wrap(ctx, data, TG_F64, TG_DIMS(3));
    double sum;
    check(ctx && f && x);

    for (int exponent = 1; exponent <= 3; exponent++) {
        check(!tg_call(f, TG_ARGS(x, (double)exponent), TG_RESULTS(&sum)));
        printf("exponent %d: %g\n", exponent, sum);
    }
    data[0] = 10; /* the tensor wraps this array */
    check(!tg_call(f, TG_ARGS(x, 2.0), TG_RESULTS(&sum)));
    printf("other data: %g\n", sum);
    printf("traces: %zu\n", tg_function_trace_count(f));

    check(!tg_call(f, TG_ARGS(x, TG_STATIC(2.0)), TG_RESULTS(&sum)));
    check(!tg_call(f, TG_ARGS(x, TG_STATIC(3.0)), TG_RESULTS(&sum)));
    printf("traces with two static exponents: %zu\n",
           tg_function_trace_count(f));
}

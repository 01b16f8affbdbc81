/* SPDX-License-Identifier: MIT */
/*
 * 08_vector_and_scalar.c - a vector and a scalar argument, filled from two
 * variables. The signature leaves the length open: vectors of any length match.
 */
#include "../check.h"

static void scaled_sum(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value scaled = tg_mul(in[0], in[1]);
    tg_return(t, scaled, tg_sum(scaled, TG_ALL_AXES));
}

int main(void)
{
    const float elements[] = {1, 2, 3};
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_variable) vector = tg_variable_create(
        ctx, "vector", TG_F32, TG_DIMS(3), tg_from_data(elements));
    TG_AUTO(tg_variable) factor =
        tg_variable_create(ctx, "factor", TG_F32, TG_SCALAR, tg_fill(10));
    TG_AUTO(tg_function) f = tg_function_create(
        ctx, scaled_sum, NULL,
        TG_SIGNATURE(TG_SPEC(TG_F32, TG_UNKNOWN), TG_SPEC(TG_F32)));
    TG_AUTO(tg_tensor) y = NULL;
    float sum;
    check(ctx && vector && factor && f);

    for (int i = 0; i < 2; i++) {
        check(!tg_call(f, TG_ARGS(tg_value_of(vector), tg_value_of(factor)),
                       TG_RESULTS(&y, &sum)));
        printf("%s, sum %g\n", tg_tensor_text(y), (double)sum);
        check(!tg_variable_assign(factor, -1));
    }
    printf("traces: %zu\n", tg_function_trace_count(f));
}

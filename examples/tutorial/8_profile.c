/* SPDX-License-Identifier: MIT */
/* 8_profile.c - which line takes the time? */
#include "../check.h"

enum { N = 512, RUNS = 20 };

static void smooth(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = in[0];
    const tg_value scaled = tg_div(x, tg_reduce_max(x, TG_ALL_AXES));
    const tg_value mixed = tg_matmul(scaled, scaled);
    tg_return(t, tg_tanh(tg_add(mixed, 1)));
}

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_function) f = tg_function_create(ctx, smooth, NULL, NULL);
    TG_AUTO(tg_tensor) x =
        tg_tensor_create(ctx, TG_F32, TG_DIMS(N, N), tg_fill(0.5));
    TG_AUTO(tg_tensor) y = NULL;
    check(f && x);
    TG_AUTO(tg_bound) b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&y));
    check(b && !tg_profile_start(NULL));
    for (int i = 0; i < RUNS; i++)
        check(!tg_run(b));
    tg_profile_stop();
    char *text = tg_profile_report(TG_PROFILE_TABLE);
    check(text);
    fprintf(stderr, "%s", text);
    tg_text_free(text);
    printf("profiled %d runs\n", RUNS);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* hello.c - a program for the build systems of this folder. */
#include <stdio.h>
#include <tgjit.h>

static void twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 2));
}

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_function) f = tg_function_create(ctx, twice, NULL, NULL);
    float y;
    if (tg_call(f, TG_ARGS(21.0f), TG_RESULTS(&y)))
        return fprintf(stderr, "%s\n", tg_error(NULL)), 1;
    printf("%g\n", (double)y);
    return 0;
}

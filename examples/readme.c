/* SPDX-License-Identifier: MIT */
/*
 * readme.c - the example of README.md, which shows the part between the two
 * markers (tests/scripts/check-readme.sh compares them).
 */
/* -- README begins -- */
#include <stdio.h>
#include <tgjit.h>

/* Traced once; the recorded operations run in every call. */
static void smooth(tg_trace *t, const tg_value *in, void *user)
{
    tg_variable *mean = user;
    tg_return(t, tg_assign_add(mean, tg_mul(tg_sub(in[0], mean), 0.5)));
}

int main(void)
{
    double data[] = {8, 16};
    tg_context *ctx = tg_context_create(NULL);
    tg_variable *mean =
        tg_variable_create(ctx, "mean", TG_F64, TG_DIMS(2), tg_zeros());
    tg_function *f = tg_function_create(ctx, smooth, mean, NULL);
    tg_tensor *x = tg_tensor_wrap(ctx, data, TG_F64, TG_DIMS(2)), *y = NULL;

    for (int i = 0; i < 3; i++)
        if (tg_call(f, TG_ARGS(x), TG_RESULTS(&y)))
            return fprintf(stderr, "%s\n", tg_error(NULL)) != 0;
    printf("%g %g\n", ((double *)tg_tensor_data(y))[0],
           ((double *)tg_tensor_data(y))[1]);
/* -- README ends -- */
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_variable_release(mean);
    tg_context_release(ctx);
    return 0;
}

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
    tg_variable *mean = (tg_variable *)user;
    tg_return(t, tg_assign_add(mean, tg_mul(tg_sub(in[0], mean), 0.5)));
}

int main(void)
{
    double data[] = {8, 16};
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_variable) mean =
        tg_variable_create(ctx, "mean", TG_F64, TG_DIMS(2), tg_zeros());
    TG_AUTO(tg_function) f = tg_function_create(ctx, smooth, mean, NULL);
    TG_AUTO(tg_tensor) x = tg_tensor_wrap(ctx, data, TG_F64, TG_DIMS(2));
    TG_AUTO(tg_tensor) y = NULL;

    for (int i = 0; i < 3; i++)
        if (tg_call(f, TG_ARGS(x), TG_RESULTS(&y)))
            return fprintf(stderr, "%s\n", tg_error(NULL)) != 0;
    printf("%s\n", tg_tensor_text(y));
}
/* -- README ends -- */

/* SPDX-License-Identifier: MIT */
/*
 * export.c - ahead-of-time compilation, part 1: exports a function as an object
 * file and a header, PATH.o and PATH.h, which main.c uses.
 */
#include <stdio.h>
#include <tgjit.h>

/* Smooths a signal and updates its maximum so far. */
static void smooth(tg_trace *t, const tg_value *in, void *user)
{
    tg_variable *mean = user;
    tg_assign_add(mean, tg_mul(tg_sub(in[0], mean), in[1]));
    tg_return(t, tg_reduce_max(mean, TG_ALL_AXES));
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return fprintf(stderr, "usage: export PATH\n") != 0;
    tg_context *ctx = tg_context_create(NULL);
    tg_variable *mean =
        tg_variable_create(ctx, "mean", TG_F32, TG_DIMS(4), tg_zeros());
    tg_function *f = tg_function_create(ctx, smooth, mean, NULL);
    /* A signal of four values, and a number. */
    const tg_spec specs[] = {tg_spec_tensor(TG_F32, TG_DIMS(4)),
                             tg_spec_tensor(TG_F32, TG_SCALAR)};
    tg_concrete *concrete = tg_function_concrete(f, specs, 2);

    const bool failed =
        !concrete || tg_concrete_export(concrete, argv[1], NULL);
    if (failed)
        fprintf(stderr, "%s\n", tg_error(NULL));
    else
        printf("wrote %s.o and %s.h\n", argv[1], argv[1]);
    tg_concrete_release(concrete);
    tg_function_release(f);
    tg_variable_release(mean);
    tg_context_release(ctx);
    return failed;
}

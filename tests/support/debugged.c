/* SPDX-License-Identifier: MIT */
/*
 * debugged.c - a program for check-gdb.sh and check-perf.sh.
 *
 *   debugged nested N     N calls of nested functions
 *   debugged products N   N calls of two products, which share a micro-kernel
 *
 * The scripts find lines by the comments at their ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tgjit.h"

enum { ROWS = 4000, COLUMNS = 64, SIZE = 512 };

/* -- Nested functions ------------------------------------------------------ */

static void square(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_mul(in[0], in[0]); /* line of mul */
    tg_return(t, y);
}

static void norm(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y;
    tg_apply((tg_function *)user, TG_ARGS(in[0]), &y, 1); /* call of square */
    tg_return(t, tg_sqrt(tg_sum(y, TG_AXES(-1))));
}

static void outer(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y;
    tg_apply((tg_function *)user, TG_ARGS(in[0]), &y, 1); /* call of norm */
    tg_return(t, tg_add(y, 1));
}

/* -- Products -------------------------------------------------------------- */

static void products(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_matmul(in[0], in[0]);
    tg_return(t, tg_matmul(y, in[0]));
}

/* -- Calls ----------------------------------------------------------------- */

static void check(bool is_good)
{
    if (is_good)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

static void call(tg_function *f, tg_tensor *x, long n)
{
    check(f && x);
    for (long i = 0; i < n; i++) {
        tg_tensor *y = NULL;
        check(!tg_call(f, TG_ARGS(x), TG_RESULTS(&y)));
        if (i == 0)
            printf("%g\n", (double)((const float *)tg_tensor_data(y))[1]);
        tg_tensor_release(y);
    }
    tg_function_release(f);
    tg_tensor_release(x);
}

int main(int argc, char **argv)
{
    static float data[SIZE * SIZE];
    const long n = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
    for (int i = 0; i < SIZE * SIZE; i++)
        data[i] = (float)(i % 7);
    tg_context *ctx = tg_context_create(NULL);
    check(ctx);
    if (argc > 1 && !strcmp(argv[1], "products")) {
        call(tg_function_create_named(ctx, "products", products, NULL, NULL),
             tg_tensor_wrap(ctx, data, TG_F32, TG_DIMS(SIZE, SIZE)), n);
    } else {
        tg_function *f =
            tg_function_create_named(ctx, "square", square, NULL, NULL);
        tg_function *g = tg_function_create_named(ctx, "norm", norm, f, NULL);
        call(tg_function_create_named(ctx, "outer", outer, g, NULL),
             tg_tensor_wrap(ctx, data, TG_F32, TG_DIMS(ROWS, COLUMNS)), n);
        tg_function_release(g);
        tg_function_release(f);
    }
    tg_context_release(ctx);
    return 0;
}

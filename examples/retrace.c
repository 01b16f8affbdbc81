/* SPDX-License-Identifier: MIT */
/*
 * retrace.c - when a function is traced again, and how to find the reason. A
 * trace costs far more than a call. If calls are slow, call tg_explain_retrace
 * or run the program with TGJIT_EXPLAIN=retrace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* sum(x) times a static number. */
static void scaled_sum(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const int64_t factor = tg_static_int(t, 1);
    tg_return(t, tg_mul(tg_sum(in[0], TG_ALL_AXES), factor));
}

static void exchange(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)user;
    tg_value first = tg_read(in[0]);
    tg_assign(in[0], in[1]);
    tg_assign(in[1], first);
}

static void report(tg_function *f)
{
    char *reasons = tg_explain_retrace(f);
    char *traces = tg_function_text(f, TG_TEXT_SHORT);
    check(reasons && traces);
    printf("%s is traced\n%sand now has\n%s\n", tg_function_name(f), reasons,
           traces);
    tg_text_free(traces);
    tg_text_free(reasons);
}

/* Calls scaled_sum with zeros of that dtype and shape. */
static void sum_of(tg_function *f, tg_context *ctx, tg_dtype dtype, int rank,
                   const int64_t *dims, int factor)
{
    tg_tensor *x = tg_tensor_create(ctx, dtype, rank, dims, tg_zeros());
    check(x);
    check(!tg_call(f, TG_ARGS(x, TG_STATIC(factor)), TG_RESULTS()));
    tg_tensor_release(x);
}

int main(void)
{
    tg_context *ctx = tg_context_create(NULL);
    check(ctx);
    tg_function *f = tg_function_create(ctx, scaled_sum, NULL, NULL);
    tg_function *g = tg_function_create(ctx, exchange, NULL, NULL);
    tg_variable *a =
        tg_variable_create(ctx, "a", TG_F32, TG_SCALAR, tg_fill(1));
    tg_variable *b =
        tg_variable_create(ctx, "b", TG_F32, TG_SCALAR, tg_fill(2));
    check(f && g && a && b);

    sum_of(f, ctx, TG_F32, TG_DIMS(32), 3);
    sum_of(f, ctx, TG_F32, TG_DIMS(32), 3);    /* as before: no trace */
    sum_of(f, ctx, TG_F64, TG_DIMS(32), 3);    /* another dtype */
    sum_of(f, ctx, TG_F32, TG_DIMS(32, 2), 3); /* another rank */
    sum_of(f, ctx, TG_F32, TG_DIMS(48), 3);    /* another extent: generalises */
    sum_of(f, ctx, TG_F32, TG_DIMS(1000), 3);  /* served by that trace */
    sum_of(f, ctx, TG_F32, TG_DIMS(32), 4);    /* another static value */
    report(f);

    check(!tg_call(g, TG_ARGS(a, b), TG_RESULTS()));
    check(!tg_call(g, TG_ARGS(b, a), TG_RESULTS())); /* two variables again */
    check(!tg_call(g, TG_ARGS(a, a), TG_RESULTS())); /* one variable twice */
    report(g);

    tg_variable_release(b);
    tg_variable_release(a);
    tg_function_release(g);
    tg_function_release(f);
    tg_context_release(ctx);
    return 0;
}

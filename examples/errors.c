/* SPDX-License-Identifier: MIT */
/*
 * errors.c - typical mistakes and their error messages: the location in this
 * file, the operation, and the operands. The library never aborts; of several
 * errors in a callback, the first is reported.
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

typedef struct world {
    tg_variable *v;    /* f32[5] */
    tg_function *self; /* the function of the callback below */
    tg_value kept;     /* a value of a trace that has ended */
} world;

enum { MISTAKES = 11 };

/* Makes the mistake that the last argument selects. */
static void mistaken(tg_trace *t, const tg_value *in, void *user)
{
    world *w = user;
    tg_value x = in[0]; /* f32[2,3] */
    tg_value i = in[1]; /* i32[4] */
    tg_value y = i;
    switch (tg_static_int(t, 2)) {
    case 0:
        y = tg_relu(tg_matmul(x, x)); /* relu reports no second error */
        break;
    case 1:
        y = tg_mul(x, w->v);
        break;
    case 2:
        y = tg_add(x, i);
        break;
    case 3:
        y = tg_add(i, 0.5);
        break;
    case 4:
        y = tg_sum(x, TG_AXES(2));
        break;
    case 5:
        y = tg_assign(w->v, x);
        break;
    case 6:
        y = tg_assign(x, 0);
        break;
    case 7:
        y = tg_gather(x, i, 0); /* fails at run time */
        w->kept = y;
        break;
    case 8:
        y = tg_neg(w->kept);
        break;
    case 9:
        tg_apply(w->self, TG_ARGS(x, i, TG_STATIC(9)), &y, 1);
        break;
    case 10:
        tg_assert(t, tg_lt(i, 3), "an index of %v is above 2", i);
        break;
    }
    tg_return(t, y);
}

static void tell(tg_status status)
{
    printf("%s\n    %s\n", tg_status_name(status), tg_error(NULL));
}

int main(void)
{
    tg_context *ctx = tg_context_create(NULL);
    check(ctx);
    world w = {0};
    int32_t numbers[] = {0, 1, 2, 3};
    w.v = tg_variable_create(ctx, "v", TG_F32, TG_DIMS(5), tg_zeros());
    w.self = tg_function_create(ctx, mistaken, &w, NULL);
    tg_tensor *x = tg_tensor_create(ctx, TG_F32, TG_DIMS(2, 3), tg_zeros());
    tg_tensor *i = tg_tensor_wrap(ctx, numbers, TG_I32, TG_DIMS(4));
    check(w.v && w.self && x && i);

    for (int number = 0; number < MISTAKES; number++)
        tell(tg_call(w.self, TG_ARGS(x, i, TG_STATIC(number)), TG_RESULTS()));

    /* Outside of callbacks: an operation, and a result of another shape. */
    if (!tg_is_valid(tg_exp(1.0)))
        tell(tg_error_last()->status);
    tell(tg_call(w.self, TG_ARGS(x, i, TG_STATIC(-1)), TG_RESULTS(&x)));

    tg_tensor_release(i);
    tg_tensor_release(x);
    tg_function_release(w.self);
    tg_variable_release(w.v);
    tg_context_release(ctx);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * 14_wrong_way.c - two wrong ways to write the previous program, and their
 * errors. 13_gradient_inside.c is the right way.
 */
#include "../check.h"

/* Wrong: the variable takes its shape from the argument, but it is created only
   once, and a vector of another length is traced anew. */
static void shape_of_argument(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const int64_t n = tg_value_dim(in[0], 0);
    tg_variable *w = tg_own_variable(t, "w", TG_F64, TG_DIMS(n), tg_zeros());
    tg_return(t, tg_sub(w, in[0]));
}

typedef struct kept {
    tg_value x, loss;
} kept;

/* Wrong: keeps values of the trace, to take the gradient outside. */
static void keep(tg_trace *t, const tg_value *in, void *user)
{
    kept *k = user;
    k->x = in[0];
    k->loss = tg_sum(tg_square(in[0]), TG_ALL_AXES);
    tg_return(t, k->loss);
}

int main(void)
{
    double data[] = {3, 4, 5};
    kept k;
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_function) f =
        tg_function_create(ctx, shape_of_argument, NULL, NULL);
    TG_AUTO(tg_function) g = tg_function_create(ctx, keep, &k, NULL);
    TG_AUTO(tg_tensor) two = tg_tensor_wrap(ctx, data, TG_F64, TG_DIMS(2));
    TG_AUTO(tg_tensor) three = tg_tensor_wrap(ctx, data, TG_F64, TG_DIMS(3));
    check(ctx && f && g && two && three);

    check(!tg_call(f, TG_ARGS(two), TG_RESULTS()));
    if (tg_call(f, TG_ARGS(three), TG_RESULTS()))
        printf("%s\n", tg_error(ctx));

    check(!tg_call(g, TG_ARGS(two), TG_RESULTS()));
    if (!tg_is_valid(tg_gradient(k.loss, k.x)))
        printf("%s\n", tg_error(NULL));
}

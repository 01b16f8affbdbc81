/* SPDX-License-Identifier: MIT */
/*
 * dataset_batches.c - fits a line to points that a dataset delivers in shuffled
 * batches. The points have two components, and the last batch of an epoch is
 * short. A bound call reads each batch in place.
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

typedef struct line {
    tg_variable *slope, *offset;
} line;

/* One step of gradient descent on a batch; returns the loss before it. */
static void step(tg_trace *t, const tg_value *in, void *user)
{
    const line *l = user;
    tg_value y = tg_add(tg_mul(in[0], l->slope), l->offset);
    tg_value loss = tg_mean(tg_square(tg_sub(y, in[1])), TG_ALL_AXES);
    tg_variable *wrt[] = {l->slope, l->offset};
    tg_value g[2];
    tg_gradients(loss, wrt, 2, g);
    for (int i = 0; i < 2; i++)
        tg_assign_sub(wrt[i], tg_mul(g[i], 0.25));
    tg_return(t, loss);
}

int main(void)
{
    float x[100], y[100], loss, slope, offset;
    for (int i = 0; i < 100; i++) {
        x[i] = (float)i / 50 - 1;
        y[i] = 3 * x[i] - 0.5f;
    }
    tg_context *ctx = tg_context_create(NULL);
    check(ctx);
    line l = {tg_variable_create(ctx, "slope", TG_F32, TG_SCALAR, tg_zeros()),
              tg_variable_create(ctx, "offset", TG_F32, TG_SCALAR, tg_zeros())};
    tg_tensor *xs = tg_tensor_wrap(ctx, x, TG_F32, TG_DIMS(100));
    tg_tensor *ys = tg_tensor_wrap(ctx, y, TG_F32, TG_DIMS(100));
    tg_function *f = tg_function_create(ctx, step, &l, NULL);
    check(l.slope && l.offset && xs && ys && f);

    tg_dataset *d = tg_dataset_from(ctx, TG_ARGS(xs, ys));
    d = tg_dataset_shuffle(d, 100, 1, TG_RESHUFFLE);
    d = tg_dataset_repeat(tg_dataset_batch(d, 32, TG_KEEP_REMAINDER), 40);
    d = tg_dataset_prefetch(d, 2);
    tg_iterator *it = tg_iterate(d);
    check(it);

    tg_tensor *bx = NULL, *by = NULL;
    check(tg_next(it, TG_RESULTS(&bx, &by)) == TG_OK);
    tg_bound *b = tg_bind(f, TG_ARGS(bx, by), TG_RESULTS(&loss));
    check(b);
    tg_status status;
    int n = 0;
    do {
        check(tg_run(b) == TG_OK);
        n++;
    } while ((status = tg_next_bound(it, b)) == TG_OK);
    check(status == TG_END_OF_DATA);
    check(!tg_variable_get(l.slope, &slope, sizeof(slope)));
    check(!tg_variable_get(l.offset, &offset, sizeof(offset)));
    printf("%d batches: y = %.2f x + %.2f\n", n, (double)slope, (double)offset);

    tg_bound_release(b);
    tg_tensor_release(bx);
    tg_tensor_release(by);
    tg_iterator_release(it);
    tg_dataset_release(d);
    tg_function_release(f);
    tg_tensor_release(xs);
    tg_tensor_release(ys);
    tg_variable_release(l.slope);
    tg_variable_release(l.offset);
    tg_context_release(ctx);
    return 0;
}

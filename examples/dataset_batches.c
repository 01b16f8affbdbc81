/* SPDX-License-Identifier: MIT */
/*
 * dataset_batches.c - fits a line to points that a dataset delivers in shuffled
 * batches. A bound call reads each batch in place, also the short last one.
 */
#include <stdio.h>
#include <tgjit.h>

TG_DEFINE_BUNDLE(line, slope, offset)

/* One step of gradient descent on a batch; returns the loss before it. */
static void step(tg_trace *t, const tg_value *in, void *user)
{
    const line *l = user;
    tg_value y = tg_add(tg_mul(in[0], l->slope), l->offset);
    tg_value loss = tg_mean(tg_square(tg_sub(y, in[1])), TG_ALL_AXES);
    tg_variable *v[2];
    tg_value g[2];
    tg_bundle_gradients(loss, &line_type, l, v, g, 2);
    for (int i = 0; i < 2; i++)
        tg_assign_sub(v[i], tg_mul(g[i], 0.25));
    tg_return(t, loss);
}

int main(void)
{
    float x[100], y[100], loss, slope, offset;
    for (int i = 0; i < 100; i++) {
        x[i] = (float)i / 50 - 1;
        y[i] = 3 * x[i] - 0.5f;
    }
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    line l = {tg_variable_create(ctx, "slope", TG_F32, TG_SCALAR, tg_zeros()),
              tg_variable_create(ctx, "offset", TG_F32, TG_SCALAR, tg_zeros())};
    TG_AUTO(tg_function) f = tg_function_create(ctx, step, &l, NULL);
    TG_AUTO(tg_tensor) xs = tg_tensor_wrap(ctx, x, TG_F32, TG_DIMS(100));
    TG_AUTO(tg_tensor) ys = tg_tensor_wrap(ctx, y, TG_F32, TG_DIMS(100));
    tg_dataset *d = tg_dataset_from(ctx, TG_ARGS(xs, ys));
    d = tg_dataset_batch(tg_dataset_shuffle(d, 100, 1, TG_RESHUFFLE), 32,
                         TG_KEEP_REMAINDER);
    TG_AUTO(tg_dataset) all = tg_dataset_prefetch(tg_dataset_repeat(d, 40), 2);
    TG_AUTO(tg_iterator) it = tg_iterate(all);
    TG_AUTO(tg_tensor) bx = NULL;
    TG_AUTO(tg_tensor) by = NULL;
    tg_status status = tg_next(it, TG_RESULTS(&bx, &by));
    TG_AUTO(tg_bound) b = tg_bind(f, TG_ARGS(bx, by), TG_RESULTS(&loss));
    int n = 0;
    for (; !status && !(status = tg_run(b)); status = tg_next_bound(it, b))
        n++;
    if (status != TG_END_OF_DATA ||
        tg_variable_get(l.slope, &slope, sizeof(slope)) ||
        tg_variable_get(l.offset, &offset, sizeof(offset)))
        return fprintf(stderr, "%s\n", tg_error(NULL)), 1;
    printf("%d batches: y = %.2f x + %.2f\n", n, (double)slope, (double)offset);
    tg_bundle_release(&line_type, &l);
}

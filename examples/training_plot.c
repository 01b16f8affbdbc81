/* SPDX-License-Identifier: MIT */
/*
 * training_plot.c - watches a network learn a curve. On a terminal the plot is
 * drawn again and again; otherwise only the last one is printed. A hundred steps
 * of training are one call.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>
#include <unistd.h>

enum { N = 64, HIDDEN = 24, STEPS = 100, PLOTS = 60, ROWS = 16 };

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* -- The model ------------------------------------------------------------- */

TG_DEFINE_BUNDLE(network, (tg_dense_layer, first), (tg_dense_layer, second),
                 (tg_dense_layer, output))
TG_DEFINE_OPTIMISER(network_optimiser, network)
TG_DEFINE_BUNDLE(training, (network, net), (network_optimiser, adam))

static tg_value curve_of(const training *r, tg_value x)
{
    const tg_value first = tg_tanh(tg_dense(x, &r->net.first));
    const tg_value second = tg_tanh(tg_dense(first, &r->net.second));
    return tg_dense(second, &r->net.output);
}

typedef struct data {
    const training *r;
    tg_value x, y;
} data;

static void step(tg_trace *t, const tg_value *in, void *user)
{
    (void)in;
    const data *d = user;
    const tg_value loss = tg_mean(
        tg_square(tg_sub(curve_of(d->r, d->x), d->y)), TG_ALL_AXES);
    tg_minimise(loss, 0.005, tg_adam(0.9, 0.999, 1e-8),
                &network_optimiser_type, &d->r->net, &d->r->adam);
    tg_return(t, loss);
}

/* Receives x and y; returns the curve and the loss. */
static void train(tg_trace *t, const tg_value *in, void *user)
{
    data d = {user, in[0], in[1]};
    tg_value loss;
    tg_for(STEPS, step, &d, TG_ARGS(0.0f), &loss, 1);
    tg_return(t, curve_of(user, in[0]), loss);
}

/* -- The plot -------------------------------------------------------------- */

static int row_of(float y)
{
    const int row = (int)lrintf((1.2f - y) * (ROWS / 2.4f));
    return row < 0 ? 0 : row >= ROWS ? ROWS - 1 : row;
}

static void plot(const float *wanted, const float *curve, int steps, float loss)
{
    char rows[ROWS][N + 1];
    for (int i = 0; i < ROWS; i++)
        snprintf(rows[i], N + 1, "%*s", N, "");
    for (int i = 0; i < N; i++) {
        rows[row_of(wanted[i])][i] = '.';
        rows[row_of(curve[i])][i] = row_of(curve[i]) == row_of(wanted[i])
                                        ? '#' : '*';
    }
    for (int i = 0; i < ROWS; i++)
        printf("|%s|\n", rows[i]);
    printf("step %5d, loss %.5f\n", steps, (double)loss);
}

int main(void)
{
    float x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)i / (N - 1) * 2 - 1;
        y[i] = sinf(9 * x[i]) * (1 - 0.5f * x[i] * x[i]);
    }
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    training r;
    check(!tg_dense_create(ctx, "first", TG_F32, 1, HIDDEN, tg_uniform(-3, 3),
                           &r.net.first));
    check(!tg_dense_create(ctx, "second", TG_F32, HIDDEN, HIDDEN, tg_glorot(),
                           &r.net.second));
    check(!tg_dense_create(ctx, "output", TG_F32, HIDDEN, 1, tg_glorot(),
                           &r.net.output));
    check(!tg_optimiser_create(ctx, "adam", tg_adam(0.9, 0.999, 1e-8),
                               &network_optimiser_type, &r.net, &r.adam));
    TG_AUTO(tg_function) f = tg_function_create(ctx, train, &r, NULL);
    TG_AUTO(tg_tensor) in = tg_tensor_wrap(ctx, x, TG_F32, TG_DIMS(N, 1));
    TG_AUTO(tg_tensor) out = tg_tensor_wrap(ctx, y, TG_F32, TG_DIMS(N, 1));
    TG_AUTO(tg_tensor) curve = NULL;
    check(f && in && out);

    const bool is_live = isatty(STDOUT_FILENO);
    for (int i = 1; i <= PLOTS; i++) {
        float loss;
        check(!tg_call(f, TG_ARGS(in, out), TG_RESULTS(&curve, &loss)));
        if (!is_live && i < PLOTS)
            continue;
        plot(y, tg_tensor_f32(curve), i * STEPS, loss);
        if (is_live && i < PLOTS) {
            usleep(50000);
            printf("\033[%dA", ROWS + 1); /* back to the first row */
        }
    }
    tg_bundle_release(&training_type, &r);
    return 0;
}

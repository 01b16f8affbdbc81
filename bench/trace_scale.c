/* SPDX-License-Identifier: MIT */
/*
 * trace_scale.c - trace-scale: the time of tracing and passes for large graphs,
 * which should be linear in their size.
 *
 *   chain    each operation depends on the previous one
 *   wide     all depend on the argument and are combined pairwise
 *   mixed    views, reductions, matrix products, constants, unused values
 *   general  the same with unknown extents
 *   nested   many applications of one function
 *
 * The time in the callback counts as tracing; the rest, up to a trace that can
 * be called, as passes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tgjit.h"

/* CPU time of this process, which other processes do not disturb. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* -- Graphs ---------------------------------------------------------------- */

typedef struct job {
    size_t n; /* number of operations */
    tg_function *inner;
    double callback_seconds;
} job;

static tg_value chain(tg_value x, const job *of)
{
    tg_value y = x;
    for (size_t i = 0; i < of->n; i++)
        switch (i % 4) {
        case 0:
            y = tg_sub(y, x);
            break;
        case 1:
            y = tg_sin(y);
            break;
        case 2:
            y = tg_max(y, x);
            break;
        default:
            y = tg_div(y, x);
        }
    return y;
}

static tg_value wide(tg_value x, const job *of)
{
    size_t n = of->n / 3 + 1;
    tg_value *values = malloc(n * sizeof(*values));
    if (!values)
        return x;
    for (size_t i = 0; i < n; i++)
        values[i] = tg_sin(tg_mul(x, (double)i));
    for (size_t span = 1; span < n; span *= 2)
        for (size_t i = 0; i + span < n; i += 2 * span)
            values[i] = tg_max(values[i], values[i + span]);
    tg_value joined = values[0];
    free(values);
    return joined;
}

static tg_value mixed(tg_value x, const job *of)
{
    tg_value y = x;
    for (size_t i = 0; i + 12 < of->n; i += 12) {
        tg_value flat = tg_reshape(y, TG_DIMS(-1));
        tg_value back = tg_slice(flat, 0, -1, TG_END, -1);
        tg_value unused = tg_exp(back);
        (void)unused;
        tg_value matrix = tg_reshape(
            back, 2, (int64_t[]){tg_value_dim(x, 0), tg_value_dim(x, 1)});
        tg_value z =
            tg_transpose(tg_transpose(matrix, TG_PERM(1, 0)), TG_PERM(1, 0));
        tg_value total = tg_sum(z, tg_keep(TG_AXES(0)));
        tg_value scale = tg_add(tg_mul(2.0f, (float)i), 1.0f);
        tg_value square = tg_matmul_with(z, z, TG_TRANSPOSE_B);
        tg_value column = tg_reduce_max(square, tg_keep(TG_AXES(1)));
        y = tg_add(tg_mul(tg_sub(z, total), scale), column);
    }
    return y;
}

static tg_value nested(tg_value x, const job *of)
{
    tg_value y = x;
    for (size_t i = 0; i + 4 < of->n; i += 4)
        tg_apply(of->inner, TG_ARGS(y, x), &y, 1);
    return y;
}

static void inner(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_tanh(tg_sub(tg_max(in[0], in[1]), 0.5f)));
}

static const struct kind {
    const char *name;
    tg_value (*make)(tg_value x, const job *of);
    bool is_general;
} kinds[] = {
    {"chain", chain, false},   {"wide", wide, false},
    {"mixed", mixed, false},   {"general", mixed, true},
    {"nested", nested, false},
};

/* -- Measuring ------------------------------------------------------------- */

typedef struct measured {
    const struct kind *kind;
    job job;
} measured;

static void callback(tg_trace *t, const tg_value *in, void *user)
{
    measured *m = user;
    double start = now();
    tg_return(t, m->kind->make(in[0], &m->job));
    m->job.callback_seconds = now() - start;
}

static int fail(void)
{
    fprintf(stderr, "trace-scale: %s\n", tg_error(NULL));
    return EXIT_FAILURE;
}

/* Seconds of one trace including passes, or -1. */
static double measure(const struct kind *kind, size_t n, double *out_callback)
{
    double seconds = -1;
    measured m = {.kind = kind, .job = {.n = n}};
    tg_context *ctx = tg_context_create(NULL);
    tg_function *outer = tg_function_create(ctx, callback, &m, NULL);
    m.job.inner = tg_function_create(ctx, inner, NULL, NULL);
    tg_spec spec =
        tg_spec_tensor(TG_F32, 2,
                       kind->is_general ? (int64_t[]){TG_UNKNOWN, TG_UNKNOWN}
                                        : (int64_t[]){4, 4});
    double start = now();
    tg_concrete *concrete =
        outer && m.job.inner ? tg_function_concrete(outer, &spec, 1) : NULL;
    if (concrete)
        seconds = now() - start;
    *out_callback = m.job.callback_seconds;
    tg_concrete_release(concrete);
    tg_function_release(outer);
    tg_function_release(m.job.inner);
    tg_context_release(ctx);
    return seconds;
}

int main(void)
{
    enum { TRIES = 3 };
    printf("%-8s %10s %10s %10s %10s %12s\n", "graph", "operations", "trace ms",
           "passes ms", "total ms", "ns/operation");
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (size_t n = 1000; n <= 100000; n *= 10) {
            double best = 0, traced = 0;
            for (int i = 0; i < TRIES; i++) {
                double in_callback;
                double total = measure(&kinds[k], n, &in_callback);
                if (total < 0)
                    return fail();
                if (i == 0 || total < best) {
                    best = total;
                    traced = in_callback;
                }
            }
            printf("%-8s %10zu %10.2f %10.2f %10.2f %12.0f\n", kinds[k].name, n,
                   traced * 1e3, (best - traced) * 1e3, best * 1e3,
                   best * 1e9 / (double)n);
            fflush(stdout);
        }
    return EXIT_SUCCESS;
}

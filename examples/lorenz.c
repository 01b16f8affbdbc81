/* SPDX-License-Identifier: MIT */
/*
 * lorenz.c - the Lorenz system, a million steps in one call. The loop carries
 * only the three coordinates, which compiled code keeps in registers. The
 * system is chaotic: the result depends on the last bit of every step. It is
 * the same on every machine, compiled or interpreted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>

static const double step_size = 1e-3;

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* Receives the iteration, x, y, z. */
static void step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = in[1], y = in[2], z = in[3];
    const tg_value dx = tg_mul(tg_sub(y, x), 10.0);
    const tg_value dy = tg_sub(tg_mul(x, tg_sub(28.0, z)), y);
    const tg_value dz = tg_sub(tg_mul(x, y), tg_mul(z, 8.0 / 3));
    tg_return(t, tg_add(x, tg_mul(dx, step_size)),
              tg_add(y, tg_mul(dy, step_size)),
              tg_add(z, tg_mul(dz, step_size)));
}

static void orbit(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value at[3];
    tg_for(in[0], step, NULL, TG_ARGS(1.0, 1.0, 1.0), at, 3);
    tg_return(t, at[0], at[1], at[2]);
}

int main(void)
{
    /* A call with loops waits for its code. */
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.compile = "eager";
    tg_context *ctx = tg_context_create(&options);
    check(ctx);
    tg_function *f = tg_function_create(ctx, orbit, NULL, NULL);
    check(f);

    static const int64_t counts[] = {1000, 1000000};
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        tg_tensor *x = NULL, *y = NULL, *z = NULL;
        check(!tg_call(f, TG_ARGS(counts[i]), TG_RESULTS(&x, &y, &z)));
        printf("after %7lld steps: %8.4f %8.4f %8.4f\n", (long long)counts[i],
               *(const double *)tg_tensor_data(x),
               *(const double *)tg_tensor_data(y),
               *(const double *)tg_tensor_data(z));
        tg_tensor_release(z);
        tg_tensor_release(y);
        tg_tensor_release(x);
    }
    printf("traces: %zu\n", tg_function_trace_count(f));

    tg_function_release(f);
    tg_context_release(ctx);
    return 0;
}

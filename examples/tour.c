/* SPDX-License-Identifier: MIT */
/*
 * tour.c - an introduction: tracing, state shared by functions, gradients, and
 * the cost of a call. Times go to stderr, so that stdout is the same in every
 * run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tgjit.h>
#include <time.h>

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

static void print_text(char *text)
{
    check(text);
    printf("%s\n", text);
    tg_text_free(text);
}

/* -- Tracing --------------------------------------------------------------- */

/* x² + x/2. Counts the executions of the callback. */
static void polynomial(tg_trace *t, const tg_value *in, void *user)
{
    ++*(int *)user;
    tg_value x = in[0];
    tg_return(t, tg_add(tg_mul(x, x), tg_mul(x, 0.5)));
}

static int n_traced; /* the `user` of polynomial */

static void call(tg_context *ctx, tg_function *f, float *data, int64_t n)
{
    const int before = n_traced;
    tg_tensor *x = tg_tensor_wrap(ctx, data, TG_F32, TG_DIMS(n));
    tg_tensor *y = NULL;
    check(x);
    check(!tg_call(f, TG_ARGS(x), TG_RESULTS(&y)));
    const float *result = tg_tensor_data(y);
    printf("  %2d elements, the last is %-5g %s\n", (int)n,
           (double)result[n - 1],
           n_traced > before ? "callback traced, graph run" : "graph run");
    tg_tensor_release(y);
    tg_tensor_release(x);
}

static void show_tracing(tg_context *ctx, tg_function *f, float *data)
{
    puts("Tracing: the callback runs once, its graph in each call.");
    call(ctx, f, data, 4);
    call(ctx, f, data, 4);
    print_text(tg_function_text(f, TG_TEXT_GRAPH));
    puts("Another length is traced as unknown; that trace serves all lengths:");
    call(ctx, f, data, 8);
    call(ctx, f, data, 64);
    print_text(tg_explain_retrace(f));
}

/* -- Sharing --------------------------------------------------------------- */

static void deposit(tg_trace *t, const tg_value *in, void *user)
{
    tg_variable *balance = user;
    tg_return(t, tg_assign_add(balance, in[0]));
}

static void add_interest(tg_trace *t, const tg_value *in, void *user)
{
    (void)in;
    tg_variable *balance = user;
    tg_return(t, tg_assign(balance, tg_mul(balance, 1.5)));
}

static void show_sharing(tg_context *ctx)
{
    tg_variable *balance =
        tg_variable_create(ctx, "balance", TG_F64, TG_SCALAR, tg_fill(100));
    tg_function *put = tg_function_create(ctx, deposit, balance, NULL);
    tg_function *grow = tg_function_create(ctx, add_interest, balance, NULL);
    check(balance && put && grow);
    puts("Sharing: two functions change one variable.");
    for (int year = 1; year <= 3; year++) {
        double now = 0;
        check(!tg_call(put, TG_ARGS(20.0), TG_RESULTS()));
        check(!tg_call(grow, TG_ARGS(), TG_RESULTS()));
        check(!tg_variable_get(balance, &now, sizeof(now)));
        printf("  balance after year %d: %g\n", year, now);
    }
    tg_function_release(grow);
    tg_function_release(put);
    tg_variable_release(balance);
}

/* -- Gradients ------------------------------------------------------------- */

/* The derivative of x² + x/2: 2x + 1/2. */
static void slope(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = in[0];
    tg_value y = tg_add(tg_mul(x, x), tg_mul(x, 0.5));
    tg_return(t, tg_gradient(y, x));
}

static void show_gradients(tg_context *ctx)
{
    tg_function *f = tg_function_create(ctx, slope, NULL, NULL);
    tg_tensor *y = NULL;
    check(f);
    puts("\nGradients: derivatives are operations like others.");
    check(!tg_call(f, TG_ARGS(3.0), TG_RESULTS(&y)));
    printf("  the slope at 3 is %g\n", *(const double *)tg_tensor_data(y));
    print_text(tg_function_text(f, TG_TEXT_GRAPH));
    tg_tensor_release(y);
    tg_function_release(f);
}

/* -- Timing ---------------------------------------------------------------- */

__attribute__((noinline)) static void by_hand(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i] * x[i] + x[i] * 0.5f;
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Prints the average time of a call. */
#define MEASURE(what, call) \
    do { \
        enum { CALLS = 20000 }; \
        const double begin = now_ns(); \
        for (int i = 0; i < CALLS; i++) \
            call; \
        fprintf(stderr, "  %-46s %7.0f ns\n", what, \
                (now_ns() - begin) / CALLS); \
    } while (0)

static void show_timing(tg_context *ctx, tg_function *f, float *data)
{
    float plain[64];
    tg_tensor *x = tg_tensor_wrap(ctx, data, TG_F32, TG_DIMS(64));
    tg_tensor *y = NULL;
    check(x);
    tg_bound *b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&y));
    check(b);
    puts("Timing: one call with 64 elements.");
    MEASURE("plain C function", by_hand(data, plain, 64));
    MEASURE("tg_run, prepared by tg_bind", check(!tg_run(b)));
    MEASURE("tg_call, with lookup and checks",
            check(!tg_call(f, TG_ARGS(x), TG_RESULTS(&y))));
    printf("  all give the same bits: %s\n",
           memcmp(tg_tensor_data(y), plain, sizeof(plain)) ? "no" : "yes");
    tg_bound_release(b);
    tg_tensor_release(y);
    tg_tensor_release(x);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* keeps stderr and stdout in order */
    tg_context *ctx = tg_context_create(NULL);
    check(ctx);
    tg_function *f = tg_function_create(ctx, polynomial, &n_traced, NULL);
    check(f);
    float data[64];
    for (int i = 0; i < 64; i++)
        data[i] = (float)(i + 1);

    show_tracing(ctx, f, data);
    show_sharing(ctx);
    show_gradients(ctx);
    show_timing(ctx, f, data);
    tg_function_release(f);
    tg_context_release(ctx);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * counter.c - a variable shared by two functions. `increment` receives a
 * counter as an argument, so one trace serves every counter; `show` captures
 * one and sees the updates that `increment` made.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>

/* Exits with the library's error message if a call failed. */
static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

static void increment(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_assign_add(in[0], 1));
}

static void show(tg_trace *t, const tg_value *in, void *user)
{
    (void)in;
    tg_variable *counter = user;
    tg_print(t, "  counter value: %v", counter);
}

/* Receives the output of tg_print. */
static void print_line(const char *text, void *user)
{
    (void)user;
    puts(text);
}

int main(void)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.print_callback = print_line;
    tg_context *ctx = tg_context_create(&options);
    check(ctx);

    tg_variable *visits =
        tg_variable_create(ctx, "visits", TG_I64, TG_SCALAR, tg_zeros());
    tg_variable *errors =
        tg_variable_create(ctx, "errors", TG_I64, TG_SCALAR, tg_fill(10));
    tg_function *inc = tg_function_create(ctx, increment, NULL, NULL);
    tg_function *display = tg_function_create(ctx, show, visits, NULL);
    check(visits && errors && inc && display);

    puts("increment(visits) three times, show() after each:");
    for (int i = 0; i < 3; i++) {
        check(!tg_call(inc, TG_ARGS(visits), TG_RESULTS()));
        check(!tg_call(display, TG_ARGS(), TG_RESULTS()));
    }

    puts("increment(errors) changes the other counter only:");
    tg_tensor *result = NULL;
    check(!tg_call(inc, TG_ARGS(errors), TG_RESULTS(&result)));
    const int64_t *value = tg_tensor_data(result);
    printf("  it returns: %lld\n", (long long)*value);
    check(!tg_call(display, TG_ARGS(), TG_RESULTS()));

    puts("the host sets visits to 41, then increment(visits):");
    const int64_t start = 41;
    check(!tg_variable_set(visits, &start, sizeof(start)));
    check(!tg_call(inc, TG_ARGS(visits), TG_RESULTS()));
    check(!tg_call(display, TG_ARGS(), TG_RESULTS()));

    printf("traces: increment %zu, show %zu\n", tg_function_trace_count(inc),
           tg_function_trace_count(display));

    tg_tensor_release(result);
    tg_function_release(display);
    tg_function_release(inc);
    tg_variable_release(errors);
    tg_variable_release(visits);
    tg_context_release(ctx);
    return 0;
}

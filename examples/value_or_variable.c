/* SPDX-License-Identifier: MIT */
/*
 * value_or_variable.c - passing a variable and passing its value. The callee
 * can assign a variable. Its value, passed with tg_value_of, is an ordinary
 * tensor: read-only, with the contents at the start of the call.
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

static void twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 2));
}

/* Assigns its first argument and returns the second. */
static void move_on(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_assign_add(in[0], 100);
    tg_return(t, in[1]);
}

static int32_t number(const tg_tensor *tensor)
{
    return *(const int32_t *)tg_tensor_data(tensor);
}

int main(void)
{
    tg_context *ctx = tg_context_create(NULL);
    check(ctx);
    tg_variable *v =
        tg_variable_create(ctx, "v", TG_I32, TG_SCALAR, tg_fill(7));
    tg_tensor *x = tg_tensor_copy(ctx, &(int32_t){21}, TG_I32, TG_SCALAR);
    tg_function *f = tg_function_create(ctx, twice, NULL, NULL);
    tg_function *g = tg_function_create(ctx, move_on, NULL, NULL);
    tg_tensor *y = NULL;
    check(v && x && f && g);

    puts("Reading works with all three; a value shares the tensor's trace:");
    check(!tg_call(f, TG_ARGS(x), TG_RESULTS(&y)));
    printf("  twice(tensor)      = %d\n", number(y));
    check(!tg_call(f, TG_ARGS(tg_value_of(v)), TG_RESULTS(&y)));
    printf("  twice(value of v)  = %d\n", number(y));
    check(!tg_call(f, TG_ARGS(v), TG_RESULTS(&y)));
    printf("  twice(v)           = %d\n", number(y));
    char *traces = tg_function_text(f, TG_TEXT_SHORT);
    check(traces);
    printf("%s", traces);
    tg_text_free(traces);

    puts("Assigning needs the variable:");
    check(!tg_call(g, TG_ARGS(v, x), TG_RESULTS(&y)));
    printf("  move_on(v, tensor)              = %d\n", number(y));
    if (tg_call(g, TG_ARGS(tg_value_of(v), x), TG_RESULTS(&y)))
        printf("  move_on(value of v, tensor): %s\n", tg_error(ctx));

    puts("A value is a snapshot from before the call, a variable is live:");
    check(!tg_call(g, TG_ARGS(v, tg_value_of(v)), TG_RESULTS(&y)));
    printf("  move_on(v, value of v)          = %d\n", number(y));
    check(!tg_call(g, TG_ARGS(v, v), TG_RESULTS(&y)));
    printf("  move_on(v, v)                   = %d\n", number(y));

    tg_tensor_release(y);
    tg_function_release(g);
    tg_function_release(f);
    tg_tensor_release(x);
    tg_variable_release(v);
    tg_context_release(ctx);
    return 0;
}

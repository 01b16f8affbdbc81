/* SPDX-License-Identifier: MIT */
#include "run.h"

#include <string.h>

#include "DEBUGGING.blocks.h"

static void asserts(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    block1(t, in[0]);
    tg_return(t, tg_sqrt(in[0]));
}

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_function) f = tg_function_create(ctx, asserts, NULL, NULL);
    float y;
    CHECK(!tg_call(f, TG_ARGS(4.0f), TG_RESULTS(&y)) && y == 2);
    CHECK(tg_call(f, TG_ARGS(-4.0f), TG_RESULTS(&y)) != TG_OK);
    CHECK(strstr(tg_error(NULL), "x must be positive, but is -4"));
    return 0;
}

/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "AHEAD_OF_TIME.blocks.h"

static void scale(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], in[1]));
}

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_function) f = tg_function_create(ctx, scale, NULL, NULL);
    CHECK(f);
    block1(f);
    FILE *header = fopen("out/step.h", "r"), *object = fopen("out/step.o", "r");
    CHECK(header && object);
    fclose(header);
    fclose(object);
    return 0;
}

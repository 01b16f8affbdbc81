/* SPDX-License-Identifier: MIT */
/* 9_export.c - writes the compiled function as an object file and a header, for
   programs without this library: cc program.c decay.o */
#include <unistd.h>

#include "../check.h"

enum { N = 64 };

static void decay(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[1], tg_exp(tg_neg(tg_mul(in[2], in[0])))));
}

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_function) f = tg_function_create(ctx, decay, NULL, NULL);
    const tg_spec specs[] = {tg_spec_tensor(TG_F32, TG_DIMS(N)),
                             tg_spec_tensor(TG_F32, TG_SCALAR),
                             tg_spec_tensor(TG_F32, TG_SCALAR)};
    TG_AUTO(tg_concrete) c = tg_function_concrete(f, specs, 3);
    check(c);
    if (tg_concrete_export(c, "decay", NULL)) {
        printf("not exported: %s\n", tg_error(NULL));
        return 1;
    }
    FILE *header = fopen("decay.h", "r");
    char line[256];
    while (header && fgets(line, sizeof(line), header))
        fputs(line, stdout);
    if (header)
        fclose(header);
    unlink("decay.h");
    unlink("decay.o");
    return 0;
}

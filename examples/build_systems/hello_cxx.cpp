/* SPDX-License-Identifier: MIT */
/* hello_cxx.cpp - a program in C++17 for the build systems of this folder. */
#include <cstdio>
#include <tgjit.h>

static void twice(tg_trace *t, const tg_value *in, void *)
{
    tg_return(t, tg_mul(in[0], 2));
}

int main()
{
    TG_AUTO(tg_context) ctx = tg_context_create(nullptr);
    TG_AUTO(tg_function) f = tg_function_create(ctx, twice, nullptr, nullptr);
    float y;
    if (tg_call(f, TG_ARGS(21.0f), TG_RESULTS(&y)))
        return std::fprintf(stderr, "%s\n", tg_error(nullptr)), 1;
    std::printf("%g\n", double(y));
    return 0;
}

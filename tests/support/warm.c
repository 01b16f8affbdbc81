/* SPDX-License-Identifier: MIT */
/*
 * warm.c - a small program for check-warm.sh: binds a function, runs it, and
 * prints the result, the counters of the cache, and whether LLVM is loaded. Its
 * argument is the number of repetitions, each with a new context and an empty
 * in-memory cache.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tgjit.h"

enum { N = 1000 };

static void chain(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_tanh(tg_mul(tg_sub(in[0], 0.5f), 3.0f));
    tg_return(t, y, tg_sum(tg_exp(y), TG_ALL_AXES));
}

/* A hash of all bits of the results. */
static unsigned long long digest(tg_tensor *const *results, int n)
{
    unsigned long long hash = 0xcbf29ce484222325u;
    for (int i = 0; i < n; i++) {
        const unsigned char *bytes = tg_tensor_data(results[i]);
        for (size_t k = 0; k < tg_tensor_bytes(results[i]); k++)
            hash = (hash ^ bytes[k]) * 0x100000001b3u;
    }
    return hash;
}

static void print_counts(tg_context *ctx)
{
    tg_cache_counters c = TG_CACHE_COUNTERS_INIT;
    if (tg_cache_counts(ctx, &c) == TG_OK)
        printf("found %llu missed %llu saved %llu bad %llu\n",
               (unsigned long long)c.hits, (unsigned long long)c.misses,
               (unsigned long long)c.saves, (unsigned long long)c.bad);
}

static bool run(void)
{
    float data[N];
    for (int i = 0; i < N; i++)
        data[i] = (float)i / N;
    tg_context *ctx = tg_context_create(NULL);
    tg_function *f = tg_function_create(ctx, chain, NULL, NULL);
    tg_tensor *x = tg_tensor_wrap(ctx, data, TG_F32, TG_DIMS(N));
    tg_tensor *y[2] = {NULL, NULL};
    tg_bound *bound = tg_bind(f, TG_ARGS(x), TG_RESULTS(&y[0], &y[1]));
    const bool is_good = bound && tg_run(bound) == TG_OK;
    if (is_good)
        printf("result %016llx\n", digest(y, 2));
    else
        printf("error %s\n", tg_error(NULL));
    print_counts(ctx);
    tg_bound_release(bound);
    tg_tensor_release(y[0]);
    tg_tensor_release(y[1]);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_context_release(ctx);
    return is_good;
}

static void print_mapped(void)
{
    char line[4096];
    bool has_llvm = false, has_module = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps)) {
        has_llvm |= strstr(line, "libLLVM") != NULL;
        has_module |= strstr(line, "libtgjit-llvm") != NULL;
    }
    if (maps)
        fclose(maps);
    printf("llvm %s\n", has_llvm && has_module   ? "open"
                        : has_llvm || has_module ? "half open"
                                                 : "not open");
}

int main(int argc, char **argv)
{
    bool is_good = true;
    for (int i = argc > 1 ? atoi(argv[1]) : 1; i > 0; i--)
        is_good &= run();
    print_mapped();
    return is_good ? 0 : 1;
}

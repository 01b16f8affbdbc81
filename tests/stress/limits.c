/* SPDX-License-Identifier: MIT */
/*
 * limits.c - sizes at which programs break. By default small ones, for make
 * check; long-limits.sh has the real ones.
 *
 *     --elements N     one op of each family on N elements of one byte
 *                      (default 100003; beyond 2^31, 64-bit indices matter)
 *     --nodes N        compiles graphs of N / 8 and N nodes (default 4000): the
 *                      time of a node must not grow
 *     --signatures N   N signatures of one function (default 60), under caps of
 *                      its traces and of the code in memory, which a quarter of
 *                      20,000 exceed: memory, mappings and files stay flat
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/arguments.h"
#include "support/footprint.h"
#include "tgjit.h"

static bool report(bool good, const char *what)
{
    if (!good)
        printf("limits: %s fails: %s\n", what, tg_error(NULL));
    return good;
}

/* -- Elements -------------------------------------------------------------- */

/* x[i] */
static uint8_t element(int64_t i)
{
    return (uint8_t)((uint64_t)i * 2654435761u >> 24);
}

static int64_t n_elements = 100003;

static void elementwise(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(tg_mul(in[0], 3), 7));
}

static void reversed(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_slice(in[0], 0, -1, TG_END, -1));
}

static void shifted(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_concat(0, tg_slice(in[0], 0, 5, TG_END, 1),
                           tg_slice(in[0], 0, 0, 5, 1)));
}

static void reduced(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_reshape(tg_sum(in[0], TG_ALL_AXES), TG_DIMS(1)));
}

static void summed_up(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_cumsum(in[0], 0));
}

static void last_one(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const int64_t places[] = {n_elements - 1, 0, n_elements / 2};
    tg_return(t, tg_gather(in[0], tg_constant(TG_I64, TG_DIMS(3), places), 0));
}

static void scattered(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const int64_t places[] = {n_elements - 1, n_elements - 2};
    const uint8_t values[] = {1, 2};
    tg_return(t, tg_scatter(in[0], tg_constant(TG_I64, TG_DIMS(2), places),
                            tg_constant(TG_U8, TG_DIMS(2), values), 0,
                            TG_SCATTER_SET));
}

static uint8_t want_elementwise(int64_t i)
{
    return (uint8_t)(element(i) * 3 + 7);
}

static uint8_t want_reversed(int64_t i)
{
    return element(n_elements - 1 - i);
}

static uint8_t want_shifted(int64_t i)
{
    return element(i + 5 < n_elements ? i + 5 : i + 5 - n_elements);
}

static uint8_t sum_to(int64_t end)
{
    uint8_t sum = 0;
    for (int64_t i = 0; i < end; i++)
        sum = (uint8_t)(sum + element(i));
    return sum;
}

static uint8_t want_reduced(int64_t i)
{
    (void)i;
    return sum_to(n_elements);
}

static uint8_t want_summed_up(int64_t i)
{
    static int64_t n;
    static uint8_t sum;
    for (n = i < n ? (sum = 0) : n; n <= i; n++)
        sum = (uint8_t)(sum + element(n));
    return sum;
}

static uint8_t want_last_one(int64_t i)
{
    return element(i == 0 ? n_elements - 1 : i == 1 ? 0 : n_elements / 2);
}

static uint8_t want_scattered(int64_t i)
{
    return i == n_elements - 1 ? 1 : i == n_elements - 2 ? 2 : element(i);
}

static const struct family {
    const char *name;
    tg_callback *callback;
    uint8_t (*want)(int64_t i);
} families[] = {{"elementwise", elementwise, want_elementwise},
                {"slice with a negative step", reversed, want_reversed},
                {"concat", shifted, want_shifted},
                {"reduction", reduced, want_reduced},
                {"scan", summed_up, want_summed_up},
                {"gather", last_one, want_last_one},
                {"scatter", scattered, want_scattered}};

/* All elements of a short result; of a long one, those at its ends and around
   the powers of two. */
static bool is_right(const struct family *family, const tg_tensor *y)
{
    enum { AROUND = 4096 };
    const uint8_t *data = tg_tensor_data(y);
    const int64_t n = (int64_t)tg_tensor_bytes(y);
    for (int64_t i = 0; i < n; i++) {
        bool is_near = n < 1 << 20 || i < AROUND || i >= n - AROUND;
        for (int bit = 28; bit < 34; bit++)
            is_near |= llabs(i - ((int64_t)1 << bit)) < AROUND;
        if (is_near && data[i] != family->want(i))
            return false;
        if (!is_near && i % AROUND == 0)
            i += AROUND * 8 - 1; /* skips most of the middle */
    }
    return true;
}

static bool check_elements(void)
{
    bool good = true;
    tg_context *ctx = tg_context_create(NULL);
    tg_tensor *x = tg_tensor_create(ctx, TG_U8, TG_DIMS(n_elements), tg_zeros());
    if (!report(x, "tg_tensor_create"))
        return false;
    uint8_t *data = tg_tensor_data(x);
    for (int64_t i = 0; i < n_elements; i++)
        data[i] = element(i);
    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
        tg_function *f =
            tg_function_create(ctx, families[i].callback, NULL, NULL);
        tg_tensor *y = NULL;
        const tg_status status = tg_call(f, TG_ARGS(x), TG_RESULTS(&y));
        const bool is_good = !status && is_right(&families[i], y);
        good &= report(is_good, families[i].name);
        printf("%s on %lld elements: %s\n", families[i].name,
               (long long)n_elements, is_good ? "right" : "wrong");
        tg_tensor_release(y);
        tg_function_release(f);
    }
    tg_tensor_release(x);
    tg_context_release(ctx);
    return good;
}

/* -- Nodes ----------------------------------------------------------------- */

static long n_nodes;

/* A chain that cannot be simplified; every 64 operations a matrix product, so
   that it is not one kernel. */
static void long_chain(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = in[0];
    for (long i = 0; i < n_nodes / 2; i++) {
        x = tg_max(tg_sub(x, 0.001 * (double)(i % 97)), in[0]);
        if (i % 64 == 0)
            x = tg_matmul(x, in[0]);
    }
    tg_return(t, x);
}

static double seconds_for(long n, bool *out_good)
{
    struct timespec begin, end;
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.jit = "required";
    options.cache = "off";
    tg_context *ctx = tg_context_create(&options);
    tg_function *f = tg_function_create(ctx, long_chain, NULL, NULL);
    tg_tensor *x = tg_tensor_create(ctx, TG_F32, TG_DIMS(8, 8), tg_fill(0.1));
    tg_tensor *y = NULL;
    n_nodes = n;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    *out_good = report(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)) == TG_OK,
                       "a long chain");
    clock_gettime(CLOCK_MONOTONIC, &end);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    tg_context_release(ctx);
    return (double)(end.tv_sec - begin.tv_sec) +
           1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
}

static bool check_nodes(long n)
{
    enum { FACTOR = 8, MOST_GROWTH = 2 };
    bool is_first, is_second, ignored;
    (void)seconds_for(64, &ignored); /* loads LLVM */
    const double first = seconds_for(n / FACTOR, &is_first);
    const double second = seconds_for(n, &is_second);
    printf("%ld nodes: %.2f s, %.1f us each; %ld: %.2f s, %.1f us each\n",
           n / FACTOR, first, 1e6 * first * FACTOR / (double)n, n, second,
           1e6 * second / (double)n);
    return is_first && is_second && second < MOST_GROWTH * FACTOR * first + 1;
}

/* -- Signatures ------------------------------------------------------------ */

static void scaled(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], tg_sum(in[0], TG_ALL_AXES)));
}

static bool check_signatures(long n)
{
    enum { CODE_BYTES = 4 << 20 };
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    tg_function_options few = TG_FUNCTION_OPTIONS_INIT;
    options.cache = "off";
    options.compile = "eager";
    few.policy = TG_EXACT;
    few.max_traces = 16;
    tg_code_limit(CODE_BYTES);
    tg_context *ctx = tg_context_create(&options);
    tg_function *f = tg_function_create(ctx, scaled, NULL, &few);
    footprint first = {0}, most = {0};
    bool good = true;
    for (long i = 0; i < n && good; i++) {
        tg_tensor *x =
            tg_tensor_create(ctx, TG_F32, TG_DIMS(i + 1), tg_ones());
        tg_tensor *y = NULL;
        good = report(x && tg_call(f, TG_ARGS(x), TG_RESULTS(&y)) == TG_OK,
                      "a signature");
        tg_tensor_release(x);
        tg_tensor_release(y);
        const footprint now = footprint_measure();
        if (i <= n / 4)
            first = now;
        footprint_max(&most, &now);
    }
    printf("%ld signatures: ", n);
    good = footprint_is_flat(&first, &most) && good;
    tg_function_release(f);
    tg_context_release(ctx);
    return good;
}

int main(int argc, char **argv)
{
    long n = 4000, signatures = 60;
    bool good = true;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (value && !strcmp(argv[i], "--elements"))
            n_elements = atoll(value);
        else if (value && !strcmp(argv[i], "--nodes"))
            n = atol(value);
        else if (value && !strcmp(argv[i], "--signatures"))
            signatures = atol(value);
        else
            return !argument_is_wrong("limits", argc, argv, i) + 1;
    }
    good &= n_elements == 0 || check_elements();
    good &= signatures == 0 || check_signatures(signatures);
    good &= n == 0 || check_nodes(n);
    return good ? 0 : 1;
}

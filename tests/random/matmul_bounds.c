/* SPDX-License-Identifier: MIT */
/*
 * matmul_bounds.c - checks the accuracy of matmuls, independently of their
 * summation order.
 *
 * With u = 2^-24 (f32) or 2^-53 (f64), the error of each element of a matmul
 * over k is at most
 *
 *     gamma_k * (|A| |B|)    where gamma_k = k u / (1 - k u)
 *
 * because no term goes through more than k roundings: k-blocks of 256 by fma,
 * plus one per following k-block; or the lanes, blocks and pairwise combination
 * of a sum (docs/NUMERICS.md). The result may differ by that much from a triple
 * loop in a wider type, whose own error is added to the bound, and by twice as
 * much from OpenBLAS, which is used if installed. A plain program, which does
 * not depend on how matmuls are implemented.
 */
#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/support_random.h"
#include "tgjit.h"

static const int sizes[] = {1, 2, 3, 7, 16, 33, 65, 129, 257};
/* Some larger sizes, traced with exact extents. */
static const int large[][3] = {
    {513, 17, 257}, {64, 513, 129}, {31, 33, 1025}, {1, 513, 513},
    {513, 1, 513},  {257, 257, 2},  {6, 16, 256},   {12, 32, 4097},
};

#define N_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))
enum { MAX_ELEMENTS = 513 * 513 };

static long n_passed, n_failed;

/* A matmul, with matrices of its dtype. */
typedef struct problem {
    bool is_f64;
    int flags; /* of tg_matmul_with */
    int m, n, k;
    void *a, *b, *c;
} problem;

static double element(const problem *p, const void *matrix, int i)
{
    return p->is_f64 ? ((const double *)matrix)[i]
                     : (double)((const float *)matrix)[i];
}

/* Elements of the operands after transposition. */
static double a_at(const problem *p, int i, int l)
{
    return element(p, p->a,
                   p->flags & TG_TRANSPOSE_A ? l * p->m + i : i * p->k + l);
}

static double b_at(const problem *p, int l, int j)
{
    return element(p, p->b,
                   p->flags & TG_TRANSPOSE_B ? j * p->k + l : l * p->n + j);
}

/* Numbers of magnitude 2^-8 … 2^8 and either sign. */
static void fill(const problem *p, void *matrix, int n, uint64_t *random)
{
    for (int i = 0; i < n; i++) {
        const uint64_t bits = random_next(random);
        const double x =
            ldexp((double)(bits >> 11) * 0x1p-52 - 1, (int)(bits % 17) - 8);
        if (p->is_f64)
            ((double *)matrix)[i] = x;
        else
            ((float *)matrix)[i] = (float)x;
    }
}

/* -- Comparing ------------------------------------------------------------- */

static long double gamma_of(long double k, long double unit)
{
    return k * unit / (1 - k * unit);
}

/* Compares two results of one element. */
static bool is_within(const problem *p, int i, int j, double c,
                      long double other, long double bound, const char *name)
{
    if (fabsl((long double)c - other) <= bound)
        return true;
    printf("%s [%d,%d] x [%d,%d], transposed %d: element %d, %d is %.17g, %s "
           "has %.17Lg, more than %.3Lg away\n",
           p->is_f64 ? "f64" : "f32", p->m, p->k, p->k, p->n, p->flags, i, j, c,
           name, other, bound);
    return false;
}

/* `theirs` is the product of another library, or NULL. */
static bool check(const problem *p, const void *theirs)
{
    const long double unit = p->is_f64 ? 0x1p-53L : 0x1p-24L;
    const long double own = gamma_of(p->k + 1, LDBL_EPSILON / 2);
    const long double bound = gamma_of(p->k, unit);
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            long double sum = 0, magnitude = 0;
            for (int l = 0; l < p->k; l++) {
                const long double x =
                    (long double)a_at(p, i, l) * (long double)b_at(p, l, j);
                sum += x;
                magnitude += fabsl(x);
            }
            /* Computed with rounding, so it may be too small. */
            magnitude *= 1 + own;
            const double c = element(p, p->c, i * p->n + j);
            if (!is_within(p, i, j, c, sum, (bound + own) * magnitude,
                           "the plain loop") ||
                (theirs &&
                 !is_within(p, i, j, c,
                            (long double)element(p, theirs, i * p->n + j),
                            2 * bound * magnitude, "OpenBLAS")))
                return false;
        }
    return true;
}

/* -- OpenBLAS -------------------------------------------------------------- */

/* Order, transposes, sizes, then matrices with their strides. */
typedef void sgemm(int, int, int, int, int, int, float, const float *, int,
                   const float *, int, float, float *, int);
typedef void dgemm(int, int, int, int, int, int, double, const double *, int,
                   const double *, int, double, double *, int);
enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

static sgemm *blas_sgemm;
static dgemm *blas_dgemm;

static void open_blas(void)
{
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library) {
        *(void **)&blas_sgemm = dlsym(library, "cblas_sgemm");
        *(void **)&blas_dgemm = dlsym(library, "cblas_dgemm");
    }
    if (!blas_sgemm || !blas_dgemm)
        printf("OpenBLAS is not found: nothing is compared with it\n");
}

/* Computes the product into `c`; NULL if OpenBLAS is missing. */
static void *multiply_by_blas(const problem *p, void *c)
{
    const bool flips_a = p->flags & TG_TRANSPOSE_A;
    const bool flips_b = p->flags & TG_TRANSPOSE_B;
    const int a_order = flips_a ? TRANSPOSED : PLAIN;
    const int b_order = flips_b ? TRANSPOSED : PLAIN;
    const int a_stride = flips_a ? p->m : p->k;
    const int b_stride = flips_b ? p->k : p->n;
    if (!blas_sgemm || !blas_dgemm)
        return NULL;
    if (p->is_f64)
        blas_dgemm(ROW_MAJOR, a_order, b_order, p->m, p->n, p->k, 1, p->a,
                   a_stride, p->b, b_stride, 0, c, p->n);
    else
        blas_sgemm(ROW_MAJOR, a_order, b_order, p->m, p->n, p->k, 1, p->a,
                   a_stride, p->b, b_stride, 0, c, p->n);
    return c;
}

/* -- Products -------------------------------------------------------------- */

static void multiply(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, tg_matmul_with(in[0], in[1], *(const int *)user));
}

static tg_tensor *wrap(tg_context *ctx, const problem *p, void *matrix,
                       int rows, int columns)
{
    return tg_tensor_wrap(ctx, matrix, p->is_f64 ? TG_F64 : TG_F32,
                          TG_DIMS(rows, columns));
}

static bool call(tg_context *ctx, tg_function *f, const problem *p)
{
    const bool flips_a = p->flags & TG_TRANSPOSE_A;
    const bool flips_b = p->flags & TG_TRANSPOSE_B;
    tg_tensor *a =
        wrap(ctx, p, p->a, flips_a ? p->k : p->m, flips_a ? p->m : p->k);
    tg_tensor *b =
        wrap(ctx, p, p->b, flips_b ? p->n : p->k, flips_b ? p->k : p->n);
    tg_tensor *c = wrap(ctx, p, p->c, p->m, p->n);
    const tg_status status = tg_call(f, TG_ARGS(a, b), TG_RESULTS(&c));
    if (status)
        printf("%s\n", tg_error(NULL));
    tg_tensor_release(a);
    tg_tensor_release(b);
    tg_tensor_release(c);
    return status == TG_OK;
}

/* Checks one size. */
static void run(tg_context *ctx, tg_function *f, problem *p, const int *size)
{
    static double theirs[MAX_ELEMENTS];
    uint64_t random = 1;
    p->m = size[0];
    p->n = size[1];
    p->k = size[2];
    for (int i = 0; i < 3; i++)
        random = 1031 * random + (uint64_t)size[i];
    fill(p, p->a, p->m * p->k, &random);
    fill(p, p->b, p->k * p->n, &random);
    if (call(ctx, f, p) && check(p, multiply_by_blas(p, theirs)))
        n_passed++;
    else
        n_failed++;
}

/* Checks all sizes of one dtype and transposition: with one trace that knows no
   extent, and with exact traces. */
static void run_all(tg_context *ctx, bool is_f64, int flags)
{
    static double a[MAX_ELEMENTS], b[MAX_ELEMENTS], c[MAX_ELEMENTS];
    problem p = {.is_f64 = is_f64, .flags = flags, .a = a, .b = b, .c = c};
    tg_function_options any = TG_FUNCTION_OPTIONS_INIT;
    tg_function_options exact = TG_FUNCTION_OPTIONS_INIT;
    any.policy = TG_RELAXED;
    exact.policy = TG_EXACT;
    tg_function *f = tg_function_create(ctx, multiply, &flags, &any);
    tg_function *g = tg_function_create(ctx, multiply, &flags, &exact);
    if (!f || !g)
        abort();
    for (int i = 0; i < N_OF(sizes); i++)
        for (int j = 0; j < N_OF(sizes); j++)
            for (int l = 0; l < N_OF(sizes); l++)
                run(ctx, f, &p, (const int[]){sizes[i], sizes[j], sizes[l]});
    for (int i = 0; i < N_OF(large); i++)
        run(ctx, g, &p, large[i]);
    tg_function_release(f);
    tg_function_release(g);
}

int main(void)
{
    /* A team would give the same bits, but wait on busy CPUs. */
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.threads = 1;
    tg_context *ctx = tg_context_create(&options);
    if (!ctx)
        return EXIT_FAILURE;
    open_blas();
    for (int flags = 0; flags < 4; flags++)
        for (int type = 0; type < 2; type++)
            run_all(ctx, type, flags);
    tg_context_release(ctx);
    if (tg_live_objects() || tg_live_bytes())
        n_failed++;
    printf("%ld passed, %ld failed\n", n_passed, n_failed);
    return n_failed != 0;
}

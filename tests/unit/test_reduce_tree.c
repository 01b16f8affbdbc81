/* SPDX-License-Identifier: MIT */
/*
 * test_reduce_tree.c - the order of reductions and of matrix-vector products,
 * compared with a naive implementation of reduce_tree.h, which gathers all
 * elements first and combines blocks recursively.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interp/kernel.h"
#include "recipe/reduce_tree.h"
#include "support/support.h"
#include "tgjit/ops.h"

/* -- The naive implementation ---------------------------------------------- */

/* Combines parts[0 … n-1]; the left side has the largest power of 2 below n. */
static float combine_pairwise(const float *parts, int64_t n)
{
    if (n == 1)
        return parts[0];
    int64_t left = 1;
    while (left * 2 < n)
        left *= 2;
    volatile float a = combine_pairwise(parts, left);
    volatile float b = combine_pairwise(parts + left, n - left);
    return a + b;
}

/* Blocks of the run, each reduced by lanes. `y`: second factors, or NULL. */
static float plain_run(const float *x, const float *y, int64_t n)
{
    int64_t block = TGI_BLOCK_STEPS * TGI_LANES_4;
    int64_t n_blocks = (n + block - 1) / block;
    if (n == 0)
        return 0;
    float *parts = malloc((size_t)n_blocks * sizeof(float));
    for (int64_t b = 0; b < n_blocks; b++) {
        volatile float lane[TGI_LANES_4];
        for (int j = 0; j < TGI_LANES_4; j++)
            lane[j] = y ? 0.0f : -0.0f;
        for (int64_t i = b * block; i < n && i < (b + 1) * block; i++) {
            int j = (int)(i % TGI_LANES_4);
            lane[j] = y ? fmaf(x[i], y[i], lane[j]) : lane[j] + x[i];
        }
        for (int half = TGI_LANES_4 / 2; half > 0; half /= 2)
            for (int j = 0; j < half; j++)
                lane[j] = lane[j] + lane[j + half];
        parts[b] = lane[0];
    }
    float total = combine_pairwise(parts, n_blocks);
    free(parts);
    return total;
}

static float plain_rows(const float *rows, int64_t n)
{
    int64_t n_blocks = (n + TGI_BLOCK_ROWS - 1) / TGI_BLOCK_ROWS;
    if (n == 0)
        return 0;
    float *parts = malloc((size_t)n_blocks * sizeof(float));
    for (int64_t b = 0; b < n_blocks; b++) {
        volatile float sum = -0.0f;
        for (int64_t i = b * TGI_BLOCK_ROWS;
             i < n && i < (b + 1) * TGI_BLOCK_ROWS; i++)
            sum = sum + rows[i];
        parts[b] = sum;
    }
    float total = combine_pairwise(parts, n_blocks);
    free(parts);
    return total;
}

/* -- Running the kernel ---------------------------------------------------- */

static tgi_view view_of(void *data, int rank, const int64_t *dims)
{
    static char nothing[8];
    tgi_view view;
    tgi_view_init(&view, data ? data : nothing, TG_F32, rank, dims);
    return view;
}

static void sum(tgi_view out, tgi_view in, uint64_t mask)
{
    tgi_attr_axes attr = {mask};
    tgi_node node = {.op = TGI_OP_SUM, .dtype = TG_F32, .attr = &attr};
    tgi_kernel_args args = {.node = &node, .out = out, .in = &in};
    cr_assert_eq(tgi_kernel_reduce(TGI_OP_SUM, TG_F32)(&args), TG_OK);
}

/* Values whose sum depends on every rounding. */
static float *rough(int64_t n, uint64_t seed)
{
    float *x = malloc((size_t)(n ? n : 1) * sizeof(float));
    uint64_t state = seed;
    for (int64_t i = 0; i < n; i++)
        x[i] = ldexpf((float)((int64_t)random_below(&state, 2001) - 1000),
                      (int)random_below(&state, 24) - 12);
    return x;
}

static bool same_bits(float a, float b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

/* -- Tests ----------------------------------------------------------------- */

Test(reduce_tree, a_run_of_any_length_follows_the_tree)
{
    static const int64_t lengths[] = {0,    1,    2,    63,   64,    65,
                                      127,  4095, 4096, 4097, 12288, 12289,
                                      20480, 28671, 65536, 70001};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        int64_t n = lengths[i];
        float *x = rough(n, (uint64_t)n + 1), out = 7;
        sum(view_of(&out, 0, NULL), view_of(x, 1, &n), 1);
        cr_expect(same_bits(out, plain_run(x, NULL, n)), "length %lld",
                  (long long)n);
        free(x);
    }
}

Test(reduce_tree, rows_of_any_number_follow_the_tree)
{
    static const int64_t lengths[] = {0, 1, 255, 256, 257, 512, 769, 3000};
    enum { COLUMNS = 37 };
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        int64_t n = lengths[i];
        float *x = rough(n * COLUMNS, (uint64_t)n + 5), out[COLUMNS];
        float *column = malloc((size_t)(n + 1) * sizeof(float));
        sum(view_of(out, 1, (int64_t[]){COLUMNS}),
            view_of(x, 2, (int64_t[]){n, COLUMNS}), 1);
        for (int64_t j = 0; j < COLUMNS; j++) {
            for (int64_t k = 0; k < n; k++)
                column[k] = x[k * COLUMNS + j];
            cr_expect(same_bits(out[j], plain_rows(column, n)),
                      "%lld rows, column %lld", (long long)n, (long long)j);
        }
        free(column);
        free(x);
    }
}

/* As threads do: each sums some blocks, in any order. */
Test(reduce_tree, blocks_summed_apart_give_the_same_bits)
{
    enum { BLOCKS = 23, REST = 1234 };
    const int64_t block = TGI_BLOCK_STEPS * TGI_LANES_4;
    const int64_t n = BLOCKS * block + REST, last = REST;
    float *x = rough(n, 77), whole = 7;
    sum(view_of(&whole, 0, NULL), view_of(x, 1, &n), 1);
    for (int threads = 1; threads <= BLOCKS + 1; threads++) {
        float parts[BLOCKS + 1];
        for (int thread = threads - 1; thread >= 0; thread--)
            for (int b = thread; b <= BLOCKS; b += threads)
                sum(view_of(&parts[b], 0, NULL),
                    view_of(x + b * block, 1, b < BLOCKS ? &block : &last), 1);
        cr_expect(same_bits(whole, combine_pairwise(parts, BLOCKS + 1)),
                  "%d threads", threads);
    }
    free(x);
}

/* Every set of axes of a shape; the layout in memory must not matter. */
Test(reduce_tree, axes_at_the_end_are_runs_and_the_others_rows)
{
    const int64_t dims[] = {5, 3, 70, 2};
    int64_t n = 5 * 3 * 70 * 2;
    float *x = rough(n, 99), *t = malloc((size_t)n * sizeof(float));
    float *row_sums = malloc((size_t)n * sizeof(float));
    float *run = malloc((size_t)n * sizeof(float));
    float *out = malloc((size_t)n * sizeof(float));
    float *again = malloc((size_t)n * sizeof(float));
    /* The same elements with the axes in reverse memory order. */
    tgi_view transposed = view_of(t, 4, dims);
    int64_t stride = 1;
    for (int axis = 0; axis < 4; axis++) {
        transposed.strides[axis] = stride;
        stride *= dims[axis];
    }
    tgi_view dense = view_of(x, 4, dims);
    tgi_view_copy(&transposed, &dense);

    for (unsigned mask = 0; mask < 16; mask++) {
        int first = 4;
        while (first > 0 && mask >> (first - 1) & 1)
            first--;
        int64_t out_dims[4], n_out = 1;
        int rank = 0;
        for (int axis = 0; axis < 4; axis++)
            if (!(mask >> axis & 1)) {
                out_dims[rank++] = dims[axis];
                n_out *= dims[axis];
            }
        sum(view_of(out, rank, out_dims), dense, mask);
        sum(view_of(again, rank, out_dims), transposed, mask);
        cr_expect_arr_eq(out, again, (size_t)n_out * sizeof(float),
                         "mask %u, another layout", mask);

        for (int64_t o = 0; o < n_out; o++) {
            int64_t n_rows = 0, n_run = 0;
            /* All elements in row-major order: those of result o. */
            for (int64_t i = 0; i < n; i++) {
                int64_t at[4], left = i, mine = 0;
                for (int axis = 3; axis >= 0; axis--) {
                    at[axis] = left % dims[axis];
                    left /= dims[axis];
                }
                bool begins = true; /* the first of a run */
                for (int axis = 0; axis < 4; axis++) {
                    if (!(mask >> axis & 1))
                        mine = mine * dims[axis] + at[axis];
                    if (axis >= first && at[axis] != 0)
                        begins = false;
                }
                if (mine != o)
                    continue;
                if (begins && n_run) {
                    row_sums[n_rows++] =
                        first < 4 ? plain_run(run, NULL, n_run) : run[0];
                    n_run = 0;
                }
                run[n_run++] = x[i];
            }
            row_sums[n_rows++] =
                first < 4 ? plain_run(run, NULL, n_run) : run[0];
            cr_expect(same_bits(out[o], plain_rows(row_sums, n_rows)),
                      "mask %u, result %lld", mask, (long long)o);
        }
    }
    free(x);
    free(t);
    free(row_sums);
    free(run);
    free(out);
    free(again);
}

Test(reduce_tree, zeros_keep_their_sign_and_nothing_is_plus_zero)
{
    float zeros[] = {-0.0f, -0.0f, -0.0f}, out = 7;
    int64_t n = 3, none = 0;
    sum(view_of(&out, 0, NULL), view_of(zeros, 1, &n), 1);
    cr_expect(same_bits(out, -0.0f));
    sum(view_of(&out, 0, NULL), view_of(NULL, 1, &none), 1);
    cr_expect(same_bits(out, 0.0f));
    /* Empty rows, and no rows. */
    sum(view_of(&out, 0, NULL), view_of(NULL, 2, (int64_t[]){2, 0}), 3);
    cr_expect(same_bits(out, 0.0f));
    float three[3] = {7, 7, 7};
    sum(view_of(three, 1, &n), view_of(NULL, 2, (int64_t[]){0, 3}), 1);
    cr_expect(same_bits(three[0], 0.0f) && same_bits(three[2], 0.0f));
}

/*
 * Every partial sum of ones is a multiple of a large power of two, so the sum
 * is exact; a running sum would stop at 2^24. The view repeats one element.
 */
Test(reduce_tree, a_billion_ones_are_a_billion)
{
    float one = 1, out = 0;
    int64_t n = 1000000000;
    tgi_view ones = view_of(&one, 1, &n);
    ones.strides[0] = 0;
    sum(view_of(&out, 0, NULL), ones, 1);
    cr_expect_eq(out, 1e9f);
}

/* |error| <= depth * 2^-24 * sum |x|, where depth is that of the tree. */
Test(reduce_tree, sums_of_alternating_magnitudes_stay_within_the_bound)
{
    enum { N = 1 << 22 };
    float *x = malloc(N * sizeof(float)), out = 0;
    double exact = 0, magnitudes = 0;
    for (int64_t i = 0; i < N; i++) {
        x[i] = (i % 2 ? -1.0f : 1.0f) * ldexpf(1.0f + (float)(i % 7), i % 30);
        exact += (double)x[i];
        magnitudes += fabs((double)x[i]);
    }
    int64_t n = N;
    sum(view_of(&out, 0, NULL), view_of(x, 1, &n), 1);
    double depth = TGI_BLOCK_STEPS + log2(TGI_LANES_4) +
                   log2((double)N / (TGI_BLOCK_STEPS * TGI_LANES_4));
    cr_expect_leq(fabs((double)out - exact), depth * 0x1p-24 * magnitudes);
    free(x);
}

/* -- Matrix-vector products ------------------------------------------------ */

static void multiply(tgi_view out, tgi_view a, tgi_view b, int flags)
{
    tgi_attr_matmul attr = {flags};
    tgi_node node = {.op = TGI_OP_MATMUL, .dtype = TG_F32, .attr = &attr};
    tgi_view in[] = {a, b};
    tgi_kernel_args args = {.node = &node, .out = out, .in = in};
    cr_assert_eq(tgi_kernel_matmul(TG_F32)(&args), TG_OK);
}

Test(reduce_tree, a_matrix_times_a_vector_is_a_tree_of_products)
{
    static const int64_t lengths[] = {0, 1, 64, 100, 4096, 4097, 9000};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        int64_t k = lengths[i];
        float *a = rough(3 * k, (uint64_t)k + 11);
        float *b = rough(k, (uint64_t)k + 12), out[3] = {7, 7, 7};
        multiply(view_of(out, 2, (int64_t[]){3, 1}),
                 view_of(a, 2, (int64_t[]){3, k}),
                 view_of(b, 2, (int64_t[]){k, 1}), 0);
        for (int row = 0; row < 3; row++)
            cr_expect(same_bits(out[row], plain_run(a + row * k, b, k)),
                      "k %lld", (long long)k);
        /* The same numbers as a vector times a transposed matrix. */
        float other[3] = {7, 7, 7};
        multiply(view_of(other, 2, (int64_t[]){1, 3}),
                 view_of(b, 2, (int64_t[]){1, k}),
                 view_of(a, 2, (int64_t[]){3, k}), TG_TRANSPOSE_B);
        cr_expect_arr_eq(out, other, sizeof(out));
        free(a);
        free(b);
    }
}

/* k is not the last axis of the matrix: k-blocks, as for any matmul. */
Test(reduce_tree, a_vector_times_a_matrix_is_blocked)
{
    enum { K = 300 };
    float *a = rough(K, 21), *b = rough(2 * K, 22), out[2];
    multiply(view_of(out, 2, (int64_t[]){1, 2}),
             view_of(a, 2, (int64_t[]){1, K}),
             view_of(b, 2, (int64_t[]){K, 2}), 0);
    for (int j = 0; j < 2; j++) {
        volatile float panel[2] = {0, 0};
        for (int k = 0; k < K; k++)
            panel[k / 256] = fmaf(a[k], b[2 * k + j], panel[k / 256]);
        volatile float total = panel[0] + panel[1];
        cr_expect(same_bits(out[j], total));
    }
    free(a);
    free(b);
}

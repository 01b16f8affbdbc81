/* SPDX-License-Identifier: MIT */
/*
 * test_kernel.c - kernels over views of any layout: elementwise, index maps,
 * reductions, products, random words, and the views of view nodes.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "interp/kernel.h"
#include "support/support.h"
#include "tgjit/ops.h"

#define DIMS(...) (const int64_t[]){__VA_ARGS__}

/* NULL stands for an empty array, which must not be accessed. */
static tgi_view dense(void *data, tg_dtype dtype, int rank,
                      const int64_t *dims)
{
    tgi_view view;
    char *nowhere = (char *)64;
    tgi_view_init(&view, data ? data : nowhere, dtype, rank, dims);
    return view;
}

/* Runs a kernel whose node has only an attribute. */
static tg_status run(tgi_kernel *kernel, const void *attr, tgi_view out,
                     uint32_t n_inputs, const tgi_view *in)
{
    tgi_node node = {.n_inputs = n_inputs,
                     .attr = attr,
                     .site = &(tgi_site_chain){.file = "k.c", .line = 7}};
    tgi_kernel_args args = {.node = &node, .out = out, .in = in};
    cr_assert_not_null(kernel);
    return kernel(&args);
}

/* The same for GATHER, whose messages name the op. */
static tg_status run_gather(tg_dtype dtype, tg_dtype index_dtype,
                            const void *attr, tgi_view out, uint32_t n_inputs,
                            const tgi_view *in)
{
    tgi_node node = {.op = TGI_OP_GATHER,
                     .n_inputs = n_inputs,
                     .attr = attr,
                     .site = &(tgi_site_chain){.file = "k.c", .line = 7}};
    tgi_kernel_args args = {.node = &node, .out = out, .in = in};
    return tgi_kernel_gather(dtype, index_dtype)(&args);
}

/* -- Elementwise over views ------------------------------------------------ */

Test(kernel, elementwise_follows_any_strides)
{
    /* out[i][j] = a[j][i] - b reversed along i, repeated along j */
    int32_t a[] = {1, 2, 3, 4, 5, 6}, b[] = {10, 20, 30}, out[6];
    tgi_view in[2] = {dense(a, TG_I32, 2, DIMS(3, 2)),
                      dense(b + 2, TG_I32, 2, DIMS(3, 2))};
    in[0].strides[0] = 1;
    in[0].strides[1] = 3;
    in[1].strides[0] = -1;
    in[1].strides[1] = 0;
    cr_assert_eq(run(tgi_kernel_elementwise(TGI_OP_SUB, TG_I32, TG_I32), NULL,
                     dense(out, TG_I32, 2, DIMS(3, 2)), 2, in),
                 TG_OK);
    cr_expect_arr_eq(out, ((int32_t[]){-29, -26, -18, -15, -7, -4}), 24);
}

Test(kernel, elementwise_of_nothing_touches_nothing)
{
    tgi_view in[2] = {dense(NULL, TG_F32, 3, DIMS(2, 0, 3)),
                      dense(NULL, TG_F32, 3, DIMS(2, 0, 3))};
    cr_expect_eq(run(tgi_kernel_elementwise(TGI_OP_ADD, TG_F32, TG_F32), NULL,
                     dense(NULL, TG_F32, 3, DIMS(2, 0, 3)), 2, in),
                 TG_OK);
}

Test(kernel, elementwise_of_a_scalar)
{
    double x = 9, out;
    tgi_view in = dense(&x, TG_F64, 0, NULL);
    run(tgi_kernel_elementwise(TGI_OP_SQRT, TG_F64, TG_F64), NULL,
        dense(&out, TG_F64, 0, NULL), 1, &in);
    cr_expect_eq(out, 3);
}

Test(kernel, elementwise_of_eight_axes_in_random_order)
{
    /* Every permutation of strides gives the same as copying first. */
    enum { N = 256 };
    uint16_t x[N], moved[N], out[N];
    int64_t dims[8] = {2, 2, 2, 2, 2, 2, 2, 2};
    uint32_t seed = 1;
    for (int i = 0; i < N; i++)
        x[i] = (uint16_t)(i * 257);
    for (int round = 0; round < 50; round++) {
        tgi_view in = dense(x, TG_U16, 8, dims);
        for (int i = 7; i > 0; i--) {
            seed = seed * 1664525u + 1013904223u;
            int k = (int)(seed >> 16) % (i + 1);
            int64_t stride = in.strides[i];
            in.strides[i] = in.strides[k];
            in.strides[k] = stride;
        }
        tgi_view to = dense(moved, TG_U16, 8, dims);
        tgi_view_copy(&to, &in);
        run(tgi_kernel_elementwise(TGI_OP_NEG, TG_U16, TG_U16), NULL,
            dense(out, TG_U16, 8, dims), 1, &in);
        for (int i = 0; i < N; i++)
            cr_assert_eq(out[i], (uint16_t)-moved[i]);
    }
}

/* -- Index maps ------------------------------------------------------------ */

Test(kernel, iota_counts_along_one_axis)
{
    uint8_t wrapped[300];
    float out[12];
    tgi_attr_index axis = {1};
    run(tgi_kernel_index(TGI_OP_IOTA, TG_F32, 0), &axis,
        dense(out, TG_F32, 3, DIMS(2, 3, 2)), 0, NULL);
    cr_expect_arr_eq(out,
                     ((float[]){0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}), 48);
    axis.index = 0;
    run(tgi_kernel_index(TGI_OP_IOTA, TG_U8, 0), &axis,
        dense(wrapped, TG_U8, 1, DIMS(300)), 0, NULL);
    cr_expect_eq(wrapped[299], 43);
    run(tgi_kernel_index(TGI_OP_IOTA, TG_U8, 0), &axis,
        dense(NULL, TG_U8, 2, DIMS(3, 0)), 0, NULL);
}

Test(kernel, extent_gives_the_extent)
{
    int64_t out;
    tgi_attr_index extent = {42};
    run(tgi_kernel_index(TGI_OP_EXTENT, TG_I64, 0), &extent,
        dense(&out, TG_I64, 0, NULL), 0, NULL);
    cr_expect_eq(out, 42);
}

Test(kernel, pad_adds_before_after_and_between)
{
    int16_t x[] = {1, 2, 3, 4}, value = -1, out[4 * 6];
    tgi_view in[] = {dense(x, TG_I16, 2, DIMS(2, 2)),
                     dense(&value, TG_I16, 0, NULL)};
    tgi_attr_pad attr = {.low = {1, 0}, .high = {0, 2}, .interior = {1, 2}};
    run(tgi_kernel_index(TGI_OP_PAD, TG_I16, TG_I16), &attr,
        dense(out, TG_I16, 2, DIMS(4, 6)), 2, in);
    cr_expect_arr_eq(out,
                     ((int16_t[]){-1, -1, -1, -1, -1, -1, /**/
                                  1, -1, -1, 2, -1, -1,   /**/
                                  -1, -1, -1, -1, -1, -1, /**/
                                  3, -1, -1, 4, -1, -1}),
                     sizeof(out));
}

Test(kernel, pad_of_nothing_is_all_padding)
{
    double value = 7, out[3];
    tgi_view in[] = {dense(NULL, TG_F64, 1, DIMS(0)),
                     dense(&value, TG_F64, 0, NULL)};
    tgi_attr_pad attr = {.low = {1}, .high = {2}, .interior = {5}};
    run(tgi_kernel_index(TGI_OP_PAD, TG_F64, TG_F64), &attr,
        dense(out, TG_F64, 1, DIMS(3)), 2, in);
    cr_expect(out[0] == 7 && out[1] == 7 && out[2] == 7);
}

Test(kernel, concat_joins_also_empty_and_reversed_parts)
{
    uint8_t a[] = {1, 2, 3, 4}, b[] = {5, 6}, out[6];
    tgi_view in[] = {dense(a + 3, TG_U8, 2, DIMS(2, 2)),
                     dense(NULL, TG_U8, 2, DIMS(2, 0)),
                     dense(b, TG_U8, 2, DIMS(2, 1))};
    in[0].strides[0] = -2;
    in[0].strides[1] = -1;
    tgi_attr_index axis = {1};
    run(tgi_kernel_index(TGI_OP_CONCAT, TG_U8, TG_U8), &axis,
        dense(out, TG_U8, 2, DIMS(2, 3)), 3, in);
    cr_expect_arr_eq(out, ((uint8_t[]){4, 3, 5, 2, 1, 6}), 6);
}

Test(kernel, gather_replaces_an_axis_by_those_of_the_indices)
{
    float x[] = {0, 1, 2, 10, 11, 12}, out[8];
    uint8_t indices[] = {2, 0, 1, 1};
    tgi_view in[] = {dense(x, TG_F32, 2, DIMS(2, 3)),
                     dense(indices, TG_U8, 2, DIMS(2, 2))};
    tgi_attr_gather attr = {1, TG_GATHER_CHECK};
    cr_assert_eq(run_gather(TG_F32, TG_U8, &attr,
                            dense(out, TG_F32, 3, DIMS(2, 2, 2)), 2, in),
                 TG_OK);
    cr_expect_arr_eq(out, ((float[]){2, 0, 1, 1, 12, 10, 11, 11}), 32);
}

Test(kernel, gather_of_rows_of_a_transposed_view)
{
    int8_t x[] = {1, 2, 3, 4, 5, 6}, out[4]; /* seen as [2,3] transposed */
    int64_t indices[] = {2, 0};
    tgi_view in[] = {dense(x, TG_I8, 2, DIMS(3, 2)),
                     dense(indices + 1, TG_I64, 1, DIMS(2))};
    in[0].strides[0] = 1;
    in[0].strides[1] = 3;
    in[1].strides[0] = -1;
    tgi_attr_gather attr = {0, TG_GATHER_CHECK};
    run_gather(TG_I8, TG_I64, &attr,
               dense(out, TG_I8, 2, DIMS(2, 2)), 2, in);
    cr_expect_arr_eq(out, ((int8_t[]){1, 4, 3, 6}), 4);
}

Test(kernel, gather_reports_the_first_index_out_of_range)
{
    float x[10], out[16];
    int32_t indices[] = {0, 1, 4, 7, -1, 0, 0, 9};
    tgi_view in[] = {dense(x, TG_F32, 2, DIMS(2, 5)),
                     dense(indices, TG_I32, 2, DIMS(2, 4))};
    tgi_attr_gather attr = {1, TG_GATHER_CHECK};
    cr_assert_eq(run_gather(TG_F32, TG_I32, &attr,
                            dense(out, TG_F32, 3, DIMS(2, 2, 4)), 2, in),
                 TG_ERROR_INDEX);
    cr_expect_str_eq(tg_error(NULL),
                     "k.c:7: gather: index 7 at position [0,3] is out of "
                     "range for axis 1 of extent 5");

    uint8_t extent = 5;
    in[1] = dense(&extent, TG_U8, 0, NULL);
    cr_expect_eq(run_gather(TG_F32, TG_U8, &attr,
                            dense(out, TG_F32, 1, DIMS(2)), 2, in),
                 TG_ERROR_INDEX);
    uint64_t huge = UINT64_MAX;
    in[1] = dense(&huge, TG_U64, 0, NULL);
    cr_assert_eq(run_gather(TG_F32, TG_U64, &attr,
                            dense(out, TG_F32, 1, DIMS(2)), 2, in),
                 TG_ERROR_INDEX);
    cr_expect_str_eq(tg_error(NULL),
                     "k.c:7: gather: index 18446744073709551615 at position "
                     "[] is out of range for axis 1 of extent 5");
}

Test(kernel, gather_clamps_or_clears_on_request)
{
    double x[] = {1, 2, 3}, out[4];
    int64_t indices[] = {-5, 1, 3, INT64_MAX};
    tgi_view in[] = {dense(x, TG_F64, 1, DIMS(3)),
                     dense(indices, TG_I64, 1, DIMS(4))};
    tgi_attr_gather attr = {0, TG_GATHER_CLAMP};
    run_gather(TG_F64, TG_I64, &attr,
               dense(out, TG_F64, 1, DIMS(4)), 2, in);
    cr_expect_arr_eq(out, ((double[]){1, 2, 3, 3}), sizeof(out));
    attr.mode = TG_GATHER_ZERO;
    run_gather(TG_F64, TG_I64, &attr,
               dense(out, TG_F64, 1, DIMS(4)), 2, in);
    cr_expect_arr_eq(out, ((double[]){0, 2, 0, 0}), sizeof(out));

    in[0] = dense(NULL, TG_F64, 1, DIMS(0));
    memset(out, 1, sizeof(out));
    run_gather(TG_F64, TG_I64, &attr,
               dense(out, TG_F64, 1, DIMS(4)), 2, in);
    cr_expect_arr_eq(out, ((double[]){0, 0, 0, 0}), sizeof(out));
}

Test(kernel, scatter_takes_its_updates_in_order)
{
    float x[3] = {1, 2, 3}, out[3];
    float updates[] = {1e8f, 5, -1e8f, 7, 1};
    int16_t at[] = {0, 2, 0, 2, 0};
    tgi_view in[] = {dense(x, TG_F32, 1, DIMS(3)),
                     dense(at, TG_I16, 1, DIMS(5)),
                     dense(updates, TG_F32, 1, DIMS(5))};
    tgi_attr_scatter attr = {0, TG_SCATTER_SET, TG_SCATTER_CHECK};
    run(tgi_kernel_scatter(TG_F32, TG_I16), &attr,
        dense(out, TG_F32, 1, DIMS(3)), 3, in);
    cr_expect_arr_eq(out, ((float[]){1, 2, 7}), sizeof(out));
    /* ((1 + 1e8) - 1e8) + 1 is 1; in another order it would be 2. */
    attr.mode = TG_SCATTER_ADD;
    run(tgi_kernel_scatter(TG_F32, TG_I16), &attr,
        dense(out, TG_F32, 1, DIMS(3)), 3, in);
    cr_expect_arr_eq(out, ((float[]){1, 2, 15}), sizeof(out));
    at[1] = -1;
    at[3] = 3;
    attr.range = TG_SCATTER_DROP;
    run(tgi_kernel_scatter(TG_F32, TG_I16), &attr,
        dense(out, TG_F32, 1, DIMS(3)), 3, in);
    cr_expect_arr_eq(out, ((float[]){1, 2, 3}), sizeof(out));
    cr_expect_null(tgi_kernel_scatter(TG_F32, TG_F32));
}

Test(kernel, gather_takes_integer_indices_only)
{
    cr_expect_null(tgi_kernel_gather(TG_F32, TG_F32));
    cr_expect_null(tgi_kernel_gather(TG_F32, TG_BOOL));
}

/* -- Reductions ------------------------------------------------------------ */

static void reduce(tgi_op op, uint64_t mask, tgi_view out, tgi_view in)
{
    tgi_attr_axes attr = {mask};
    cr_assert_eq(run(tgi_kernel_reduce(op, in.dtype), &attr, out, 1, &in),
                 TG_OK);
}

static int64_t find(tgi_op op, tg_dtype dtype, void *data, int64_t n)
{
    int64_t out;
    tgi_attr_index axis = {0};
    tgi_view in = dense(data, dtype, 1, &n);
    run(tgi_kernel_reduce(op, dtype), &axis, dense(&out, TG_I64, 0, NULL), 1,
        &in);
    return out;
}

Test(kernel, reductions_take_any_set_of_axes)
{
    int32_t x[24], out[24];
    for (int i = 0; i < 24; i++)
        x[i] = i;
    for (unsigned mask = 0; mask < 8; mask++) {
        int64_t dims[3] = {2, 3, 4}, out_dims[3];
        int rank = 0;
        for (int axis = 0; axis < 3; axis++)
            if (!(mask >> axis & 1))
                out_dims[rank++] = dims[axis];
        tgi_view to = dense(out, TG_I32, rank, out_dims);
        reduce(TGI_OP_SUM, mask, to, dense(x, TG_I32, 3, dims));
        int32_t expected[24] = {0};
        for (int i = 0; i < 24; i++) {
            int position[3] = {i / 12, i / 4 % 3, i % 4}, at = 0;
            for (int axis = 0; axis < 3; axis++)
                if (!(mask >> axis & 1))
                    at = at * (int)dims[axis] + position[axis];
            expected[at] += x[i];
        }
        cr_expect_arr_eq(out, expected,
                         (size_t)tgi_view_count(&to) * sizeof(int32_t),
                         "mask %u", mask);
    }
}

Test(kernel, reductions_of_nothing_give_the_identity)
{
    float f[2] = {9, 9};
    uint8_t u[2] = {9, 9};
    reduce(TGI_OP_SUM, 2, dense(f, TG_F32, 1, DIMS(2)),
           dense(NULL, TG_F32, 2, DIMS(2, 0)));
    cr_expect(f[0] == 0 && f[1] == 0 && !signbit(f[0]));
    reduce(TGI_OP_PROD, 2, dense(u, TG_U8, 1, DIMS(2)),
           dense(NULL, TG_U8, 2, DIMS(2, 0)));
    cr_expect(u[0] == 1 && u[1] == 1);
    reduce(TGI_OP_REDUCE_MAX, 1, dense(NULL, TG_U8, 1, DIMS(0)),
           dense(NULL, TG_U8, 2, DIMS(2, 0)));
}

Test(kernel, integer_reductions_wrap)
{
    int8_t x[] = {100, 100}, out;
    reduce(TGI_OP_SUM, 1, dense(&out, TG_I8, 0, NULL),
           dense(x, TG_I8, 1, DIMS(2)));
    cr_expect_eq(out, -56);
    reduce(TGI_OP_PROD, 1, dense(&out, TG_I8, 0, NULL),
           dense(x, TG_I8, 1, DIMS(2)));
    cr_expect_eq(out, 16);
}

Test(kernel, extremes_start_from_the_worst_and_keep_nan_and_zeros)
{
    int64_t low[] = {INT64_MIN, INT64_MIN}, i;
    reduce(TGI_OP_REDUCE_MAX, 1, dense(&i, TG_I64, 0, NULL),
           dense(low, TG_I64, 1, DIMS(2)));
    cr_expect_eq(i, INT64_MIN);
    int64_t high[] = {INT64_MAX};
    reduce(TGI_OP_REDUCE_MIN, 1, dense(&i, TG_I64, 0, NULL),
           dense(high, TG_I64, 1, DIMS(1)));
    cr_expect_eq(i, INT64_MAX);
    double out, zeros[] = {-0.0, 0.0, -0.0}, nan[] = {1, (double)NAN, 2};
    reduce(TGI_OP_REDUCE_MAX, 1, dense(&out, TG_F64, 0, NULL),
           dense(zeros, TG_F64, 1, DIMS(3)));
    cr_expect(out == 0 && !signbit(out));
    reduce(TGI_OP_REDUCE_MIN, 1, dense(&out, TG_F64, 0, NULL),
           dense(zeros, TG_F64, 1, DIMS(3)));
    cr_expect(out == 0 && signbit(out));
    reduce(TGI_OP_REDUCE_MAX, 1, dense(&out, TG_F64, 0, NULL),
           dense(nan, TG_F64, 1, DIMS(3)));
    cr_expect(isnan(out));
    double infinite[] = {-(double)INFINITY};
    reduce(TGI_OP_REDUCE_MAX, 1, dense(&out, TG_F64, 0, NULL),
           dense(infinite, TG_F64, 1, DIMS(1)));
    cr_expect_eq(out, infinite[0]);
    uint8_t truth[] = {0, 1, 0}, any;
    reduce(TGI_OP_REDUCE_MAX, 1, dense(&any, TG_BOOL, 0, NULL),
           dense(truth, TG_BOOL, 1, DIMS(3)));
    cr_expect_eq(any, 1);
    reduce(TGI_OP_REDUCE_MIN, 1, dense(&any, TG_BOOL, 0, NULL),
           dense(truth, TG_BOOL, 1, DIMS(3)));
    cr_expect_eq(any, 0);
}

Test(kernel, positions_are_those_of_the_first_and_nan_wins)
{
    int32_t x[] = {3, 9, 1, 9, 1};
    cr_expect_eq(find(TGI_OP_ARGMAX, TG_I32, x, 5), 1);
    cr_expect_eq(find(TGI_OP_ARGMIN, TG_I32, x, 5), 2);
    float nan[] = {3, NAN, INFINITY, NAN, -INFINITY};
    cr_expect_eq(find(TGI_OP_ARGMAX, TG_F32, nan, 5), 1);
    cr_expect_eq(find(TGI_OP_ARGMIN, TG_F32, nan, 5), 1);
    float worst[] = {-INFINITY, -INFINITY}, first[] = {NAN, 5};
    cr_expect_eq(find(TGI_OP_ARGMAX, TG_F32, worst, 2), 0);
    cr_expect_eq(find(TGI_OP_ARGMAX, TG_F32, first, 2), 0);
    uint8_t truth[] = {0, 1, 1};
    cr_expect_eq(find(TGI_OP_ARGMAX, TG_BOOL, truth, 3), 1);
}

Test(kernel, positions_along_a_middle_axis_of_a_view)
{
    int16_t x[] = {1, 5, 2, 4, 3, 3, 9, 0, 8, 1, 7, 2};
    int64_t out[4];
    tgi_attr_index axis = {1};
    tgi_view in = dense(x, TG_I16, 3, DIMS(2, 3, 2));
    run(tgi_kernel_reduce(TGI_OP_ARGMAX, TG_I16), &axis,
        dense(out, TG_I64, 2, DIMS(2, 2)), 1, &in);
    cr_expect_arr_eq(out, ((int64_t[]){2, 0, 0, 2}), sizeof(out));
}

/* -- Products -------------------------------------------------------------- */

static void matmul(int64_t flags, tgi_view out, tgi_view a, tgi_view b)
{
    tgi_attr_matmul attr = {flags};
    cr_assert_eq(run(tgi_kernel_matmul(out.dtype), &attr, out, 2,
                     (tgi_view[]){a, b}),
                 TG_OK);
}

Test(kernel, matmul_follows_the_order_of_panels)
{
    enum { M = 3, K = 600, N = 37 };
    static float a[M * K], b[K * N], out[M * N];
    uint32_t seed = 7;
    for (int i = 0; i < M * K; i++)
        a[i] = (float)((int32_t)(seed = seed * 1664525u + 1) >> 8) * 0x1p-20f;
    for (int i = 0; i < K * N; i++)
        b[i] = (float)((int32_t)(seed = seed * 1664525u + 1) >> 8) * 0x1p-20f;
    matmul(0, dense(out, TG_F32, 2, DIMS(M, N)),
           dense(a, TG_F32, 2, DIMS(M, K)), dense(b, TG_F32, 2, DIMS(K, N)));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            volatile float panels[3] = {0, 0, 0};
            for (int k = 0; k < K; k++)
                panels[k / 256] =
                    fmaf(a[i * K + k], b[k * N + j], panels[k / 256]);
            volatile float sum = panels[0] + panels[1];
            sum = sum + panels[2];
            cr_assert_eq(out[i * N + j], sum, "%d %d", i, j);
        }
}

Test(kernel, matmul_transposes_either_side)
{
    /* [2,3] x [3,2] in all four layouts. */
    int32_t a[] = {1, 2, 3, 4, 5, 6}, at[] = {1, 4, 2, 5, 3, 6};
    int32_t b[] = {7, 8, 9, 10, 11, 12}, bt[] = {7, 9, 11, 8, 10, 12};
    int32_t expected[] = {58, 64, 139, 154}, out[4];
    for (int flags = 0; flags < 4; flags++) {
        bool flip_a = flags & TG_TRANSPOSE_A, flip_b = flags & TG_TRANSPOSE_B;
        matmul(flags, dense(out, TG_I32, 2, DIMS(2, 2)),
               flip_a ? dense(at, TG_I32, 2, DIMS(3, 2))
                      : dense(a, TG_I32, 2, DIMS(2, 3)),
               flip_b ? dense(bt, TG_I32, 2, DIMS(2, 3))
                      : dense(b, TG_I32, 2, DIMS(3, 2)));
        cr_expect_arr_eq(out, expected, sizeof(out), "flags %d", flags);
    }
}

Test(kernel, matmul_broadcasts_batches)
{
    /* a [2,1,1,2], b [3,2,1]: result [2,3,1,1] */
    int64_t a[] = {1, 2, 3, 4}, b[] = {1, 10, 100, 1000, 5, 6}, out[6];
    matmul(0, dense(out, TG_I64, 4, DIMS(2, 3, 1, 1)),
           dense(a, TG_I64, 4, DIMS(2, 1, 1, 2)),
           dense(b, TG_I64, 3, DIMS(3, 2, 1)));
    cr_expect_arr_eq(out, ((int64_t[]){21, 2100, 17, 43, 4300, 39}),
                     sizeof(out));
}

Test(kernel, matmul_over_no_k_is_zero_and_integers_wrap)
{
    double out[2] = {5, 5};
    matmul(0, dense(out, TG_F64, 2, DIMS(1, 2)),
           dense(NULL, TG_F64, 2, DIMS(1, 0)),
           dense(NULL, TG_F64, 2, DIMS(0, 2)));
    cr_expect(out[0] == 0 && out[1] == 0 && !signbit(out[0]));
    uint8_t a[] = {200, 200}, b[] = {200, 3}, wrapped;
    matmul(0, dense(&wrapped, TG_U8, 2, DIMS(1, 1)),
           dense(a, TG_U8, 2, DIMS(1, 2)), dense(b, TG_U8, 2, DIMS(2, 1)));
    cr_expect_eq(wrapped, (uint8_t)(40000 + 600));
    matmul(0, dense(NULL, TG_U8, 2, DIMS(0, 1)),
           dense(NULL, TG_U8, 2, DIMS(0, 2)), dense(b, TG_U8, 2, DIMS(2, 1)));
    cr_expect_null(tgi_kernel_matmul(TG_BOOL));
}

/* -- Random words ---------------------------------------------------------- */

static void random_words(tg_dtype dtype, uint64_t key, uint64_t offset,
                         void *out, int64_t n)
{
    tgi_view in[] = {dense(&key, TG_U64, 0, NULL),
                     dense(&offset, TG_U64, 0, NULL)};
    run(tgi_kernel_random(dtype), NULL, dense(out, dtype, 1, &n), 2, in);
}

Test(kernel, random_words_are_those_of_philox)
{
    /* Known answers of Philox4x32-10. */
    uint32_t out[9], part[5];
    random_words(TG_U32, 0, 0, out, 4);
    cr_expect_arr_eq(
        out,
        ((uint32_t[]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}), 16);

    random_words(TG_U32, 0x123456789abcdefull, 1000, out, 9);
    random_words(TG_U32, 0x123456789abcdefull, 1003, part, 5);
    cr_expect_arr_eq(part, out + 3, sizeof(part));
    random_words(TG_U32, 0x23456789abcdefull, 1003, part, 5);
    cr_expect_arr_neq(part, out + 3, sizeof(part));
}

Test(kernel, random_u64_are_pairs_of_words)
{
    uint32_t words[6];
    uint64_t pairs[3];
    random_words(TG_U32, 5, 3, words, 6);
    random_words(TG_U64, 5, 3, pairs, 3);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(pairs[i],
                     words[2 * i] | (uint64_t)words[2 * i + 1] << 32);
}

Test(kernel, random_streams_wrap_around_after_the_last_word)
{
    uint32_t out[3], first[2];
    random_words(TG_U32, 5, UINT64_MAX, out, 3);
    random_words(TG_U32, 5, 0, first, 2);
    cr_expect_arr_eq(out + 1, first, sizeof(first));
    cr_expect_null(tgi_kernel_random(TG_F32));
}

/* -- Views ----------------------------------------------------------------- */

/* The view of one node with known extents; false if it needs a copy. */
static bool view_of(tgi_op op, const void *attr, int rank,
                    const int64_t *dims, tgi_view in, tgi_view *out)
{
    tgi_graph *graph = tgi_graph_create("views", NULL);
    tgi_node node = {.op = (uint8_t)op, .dtype = in.dtype, .attr = attr};
    node.shape = tgi_shape_intern(graph->dims, rank, dims);
    bool can = tgi_kernel_view(graph, &node, NULL, &in, out);
    tgi_graph_release(graph);
    check_nothing_is_alive();
    return can;
}

/* Checks the elements of a view of int8_t, in row-major order. */
static void expect_elements(const tgi_view *view, const int8_t *expected)
{
    int8_t out[64];
    tgi_view to = dense(out, TG_I8, view->rank, view->dims);
    tgi_view_copy(&to, view);
    cr_expect_arr_eq(out, expected, (size_t)tgi_view_count(view));
}

Test(kernel, views_broadcast_transpose_and_slice)
{
    int8_t x[] = {1, 2, 3, 4, 5, 6};
    tgi_view out;
    cr_assert(view_of(TGI_OP_BROADCAST, NULL, 3, DIMS(2, 2, 3),
                      dense(x, TG_I8, 2, DIMS(1, 3)), &out));
    expect_elements(&out,
                    (int8_t[]){1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3});
    tgi_attr_perm perm = {{1, 0}};
    cr_assert(view_of(TGI_OP_TRANSPOSE, &perm, 2, DIMS(3, 2),
                      dense(x, TG_I8, 2, DIMS(2, 3)), &out));
    expect_elements(&out, (int8_t[]){1, 4, 2, 5, 3, 6});
    tgi_attr_slice slice = {{1, 2}, {1, -2}};
    cr_assert(view_of(TGI_OP_SLICE, &slice, 2, DIMS(1, 2),
                      dense(x, TG_I8, 2, DIMS(2, 3)), &out));
    expect_elements(&out, (int8_t[]){6, 4});
    tgi_attr_slice nothing = {{6}, {INT64_MAX}};
    cr_assert(view_of(TGI_OP_SLICE, &nothing, 1, DIMS(0),
                      dense(x, TG_I8, 1, DIMS(6)), &out));
    cr_expect_eq(out.data, (char *)x);
}

Test(kernel, views_reshape_contiguous_axes)
{
    int8_t x[24];
    for (int i = 0; i < 24; i++)
        x[i] = (int8_t)i;
    tgi_view out;
    /* Dense, with axes of 1 on both sides. */
    cr_assert(view_of(TGI_OP_RESHAPE, NULL, 5, DIMS(1, 6, 1, 4, 1),
                      dense(x, TG_I8, 3, DIMS(2, 1, 12)), &out));
    expect_elements(&out, x);
    /* A gap between rows of 4: splitting rows is a view, merging them not. */
    tgi_view rows = dense(x, TG_I8, 2, DIMS(3, 4));
    rows.strides[0] = 8;
    cr_assert(view_of(TGI_OP_RESHAPE, NULL, 3, DIMS(3, 2, 2), rows, &out));
    expect_elements(&out,
                    (int8_t[]){0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19});
    cr_expect_not(view_of(TGI_OP_RESHAPE, NULL, 1, DIMS(12), rows, &out));
    cr_expect_not(view_of(TGI_OP_RESHAPE, NULL, 2, DIMS(6, 2), rows, &out));
    /* Broadcast elements stay broadcast. */
    tgi_view repeated = dense(x + 5, TG_I8, 2, DIMS(2, 3));
    repeated.strides[0] = repeated.strides[1] = 0;
    cr_assert(view_of(TGI_OP_RESHAPE, NULL, 1, DIMS(6), repeated, &out));
    expect_elements(&out, (int8_t[]){5, 5, 5, 5, 5, 5});
    /* To and from a scalar, and of an empty shape. */
    cr_assert(view_of(TGI_OP_RESHAPE, NULL, 0, NULL,
                      dense(x + 7, TG_I8, 2, DIMS(1, 1)), &out));
    expect_elements(&out, (int8_t[]){7});
    cr_assert(view_of(TGI_OP_RESHAPE, NULL, 2, DIMS(1, 1),
                      dense(x + 7, TG_I8, 0, NULL), &out));
    expect_elements(&out, (int8_t[]){7});
    cr_assert(view_of(TGI_OP_RESHAPE, NULL, 3, DIMS(0, 7, 2),
                      dense(NULL, TG_I8, 2, DIMS(5, 0)), &out));
}

/* SPDX-License-Identifier: MIT */
/*
 * test_llvm_reduce.c - compiled reductions have the bits of the interpreter's
 * kernels (which tests/unit/test_reduce_tree.c checks against reduce_tree.h)
 * for every op and dtype, many lengths, thread counts and vector widths.
 */
#include <math.h>

#include "interp/kernel.h"
#include "recipe/reduce_tree.h"
#include "support/loops_building.h"
#include "support/support.h"
#include "tgjit/ops.h"

static const unsigned widths[] = {128, 256};
#define each_width(w) for (size_t w = 0; w < 2; w++)
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* -- Elements -------------------------------------------------------------- */

/* Numbers whose sums depend on every rounding, with occasional special
   values. */
static void fill(guarded *g, int dtype, uint64_t seed, bool has_odd)
{
    static const double odd[] = {0.0, -0.0, (double)INFINITY,
                                 -(double)INFINITY, (double)NAN};
    const size_t bytes = (size_t)tgi_dtype_bytes(dtype);
    uint64_t state = seed;
    for (size_t i = 0; i < g->bytes / bytes; i++) {
        uint64_t bits = random_next(&state);
        if (dtype == TG_BOOL)
            bits &= 1;
        if (tgi_dtype_is(dtype, TGI_CLASS_FLOAT)) {
            double x = ldexp((double)(bits % 2001) - 1000,
                             (int)(bits >> 32) % 12 - 14);
            if (has_odd && bits >> 50 == 3)
                x = odd[bits % LENGTH(odd)];
            cr_assert(tgi_dtype_store(
                dtype, (tgi_number){.kind = TGI_NUMBER_FLOAT, .as = {.f = x}},
                &bits));
        }
        memcpy(g->data + i * bytes, &bits, bytes);
    }
}

static guarded new_filled(int dtype, int64_t n, uint64_t seed, bool has_odd)
{
    guarded g =
        new_guarded((size_t)(n * tgi_dtype_bytes(dtype)), seed % 2);
    fill(&g, dtype, seed, has_odd);
    return g;
}

/* The same bits, or both NaN. */
static bool is_same(int dtype, const char *a, const char *b)
{
    const size_t bytes = (size_t)tgi_dtype_bytes(dtype);
    if (memcmp(a, b, bytes) == 0)
        return true;
    return tgi_dtype_is(dtype, TGI_CLASS_FLOAT) &&
           isnan(tgi_dtype_load(dtype, a).as.f) &&
           isnan(tgi_dtype_load(dtype, b).as.f);
}

static void expect_same(int dtype, const guarded *a, const guarded *b,
                        const char *what, int64_t rows, int64_t columns)
{
    const size_t bytes = (size_t)tgi_dtype_bytes(dtype);
    for (size_t i = 0; i < a->bytes; i += bytes) {
        char text[2][40];
        if (is_same(dtype, a->data + i, b->data + i))
            continue;
        tgi_dtype_format(dtype, a->data + i, text[0], sizeof(text[0]));
        tgi_dtype_format(dtype, b->data + i, text[1], sizeof(text[1]));
        cr_expect(false, "%s, dtype %d, [%lld,%lld]: %s instead of %s at %zu",
                  what, dtype, (long long)rows, (long long)columns, text[0],
                  text[1], i / bytes);
        return;
    }
}

/* -- Expected values, from the interpreter --------------------------------- */

/* Reduces [rows, columns] along one axis. */
static void interpret(tgi_op op, int dtype, const guarded *x, int64_t rows,
                      int64_t columns, int axis, guarded *out)
{
    const bool is_arg = tgi_op_table[op].result == TGI_RESULT_I64;
    const int64_t left = axis ? rows : columns;
    tgi_view in, to;
    tgi_view_init(&in, x->data, (tg_dtype)dtype, 2,
                  (int64_t[]){rows, columns});
    tgi_view_init(&to, out->data, is_arg ? TG_I64 : (tg_dtype)dtype, 1,
                  &left);
    tgi_attr_axes axes = {UINT64_C(1) << axis};
    tgi_attr_index index = {axis};
    tgi_node node = {.op = (uint8_t)op,
                     .dtype = to.dtype,
                     .attr = is_arg ? (const void *)&index : &axes};
    tgi_kernel_args args = {.node = &node, .out = to, .in = &in};
    cr_assert_eq(tgi_kernel_reduce(op, dtype)(&args), TG_OK);
}

static bool takes(tgi_op op, int dtype)
{
    return tgi_dtype_is_valid(dtype) &&
           tgi_dtype_is(dtype, tgi_op_table[op].types);
}

/* -- Rows ------------------------------------------------------------------ */

static const tgi_op plain_ops[] = {TGI_OP_SUM, TGI_OP_PROD, TGI_OP_REDUCE_MAX,
                                   TGI_OP_REDUCE_MIN};

/* out[i] = reduce x[i][0 … n-1]; n is a symbol if it is negative. */
static code compile_rows(tgi_op op, int dtype, int64_t rows, int64_t n,
                         unsigned bits)
{
    tgi_loops *loops = new_loops("rows");
    const tgi_dim size =
        n < 0 ? tgi_dim_symbol(loops->dims, (tgi_symbol){0, 0}) : n;
    const tgi_dim extent[] = {rows, size};
    const uint32_t x =
        add_buffer(loops, dtype, tgi_dim_mul(loops->dims, size, rows));
    const uint32_t out = add_buffer(loops, dtype, rows);
    tgi_kernel_loops *k = add_kernel(loops, "tg_rows", TGI_ROWS, 1, extent);
    tgi_access access = {.buffer = tgi_buffer_id_from(x),
                         .stride = {{.distance = size}, {.distance = 1}}};
    const uint32_t vx = add_load(loops, k, 0, ADD(&k->accesses, access));
    const uint32_t result = add_reduction(k, 0, op, vx, 0);
    add_store(k, 0, result, add_access(k, out, 0, (int64_t[]){1, 0}),
              TGI_LEVEL_POINT);
    return compile_loops(loops, bits);
}

static void check_rows(const code *c, tgi_op op, int dtype, int64_t rows,
                       int64_t n, int n_threads)
{
    const bool is_extreme =
        op == TGI_OP_REDUCE_MAX || op == TGI_OP_REDUCE_MIN;
    if (n == 0 && is_extreme)
        return;
    guarded x = new_filled(dtype, rows * n, (uint64_t)n + 1, n % 3 == 0);
    guarded out = new_filled(dtype, rows, 2, false);
    guarded expected = new_filled(dtype, rows, 4, false);
    void *const buffers[] = {x.data, out.data};
    const int64_t dims[] = {n, n * rows};
    tgi_frame frame = {.buffers = buffers, .dims = dims};
    run_code(c, &frame, n_threads);
    interpret(op, dtype, &x, rows, n, 1, &expected);
    expect_same(dtype, &out, &expected, tgi_op_table[op].name, rows, n);
    free_guarded(&x);
    free_guarded(&out);
    free_guarded(&expected);
}

static const int64_t lengths[] = {0,    1,    2,    7,    31,   32,   33,
                                  63,   64,   65,   100,  127,  2047, 2048,
                                  2049, 4095, 4096, 4097, 6200, 10000, 12289};

Test(llvm_reduce, rows_of_any_length_follow_the_tree)
{
    each_width(w)
        for (size_t o = 0; o < LENGTH(plain_ops); o++)
            for (int dtype = 1; dtype < TGI_DTYPES; dtype++) {
                if (!takes(plain_ops[o], dtype))
                    continue;
                code c =
                    compile_rows(plain_ops[o], dtype, 3, -1, widths[w]);
                for (size_t i = 0; i < LENGTH(lengths); i++)
                    check_rows(&c, plain_ops[o], dtype, 3, lengths[i],
                               1 + (int)i % 3);
                free_code(&c);
            }
    check_nothing_is_alive();
}

Test(llvm_reduce, rows_of_known_length_give_the_same_bits)
{
    static const int dtypes[] = {TG_F32, TG_F64, TG_I16};
    for (size_t d = 0; d < LENGTH(dtypes); d++)
        for (size_t i = 0; i < LENGTH(lengths); i++) {
            const tgi_op op = plain_ops[i % LENGTH(plain_ops)];
            code c = compile_rows(op, dtypes[d], 2, lengths[i], 256);
            check_rows(&c, op, dtypes[d], 2, lengths[i], 1);
            free_code(&c);
            c = compile_rows(TGI_OP_SUM, dtypes[d], 2, lengths[i], 128);
            check_rows(&c, TGI_OP_SUM, dtypes[d], 2, lengths[i], 1);
            free_code(&c);
        }
    check_nothing_is_alive();
}

/* Zeros of both signs and NaNs, at all positions of short rows. */
Test(llvm_reduce, the_largest_and_smallest_know_zeros_and_nan)
{
    static const float values[] = {0.0f, -0.0f, -1.0f, 1.0f, NAN};
    enum { N = 41 };
    for (int o = 2; o < 4; o++) {
        code c = compile_rows(plain_ops[o], TG_F32, 1, N, 256);
        for (int i = 0; i < 5 * 5 * N; i++) {
            guarded x = new_guarded(N * sizeof(float), false);
            float *data = (float *)x.data, result, expected;
            const float rest = o == 2 ? -5.0f : 5.0f;
            for (int j = 0; j < N; j++)
                data[j] = rest;
            data[i / 25] = values[i % 5];
            data[(i / 25 + 17) % N] = values[i / 5 % 5];
            void *const buffers[] = {data, &result};
            tgi_frame frame = {.buffers = buffers};
            run_code(&c, &frame, 1);
            guarded to = {.data = (char *)&expected};
            interpret(plain_ops[o], TG_F32, &x, 1, N, 1, &to);
            cr_expect_arr_eq(&result, &expected, sizeof(result),
                             "%g instead of %g", (double)result,
                             (double)expected);
            free_guarded(&x);
        }
        free_code(&c);
    }
    check_nothing_is_alive();
}

/* -- Columns --------------------------------------------------------------- */

static const int64_t row_counts[] = {0, 1, 2, 255, 256, 257, 600, 1000};
static const int64_t column_counts[] = {1, 3, 8, 33, 100};

/* out[j] = reduce x[0 … rows-1][j]; both extents are symbols. */
static code compile_columns(tgi_op op, int dtype, unsigned bits)
{
    const bool is_arg = tgi_op_table[op].result == TGI_RESULT_I64;
    tgi_loops *loops = new_loops("columns");
    const tgi_dim rows = tgi_dim_symbol(loops->dims, (tgi_symbol){0, 0});
    const tgi_dim columns = tgi_dim_symbol(loops->dims, (tgi_symbol){0, 1});
    const tgi_dim extent[] = {columns, rows};
    const uint32_t x =
        add_buffer(loops, dtype, tgi_dim_mul(loops->dims, rows, columns));
    const uint32_t out = add_buffer(loops, is_arg ? TG_I64 : dtype, columns);
    tgi_kernel_loops *k =
        add_kernel(loops, "tg_columns", TGI_COLUMNS, 1, extent);
    tgi_access access = {.buffer = tgi_buffer_id_from(x),
                         .stride = {{.distance = 1}, {.distance = columns}}};
    const uint32_t vx = add_load(loops, k, 0, ADD(&k->accesses, access));
    const uint32_t result = add_reduction(k, 0, op, vx, 0);
    add_store(k, 0, result, add_access(k, out, 0, (int64_t[]){1, 0}),
              TGI_LEVEL_POINT);
    return compile_loops(loops, bits);
}

static void check_columns(const code *c, tgi_op op, int dtype, int64_t rows,
                          int64_t columns, int n_threads)
{
    const bool needs_any = op != TGI_OP_SUM && op != TGI_OP_PROD;
    if (rows == 0 && needs_any)
        return;
    const int result =
        tgi_op_table[op].result == TGI_RESULT_I64 ? TG_I64 : dtype;
    guarded x = new_filled(dtype, rows * columns, (uint64_t)rows + 9,
                           columns % 2);
    guarded out = new_filled(result, columns, 2, false);
    guarded expected = new_filled(result, columns, 4, false);
    void *const buffers[] = {x.data, out.data};
    const int64_t dims[] = {rows, columns, rows * columns};
    tgi_frame frame = {.buffers = buffers, .dims = dims};
    run_code(c, &frame, n_threads);
    interpret(op, dtype, &x, rows, columns, 0, &expected);
    expect_same(result, &out, &expected, tgi_op_table[op].name, rows,
                columns);
    free_guarded(&x);
    free_guarded(&out);
    free_guarded(&expected);
}

Test(llvm_reduce, columns_of_any_number_follow_the_tree, .timeout = 120)
{
    static const tgi_op ops[] = {TGI_OP_SUM,        TGI_OP_PROD,
                                 TGI_OP_REDUCE_MAX, TGI_OP_REDUCE_MIN,
                                 TGI_OP_ARGMAX,     TGI_OP_ARGMIN};
    each_width(w)
        for (size_t o = 0; o < LENGTH(ops); o++)
            for (int dtype = 1; dtype < TGI_DTYPES; dtype++) {
                if (!takes(ops[o], dtype))
                    continue;
                code c = compile_columns(ops[o], dtype, widths[w]);
                for (size_t i = 0; i < LENGTH(row_counts); i++)
                    for (size_t j = 0; j < LENGTH(column_counts); j++)
                        check_columns(&c, ops[o], dtype, row_counts[i],
                                      column_counts[j],
                                      1 + (int)(i + j) % 3);
                free_code(&c);
            }
    check_nothing_is_alive();
}

/* Many columns and one block of rows, with known extents: accumulators in
   memory. */
static code compile_wide(tgi_op op, int dtype, int64_t rows, int64_t columns,
                         unsigned bits)
{
    const bool is_arg = tgi_op_table[op].result == TGI_RESULT_I64;
    tgi_loops *loops = new_loops("wide");
    const uint32_t x = add_buffer(loops, dtype, rows * columns);
    const uint32_t out = add_buffer(loops, is_arg ? TG_I64 : dtype, columns);
    tgi_kernel_loops *k = add_kernel(loops, "tg_wide", TGI_COLUMNS, 1,
                                     (tgi_dim[]){columns, rows});
    const uint32_t vx = add_load(
        loops, k, 0, add_access(k, x, 0, (int64_t[]){1, columns}));
    add_store(k, 0, add_reduction(k, 0, op, vx, 0),
              add_access(k, out, 0, (int64_t[]){1, 0}), TGI_LEVEL_POINT);
    return compile_loops(loops, bits);
}

Test(llvm_reduce, many_columns_at_once_give_the_same_bits, .timeout = 120)
{
    static const tgi_op ops[] = {TGI_OP_SUM, TGI_OP_REDUCE_MIN,
                                 TGI_OP_ARGMAX};
    static const int dtypes[] = {TG_I8, TG_U16, TG_F32, TG_F64};
    static const int64_t extents[][2] = {{8, 64},    {9, 1000},  {256, 130},
                                         {31, 4099}, {64, 9000}, {10, 129}};
    for (size_t o = 0; o < LENGTH(ops); o++)
        for (size_t d = 0; d < LENGTH(dtypes); d++)
            for (size_t i = 0; i < LENGTH(extents); i++) {
                const int64_t rows = extents[i][0], columns = extents[i][1];
                code c = compile_wide(ops[o], dtypes[d], rows, columns,
                                      widths[(d + i) % 2]);
                check_columns(&c, ops[o], dtypes[d], rows, columns,
                              1 + (int)(o + i) % 3);
                free_code(&c);
            }
    check_nothing_is_alive();
}

/* -- Products -------------------------------------------------------------- */

static void interpret_product(int dtype, const guarded *a, const guarded *b,
                              int64_t batch, int64_t m, int64_t depth,
                              int64_t n, bool flips_b, guarded *out)
{
    tgi_view in[2], to;
    tgi_view_init(&in[0], a->data, (tg_dtype)dtype, 3,
                  (int64_t[]){batch, m, depth});
    tgi_view_init(&in[1], b->data, (tg_dtype)dtype, 3,
                  flips_b ? (int64_t[]){batch, n, depth}
                          : (int64_t[]){batch, depth, n});
    tgi_view_init(&to, out->data, (tg_dtype)dtype, 3,
                  (int64_t[]){batch, m, n});
    tgi_attr_matmul attr = {flips_b ? TG_TRANSPOSE_B : 0};
    tgi_node node = {.op = TGI_OP_MATMUL,
                     .dtype = (uint8_t)dtype,
                     .attr = &attr};
    tgi_kernel_args args = {.node = &node, .out = to, .in = in};
    cr_assert_eq(tgi_kernel_matmul(dtype)(&args), TG_OK);
}

/* out[i][j] = sum of a[i][k] * b[k][j]: columns, or rows of b[j][k]; of `batch`
   matrices, without an axis for them if there is one. */
static void check_product(int dtype, int64_t batch, int64_t m, int64_t depth,
                          int64_t n, bool is_rows, unsigned bits)
{
    tgi_loops *loops = new_loops("product");
    const int skipped = batch == 1; /* axes */
    const uint32_t a = add_buffer(loops, dtype, batch * m * depth);
    const uint32_t b = add_buffer(loops, dtype, batch * n * depth);
    const uint32_t out = add_buffer(loops, dtype, batch * m * n);
    const tgi_dim extent[] = {batch, m, n, depth};
    const int64_t a_strides[] = {m * depth, depth, 0, 1};
    const int64_t b_strides[] = {n * depth, 0, 1, n};
    const int64_t b_row_strides[] = {n * depth, 0, depth, 1};
    const int64_t out_strides[] = {m * n, n, 1, 0};
    tgi_kernel_loops *k =
        add_kernel(loops, "tg_product", is_rows ? TGI_ROWS : TGI_COLUMNS,
                   3 - skipped, extent + skipped);
    const uint32_t va =
        add_load(loops, k, 0, add_access(k, a, 0, a_strides + skipped));
    const uint32_t vb = add_load(
        loops, k, 0,
        add_access(k, b, 0, (is_rows ? b_row_strides : b_strides) + skipped));
    const uint32_t result = add_reduction(k, 0, TGI_OP_MATMUL, va, vb);
    add_store(k, 0, result, add_access(k, out, 0, out_strides + skipped),
              TGI_LEVEL_POINT);
    code c = compile_loops(loops, bits);
    guarded g[] = {new_filled(dtype, batch * m * depth, 1, false),
                   new_filled(dtype, batch * n * depth, 2, false),
                   new_filled(dtype, batch * m * n, 3, false),
                   new_filled(dtype, batch * m * n, 4, false)};
    void *const buffers[] = {g[0].data, g[1].data, g[2].data};
    tgi_frame frame = {.buffers = buffers};
    run_code(&c, &frame, 2);
    interpret_product(dtype, &g[0], &g[1], batch, m, depth, n, is_rows, &g[3]);
    expect_same(dtype, &g[2], &g[3], "matmul", depth, n);
    for (int i = 0; i < 4; i++)
        free_guarded(&g[i]);
    free_code(&c);
}

Test(llvm_reduce, products_are_fma_in_the_order_of_their_kind)
{
    static const int64_t depths[] = {0, 1, 65, 256, 257, 700, 5000};
    static const int dtypes[] = {TG_F32, TG_F64, TG_I32};
    for (size_t d = 0; d < LENGTH(dtypes); d++)
        for (size_t i = 0; i < LENGTH(depths); i++) {
            const unsigned bits = widths[(i + d) % 2];
            check_product(dtypes[d], 1, 3, depths[i], 37, false, bits);
            check_product(dtypes[d], 1, 1, depths[i], 9, true, bits);
        }
    check_nothing_is_alive();
}

/* Their steps of k run in groups, which prefetch the next matrix; the last
   group may be incomplete. */
Test(llvm_reduce, products_of_a_batch_have_all_steps)
{
    static const struct {
        int64_t m, depth, n;
    } sizes[] = {{64, 64, 64}, {24, 35, 37}, {9, 129, 17}, {80, 13, 80},
                 {200, 80, 8}};
    for (size_t i = 0; i < LENGTH(sizes); i++)
        for (size_t w = 0; w < 2; w++)
            check_product(w ? TG_F32 : TG_F64, 3, sizes[i].m, sizes[i].depth,
                          sizes[i].n, false, widths[(i + w) % 2]);
    check_nothing_is_alive();
}

/* -- Blocks as points of their own ----------------------------------------- */

/* Reduces [outer, n] in two kernels; the rows of the second are blocks. */
static void check_split(tgi_op op, int dtype, int64_t outer, int64_t n,
                        unsigned bits, int n_threads)
{
    const int64_t block =
        TGI_BLOCK_STEPS * (tgi_dtype_bytes(dtype) == 8 ? TGI_LANES_8
                                                        : TGI_LANES_4);
    const int64_t n_blocks = (n + block - 1) / block;
    tgi_loops *loops = new_loops("split");
    const uint32_t x = add_buffer(loops, dtype, outer * n);
    const uint32_t parts = add_buffer(loops, dtype, outer * n_blocks);
    const uint32_t out = add_buffer(loops, dtype, outer);
    tgi_kernel_loops *k =
        add_kernel(loops, "tg_blocks", TGI_ROWS, 2,
                   (tgi_dim[]){outer, n_blocks, n});
    uint32_t vx =
        add_load(loops, k, 0, add_access(k, x, 0, (int64_t[]){n, 0, 1}));
    uint32_t result = add_reduction(k, 0, op, vx, 0);
    k->reductions.data[0].is_split = true;
    add_store(k, 0, result,
              add_access(k, parts, 0, (int64_t[]){n_blocks, 1, 0}),
              TGI_LEVEL_POINT);
    add_step(loops, TGI_STEP_BARRIER, 0);
    k = add_kernel(loops, "tg_pairwise", TGI_ROWS, 1,
                   (tgi_dim[]){outer, n_blocks});
    vx = add_load(loops, k, 0,
                  add_access(k, parts, 0, (int64_t[]){n_blocks, 1}));
    result = add_reduction(k, 0, op, vx, 0);
    k->reductions.data[0].combines_blocks = true;
    add_store(k, 0, result, add_access(k, out, 0, (int64_t[]){1, 0}),
              TGI_LEVEL_POINT);
    code c = compile_loops(loops, bits);
    guarded g[] = {new_filled(dtype, outer * n, 1, false),
                   new_filled(dtype, outer * n_blocks, 2, false),
                   new_filled(dtype, outer, 3, false),
                   new_filled(dtype, outer, 4, false)};
    void *const buffers[] = {g[0].data, g[1].data, g[2].data};
    tgi_frame frame = {.buffers = buffers};
    run_code(&c, &frame, n_threads);
    interpret(op, dtype, &g[0], outer, n, 1, &g[3]);
    expect_same(dtype, &g[2], &g[3], "split", outer, n);
    for (int i = 0; i < 4; i++)
        free_guarded(&g[i]);
    free_code(&c);
}

Test(llvm_reduce, blocks_of_rows_can_be_points_of_their_own)
{
    static const int64_t sizes[] = {0, 1, 4096, 4097, 20000, 50000};
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        check_split(TGI_OP_SUM, TG_F32, 2, sizes[i], widths[i % 2],
                    1 + (int)i % 3);
        check_split(TGI_OP_SUM, TG_F64, 1, sizes[i], widths[i % 2],
                    3 - (int)i % 3);
        if (sizes[i])
            check_split(TGI_OP_REDUCE_MAX, TG_F32, 3, sizes[i], 256, 2);
    }
    check_nothing_is_alive();
}

/* The same for columns. */
Test(llvm_reduce, blocks_of_columns_can_be_points_of_their_own)
{
    static const int64_t sizes[] = {0, 1, 256, 257, 1500};
    static const int64_t column_numbers[] = {21, 70, 1500};
    for (size_t i = 0; i < 3 * LENGTH(sizes); i++) {
        const int64_t n = sizes[i / 3], n_blocks = (n + 255) / 256;
        const int64_t columns = column_numbers[i % 3];
        tgi_loops *loops = new_loops("split_columns");
        const uint32_t x = add_buffer(loops, TG_F32, n * columns);
        const uint32_t parts = add_buffer(loops, TG_F32, n_blocks * columns);
        const uint32_t out = add_buffer(loops, TG_F32, columns);
        tgi_kernel_loops *k =
            add_kernel(loops, "tg_blocks", TGI_COLUMNS, 2,
                       (tgi_dim[]){n_blocks, columns, n});
        uint32_t vx = add_load(
            loops, k, 0, add_access(k, x, 0, (int64_t[]){0, 1, columns}));
        uint32_t result = add_reduction(k, 0, TGI_OP_SUM, vx, 0);
        k->reductions.data[0].is_split = true;
        add_store(k, 0, result,
                  add_access(k, parts, 0, (int64_t[]){columns, 1, 0}),
                  TGI_LEVEL_POINT);
        add_step(loops, TGI_STEP_BARRIER, 0);
        k = add_kernel(loops, "tg_pairwise", TGI_COLUMNS, 1,
                       (tgi_dim[]){columns, n_blocks});
        vx = add_load(loops, k, 0,
                      add_access(k, parts, 0, (int64_t[]){1, columns}));
        result = add_reduction(k, 0, TGI_OP_SUM, vx, 0);
        k->reductions.data[0].combines_blocks = true;
        add_store(k, 0, result, add_access(k, out, 0, (int64_t[]){1, 0}),
                  TGI_LEVEL_POINT);
        code c = compile_loops(loops, widths[i % 2]);
        guarded g[] = {new_filled(TG_F32, n * columns, 1, false),
                       new_filled(TG_F32, n_blocks * columns, 2, false),
                       new_filled(TG_F32, columns, 3, false),
                       new_filled(TG_F32, columns, 4, false)};
        void *const buffers[] = {g[0].data, g[1].data, g[2].data};
        tgi_frame frame = {.buffers = buffers};
        run_code(&c, &frame, 1 + (int)i % 3);
        interpret(TGI_OP_SUM, TG_F32, &g[0], n, columns, 0, &g[3]);
        expect_same(TG_F32, &g[2], &g[3], "split", n, columns);
        for (int j = 0; j < 4; j++)
            free_guarded(&g[j]);
        free_code(&c);
    }
    check_nothing_is_alive();
}

/* -- Several phases -------------------------------------------------------- */

/* softmax: the maximum, the sum of exp(x - max), e / sum. */
static code compile_softmax(int dtype, unsigned bits)
{
    tgi_loops *loops = new_loops("softmax");
    const tgi_dim rows = tgi_dim_symbol(loops->dims, (tgi_symbol){0, 0});
    const tgi_dim n = tgi_dim_symbol(loops->dims, (tgi_symbol){0, 1});
    const tgi_dim size = tgi_dim_mul(loops->dims, rows, n);
    const tgi_dim extent[] = {rows, n};
    const uint32_t x = add_buffer(loops, dtype, size);
    const uint32_t out = add_buffer(loops, dtype, size);
    tgi_kernel_loops *k = add_kernel(loops, "tg_softmax", TGI_ROWS, 1, extent);
    k->n_phases = 3;
    tgi_access access = {.buffer = tgi_buffer_id_from(x),
                         .stride = {{.distance = n}, {.distance = 1}}};
    const uint32_t from = ADD(&k->accesses, access);
    access.buffer = tgi_buffer_id_from(out);
    const uint32_t to = ADD(&k->accesses, access);
    const uint32_t largest = add_reduction(
        k, 0, TGI_OP_REDUCE_MAX, add_load(loops, k, 0, from), 0);
    const uint32_t shifted = add_op(k, 1, TGI_OP_SUB,
                                    add_load(loops, k, 1, from), largest, 0);
    const uint32_t e = add_op(k, 1, TGI_OP_EXP, shifted, 0, 0);
    add_store(k, 1, e, to, TGI_LEVEL_INNER);
    const uint32_t sum = add_reduction(k, 1, TGI_OP_SUM, e, 0);
    const uint32_t scale = add_op(k, 1, TGI_OP_DIV,
                                  add_number(k, dtype, 1), sum, 0);
    add_store(k, 2,
              add_op(k, 2, TGI_OP_MUL, add_load(loops, k, 2, to), scale, 0),
              to, TGI_LEVEL_INNER);
    return compile_loops(loops, bits);
}

static void interpret_op(tgi_op op, int dtype, int64_t rows, int64_t n,
                         const guarded *a, const guarded *b, bool b_is_row,
                         guarded *out)
{
    const int64_t dims[] = {rows, n};
    tgi_view in[2], to;
    tgi_view_init(&in[0], a->data, (tg_dtype)dtype, 2, dims);
    tgi_view_init(&in[1], b->data, (tg_dtype)dtype, 2, dims);
    if (b_is_row) {
        in[1].strides[0] = 1;
        in[1].strides[1] = 0;
    }
    tgi_view_init(&to, out->data, (tg_dtype)dtype, 2, dims);
    tgi_node node = {.op = (uint8_t)op, .dtype = (uint8_t)dtype};
    tgi_kernel_args args = {.node = &node, .out = to, .in = in};
    tgi_kernel_elementwise(op, dtype, dtype)(&args);
}

static void check_softmax(const code *c, int dtype, int64_t rows, int64_t n,
                          int n_threads)
{
    const int64_t size = rows * n;
    guarded x = new_filled(dtype, size, 1, false);
    guarded out = new_filled(dtype, size, 2, false);
    guarded e = new_filled(dtype, size, 3, false);
    guarded row = new_filled(dtype, rows, 4, false);
    guarded ones = new_filled(dtype, rows, 5, false);
    void *const buffers[] = {x.data, out.data};
    const int64_t dims[] = {rows, n, size};
    tgi_frame frame = {.buffers = buffers, .dims = dims};
    run_code(c, &frame, n_threads);

    for (int64_t i = 0; i < rows; i++)
        tgi_dtype_store(dtype,
                        (tgi_number){.kind = TGI_NUMBER_FLOAT, .as = {.f = 1}},
                        ones.data + i * tgi_dtype_bytes(dtype));
    interpret(TGI_OP_REDUCE_MAX, dtype, &x, rows, n, 1, &row);
    interpret_op(TGI_OP_SUB, dtype, rows, n, &x, &row, true, &e);
    interpret_op(TGI_OP_EXP, dtype, rows, n, &e, &e, false, &e);
    interpret(TGI_OP_SUM, dtype, &e, rows, n, 1, &row);
    interpret_op(TGI_OP_DIV, dtype, rows, 1, &ones, &row, false, &row);
    interpret_op(TGI_OP_MUL, dtype, rows, n, &e, &row, true, &e);
    expect_same(dtype, &out, &e, "softmax", rows, n);
    free_guarded(&x);
    free_guarded(&out);
    free_guarded(&e);
    free_guarded(&row);
    free_guarded(&ones);
}

Test(llvm_reduce, phases_follow_each_other_at_every_point)
{
    static const int64_t sizes[] = {1, 5, 16, 63, 64, 65, 200, 1024, 5000};
    each_width(w)
        for (int d = 0; d < 2; d++) {
            const int dtype = d ? TG_F64 : TG_F32;
            code c = compile_softmax(dtype, widths[w]);
            for (size_t i = 0; i < LENGTH(sizes); i++)
                check_softmax(&c, dtype, 7, sizes[i], 1 + (int)i % 3);
            free_code(&c);
        }
    check_nothing_is_alive();
}

/* Two sums and a maximum together; one of the sums is of products. */
Test(llvm_reduce, reductions_of_one_phase_share_its_loop)
{
    static const int64_t sizes[] = {1, 64, 100, 4096, 9000};
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        const int64_t n = sizes[i];
        tgi_loops *loops = new_loops("siblings");
        const uint32_t x = add_buffer(loops, TG_F32, 2 * n);
        const uint32_t out = add_buffer(loops, TG_F32, 6);
        tgi_kernel_loops *k = add_kernel(loops, "tg_siblings", TGI_ROWS, 1,
                                         (tgi_dim[]){2, n});
        const uint32_t vx = add_load(
            loops, k, 0, add_access(k, x, 0, (int64_t[]){n, 1}));
        const uint32_t results[] = {
            add_reduction(k, 0, TGI_OP_SUM, vx, 0),
            add_reduction(k, 0, TGI_OP_MATMUL, vx, vx),
            add_reduction(k, 0, TGI_OP_REDUCE_MAX, vx, 0)};
        for (int j = 0; j < 3; j++)
            add_store(k, 0, results[j],
                      add_access(k, out, 2 * j, (int64_t[]){1, 0}),
                      TGI_LEVEL_POINT);
        code c = compile_loops(loops, widths[i % 2]);
        guarded gx = new_filled(TG_F32, 2 * n, 1, false);
        guarded gout = new_filled(TG_F32, 6, 2, false);
        guarded expected = new_filled(TG_F32, 6, 4, false);
        void *const buffers[] = {gx.data, gout.data};
        tgi_frame frame = {.buffers = buffers};
        run_code(&c, &frame, 2);
        guarded part = expected;
        interpret(TGI_OP_SUM, TG_F32, &gx, 2, n, 1, &part);
        for (int j = 0; j < 2; j++) {
            guarded row = {.data = gx.data + j * n * 4};
            part.data = expected.data + (2 + j) * 4;
            interpret_product(TG_F32, &row, &row, 1, 1, n, 1, false, &part);
        }
        part.data = expected.data + 4 * 4;
        interpret(TGI_OP_REDUCE_MAX, TG_F32, &gx, 2, n, 1, &part);
        expect_same(TG_F32, &gout, &expected, "siblings", 2, n);
        free_guarded(&gx);
        free_guarded(&gout);
        free_guarded(&expected);
        free_code(&c);
    }
    check_nothing_is_alive();
}

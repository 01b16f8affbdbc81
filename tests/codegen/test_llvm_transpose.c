/* SPDX-License-Identifier: MIT */
/*
 * test_llvm_transpose.c - loops that access memory along an outer axis: every
 * element is stored at its place, for all element sizes, extents, directions
 * and expressions, and no access is out of bounds.
 */
#include <math.h>

#include "support/loops_building.h"
#include "support/support.h"

static const unsigned widths[] = {128, 256};
#define each_width(w) for (size_t w = 0; w < 2; w++)
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Random bits. */
static guarded new_random(int dtype, int64_t n, uint64_t seed, bool is_low)
{
    guarded g = new_guarded((size_t)(n * tgi_dtype_bytes(dtype)), is_low);
    uint64_t state = seed;
    for (size_t i = 0; i < g.bytes; i++)
        g.data[i] = (char)random_next(&state);
    return g;
}

/* -- Copies ---------------------------------------------------------------- */

/* Which side is transposed, and the direction along its axes. */
typedef struct kind {
    bool is_store;
    bool is_backwards, is_inner_backwards;
} kind;

static const kind kinds[] = {
    {false, false, false}, {true, false, false}, {false, true, false},
    {true, true, false},   {false, false, true}, {true, true, true},
};

/* Element [i][j] of the transposed side. */
static int64_t transposed_at(kind of, int64_t rows, int64_t columns, int64_t i,
                             int64_t j)
{
    return (of.is_backwards ? rows - 1 - i : i) +
           (of.is_inner_backwards ? columns - 1 - j : j) * rows;
}

/* One side contiguous in [rows, columns], the other transposed; extents are
   numbers or symbols. */
static code compile_copy(int dtype, kind of, tgi_dim rows, tgi_dim columns,
                         tgi_loops *loops, unsigned bits, int64_t cache_bytes)
{
    tgi_dims *dims = loops->dims;
    const tgi_dim count = tgi_dim_mul(dims, rows, columns);
    const uint32_t x = add_buffer(loops, dtype, count);
    const uint32_t out = add_buffer(loops, dtype, count);
    tgi_kernel_loops *k = add_kernel(loops, "tg_copy", TGI_ROWS, 1,
                                     (tgi_dim[]){rows, columns});
    const tgi_access dense = {
        .buffer = tgi_buffer_id_from(of.is_store ? x : out),
        .stride = {{.distance = columns}, {.distance = 1}}};
    tgi_access transposed = {
        .buffer = tgi_buffer_id_from(of.is_store ? out : x),
        .stride = {{.distance = 1, .is_negative = of.is_backwards},
                   {.distance = rows, .is_negative = of.is_inner_backwards}}};
    if (of.is_backwards)
        transposed.offset = tgi_dim_sub(dims, rows, 1);
    if (of.is_inner_backwards)
        transposed.offset =
            tgi_dim_add(dims, transposed.offset,
                        tgi_dim_mul(dims, tgi_dim_sub(dims, columns, 1), rows));
    const uint32_t from = ADD(&k->accesses, of.is_store ? dense : transposed);
    const uint32_t to = ADD(&k->accesses, of.is_store ? transposed : dense);
    add_store(k, 0, add_load(loops, k, 0, from), to, TGI_LEVEL_INNER);
    return compile_loops_for(loops, bits, cache_bytes);
}

static void check_copy(const code *c, int dtype, kind of, int64_t rows,
                       int64_t columns, const int64_t *values, int n_threads)
{
    const size_t bytes = (size_t)tgi_dtype_bytes(dtype);
    const int64_t n = rows * columns;
    guarded x = new_random(dtype, n, 1, (rows + columns) % 2);
    guarded out = new_random(dtype, n, 2, (rows + columns) % 2);
    void *const buffers[] = {x.data, out.data};
    tgi_frame frame = {.buffers = buffers, .dims = values};
    run_code(c, &frame, n_threads);
    size_t n_wrong = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const size_t dense = (size_t)(i * columns + j) * bytes;
            const size_t transposed =
                (size_t)transposed_at(of, rows, columns, i, j) * bytes;
            n_wrong += memcmp(x.data + (of.is_store ? dense : transposed),
                              out.data + (of.is_store ? transposed : dense),
                              bytes) != 0;
        }
    cr_expect_eq(n_wrong, 0, "%zu wrong: dtype %d, [%lld,%lld], %d threads",
                 n_wrong, dtype, (long long)rows, (long long)columns,
                 n_threads);
    free_guarded(&x);
    free_guarded(&out);
}

static const int dtypes[] = {TG_U8, TG_I16, TG_F32, TG_F64};

static const int64_t sizes[][2] = {
    {8, 8},   {9, 70},  {16, 64},  {17, 65},   {64, 64}, {33, 50},
    {50, 33}, {8, 300}, {300, 11}, {257, 129}, {1, 40},  {40, 1},
    {0, 9},   {9, 0},   {3, 5},    {128, 192},
};

Test(llvm_transpose, copies_of_any_extents_put_every_element_in_its_place,
     .timeout = 120)
{
    each_width(w)
        for (size_t d = 0; d < LENGTH(dtypes); d++)
            for (size_t i = 0; i < LENGTH(kinds); i++) {
                tgi_loops *loops = new_loops("copy");
                tgi_dims *dims = loops->dims;
                const tgi_dim rows = tgi_dim_symbol(dims, (tgi_symbol){0, 0});
                const tgi_dim columns =
                    tgi_dim_symbol(dims, (tgi_symbol){0, 1});
                tgi_dims_retain(dims);
                code c = compile_copy(dtypes[d], kinds[i], rows, columns,
                                      loops, widths[w], 0);
                for (size_t s = 0; s < LENGTH(sizes); s++) {
                    int64_t values[32];
                    cr_assert(tgi_dims_n_values(dims) <= LENGTH(values));
                    cr_assert_eq(tgi_dims_evaluate(dims, sizes[s], values),
                                 TG_OK);
                    check_copy(&c, dtypes[d], kinds[i], sizes[s][0],
                               sizes[s][1], values, 1 + (int)s % 3);
                }
                free_code(&c);
                tgi_dims_release(dims);
            }
    check_nothing_is_alive();
}

Test(llvm_transpose, copies_of_known_extents_do_too, .timeout = 120)
{
    for (size_t d = 0; d < LENGTH(dtypes); d++)
        for (size_t s = 0; s < LENGTH(sizes); s++) {
            const kind of = kinds[(d + s) % LENGTH(kinds)];
            if (sizes[s][0] == 0 || sizes[s][1] == 0)
                continue; /* offsets would be negative */
            code c = compile_copy(dtypes[d], of, sizes[s][0], sizes[s][1],
                                  new_loops("copy"), widths[s % 2], 0);
            check_copy(&c, dtypes[d], of, sizes[s][0], sizes[s][1], NULL,
                       1 + (int)s % 3);
            free_code(&c);
        }
    check_nothing_is_alive();
}

/* Full lines use non-temporal stores if the address allows it; others do
   not. */
Test(llvm_transpose, results_larger_than_the_cache_are_right_too)
{
    static const int64_t large[][2] = {{512, 512}, {560, 640}, {525, 650}};
    for (size_t d = 0; d < LENGTH(dtypes); d++)
        for (size_t s = 0; s < LENGTH(large); s++) {
            code c = compile_copy(dtypes[d], kinds[0], large[s][0],
                                  large[s][1], new_loops("copy"), 256, 100);
            cr_expect(strstr(c.codegen.assembly, "vmovnt"));
            check_copy(&c, dtypes[d], kinds[0], large[s][0], large[s][1],
                       NULL, 1 + (int)d % 3);
            free_code(&c);
        }
    check_nothing_is_alive();
}

Test(llvm_transpose, elements_are_transposed_in_registers)
{
    code c = compile_copy(TG_F32, kinds[0], 256, 256, new_loops("copy"), 256,
                          0);
    const char *text = c.codegen.assembly;
    cr_expect(strstr(text, "vunpcklps") || strstr(text, "vpunpckldq"));
    cr_expect_not(strstr(text, "vinsertps"));
    cr_expect_not(strstr(text, "vextractps"));
    free_code(&c);
    check_nothing_is_alive();
}

/* -- Transposes with arithmetic -------------------------------------------- */

/* out[i][j] = op(x[j][i]) * y[i][j] + row[i], with x transposed, or passed
   as already transposed. */
static code compile_expression(tgi_op op, int64_t rows, int64_t columns,
                               bool is_transposed, unsigned bits)
{
    tgi_loops *loops = new_loops("expression");
    const int64_t n = rows * columns;
    const uint32_t x = add_buffer(loops, TG_F32, n);
    const uint32_t y = add_buffer(loops, TG_F32, n);
    const uint32_t row = add_buffer(loops, TG_F32, rows);
    const uint32_t out = add_buffer(loops, TG_F32, n);
    tgi_kernel_loops *k = add_kernel(loops, "tg_expression", TGI_ROWS, 1,
                                     (tgi_dim[]){rows, columns});
    const int64_t dense[] = {columns, 1}, transposed[] = {1, rows};
    const uint32_t vx = add_load(
        loops, k, 0, add_access(k, x, 0, is_transposed ? transposed : dense));
    const uint32_t vy = add_load(loops, k, 0, add_access(k, y, 0, dense));
    const uint32_t bias =
        add_load(loops, k, 0, add_access(k, row, 0, (int64_t[]){1, 0}));
    const uint32_t value = add_op(k, 0, op, vx, 0, 0);
    add_store(k, 0, add_op(k, 0, TGI_OP_FMA, value, vy, bias),
              add_access(k, out, 0, dense), TGI_LEVEL_INNER);
    return compile_loops(loops, bits);
}

static guarded new_floats(int64_t n, uint64_t seed)
{
    guarded g = new_guarded((size_t)n * sizeof(float), false);
    uint64_t state = seed;
    for (int64_t i = 0; i < n; i++)
        ((float *)g.data)[i] = (float)(random_next(&state) % 2001) / 100 - 10;
    return g;
}

static void check_expression(tgi_op op, int64_t rows, int64_t columns,
                             unsigned bits, int n_threads)
{
    const int64_t n = rows * columns;
    guarded g[] = {new_floats(n, 1), new_floats(n, 2), new_floats(n, 3),
                   new_floats(rows, 4), new_floats(n, 5), new_floats(n, 6)};
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            ((float *)g[1].data)[i * columns + j] =
                ((float *)g[0].data)[j * rows + i];
    for (int dense = 0; dense < 2; dense++) {
        code c = compile_expression(op, rows, columns, !dense, bits);
        void *const buffers[] = {g[dense].data, g[2].data, g[3].data,
                                 g[4 + dense].data};
        tgi_frame frame = {.buffers = buffers};
        run_code(&c, &frame, n_threads);
        free_code(&c);
    }
    cr_expect_arr_eq(g[4].data, g[5].data, g[4].bytes, "op %d, [%lld,%lld]",
                     (int)op, (long long)rows, (long long)columns);
    for (size_t i = 0; i < LENGTH(g); i++)
        free_guarded(&g[i]);
}

/* Short and long bodies, which use different row loops. */
Test(llvm_transpose, whatever_is_computed_on_the_way_is_the_same)
{
    static const tgi_op ops[] = {TGI_OP_NEG, TGI_OP_EXP, TGI_OP_TANH};
    for (size_t i = 0; i < LENGTH(ops); i++) {
        check_expression(ops[i], 37, 101, 256, 1);
        check_expression(ops[i], 130, 64, 128, 2);
        check_expression(ops[i], 300, 200, 256, 3);
    }
    check_nothing_is_alive();
}

/* -- More axes, more types ------------------------------------------------- */

/* out[a][b][c] = x[c][b][a], and its cast to another dtype at y[b][c][a]. */
Test(llvm_transpose, other_axes_and_dtypes)
{
    enum { A = 19, B = 3, C = 45, N = A * B * C };
    each_width(w) {
        tgi_loops *loops = new_loops("axes");
        const uint32_t x = add_buffer(loops, TG_I8, N);
        const uint32_t z = add_buffer(loops, TG_F64, N);
        const uint32_t out = add_buffer(loops, TG_F64, N);
        const uint32_t cast = add_buffer(loops, TG_I16, N);
        tgi_kernel_loops *k = add_kernel(loops, "tg_axes", TGI_ROWS, 2,
                                         (tgi_dim[]){A, B, C});
        const uint32_t vx = add_load(
            loops, k, 0, add_access(k, x, 0, (int64_t[]){1, A, A * B}));
        const uint32_t vz = add_load(
            loops, k, 0, add_access(k, z, 0, (int64_t[]){1, A * C, A}));
        add_store(k, 0,
                  add_op(k, 0, TGI_OP_ADD, vz, add_cast(k, 0, vx, TG_F64), 0),
                  add_access(k, out, 0, (int64_t[]){B * C, C, 1}),
                  TGI_LEVEL_INNER);
        add_store(k, 0, add_cast(k, 0, vx, TG_I16),
                  add_access(k, cast, 0, (int64_t[]){1, A * C, A}),
                  TGI_LEVEL_INNER);
        code c = compile_loops(loops, widths[w]);
        guarded g[] = {
            new_random(TG_I8, N, 1, false), new_random(TG_F64, N, 2, true),
            new_random(TG_F64, N, 3, false), new_random(TG_I16, N, 4, true)};
        for (int i = 0; i < N; i++)
            ((double *)g[1].data)[i] = i / 8.0;
        void *const buffers[] = {g[0].data, g[1].data, g[2].data, g[3].data};
        tgi_frame frame = {.buffers = buffers};
        run_code(&c, &frame, 2);
        for (int i = 0; i < A; i++)
            for (int j = 0; j < B; j++)
                for (int l = 0; l < C; l++) {
                    const int8_t from =
                        ((int8_t *)g[0].data)[i + A * j + A * B * l];
                    const int other = i + A * C * j + A * l;
                    cr_expect_eq(
                        ((double *)g[2].data)[i * B * C + j * C + l],
                        from + ((double *)g[1].data)[other]);
                    cr_expect_eq(((int16_t *)g[3].data)[other], from);
                }
        for (size_t i = 0; i < LENGTH(g); i++)
            free_guarded(&g[i]);
        free_code(&c);
    }
    check_nothing_is_alive();
}

/* x[j][i] = -x[j][i] by a kernel whose inner axis is j. */
Test(llvm_transpose, in_place_updates_happen_once)
{
    enum { ROWS = 83, COLUMNS = 71 };
    tgi_loops *loops = new_loops("place");
    const uint32_t x = add_buffer(loops, TG_F32, ROWS * COLUMNS);
    tgi_kernel_loops *k = add_kernel(loops, "tg_place", TGI_ROWS, 1,
                                     (tgi_dim[]){ROWS, COLUMNS});
    const uint32_t access = add_access(k, x, 0, (int64_t[]){1, ROWS});
    const uint32_t vx = add_load(loops, k, 0, access);
    add_store(k, 0, add_op(k, 0, TGI_OP_NEG, vx, 0, 0), access,
              TGI_LEVEL_INNER);
    code c = compile_loops(loops, 256);
    guarded gx = new_floats(ROWS * COLUMNS, 1);
    guarded was = new_floats(ROWS * COLUMNS, 1);
    void *const buffers[] = {gx.data};
    tgi_frame frame = {.buffers = buffers};
    run_code(&c, &frame, 2);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        cr_expect_eq(((float *)gx.data)[i], -((float *)was.data)[i]);
    free_guarded(&gx);
    free_guarded(&was);
    free_code(&c);
    check_nothing_is_alive();
}

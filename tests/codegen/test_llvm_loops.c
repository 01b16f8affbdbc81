/* SPDX-License-Identifier: MIT */
/*
 * test_llvm_loops.c - compiled loops without reductions: every element equals
 * that of the interpreter's kernels for all dtypes, lengths, strides, thread
 * counts and vector widths, and no access is out of bounds.
 */
#include "interp/kernel.h"
#include "support/loops_building.h"
#include "support/support.h"

/* -- Helpers --------------------------------------------------------------- */

static const unsigned widths[] = {128, 256};
#define each_width(w) for (size_t w = 0; w < 2; w++)

/* Random elements: finite floats, bools 0 and 1. */
static void fill(guarded *g, int dtype, uint64_t seed)
{
    const size_t bytes = (size_t)tgi_dtype_bytes(dtype);
    uint64_t state = seed;
    for (size_t i = 0; i < g->bytes / bytes; i++) {
        uint64_t bits = random_next(&state);
        if (dtype == TG_BOOL)
            bits &= 1;
        if (tgi_dtype_is(dtype, TGI_CLASS_FLOAT))
            cr_assert(tgi_dtype_store(
                dtype,
                (tgi_number){.kind = TGI_NUMBER_FLOAT,
                             .as = {.f = (double)(bits % 20001) / 1000 - 10}},
                &bits));
        memcpy(g->data + i * bytes, &bits, bytes);
    }
}

static guarded new_filled(int dtype, int64_t n, uint64_t seed, bool is_low)
{
    guarded g =
        new_guarded((size_t)(n * tgi_dtype_bytes(dtype)), is_low);
    fill(&g, dtype, seed);
    return g;
}

/* -- Maps ------------------------------------------------------------------ */

/* out[i] = x[i] op y[i] for a dtype, in one dimension of unknown length. */
static code compile_binary(tgi_op op, int dtype, unsigned bits)
{
    tgi_loops *loops = new_loops("binary");
    const tgi_dim n = tgi_dim_symbol(loops->dims, (tgi_symbol){0, 0});
    const uint32_t x = add_buffer(loops, dtype, n);
    const uint32_t y = add_buffer(loops, dtype, n);
    const uint32_t out = add_buffer(loops, dtype, n);
    tgi_kernel_loops *k = add_kernel(loops, "tg_binary", TGI_ROWS, 0, &n);
    const int64_t one[] = {1};
    const uint32_t a = add_load(loops, k, 0, add_access(k, x, 0, one));
    const uint32_t b = add_load(loops, k, 0, add_access(k, y, 0, one));
    add_store(k, 0, add_op(k, 0, op, a, b, 0), add_access(k, out, 0, one),
              TGI_LEVEL_INNER);
    return compile_loops(loops, bits);
}

static void check_binary(const code *c, tgi_op op, int dtype, int64_t n,
                         int n_threads)
{
    const bool is_low = n % 2;
    guarded x = new_filled(dtype, n, 1, is_low);
    guarded y = new_filled(dtype, n, 2, is_low);
    guarded out = new_filled(dtype, n, 3, is_low);
    guarded expected = new_filled(dtype, n, 3, is_low);
    void *const buffers[] = {x.data, y.data, out.data};
    tgi_frame frame = {.buffers = buffers, .dims = &n};
    run_code(c, &frame, n_threads);

    tgi_view in[2], to;
    tgi_view_init(&in[0], x.data, (tg_dtype)dtype, 1, &n);
    tgi_view_init(&in[1], y.data, (tg_dtype)dtype, 1, &n);
    tgi_view_init(&to, expected.data, (tg_dtype)dtype, 1, &n);
    tgi_node node = {.op = (uint8_t)op, .dtype = (uint8_t)dtype};
    tgi_kernel_args args = {.node = &node, .out = to, .in = in};
    tgi_kernel_elementwise(op, dtype, dtype)(&args);
    cr_expect_arr_eq(out.data, expected.data, out.bytes,
                     "dtype %d, %lld elements, %d threads", dtype,
                     (long long)n, n_threads);
    free_guarded(&x);
    free_guarded(&y);
    free_guarded(&out);
    free_guarded(&expected);
}

Test(llvm_loops, maps_are_right_at_every_length_of_every_type)
{
    each_width(w)
        for (int dtype = 1; dtype < TGI_DTYPES; dtype++) {
            if (!tgi_dtype_is_valid(dtype) ||
                tgi_dtype_is(dtype, TGI_CLASS_HALF))
                continue;
            const tgi_op op = dtype == TG_BOOL ? TGI_OP_XOR : TGI_OP_ADD;
            code c = compile_binary(op, dtype, widths[w]);
            for (int64_t n = 0; n <= 70; n++)
                check_binary(&c, op, dtype, n, 1);
            for (int threads = 2; threads <= 3; threads++)
                for (int64_t n = 60; n <= 1000; n += 67)
                    check_binary(&c, op, dtype, n, threads);
            free_code(&c);
        }
    check_nothing_is_alive();
}

/* -- Strides --------------------------------------------------------------- */

/* out[i][j] = x[…] - y[…], where x has stride `stride` along j and y has
   stride 0 along one of the axes. */
static void check_strides(int dtype, int64_t rows, int64_t columns,
                          int64_t stride, bool stands_inner, unsigned bits,
                          int n_threads)
{
    const int64_t step = stride < 0 ? -stride : stride;
    const int64_t row = step * columns;
    const int64_t n_x = rows * (row ? row : 1), n_y = rows + columns;
    const int64_t n_out = rows * columns;
    tgi_loops *loops = new_loops("strides");
    const uint32_t x = add_buffer(loops, dtype, n_x);
    const uint32_t y = add_buffer(loops, dtype, n_y);
    const uint32_t out = add_buffer(loops, dtype, n_out);
    const tgi_dim extent[] = {rows, columns};
    tgi_kernel_loops *k = add_kernel(loops, "tg_strides", TGI_ROWS, 1, extent);
    const int64_t offset = stride < 0 ? step * (columns - 1) : 0;
    const int64_t x_strides[] = {row ? row : 1, stride};
    const int64_t y_strides[] = {stands_inner, !stands_inner};
    const int64_t out_strides[] = {columns, 1};
    const uint32_t a =
        add_load(loops, k, 0, add_access(k, x, offset, x_strides));
    const uint32_t b = add_load(loops, k, 0, add_access(k, y, 0, y_strides));
    add_store(k, 0, add_op(k, 0, TGI_OP_SUB, a, b, 0),
              add_access(k, out, 0, out_strides), TGI_LEVEL_INNER);
    code c = compile_loops(loops, bits);

    guarded gx = new_filled(dtype, n_x, 4, false);
    guarded gy = new_filled(dtype, n_y, 5, false);
    guarded gout = new_filled(dtype, n_out, 6, false);
    guarded expected = new_filled(dtype, n_out, 6, false);
    void *const buffers[] = {gx.data, gy.data, gout.data};
    tgi_frame frame = {.buffers = buffers};
    run_code(&c, &frame, n_threads);

    const int64_t bytes = tgi_dtype_bytes(dtype);
    tgi_view in[2] = {{.data = gx.data + offset * bytes,
                       .dtype = (uint8_t)dtype,
                       .rank = 2,
                       .dims = {rows, columns},
                       .strides = {x_strides[0], stride}},
                      {.data = gy.data,
                       .dtype = (uint8_t)dtype,
                       .rank = 2,
                       .dims = {rows, columns},
                       .strides = {y_strides[0], y_strides[1]}}};
    tgi_view to;
    tgi_view_init(&to, expected.data, (tg_dtype)dtype, 2, extent);
    tgi_node node = {.op = TGI_OP_SUB, .dtype = (uint8_t)dtype};
    tgi_kernel_args args = {.node = &node, .out = to, .in = in};
    tgi_kernel_elementwise(TGI_OP_SUB, dtype, dtype)(&args);
    cr_expect_arr_eq(gout.data, expected.data, gout.bytes,
                     "dtype %d, [%lld,%lld], stride %lld", dtype,
                     (long long)rows, (long long)columns, (long long)stride);
    free_guarded(&gx);
    free_guarded(&gy);
    free_guarded(&gout);
    free_guarded(&expected);
    free_code(&c);
}

Test(llvm_loops, strides_of_any_kind_read_the_right_elements)
{
    static const int64_t strides[] = {0, 1, -1, 2, -2, 3, -3};
    static const int dtypes[] = {TG_I8, TG_U16, TG_F32, TG_F64};
    for (size_t s = 0; s < sizeof(strides) / sizeof(strides[0]); s++)
        for (size_t d = 0; d < sizeof(dtypes) / sizeof(dtypes[0]); d++) {
            check_strides(dtypes[d], 3, 77, strides[s], d % 2, 256, 1);
            check_strides(dtypes[d], 5, 10, strides[s], s % 2, 128, 3);
        }
    check_strides(TG_F32, 7, 300, 1, true, 256, 2);
    check_nothing_is_alive();
}

/* -- Stores ---------------------------------------------------------------- */

/* A transposed copy: strided stores, also backwards. */
Test(llvm_loops, stores_may_be_strided_and_reversed)
{
    enum { ROWS = 37, COLUMNS = 45 };
    static const int64_t strides[][2] = {
        {1, ROWS}, {COLUMNS, -1}, {-1, -ROWS}};
    static const int64_t offsets[] = {0, COLUMNS - 1, ROWS * COLUMNS - 1};
    each_width(w)
        for (int s = 0; s < 3; s++) {
            tgi_loops *loops = new_loops("stores");
            const tgi_dim extent[] = {ROWS, COLUMNS};
            const int64_t dense[] = {COLUMNS, 1};
            const uint32_t x = add_buffer(loops, TG_F32, ROWS * COLUMNS);
            const uint32_t out = add_buffer(loops, TG_F32, ROWS * COLUMNS);
            tgi_kernel_loops *k =
                add_kernel(loops, "tg_stores", TGI_ROWS, 1, extent);
            const uint32_t a =
                add_load(loops, k, 0, add_access(k, x, 0, dense));
            add_store(k, 0, a, add_access(k, out, offsets[s], strides[s]),
                      TGI_LEVEL_INNER);
            code c = compile_loops(loops, widths[w]);
            guarded gx = new_filled(TG_F32, ROWS * COLUMNS, 7, false);
            guarded gout = new_filled(TG_F32, ROWS * COLUMNS, 8, false);
            void *const buffers[] = {gx.data, gout.data};
            tgi_frame frame = {.buffers = buffers};
            run_code(&c, &frame, 2);
            for (int i = 0; i < ROWS; i++)
                for (int j = 0; j < COLUMNS; j++)
                    cr_expect_eq(
                        ((float *)gx.data)[i * COLUMNS + j],
                        ((float *)gout.data)[offsets[s] + i * strides[s][0] +
                                             j * strides[s][1]]);
            free_guarded(&gx);
            free_guarded(&gout);
            free_code(&c);
        }
    check_nothing_is_alive();
}

/* -- Bools ----------------------------------------------------------------- */

/* select(!(x < y) ^ b, x, cast(b)) and its condition, stored. */
Test(llvm_loops, bools_are_masks_and_bytes)
{
    enum { N = 203 };
    each_width(w) {
        tgi_loops *loops = new_loops("bools");
        const tgi_dim n = N;
        const int64_t one[] = {1};
        const uint32_t x = add_buffer(loops, TG_F32, n);
        const uint32_t y = add_buffer(loops, TG_F32, n);
        const uint32_t b = add_buffer(loops, TG_BOOL, n);
        const uint32_t out = add_buffer(loops, TG_F32, n);
        const uint32_t truth = add_buffer(loops, TG_BOOL, n);
        tgi_kernel_loops *k = add_kernel(loops, "tg_bools", TGI_ROWS, 0, &n);
        const uint32_t vx = add_load(loops, k, 0, add_access(k, x, 0, one));
        const uint32_t vy = add_load(loops, k, 0, add_access(k, y, 0, one));
        const uint32_t vb = add_load(loops, k, 0, add_access(k, b, 0, one));
        const uint32_t less = add_op(k, 0, TGI_OP_LT, vx, vy, 0);
        const uint32_t not_less = add_op(k, 0, TGI_OP_NOT, less, 0, 0);
        const uint32_t either = add_op(k, 0, TGI_OP_XOR, not_less, vb, 0);
        const uint32_t number = add_cast(k, 0, vb, TG_F32);
        const uint32_t result =
            add_op(k, 0, TGI_OP_SELECT, either, vx, number);
        const uint32_t back = add_cast(k, 0, result, TG_BOOL);
        add_store(k, 0, result, add_access(k, out, 0, one), TGI_LEVEL_INNER);
        add_store(k, 0, add_op(k, 0, TGI_OP_OR, back, either, 0),
                  add_access(k, truth, 0, one), TGI_LEVEL_INNER);
        code c = compile_loops(loops, widths[w]);
        guarded g[] = {
            new_filled(TG_F32, N, 1, false), new_filled(TG_F32, N, 2, false),
            new_filled(TG_BOOL, N, 3, false), new_filled(TG_F32, N, 4, false),
            new_filled(TG_BOOL, N, 5, false)};
        void *const buffers[] = {g[0].data, g[1].data, g[2].data, g[3].data,
                                 g[4].data};
        tgi_frame frame = {.buffers = buffers};
        run_code(&c, &frame, 2);
        for (int i = 0; i < N; i++) {
            const float a = ((float *)g[0].data)[i];
            const bool flag = g[2].data[i];
            const bool is = !(a < ((float *)g[1].data)[i]) ^ flag;
            const float value = is ? a : flag;
            cr_expect_eq(((float *)g[3].data)[i], value, "element %d", i);
            cr_expect_eq(g[4].data[i], value != 0 || is, "element %d", i);
        }
        for (int i = 0; i < 5; i++)
            free_guarded(&g[i]);
        free_code(&c);
    }
    check_nothing_is_alive();
}

/* -- Levels ---------------------------------------------------------------- */

/* out[i][j] = x[i][j] * tanh(row[i]) + exp(scalar) + extent. */
Test(llvm_loops, invariant_values_are_computed_outside_the_loop)
{
    enum { ROWS = 9, COLUMNS = 50 };
    tgi_loops *loops = new_loops("levels");
    const tgi_dim n = tgi_dim_symbol(loops->dims, (tgi_symbol){0, 1});
    const tgi_dim extent[] = {ROWS, n};
    const uint32_t x = add_buffer(loops, TG_F64, ROWS * COLUMNS);
    const uint32_t row = add_buffer(loops, TG_F64, ROWS);
    const uint32_t scalar = add_buffer(loops, TG_F64, 1);
    const uint32_t out = add_buffer(loops, TG_F64, ROWS * COLUMNS);
    tgi_kernel_loops *k = add_kernel(loops, "tg_levels", TGI_ROWS, 1, extent);
    tgi_access dense = {.buffer = tgi_buffer_id_from(x),
                        .stride = {{.distance = n}, {.distance = 1}}};
    const uint32_t vx = add_load(loops, k, 0, ADD(&k->accesses, dense));
    const uint32_t vrow = add_load(
        loops, k, 0, add_access(k, row, 0, (int64_t[]){1, 0}));
    const uint32_t vs = add_load(
        loops, k, 0, add_access(k, scalar, 0, (int64_t[]){0, 0}));
    const uint32_t size = add_inst(
        k, (tgi_inst){.kind = TGI_INST_EXTENT, .dtype = TG_I64, .dim = n});
    const uint32_t term = add_op(k, 0, TGI_OP_ADD,
                                 add_op(k, 0, TGI_OP_EXP, vs, 0, 0),
                                 add_cast(k, 0, size, TG_F64), 0);
    const uint32_t value = add_op(
        k, 0, TGI_OP_FMA, vx, add_op(k, 0, TGI_OP_NEG, vrow, 0, 0), term);
    dense.buffer = tgi_buffer_id_from(out);
    add_store(k, 0, value, ADD(&k->accesses, dense), TGI_LEVEL_INNER);
    cr_assert_eq(k->insts.data[vrow].level, TGI_LEVEL_POINT);
    cr_assert_eq(k->insts.data[term].level, TGI_LEVEL_KERNEL);
    code c = compile_loops(loops, 256);

    guarded g[] = {new_filled(TG_F64, ROWS * COLUMNS, 1, false),
                   new_filled(TG_F64, ROWS, 2, false),
                   new_guarded(sizeof(double), false),
                   new_filled(TG_F64, ROWS * COLUMNS, 3, false)};
    *(double *)g[2].data = 0;
    void *const buffers[] = {g[0].data, g[1].data, g[2].data, g[3].data};
    const int64_t dims[] = {COLUMNS};
    tgi_frame frame = {.buffers = buffers, .dims = dims};
    run_code(&c, &frame, 3);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            cr_expect_eq(((double *)g[3].data)[i * COLUMNS + j],
                         __builtin_fma(((double *)g[0].data)[i * COLUMNS + j],
                                       -((double *)g[1].data)[i],
                                       1.0 + COLUMNS));
    for (int i = 0; i < 4; i++)
        free_guarded(&g[i]);
    free_code(&c);
    check_nothing_is_alive();
}

/* -- Positions and random bits --------------------------------------------- */

Test(llvm_loops, random_bits_are_those_of_the_stream)
{
    static const int dtypes[] = {TG_U32, TG_U64};
    enum { N = 333 };
    each_width(w)
        for (int d = 0; d < 2; d++) {
            tgi_loops *loops = new_loops("random");
            const tgi_dim n = N;
            const int64_t one[] = {1}, still[] = {0};
            const uint32_t key = add_buffer(loops, TG_U64, 1);
            const uint32_t start = add_buffer(loops, TG_U64, 1);
            const uint32_t out = add_buffer(loops, dtypes[d], n);
            tgi_kernel_loops *k =
                add_kernel(loops, "tg_random", TGI_ROWS, 0, &n);
            const uint32_t bits = add_inst(
                k, (tgi_inst){.kind = TGI_INST_RANDOM,
                              .dtype = (uint8_t)dtypes[d],
                              .n_operands = 3,
                              .operands = {
                                  add_load(loops, k, 0,
                                           add_access(k, key, 0, still)),
                                  add_load(loops, k, 0,
                                           add_access(k, start, 0, still)),
                                  add_position(k, 0,
                                               add_access(k, 0, 0, one))}});
            add_store(k, 0, bits, add_access(k, out, 0, one),
                      TGI_LEVEL_INNER);
            code c = compile_loops(loops, widths[w]);
            uint64_t keys = 0x123456789abcdef0, offset = 0x3fffffff5;
            guarded g = new_filled(dtypes[d], N, 1, false);
            guarded expected = new_filled(dtypes[d], N, 2, false);
            void *const buffers[] = {&keys, &offset, g.data};
            tgi_frame frame = {.buffers = buffers};
            run_code(&c, &frame, 2);

            tgi_view in[2], to;
            tgi_view_init(&in[0], &keys, TG_U64, 0, NULL);
            tgi_view_init(&in[1], &offset, TG_U64, 0, NULL);
            tgi_view_init(&to, expected.data, (tg_dtype)dtypes[d], 1, &n);
            tgi_kernel_random(dtypes[d])(
                &(tgi_kernel_args){.out = to, .in = in});
            cr_expect_arr_eq(g.data, expected.data, g.bytes);
            free_guarded(&g);
            free_guarded(&expected);
            free_code(&c);
        }
    check_nothing_is_alive();
}

/* -- Gathers and checks ---------------------------------------------------- */

/* out[i][j] = in range ? x[index[…]][j] : 0, with the index along i or j,
   and the same with a clamped index. Along j, x may be read backwards. Its
   extent may be known, and then is not 0. */
static void check_gather(int type, bool is_inner, bool is_reversed,
                         bool is_known, unsigned bits)
{
    enum { ROWS = 6, COLUMNS = 70, EXTENT = 23 };
    const int64_t n_indices = is_inner ? COLUMNS : ROWS;
    const int64_t width = is_inner ? 1 : COLUMNS;
    tgi_loops *loops = new_loops("gather");
    const tgi_dim n = is_known
                          ? EXTENT
                          : tgi_dim_symbol(loops->dims, (tgi_symbol){0, 0});
    const tgi_dim extent[] = {ROWS, COLUMNS};
    const uint32_t x = add_buffer(loops, TG_I32,
                                  tgi_dim_mul(loops->dims, n, width));
    const uint32_t index = add_buffer(loops, type, n_indices);
    const uint32_t out = add_buffer(loops, TG_I32, ROWS * COLUMNS);
    tgi_kernel_loops *k = add_kernel(loops, "tg_gather", TGI_ROWS, 1, extent);
    const uint32_t raw = add_load(
        loops, k, 0,
        add_access(k, index, 0, (int64_t[]){!is_inner, is_inner}));
    const uint32_t at = add_index(k, TGI_INST_INDEX, raw, n);
    const uint32_t is_in = add_index(k, TGI_INST_IN_RANGE, raw, n);
    const uint32_t nearest = add_buffer(loops, TG_I32, ROWS * COLUMNS);
    tgi_access access = {.buffer = tgi_buffer_id_from(x),
                         .offset = is_reversed ? width - 1 : 0,
                         .stride = {{0}, {!is_inner, is_reversed}},
                         .index = at,
                         .index_stride = {.distance = width}};
    const uint32_t element =
        add_load(loops, k, 0, ADD(&k->accesses, access));
    const uint32_t value = add_op(k, 0, TGI_OP_SELECT, is_in, element,
                                  add_constant(k, TG_I32, 0));
    const int64_t dense[] = {COLUMNS, 1};
    add_store(k, 0, value, add_access(k, out, 0, dense), TGI_LEVEL_INNER);
    add_store(k, 0, element, add_access(k, nearest, 0, dense),
              TGI_LEVEL_INNER);
    code c = compile_loops(loops, bits);

    /* Also for empty x: then everything is 0. */
    for (int64_t size = is_known ? EXTENT : 0; size <= EXTENT; size += EXTENT) {
        guarded g[] = {new_filled(TG_I32, size * width, 1, false),
                       new_filled(type, n_indices, 2, false),
                       new_filled(TG_I32, ROWS * COLUMNS, 3, false),
                       new_filled(TG_I32, ROWS * COLUMNS, 4, false)};
        const size_t bytes = (size_t)tgi_dtype_bytes(type);
        int64_t indices[COLUMNS];
        for (int i = 0; i < n_indices; i++) {
            static const int64_t odd[] = {-1, INT64_MIN, EXTENT, INT64_MAX};
            indices[i] = i % 5 ? i * 7 % EXTENT : odd[i / 5 % 4];
            memcpy(g[1].data + (size_t)i * bytes, &indices[i], bytes);
            tgi_number read = tgi_dtype_load(
                type, g[1].data + (size_t)i * bytes);
            indices[i] = read.kind == TGI_NUMBER_UINT && read.as.u > INT64_MAX
                             ? INT64_MAX
                             : read.as.i;
        }
        void *const buffers[] = {g[0].data, g[1].data, g[2].data, g[3].data};
        /* Limited by the extent itself, then by the buffer. */
        const int64_t dims[] = {size, size * width};
        tgi_frame frame = {.buffers = buffers, .dims = dims};
        run_code(&c, &frame, 2);
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            const int64_t column = i % COLUMNS;
            const int64_t from = indices[is_inner ? column : i / COLUMNS];
            const int64_t clamped =
                from < 0 ? 0 : from >= size ? size - 1 : from;
            const int64_t along = is_inner      ? 0
                                  : is_reversed ? width - 1 - column
                                                : column;
            const int32_t there =
                size ? ((int32_t *)g[0].data)[clamped * width + along] : 0;
            cr_expect_eq(((int32_t *)g[2].data)[i],
                         from >= 0 && from < size ? there : 0,
                         "type %d, element %d", type, i);
            cr_expect_eq(((int32_t *)g[3].data)[i], there,
                         "type %d, element %d", type, i);
        }
        for (int i = 0; i < 4; i++)
            free_guarded(&g[i]);
    }
    free_code(&c);
}

Test(llvm_loops, gathers_clamp_and_detect_indices_out_of_range)
{
    each_width(w)
        for (int dtype = 1; dtype < TGI_DTYPES; dtype++)
            if (tgi_dtype_is_valid(dtype) &&
                tgi_dtype_is(dtype, TGI_CLASS_INT)) {
                check_gather(dtype, true, false, false, widths[w]);
                check_gather(dtype, true, false, true, widths[w]);
                check_gather(dtype, false, false, false, widths[w]);
                check_gather(dtype, false, true, true, widths[w]);
            }
    check_nothing_is_alive();
}

/* Check 1 precedes a copy that must not happen; check 0 fails elsewhere. */
Test(llvm_loops, checks_report_the_first_position_and_end_the_call)
{
    enum { N = 1000 };
    each_width(w) {
        tgi_loops *loops = new_loops("checks");
        const tgi_dim n = N;
        const int64_t one[] = {1};
        const uint32_t x = add_buffer(loops, TG_I64, n);
        const uint32_t out = add_buffer(loops, TG_I64, n);
        ADD(&loops->runtime_checks, (tgi_runtime_check){0});
        ADD(&loops->runtime_checks, (tgi_runtime_check){0});
        tgi_kernel_loops *k = add_kernel(loops, "tg_check", TGI_ROWS, 0, &n);
        const uint32_t raw = add_load(loops, k, 0, add_access(k, x, 0, one));
        for (uint32_t i = 0; i < 2; i++)
            ADD(&k->checks,
                (tgi_loop_check){
                    .number = i,
                    .index = raw,
                    .value = add_index(k, TGI_INST_IN_RANGE, raw,
                                       i == 0 ? 200 : 100),
                    .position = add_position(k, 0,
                                             add_access(k, 0, i, one))});
        add_step(loops, TGI_STEP_BARRIER, 0);
        add_step(loops, TGI_STEP_RETURN_IF_FAILED, 0);
        k = add_kernel(loops, "tg_copy", TGI_ROWS, 0, &n);
        add_store(k, 0, add_load(loops, k, 0, add_access(k, x, 0, one)),
                  add_access(k, out, 0, one), TGI_LEVEL_INNER);
        code c = compile_loops(loops, widths[w]);
        guarded g[] = {new_guarded(N * sizeof(int64_t), false),
                       new_guarded(N * sizeof(int64_t), false)};
        int64_t *data = (int64_t *)g[0].data;
        void *const buffers[] = {g[0].data, g[1].data};
        for (int threads = 1; threads <= 3; threads++)
            for (int at = 0; at < N; at += 111) {
                for (int i = 0; i < N; i++)
                    data[i] = i % 100;
                tgi_frame fine = {.buffers = buffers};
                run_code(&c, &fine, threads);
                cr_expect_eq(fine.failed_check, 0);
                cr_expect_arr_eq(g[0].data, g[1].data, g[0].bytes);

                memset(g[1].data, 0, g[1].bytes);
                data[at] = 150;
                data[N - 1] = -3;
                tgi_frame first = {.buffers = buffers};
                run_code(&c, &first, threads);
                cr_expect_eq(first.failed_check, 1);
                cr_expect_eq(first.failed_position, N - 1);
                cr_expect_eq(first.failed_index, -3);
                data[N - 1] = 199;
                tgi_frame second = {.buffers = buffers};
                run_code(&c, &second, threads);
                cr_expect_eq(second.failed_check, 2);
                cr_expect_eq(second.failed_position, at + 1);
                cr_expect_eq(second.failed_index, data[at]);
                /* Also if many fail in one vector. */
                for (int i = at; i < N; i++)
                    data[i] = 150;
                tgi_frame many = {.buffers = buffers};
                run_code(&c, &many, threads);
                cr_expect_eq(many.failed_check, 2);
                cr_expect_eq(many.failed_position, at + 1);
                for (int i = 0; i < N; i++)
                    cr_expect_eq(((int64_t *)g[1].data)[i], 0);
            }
        free_guarded(&g[0]);
        free_guarded(&g[1]);
        free_code(&c);
    }
    check_nothing_is_alive();
}

/* -- Steps of the host ----------------------------------------------------- */

static int32_t host_step(tgi_frame *frame, int64_t step)
{
    int64_t *seen = frame->buffers[1];
    seen[step] = 1 + *(const int64_t *)frame->buffers[0];
    return step != seen[3];
}

/* Host steps see the stores of kernels and can end the call. */
Test(llvm_loops, host_steps_run_between_kernels)
{
    tgi_loops *loops = new_loops("host");
    const tgi_dim one = 1;
    const uint32_t x = add_buffer(loops, TG_I64, 1);
    add_buffer(loops, TG_I64, 4);
    for (uint32_t i = 0; i < 3; i++) {
        tgi_kernel_loops *k = add_kernel(loops, "tg_count", TGI_ROWS, 0, &one);
        const uint32_t access = add_access(k, x, 0, (int64_t[]){0});
        const uint32_t next =
            add_op(k, 0, TGI_OP_ADD, add_load(loops, k, 0, access),
                   add_number(k, TG_I64, 1), 0);
        add_store(k, 0, next, access, TGI_LEVEL_KERNEL);
        add_step(loops, TGI_STEP_BARRIER, 0);
        add_step(loops, TGI_STEP_HOST, i);
        ADD(&loops->hosts, (tgi_host_step){0});
        add_step(loops, TGI_STEP_BARRIER, 0);
    }
    code c = compile_loops(loops, 0);
    for (int threads = 1; threads <= 3; threads++)
        for (int64_t fails = 0; fails <= 3; fails++) {
            int64_t count = 10, seen[4] = {0, 0, 0, fails};
            void *const buffers[] = {&count, seen};
            tgi_frame frame = {.buffers = buffers, .host = host_step};
            run_code(&c, &frame, threads);
            for (int64_t i = 0; i < 3; i++)
                cr_expect_eq(seen[i], i <= fails ? 12 + i : 0);
            cr_expect_eq(frame.failed_check, fails < 3 ? -1 - fails : 0);
        }
    free_code(&c);
    check_nothing_is_alive();
}

/* -- Scratch --------------------------------------------------------------- */

/* Each thread has its own row, which persists from one phase to the next. */
Test(llvm_loops, phases_hand_rows_on_through_scratch)
{
    enum { ROWS = 20, COLUMNS = 77 };
    tgi_loops *loops = new_loops("scratch");
    const tgi_dim extent[] = {ROWS, COLUMNS};
    const int64_t dense[] = {COLUMNS, 1}, row[] = {0, 1};
    const uint32_t x = add_buffer(loops, TG_F32, ROWS * COLUMNS);
    const uint32_t out = add_buffer(loops, TG_F32, ROWS * COLUMNS);
    const uint32_t scratch = add_buffer(loops, TG_F32, COLUMNS);
    loops->buffers.data[scratch].place = TGI_PLACE_SCRATCH;
    tgi_kernel_loops *k = add_kernel(loops, "tg_scratch", TGI_ROWS, 1, extent);
    k->n_phases = 2;
    const uint32_t vx = add_load(loops, k, 0, add_access(k, x, 0, dense));
    add_store(k, 0, add_op(k, 0, TGI_OP_ADD, vx, vx, 0),
              add_access(k, scratch, 0, row), TGI_LEVEL_INNER);
    const uint32_t back = add_load(
        loops, k, 1, add_access(k, scratch, COLUMNS - 1, (int64_t[]){0, -1}));
    add_store(k, 1, back, add_access(k, out, 0, dense), TGI_LEVEL_INNER);
    code c = compile_loops(loops, 0);

    const size_t of_thread =
        (COLUMNS * sizeof(float) + TGI_BUFFER_ALIGN - 1) /
        TGI_BUFFER_ALIGN * TGI_BUFFER_ALIGN;
    for (int threads = 1; threads <= 3; threads++) {
        guarded g[] = {new_filled(TG_F32, ROWS * COLUMNS, 1, false),
                       new_filled(TG_F32, ROWS * COLUMNS, 2, false),
                       new_guarded((size_t)threads * of_thread, false)};
        void *const buffers[] = {g[0].data, g[1].data, g[2].data};
        tgi_frame frame = {.buffers = buffers};
        run_code(&c, &frame, threads);
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                cr_expect_eq(
                    ((float *)g[1].data)[i * COLUMNS + j],
                    2 * ((float *)g[0].data)[(i + 1) * COLUMNS - 1 - j]);
        for (int i = 0; i < 3; i++)
            free_guarded(&g[i]);
    }
    free_code(&c);
    check_nothing_is_alive();
}

/* -- Failures -------------------------------------------------------------- */

Test(llvm_loops, a_failed_compile_has_a_reason)
{
    tgi_loops *loops = new_loops("failing");
    const tgi_codegen_options options = {
        .cpu = "abacus", .alloc = tgi_alloc, .free = tgi_free};
    tgi_codegen codegen;
    cr_expect_not(tgi_llvm_codegen(loops, &options, &codegen));
    cr_expect(strstr(codegen.error, "abacus"));
    tgi_llvm_codegen_dispose(&codegen);
    tgi_loops_destroy(loops);
    check_nothing_is_alive();
}

/* Every allocation of a compile fails in turn; the loops exist before. */
Test(llvm_loops, a_compile_without_memory_frees_everything)
{
    tgi_loops *loops = new_loops("memory");
    const tgi_dim n = 100;
    const int64_t one[] = {1};
    const uint32_t x = add_buffer(loops, TG_F32, n);
    tgi_kernel_loops *k = add_kernel(loops, "tg_memory", TGI_ROWS, 0, &n);
    const uint32_t access = add_access(k, x, 0, one);
    const uint32_t vx = add_load(loops, k, 0, access);
    add_store(k, 0, add_op(k, 0, TGI_OP_NEG, vx, 0, 0), access,
              TGI_LEVEL_INNER);
    schedule_loops(loops, 0, 0);
    const tgi_codegen_options options = {.alloc = tgi_alloc,
                                         .free = tgi_free};
    const size_t alive = tg_live_bytes();
    for (long nth = 0;; nth++) {
        tgi_codegen codegen;
        tgi_alloc_inject_failure(nth, 0);
        const bool is_fine = tgi_llvm_codegen(loops, &options, &codegen);
        const bool has_failed = tgi_alloc_inject_failure(-1, 0) > nth;
        cr_expect_eq(is_fine, !has_failed);
        cr_expect_eq(codegen.is_out_of_memory, has_failed);
        cr_expect_eq(*codegen.error != 0, has_failed);
        tgi_llvm_codegen_dispose(&codegen);
        cr_expect_eq(tg_live_bytes(), alive);
        if (!has_failed)
            break;
    }
    tgi_loops_destroy(loops);
    check_nothing_is_alive();
}

/* SPDX-License-Identifier: MIT */
/*
 * test_fuse_conv.c - loops of convolutions: windows are read through tables of
 * offsets and never copied, epilogues join the kernel.
 */
#include "support/fusing.h"

/* -- Callbacks ------------------------------------------------------------- */

static void convolution(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_conv(in[0], in[1]));
}

/* A row of windows is contiguous if there is one axis. */
static void one_axis(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_conv1d(in[0], in[1]));
}

static void dilated(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_conv1d(in[0], in[1], .dilation = {2}));
}

/* in: images, filters, bias [filters], residual */
static void epilogue(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value y = tg_conv2d(in[0], in[1], .padding = TG_PADDING_SAME);
    tg_return(t, tg_add(tg_relu(tg_add(y, in[2])), in[3]));
}

/* in: images, filters */
static void padded(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_conv2d(in[0], in[1], .padding = TG_PADDING_SAME));
}

/* in: images, filters. The padded images are a result, too. */
static void padded_result(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = tg_pad_axes(in[0], TG_DIMS(0, 1, 1, 0),
                                   TG_DIMS(0, 1, 1, 0), 0);
    tg_return(t, tg_conv2d(x, in[1]), x);
}

/* in: images, filters */
static void gradient(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value y = tg_conv2d(in[0], in[1], .stride = {2, 2},
                                 .padding = TG_PADDING_SAME);
    tg_value g[2];
    tg_gradients(tg_sum(tg_square(y), TG_ALL_AXES), in, 2, g);
    tg_return(t, g[0], g[1]);
}

/* in: images, filters, the gradient of the result */
static void gradient_of_filters(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value y = tg_conv2d(in[0], in[1]);
    tg_value g;
    tg_gradients(tg_sum(tg_mul(y, in[2]), TG_ALL_AXES), &in[1], 1, &g);
    tg_return(t, g);
}

/* in: images, filters, scale and variance [filters]: a batch norm, whose factor
   is recorded behind the convolution */
static void normalised(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value y = tg_conv(in[0], in[1]);
    const tg_value factor = tg_mul(in[2], tg_rsqrt(tg_add(in[3], 1e-5)));
    tg_return(t, tg_relu(tg_mul(y, factor)));
}

static void pooling(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_max_pool(in[0], .window = {2, 2}));
}

/* -- Offset tables --------------------------------------------------------- */

/* All tables; those in memory if `is_computed`. */
static int n_tables(const fused *fu, bool is_computed)
{
    int n = 0;
    for (size_t i = 0; i < fu->loops->kernels.n; i++) {
        const tgi_kernel_loops *k = fu->loops->kernels.data[i];
        for (size_t j = 0; j < k->offsets.n; j++)
            n += !is_computed ||
                 !tgi_buffer_id_is_none(k->offsets.data[j].memory);
    }
    return n;
}

#define CHECK_TABLES(constant, computed, callback, symbols, ...) \
    do { \
        fused fu; \
        fuse(&fu, callback, symbols, __VA_ARGS__); \
        cr_assert_eq(n_tables(&fu, false), (constant) + (computed)); \
        cr_assert_eq(n_tables(&fu, true), computed); \
        fuse_end(&fu); \
        check_nothing_is_alive(); \
    } while (0)

Test(fuse_conv, tables_are_constants_where_strides_are_known)
{
    CHECK_TABLES(1, 0, convolution, NO_SYMBOLS, F32(8, 20, 20, 3),
                 F32(3, 3, 3, 16));
    CHECK_TABLES(1, 0, convolution, SYMBOLS(8), F32(TG_UNKNOWN, 20, 20, 3),
                 F32(3, 3, 3, 16));
    CHECK_TABLES(0, 1, convolution, SYMBOLS(20), F32(8, 20, TG_UNKNOWN, 3),
                 F32(3, 3, 3, 16));
    /* More entries than a constant may have. */
    CHECK_TABLES(0, 1, convolution, NO_SYMBOLS, F32(2, 40, 40, 8),
                 F32(32, 32, 8, 16));
}

Test(fuse_conv, one_axis_needs_no_table_unless_it_is_dilated)
{
    CHECK_TABLES(0, 0, one_axis, NO_SYMBOLS, F32(8, 200, 3), F32(5, 3, 16));
    CHECK_TABLES(1, 0, dilated, NO_SYMBOLS, F32(8, 200, 3), F32(5, 3, 16));
    CHECK_TABLES(0, 0, dilated, NO_SYMBOLS, F32(8, 200, 3), F32(1, 3, 16));
}

/* -- Memory ---------------------------------------------------------------- */

/* Elements of all buffers that are neither arguments nor results. */
static int64_t n_temporary(const fused *fu)
{
    int64_t n = 0;
    for (size_t i = 0; i < fu->loops->buffers.n; i++) {
        const tgi_loop_buffer *b = &fu->loops->buffers.data[i];
        if (b->is_used && (b->place == TGI_PLACE_TEMP ||
                           b->place == TGI_PLACE_SCRATCH))
            n += b->count;
    }
    return n;
}

Test(fuse_conv, windows_are_not_copied)
{
    fused fu;
    fuse(&fu, convolution, NO_SYMBOLS, F32(8, 20, 20, 3), F32(3, 3, 3, 16));
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(n_temporary(&fu), 0);
    fuse_end(&fu);
    /* Padding is stored once, a result is at most once beside it. */
    fuse(&fu, gradient, NO_SYMBOLS, F32(8, 20, 20, 16), F32(3, 3, 16, 16));
    cr_assert_lt(n_temporary(&fu), 8 * 22 * 22 * 16 * 5);
    fuse_end(&fu);
    fuse(&fu, pooling, NO_SYMBOLS, F32(8, 20, 20, 16));
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(n_temporary(&fu), 0);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* Rows of the micro-kernel are channels, beside the axes of the window; the
   transpose that makes them filters is a store in another order. */
Test(fuse_conv, the_gradient_of_filters_is_stored_where_it_belongs)
{
    fused fu;
    fuse(&fu, gradient_of_filters, NO_SYMBOLS, F32(8, 10, 10, 16),
         F32(3, 3, 16, 32), F32(8, 8, 8, 32));
    const tgi_kernel_loops *last =
        fu.loops->kernels.data[fu.loops->kernels.n - 1];
    cr_assert_eq(last->reductions.n, 1);
    cr_assert_eq(last->stores.n, 1);
    cr_assert_eq(last->n_outer, 3);
    cr_assert_eq(last->extent[1], 3 * 16); /* of the window, and channels */
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* The convolution, which may not be the last kernel. */
static const tgi_kernel_loops *matmul_of(const fused *fu)
{
    size_t i = 0;
    while (fu->loops->kernels.data[i]->reductions.n == 0)
        i++;
    return fu->loops->kernels.data[i];
}

/* The stride of the windows along the last outer axis, that of vectors. */
static tgi_dim stride_of_windows(const fused *fu)
{
    const tgi_kernel_loops *k = matmul_of(fu);
    const uint32_t windows = k->reductions.data[0].value;
    return k->accesses.data[k->insts.data[windows].number]
        .stride[k->n_outer - 1]
        .distance;
}

Test(fuse_conv, few_filters_are_rows_and_windows_columns)
{
    fused fu;
    fuse(&fu, padded, NO_SYMBOLS, F32(2, 20, 24, 5), F32(3, 3, 5, 3));
    cr_assert_eq(matmul_of(&fu)->extent[2], 3);
    cr_assert_eq(matmul_of(&fu)->extent[3], 24);
    cr_assert_eq(stride_of_windows(&fu), 1);
    fuse_end(&fu);
    fuse(&fu, padded, SYMBOLS(2, 20, 24),
         F32(TG_UNKNOWN, TG_UNKNOWN, TG_UNKNOWN, 5), F32(3, 3, 5, 3));
    cr_assert_eq(stride_of_windows(&fu), 1);
    fuse_end(&fu);
    /* More filters, few windows, or a pad with another user. */
    fuse(&fu, padded, NO_SYMBOLS, F32(2, 20, 24, 5), F32(3, 3, 5, 9));
    cr_assert_eq(stride_of_windows(&fu), 0);
    fuse_end(&fu);
    fuse(&fu, padded, NO_SYMBOLS, F32(2, 20, 15, 5), F32(3, 3, 5, 3));
    cr_assert_eq(stride_of_windows(&fu), 0);
    fuse_end(&fu);
    fuse(&fu, padded_result, NO_SYMBOLS, F32(2, 20, 24, 5), F32(3, 3, 5, 3));
    cr_assert_eq(stride_of_windows(&fu), 0);
    fuse_end(&fu);
    check_nothing_is_alive();
}

Test(fuse_conv, epilogues_join_the_kernel)
{
    fused fu;
    fuse(&fu, epilogue, NO_SYMBOLS, F32(8, 20, 20, 3), F32(3, 3, 3, 16),
         F32(16), F32(8, 20, 20, 16));
    /* The border and the inside of the padded images, then the product. */
    const tgi_kernel_loops *last =
        fu.loops->kernels.data[fu.loops->kernels.n - 1];
    cr_assert_eq(last->reductions.n, 1);
    cr_assert_eq(last->stores.n, 1);
    cr_assert_eq(n_temporary(&fu), 8 * 22 * 22 * 3);
    fuse_end(&fu);
    check_nothing_is_alive();
}

Test(fuse_conv, factors_of_epilogues_are_computed_before)
{
    fused fu;
    fuse(&fu, normalised, NO_SYMBOLS, F32(8, 20, 20, 3), F32(3, 3, 3, 16),
         F32(16), F32(16));
    cr_assert_eq(n_kernels(&fu), 2);
    const tgi_kernel_loops *last = fu.loops->kernels.data[1];
    cr_assert_eq(last->reductions.n, 1);
    cr_assert_eq(n_temporary(&fu), 16);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* -- The dump -------------------------------------------------------------- */

Test(fuse_conv, loops_of_convolutions)
{
    tgi_strbuf text = {0};
    fused fu;
    SHOW(&text, &fu, convolution, NO_SYMBOLS, F32(8, 20, 20, 3),
         F32(3, 3, 3, 16));
    fuse_end(&fu);
    SHOW(&text, &fu, convolution, SYMBOLS(8, 20, 20),
         F32(TG_UNKNOWN, TG_UNKNOWN, TG_UNKNOWN, 3), F32(3, 3, 3, 16));
    fuse_end(&fu);
    check_shown("loops_convolutions.txt", &text);
}

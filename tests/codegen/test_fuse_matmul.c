/* SPDX-License-Identifier: MIT */
/*
 * test_fuse_matmul.c - the operands of matrix products: read directly, or
 * stored first by another kernel, as packed panels or row by row, and why.
 *
 * The sizes are far from the thresholds, which are measured and may change.
 */
#include "support/fusing.h"

#define F64(...) tg_spec_tensor(TG_F64, TG_DIMS(__VA_ARGS__))
#define I16(...) tg_spec_tensor(TG_I16, TG_DIMS(__VA_ARGS__))

/* -- Copies and packing of operands ---------------------------------------- */

static bool has_packed_panels(const tgi_kernel_loops *kernel)
{
    for (size_t i = 0; i < kernel->accesses.n; i++)
        if (kernel->accesses.data[i].panel_width)
            return true;
    return false;
}

/* Kernels that store packed panels, and nothing else. */
static int n_packs(const fused *fu)
{
    int n = 0;
    for (size_t i = 0; i < fu->loops->kernels.n; i++) {
        const tgi_kernel_loops *kernel = fu->loops->kernels.data[i];
        n += has_packed_panels(kernel) && kernel->reductions.n == 0;
    }
    return n;
}

/* The kernel of the only matrix product. */
static const tgi_kernel_loops *product_kernel(const fused *fu)
{
    const tgi_kernel_loops *found = NULL;
    for (size_t i = 0; i < fu->loops->kernels.n; i++) {
        const tgi_kernel_loops *kernel = fu->loops->kernels.data[i];
        for (size_t k = 0; k < kernel->reductions.n; k++)
            if (kernel->reductions.data[k].op == TGI_OP_MATMUL &&
                !kernel->reductions.data[k].combines_blocks) {
                cr_assert_null(found, "there are two products");
                found = kernel;
            }
    }
    cr_assert_not_null(found);
    return found;
}

static bool explains(const fused *fu, const char *why)
{
    return fu->explain.text && strstr(fu->explain.text, why);
}

/* Fuses, and checks whether the operands were repacked; if so, that the
   reason is explained. */
#define CHECK_OPERANDS(packs, lays, callback, symbols, ...) \
    do { \
        fused fu; \
        fuse(&fu, callback, symbols, __VA_ARGS__); \
        check_operands(__LINE__, &fu, packs, lays); \
        fuse_end(&fu); \
        check_nothing_is_alive(); \
    } while (0)

static void check_operands(int line, const fused *fu, bool packs, bool lays)
{
    cr_assert_eq(n_packs(fu), packs, "line %d: %d packs", line, n_packs(fu));
    cr_assert_eq(has_packed_panels(product_kernel(fu)), packs, "line %d", line);
    cr_assert_eq(explains(fu, "packed for a matmul"), packs, "line %d", line);
    cr_assert_eq(explains(fu, "copied row by row for a matmul"), lays,
                 "line %d", line);
}

/* -- Callbacks ------------------------------------------------------------- */

static void times(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul(in[0], in[1]));
}

static void transposed_times(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul_with(in[0], in[1], TG_TRANSPOSE_A));
}

static void times_transposed(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul_with(in[0], in[1], TG_TRANSPOSE_B));
}

static tg_value transposed(tg_value x)
{
    return tg_transpose(x, 2, (const int[]){1, 0});
}

/* The same through views. */
static void views_times(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul(transposed(in[0]), transposed(in[1])));
}

/* Both products of a backward pass: no operand is strided. */
static void views_transposed(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul_with(transposed(in[0]), transposed(in[1]),
                                TG_TRANSPOSE_A | TG_TRANSPOSE_B));
}

static void functions_times(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul(in[0], tg_exp(in[1])));
}

static void used_twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value c = tg_matmul(in[0], in[1]);
    tg_return(t, c, tg_relu(c));
}

static void positions(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_argmax(tg_matmul(in[0], in[1]), 1));
}

/* -- Which operands are copied --------------------------------------------- */

Test(fuse_matmul, small_operands_are_not_copied)
{
    CHECK_OPERANDS(false, false, times, NO_SYMBOLS, F32(64, 64), F32(64, 64));
    CHECK_OPERANDS(false, false, transposed_times, NO_SYMBOLS, F32(64, 64),
                   F32(64, 64));
    CHECK_OPERANDS(false, false, times, NO_SYMBOLS, F64(33, 17), F64(17, 65));
    CHECK_OPERANDS(false, false, times, NO_SYMBOLS, F32(7, 40, 9),
                   F32(7, 9, 30));
}

Test(fuse_matmul, a_large_operand_b_is_packed)
{
    CHECK_OPERANDS(true, false, times, NO_SYMBOLS, F32(512, 512),
                   F32(512, 512));
    CHECK_OPERANDS(true, false, times, NO_SYMBOLS, F64(512, 512),
                   F64(512, 512));
    CHECK_OPERANDS(true, false, times, NO_SYMBOLS, I32(512, 512),
                   I32(512, 512));
    CHECK_OPERANDS(true, false, times, NO_SYMBOLS, F32(3, 512, 512),
                   F32(3, 512, 512));
}

Test(fuse_matmul, strided_operands_are_repacked)
{
    CHECK_OPERANDS(true, true, transposed_times, NO_SYMBOLS, F32(512, 512),
                   F32(512, 512));
    CHECK_OPERANDS(true, false, times_transposed, NO_SYMBOLS, F32(512, 512),
                   F32(512, 512));
    /* Small, but strided. */
    CHECK_OPERANDS(true, false, times_transposed, NO_SYMBOLS, F32(512, 64),
                   F32(64, 64));
}

Test(fuse_matmul, views_count_like_flags)
{
    CHECK_OPERANDS(true, true, views_times, NO_SYMBOLS, F32(512, 512),
                   F32(512, 512));
    CHECK_OPERANDS(true, false, views_transposed, NO_SYMBOLS, F32(512, 512),
                   F32(512, 512));
    CHECK_OPERANDS(false, false, views_transposed, NO_SYMBOLS, F32(512, 64),
                   F32(64, 64));
}

Test(fuse_matmul, few_rows_or_columns_are_not_worth_it)
{
    CHECK_OPERANDS(false, false, times, NO_SYMBOLS, F32(2, 512), F32(512, 512));
    CHECK_OPERANDS(false, false, times, NO_SYMBOLS, F32(512, 512), F32(512, 7));
    CHECK_OPERANDS(false, false, transposed_times, NO_SYMBOLS, F32(512, 512),
                   F32(512, 7));
    /* A vector product: a sum of products along rows. */
    CHECK_OPERANDS(false, false, times, NO_SYMBOLS, F32(512, 512), F32(512, 1));
    CHECK_OPERANDS(false, false, times, NO_SYMBOLS, F32(512, 512), F32(512));
}

Test(fuse_matmul, there_is_nothing_to_store_without_many_k)
{
    CHECK_OPERANDS(false, false, times, NO_SYMBOLS, F32(512, 1),
                   F32(1, 100000));
    CHECK_OPERANDS(false, false, times, NO_SYMBOLS, F32(512, 0), F32(0, 512));
}

/* They have no micro-kernels that would read packed panels. */
Test(fuse_matmul, small_types_are_read_as_they_are)
{
    CHECK_OPERANDS(false, false, times, NO_SYMBOLS, I16(512, 512),
                   I16(512, 512));
}

Test(fuse_matmul, extents_that_are_not_known_may_be_large)
{
    const int64_t u = TG_UNKNOWN;
    CHECK_OPERANDS(true, false, times, SYMBOLS(2, 3, 4),
                   F32(TG_SAME(1), TG_SAME(2)), F32(TG_SAME(2), TG_SAME(3)));
    CHECK_OPERANDS(true, true, transposed_times, SYMBOLS(2, 3, 4),
                   F32(TG_SAME(1), TG_SAME(2)), F32(TG_SAME(1), TG_SAME(3)));
    CHECK_OPERANDS(true, false, times, SYMBOLS(5), F32(u, 512), F32(512, 512));
    /* But not these. */
    CHECK_OPERANDS(false, false, times, SYMBOLS(5), F32(u, 64), F32(64, 64));
    CHECK_OPERANDS(false, false, times, SYMBOLS(5), F32(2, TG_SAME(1)),
                   F32(TG_SAME(1), 512));
    CHECK_OPERANDS(false, false, times, SYMBOLS(5), F32(512, TG_SAME(1)),
                   F32(TG_SAME(1), 7));
}

/* -- Layout of copies ------------------------------------------------------ */

/* Elements of the only temporary, if known. */
static int64_t packed_elements(const fused *fu)
{
    for (size_t i = 0; i < fu->loops->buffers.n; i++)
        if (fu->loops->buffers.data[i].place == TGI_PLACE_TEMP)
            return fu->loops->buffers.data[i].count;
    return 0;
}

Test(fuse_matmul, packed_panels_are_padded_and_packed_once)
{
    fused fu;
    fuse(&fu, times, NO_SYMBOLS, F32(300, 500), F32(500, 513));
    cr_assert_eq(packed_elements(&fu), 500 * 528);
    fuse_end(&fu);
    fuse(&fu, times, NO_SYMBOLS, F64(300, 500), F64(500, 513));
    cr_assert_eq(packed_elements(&fu), 500 * 520);
    fuse_end(&fu);
    /* One for the whole batch, or one per matrix. */
    fuse(&fu, times, NO_SYMBOLS, F32(9, 300, 500), F32(500, 512));
    cr_assert_eq(packed_elements(&fu), 500 * 512);
    fuse_end(&fu);
    fuse(&fu, times, NO_SYMBOLS, F32(9, 1, 300, 500), F32(1, 3, 500, 512));
    cr_assert_eq(packed_elements(&fu), 3 * 500 * 512);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* The packed operand is computed while packing, once per element. */
Test(fuse_matmul, elementwise_operands_are_computed_once)
{
    fused fu;
    fuse(&fu, functions_times, NO_SYMBOLS, F32(512, 512), F32(512, 512));
    cr_assert_eq(n_ops(&fu, TGI_OP_EXP), 1);
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 1);
    const tgi_kernel_loops *product = product_kernel(&fu);
    for (size_t i = 1; i < product->insts.n; i++)
        cr_assert_neq(product->insts.data[i].kind, TGI_INST_OP);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* A matrix product has its own kernel, except for its elementwise epilogue
   and reduction epilogues (test_fuse_reduction_epilogue.c). */
Test(fuse_matmul, elements_are_used_where_they_are_computed)
{
    fused fu;
    fuse(&fu, used_twice, NO_SYMBOLS, F32(64, 64), F32(64, 64));
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(product_kernel(&fu)->stores.n, 2);
    fuse_end(&fu);
    fuse(&fu, positions, NO_SYMBOLS, F32(64, 64), F32(64, 64));
    cr_assert_eq(n_kernels(&fu), 2);
    cr_assert_eq(product_kernel(&fu)->reductions.n, 1);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* -- Shown ----------------------------------------------------------------- */

Test(fuse_matmul, loops_of_copied_operands)
{
    tgi_strbuf text = {0};
    fused fu;
    SHOW(&text, &fu, times, NO_SYMBOLS, F32(256, 512), F32(512, 300));
    fuse_end(&fu);
    SHOW(&text, &fu, transposed_times, NO_SYMBOLS, F32(2, 512, 256),
         F32(512, 300));
    fuse_end(&fu);
    SHOW(&text, &fu, times, SYMBOLS(2, 3, 4), F64(TG_SAME(1), TG_SAME(2)),
         F64(TG_SAME(2), TG_SAME(3)));
    fuse_end(&fu);
    check_shown("loops_packed.txt", &text);
}

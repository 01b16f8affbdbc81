/* SPDX-License-Identifier: MIT */
/*
 * test_fuse_reduction_epilogue.c - reductions of a matrix product: part of its
 * kernel where that is legal and profitable, else separate kernels.
 *
 * Legality is exact. Sizes are far from the thresholds of profitability, which
 * are measured and may change.
 */
#include "support/fusing.h"

#define F64(...) tg_spec_tensor(TG_F64, TG_DIMS(__VA_ARGS__))
#define I16(...) tg_spec_tensor(TG_I16, TG_DIMS(__VA_ARGS__))

/* -- Number of epilogues --------------------------------------------------- */

static int n_epilogues(const fused *fu, bool along_rows)
{
    int n = 0;
    for (size_t k = 0; k < fu->loops->kernels.n; k++) {
        const tgi_kernel_loops *kernel = fu->loops->kernels.data[k];
        for (size_t i = 0; i < kernel->stores.n; i++)
            n += kernel->stores.data[i].epilogue_op &&
                 kernel->stores.data[i].along_rows == along_rows;
    }
    return n;
}

static void check_epilogues(int line, const fused *fu, int rows, int columns,
                            int kernels)
{
    const bool is_explained =
        fu->explain.text &&
        strstr(fu->explain.text, "reduced in the kernel of its matmul");
    cr_assert_eq(n_epilogues(fu, true), rows, "line %d: %d rows", line,
                 n_epilogues(fu, true));
    cr_assert_eq(n_epilogues(fu, false), columns, "line %d: %d columns", line,
                 n_epilogues(fu, false));
    cr_assert_eq(is_explained, rows + columns > 0, "line %d", line);
    cr_assert_eq(n_kernels(fu), kernels, "line %d: %d kernels", line,
                 n_kernels(fu));
}

/* Fuses, and checks the number of reduction epilogues along rows and
   columns, and the number of kernels. */
#define CHECK_EPILOGUES(rows, columns, kernels, callback, symbols, ...) \
    do { \
        fused fu; \
        fuse(&fu, callback, symbols, __VA_ARGS__); \
        check_epilogues(__LINE__, &fu, rows, columns, kernels); \
        fuse_end(&fu); \
        check_nothing_is_alive(); \
    } while (0)

/* -- Callbacks ------------------------------------------------------------- */

static tg_value product(const tg_value *in)
{
    return tg_matmul(in[0], in[1]);
}

#define CALLBACK(name, ...)                                                    \
    static void name(tg_trace *t, const tg_value *in, void *user)              \
    {                                                                          \
        (void)user;                                                            \
        tg_value c = product(in);                                              \
        tg_return(t, __VA_ARGS__);                                             \
    }

CALLBACK(row_sum, tg_sum(c, TG_AXES(-1)))
CALLBACK(row_max, tg_reduce_max(c, TG_AXES(-1)))
CALLBACK(column_sum, tg_sum(c, TG_AXES(-2)))
CALLBACK(column_min, tg_reduce_min(c, TG_AXES(-2)))
CALLBACK(stored_row_sum, c, tg_sum(c, TG_AXES(-1)))
CALLBACK(stored_row_max, c, tg_reduce_max(c, TG_AXES(-1)))
CALLBACK(stored_column_sum, c, tg_sum(c, TG_AXES(-2)))
CALLBACK(row_position, tg_argmax(c, -1))
CALLBACK(column_position, tg_argmin(c, -2))
CALLBACK(total, tg_sum(c, TG_ALL_AXES))
CALLBACK(first_sum, tg_sum(c, TG_AXES(0)))
CALLBACK(transposed_sum,
         tg_sum(tg_transpose(c, 2, (const int[]){1, 0}), TG_AXES(1)))
CALLBACK(both_sums, tg_sum(c, TG_AXES(-1)), tg_sum(c, TG_AXES(-2)))
CALLBACK(many_sums, tg_sum(c, TG_AXES(-1)), tg_sum(tg_square(c), TG_AXES(-1)),
         tg_prod(c, TG_AXES(-1)), tg_sum(tg_relu(c), TG_AXES(-1)),
         tg_sum(tg_mul(c, 3), TG_AXES(-1)))
CALLBACK(layer_sum, tg_sum(tg_square(tg_relu(tg_add(c, in[2]))), TG_AXES(-2)))
CALLBACK(normal, tg_div(c, tg_sum(c, tg_keep(TG_AXES(-1)))))
CALLBACK(other_sum, c, tg_sum(in[2], TG_AXES(-1)))

static void added_sum(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value a = tg_add(in[0], in[2]);
    tg_return(t, tg_sum(tg_matmul(a, in[1]), TG_AXES(-1)));
}

static void scaled_sum(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value a = tg_mul(in[0], 3);
    tg_return(t, tg_sum(tg_matmul(a, in[1]), TG_AXES(-1)));
}

/* All columns are the same one. */
static void spread_sum(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value b = tg_broadcast(in[1], TG_DIMS(64, 64));
    tg_return(t, tg_sum(tg_matmul(in[0], b), TG_AXES(-2)));
}

/* -- Legality -------------------------------------------------------------- */

Test(fuse_reduction_epilogue,
     rows_and_columns_of_a_product_are_reduced_in_its_kernel)
{
    CHECK_EPILOGUES(1, 0, 1, row_sum, NO_SYMBOLS, F32(64, 64), F32(64, 64));
    CHECK_EPILOGUES(1, 0, 1, row_max, NO_SYMBOLS, F32(64, 64), F32(64, 64));
    CHECK_EPILOGUES(0, 1, 1, column_sum, NO_SYMBOLS, F32(64, 64), F32(64, 64));
    CHECK_EPILOGUES(0, 1, 1, column_min, NO_SYMBOLS, F32(64, 64), F32(64, 64));
    CHECK_EPILOGUES(1, 0, 1, row_sum, NO_SYMBOLS, F64(33, 17), F64(17, 65));
    CHECK_EPILOGUES(0, 1, 1, column_sum, NO_SYMBOLS, I32(33, 17), I32(17, 65));
    CHECK_EPILOGUES(1, 0, 1, row_sum, NO_SYMBOLS, F32(5, 33, 17),
                    F32(5, 17, 65));
    CHECK_EPILOGUES(0, 1, 1, column_sum, NO_SYMBOLS, F32(5, 33, 17),
                    F32(17, 65));
    CHECK_EPILOGUES(1, 1, 1, both_sums, NO_SYMBOLS, F32(33, 17), F32(17, 15));
}

Test(fuse_reduction_epilogue, products_read_only_by_epilogues_are_not_stored)
{
    fused fu;
    fuse(&fu, row_sum, NO_SYMBOLS, F32(64, 64), F32(64, 64));
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    cr_assert_eq(fu.loops->kernels.data[0]->stores.n, 1);
    fuse_end(&fu);
    fuse(&fu, stored_column_sum, NO_SYMBOLS, F32(64, 64), F32(64, 64));
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(fu.loops->kernels.data[0]->stores.n, 2);
    fuse_end(&fu);
    check_nothing_is_alive();
}

Test(fuse_reduction_epilogue, an_epilogue_is_one_block)
{
    CHECK_EPILOGUES(0, 1, 1, column_sum, NO_SYMBOLS, F32(256, 8), F32(8, 128));
    CHECK_EPILOGUES(0, 0, 2, column_sum, NO_SYMBOLS, F32(257, 8), F32(8, 128));
    CHECK_EPILOGUES(1, 0, 1, row_sum, NO_SYMBOLS, F32(400, 4), F32(4, 4096));
    CHECK_EPILOGUES(0, 0, 2, row_sum, NO_SYMBOLS, F32(400, 4), F32(4, 4097));
    CHECK_EPILOGUES(1, 0, 1, row_sum, NO_SYMBOLS, F64(400, 4), F64(4, 2048));
    CHECK_EPILOGUES(0, 0, 2, row_sum, NO_SYMBOLS, F64(400, 4), F64(4, 2049));
}

Test(fuse_reduction_epilogue, its_extent_is_known_and_others_need_not_be)
{
    const int64_t u = TG_UNKNOWN;
    CHECK_EPILOGUES(0, 0, 3, column_sum, SYMBOLS(64), F32(u, 64), F32(64, 128));
    CHECK_EPILOGUES(1, 0, 1, row_sum, SYMBOLS(64), F32(u, 64), F32(64, 16));
    CHECK_EPILOGUES(0, 1, 1, column_sum, SYMBOLS(64), F32(64, TG_SAME(1)),
                    F32(TG_SAME(1), 128));
    CHECK_EPILOGUES(1, 0, 1, row_sum, SYMBOLS(9), F32(u, 5, 64, 64),
                    F32(64, 64));
}

Test(fuse_reduction_epilogue, only_the_last_axes_are_reduced)
{
    CHECK_EPILOGUES(0, 0, 2, row_position, NO_SYMBOLS, F32(64, 64),
                    F32(64, 64));
    CHECK_EPILOGUES(0, 0, 2, column_position, NO_SYMBOLS, F32(64, 64),
                    F32(64, 64));
    CHECK_EPILOGUES(0, 0, 2, total, NO_SYMBOLS, F32(64, 64), F32(64, 64));
    /* Equal extents: the maps decide which axis it is. */
    CHECK_EPILOGUES(0, 0, 2, first_sum, NO_SYMBOLS, F32(9, 9, 64),
                    F32(9, 64, 64));
    CHECK_EPILOGUES(0, 0, 2, transposed_sum, NO_SYMBOLS, F32(64, 64),
                    F32(64, 64));
    CHECK_EPILOGUES(0, 0, 2, other_sum, NO_SYMBOLS, F32(64, 64), F32(64, 64),
                    F32(64, 64));
}

/* Small dtypes, vectors, and products over zero or one k have no reduction
   epilogues. */
Test(fuse_reduction_epilogue, epilogues_require_micro_kernels)
{
    CHECK_EPILOGUES(0, 0, 2, row_sum, NO_SYMBOLS, I16(64, 64), I16(64, 64));
    CHECK_EPILOGUES(0, 0, 2, column_sum, NO_SYMBOLS, F32(64, 64), F32(64, 1));
    CHECK_EPILOGUES(0, 0, 2, row_sum, NO_SYMBOLS, F32(64, 1), F32(1, 64));
    CHECK_EPILOGUES(0, 0, 2, row_sum, NO_SYMBOLS, F32(64, 0), F32(0, 64));
    /* The computed value is stored first. */
    CHECK_EPILOGUES(1, 0, 2, scaled_sum, NO_SYMBOLS, F32(64, 64), F32(64, 64));
    CHECK_EPILOGUES(1, 0, 2, added_sum, NO_SYMBOLS, F32(64, 64), F32(64, 64),
                    F32(64, 64));
    CHECK_EPILOGUES(0, 0, 2, spread_sum, NO_SYMBOLS, F32(64, 64), F32(64, 1));
    /* k-blocks are separate points (split-K). */
    CHECK_EPILOGUES(0, 0, 3, row_sum, NO_SYMBOLS, F32(16, 4096), F32(4096, 16));
}

/* -- Profitability --------------------------------------------------------- */

Test(fuse_reduction_epilogue, threads_keep_their_work)
{
    /* A thread takes whole rows or columns: not if there are few of them. */
    CHECK_EPILOGUES(0, 0, 2, row_sum, NO_SYMBOLS, F32(16, 256), F32(256, 1024));
    CHECK_EPILOGUES(1, 0, 1, row_sum, NO_SYMBOLS, F32(1024, 64), F32(64, 128));
    CHECK_EPILOGUES(0, 0, 2, column_sum, NO_SYMBOLS, F32(200, 256),
                    F32(256, 16));
    CHECK_EPILOGUES(0, 1, 1, column_sum, NO_SYMBOLS, F32(200, 64),
                    F32(64, 512));
    CHECK_EPILOGUES(1, 0, 2, both_sums, NO_SYMBOLS, F32(250, 256),
                    F32(256, 16));
    /* A batch is enough; so is a single vector of columns, which is not
       divided anyway. */
    CHECK_EPILOGUES(1, 1, 1, both_sums, NO_SYMBOLS, F32(9, 120, 64),
                    F32(9, 64, 16));
    CHECK_EPILOGUES(1, 0, 1, row_sum, NO_SYMBOLS, F32(300, 2048),
                    F32(2048, 16));
}

Test(fuse_reduction_epilogue,
     rows_that_are_read_for_all_columns_stay_in_the_cache)
{
    CHECK_EPILOGUES(0, 0, 2, column_sum, NO_SYMBOLS, F32(128, 8192),
                    F32(8192, 512));
}

/* A row wider than one panel has its partial results in memory; if it is
   stored anyway, it is read again instead. */
Test(fuse_reduction_epilogue, rows_that_are_stored_anyway_are_read_again)
{
    CHECK_EPILOGUES(0, 0, 2, stored_row_sum, NO_SYMBOLS, F32(64, 64),
                    F32(64, 64));
    CHECK_EPILOGUES(0, 0, 2, stored_row_max, NO_SYMBOLS, F32(64, 64),
                    F32(64, 64));
    CHECK_EPILOGUES(1, 0, 1, stored_row_max, NO_SYMBOLS, F32(64, 64),
                    F32(64, 16));
    CHECK_EPILOGUES(0, 1, 1, stored_column_sum, NO_SYMBOLS, F32(64, 64),
                    F32(64, 64));
}

Test(fuse_reduction_epilogue, a_kernel_has_few_epilogues)
{
    CHECK_EPILOGUES(4, 0, 2, many_sums, NO_SYMBOLS, F32(64, 64), F32(64, 16));
}

Test(fuse_reduction_epilogue, small_matmuls_are_straight_line_code)
{
    fused fu;
    fuse(&fu, row_sum, NO_SYMBOLS, F32(4, 4), F32(4, 4));
    cr_assert_eq(n_epilogues(&fu, true), 0);
    for (size_t i = 0; i < fu.loops->kernels.n; i++)
        cr_assert(fu.loops->kernels.data[i]->is_straightline);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* -- Operands and readers -------------------------------------------------- */

Test(fuse_reduction_epilogue, elementwise_ops_join_the_epilogue)
{
    fused fu;
    fuse(&fu, layer_sum, NO_SYMBOLS, F32(64, 64), F32(64, 64), F32(64));
    check_epilogues(__LINE__, &fu, 0, 1, 1);
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* A point cannot use the results of other points. */
Test(fuse_reduction_epilogue, a_reader_of_an_epilogue_follows_a_barrier)
{
    fused fu;
    fuse(&fu, normal, NO_SYMBOLS, F32(64, 64), F32(64, 16));
    check_epilogues(__LINE__, &fu, 1, 0, 2);
    cr_assert_eq(n_steps(&fu, TGI_STEP_BARRIER), 1);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* -- Shown ----------------------------------------------------------------- */

Test(fuse_reduction_epilogue, loops_of_matmuls_with_reduction_epilogues)
{
    tgi_strbuf text = {0};
    fused fu;
    SHOW(&text, &fu, stored_row_sum, NO_SYMBOLS, F32(3, 60, 40), F32(40, 10));
    fuse_end(&fu);
    SHOW(&text, &fu, layer_sum, NO_SYMBOLS, F32(7, 60, 40), F32(7, 40, 70),
         F32(70));
    fuse_end(&fu);
    SHOW(&text, &fu, normal, SYMBOLS(5), F64(600, TG_SAME(1)),
         F64(TG_SAME(1), 8));
    fuse_end(&fu);
    check_shown("loops_epilogues.txt", &text);
}

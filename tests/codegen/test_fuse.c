/* SPDX-License-Identifier: MIT */
/*
 * test_fuse.c - fusion: which operations share a kernel, which values are
 * stored, and which are computed only once. tests/golden/loops_*.txt have the
 * complete loops.
 */
#include "support/fusing.h"

/* -- Elementwise ----------------------------------------------------------- */

static void chain(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_tanh(tg_add(tg_mul(in[0], in[1]), tg_exp(in[0]))));
}

static void row_and_column(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(tg_add(in[0], in[1]), tg_sub(in[2], in[3])));
}

static void mixed_types(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value wide = tg_cast(in[0], TG_F64);
    tg_return(t, tg_select(tg_gt(in[0], 0), tg_cast(in[1], TG_F32), in[0]),
              tg_mul(wide, wide), tg_cast(tg_floor(in[0]), TG_I64));
}

Test(fuse, elementwise_chains_are_one_kernel)
{
    tgi_strbuf text = {0};
    fused fu;
    SHOW(&text, &fu, chain, NO_SYMBOLS, F32(100, 30), F32(100, 30));
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    cr_assert_eq(n_steps(&fu, TGI_STEP_BARRIER), 0);
    fuse_end(&fu);

    SHOW(&text, &fu, row_and_column, NO_SYMBOLS, F32(20, 30), F32(30),
         F32(20, 1), SCALAR_F32);
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    fuse_end(&fu);

    SHOW(&text, &fu, expensive_row, NO_SYMBOLS, F32(20, 30), F32(30));
    cr_assert_eq(n_kernels(&fu), 2);
    cr_assert_eq(n_ops(&fu, TGI_OP_EXP), 1);
    fuse_end(&fu);

    SHOW(&text, &fu, mixed_types, NO_SYMBOLS, F32(40), I32(40));
    cr_assert_eq(n_kernels(&fu), 1);
    fuse_end(&fu);
    check_shown("loops_elementwise.txt", &text);
}

/* -- Chains along rows ----------------------------------------------------- */

static void log_softmax(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_log_softmax(in[0], -1));
}

static void layer_norm(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_layer_norm(in[0], in[1], in[2], 1e-5));
}

static void logsumexp(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value m = tg_reduce_max(in[0], tg_keep(TG_AXES(-1)));
    tg_value sum = tg_sum(tg_exp(tg_sub(in[0], m)), tg_keep(TG_AXES(-1)));
    tg_return(t, tg_add(tg_log(sum), m));
}

Test(fuse, chains_along_rows_are_one_kernel)
{
    tgi_strbuf text = {0};
    fused fu;
    SHOW(&text, &fu, softmax, NO_SYMBOLS, F32(64, 1000));
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(fu.loops->kernels.data[0]->n_phases, 3);
    cr_assert_eq(n_ops(&fu, TGI_OP_EXP), 1);
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    fuse_end(&fu);

    SHOW(&text, &fu, log_softmax, NO_SYMBOLS, F32(4, 16, 1000));
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(n_ops(&fu, TGI_OP_EXP), 1);
    fuse_end(&fu);

    SHOW(&text, &fu, layer_norm, NO_SYMBOLS, F32(64, 1000), F32(1000),
         F32(1000));
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    fuse_end(&fu);

    SHOW(&text, &fu, logsumexp, NO_SYMBOLS, F32(64, 1000));
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(n_places(&fu, TGI_PLACE_SCRATCH), 0);
    fuse_end(&fu);
    check_shown("loops_rows.txt", &text);
}

/* -- Reductions ------------------------------------------------------------ */

static void sum_all(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(tg_square(in[0]), TG_ALL_AXES));
}

static void sum_leading(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(tg_square(in[0]), TG_AXES(0)));
}

static void sum_trailing(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(tg_square(in[0]), TG_AXES(1, 2)));
}

static void sum_middle(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(tg_square(in[0]), TG_AXES(1)));
}

static void sum_mixed(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(tg_square(in[0]), TG_AXES(0, 2)));
}

static void find_largest(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_argmax(in[0], -1), tg_argmin(in[0], 0),
              tg_reduce_max(in[0], TG_AXES(-1)));
}

Test(fuse, reductions_take_their_producers)
{
    tgi_strbuf text = {0};
    fused fu;
    SHOW(&text, &fu, sum_all, NO_SYMBOLS, F32(10, 20));
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    fuse_end(&fu);

    /* One long run, whose blocks threads divide. */
    SHOW(&text, &fu, sum_all, NO_SYMBOLS, F32(1000, 1000));
    cr_assert_eq(n_kernels(&fu), 2);
    cr_assert(fu.loops->kernels.data[0]->reductions.data[0].is_split);
    cr_assert(fu.loops->kernels.data[1]->reductions.data[0].combines_blocks);
    fuse_end(&fu);

    SHOW(&text, &fu, sum_leading, NO_SYMBOLS, F32(20, 3000));
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(fu.loops->kernels.data[0]->vectors, TGI_COLUMNS);
    fuse_end(&fu);

    SHOW(&text, &fu, sum_trailing, NO_SYMBOLS, F32(50, 20, 30));
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(fu.loops->kernels.data[0]->vectors, TGI_ROWS);
    fuse_end(&fu);

    SHOW(&text, &fu, sum_middle, NO_SYMBOLS, F32(50, 20, 30));
    cr_assert_eq(n_kernels(&fu), 1);
    fuse_end(&fu);

    /* The last axis first, then the other. */
    SHOW(&text, &fu, sum_mixed, NO_SYMBOLS, F32(50, 20, 30));
    cr_assert_eq(n_kernels(&fu), 2);
    fuse_end(&fu);

    /* Reduced axes that are not adjacent are made adjacent. */
    SHOW(&text, &fu, sum_mixed, NO_SYMBOLS, F32(5, 6, 7, 8));
    cr_assert_eq(n_kernels(&fu), 2);
    fuse_end(&fu);

    SHOW(&text, &fu, find_largest, NO_SYMBOLS, F32(20, 30));
    fuse_end(&fu);
    check_shown("loops_reductions.txt", &text);
}

/* -- Sharing --------------------------------------------------------------- */

static void siblings(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = in[0];
    tg_return(t, tg_exp(x), tg_mul(x, in[1]), tg_sub(in[1], 1));
}

static void moments(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(in[0], TG_AXES(-1)),
              tg_sum(tg_square(in[0]), TG_AXES(-1)),
              tg_reduce_max(in[0], TG_AXES(-1)));
}

/* A result that is also an operand. */
static void used_further(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_tanh(in[0]);
    tg_value z = tg_add(y, in[1]);
    tg_return(t, y, z, tg_sum(z, TG_AXES(-1)), y);
}

/* An expensive value used by two kernels that cannot be fused. */
static void used_twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_exp(in[0]);
    tg_return(t, tg_transpose(y, TG_PERM(1, 0)),
              tg_sum(tg_add(y, tg_mul(in[0], 2)), TG_AXES(0)));
}

/* Sums of rows; another computation with as many elements as rows; then rows
   again, using a value that either kernel could compute. */
static void rows_by(tg_trace *t, tg_value rows, bool is_little)
{
    const tg_value sums = tg_sum(rows, TG_AXES(-1));
    const tg_value all = tg_sum(tg_exp(sums), TG_AXES(0));
    const tg_value by =
        is_little ? tg_neg(tg_max(sums, 1)) : tg_log1p(sums);
    const tg_value column = tg_reshape(by, TG_DIMS(600, 1));
    tg_return(t, all, tg_mul(rows, column), tg_sum(by, TG_AXES(0)));
}

static void rows_by_little(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    rows_by(t, in[0], true);
}

static void rows_by_much(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    rows_by(t, in[0], false);
}

/* A cheap value is recomputed instead. */
static void cheap_twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_neg(in[0]);
    tg_return(t, tg_transpose(y, TG_PERM(1, 0)), tg_sum(y, TG_AXES(0)));
}

Test(fuse, siblings_over_one_domain_share_a_kernel)
{
    tgi_strbuf text = {0};
    fused fu;
    SHOW(&text, &fu, siblings, NO_SYMBOLS, F32(8, 9), F32(8, 9));
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(n_insts(&fu, TGI_INST_LOAD), 2);
    fuse_end(&fu);

    SHOW(&text, &fu, moments, NO_SYMBOLS, F32(80, 90));
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(n_insts(&fu, TGI_INST_LOAD), 1);
    fuse_end(&fu);

    SHOW(&text, &fu, used_further, NO_SYMBOLS, F32(80, 90), F32(80, 90));
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(n_ops(&fu, TGI_OP_TANH), 1);
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    fuse_end(&fu);
    check_shown("loops_siblings.txt", &text);
}

Test(fuse, little_is_done_with_its_row_and_much_for_many_at_a_time)
{
    fused fu;
    fuse(&fu, rows_by_little, NO_SYMBOLS, F32(600, 90));
    cr_assert_eq(n_kernels(&fu), 2);
    cr_assert_eq(n_steps(&fu, TGI_STEP_BARRIER), 1);
    fuse_end(&fu);

    fuse(&fu, rows_by_much, NO_SYMBOLS, F32(600, 90));
    cr_assert_eq(n_kernels(&fu), 3);
    fuse_end(&fu);
    check_nothing_is_alive();
}

Test(fuse, nothing_expensive_is_computed_twice)
{
    tgi_strbuf text = {0};
    fused fu;
    SHOW(&text, &fu, used_twice, NO_SYMBOLS, F32(80, 90));
    cr_assert_eq(n_ops(&fu, TGI_OP_EXP), 1);
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 1);
    fuse_end(&fu);

    SHOW(&text, &fu, cheap_twice, NO_SYMBOLS, F32(80, 90));
    cr_assert_eq(n_ops(&fu, TGI_OP_NEG), 2);
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    fuse_end(&fu);
    check_shown("loops_twice.txt", &text);
}

/* Sums along rows and along columns, which no kernel has both. */
static void sums_of_shifted(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_shl(in[0], 1);
    tg_return(t, tg_sum(y, TG_AXES(0)), tg_sum(y, TG_AXES(1)));
}

static void sums_of_doubled(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_mul(in[0], 2);
    tg_return(t, tg_sum(y, TG_AXES(0)), tg_sum(y, TG_AXES(1)));
}

static void sums_of_exp(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_exp(in[0]);
    tg_return(t, tg_sum(y, TG_AXES(0)), tg_sum(y, TG_AXES(1)));
}

/* The cost model counts the instructions of a recipe: a shift by a number has
   few, although the one by a tensor compares and selects. */
Test(fuse, cheap_operands_of_two_reductions_are_not_stored)
{
    static const struct {
        tg_callback *callback;
        int dtype, n_temporaries;
    } cases[] = {{sums_of_shifted, TG_I32, 0}, {sums_of_doubled, TG_I32, 0},
                 {sums_of_shifted, TG_U8, 0},  {sums_of_shifted, TG_I64, 0},
                 {sums_of_doubled, TG_F64, 0}, {sums_of_exp, TG_F32, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fused fu;
        fuse(&fu, cases[i].callback, NO_SYMBOLS,
             tg_spec_tensor((tg_dtype)cases[i].dtype, TG_DIMS(300, 500)));
        cr_expect_eq(n_kernels(&fu), 2, "case %zu", i);
        cr_expect_eq(n_places(&fu, TGI_PLACE_TEMP), cases[i].n_temporaries,
                     "case %zu", i);
        fuse_end(&fu);
    }
    check_nothing_is_alive();
}

/* -- Index maps ------------------------------------------------------------ */

static void transpose(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(tg_transpose(in[0], TG_PERM(1, 0)), in[1]));
}

/* Five points of a stencil, with wrap-around. */
static void stencil(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value rows = tg_slice(in[0], 0, 1, -1, 1);
    tg_value columns = tg_slice(in[0], 1, 1, -1, 1);
    tg_value sum = tg_add(tg_add(tg_slice(rows, 1, 0, -2, 1),
                                 tg_slice(rows, 1, 2, TG_END, 1)),
                          tg_add(tg_slice(columns, 0, 0, -2, 1),
                                 tg_slice(columns, 0, 2, TG_END, 1)));
    tg_return(t, tg_mul(sum, 0.25),
              tg_slice(tg_slice(in[0], 0, -1, TG_END, -2), 1, 0, TG_END, 3));
}

static void pad(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(tg_pad(tg_exp(in[0]), 1, 2, 3, 0.5), 2));
}

static void concat(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_concat(1, tg_exp(in[0]), in[1], tg_neg(in[0])));
}

static void reshape(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value flat = tg_reshape(tg_exp(in[0]), TG_DIMS(-1));
    tg_return(t, tg_add(flat, in[1]), tg_reshape(in[0], TG_DIMS(6, 4, 1)));
}

static void broadcast(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_broadcast(in[0], TG_DIMS(5, 4, 6)));
}

Test(fuse, index_maps_melt_into_their_users)
{
    tgi_strbuf text = {0};
    fused fu;
    SHOW(&text, &fu, transpose, NO_SYMBOLS, F32(30, 20), F32(20, 30));
    cr_assert_eq(n_kernels(&fu), 1);
    fuse_end(&fu);
    SHOW(&text, &fu, stencil, NO_SYMBOLS, F32(30, 20));
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    fuse_end(&fu);
    SHOW(&text, &fu, pad, NO_SYMBOLS, F32(3, 4));
    cr_assert_eq(n_ops(&fu, TGI_OP_EXP), 1);
    fuse_end(&fu);
    SHOW(&text, &fu, concat, NO_SYMBOLS, F32(3, 4), F32(3, 2));
    cr_assert_eq(n_ops(&fu, TGI_OP_EXP), 1);
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    fuse_end(&fu);
    SHOW(&text, &fu, reshape, NO_SYMBOLS, F32(4, 6), F32(24));
    fuse_end(&fu);
    SHOW(&text, &fu, broadcast, NO_SYMBOLS, F32(4, 1));
    cr_assert_eq(n_kernels(&fu), 1);
    fuse_end(&fu);
    check_shown("loops_views.txt", &text);
}

static void gather_check(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_exp(tg_gather(in[0], in[1], 0)));
}

static void gather_clamp(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_exp(tg_gather_with(in[0], tg_add(in[1], 1), 1,
                                       TG_GATHER_CLAMP)));
}

static void gather_zero(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_exp(tg_gather_with(in[0], in[1], 0, TG_GATHER_ZERO)));
}

/* Both results are written by the kernel that computes the indices, before
   these are checked. */
static void check_after(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value y = tg_tanh(in[0]);
    const tg_value index = tg_cast(tg_sum(y, TG_AXES(1)), TG_I32);
    tg_return(t, y, tg_gather(in[0], index, 0));
}

static bool may_be_lost(const fused *fu, uint32_t result)
{
    size_t i = 0;
    while (fu->loops->buffers.data[i].place != TGI_PLACE_RESULT ||
           fu->loops->buffers.data[i].index != result)
        i++;
    return tgi_loops_may_write_and_fail(fu->loops, tgi_buffer_id_from(i));
}

Test(fuse, results_that_no_failure_follows_are_known)
{
    fused fu;
    fuse(&fu, gather_check, NO_SYMBOLS, F32(30, 20), I32(5, 6));
    cr_assert(!may_be_lost(&fu, 0));
    fuse_end(&fu);
    fuse(&fu, check_after, NO_SYMBOLS, F32(30, 20));
    cr_assert(may_be_lost(&fu, 0));
    cr_assert(may_be_lost(&fu, 1));
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* in[1] has floats; out_of_other: of a smaller operand, too. */
static void of_computed_indices(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value at = tg_cast(in[1], TG_I64);
    const tg_value x = tg_gather(in[0], at, 0);
    (void)user;
    tg_return(t, tg_exp(x),
              tg_scatter_with(tg_neg(in[0]), at, x, 0, TG_SCATTER_ADD,
                              TG_SCATTER_DROP));
}

static void of_smaller_operand(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value at = tg_cast(in[1], TG_I64);
    (void)user;
    tg_return(t, tg_gather(in[0], at, 0),
              tg_gather_with(tg_slice(in[0], 0, 0, 9, 1), at, 0,
                             TG_GATHER_ZERO));
}

/* A gather that is in a kernel before the check of its indices. */
Test(fuse, gathers_are_clamped_before_the_check)
{
    fused fu;
    fuse(&fu, check_after, NO_SYMBOLS, F32(30, 20));
    cr_expect_eq(n_insts(&fu, TGI_INST_INDEX), 1);
    fuse_end(&fu);
    check_nothing_is_alive();
}

static int n_temporaries(const fused *fu)
{
    int n = 0;
    for (size_t i = 0; i < fu->loops->buffers.n; i++)
        n += fu->loops->buffers.data[i].is_used &&
             fu->loops->buffers.data[i].place == TGI_PLACE_TEMP;
    return n;
}

Test(fuse, checked_indices_are_neither_stored_nor_clamped)
{
    fused fu;
    fuse(&fu, of_computed_indices, NO_SYMBOLS, F32(3000), F32(2000));
    cr_expect_eq(n_insts(&fu, TGI_INST_INDEX), 0);
    cr_expect_eq(n_insts(&fu, TGI_INST_IN_RANGE), 1, "by the check");
    cr_expect_leq(n_temporaries(&fu), 1, "not the indices");
    fuse_end(&fu);
    fuse(&fu, of_smaller_operand, NO_SYMBOLS, F32(3000), F32(2000));
    cr_expect_eq(n_insts(&fu, TGI_INST_INDEX), 1);
    cr_expect_eq(n_insts(&fu, TGI_INST_IN_RANGE), 2);
    fuse_end(&fu);
    check_nothing_is_alive();
}

Test(fuse, gathers_check_or_clamp_indices_by_mode)
{
    tgi_strbuf text = {0};
    fused fu;
    SHOW(&text, &fu, gather_check, NO_SYMBOLS, F32(30, 20), I32(5, 6));
    cr_assert_eq(n_steps(&fu, TGI_STEP_RETURN_IF_FAILED), 1);
    cr_assert_eq(fu.loops->runtime_checks.n, 1);
    fuse_end(&fu);
    SHOW(&text, &fu, gather_clamp, NO_SYMBOLS, F32(30, 20), I32(7));
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(n_insts(&fu, TGI_INST_INDEX), 1);
    cr_assert_eq(n_insts(&fu, TGI_INST_IN_RANGE), 0);
    fuse_end(&fu);
    SHOW(&text, &fu, gather_zero, NO_SYMBOLS, F32(30, 20), I32(7));
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(n_insts(&fu, TGI_INST_IN_RANGE), 1);
    fuse_end(&fu);
    check_shown("loops_gathers.txt", &text);
}

/* -- Products -------------------------------------------------------------- */

static void dense_layer(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_relu(tg_add(tg_matmul(in[0], in[1]), in[2])));
}

static void matrix_vector(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul(in[0], in[1]), tg_matmul(in[1], in[0]));
}

static void transposed_batch(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul_with(in[0], in[1], TG_TRANSPOSE_B));
}

Test(fuse, matmuls_fuse_their_epilogues)
{
    tgi_strbuf text = {0};
    fused fu;
    SHOW(&text, &fu, dense_layer, NO_SYMBOLS, F32(64, 30), F32(30, 20),
         F32(20));
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    fuse_end(&fu);
    SHOW(&text, &fu, matrix_vector, NO_SYMBOLS, F32(30, 30), F32(30));
    cr_assert_eq(fu.loops->kernels.data[0]->vectors, TGI_ROWS);
    cr_assert_eq(fu.loops->kernels.data[1]->vectors, TGI_COLUMNS);
    fuse_end(&fu);
    SHOW(&text, &fu, transposed_batch, NO_SYMBOLS, F32(5, 8, 16),
         F32(9, 16));
    fuse_end(&fu);
    check_shown("loops_products.txt", &text);
}

/* -- State ----------------------------------------------------------------- */

static void assign(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_assign(in[0], in[1]);
    tg_return(t, tg_mul(tg_read(in[0]), 2));
}

static void assign_add(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_assign_add(in[0], tg_mul(in[1], 0.1));
    tg_assign_add(in[0], 1);
    tg_return(t, tg_read(in[0]));
}

static void swap(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)user;
    tg_value a = tg_read(in[0]), b = tg_read(in[1]);
    tg_assign(in[0], b);
    tg_assign(in[1], a);
}

static void read_before_write(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value before = tg_read(in[0]);
    tg_assign(in[0], tg_exp(in[1]));
    tg_return(t, before, tg_sum(before, TG_ALL_AXES), tg_read(in[0]));
}

static void print_between(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_print(t, "before %v", in[0]);
    tg_assign(in[0], tg_exp(in[1]));
    tg_print(t, "after %v", in[0]);
}

/* Writes before the check remain if it fails. */
static void write_check_write(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value before = tg_read(in[0]);
    tg_assign(in[0], tg_add(in[0], 1));
    tg_value picked = tg_gather(before, in[1], 0);
    tg_assign(in[0], tg_mul(in[0], 2));
    tg_return(t, picked);
}

/* Nothing sees the sum. */
static void write_twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)user;
    tg_value before = tg_read(in[1]);
    tg_assign(in[0], tg_sum(before, TG_ALL_AXES));
    tg_assign(in[0], before);
}

/* Stores to parameter `param`. */
static int n_writes(const fused *fu, uint32_t param)
{
    int n = 0;
    for (size_t i = 0; i < fu->loops->kernels.n; i++) {
        const tgi_kernel_loops *k = fu->loops->kernels.data[i];
        for (size_t j = 0; j < k->stores.n; j++) {
            const tgi_loop_buffer *b = tgi_loops_buffer(
                fu->loops, k->accesses.data[k->stores.data[j].access].buffer);
            n += b->place == TGI_PLACE_PARAM && b->index == param;
        }
    }
    return n;
}

Test(fuse, assignments_keep_their_order)
{
    tgi_strbuf text = {0};
    fused fu;
    SHOW(&text, &fu, assign, NO_SYMBOLS, V32(1000), F32(1000));
    cr_assert_eq(n_kernels(&fu), 1);
    fuse_end(&fu);
    SHOW(&text, &fu, assign_add, NO_SYMBOLS, V32(1000), F32(1000));
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    fuse_end(&fu);
    SHOW(&text, &fu, swap, NO_SYMBOLS, V32(1000), V32(1000));
    fuse_end(&fu);
    SHOW(&text, &fu, reverse, NO_SYMBOLS, V32(1000));
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 1);
    cr_assert_eq(n_steps(&fu, TGI_STEP_BARRIER), 1);
    fuse_end(&fu);
    SHOW(&text, &fu, read_before_write, NO_SYMBOLS, V32(1000), F32(1000));
    fuse_end(&fu);
    SHOW(&text, &fu, print_between, NO_SYMBOLS, V32(1000), F32(1000));
    cr_assert_eq(n_steps(&fu, TGI_STEP_HOST), 2);
    fuse_end(&fu);
    SHOW(&text, &fu, write_check_write, NO_SYMBOLS, V32(1000), I32(3));
    cr_assert_eq(n_steps(&fu, TGI_STEP_RETURN_IF_FAILED), 1);
    cr_assert_eq(n_writes(&fu, 0), 2);
    fuse_end(&fu);
    SHOW(&text, &fu, write_twice, NO_SYMBOLS, V32(1000), V32(1000));
    fuse_end(&fu);
    check_shown("loops_state.txt", &text);
}

static void write_print_write(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_assign(in[0], tg_exp(in[1]));
    tg_print(t, "%v", in[1]);
    tg_assign(in[0], in[1]);
}

static void increment(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[1], 1));
}

/* The loop may be cancelled. */
static void write_loop_write(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)user;
    tg_assign(in[0], tg_exp(in[1]));
    tg_value x;
    tg_for(30, increment, NULL, TG_ARGS(in[1]), &x, 1);
    tg_assign(in[0], x);
}

/* A store is seen by what follows it: a print, a loop that may be cancelled. */
Test(fuse, overwritten_assignments_store_nothing)
{
    fused fu;
    fuse(&fu, assign_add, NO_SYMBOLS, V32(1000), F32(1000));
    cr_assert_eq(n_writes(&fu, 0), 1);
    fuse_end(&fu);
    fuse(&fu, write_twice, NO_SYMBOLS, V32(1000), V32(1000));
    cr_assert_eq(n_writes(&fu, 0), 1);
    cr_assert_eq(n_ops(&fu, TGI_OP_SUM), 0);
    fuse_end(&fu);
    fuse(&fu, write_print_write, NO_SYMBOLS, V32(1000), F32(1000));
    cr_assert_eq(n_writes(&fu, 0), 2);
    fuse_end(&fu);
    fuse(&fu, write_loop_write, NO_SYMBOLS, V32(1000), F32(1000));
    cr_assert_eq(n_writes(&fu, 0), 2);
    fuse_end(&fu);
    check_nothing_is_alive();
}

static void draw(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value bits = tg_random_bits(TG_U32, in[1], in[2], TG_DIMS(4, 5));
    tg_return(t, tg_add(tg_cast(bits, TG_F32), in[0]),
              tg_random_bits(TG_U64, in[1], 2, TG_DIMS(6)),
              tg_iota(TG_I64, TG_DIMS(3, 2), 1));
}

Test(fuse, random_numbers_are_made_where_they_are_used)
{
    tgi_strbuf text = {0};
    fused fu;
    const tg_spec number = tg_spec_tensor(TG_U64, TG_SCALAR);
    SHOW(&text, &fu, draw, NO_SYMBOLS, F32(4, 5), number, number);
    cr_assert_eq(n_insts(&fu, TGI_INST_RANDOM), 2);
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    fuse_end(&fu);
    check_shown("loops_random.txt", &text);
}

/* -- Extents --------------------------------------------------------------- */

static void scaled_softmax(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_softmax(tg_mul(in[0], in[1]), -1));
}

static void sums(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(in[0], TG_AXES(0)), tg_sum(in[0], TG_AXES(1)),
              tg_add(in[0], 1));
}

/* in[1] may be broadcast: its gradient is summed over the axes along which it
   is, here none. */
static void gradient_of_product(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value y = tg_mul(tg_mul(in[0], in[0]), in[1]);
    tg_return(t, tg_gradient(tg_sum(y, TG_ALL_AXES), in[1]));
}

Test(fuse, reductions_of_axes_with_one_element_are_elementwise)
{
    fused fu;
    const tg_spec any = F32(TG_UNKNOWN, TG_UNKNOWN);
    fuse(&fu, gradient_of_product, SYMBOLS(64, 1000, 64, 1000), any, any);
    cr_assert_eq(n_kernels(&fu), 1);
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    cr_assert_eq(n_ops(&fu, TGI_OP_SUM), 0);
    fuse_end(&fu);
    check_nothing_is_alive();
}

Test(fuse, unknown_extents_are_named_and_ones_are_not_there)
{
    tgi_strbuf text = {0};
    fused fu;
    const tg_spec any = F32(TG_UNKNOWN, TG_UNKNOWN);
    SHOW(&text, &fu, scaled_softmax, SYMBOLS(64, 1000, 64, 1000), any, any);
    cr_assert_eq(n_kernels(&fu), 1);
    fuse_end(&fu);
    SHOW(&text, &fu, scaled_softmax, SYMBOLS(64, 1000, 64, 1), any, any);
    cr_assert_eq(n_kernels(&fu), 1);
    fuse_end(&fu);
    SHOW(&text, &fu, scaled_softmax, SYMBOLS(1, 1, 1, 1), any, any);
    fuse_end(&fu);
    SHOW(&text, &fu, sums, NO_SYMBOLS, F32(0, 3));
    fuse_end(&fu);
    SHOW(&text, &fu, sums, NO_SYMBOLS, F32(1, 3));
    fuse_end(&fu);
    SHOW(&text, &fu, sums, NO_SYMBOLS, F32(3, 1));
    fuse_end(&fu);
    check_shown("loops_extents.txt", &text);
}

/* -- Size ------------------------------------------------------------------ */

static void long_chain(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = in[0];
    for (int i = 0; i < 1500; i++)
        x = tg_abs(tg_sub(x, in[1]));
    tg_return(t, x);
}

Test(fuse, a_long_chain_is_cut_into_several_kernels)
{
    fused fu;
    fuse(&fu, long_chain, NO_SYMBOLS, F32(100), F32(100));
    cr_assert(n_kernels(&fu) >= 3 && n_kernels(&fu) <= 12, "%d",
              n_kernels(&fu));
    /* Each op occurs once, wherever kernels are split. */
    cr_assert_eq(n_ops(&fu, TGI_OP_ABS), 1500);
    cr_assert_eq(n_ops(&fu, TGI_OP_SUB), 1500);
    cr_assert_not_null(strstr(fu.explain.text, "the kernel would be too long"),
                       "%s", fu.explain.text);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* Every value is stored. */
static void many_stores(tg_trace *t, const tg_value *in, void *user)
{
    enum { N = 300 };
    tg_operand all[N];
    tg_value x = in[0];
    (void)user;
    for (int i = 0; i < N; i++) {
        x = tg_sub(in[1], x);
        all[i] = TG_IN(x);
    }
    tg_return_at(t, all, N, TG_HERE);
}

/* The scheduler of LLVM takes time for each pair of stores. */
Test(fuse, kernels_have_at_most_128_stores)
{
    fused fu;
    fuse(&fu, many_stores, NO_SYMBOLS, F32(100), F32(100));
    size_t n = 0;
    for (size_t i = 0; i < fu.loops->kernels.n; i++) {
        const tgi_kernel_loops *k = fu.loops->kernels.data[i];
        cr_assert_leq(k->stores.n, 128);
        n += k->stores.n;
    }
    cr_assert_eq(n, 300);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* -- Explaining ------------------------------------------------------------ */

static void explained(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_name(tg_exp(in[0]), "y");
    tg_value z = tg_name(tg_tanh(in[1]), "z");
    tg_assign(in[2], tg_slice(tg_exp(tg_read(in[2])), 0, -1, TG_END, -1));
    tg_return(t, tg_transpose(y, TG_PERM(1, 0)), tg_sum(y, TG_AXES(0)),
              tg_add(in[0], z));
}

Test(fuse, every_value_that_is_stored_has_a_reason)
{
    fused fu;
    fuse(&fu, explained, NO_SYMBOLS, F32(8, 9), F32(9), V32(5));
    check_golden("explain_fusion.txt", fu.explain.text);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* SPDX-License-Identifier: MIT */
/*
 * test_passes.c - the driver, and the passes fold, shape, crop and dead: what
 * they do, what they leave alone, and that the bits stay.
 */
#include <stdio.h>

#include "support/passes.h"

static tgi_graph *g;

static void begin(void)
{
    g = tgi_graph_create("f", NULL);
    cr_assert_not_null(g);
}

static void gives(tgi_pass_run *pass, tgi_ref value, const char *wanted)
{
    pass_gives(pass, g, value, wanted);
}

static tg_status shape_then_dead(const tgi_graph *in, tgi_graph **out_graph)
{
    return then_dead(tgi_pass_shape, in, out_graph);
}

static tg_status fold_then_dead(const tgi_graph *in, tgi_graph **out_graph)
{
    return then_dead(tgi_pass_fold, in, out_graph);
}

static tg_status crop_then_dead(const tgi_graph *in, tgi_graph **out_graph)
{
    return then_dead(tgi_pass_crop, in, out_graph);
}

/* -- Fold ------------------------------------------------------------------ */

Test(pass_constant_fold, computes_nodes_that_depend_on_constants_only)
{
    begin();
    tgi_ref two = number(g, TG_F32, 2), three = number(g, TG_F32, 3);
    gives(fold_then_dead, apply(g, NEG, apply(g, ADD, two, three)),
          "graph f() {\n"
          "  %1 = constant f32[] -5\n"
          "  return %1\n"
          "}\n");
}

Test(pass_constant_fold, keeps_to_the_kernels_rules)
{
    begin();
    tgi_ref x = number(g, TG_I32, INT32_MIN), y = number(g, TG_I32, -1);
    gives(fold_then_dead, apply(g, DIV, x, y),
          "graph f() {\n"
          "  %1 = constant i32[] -2147483648\n"
          "  return %1\n"
          "}\n");
}

/* That of an invalid operation is negative on x86. */
Test(pass_constant_fold, gives_the_positive_nan)
{
    static const uint32_t expected = 0x7fc00000;
    begin();
    tgi_ref zero = number(g, TG_F32, 0);
    tgi_ref nan = apply(g, DIV, zero, zero);
    tgi_graph_add_result(g, nan);
    tgi_graph_add_result(g, apply(g, NEG, nan));
    tgi_graph *out = run_pass(tgi_pass_fold, g);
    for (int i = 0; i < 2; i++)
        cr_expect_arr_eq(tgi_graph_constant(out, out->results.data[i]),
                         &expected, sizeof expected);
    tgi_graph_release(out);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(pass_constant_fold, computes_views_and_reductions)
{
    begin();
    float data[6] = {1, 2, 3, 4, 5, 6};
    tgi_ref x = tgi_graph_add_constant(g, TG_F32, shape_of(g, 2, 3), data,
                                       sizeof data, 0, (tg_site){NULL, 0});
    x = reshaped(g, TGI_OP_TRANSPOSE, x, shape_of(g, 3, 2),
                 ATTR(tgi_attr_perm, {1, 0}));
    x = reshaped(g, TGI_OP_SLICE, x, shape_of(g, 3, 2),
                 ATTR(tgi_attr_slice, {2, 0}, {-1, 1}));
    x = reshaped(g, TGI_OP_RESHAPE, x, shape_of(g, 6), NO_ATTR);
    tgi_graph_add_result(g, x);
    gives(fold_then_dead,
          reshaped(g, TGI_OP_SUM, x, scalar_shape(g), ATTR(tgi_attr_axes, 1)),
          "graph f() {\n"
          "  %1 = constant f32[6] 3, 6, 2, 5, 1, 4\n"
          "  %2 = constant f32[] 21\n"
          "  return %1, %2\n"
          "}\n");
}

Test(pass_constant_fold, computes_known_extents_and_leaves_unknown_ones)
{
    begin();
    tgi_dim n = symbol(g, 0, 0);
    param(g, TG_F32, shape_of(g, n));
    tgi_ref known = add_node(g, TGI_OP_EXTENT, TG_I64, scalar_shape(g), NULL,
                             ATTR(tgi_attr_index, 5));
    tgi_ref unknown = add_node(g, TGI_OP_EXTENT, TG_I64, scalar_shape(g), NULL,
                               ATTR(tgi_attr_index, n));
    gives(fold_then_dead, apply(g, ADD, known, unknown),
          "graph f(%1: f32[?0]) {\n"
          "  %2 = constant i64[] 5\n"
          "  %3 = extent i64[] ?0\n"
          "  %4 = add i64[] %2, %3\n"
          "  return %4\n"
          "}\n");
}

Test(pass_constant_fold, leaves_broadcasts_and_iotas_small)
{
    begin();
    tgi_ref x = broadcast(g, number(g, TG_F32, 2), shape_of(g, 100));
    tgi_graph_add_result(g, x);
    gives(fold_then_dead,
          add_node(g, TGI_OP_IOTA, TG_I32, shape_of(g, 4), NULL,
                   ATTR(tgi_attr_index, 0)),
          "graph f() {\n"
          "  %1 = constant f32[] 2\n"
          "  %2 = broadcast f32[100] %1\n"
          "  %3 = iota i32[4] axis=0\n"
          "  return %2, %3\n"
          "}\n");
}

Test(pass_constant_fold, computes_on_the_scalars_under_broadcasts)
{
    begin();
    tgi_shape_ref s = shape_of(g, symbol(g, 0, 0));
    param(g, TG_F32, s);
    tgi_ref two = broadcast(g, number(g, TG_F32, 2), s);
    tgi_ref three = broadcast(g, number(g, TG_F32, 3), s);
    gives(fold_then_dead, apply(g, LT, apply(g, MUL, two, three), two),
          "graph f(%1: f32[?0]) {\n"
          "  %2 = constant bool[] false\n"
          "  %3 = broadcast bool[?0] %2\n"
          "  return %3\n"
          "}\n");
}

Test(pass_constant_fold, leaves_nodes_whose_constants_would_be_large)
{
    begin();
    static const char zeros[1024];
    tgi_ref x = tgi_graph_add_constant(g, TG_U8, shape_of(g, 1024), zeros,
                                       sizeof zeros, 0, (tg_site){NULL, 0});
    tgi_ref zero = number(g, TG_U8, 0);
    tgi_ref parts[64 + 1] = {0};
    for (int i = 0; i < 64; i++)
        parts[i] = x;
    tgi_ref joined = add_node(g, TGI_OP_CONCAT, TG_U8, shape_of(g, 65536),
                              parts, ATTR(tgi_attr_index, 0));
    tgi_ref padded = add_node(g, TGI_OP_PAD, TG_U8, shape_of(g, 65536),
                              INPUTS(x, zero),
                              ATTR(tgi_attr_pad, {0}, {64512}, {0}));
    tgi_graph_add_result(g, joined);
    tgi_graph_add_result(g, padded);
    tgi_graph *out = run_pass(tgi_pass_fold, g);
    cr_assert_eq(tgi_graph_node(out, out->results.data[0])->op,
                 TGI_OP_CONSTANT, "as many bytes as went in");
    cr_assert_eq(tgi_graph_node(out, out->results.data[1])->op, TGI_OP_PAD);
    tgi_graph_release(out);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(pass_constant_fold, leaves_gathers_that_may_fail)
{
    begin();
    tgi_ref x = number(g, TG_F32, 2), i = number(g, TG_I32, 7);
    x = reshaped(g, TGI_OP_RESHAPE, x, shape_of(g, 1), NO_ATTR);
    tgi_ref bad = add_node(g, TGI_OP_GATHER, TG_F32, scalar_shape(g),
                           INPUTS(x, i),
                           ATTR(tgi_attr_gather, 0, TG_GATHER_CHECK));
    tgi_graph_add_result(g, bad);
    tgi_graph *out = run_pass(tgi_pass_fold, g);
    cr_assert_eq(tgi_graph_node(out, out->results.data[0])->op, TGI_OP_GATHER);
    tgi_graph_release(out);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(pass_constant_fold, never_reads_variables)
{
    begin();
    tgi_ref v = variable(g, TG_F32, scalar_shape(g));
    tgi_ref one = number(g, TG_F32, 1);
    tgi_ref write = assign(g, v, one);
    gives(fold_then_dead, apply(g, NEG, read_variable(g, v, write)),
          "graph f(%1: variable f32[]) {\n"
          "  %2 = constant f32[] 1\n"
          "  %3 = assign f32[] %1, %2\n"
          "  %4 = read f32[] %1, %3\n"
          "  %5 = neg f32[] %4\n"
          "  return %5\n"
          "}\n");
}

Test(pass_constant_fold, frees_intermediate_results)
{
    begin();
    static const char zeros[65536];
    tgi_ref x = tgi_graph_add_constant(g, TG_U8, shape_of(g, 65536), zeros,
                                       sizeof zeros, 0, (tg_site){NULL, 0});
    tgi_ref first = apply(g, NOT, x);
    for (int i = 0; i < 1000; i++)
        x = apply(g, ADD, apply(g, NEG, x), first);
    tgi_graph_add_result(g, x);
    tgi_graph *out = NULL;
    cr_assert_eq(tgi_pass_fold(g, &out), TG_OK);
    cr_assert_lt(tgi_graph_bytes(out), 32u << 20);
    tgi_graph_release(out);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

/* -- Shape ----------------------------------------------------------------- */

Test(pass_shape, views_that_change_nothing_go)
{
    begin();
    tgi_shape_ref s = shape_of(g, 2, symbol(g, 0, 1));
    tgi_ref p = param(g, TG_F32, s), x = p;
    x = broadcast(g, x, s);
    x = reshaped(g, TGI_OP_RESHAPE, x, s, NO_ATTR);
    x = reshaped(g, TGI_OP_TRANSPOSE, x, s, ATTR(tgi_attr_perm, {0, 1}));
    x = reshaped(g, TGI_OP_SLICE, x, s, ATTR(tgi_attr_slice, {0}, {1, 1}));
    x = add_node(g, TGI_OP_PAD, TG_F32, s, INPUTS(x, number(g, TG_F32, 1)),
                 ATTR(tgi_attr_pad, {0}, {0}, {0}));
    x = add_node(g, TGI_OP_CONCAT, TG_F32, s, INPUTS(x),
                 ATTR(tgi_attr_index, 1));
    gives(shape_then_dead, x, "graph f(%1: f32[2,?0]) {\n  return %1\n}\n");
}

Test(pass_shape, nested_views_become_one)
{
    begin();
    tgi_ref p = param(g, TG_F32, shape_of(g, 3, 1));
    tgi_ref a = broadcast(g, broadcast(g, p, shape_of(g, 3, 2)),
                          shape_of(g, 4, 3, 2));
    tgi_ref b = reshaped(g, TGI_OP_RESHAPE,
                         reshaped(g, TGI_OP_RESHAPE, a, shape_of(g, 24),
                                  NO_ATTR),
                         shape_of(g, 2, 12), NO_ATTR);
    tgi_graph_add_result(g, a);
    tgi_graph_add_result(g, b);
    tgi_ref c = reshaped(g, TGI_OP_TRANSPOSE, a, shape_of(g, 2, 4, 3),
                         ATTR(tgi_attr_perm, {2, 0, 1}));
    c = reshaped(g, TGI_OP_TRANSPOSE, c, shape_of(g, 4, 2, 3),
                 ATTR(tgi_attr_perm, {1, 0, 2}));
    gives(shape_then_dead, c,
          "graph f(%1: f32[3,1]) {\n"
          "  %2 = broadcast f32[4,3,2] %1\n"
          "  %3 = reshape f32[2,12] %2\n"
          "  %4 = transpose f32[4,2,3] %2 perm=[0,2,1]\n"
          "  return %2, %3, %4\n"
          "}\n");
}

Test(pass_shape, transposing_back_is_nothing)
{
    begin();
    tgi_ref p = param(g, TG_F32, shape_of(g, 2, 3, 4));
    tgi_ref x = reshaped(g, TGI_OP_TRANSPOSE, p, shape_of(g, 4, 2, 3),
                         ATTR(tgi_attr_perm, {2, 0, 1}));
    x = reshaped(g, TGI_OP_TRANSPOSE, x, shape_of(g, 2, 3, 4),
                 ATTR(tgi_attr_perm, {1, 2, 0}));
    gives(shape_then_dead, x, "graph f(%1: f32[2,3,4]) {\n  return %1\n}\n");
}

/* A slice of a slice of a vector of 20. */
static tgi_ref slices(int64_t n1, tgi_dim start1, int64_t step1, int64_t n2,
                      tgi_dim start2, int64_t step2)
{
    begin();
    tgi_ref x = param(g, TG_I32, shape_of(g, 20));
    x = reshaped(g, TGI_OP_SLICE, x, shape_of(g, n1),
                 ATTR(tgi_attr_slice, {start1}, {step1}));
    return reshaped(g, TGI_OP_SLICE, x, shape_of(g, n2),
                    ATTR(tgi_attr_slice, {start2}, {step2}));
}

Test(pass_shape, slices_of_slices_become_one)
{
    gives(shape_then_dead, slices(6, 2, 3, 3, 1, 2),
          "graph f(%1: i32[20]) {\n"
          "  %2 = slice i32[3] %1 start=[5] step=[6]\n"
          "  return %2\n"
          "}\n");
    gives(shape_then_dead, slices(10, 19, -2, 4, 8, -2),
          "graph f(%1: i32[20]) {\n"
          "  %2 = slice i32[4] %1 start=[3] step=[4]\n"
          "  return %2\n"
          "}\n");
    gives(shape_then_dead, slices(20, 19, -1, 20, 19, -1),
          "graph f(%1: i32[20]) {\n  return %1\n}\n");
}

/* `n` of 9 elements from a known start. */
static tgi_ref dynamic_slice(int64_t n, double start)
{
    begin();
    tgi_ref x = param(g, TG_I32, shape_of(g, 9));
    return add_node(g, TGI_OP_DYNAMIC_SLICE, TG_I32, shape_of(g, n),
                    INPUTS(x, number(g, TG_I8, start)),
                    ATTR(tgi_attr_index, 0));
}

Test(pass_shape, dynamic_slices_with_a_known_start_are_slices)
{
    static const struct {
        double start;
        const char *at;
    } cases[] = {{2, "2"}, {99, "5"}, {-1, "0"}};
    for (int i = 0; i < 3; i++) {
        char wanted[200];
        snprintf(wanted, sizeof wanted,
                 "graph f(%%1: i32[9]) {\n"
                 "  %%2 = slice i32[4] %%1 start=[%s] step=[1]\n"
                 "  return %%2\n"
                 "}\n",
                 cases[i].at);
        gives(shape_then_dead, dynamic_slice(4, cases[i].start), wanted);
    }
    gives(shape_then_dead, dynamic_slice(9, 3),
          "graph f(%1: i32[9]) {\n  return %1\n}\n");
}

Test(pass_shape, slices_of_nothing_stay_in_range)
{
    gives(shape_then_dead, slices(10, 19, -2, 0, 10, 1),
          "graph f(%1: i32[20]) {\n"
          "  %2 = slice i32[0] %1 start=[0] step=[1]\n"
          "  return %2\n"
          "}\n");
}

Test(pass_shape, slices_with_unknown_starts_are_combined_if_steps_allow)
{
    for (int64_t step = 1; step <= 2; step++) {
        begin();
        tgi_dim n = symbol(g, 0, 0);
        tgi_dim m = tgi_dim_sub(g->dims, n, 1);
        tgi_ref x = param(g, TG_I32, shape_of(g, n));
        x = reshaped(g, TGI_OP_SLICE, x, shape_of(g, m),
                     ATTR(tgi_attr_slice, {1}, {1}));
        if (step == 2) {
            tgi_dim half = tgi_dim_div(g->dims, n, 2);
            x = reshaped(g, TGI_OP_SLICE, x, shape_of(g, half),
                         ATTR(tgi_attr_slice, {0}, {2}));
        }
        x = reshaped(g, TGI_OP_SLICE, x, shape_of(g, 1),
                     ATTR(tgi_attr_slice, {tgi_dim_sub(g->dims, m, 1)}, {1}));
        if (step == 1)
            gives(shape_then_dead, x,
                  "graph f(%1: i32[?0]) {\n"
                  "  %2 = slice i32[1] %1 start=[?0-1] step=[1]\n"
                  "  return %2\n"
                  "}\n");
        else {
            /* Whether start * 2 is within depends on the extent. */
            tgi_graph *out = NULL;
            tgi_graph_add_result(g, x);
            cr_assert_eq(shape_then_dead(g, &out), TG_OK);
            cr_assert_eq(out->n_nodes, 3);
            tgi_graph_release(out);
            tgi_graph_release(g);
        }
    }
    check_nothing_is_alive();
}

Test(pass_shape, steps_that_would_overflow_stay_apart)
{
    begin();
    tgi_ref x = param(g, TG_I32, shape_of(g, 1));
    x = reshaped(g, TGI_OP_SLICE, x, shape_of(g, 1),
                 ATTR(tgi_attr_slice, {0}, {INT64_MAX}));
    x = reshaped(g, TGI_OP_SLICE, x, shape_of(g, 1),
                 ATTR(tgi_attr_slice, {0}, {INT64_MAX}));
    tgi_graph_add_result(g, x);
    tgi_graph *out = run_pass(shape_then_dead, g);
    cr_assert_eq(out->n_nodes, 3);
    tgi_graph_release(out);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

/* The op that a reduction over an axis of extent 1 becomes. */
static int reduced(tgi_op op, tg_dtype dtype, int64_t extent)
{
    begin();
    tgi_ref x = param(g, dtype, shape_of(g, N_EDGES * N_EDGES, extent));
    tgi_graph_add_result(g, reshaped(g, op, x, shape_of(g, N_EDGES * N_EDGES),
                                     ATTR(tgi_attr_axes, 2)));
    tgi_graph *out = run_pass(tgi_pass_shape, g);
    int became = tgi_graph_node(out, out->results.data[0])->op;
    tgi_graph_release(out);
    tgi_graph_release(g);
    return became;
}

Test(pass_shape, reductions_of_one_element_are_reshapes)
{
    static const tg_dtype dtypes[] = {TG_F32, TG_F64, TG_I8, TG_U64};
    for (size_t i = 0; i < N_OF(dtypes); i++) {
        cr_assert_eq(reduced(TGI_OP_PROD, dtypes[i], 1), TGI_OP_RESHAPE);
        cr_assert_eq(reduced(TGI_OP_REDUCE_MAX, dtypes[i], 1),
                     TGI_OP_RESHAPE);
        cr_assert_eq(reduced(TGI_OP_REDUCE_MIN, dtypes[i], 1),
                     TGI_OP_RESHAPE);
        cr_assert_eq(reduced(TGI_OP_SUM, dtypes[i], 1), TGI_OP_RESHAPE);
        cr_assert_eq(reduced(TGI_OP_SUM, dtypes[i], 2), TGI_OP_SUM);
        cr_assert_eq(reduced(TGI_OP_PROD, dtypes[i], 2), TGI_OP_PROD);
    }
    check_nothing_is_alive();
}

/* The reductions that are left of one of -slice(x) over the axes of `mask`,
   where the slice takes [rows, columns] of [40, 80]. */
static int n_reductions(tgi_op op, tg_dtype dtype, int64_t rows,
                        int64_t columns, uint64_t mask)
{
    begin();
    const tgi_ref x = reshaped(
        g, TGI_OP_SLICE, param(g, dtype, shape_of(g, 40, 80)),
        shape_of(g, rows, columns),
        ATTR(tgi_attr_slice, {(tgi_dim)(40 - rows), 0}, {1, 1}));
    const tgi_shape_ref shape = mask == 3   ? scalar_shape(g)
                                : mask == 1 ? shape_of(g, columns)
                                            : shape_of(g, rows);
    return count_nodes_after(shape_then_dead, g,
                             reshaped(g, op, apply(g, NEG, x), shape,
                                      ATTR(tgi_attr_axes, mask)),
                             op);
}

Test(pass_shape, reductions_in_any_order_of_what_has_gaps_go_by_rows)
{
    cr_assert_eq(n_reductions(TGI_OP_REDUCE_MAX, TG_F32, 30, 70, 3), 2);
    cr_assert_eq(n_reductions(TGI_OP_REDUCE_MIN, TG_F64, 30, 70, 3), 2);
    cr_assert_eq(n_reductions(TGI_OP_SUM, TG_I16, 30, 70, 3), 2);
    cr_assert_eq(n_reductions(TGI_OP_PROD, TG_I8, 30, 70, 3), 2);
    /* The order of a sum of floats matters. */
    cr_assert_eq(n_reductions(TGI_OP_SUM, TG_F32, 30, 70, 3), 1);
    /* One axis; rows that are contiguous, or short, or few. */
    cr_assert_eq(n_reductions(TGI_OP_REDUCE_MAX, TG_F32, 30, 70, 1), 1);
    cr_assert_eq(n_reductions(TGI_OP_REDUCE_MAX, TG_F32, 30, 70, 2), 1);
    cr_assert_eq(n_reductions(TGI_OP_REDUCE_MAX, TG_F32, 30, 80, 3), 1);
    cr_assert_eq(n_reductions(TGI_OP_REDUCE_MAX, TG_F32, 30, 60, 3), 1);
    cr_assert_eq(n_reductions(TGI_OP_REDUCE_MAX, TG_F32, 7, 70, 3), 1);
    check_nothing_is_alive();
}

Test(pass_shape, reductions_of_all_pairs_go_by_rows)
{
    begin();
    const tgi_dim n = symbol(g, 0, 0);
    const tgi_shape_ref s = shape_of(g, 5, n, 300);
    const tgi_ref x = param(g, TG_F32, shape_of(g, n, 1));
    const tgi_ref y = param(g, TG_F32, shape_of(g, 5, 1, 300));
    gives(shape_then_dead,
          reshaped(g, TGI_OP_REDUCE_MAX,
                   apply(g, SUB, broadcast(g, x, s), broadcast(g, y, s)),
                   shape_of(g, 5), ATTR(tgi_attr_axes, 6)),
          "graph f(%1: f32[?0,1], %2: f32[5,1,300]) {\n"
          "  %3 = broadcast f32[5,?0,300] %1\n"
          "  %4 = broadcast f32[5,?0,300] %2\n"
          "  %5 = sub f32[5,?0,300] %3, %4\n"
          "  %6 = reduce_max f32[5,?0] %5 axes=[2]\n"
          "  %7 = reduce_max f32[5] %6 axes=[1]\n"
          "  return %7\n"
          "}\n");
}

Test(pass_shape, checks_that_always_hold_go_and_others_stay)
{
    begin();
    tgi_dim n = symbol(g, 0, 0);
    param(g, TG_F32, shape_of(g, n));
    tgi_check check = {.kind = TGI_CHECK_EQUAL,
                       .op = "add",
                       .what = "extents",
                       .a = n};
    for (int i = 0; i < 3; i++) {
        check.b = i == 0 ? n : i;
        cr_assert(tgi_graph_add_check(g, check));
    }
    check.a = 1; /* never holds: the call reports it */
    check.b = 2;
    cr_assert(tgi_graph_add_check(g, check));
    tgi_graph *out = NULL;
    cr_assert_eq(tgi_pass_shape(g, &out), TG_OK);
    cr_assert_eq(out->checks.n, 3);
    cr_assert_eq(out->checks.data[0].b, 1);
    cr_assert_eq(out->checks.data[2].a, 1);
    tgi_graph_release(out);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

/* -- Crop ------------------------------------------------------------------ */

/* f32[2,10,6]: a parameter f32[2,6,4], padded with zeros. */
static tgi_ref padded(void)
{
    tgi_ref x = param(g, TG_F32, shape_of(g, 2, 6, 4));
    return add_node(g, TGI_OP_PAD, TG_F32, shape_of(g, 2, 10, 6),
                    INPUTS(x, number(g, TG_F32, 0)),
                    ATTR(tgi_attr_pad, {0, 2, 1}, {0, 2, 1}, {0}));
}

static tgi_ref sliced(tgi_ref x, int64_t start, int64_t n, int64_t step)
{
    const tgi_shape *shape = tgi_graph_shape(g, x);
    return reshaped(g, TGI_OP_SLICE, x,
                    shape_of(g, shape->dims[0], n, shape->dims[2]),
                    ATTR(tgi_attr_slice, {0, start, 0}, {1, step, 1}));
}

/* Of three elements at a time, from 6 channels to 5. */
static tgi_ref convolved(tgi_ref x, int64_t stride, int64_t n)
{
    tgi_ref w = param(g, TG_F32, shape_of(g, 3, 6, 5));
    return add_node(g, TGI_OP_CONV, TG_F32, shape_of(g, 2, n, 5), INPUTS(x, w),
                    ATTR(tgi_attr_conv, 0, {stride}, {1}));
}

Test(pass_crop, a_slice_takes_padding_away)
{
    begin();
    gives(crop_then_dead, sliced(padded(), 1, 7, 1),
          "graph f(%1: f32[2,6,4]) {\n"
          "  %2 = constant f32[] 0\n"
          "  %3 = pad f32[2,7,6] %1, %2 low=[0,1,1] high=[0,0,1] "
          "interior=[0,0,0]\n"
          "  return %3\n"
          "}\n");
}

Test(pass_crop, a_convolution_computes_what_a_slice_takes)
{
    begin();
    gives(crop_then_dead, sliced(convolved(padded(), 1, 8), 1, 6, 1),
          "graph f(%1: f32[2,6,4], %2: f32[3,6,5]) {\n"
          "  %3 = constant f32[] 0\n"
          "  %4 = pad f32[2,8,6] %1, %3 low=[0,1,1] high=[0,1,1] "
          "interior=[0,0,0]\n"
          "  %5 = conv f32[2,6,5] %4, %2 stride=[1] dilation=[1]\n"
          "  return %5\n"
          "}\n");
}

/* The slice begins inside the operand of the pad. */
Test(pass_crop, what_is_left_is_a_slice_of_the_operand)
{
    begin();
    gives(crop_then_dead, sliced(convolved(padded(), 1, 8), 4, 2, 1),
          "graph f(%1: f32[2,6,4], %2: f32[3,6,5]) {\n"
          "  %3 = constant f32[] 0\n"
          "  %4 = pad f32[2,10,6] %1, %3 low=[0,2,1] high=[0,2,1] "
          "interior=[0,0,0]\n"
          "  %5 = slice f32[2,4,6] %4 start=[0,4,0] step=[1,1,1]\n"
          "  %6 = conv f32[2,2,5] %5, %2 stride=[1] dilation=[1]\n"
          "  return %6\n"
          "}\n");
}

/* Slices of convolutions that the pass leaves in the graph of `value`. */
static int n_slices_of_conv(tgi_ref value)
{
    tgi_graph_add_result(g, value);
    tgi_graph *out = run_pass(tgi_pass_crop, g);
    int n = 0;
    for (tgi_ref ref = 1; ref <= out->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(out, ref);
        n += node->op == TGI_OP_SLICE &&
             tgi_graph_node(out, node->inputs[0])->op == TGI_OP_CONV;
    }
    tgi_graph_release(out);
    tgi_graph_release(g);
    check_nothing_is_alive();
    return n;
}

Test(pass_crop, leaves_steps_strides_and_shared_values_alone)
{
    begin();
    cr_assert_eq(n_slices_of_conv(sliced(convolved(padded(), 1, 8), 1, 3, 2)),
                 1);
    begin();
    cr_assert_eq(n_slices_of_conv(sliced(convolved(padded(), 2, 4), 1, 2, 1)),
                 1);
    begin();
    tgi_ref conv = convolved(padded(), 1, 8);
    tgi_graph_add_result(g, conv);
    cr_assert_eq(n_slices_of_conv(sliced(conv, 1, 6, 1)), 1);
}

/* -- Dead ------------------------------------------------------------------ */

Test(pass_dead, drops_unused_nodes_and_keeps_parameters)
{
    begin();
    tgi_shape_ref s = scalar_shape(g);
    param(g, TG_F32, s);
    tgi_ref v = variable(g, TG_F32, s), y = param(g, TG_F32, s);
    apply(g, SIN, apply(g, COS, y));
    read_variable(g, v, 0);
    gives(tgi_pass_dead, apply(g, EXP, y),
          "graph f(%1: f32[], %2: variable f32[], %3: f32[]) {\n"
          "  %4 = exp f32[] %3\n"
          "  return %4\n"
          "}\n");
}

Test(pass_dead, keeps_effects_in_order)
{
    begin();
    tgi_shape_ref s = scalar_shape(g);
    tgi_ref v = variable(g, TG_F32, s), x = param(g, TG_F32, s);
    tgi_ref first = assign(g, v, apply(g, SIN, x));
    add_node(g, TGI_OP_PRINT, TG_DTYPE_NONE, 0,
             INPUTS(read_variable(g, v, first)), "%v", 3);
    assign(g, v, x);
    gives(tgi_pass_dead, x,
          "graph f(%1: variable f32[], %2: f32[]) {\n"
          "  %3 = sin f32[] %2\n"
          "  %4 = assign f32[] %1, %3\n"
          "  %5 = read f32[] %1, %4\n"
          "  %6 = print %5 \"%v\"\n"
          "  %7 = assign f32[] %1, %2\n"
          "  return %2\n"
          "}\n");
}

Test(pass_dead, keeps_nodes_that_may_fail)
{
    begin();
    tgi_ref x = param(g, TG_F32, shape_of(g, 3));
    tgi_ref i = number(g, TG_I32, 1);
    for (int mode = TG_GATHER_CHECK; mode <= TG_GATHER_ZERO; mode++)
        add_node(g, TGI_OP_GATHER, TG_F32, scalar_shape(g), INPUTS(x, i),
                 ATTR(tgi_attr_gather, 0, mode));
    gives(tgi_pass_dead, x,
          "graph f(%1: f32[3]) {\n"
          "  %2 = constant i32[] 1\n"
          "  %3 = gather f32[] %1, %2 axis=0 mode=check\n"
          "  return %1\n"
          "}\n");
}

Test(pass_dead, drops_pure_calls_and_keeps_others)
{
    begin();
    tgi_graph *pure = tgi_graph_create("pure", NULL);
    tgi_graph *writes = tgi_graph_create("writes", NULL);
    tgi_ref v = variable(writes, TG_F32, scalar_shape(writes));
    assign(writes, v, number(writes, TG_F32, 1));
    call(g, pure, NULL);
    tgi_ref w = variable(g, TG_F32, scalar_shape(g));
    call(g, writes, INPUTS(w));
    tgi_graph_release(pure);
    tgi_graph_release(writes);
    tgi_graph *out = run_pass(tgi_pass_dead, g);
    cr_assert_eq(out->n_nodes, 2);
    cr_assert_str_eq(out->callees.data[0]->name, "writes");
    tgi_graph_release(out);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(pass_dead, removes_weak_types)
{
    begin();
    float one = 1;
    tgi_ref weak = tgi_graph_add_constant(g, TG_F32, scalar_shape(g), &one, 4,
                                          TGI_NODE_LITERAL, (tg_site){NULL, 0});
    tgi_ref plain = number(g, TG_F32, 1);
    gives(tgi_pass_dead, apply(g, ADD, weak, plain),
          "graph f() {\n"
          "  %1 = constant f32[] 1\n"
          "  %2 = add f32[] %1, %1\n"
          "  return %2\n"
          "}\n");
}

/* -- Driver ---------------------------------------------------------------- */

/* The bit of the pass of that name. */
static uint32_t bit_of(const char *name)
{
    for (size_t i = 0; i < tgi_n_passes; i++)
        if (strcmp(tgi_passes[i].name, name) == 0)
            return UINT32_C(1) << i;
    cr_assert_fail("%s", name);
    return 0;
}

Test(pass, names_are_unique)
{
    for (size_t i = 0; i < tgi_n_passes; i++) {
        cr_assert_eq(bit_of(tgi_passes[i].name), UINT32_C(1) << i);
        cr_assert_gt(strlen(tgi_passes[i].doc), 0);
    }
}

static char warning[256];

static void keep_warning(tg_log_level level, const char *component,
                         const char *message, void *user)
{
    (void)level;
    (void)component;
    (void)user;
    strncpy(warning, message, sizeof warning - 1);
}

static void keep_stages(const char *stage, const tgi_graph *graph, void *user)
{
    cr_assert_not_null(graph);
    strcat(user, stage);
    strcat(user, " ");
}

Test(pass, the_driver_shows_every_stage_and_skips_on_request)
{
    begin();
    tgi_ref x = param(g, TG_F32, scalar_shape(g));
    tgi_graph_add_result(g, apply(g, NEG, apply(g, NEG, x)));
    char stages[256] = "";
    tgi_pass_options options = {.verify = true,
                                .observe = keep_stages,
                                .observe_user = stages};
    tgi_graph *out = NULL;
    cr_assert_eq(tgi_passes_run(g, &options, &out), TG_OK);
    cr_assert_str_eq(stages,
                     "trace inline layout crop shape distribute fold simplify "
                     "hoist dead ");
    cr_assert_eq(out->n_nodes, 1);
    tgi_graph_release(out);

    stages[0] = 0;
    options.skip = bit_of("simplify") | bit_of("dead");
    cr_assert_eq(tgi_passes_run(g, &options, &out), TG_OK);
    cr_assert_str_eq(stages,
                     "trace inline layout crop shape distribute fold hoist ");
    cr_assert_eq(out->n_nodes, 3);
    tgi_graph_release(out);

    options.skip = UINT32_MAX;
    cr_assert_eq(tgi_passes_run(g, &options, &out), TG_OK);
    cr_assert_eq(out, g, "nothing to do: the same graph");
    tgi_graph_release(out);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(pass, the_driver_logs_times_at_debug_level)
{
    begin();
    tgi_log log;
    tgi_log_init(&log, TG_LOG_DEBUG, keep_warning, NULL);
    tgi_graph *out = NULL;
    cr_assert_eq(tgi_passes_run(g, &(tgi_pass_options){.log = &log}, &out),
                 TG_OK);
    cr_assert_not_null(strstr(warning, "f: dead: 0 to 0 nodes, "), "%s",
                       warning);
    tgi_graph_release(out);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(pass, the_driver_refuses_broken_graphs)
{
    begin();
    tgi_graph_add_result(g, 7);
    tgi_graph *out = g;
    cr_assert_eq(tgi_passes_run(g, &(tgi_pass_options){.verify = true}, &out),
                 TG_ERROR_INTERNAL);
    cr_assert_null(out);
    cr_assert_str_eq(tg_error(NULL),
                     "after trace: graph 'f': result 0 has no value");
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(pass, long_chains_need_no_deep_stack_and_linear_time)
{
    begin();
    tgi_shape_ref shapes[] = {shape_of(g, 2, 3), shape_of(g, 3, 2)};
    tgi_ref x = param(g, TG_F32, shapes[0]);
    for (int i = 1; i <= 25000; i++) {
        x = apply(g, NEG, apply(g, SIN, x));
        x = broadcast(g, x, shapes[(i + 1) % 2]);
        x = reshaped(g, TGI_OP_TRANSPOSE, x, shapes[i % 2],
                     ATTR(tgi_attr_perm, {1, 0}));
    }
    tgi_graph_add_result(g, x);
    tgi_graph *out = NULL;
    cr_assert_eq(tgi_passes_run(g, &(tgi_pass_options){.verify = true}, &out),
                 TG_OK, "%s", tg_error(NULL));
    cr_assert_eq(out->n_nodes, 75001);
    tgi_graph_release(out);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(pass, every_allocation_may_fail)
{
    begin();
    tgi_shape_ref s = shape_of(g, 3);
    tgi_graph *callee = tgi_graph_create("callee", NULL);
    tgi_ref p = param(callee, TG_F32, shape_of(callee, symbol(callee, 0, 0)));
    tgi_graph_add_result(callee, apply(callee, SIN, p));
    tgi_ref v = variable(g, TG_F32, s);
    tgi_ref x = read_variable(g, v, 0);
    tgi_ref c = call(g, callee, INPUTS(x));
    tgi_ref y = result(g, c, TG_F32, s, 0);
    y = apply(g, ADD, y, apply(g, NEG, number_like(g, y, 2)));
    y = reshaped(g, TGI_OP_RESHAPE,
                 reshaped(g, TGI_OP_RESHAPE, y, shape_of(g, 3, 1), NO_ATTR), s,
                 NO_ATTR);
    assign(g, v, y);
    tgi_graph_add_result(g, apply(g, XOR, cast(g, y, TG_I8),
                                  cast(g, y, TG_I8)));
    tgi_graph_release(callee);

    const tgi_pass_options options = {.verify = true};
    tgi_graph *out = NULL;
    tgi_alloc_inject_failure(-1, 0);
    cr_assert_eq(tgi_passes_run(g, &options, &out), TG_OK, "%s",
                 tg_error(NULL));
    long n = tgi_alloc_inject_failure(-1, 0);
    tgi_graph_release(out);
    size_t bytes = tg_live_bytes();
    for (int forever = 0; forever < 2; forever++)
        for (long i = 0; i < n; i++) {
            tgi_alloc_inject_failure(i, forever);
            tg_status status = tgi_passes_run(g, &options, &out);
            tgi_alloc_inject_failure(-1, 0);
            /* The dims table, which is shared, may have grown before: then
               it asks for less, and an allocation too late never comes. */
            if (status == TG_OK)
                tgi_graph_release(out);
            else
                cr_assert(status == TG_ERROR_OUT_OF_MEMORY && !out,
                          "allocation %ld: %s", i, tg_error(NULL));
            cr_assert_eq(tg_live_bytes(), bytes, "allocation %ld", i);
        }
    tgi_graph_release(g);
    check_nothing_is_alive();
}

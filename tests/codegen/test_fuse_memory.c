/* SPDX-License-Identifier: MIT */
/*
 * test_fuse_memory.c - memory of loops: straight-line kernels that need none,
 * buffers that reuse others, and fusion when memory runs out.
 */
#include "support/fusing.h"

/* -- Straight-line kernels ------------------------------------------------- */

static void sums_and_products(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value weights = tg_softmax(in[0], -1);
    tg_value rows = tg_sum(tg_mul(weights, in[1]), TG_AXES(-1));
    tg_return(t, tg_mul(tg_matmul(weights, in[0]), tg_exp(rows)));
}

/* A value that is gathered from must be in memory. */
static void gathered(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_gather_with(tg_exp(in[0]), in[1], 0, TG_GATHER_CLAMP));
}

/* Checks the end of the text about fusion. */
static void check_text_end(const fused *fu, const char *end)
{
    char *text = tg_concrete_text(fu->concrete, TG_TEXT_FUSION);
    cr_assert_not_null(text, "%s", tg_error(NULL));
    const size_t n = strlen(text), n_end = strlen(end);
    cr_assert(n >= n_end && !strcmp(text + n - n_end, end), "%s", text);
    tg_text_free(text);
}

/* More elements than are kept in registers. */
static void joined(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value all =
        tg_concat(0, tg_neg(in[0]), tg_neg(in[1]), tg_neg(in[2]));
    tg_return(t, tg_slice(all, 0, 370, 380, 1));
}

static int n_straightline(const fused *fu)
{
    int n = 0;
    for (size_t i = 0; i < fu->loops->kernels.n; i++)
        n += fu->loops->kernels.data[i]->is_straightline;
    return n;
}

Test(fuse_memory, straightline_kernels_need_no_memory_and_no_barriers)
{
    tgi_strbuf text = {0};
    fused fu;
    SHOW(&text, &fu, sums_and_products, NO_SYMBOLS, F32(3, 3), F32(3));
    cr_assert_eq(n_straightline(&fu), n_kernels(&fu));
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 0);
    cr_assert_eq(n_places(&fu, TGI_PLACE_SCRATCH), 0);
    cr_assert_eq(n_steps(&fu, TGI_STEP_BARRIER), 0);
    check_text_end(&fu, "plan: no temporaries\n");
    fuse_end(&fu);
    SHOW(&text, &fu, reverse, NO_SYMBOLS, V32(10));
    cr_assert_eq(n_straightline(&fu), 2);
    cr_assert_eq(n_steps(&fu, TGI_STEP_BARRIER), 0);
    fuse_end(&fu);
    SHOW(&text, &fu, gathered, NO_SYMBOLS, F32(8), I32(3));
    cr_assert_eq(n_straightline(&fu), 2);
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 1);
    fuse_end(&fu);
    SHOW(&text, &fu, joined, NO_SYMBOLS, F32(375), F32(374), F32(373));
    cr_assert_eq(n_straightline(&fu), 4);
    cr_assert_eq(n_places(&fu, TGI_PLACE_SSA), 0);
    fuse_end(&fu);
    /* Threads divide the large kernels, so they wait for the straight-line
       one. */
    SHOW(&text, &fu, expensive_row, NO_SYMBOLS, F32(1000, 30), F32(30));
    cr_assert_eq(n_straightline(&fu), 1);
    cr_assert_eq(n_kernels(&fu), 2);
    cr_assert_eq(n_steps(&fu, TGI_STEP_BARRIER), 1);
    fuse_end(&fu);
    /* Too large to be unrolled. */
    SHOW(&text, &fu, softmax, NO_SYMBOLS, F32(16, 16));
    cr_assert_eq(n_straightline(&fu), 0);
    fuse_end(&fu);
    check_shown("loops_straightline.txt", &text);
}

/* -- Places ---------------------------------------------------------------- */

/* The exponentials die in the kernel that computes the result. */
static void softmax_of_columns(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_softmax(in[0], 0));
}

/* The same, but they are read at other elements than those written. */
static void reversed_softmax(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_slice(tg_softmax(in[0], 0), 0, -1, TG_END, -1));
}

/* The same, but they are a result too. */
static void softmax_and_sums(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value e = tg_exp(in[0]);
    tg_return(t, tg_mul(e, tg_sum(e, TG_AXES(0))), e);
}

/* The softmax between two matmuls reuses the storage of the first. */
static void product_of_products(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = tg_softmax(tg_matmul(in[0], in[0]), -1);
    tg_return(t, tg_matmul(x, x));
}

Test(fuse_memory, results_reuse_memory_of_dead_values)
{
    tgi_strbuf text = {0};
    fused fu;
    SHOW(&text, &fu, softmax_of_columns, NO_SYMBOLS, F32(100, 100));
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 2); /* 100 elements each */
    cr_assert_not_null(strstr(fu.explain.text, "in place of"));
    check_text_end(&fu, "plan: 448 bytes of temporaries, 400 live at once\n");
    fuse_end(&fu);
    SHOW(&text, &fu, reversed_softmax, NO_SYMBOLS, F32(100, 100));
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 3);
    cr_assert_null(strstr(fu.explain.text, "in place of"));
    fuse_end(&fu);
    SHOW(&text, &fu, softmax_and_sums, NO_SYMBOLS, F32(100, 100));
    cr_assert_null(strstr(fu.explain.text, "in place of"));
    fuse_end(&fu);
    SHOW(&text, &fu, product_of_products, NO_SYMBOLS, F32(50, 50));
    cr_assert_eq(n_places(&fu, TGI_PLACE_TEMP), 1);
    cr_assert_not_null(strstr(fu.explain.text, "in place of"));
    fuse_end(&fu);
    check_shown("loops_in_place.txt", &text);
}

/* -- Epochs ---------------------------------------------------------------- */

static void two_asserts(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_exp(tg_sum(in[0], TG_AXES(1)));
    tg_assert(t, tg_gt(in[0], 0), "positive");
    tg_assert(t, tg_lt(y, 9), "small");
    tg_return(t, tg_exp(tg_sum(tg_mul(in[0], y), TG_AXES(0))));
}

/* A thread that is late reads the selected case before another one reuses its
   memory. */
Test(fuse_memory, cases_without_kernels_end_with_a_barrier)
{
    fused fu;
    fuse(&fu, two_asserts, NO_SYMBOLS, F32(100, 100));
    cr_assert_eq(n_steps(&fu, TGI_STEP_SWITCH), 2);
    int n_empty = 0;
    for (size_t i = 2; i < fu.loops->steps.n; i++) {
        const tgi_loop_step *step = &fu.loops->steps.data[i];
        n_empty += step[-2].kind == TGI_STEP_CASE &&
                   step[-1].kind == TGI_STEP_BARRIER &&
                   step[0].kind == TGI_STEP_CASE;
    }
    cr_assert_eq(n_empty, 2);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* -- Memory ---------------------------------------------------------------- */

/* Created once, without faults; fused repeatedly. */
static const tgi_graph *faulty_graph;
static const int64_t *faulty_symbols;

static bool fuse_scenario(void)
{
    tgi_loops *loops = NULL;
    tgi_strbuf text = {0}, explain = {0};
    bool good = make_loops(faulty_graph, faulty_symbols, &explain, &loops) ==
                TG_OK;
    cr_assert(good == (loops != NULL));
    if (good) {
        good = tgi_loops_verify(loops) == TG_OK;
        tgi_loops_print(loops, 0, &text);
    }
    tgi_strbuf_deinit(&text);
    tgi_strbuf_deinit(&explain);
    tgi_loops_destroy(loops);
    return good;
}

static void a_bit_of_all(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_softmax(tg_exp(in[0]), -1);
    tg_value picked = tg_gather(y, in[1], 0);
    tg_assign(in[2], tg_slice(in[2], 0, -1, TG_END, -1));
    tg_print(t, "%v", tg_sum(picked, TG_AXES(0, 1)));
    tg_return(t, tg_matmul(y, tg_transpose(y, TG_PERM(1, 0))),
              tg_concat(0, tg_pad(y, 1, 1, 1, 0), tg_pad(y, 1, 1, 1, 2)),
              tg_random_bits(TG_U32, 1, 2, TG_DIMS(6)),
              tg_sum(tg_reshape(y, TG_DIMS(2, 2, 3, 3)), TG_AXES(0, 2)));
}

/* in: images, filters */
static void convolutions(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value y = tg_conv2d(in[0], in[1], .dilation = {1, 2});
    tg_return(t, tg_relu(y), tg_max_pool(y, .window = {2, 2}));
}

/* Fuses with every fault, of which there are more than `least`, and ends. */
static void check_faults(fused *fu, const int64_t *symbols, long least)
{
    faulty_graph = fu->concrete->graph;
    faulty_symbols = symbols;
    const size_t objects = tg_live_objects(), bytes = tg_live_bytes();
    for (int forever = 0; forever <= 1; forever++)
        for (long nth = 0;; nth++) {
            tg_error_clear();
            tgi_alloc_inject_failure(nth, forever);
            const bool went_well = fuse_scenario();
            const bool has_failed = tgi_alloc_inject_failure(-1, 0) > nth;
            cr_assert_eq(tg_live_objects(), objects);
            cr_assert_eq(tg_live_bytes(), bytes, "allocation %ld", nth);
            if (!has_failed) {
                cr_assert(went_well, "without a fault: %s", tg_error(NULL));
                cr_assert_gt(nth, least);
                break;
            }
            /* Out of memory only shortens the text. */
            cr_assert(went_well || tg_error_last()->status ==
                                       TG_ERROR_OUT_OF_MEMORY,
                      "allocation %ld: %s", nth, tg_error(NULL));
        }
    fuse_end(fu);
    check_nothing_is_alive();
}

Test(fuse_memory, memory_may_run_out_anywhere)
{
    fused fu;
    fuse(&fu, a_bit_of_all, NO_SYMBOLS, F32(4, 9), I32(3), V32(5));
    check_faults(&fu, NO_SYMBOLS, 100);
}

Test(fuse_memory, memory_may_run_out_in_convolutions)
{
    fused fu;
    fuse(&fu, convolutions, NO_SYMBOLS, F32(2, 9, 9, 3), F32(3, 3, 3, 16));
    check_faults(&fu, NO_SYMBOLS, 40);
    fuse(&fu, convolutions, SYMBOLS(2, 9, 9),
         F32(TG_UNKNOWN, TG_UNKNOWN, TG_UNKNOWN, 3), F32(3, 3, 3, 16));
    check_faults(&fu, SYMBOLS(2, 9, 9), 40);
}

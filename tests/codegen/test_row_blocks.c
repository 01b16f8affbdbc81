/* SPDX-License-Identifier: MIT */
/*
 * test_row_blocks.c - which kernels run by row blocks, and how many rows a block
 * has, for several targets: tests/golden/row_blocks has the steps.
 */
#include "support/row_blocking.h"

/* Cases have values of more than L2 of every target. */
typedef struct blocks_case {
    const char *name;
    tg_callback *callback;
    const int64_t *symbols;
    size_t n_specs;
    tg_spec specs[4];
} blocks_case;

#define CASE(name, callback, symbols, ...) \
    {name, callback, symbols, \
     sizeof((const tg_spec[]){__VA_ARGS__}) / sizeof(tg_spec), {__VA_ARGS__}}

static void print_steps(const tgi_loops *loops, tgi_strbuf *text)
{
    for (size_t i = 0; i < loops->steps.n; i++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, i);
        tgi_loops_print_step(loops, i, text);
        if (k && k->schedule->matmul.mr)
            tgi_strbuf_addf(text, "    items of %lld rows\n",
                            (long long)k->schedule->matmul.item_rows);
    }
    for (uint32_t i = 0; i < loops->buffers.n; i++) {
        const tgi_loop_buffer *b = &loops->buffers.data[i];
        if (b->place != TGI_PLACE_BLOCK && b->place != TGI_PLACE_TEMP)
            continue;
        tgi_loops_print_buffer(loops, tgi_buffer_id_from(i), text);
        tgi_strbuf_add(text, ": ");
        tgi_dim_print(loops->dims, b->count, text);
        tgi_strbuf_add(text, " elements\n");
    }
}

static void check_case(const blocks_case *c)
{
    static const char *const targets[] = {"avx2", "avx512", "neon"};
    tgi_strbuf text = {0};
    char path[256];
    for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
        fused fu;
        fuse_at(__LINE__, &fu, c->name, c->callback, c->symbols, c->specs,
                c->n_specs);
        block_for(&fu, targets[i]);
        tgi_strbuf_addf(&text, "%starget %s\n", i ? "\n" : "", targets[i]);
        print_steps(fu.loops, &text);
        fuse_end(&fu);
    }
    snprintf(path, sizeof(path), "row_blocks/%s.txt", c->name);
    check_shown(path, &text);
}

Test(row_blocks, choices_for_each_target)
{
    const blocks_case cases[] = {
        CASE("attention", attention, NO_SYMBOLS, F32(8, 256, 64),
             F32(8, 256, 64), F32(8, 256, 64)),
        CASE("attention_unknown", attention, SYMBOLS(8, 256, 8, 200, 8, 200),
             F32(TG_UNKNOWN, TG_UNKNOWN, 64), F32(TG_UNKNOWN, TG_UNKNOWN, 64),
             F32(TG_UNKNOWN, TG_UNKNOWN, 64)),
        CASE("small_matrices", attention, NO_SYMBOLS, F32(5000, 20, 16),
             F32(5000, 20, 16), F32(5000, 20, 16)),
        CASE("logistic", logistic_step, NO_SYMBOLS, F32(8192, 128), F32(8192),
             F32(128), SCALAR_F32),
        CASE("layers", layers, NO_SYMBOLS, F32(10000, 48), F32(48, 200),
             F32(200, 10)),
        CASE("layers_and_sums", layers_and_sums, NO_SYMBOLS, F32(10000, 48),
             F32(48, 200), F32(200, 10), F32(300, 1000)),
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        check_case(&cases[i]);
}

/* -- Where they are not used ----------------------------------------------- */

static size_t n_row_blocks(tg_callback *callback, const tg_spec *specs,
                           size_t n_specs)
{
    fused fu;
    fuse_at(__LINE__, &fu, "blocked", callback, NO_SYMBOLS, specs, n_specs);
    block_for(&fu, "avx512");
    const size_t n = fu.loops->row_blocks.n;
    fuse_end(&fu);
    return n;
}

#define N_ROW_BLOCKS(callback, ...) \
    n_row_blocks(callback, (const tg_spec[]){__VA_ARGS__}, \
                 sizeof((const tg_spec[]){__VA_ARGS__}) / sizeof(tg_spec))

Test(row_blocks, are_for_what_exceeds_l2)
{
    cr_expect_eq(N_ROW_BLOCKS(layers, F32(10000, 48), F32(48, 200),
                              F32(200, 10)),
                 1);
    cr_expect_eq(N_ROW_BLOCKS(layers, F32(100, 48), F32(48, 200), F32(200, 10)),
                 0, "the rows stay in L2");
    cr_expect_eq(N_ROW_BLOCKS(layers, F32(10000, 48), F32(48, 9000),
                              F32(9000, 1000)),
                 0, "each block would read the weights again");
    cr_expect_eq(N_ROW_BLOCKS(logistic_step, F32(8192, 3000), F32(8192),
                              F32(3000), SCALAR_F32),
                 0, "a block of the sum exceeds L2");
    check_nothing_is_alive();
}

/* The second product reads all rows of the first one. */
static void times_itself(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value y = tg_matmul(in[0], in[1]);
    tg_return(t, tg_matmul_with(y, y, TG_TRANSPOSE_B));
}

/* … or the first 48, beside the rows of x. */
static void times_first_rows(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value y = tg_matmul(in[0], in[1]);
    tg_return(t, y, tg_matmul(in[0], tg_slice(y, 0, 0, 48, 1)));
}

/* … or the next row. */
static void shifted(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value y = tg_softmax(tg_matmul(in[0], in[1]), -1);
    tg_return(t, tg_matmul(tg_slice(y, 0, 1, TG_END, 1), in[2]));
}

Test(row_blocks, need_data_flow_within_rows)
{
    cr_expect_eq(N_ROW_BLOCKS(times_itself, F32(10000, 48), F32(48, 200)), 0);
    cr_expect_eq(N_ROW_BLOCKS(times_first_rows, F32(10000, 48), F32(48, 200)),
                 0);
    const tg_spec specs[] = {F32(10000, 48), F32(48, 200), F32(200, 10)};
    fused fu;
    fuse_at(__LINE__, &fu, "shifted", shifted, NO_SYMBOLS, specs, 3);
    block_for(&fu, "avx512");
    for (size_t i = 0; i < fu.loops->row_blocks.n; i++)
        cr_expect_eq(fu.loops->row_blocks.data[i].n_kernels, 2,
                     "the last product is not a member");
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* -- Per-thread memory ----------------------------------------------------- */

/* Two kernels store a part of each row. */
static void joined(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value parts =
        tg_concat(-1, tg_relu(tg_matmul(in[0], in[1])),
                  tg_relu(tg_matmul(in[0], in[2])));
    tg_return(t, tg_matmul(parts, in[3]));
}

Test(row_blocks, parts_of_rows_stay_in_memory)
{
    fused fu;
    fuse(&fu, joined, NO_SYMBOLS, F32(10000, 48), F32(48, 200), F32(48, 200),
         F32(400, 10));
    block_for(&fu, "avx512");
    cr_expect_eq(fu.loops->row_blocks.n, 1);
    for (size_t i = 0; i < fu.loops->buffers.n; i++)
        cr_expect(fu.loops->buffers.data[i].place != TGI_PLACE_BLOCK ||
                      fu.loops->buffers.data[i].count < 10000 * 200,
                  "buffer %zu", i);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* -- Failures -------------------------------------------------------------- */

/* Every allocation of the two passes fails once. */
Test(row_blocks, are_found_or_fail_without_memory)
{
    tgi_target target;
    cr_assert(tgi_target_by_name("avx512", &target));
    tg_status status = TG_ERROR_OUT_OF_MEMORY;
    long n = 0;
    for (; status && n < 10000; n++) {
        fused fu;
        fuse(&fu, logistic_step, NO_SYMBOLS, F32(8192, 128), F32(8192),
             F32(128), SCALAR_F32);
        tgi_loop_pass_state state = {.graph = fu.concrete->graph,
                                     .target = &target,
                                     .verifies = true,
                                     .loops = fu.loops};
        tgi_alloc_inject_failure(n, 0);
        status = tgi_loop_pass_schedule(&state);
        if (!status)
            status = tgi_loop_pass_row_blocks(&state);
        tgi_alloc_inject_failure(-1, 0);
        cr_assert(status == TG_OK || status == TG_ERROR_OUT_OF_MEMORY, "%s",
                  tg_error(NULL));
        tg_error_clear();
        fuse_end(&fu);
    }
    cr_expect_gt(n, 20);
    check_nothing_is_alive();
}

/* -- The verifier ---------------------------------------------------------- */

static void check_rejected(const fused *fu, const char *rule)
{
    cr_expect_eq(tgi_row_blocks_verify(fu->loops), TG_ERROR_INTERNAL, "%s",
                 rule);
    cr_expect_not_null(strstr(tg_error(NULL), rule), "\"%s\" for \"%s\"",
                       tg_error(NULL), rule);
    tg_error_clear();
}

/* Applies a statement to row blocks `r` that are accepted before; s[i] is the
   schedule of member i. */
#define REJECTED(rule, statement, ...) \
    do { \
        fused fu; \
        fuse(&fu, __VA_ARGS__); \
        block_for(&fu, "avx512"); \
        cr_assert_eq(fu.loops->row_blocks.n, 1); \
        tgi_row_blocks *r = &fu.loops->row_blocks.data[0]; \
        tgi_schedule *s[8]; \
        tgi_kernel_loops *k[8]; \
        size_t rows_step = 0; \
        while (fu.loops->steps.data[rows_step].kind != TGI_STEP_ROWS) \
            rows_step++; \
        for (uint32_t i = 0; i < r->n_kernels; i++) { \
            k[i] = tgi_loops_kernel( \
                fu.loops, fu.loops->steps.data[rows_step + 1 + i].kernel); \
            s[i] = k[i]->schedule; \
        } \
        (void)s; \
        statement; \
        check_rejected(&fu, rule); \
        fuse_end(&fu); \
    } while (0)

#define ATTENTION \
    attention, NO_SYMBOLS, F32(8, 256, 64), F32(8, 256, 64), F32(8, 256, 64)
#define LAYERS layers, NO_SYMBOLS, F32(10000, 48), F32(48, 200), F32(200, 10)
#define LOGISTIC \
    logistic_step, NO_SYMBOLS, F32(8192, 128), F32(8192), F32(128), SCALAR_F32

static tgi_access *access_to(tgi_kernel_loops *k, tgi_buffer_id buffer)
{
    size_t i = 0;
    while (!tgi_buffer_id_equals(k->accesses.data[i].buffer, buffer))
        i++;
    return &k->accesses.data[i];
}

Test(row_blocks, the_verifier_rejects_violations)
{
    REJECTED("blocks do not have all work items once", r->rows = 9000, LAYERS);
    REJECTED("two blocks access the same elements",
             r->block_rows += s[0]->matmul.mr / 2, LAYERS);
    REJECTED("a row block divides a block of a split reduction",
             r->block_rows = 320, LOGISTIC);
    REJECTED("rows of the blocks of a split reduction",
             r->kernels[2].rows_per_index = 128, LOGISTIC);
    REJECTED("rows are divided that are reduced", r->kernels[0].n_axes = 2;
             s[0]->item_extent[1] = 64, LOGISTIC);
    REJECTED("two blocks access the same elements",
             access_to(k[1], r->buffers[0].buffer)->offset = 200, LAYERS);
    REJECTED("two blocks access the same elements",
             access_to(k[1], r->buffers[0].buffer)->stride[0].distance = 100,
             LAYERS);
    REJECTED("an access to a shared buffer that is not affine",
             access_to(k[1], r->buffers[0].buffer)->shift = 1, LAYERS);
    REJECTED("a row is outside of per-thread memory",
             fu.loops->buffers.data[tgi_buffer_id_index(r->buffers[0].buffer)]
                     .count -= 40,
             LAYERS);
    REJECTED("a row is outside of per-thread memory",
             r->buffers[0].row_elements = 300, LAYERS);
    REJECTED("per-thread memory is not stored by its first kernel",
             k[0]->extent[1] = 100, LAYERS);
    REJECTED("per-thread memory is loaded before it is stored",
             k[0]->insts.data[1].number =
                 (uint32_t)(access_to(k[0], r->buffers[0].buffer) -
                            k[0]->accesses.data),
             LAYERS);
    REJECTED("another kernel accesses per-thread memory",
             fu.loops->kernels.data[0]->accesses.data[0].buffer =
                 r->buffers[0].buffer,
             ATTENTION);
    check_nothing_is_alive();
}

/* SPDX-License-Identifier: MIT */
/*
 * test_row_blocks_run.c - programs whose kernels run by row blocks have the bits
 * of the interpreter, for any number of threads and any vector width, with known
 * and unknown extents, and without the pass.
 */
#include <stdlib.h>

#include "support/modes.h"
#include "support/row_blocking.h"

enum { MAX_RESULTS = 3, MAX_ARGS = 4 };

static const mode modes[] = {
    {"interpreted", "off", 1, 0, NULL},
    {"compiled for 1 thread", "required", 1, 512, NULL},
    {"compiled for 2 threads", "required", 2, 256, NULL},
    {"compiled for 3 threads", "required", 3, 128, NULL},
    {"compiled for 7 threads", "required", 7, 512, NULL},
    {"compiled without row blocks", "required", 2, 512, "row-blocks"},
    {"compiled without loop passes", "required", 2, 256,
     "elide-copies,in-place,group"},
};
enum { N_BLOCK_MODES = sizeof(modes) / sizeof(*modes) };

typedef struct chain {
    tg_callback *callback;
    int n_args, n_results;
    struct {
        int rank;
        int64_t dims[3];
    } args[MAX_ARGS];
} chain;

/* Cases exceed 2 MiB, the largest L2 of the CPUs at hand; the last block of
   each matrix is smaller. */
static const chain attention_case = {
    attention, 3, 1, {{3, {3, 610, 16}}, {3, {3, 300, 16}}, {3, {3, 300, 16}}}};
static const chain logistic_case = {
    logistic_step, 4, 3, {{2, {5999, 101}}, {1, {5999}}, {1, {101}}, {0, {0}}}};
static const chain layers_case = {
    layers, 3, 1, {{2, {5003, 24}}, {2, {24, 120}}, {2, {120, 10}}}};
static const chain sums_case = {
    layers_and_sums,
    4,
    3,
    {{2, {5003, 24}}, {2, {24, 120}}, {2, {120, 10}}, {2, {3, 70}}}};

static tg_tensor *make_operand(session *s, const chain *c, int i)
{
    tg_tensor *x = tg_tensor_create(s->ctx, TG_F32, c->args[i].rank,
                                    c->args[i].dims, tg_zeros());
    cr_assert_not_null(x);
    float *data = tg_tensor_data(x);
    for (size_t k = 0; k < tg_tensor_bytes(x) / sizeof(float); k++)
        data[k] = 0.01f * (float)(k * 7919 % 257) - 1.25f +
                  0.001f * (float)(k % 1013);
    return x;
}

/* Runs the scenario in a mode; the caller releases the results. */
static void run(const chain *c, bool is_open, const mode *m,
                tg_tensor **results)
{
    session s;
    tg_spec specs[MAX_ARGS];
    tg_tensor *args[MAX_ARGS];
    tg_operand operands[MAX_ARGS];
    session_begin_mode(&s, m);
    for (int i = 0; i < c->n_args; i++) {
        int64_t dims[3];
        for (int axis = 0; axis < c->args[i].rank; axis++)
            dims[axis] = is_open ? TG_UNKNOWN : c->args[i].dims[axis];
        specs[i] = tg_spec_tensor(TG_F32, c->args[i].rank, dims);
        args[i] = make_operand(&s, c, i);
        operands[i] = tg_in_tensor(args[i]);
    }
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.signature = specs;
    options.n_signature = (size_t)c->n_args;
    tg_function *f = tg_function_create_named(s.ctx, "blocked", c->callback,
                                              NULL, &options);
    cr_assert_not_null(f, "%s", tg_error(NULL));
    for (int i = 0; i < MAX_RESULTS; i++)
        results[i] = NULL;
    /* Twice: the second call finds the memory as the first one left it. */
    for (int call = 0; call < 2; call++) {
        for (int i = 0; i < c->n_results; i++) {
            tg_tensor_release(results[i]);
            results[i] = NULL;
        }
        if (c->n_results == 1)
            check_works(tg_call(f, operands, (size_t)c->n_args,
                                TG_RESULTS(&results[0])));
        else
            check_works(
                tg_call(f, operands, (size_t)c->n_args,
                        TG_RESULTS(&results[0], &results[1], &results[2])));
    }
    for (int i = 0; i < c->n_args; i++)
        tg_tensor_release(args[i]);
    tg_function_release(f);
    tg_context_release(s.ctx);
}

static void check_scenario(int line, const chain *c)
{
    need_compiler();
    for (int is_open = 0; is_open < 2; is_open++) {
        tg_tensor *expected[MAX_RESULTS];
        run(c, is_open, &modes[0], expected);
        for (size_t i = 1; i < N_BLOCK_MODES; i++) {
            tg_tensor *results[MAX_RESULTS];
            run(c, is_open, &modes[i], results);
            for (int r = 0; r < c->n_results; r++) {
                cr_expect_eq(memcmp(tg_tensor_data(results[r]),
                                    tg_tensor_data(expected[r]),
                                    tg_tensor_bytes(expected[r])),
                             0, "line %d: result %d, %s, extents %s", line, r,
                             modes[i].name, is_open ? "unknown" : "known");
                tg_tensor_release(results[r]);
            }
        }
        for (int r = 0; r < c->n_results; r++)
            tg_tensor_release(expected[r]);
    }
    check_nothing_is_alive();
}

#define CHECK_SCENARIO(c) check_scenario(__LINE__, &c)

Test(row_blocks_run, attention)
{
    CHECK_SCENARIO(attention_case);
}

Test(row_blocks_run, a_step_of_logistic_regression)
{
    CHECK_SCENARIO(logistic_case);
}

Test(row_blocks_run, layers)
{
    CHECK_SCENARIO(layers_case);
}

Test(row_blocks_run, layers_and_sums)
{
    CHECK_SCENARIO(sums_case);
}

/* -- Public attention ------------------------------------------------------ */

typedef struct heads {
    tg_attention_layer layer;
    bool has_mask, is_causal;
} heads;

enum { N_HEADS = 4, N_POSITIONS = 420, N_FEATURES = 32 };

/* in: positions, and a mask */
static void attend(tg_trace *t, const tg_value *in, void *user)
{
    const heads *h = user;
    const int64_t n = tg_value_dim(in[0], -2);
    if (h->is_causal)
        tg_return(t, tg_masked_attention(in[0], in[0], tg_causal_mask(n),
                                         &h->layer, N_HEADS));
    else if (h->has_mask)
        tg_return(t, tg_masked_attention(in[0], in[0], tg_gt(in[1], 0),
                                         &h->layer, N_HEADS));
    else
        tg_return(t, tg_attention(in[0], in[0], &h->layer, N_HEADS));
}

/* The score matrix, of 4 x 420 x 420 elements, is not in memory. */
static void check_loops(const tg_concrete *trace)
{
    tgi_target target;
    tgi_loops *loops = NULL;
    tgi_variant variant;
    cr_assert(tgi_target_by_name("avx512", &target));
    cr_assert_eq(tgi_variant_init(&variant, trace->graph, NULL), TG_OK);
    cr_assert_eq(tgi_loop_passes_run(
                     trace->graph, &variant,
                     &(tgi_loop_pass_options){.verifies = true,
                                              .target = &target},
                     &loops),
                 TG_OK, "%s", tg_error(NULL));
    tgi_variant_deinit(&variant);
    cr_expect_geq(loops->row_blocks.n, 1);
    for (size_t i = 0; i < loops->buffers.n; i++)
        cr_expect(loops->buffers.data[i].place != TGI_PLACE_TEMP ||
                      loops->buffers.data[i].count <
                          N_HEADS * N_POSITIONS * N_POSITIONS,
                  "buffer %zu has all scores", i);
    tgi_loops_destroy(loops);
}

static void check_heads(bool has_mask, bool is_causal)
{
    enum { N = N_POSITIONS * N_FEATURES };
    static float expected[N], got[N];
    need_compiler();
    for (size_t i = 0; i < N_BLOCK_MODES; i++) {
        session s;
        heads h = {.has_mask = has_mask, .is_causal = is_causal};
        session_begin_mode(&s, &modes[i]);
        check_works(tg_attention_create(s.ctx, "attention", TG_F32, N_FEATURES,
                                        N_FEATURES, &h.layer));
        const tg_spec specs[] = {
            tg_spec_tensor(TG_F32, TG_DIMS(N_POSITIONS, N_FEATURES)),
            tg_spec_tensor(TG_F32, TG_DIMS(N_POSITIONS, N_POSITIONS))};
        tg_function *f = tg_function_create(
            s.ctx, attend, &h, TG_SIGNATURE(specs[0], specs[1]));
        const chain c = {attend,
                            2,
                            1,
                            {{2, {N_POSITIONS, N_FEATURES}},
                             {2, {N_POSITIONS, N_POSITIONS}}}};
        tg_tensor *x = make_operand(&s, &c, 0), *mask = make_operand(&s, &c, 1);
        tg_tensor *y = call_one(f, TG_ARGS(x, mask));
        memcpy(i ? got : expected, tg_tensor_data(y), sizeof(got));
        cr_expect(!i || !memcmp(got, expected, sizeof(got)), "%s",
                  modes[i].name);
        if (i == 1) {
            tg_concrete *trace = tg_function_concrete(f, specs, 2);
            check_loops(trace);
            tg_concrete_release(trace);
        }
        tg_tensor_release(x);
        tg_tensor_release(mask);
        tg_tensor_release(y);
        tg_function_release(f);
        tg_bundle_release(&tg_attention_layer_type, &h.layer);
        session_end(&s);
    }
}

Test(row_blocks_run, attention_of_several_heads)
{
    check_heads(false, false);
}

Test(row_blocks_run, masked_attention)
{
    check_heads(true, false);
}

Test(row_blocks_run, causal_attention)
{
    check_heads(false, true);
}

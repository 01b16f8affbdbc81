/* SPDX-License-Identifier: MIT */
/*
 * fusing.h - for tests of fusion: the verified loops of a callback, and
 * functions that count things in them.
 */
#ifndef TGI_TEST_FUSING_H
#define TGI_TEST_FUSING_H

#include "support/api.h"
#include "fuse/variant.h"
#include "loop/loop_pass.h"
#include "front/call/function_object.h"
#include "support/golden.h"
#include "base/strbuf.h"

typedef struct fused {
    session session;
    tg_concrete *concrete;
    tgi_loops *loops;
    tgi_strbuf explain;
} fused;

/* -- Specs ----------------------------------------------------------------- */

#define F32(...) tg_spec_tensor(TG_F32, TG_DIMS(__VA_ARGS__))
#define I32(...) tg_spec_tensor(TG_I32, TG_DIMS(__VA_ARGS__))
#define V32(...) tg_spec_variable(TG_F32, TG_DIMS(__VA_ARGS__))
#define SCALAR_F32 tg_spec_tensor(TG_F32, TG_SCALAR)

/* Values of the unknown extents, in the order of the specs. */
#define SYMBOLS(...) ((const int64_t[]){__VA_ARGS__})
#define NO_SYMBOLS NULL

/* -- Fusing ---------------------------------------------------------------- */

/* The steps of the compiler up to the loop IR. */
static inline tg_status make_loops(const tgi_graph *graph,
                                   const int64_t *symbols, tgi_strbuf *explain,
                                   tgi_loops **out_loops)
{
    tgi_variant variant;
    int64_t *values = tgi_alloc(
        (tgi_dims_n_values(graph->dims) + 1) * sizeof(*values));
    if (!values)
        return tgi_error_memory();
    tg_status status = tgi_dims_evaluate(graph->dims, symbols, values);
    if (!status)
        status = tgi_graph_run_checks(graph, values);
    if (!status)
        status = tgi_variant_init(&variant, graph, values);
    tgi_free(values);
    if (status)
        return status;
    status = tgi_loop_passes_run(
        graph, &variant,
        &(tgi_loop_pass_options){.verifies = true, .explain = explain},
        out_loops);
    tgi_variant_deinit(&variant);
    return status;
}

static inline void fuse_at(int line, fused *fu, const char *name,
                           tg_callback *callback, const int64_t *symbols,
                           const tg_spec *specs, size_t n_specs)
{
    memset(fu, 0, sizeof(*fu));
    session_begin(&fu->session);
    tg_function *f = tg_function_create_named(fu->session.ctx, name, callback,
                                              NULL, NULL);
    fu->concrete = tg_function_concrete(f, specs, n_specs);
    tg_function_release(f);
    cr_assert_not_null(fu->concrete, "line %d: %s", line, tg_error(NULL));
    cr_assert_eq(make_loops(fu->concrete->graph, symbols, &fu->explain,
                            &fu->loops),
                 TG_OK, "line %d: %s", line, tg_error(NULL));
    cr_assert_eq(tgi_loops_verify(fu->loops), TG_OK, "line %d: %s", line,
                 tg_error(NULL));
}

/* Fuses a callback for arguments of these specs. */
#define fuse(fu, callback, symbols, ...) \
    fuse_at(__LINE__, fu, #callback, callback, symbols, \
            (const tg_spec[]){__VA_ARGS__}, \
            sizeof((const tg_spec[]){__VA_ARGS__}) / sizeof(tg_spec))

/* The test checks at its end that no object is alive. */
static inline void fuse_end(fused *fu)
{
    tgi_loops_destroy(fu->loops);
    tgi_strbuf_deinit(&fu->explain);
    tg_concrete_release(fu->concrete);
    tg_context_release(fu->session.ctx);
}

/* -- Counting -------------------------------------------------------------- */

static inline int n_kernels(const fused *fu)
{
    return (int)fu->loops->kernels.n;
}

static inline int n_steps(const fused *fu, tgi_loop_step_kind kind)
{
    int n = 0;
    for (size_t i = 0; i < fu->loops->steps.n; i++)
        n += fu->loops->steps.data[i].kind == kind;
    return n;
}

static inline int n_places(const fused *fu, tgi_place place)
{
    int n = 0;
    for (size_t i = 0; i < fu->loops->buffers.n; i++)
        n += fu->loops->buffers.data[i].place == place;
    return n;
}

/* Number of instructions that compute `op`, in all kernels. */
static inline int n_ops(const fused *fu, tgi_op op)
{
    int n = 0;
    for (size_t k = 0; k < fu->loops->kernels.n; k++) {
        const tgi_kernel_loops *kernel = fu->loops->kernels.data[k];
        for (size_t i = 1; i < kernel->insts.n; i++)
            n += kernel->insts.data[i].kind == TGI_INST_OP &&
                 kernel->insts.data[i].op == op;
        for (size_t i = 0; i < kernel->reductions.n; i++)
            n += kernel->reductions.data[i].op == op;
    }
    return n;
}

static inline int n_insts(const fused *fu, tgi_inst_kind kind)
{
    int n = 0;
    for (size_t k = 0; k < fu->loops->kernels.n; k++) {
        const tgi_kernel_loops *kernel = fu->loops->kernels.data[k];
        for (size_t i = 1; i < kernel->insts.n; i++)
            n += kernel->insts.data[i].kind == kind;
    }
    return n;
}

/* -- Showing --------------------------------------------------------------- */

/* Fuses, appends the loops to a text, and keeps `fu` for counting. */
#define SHOW(text, fu, ...) \
    do { \
        fuse(fu, __VA_ARGS__); \
        tgi_loops_print((fu)->loops, 0, text); \
        tgi_strbuf_add(text, "\n"); \
    } while (0)

static inline void check_shown(const char *golden, tgi_strbuf *text)
{
    cr_assert_not(text->failed);
    check_golden(golden, text->text);
    tgi_strbuf_deinit(text);
    check_nothing_is_alive();
}

/* -- Callbacks that several files fuse ------------------------------------- */

static inline void reverse(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)user;
    tg_assign(in[0], tg_slice(in[0], 0, -1, TG_END, -1));
}

/* All rows use the row, so it is computed once, separately. */
static inline void expensive_row(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], tg_exp(in[1])), tg_mul(in[0], tg_exp(in[1])));
}

static inline void softmax(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_softmax(in[0], -1));
}

#endif /* TGI_TEST_FUSING_H */

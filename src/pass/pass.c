/* SPDX-License-Identifier: MIT */
/*
 * pass.c - the list of passes and the driver.
 *
 * Every pass is correct at any position, so the order only affects how much the
 * passes find:
 *
 *   inline    first: later passes see one graph, in which extents that are
 *             symbols of a callee may be known
 *   shape     removes no-op views, which hide constants and equal operands
 *             from fold and simplify
 *   fold      creates the constants that simplify looks for
 *   simplify  leaves nodes without users behind
 *   hoist     after simplification, since loops receive the hoisted values
 *   dead      last: removes nodes that have lost their users
 */
#include "pass/pass.h"

#include <time.h>

#include "base/error.h"
#include "ir/verify.h"

#define PASSES(X) \
    X(inline, "inline calls") \
    X(shape, "combine and remove views") \
    X(fold, "fold constants") \
    X(simplify, "simplify elementwise expressions") \
    X(hoist, "move loop-invariant code out of loops") \
    X(dead, "eliminate dead nodes")

#define PASS(name, doc) {#name, doc, tgi_pass_##name},
const tgi_pass tgi_passes[] = {PASSES(PASS)};
const size_t tgi_n_passes = sizeof tgi_passes / sizeof tgi_passes[0];

#define PASS_INDEX(name, doc) NUMBER_##name,
enum { PASSES(PASS_INDEX) };

#define KEYWORD(name, doc) {#name, UINT32_C(1) << NUMBER_##name, 0},
const tgi_keyword tgi_pass_keywords[] = {PASSES(KEYWORD){NULL, 0, 0}};

/* -- Driver ---------------------------------------------------------------- */

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Verifies the graph and calls the observer, as the options request. */
static tg_status inspect_graph(const char *stage, const tgi_graph *graph,
                               const tgi_pass_options *options)
{
    tg_status status = options->verify ? tgi_graph_verify(graph) : TG_OK;
    if (status == TG_ERROR_INTERNAL) {
        tgi_error_copy copy;
        tgi_error_save(&copy);
        return tgi_error_set(status, TGI_NO_SITE, "after %s: %s", stage,
                             copy.message);
    }
    if (status == TG_OK && options->observe)
        options->observe(stage, graph, options->observe_user);
    return status;
}

static tg_status run_pass(const tgi_pass *pass, const tgi_graph *in,
                          const tgi_pass_options *options,
                          tgi_graph **out_graph)
{
    const tgi_log *log = options->log;
    bool is_timed = log && tgi_log_is_enabled(log, TG_LOG_DEBUG, TGI_LOG_PASS);
    double start = is_timed ? now_ms() : 0;
    TGI_TRY(pass->run(in, out_graph));
    if (is_timed)
        tgi_log_write(log, TG_LOG_DEBUG, TGI_LOG_PASS,
                      "%s: %s: %u to %u node%s, %.3f ms", in->name, pass->name,
                      in->n_nodes, (*out_graph)->n_nodes,
                      TGI_PLURAL((*out_graph)->n_nodes), now_ms() - start);
    return inspect_graph(pass->name, *out_graph, options);
}

tg_status tgi_passes_run(const tgi_graph *in, const tgi_pass_options *options,
                         tgi_graph **out_graph)
{
    *out_graph = NULL;
    TGI_TRY(inspect_graph("trace", in, options));
    tgi_graph *graph = tgi_graph_retain(in);
    for (size_t i = 0; i < tgi_n_passes; i++) {
        if (options->skip >> i & 1)
            continue;
        tgi_graph *next = NULL;
        tg_status status = run_pass(&tgi_passes[i], graph, options, &next);
        tgi_graph_release(graph);
        if (status != TG_OK) {
            tgi_graph_release(next);
            return status;
        }
        graph = next;
    }
    *out_graph = graph;
    return TG_OK;
}

/* SPDX-License-Identifier: MIT */
/*
 * pass.c - the list of passes and the driver.
 *
 * Each pass is correct at any place, so the order is a matter of profit, and
 * every pass feeds the next:
 *
 *   inline    first: what follows sees one graph, with extents of callees
 *             known that were symbols to them
 *   shape     views that do nothing go, and with them what hides constants
 *             and equal operands from the next two
 *   fold      makes the constants simplify looks for
 *   simplify  leaves behind what its rules made useless
 *   hoist     when all that can be smaller is: loops are handed results
 *   dead      last: sweeps up after all
 */
#include "pass.h"

#include <string.h>
#include <time.h>

#include "error.h"
#include "verify.h"

const tgi_pass tgi_passes[] = {
    {"inline", "calls replaced by what they call", tgi_pass_inline},
    {"shape", "views combined or removed", tgi_pass_shape},
    {"fold", "constant expressions computed", tgi_pass_fold},
    {"simplify", "expressions replaced by equal, smaller ones",
     tgi_pass_simplify},
    {"hoist", "what is the same in every trip computed before the loop",
     tgi_pass_hoist},
    {"dead", "unused nodes dropped", tgi_pass_dead},
};
const size_t tgi_n_passes = sizeof tgi_passes / sizeof tgi_passes[0];

/* -- Names ----------------------------------------------------------------- */

/* The pass of that name, of n characters; tgi_n_passes if there is none. */
static size_t find_pass(const char *name, size_t n)
{
    size_t i = 0;
    while (i < tgi_n_passes && (strlen(tgi_passes[i].name) != n ||
                                memcmp(tgi_passes[i].name, name, n) != 0))
        i++;
    return i;
}

uint32_t tgi_passes_parse(const char *names, const tgi_log *log)
{
    static const char separators[] = ", \t";
    uint32_t bits = 0;
    if (!names)
        return 0;
    for (;;) {
        names += strspn(names, separators);
        size_t n = strcspn(names, separators);
        if (n == 0)
            return bits;
        size_t i = find_pass(names, n);
        if (i < tgi_n_passes)
            bits |= UINT32_C(1) << i;
        else if (log)
            tgi_log_write(log, TG_LOG_WARN, TGI_LOG_CONFIG,
                          "there is no pass '%.*s'", (int)n, names);
        names += n;
    }
}

/* -- Driver ---------------------------------------------------------------- */

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Looks at a graph as options ask for, after `stage`. */
static tg_status inspect(const char *stage, const tgi_graph *graph,
                         const tgi_pass_options *options)
{
    tg_status status =
        options->verify ? tgi_graph_verify(graph) : TG_OK;
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
    bool is_timed = log && tgi_log_wants(log, TG_LOG_DEBUG, TGI_LOG_PASS);
    double start = is_timed ? now_ms() : 0;
    TGI_TRY(pass->run(in, out_graph));
    if (is_timed)
        tgi_log_write(log, TG_LOG_DEBUG, TGI_LOG_PASS,
                      "%s: %s: %u to %u nodes, %.3f ms", in->name, pass->name,
                      in->n_nodes, (*out_graph)->n_nodes, now_ms() - start);
    return inspect(pass->name, *out_graph, options);
}

tg_status tgi_passes_run(const tgi_graph *in, const tgi_pass_options *options,
                         tgi_graph **out_graph)
{
    *out_graph = NULL;
    TGI_TRY(inspect("trace", in, options));
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

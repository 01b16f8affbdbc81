/* SPDX-License-Identifier: MIT */
/*
 * pass.c - the list of passes and the driver.
 *
 * Every pass is correct at any position, so the order only affects how much the
 * passes find:
 *
 *   inline    first: later passes see one graph, in which extents that are
 *             symbols of a callee may be known
 *   layout    before distribute, which cannot cut transposes, and before shape,
 *             which removes those that are left in pairs
 *   crop      before shape combines the slices it looks for
 *   shape     removes no-op views, which hide constants and equal operands
 *             from fold and simplify
 *   distribute after shape, which combines pads; creates constants
 *   fold      creates the constants that simplify looks for
 *   simplify  leaves nodes without users behind
 *   hoist     after simplification, since loops receive the hoisted values
 *   dead      last: removes nodes that have lost their users
 */
#include "pass/pass.h"

#include "base/error.h"
#include "base/pass_driver.h"
#include "ir/verify.h"

#define PASS(name, doc) {#name, doc, tgi_pass_##name},
const tgi_pass tgi_passes[] = {TGI_PASSES(PASS)};
const size_t tgi_n_passes = TGI_N_PASSES;

/* -- Driver ---------------------------------------------------------------- */

typedef struct job {
    const tgi_pass_options *options;
    tgi_graph *graph; /* retained */
} job;

static const char *pass_name(size_t pass)
{
    return tgi_passes[pass].name;
}

static tg_status run(size_t pass, void *user)
{
    job *j = user;
    tgi_graph *next = NULL;
    const tg_status status = tgi_passes[pass].run(j->graph, &next);
    tgi_graph_release(status ? next : j->graph);
    j->graph = status ? j->graph : next;
    return status;
}

static size_t size(void *user)
{
    const job *j = user;
    return j->graph->n_nodes;
}

static tg_status verify(void *user)
{
    const job *j = user;
    return tgi_graph_verify(j->graph);
}

static void observe(const char *stage, void *user)
{
    const job *j = user;
    j->options->observe(stage, j->graph, j->options->observe_user);
}

tg_status tgi_passes_run(const tgi_graph *in, const tgi_pass_options *options,
                         tgi_graph **out_graph)
{
    job j = {.options = options, .graph = tgi_graph_retain(in)};
    const tgi_pass_driver driver = {.name = in->name,
                                    .unit = "node",
                                    .log = options->log,
                                    .skip = options->skip,
                                    .verifies = options->verify,
                                    .user = &j,
                                    .pass_name = pass_name,
                                    .run = run,
                                    .size = size,
                                    .verify = verify,
                                    .observe =
                                        options->observe ? observe : NULL};
    tg_status status = tgi_pass_driver_inspect(&driver, "trace");
    if (!status)
        status = tgi_pass_driver_run(&driver, tgi_n_passes);
    *out_graph = status ? NULL : j.graph;
    if (status)
        tgi_graph_release(j.graph);
    return status;
}

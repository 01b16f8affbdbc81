/* SPDX-License-Identifier: MIT */
/*
 * dead_results.h - results of branches and loops that nobody takes, and the
 * inputs that only these need.
 */
#ifndef TGI_DEAD_RESULTS_H
#define TGI_DEAD_RESULTS_H

#include "ir/graph.h"

/* What of a SWITCH or LOOP is needed. */
typedef struct tgi_region_needs {
    const tgi_node *node;
    size_t n_results;
    bool *results; /* taken; after tgi_region_needs_find also those that a
                      later iteration needs */
    bool *inputs;  /* by input */
} tgi_region_needs;

/* NULL when out of memory (recorded). Nothing is needed at first. */
tgi_region_needs *tgi_region_needs_create(const tgi_node *node);
void tgi_region_needs_destroy(tgi_region_needs *needs);

/*
 * Completes `results`, in which those that are taken are set, and sets
 * `inputs`. A carried value is needed if it is taken, or if effects, failures,
 * the test or another needed value depend on it. False when out of memory
 * (recorded).
 */
bool tgi_region_needs_find(tgi_region_needs *needs);

/* The number of result `index` among the needed ones. */
int64_t tgi_region_needs_result(const tgi_region_needs *needs, int64_t index);

/*
 * Adds the node to `out` with the needed inputs and results alone; `inputs` are
 * its inputs in `out`, 0: not needed. `region` rewrites each graph after that.
 * 0 on failure (recorded).
 */
tgi_ref tgi_region_needs_rebuild(
    const tgi_region_needs *needs, tgi_graph *out, const tgi_ref *inputs,
    tg_status region(const tgi_graph *in, tgi_graph **out_graph));

#endif /* TGI_DEAD_RESULTS_H */

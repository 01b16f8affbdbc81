/* SPDX-License-Identifier: MIT */
/*
 * pass.h - graph passes. Every pass preserves the bits: the interpreter gives
 * the same results and effects before and after it, in any order of passes.
 * There is one list; the driver (base/pass_driver.h) alone times, dumps,
 * verifies and skips.
 */
#ifndef TGI_PASS_H
#define TGI_PASS_H

#include "base/log.h"
#include "ir/graph.h"

/* X(name, what it does), in order. */
#define TGI_PASSES(X) \
    X(inline, "inline calls") \
    X(layout, "move transposes to where they cancel") \
    X(crop, "compute only what slices take") \
    X(shape, "combine and remove views") \
    X(distribute, "distribute expressions over pieces of concats and pads") \
    X(fold, "fold constants") \
    X(simplify, "simplify elementwise expressions") \
    X(hoist, "move loop-invariant code out of loops") \
    X(dead, "eliminate dead nodes")

#define TGI_PASS_NUMBER(name, doc) TGI_PASS_##name,
enum { TGI_PASSES(TGI_PASS_NUMBER) TGI_N_PASSES };

/* Writes a new graph over the same table of extents. */
typedef tg_status tgi_pass_run(const tgi_graph *in, tgi_graph **out_graph);

typedef struct tgi_pass {
    const char *name;
    const char *doc;
    tgi_pass_run *run;
} tgi_pass;

extern const tgi_pass tgi_passes[];
extern const size_t tgi_n_passes;

tgi_pass_run tgi_pass_inline, tgi_pass_layout, tgi_pass_crop,
    tgi_pass_distribute, tgi_pass_fold, tgi_pass_simplify, tgi_pass_shape,
    tgi_pass_hoist, tgi_pass_dead;

/*
 * Adds the constant that an elementwise node of scalar constants evaluates to,
 * with the bits of the interpreter; 0 when out of memory (recorded).
 */
tgi_ref tgi_constant_fold_scalars(tgi_graph *graph, const tgi_node *node);

typedef struct tgi_pass_options {
    const tgi_log *log;
    uint32_t skip; /* bit i: skip pass i */
    bool verify;   /* after each pass */
    /* Called with each graph: first with stage "trace", then after each pass;
       or NULL. */
    void (*observe)(const char *stage, const tgi_graph *graph, void *user);
    void *observe_user;
} tgi_pass_options;

/* Runs the passes. `in` is not consumed; *out_graph is NULL on failure. */
tg_status tgi_passes_run(const tgi_graph *in, const tgi_pass_options *options,
                         tgi_graph **out_graph);

#endif /* TGI_PASS_H */

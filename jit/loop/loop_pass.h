/* SPDX-License-Identifier: MIT */
/*
 * loop_pass.h - loop passes: from a graph to the loops of the code generator.
 * There is one list; the driver is that of the graph passes. Every pass
 * preserves results and effects, so any optional one may be left out.
 */
#ifndef TGI_LOOP_PASS_H
#define TGI_LOOP_PASS_H

#include "base/log.h"
#include "base/strbuf.h"
#include "loop/loops.h"

/* REQUIRED or OPTIONAL(function, name, what it does), in order. */
#define TGI_LOOP_PASSES(REQUIRED, OPTIONAL) \
    REQUIRED(fuse, "fuse", "fuse the graph into kernels and steps") \
    OPTIONAL(elide_copies, "elide-copies", "remove copies of dead values") \
    OPTIONAL(in_place, "in-place", "reuse operands that die in a kernel") \
    OPTIONAL(group, "group", "select straight-line code") \
    REQUIRED(schedule, "schedule", "choose how kernels run") \
    OPTIONAL(row_blocks, "row-blocks", "run kernels by blocks of rows") \
    OPTIONAL(share, "share", "find kernels with equal code") \
    REQUIRED(plan, "plan", "find live ranges for the memory plan")

#define TGI_LOOP_PASS_NUMBER(function, name, doc) TGI_LOOP_PASS_##function,
enum {
    TGI_LOOP_PASSES(TGI_LOOP_PASS_NUMBER, TGI_LOOP_PASS_NUMBER)
        TGI_N_LOOP_PASSES
};

struct tgi_target;  /* target/target.h */
struct tgi_variant; /* fuse/variant.h */

/* What passes work on. */
typedef struct tgi_loop_pass_state {
    const tgi_graph *graph;            /* without calls */
    const struct tgi_variant *variant; /* of its extents */
    const struct tgi_target *target;   /* NULL: no schedules are chosen */
    uint64_t schedule_seed; /* of random schedules, for tests; 0: none */
    bool verifies;          /* also schedules */
    tgi_strbuf *explain; /* receives a line per decision, or NULL */
    uint32_t skip;       /* bit i: pass i is left out */
    tgi_loops *loops;    /* NULL before `fuse` */
} tgi_loop_pass_state;

typedef tg_status tgi_loop_pass_run(tgi_loop_pass_state *s);

typedef struct tgi_loop_pass {
    const char *name;
    const char *doc;
    bool is_optional;
    tgi_loop_pass_run *run;
} tgi_loop_pass;

extern const tgi_loop_pass tgi_loop_passes[TGI_N_LOOP_PASSES];

tgi_loop_pass_run tgi_loop_pass_fuse, tgi_loop_pass_elide_copies,
    tgi_loop_pass_in_place, tgi_loop_pass_group, tgi_loop_pass_schedule,
    tgi_loop_pass_row_blocks, tgi_loop_pass_share, tgi_loop_pass_plan;

typedef struct tgi_loop_pass_options {
    const tgi_log *log;  /* or NULL */
    uint32_t skip;       /* bit i: leave pass i out, if it is optional */
    bool verifies;       /* after each pass; else only at the end */
    const struct tgi_target *target; /* as in tgi_loop_pass_state */
    uint64_t schedule_seed;
    tgi_strbuf *explain; /* as in tgi_loop_pass_state */
    /* Called after each pass; or NULL. */
    void (*observe)(const char *stage, const tgi_loops *loops, void *user);
    void *observe_user;
    /* Nanoseconds, by pass, are added here; or NULL. */
    uint64_t *times;
} tgi_loop_pass_options;

/*
 * Runs the passes. The graph has no calls; it and the variant are lent, and the
 * graph must outlive the loops, which the caller destroys. *out_loops is NULL
 * on failure: when out of memory.
 */
tg_status tgi_loop_passes_run(const tgi_graph *graph,
                              const struct tgi_variant *variant,
                              const tgi_loop_pass_options *options,
                              tgi_loops **out_loops);

#endif /* TGI_LOOP_PASS_H */

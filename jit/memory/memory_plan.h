/* SPDX-License-Identifier: MIT */
/*
 * memory_plan.h - the arena of a call: temporaries whose live ranges, in
 * epochs, are disjoint share memory. Also the number of threads for a call.
 */
#ifndef TGI_MEMORY_PLAN_H
#define TGI_MEMORY_PLAN_H

#include "codegen/codegen.h"

typedef struct tgi_memory_plan {
    int64_t bytes; /* of the arena */
    int64_t peak;  /* live at once, at most: a lower bound for any plan */
} tgi_memory_plan;

/* Writes the bytes of every buffer, for extents with these values; fails if
   they overflow. */
tg_status tgi_plan_sizes(const tgi_loops *loops, const int64_t *values,
                         int64_t *out_sizes);

/* The values of the loops' extents (tgi_dims_n_values of their table) from
   those of the graph's. Fails when out of memory. */
tg_status tgi_plan_values(const tgi_loops *loops, const int64_t *graph_values,
                          int64_t *out_values);

/* Places temporaries, and scratch for n_threads. Writes the offset of each
   buffer in the arena; -1: it is elsewhere. Fails when out of memory. */
tg_status tgi_plan_memory(const tgi_loops *loops, const int64_t *sizes,
                          int n_threads, int64_t *out_offsets,
                          tgi_memory_plan *out_plan);

/* Estimated picoseconds of all kernels on one thread, by the costs of their
   schedules. */
int64_t tgi_plan_work(const tgi_loops *loops, const int64_t *values);
int64_t tgi_plan_kernel_work(const tgi_kernel_loops *kernel,
                             const int64_t *values);

/* The number of threads for so many picoseconds of work: one per `grain` of it,
   at most `max`. */
int tgi_plan_threads(int64_t work, int64_t grain, int max);

/*
 * Appends a line with the arena's size for one thread and a call whose extents
 * in the graph have these values; NULL: for any call.
 */
tg_status tgi_plan_print(const tgi_loops *loops, const int64_t *values,
                         tgi_strbuf *out);

#endif /* TGI_MEMORY_PLAN_H */

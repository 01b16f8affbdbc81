/* SPDX-License-Identifier: MIT */
/*
 * memory_plan.h - where the temporaries of loops lie: all in one piece of memory, in
 * which those whose epochs are apart share a place.
 */
#ifndef TGI_MEMORY_PLAN_H
#define TGI_MEMORY_PLAN_H

#include "codegen/codegen.h"

typedef struct tgi_memory_plan {
    int64_t bytes; /* of all memory */
    int64_t peak;  /* in use in one epoch, at most: no plan needs less */
} tgi_memory_plan;

/* Bytes of every buffer, for extents with these values. */
tg_status tgi_plan_sizes(const tgi_loops *loops, const int64_t *values,
                         int64_t *out_sizes);

/* Places temporaries, and scratch for so many threads. Writes the offset of
   each buffer; -1: it lies elsewhere. */
tg_status tgi_plan_memory(const tgi_loops *loops, const int64_t *sizes,
                          int n_threads, int64_t *out_offsets,
                          tgi_memory_plan *out_plan);

/* Picoseconds of all kernels, for one thread. */
int64_t tgi_plan_work(const tgi_loops *loops, const tgi_kernel_cost *costs,
                      const int64_t *values);

/* How many threads are worth having for so much work, `most` at most. */
int tgi_plan_threads(int64_t work, int64_t grain, int most);

/*
 * Says how much memory the loops take with one thread, for a call whose
 * extents in the graph have these values; NULL: any call. Adds a line.
 */
tg_status tgi_plan_print(const tgi_loops *loops, const int64_t *values,
                         tgi_strbuf *out);

#endif /* TGI_MEMORY_PLAN_H */

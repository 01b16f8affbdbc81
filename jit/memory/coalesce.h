/* SPDX-License-Identifier: MIT */
/*
 * coalesce.h - buffers that share storage. A coalescer partitions the buffers
 * of a program into classes, and unites two classes if they do not interfere.
 * Copy elision and in-place reuse choose the pairs to try.
 */
#ifndef TGI_COALESCE_H
#define TGI_COALESCE_H

#include "base/strbuf.h"
#include "memory/live_ranges.h"

typedef struct tgi_storage_class tgi_storage_class; /* coalesce.c */

typedef struct tgi_coalescer {
    tgi_loops *loops;
    tgi_strbuf *explain; /* or NULL */
    tgi_live_ranges live;
    size_t n_buffers;
    tgi_buffer_id *parent;      /* by buffer: a union-find forest */
    tgi_storage_class *classes; /* by buffer, of those that are roots */
    bool has_united;
    bool is_out_of_memory;
} tgi_coalescer;

/* Fails when out of memory. In any case tgi_coalescer_deinit is due. */
tg_status tgi_coalescer_init(tgi_coalescer *c, tgi_loops *loops,
                             tgi_strbuf *explain);
void tgi_coalescer_deinit(tgi_coalescer *c);

/* The buffer that stands for the class of a buffer. */
tgi_buffer_id tgi_coalescer_find(const tgi_coalescer *c, tgi_buffer_id buffer);

/* The same for the buffer of an access of a kernel, by number. */
static inline tgi_buffer_id tgi_coalescer_of_access(const tgi_coalescer *c,
                                                    const tgi_kernel_loops *k,
                                                    uint32_t access)
{
    return tgi_coalescer_find(c, k->accesses.data[access].buffer);
}

/*
 * Unites the classes of two buffers, if they have equal sizes and dtypes, do
 * not interfere, and if at most one of them is in the memory of the caller.
 * Pinned buffers are refused. True if they are one class then. `new` names the
 * value that the class holds last.
 */
bool tgi_coalescer_try(tgi_coalescer *c, tgi_buffer_id old, tgi_buffer_id new);

/* The same for two buffers that control flow pins. */
bool tgi_coalescer_try_pinned(tgi_coalescer *c, tgi_buffer_id old,
                              tgi_buffer_id new);

/*
 * Replaces each buffer by its class: deletes the copies within a class, and the
 * kernels, runs and barriers that have become redundant. Renumbers buffers and
 * kernels. Fails when out of memory, also if a test did.
 */
tg_status tgi_coalescer_apply(tgi_coalescer *c);

/* -- Copies (copy.c) ------------------------------------------------------- */

/* The access that a store copies from, element by element; NULL: it stores
   another value. */
const tgi_access *tgi_copy_source(const tgi_kernel_loops *k,
                                  const tgi_loop_store *store);

/* True if two stores store the same value to the same element of two
   buffers. */
bool tgi_stores_are_twins(const tgi_kernel_loops *k, const tgi_loop_store *a,
                          const tgi_loop_store *b);

/* True if two accesses address the same element at every point. */
bool tgi_access_is_same_element(const tgi_kernel_loops *k, const tgi_access *a,
                                const tgi_access *b);

/* True for a kernel whose work items each sweep their own elements, phase by
   phase. */
bool tgi_kernel_is_single_sweep(const tgi_kernel_loops *k);

#endif /* TGI_COALESCE_H */

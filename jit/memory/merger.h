/* SPDX-License-Identifier: MIT */
/*
 * merger.h - the state that copy elision and in-place reuse share: which
 * buffers have been merged so far, as a union-find forest.
 */
#ifndef TGI_MERGER_H
#define TGI_MERGER_H

#include "base/strbuf.h"
#include "loop/loops.h"

/* Arrays are by buffer. The last three describe the last epoch in which a
   kernel accesses the buffer. */
typedef struct tgi_merger {
    tgi_loops *loops;
    tgi_strbuf *explain;   /* or NULL */
    tgi_buffer_id *parent; /* the buffer it was merged into, or itself */
    uint32_t *n_epochs;    /* that epoch + 1; 0: none yet */
    tgi_kernel_id *kernel; /* the first kernel of it that does */
    bool *is_shared;       /* a second kernel does as well */
    bool has_merged;
    size_t n_visited; /* steps, by copy elision */
} tgi_merger;

/* The buffer that a buffer has been merged into. */
static inline tgi_buffer_id tgi_merger_find(const tgi_merger *m,
                                            tgi_buffer_id buffer)
{
    for (;;) {
        const tgi_buffer_id parent = m->parent[tgi_buffer_id_index(buffer)];
        if (tgi_buffer_id_equals(parent, buffer))
            return buffer;
        buffer = parent;
    }
}

/* The same for the buffer of an access, by number. */
static inline tgi_buffer_id tgi_merger_buffer(const tgi_merger *m,
                                              const tgi_kernel_loops *k,
                                              uint32_t access)
{
    return tgi_merger_find(m, k->accesses.data[access].buffer);
}

/* -- in_place.c ------------------------------------------------------------ */

/* Merges `new` and `old`, with the live range of both. The survivor is `old`,
   or `new` if that is a result. */
void tgi_merger_merge(tgi_merger *m, tgi_buffer_id old, tgi_buffer_id new);

/* True if two accesses address the same element at every point. */
bool tgi_access_is_same_element(const tgi_kernel_loops *k, const tgi_access *a,
                                const tgi_access *b);

/* True for a kernel whose work items each sweep their own elements, phase by
   phase. */
bool tgi_kernel_is_single_sweep(const tgi_kernel_loops *k);

/* -- copy_elision.c -------------------------------------------------------- */

/* Merges buffers of which one starts as a copy of the other. */
void tgi_merger_elide_copies(tgi_merger *m);
/* Merges the two buffers of carried values of loops. */
void tgi_merger_elide_carried(tgi_merger *m);
/* Deletes copies within one buffer, and kernels, steps and barriers that have
   become redundant. */
void tgi_merger_delete_copies(tgi_merger *m);

#endif /* TGI_MERGER_H */

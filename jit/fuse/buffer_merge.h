/* SPDX-License-Identifier: MIT */
/*
 * buffer_merge.h - what those share that let buffers take the place of others:
 * in_place.c, and copy_elision.c.
 */
#ifndef TGI_BUFFER_MERGE_H
#define TGI_BUFFER_MERGE_H

#include "fuse/loop_builder.h"

typedef struct tgi_merger {
    tgi_fuse_state *state;
    tgi_loops *loops;
    uint32_t *parent; /* by buffer: the one whose place it takes, or itself */
    uint32_t *epoch;  /* by buffer: the last one it is touched in, + 1 … */
    uint32_t *kernel; /* … the first kernel that does so in it, + 1 … */
    bool *is_shared;  /* … and whether another one does, too */
    bool has_merged;
    size_t n_visited; /* at steps, so far */
} tgi_merger;

static inline uint32_t tgi_merger_find(const tgi_merger *m, uint32_t buffer)
{
    while (m->parent[buffer] != buffer)
        buffer = m->parent[buffer];
    return buffer;
}

/* The buffer of an access, by number. */
static inline uint32_t tgi_merger_buffer(const tgi_merger *m,
                                         const tgi_kernel_loops *k,
                                         uint32_t access)
{
    return tgi_merger_find(m, k->accesses.data[access].buffer);
}

/* -- in_place.c ------------------------------------------------------- */

bool tgi_access_is_same_element(const tgi_kernel_loops *k, const tgi_access *a,
                                const tgi_access *b);
/* True of kernels whose items each go once over what is theirs, from the
   first phase to the last. */
bool tgi_kernel_is_single_sweep(const tgi_kernel_loops *k);
/* `new` takes the place of `old`. A result stays one: what was before it lies
   there, too. */
void tgi_merger_merge(tgi_merger *m, uint32_t old, uint32_t new);

/* -- copy_elision.c --------------------------------------------------------- */

/* Merges buffers of which one begins as a copy of the other. */
void tgi_merger_elide_copies(tgi_merger *m);
/* The parent for the two buffers of what a loop carries. */
void tgi_merger_elide_carried(tgi_merger *m);
/* Takes away what stores elements where they are already, and steps of which
   nothing is left. */
void tgi_merger_delete_copies(tgi_merger *m);

#endif /* TGI_BUFFER_MERGE_H */

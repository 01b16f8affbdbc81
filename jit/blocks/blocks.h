/* SPDX-License-Identifier: MIT */
/*
 * blocks.h - row blocks, while they are found and chosen.
 *
 *   block_pass.c     the loop pass: segments of steps, the kernels in them
 *   find_blocks.c    kernels that can run by row blocks together
 *   choose_blocks.c  whether that pays, and the rows of a block
 *   block_steps.c    the steps and barriers of a segment, rewritten
 */
#ifndef TGI_BLOCKS_H
#define TGI_BLOCKS_H

#include "blocks/row_map.h"
#include "loop/loop_pass.h"
#include "target/target.h"

enum {
    TGI_BLOCK_WINDOW = 16, /* kernels that are looked at, from the first on, … */
    TGI_MAX_BLOCK_GAP = 5, /* … unless so many in a row are no members */
    TGI_MAX_BLOCK_BUFFERS = 32 /* of per-thread memory */
};

/* A kernel of a segment: steps that are kernels and barriers. */
typedef struct tgi_block_unit {
    tgi_kernel_loops *kernel;
    /* Kernels with one number have no barrier between them and do not
       conflict; they are even, but for kernels split off. */
    uint32_t epoch;
    tgi_rows_id rows; /* of the row blocks that it is in; or none */
} tgi_block_unit;

typedef TGI_VEC(tgi_block_unit) tgi_block_units;

typedef enum tgi_block_role {
    TGI_ROLE_BEFORE, /* runs before the row blocks */
    TGI_ROLE_MEMBER,
    TGI_ROLE_SPLIT, /* `split[i]` is a member, `rest[i]` runs after them */
    TGI_ROLE_AFTER
} tgi_block_role;

/* Kernels first … first + n - 1 of a segment, some of them members. */
typedef struct tgi_block_group {
    tgi_row_domain domain;
    size_t first, n;
    uint8_t roles[TGI_BLOCK_WINDOW];
    tgi_row_kernel maps[TGI_BLOCK_WINDOW]; /* of members */
    tgi_kernel_loops *split[TGI_BLOCK_WINDOW], *rest[TGI_BLOCK_WINDOW];
    uint32_t n_members;
    int64_t block_rows;
    bool is_small; /* several matrices fit in a block */
    size_t n_buffers[TGI_BLOCK_WINDOW]; /* of the loops, before the split */
} tgi_block_group;

typedef struct tgi_blocks {
    tgi_loop_pass_state *pass;
    tgi_loops *loops;
    /* Assumed values of all expressions, if there are symbols; n of them. */
    int64_t *values;
    size_t n_values;
    bool has_values; /* false: they exceed 64 bits */
    uint64_t random; /* state of random choices, for tests; 0: none */
    bool takes_small; /* groups with is_small are used, too */
    tgi_block_units units; /* of the current segment */
    tgi_row_uses uses, others; /* scratch */
} tgi_blocks;

static inline bool tgi_block_is_member(const tgi_block_group *g, size_t i)
{
    return g->roles[i] == TGI_ROLE_MEMBER || g->roles[i] == TGI_ROLE_SPLIT;
}

/* The kernel of a member. */
static inline tgi_kernel_loops *
tgi_block_member(const tgi_blocks *b, const tgi_block_group *g, size_t i)
{
    return g->roles[i] == TGI_ROLE_SPLIT
               ? g->split[i]
               : b->units.data[g->first + i].kernel;
}

/* A random number below n; 0 without random choices. */
unsigned tgi_blocks_draw(tgi_blocks *b, unsigned n);

/* -- find_blocks.c -- */

/* Finds what can run with unit `first`, for domains of its first n_axes axes.
   Members are fewer than 2 if nothing can. */
tg_status tgi_blocks_find(tgi_blocks *b, size_t first, int n_axes,
                          tgi_block_group *out);
/* Releases what splitting has created. */
void tgi_blocks_undo(tgi_blocks *b, tgi_block_group *g);

/* -- choose_blocks.c -- */

/* False if all that a kernel accesses stays in L2 anyway. */
tg_status tgi_blocks_is_large(tgi_blocks *b, const tgi_kernel_loops *k,
                              bool *out_is);

/* False if no block of the members has the boundaries of their work items, or
   the smallest one exceeds L2. */
tg_status tgi_blocks_fit(tgi_blocks *b, const tgi_block_group *g,
                         bool *out_fit);
/* Sets block_rows; *out_pays is false if the kernels are better run one after
   the other. */
tg_status tgi_blocks_choose(tgi_blocks *b, tgi_block_group *g, bool *out_pays);
/* Adapts the work items of matmuls to the rows of a block. */
void tgi_blocks_set_items(tgi_blocks *b, const tgi_block_group *g);

/* -- block_steps.c -- */

/* Adds the row blocks to the loops, and reorders the units; *out_end is the
   number of the unit after the members. */
tg_status tgi_blocks_commit(tgi_blocks *b, tgi_block_group *g, size_t *out_end);

#endif /* TGI_BLOCKS_H */

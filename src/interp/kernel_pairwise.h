/* SPDX-License-Identifier: MIT */
/*
 * kernel_pairwise.h - template: horizontal reduction of the lanes of a block
 * and pairwise combination of blocks (see reduce_tree.h), for the op ID and the
 * current dtype.
 */
#define NAMED(piece) CAT4(piece, ID, _, DT)
#define STEP(a, b) R(ID)(a, b)

/* -- Lanes ----------------------------------------------------------------- */

#undef LANES
#undef BLOCK
#define LANES (sizeof(T) == 8 ? TGI_LANES_8 : TGI_LANES_4)
#define BLOCK (TGI_BLOCK_STEPS * LANES)

static T NAMED(reduce_lanes_)(T *lane)
{
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            lane[j] = STEP(lane[j], lane[j + half]);
    return lane[0];
}

/* -- Blocks ---------------------------------------------------------------- */

/* Partial results of 2^i blocks, one for each set bit i of n_blocks. */
typedef struct NAMED(pairwise_) {
    uint64_t n_blocks;
    T part[TGI_PAIRWISE_LEVELS];
} NAMED(pairwise_);

static void NAMED(add_block_)(NAMED(pairwise_) * c, T block)
{
    int level = 0;
    for (uint64_t carry = c->n_blocks++; carry & 1; carry >>= 1)
        block = STEP(c->part[level++], block);
    c->part[level] = block;
}

/* Requires at least one block. */
static T NAMED(total_)(const NAMED(pairwise_) * c)
{
    int level = __builtin_ctzll(c->n_blocks);
    T total = c->part[level++];
    for (; c->n_blocks >> level; level++)
        if (c->n_blocks >> level & 1)
            total = STEP(c->part[level], total);
    return total;
}

#undef NAMED
#undef STEP

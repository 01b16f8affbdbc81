/* SPDX-License-Identifier: MIT */
/*
 * kernel_pairwise.h - template: how the lanes of a block and then the blocks
 * are combined (see reduce_tree.h), for the op ID and the current type.
 */
#define NAMED(piece) CAT4(piece, ID, _, DT)
#define STEP(a, b) R(ID)(a, b)

/* -- Lanes ----------------------------------------------------------------- */

#undef LANES
#undef BLOCK
#define LANES (sizeof(T) == 8 ? TGI_LANES_8 : TGI_LANES_4)
#define BLOCK (TGI_BLOCK_STEPS * LANES)

static T NAMED(fold_)(T *lane)
{
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            lane[j] = STEP(lane[j], lane[j + half]);
    return lane[0];
}

/* -- Blocks ---------------------------------------------------------------- */

/* One part for each bit of the number of blocks it has seen. */
typedef struct NAMED(cascade_) {
    uint64_t n_blocks;
    T part[TGI_PAIRWISE_LEVELS];
} NAMED(cascade_);

static void NAMED(push_)(NAMED(cascade_) *c, T block)
{
    int level = 0;
    for (uint64_t carry = c->n_blocks++; carry & 1; carry >>= 1)
        block = STEP(c->part[level++], block);
    c->part[level] = block;
}

/* Of at least one block. */
static T NAMED(total_)(const NAMED(cascade_) *c)
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

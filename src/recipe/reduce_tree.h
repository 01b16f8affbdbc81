/* SPDX-License-Identifier: MIT */
/*
 * reduce_tree.h - in which order a reduction combines its elements. The order
 * depends on the reduced axes and their extents, and on nothing else: not on
 * threads, vector width, memory layout or what a loop is fused with.
 *
 * The reduced axes at the end of the shape (if the last axis is reduced: it
 * and all reduced ones directly before it) form the run; the other reduced
 * axes the rows. Both are taken in row-major order.
 *
 * The run x[0 … n-1] of one result is cut into blocks of TGI_BLOCK_STEPS *
 * lanes elements. In a block, lane j starts from the identity and takes
 * x[j], x[j + lanes], x[j + 2 lanes] …; then the upper half of the lanes is
 * combined into the lower half, lane j with lane j + half, until one is left.
 * Blocks are combined by the cascade below.
 *
 * The results of the runs, one per row (the element itself if there is no
 * run), are cut into blocks of TGI_BLOCK_ROWS, each of which starts from the
 * identity and takes its rows in order; blocks are combined by the cascade.
 *
 * The cascade combines equals with equals, as a binary counter carries: after
 * every block, while the two last parts stand for equally many blocks, they
 * become one. At the end parts are combined from the last to the first, the
 * earlier part always on the left.
 *
 * The identity of a float sum is -0 (x + -0 is x for every x); a sum of
 * nothing is +0.
 */
#ifndef TGI_REDUCE_TREE_H
#define TGI_REDUCE_TREE_H

enum {
    TGI_LANES_4 = 64, /* of types of up to 4 bytes */
    TGI_LANES_8 = 32, /* of types of 8 bytes */
    TGI_BLOCK_STEPS = 64,
    TGI_BLOCK_ROWS = 256,
    TGI_PAIRWISE_LEVELS = 56 /* more than any number of blocks needs */
};

#endif /* TGI_REDUCE_TREE_H */

/* SPDX-License-Identifier: MIT */
/*
 * reduce_tree.h - the order in which a reduction combines its elements. It
 * depends only on the reduced axes and their extents, not on threads, vector
 * width, memory layout or fusion.
 *
 * The reduced axes at the end of the shape (if the last axis is reduced: it
 * and all reduced ones directly before it) form the run; the other reduced
 * axes the rows. Both are taken in row-major order.
 *
 * The run x[0 … n-1] of one result is divided into blocks of TGI_BLOCK_STEPS *
 * lanes elements. In a block, lane j starts from the identity and accumulates
 * x[j], x[j + lanes], x[j + 2 lanes] … Then a horizontal reduction combines
 * the upper half of the lanes with the lower half, lane j with lane j + half,
 * until one is left. Blocks are combined pairwise.
 *
 * The results of the runs, one per row (the element itself if there is no
 * run), are divided into blocks of TGI_BLOCK_ROWS. Each starts from the
 * identity and accumulates its rows in order; blocks are combined pairwise.
 *
 * Pairwise combination works like a binary counter: after each block, while the
 * last two partial results cover equally many blocks, they are combined. At the
 * end, the partial results are combined from last to first. The earlier one is
 * always the left operand.
 *
 * The identity of a float sum is -0 (x + -0 is x for every x); an empty sum is
 * +0.
 */
#ifndef TGI_REDUCE_TREE_H
#define TGI_REDUCE_TREE_H

enum {
    TGI_LANES_4 = 64, /* of types of up to 4 bytes */
    TGI_LANES_8 = 32, /* of types of 8 bytes */
    TGI_BLOCK_STEPS = 64,
    TGI_BLOCK_ROWS = 256,
    TGI_PAIRWISE_LEVELS = 56 /* sufficient for 2^56 blocks */
};

#endif /* TGI_REDUCE_TREE_H */

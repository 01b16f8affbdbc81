/* SPDX-License-Identifier: MIT */
/*
 * shards.h - the tree over shards that defines the order of reductions.
 *
 * The shards of a global batch are numbered 0 ... n_shards - 1. Each rank owns
 * consecutive ones. Node (level, first) of the tree covers the shards first ...
 * first + 2^level - 1, as far as they exist; `first` is a multiple of 2^level.
 * Its value is that of its left half combined with that of its right half, or
 * of the left half alone if the right one is empty. The tree, and so every bit
 * of a reduction, depends on n_shards only.
 */
#ifndef TGI_MPI_SHARDS_H
#define TGI_MPI_SHARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tgi_shards {
    int n_ranks, rank;
    int64_t n_shards; /* at least n_ranks */
} tgi_shards;

typedef struct tgi_shard_node {
    int level;
    int64_t first;
} tgi_shard_node;

/* Upper bound of the number of partials of a rank. */
enum { TGI_MPI_MAX_PARTIALS = 128 };

/* The first shard of a rank; that of rank n_ranks is n_shards. */
int64_t tgi_shards_begin(const tgi_shards *s, int rank);

/* The rank that owns a shard. */
int tgi_shards_owner(const tgi_shards *s, int64_t shard);

tgi_shard_node tgi_shards_root(const tgi_shards *s);
tgi_shard_node tgi_shard_left(tgi_shard_node node);
/* False if the right half is empty. */
bool tgi_shard_right(const tgi_shards *s, tgi_shard_node node,
                     tgi_shard_node *out_right);

/* The rank that owns all shards of a node, or -1. */
int tgi_shards_node_owner(const tgi_shards *s, tgi_shard_node node);

/*
 * The partials of a rank: the largest nodes whose shards it all owns, in order.
 * Returns their number; `out_nodes` has TGI_MPI_MAX_PARTIALS elements.
 */
size_t tgi_shards_partials(const tgi_shards *s, int rank,
                           tgi_shard_node *out_nodes);

/* True if every rank has one partial and the number of ranks is a power of two:
   the tree above the partials is then complete. */
bool tgi_shards_are_aligned(const tgi_shards *s);

#endif /* TGI_MPI_SHARDS_H */

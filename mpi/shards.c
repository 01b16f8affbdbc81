/* SPDX-License-Identifier: MIT */
/*
 * shards.c - see shards.h.
 */
#include "mpi/shards.h"

int64_t tgi_shards_begin(const tgi_shards *s, int rank)
{
    return rank * s->n_shards / s->n_ranks;
}

int tgi_shards_owner(const tgi_shards *s, int64_t shard)
{
    /* The smallest rank whose end, (rank + 1) * n_shards / n_ranks rounded
       down, is above the shard. */
    return (int)(((shard + 1) * s->n_ranks + s->n_shards - 1) / s->n_shards -
                 1);
}

tgi_shard_node tgi_shards_root(const tgi_shards *s)
{
    tgi_shard_node root = {0, 0};
    while ((INT64_C(1) << root.level) < s->n_shards)
        root.level++;
    return root;
}

tgi_shard_node tgi_shard_left(tgi_shard_node node)
{
    return (tgi_shard_node){node.level - 1, node.first};
}

bool tgi_shard_right(const tgi_shards *s, tgi_shard_node node,
                     tgi_shard_node *out_right)
{
    const int64_t half = INT64_C(1) << (node.level - 1);
    *out_right = (tgi_shard_node){node.level - 1, node.first + half};
    return out_right->first < s->n_shards;
}

static int64_t node_end(const tgi_shards *s, tgi_shard_node node)
{
    const int64_t end = node.first + (INT64_C(1) << node.level);
    return end < s->n_shards ? end : s->n_shards;
}

int tgi_shards_node_owner(const tgi_shards *s, tgi_shard_node node)
{
    const int owner = tgi_shards_owner(s, node.first);
    return node_end(s, node) <= tgi_shards_begin(s, owner + 1) ? owner : -1;
}

size_t tgi_shards_partials(const tgi_shards *s, int rank,
                           tgi_shard_node *out_nodes)
{
    const int64_t end = tgi_shards_begin(s, rank + 1);
    const int top = tgi_shards_root(s).level;
    size_t n = 0;
    for (int64_t at = tgi_shards_begin(s, rank); at < end;) {
        tgi_shard_node node = {0, at}, parent = node;
        /* Grow while the parent begins here and ends in the range. */
        while (parent.level < top && at % (INT64_C(2) << parent.level) == 0 &&
               node_end(s, (tgi_shard_node){parent.level + 1, at}) <= end) {
            parent.level++;
            node = parent;
        }
        out_nodes[n++] = node;
        at = node_end(s, node);
    }
    return n;
}

bool tgi_shards_are_aligned(const tgi_shards *s)
{
    const int64_t each = s->n_shards / s->n_ranks;
    return (s->n_ranks & (s->n_ranks - 1)) == 0 &&
           each * s->n_ranks == s->n_shards && (each & (each - 1)) == 0;
}

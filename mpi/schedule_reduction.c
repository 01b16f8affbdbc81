/* SPDX-License-Identifier: MIT */
/*
 * schedule_reduction.c - reductions in the order of the tree over shards. There
 * are four ways to move the data; the bits are the same.
 *
 *   exchange  aligned shards (shards.h), short arrays: in round k, partners at
 *             distance 2^k exchange everything and both combine it
 *   halving   aligned shards, long arrays: the same, but each keeps half of
 *             what it had; then the halves are gathered in the opposite order
 *   tree      short arrays: the owner of the first shard of a node receives the
 *             right half and combines; rank 0 broadcasts the root
 *   direct    long arrays: each rank receives one part of every partial, and
 *             combines it; then the parts are gathered
 *
 * exchange and tree send the array O(log n_ranks) times, halving and direct
 * twice.
 */
#include <stdlib.h>

#include "mpi/schedule_steps.h"

/* Arrays of at most so many bytes are short: on Ethernet and in shared memory,
   this is about what is sent in the time of one more message. */
enum { SHORT_BYTES = 16384 };

/* A reduction being scheduled. */
typedef struct builder {
    tgi_mpi_schedule *s;
    const tgi_shards *shards;
    int64_t count;
    /* direct: where the parts of the partials of others are, by the first shard
       of the partial. */
    tgi_mpi_place *parts;
    tgi_shard_node own[TGI_MPI_MAX_PARTIALS];
    size_t n_own;
} builder;

/* The part of the array, of n_ranks, that a rank combines: its first element;
   that of rank n_ranks is the end. */
static int64_t part_begin(const builder *b, int rank)
{
    return b->count / b->shards->n_ranks * rank +
           b->count % b->shards->n_ranks * rank / b->shards->n_ranks;
}

static int64_t part_count(const builder *b, int rank)
{
    return part_begin(b, rank + 1) - part_begin(b, rank);
}

static tgi_mpi_place out_at(const builder *b, int64_t at)
{
    return tgi_mpi_place_at(b->s, tgi_mpi_out(), at);
}

/* out = the combination of mine and theirs, in the order of the ranks. */
static void add_ordered(const builder *b, int partner, tgi_mpi_place out,
                        tgi_mpi_place mine, tgi_mpi_place theirs, int64_t count)
{
    if (b->shards->rank < partner)
        tgi_mpi_add_combine(b->s, out, mine, theirs, count);
    else
        tgi_mpi_add_combine(b->s, out, theirs, mine, count);
}

/* -- Aligned shards -------------------------------------------------------- */

static void schedule_exchange(builder *b)
{
    const tgi_mpi_place theirs = tgi_mpi_add_work(b->s, b->count);
    tgi_mpi_place mine = tgi_mpi_in(0);
    for (int distance = 1; distance < b->shards->n_ranks; distance *= 2) {
        const int partner = b->shards->rank ^ distance;
        tgi_mpi_add_receive(b->s, partner, theirs, b->count);
        tgi_mpi_add_send(b->s, partner, mine, b->count);
        tgi_mpi_add_wait(b->s);
        add_ordered(b, partner, tgi_mpi_out(), mine, theirs, b->count);
        mine = tgi_mpi_out();
    }
}

typedef struct range {
    int64_t begin, end;
} range;

/* The half that a rank keeps, and the one that its partner keeps. */
static range kept_half(range r, bool is_first, range *out_given)
{
    const int64_t middle = r.begin + (r.end - r.begin) / 2;
    const range first = {r.begin, middle}, second = {middle, r.end};
    *out_given = is_first ? second : first;
    return is_first ? first : second;
}

static void schedule_halving(builder *b)
{
    const tgi_mpi_place theirs = tgi_mpi_add_work(b->s, b->count / 2 + 1);
    tgi_mpi_place mine = tgi_mpi_in(0);
    range kept = {0, b->count}, given[32];
    int level = 0;
    for (int distance = 1; distance < b->shards->n_ranks; distance *= 2) {
        const int partner = b->shards->rank ^ distance;
        kept = kept_half(kept, b->shards->rank < partner, &given[level]);
        const range g = given[level++];
        const int64_t n = kept.end - kept.begin;
        tgi_mpi_add_receive(b->s, partner, theirs, n);
        tgi_mpi_add_send(b->s, partner, tgi_mpi_place_at(b->s, mine, g.begin),
                         g.end - g.begin);
        tgi_mpi_add_wait(b->s);
        add_ordered(b, partner, out_at(b, kept.begin),
                    tgi_mpi_place_at(b->s, mine, kept.begin), theirs, n);
        mine = tgi_mpi_out();
    }
    for (int distance = b->shards->n_ranks / 2; distance; distance /= 2) {
        const int partner = b->shards->rank ^ distance;
        const range g = given[--level];
        tgi_mpi_add_receive(b->s, partner, out_at(b, g.begin),
                            g.end - g.begin);
        tgi_mpi_add_send(b->s, partner, out_at(b, kept.begin),
                         kept.end - kept.begin);
        tgi_mpi_add_wait(b->s);
        kept = (range){kept.begin < g.begin ? kept.begin : g.begin,
                       kept.end > g.end ? kept.end : g.end};
    }
}

/* -- Any shards, short arrays ---------------------------------------------- */

/* The place where the rank that owns the first shard of the node has its
   value. Recurses over the levels of the tree, at most 63. */
static tgi_mpi_place schedule_node(builder *b, tgi_shard_node node)
{
    const int me = b->shards->rank;
    const int owner = tgi_shards_node_owner(b->shards, node);
    tgi_shard_node right;
    if (owner >= 0) {
        size_t i = 0; /* nodes of other ranks have no place here */
        while (owner == me && b->own[i].first != node.first)
            i++;
        return tgi_mpi_in(i);
    }
    const tgi_mpi_place left = schedule_node(b, tgi_shard_left(node));
    if (!tgi_shard_right(b->shards, node, &right))
        return left;
    tgi_mpi_place value = schedule_node(b, right);
    const int left_owner = tgi_shards_owner(b->shards, node.first);
    const int right_owner = tgi_shards_owner(b->shards, right.first);
    if (right_owner == me && left_owner != me)
        tgi_mpi_add_send(b->s, left_owner, value, b->count);
    if (left_owner != me)
        return left;
    if (right_owner != me) {
        value = tgi_mpi_add_work(b->s, b->count);
        tgi_mpi_add_receive(b->s, right_owner, value, b->count);
        tgi_mpi_add_wait(b->s);
    }
    const tgi_mpi_place sum =
        left.space == TGI_MPI_WORK ? left : tgi_mpi_add_work(b->s, b->count);
    tgi_mpi_add_combine(b->s, sum, left, value, b->count);
    return sum;
}

/* From rank 0 to all, along a binomial tree. */
static void schedule_broadcast(builder *b)
{
    const int me = b->shards->rank, n = b->shards->n_ranks;
    int distance = 1;
    while (distance < n && !(me & distance))
        distance *= 2;
    if (me) {
        tgi_mpi_add_receive(b->s, me - distance, tgi_mpi_out(), b->count);
        tgi_mpi_add_wait(b->s);
    }
    for (distance /= 2; distance; distance /= 2)
        if (me + distance < n)
            tgi_mpi_add_send(b->s, me + distance, tgi_mpi_out(), b->count);
}

static void schedule_tree(builder *b)
{
    const tgi_mpi_place root =
        schedule_node(b, tgi_shards_root(b->shards));
    if (b->shards->rank == 0)
        tgi_mpi_add_copy(b->s, tgi_mpi_out(), root, b->count);
    schedule_broadcast(b);
}

/* -- Any shards, long arrays ----------------------------------------------- */

/* Exchanges the parts of all partials. */
static void exchange_parts(builder *b)
{
    const int me = b->shards->rank, n = b->shards->n_ranks;
    const int64_t count = part_count(b, me);
    /* Each rank begins with its neighbour: not all send to the same one. */
    for (int i = 1; i < n; i++) {
        const int peer = (me + n - i) % n;
        tgi_shard_node theirs[TGI_MPI_MAX_PARTIALS];
        const size_t n_theirs = tgi_shards_partials(b->shards, peer, theirs);
        for (size_t k = 0; k < n_theirs; k++) {
            const tgi_mpi_place place = tgi_mpi_add_work(b->s, count);
            b->parts[theirs[k].first] = place;
            tgi_mpi_add_receive(b->s, peer, place, count);
        }
    }
    for (int i = 1; i < n; i++) {
        const int peer = (me + i) % n;
        for (size_t k = 0; k < b->n_own; k++)
            tgi_mpi_add_send(
                b->s, peer,
                tgi_mpi_place_at(b->s, tgi_mpi_in(k), part_begin(b, peer)),
                part_count(b, peer));
    }
    tgi_mpi_add_wait(b->s);
    for (size_t k = 0; k < b->n_own; k++)
        b->parts[b->own[k].first] =
            tgi_mpi_place_at(b->s, tgi_mpi_in(k), part_begin(b, me));
}

/* The place of this rank's part of the value of a node. */
static tgi_mpi_place combine_node(builder *b, tgi_shard_node node)
{
    const int64_t count = part_count(b, b->shards->rank);
    tgi_shard_node right;
    if (tgi_shards_node_owner(b->shards, node) >= 0)
        return b->parts[node.first];
    const tgi_mpi_place left = combine_node(b, tgi_shard_left(node));
    if (!tgi_shard_right(b->shards, node, &right))
        return left;
    const tgi_mpi_place other = combine_node(b, right);
    /* Two partials of one rank are never siblings: one of both has been
       received, or is a sum. */
    const tgi_mpi_place sum = left.space == TGI_MPI_WORK ? left : other;
    tgi_mpi_add_combine(b->s, sum, left, other, count);
    return sum;
}

static void schedule_direct(builder *b, tgi_mpi_result result)
{
    const int me = b->shards->rank, n = b->shards->n_ranks;
    b->parts = calloc((size_t)b->shards->n_shards, sizeof(*b->parts));
    if (!b->parts) {
        b->s->has_failed = true;
        return;
    }
    exchange_parts(b);
    const tgi_mpi_place sum = combine_node(b, tgi_shards_root(b->shards));
    free(b->parts);
    const bool is_part = result == TGI_MPI_OWN_PART;
    tgi_mpi_add_copy(b->s, out_at(b, is_part ? 0 : part_begin(b, me)), sum,
                     part_count(b, me));
    for (int i = 1; !is_part && i < n; i++) {
        const int from = (me + n - i) % n, to = (me + i) % n;
        tgi_mpi_add_receive(b->s, from, out_at(b, part_begin(b, from)),
                            part_count(b, from));
        tgi_mpi_add_send(b->s, to, out_at(b, part_begin(b, me)),
                         part_count(b, me));
    }
}

/* -- Interface ------------------------------------------------------------- */

tgi_mpi_schedule *tgi_mpi_schedule_reduction(const tgi_shards *shards,
                                             tg_dtype dtype,
                                             size_t element_bytes,
                                             tgi_mpi_operation operation,
                                             int64_t count,
                                             tgi_mpi_result result)
{
    builder b = {.shards = shards, .count = count};
    b.s = tgi_mpi_schedule_create(dtype, element_bytes, operation);
    if (!b.s)
        return NULL;
    b.n_own = tgi_shards_partials(shards, shards->rank, b.own);
    const bool is_short = count * (int64_t)element_bytes <= SHORT_BYTES;
    if (shards->n_ranks == 1)
        tgi_mpi_add_copy(b.s, tgi_mpi_out(), tgi_mpi_in(0), count);
    else if (result == TGI_MPI_OWN_PART)
        schedule_direct(&b, result);
    else if (tgi_shards_are_aligned(shards))
        is_short ? schedule_exchange(&b) : schedule_halving(&b);
    else
        is_short ? schedule_tree(&b) : schedule_direct(&b, result);
    return tgi_mpi_schedule_finish(b.s);
}

tgi_mpi_schedule *tgi_mpi_schedule_shift(const tgi_shards *shards,
                                         tg_dtype dtype, size_t element_bytes,
                                         int64_t count, int distance)
{
    tgi_mpi_schedule *s =
        tgi_mpi_schedule_create(dtype, element_bytes, TGI_MPI_SUM);
    const int n = shards->n_ranks;
    const int to = ((shards->rank + distance) % n + n) % n;
    const int from = ((shards->rank - distance) % n + n) % n;
    if (s && to == shards->rank) {
        tgi_mpi_add_copy(s, tgi_mpi_out(), tgi_mpi_in(0), count);
    } else if (s) {
        tgi_mpi_add_receive(s, from, tgi_mpi_out(), count);
        tgi_mpi_add_send(s, to, tgi_mpi_in(0), count);
    }
    return tgi_mpi_schedule_finish(s);
}

/* SPDX-License-Identifier: MIT */
/*
 * hash.c - XXH3, and the open-addressing hash index: linear probing, load
 * factor at most one half. A slot stores the upper half of the hash, which
 * avoids most key comparisons and suffices to rehash.
 */
#include "base/hash.h"

#include <xxhash.h>

#include <string.h>

#include "base/alloc.h"

#define FIRST_CAPACITY 16

uint64_t tgi_hash(const void *data, size_t bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes ? data : "", bytes, seed);
}

tgi_hash128 tgi_hash_128(const void *data, size_t bytes)
{
    XXH128_canonical_t canonical;
    tgi_hash128 hash;
    XXH128_canonicalFromHash(&canonical,
                             XXH3_128bits(bytes ? data : "", bytes));
    memcpy(hash.bytes, canonical.digest, sizeof(hash.bytes));
    return hash;
}

static uint32_t upper_half(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

uint32_t tgi_index_next(const tgi_index *index, uint64_t hash, size_t *probe)
{
    if (index->capacity == 0)
        return 0;
    const uint32_t upper = upper_half(hash);
    const size_t mask = index->capacity - 1;
    for (;;) {
        const struct tgi_index_slot *slot =
            &index->slots[(upper + *probe) & mask];
        if (slot->position == 0)
            return 0;
        ++*probe;
        if (slot->hash == upper)
            return slot->position;
    }
}

/* The index must have a free slot. */
static void insert(tgi_index *index, struct tgi_index_slot entry)
{
    const size_t mask = index->capacity - 1;
    size_t i = entry.hash & mask;
    while (index->slots[i].position != 0)
        i = (i + 1) & mask;
    index->slots[i] = entry;
}

static bool grow(tgi_index *index)
{
    tgi_index grown = {NULL, index->n, FIRST_CAPACITY};
    if (index->capacity > 0)
        grown.capacity = index->capacity * 2;
    grown.slots = tgi_alloc_zero(grown.capacity * sizeof *grown.slots);
    if (!grown.slots)
        return false;
    for (size_t i = 0; i < index->capacity; i++)
        if (index->slots[i].position != 0)
            insert(&grown, index->slots[i]);
    tgi_free(index->slots);
    *index = grown;
    return true;
}

bool tgi_index_add(tgi_index *index, uint64_t hash, uint32_t position)
{
    if (index->n >= index->capacity / 2 && !grow(index))
        return false;
    insert(index, (struct tgi_index_slot){upper_half(hash), position});
    index->n++;
    return true;
}

void tgi_index_clear(tgi_index *index)
{
    if (index->capacity > 0)
        memset(index->slots, 0, index->capacity * sizeof *index->slots);
    index->n = 0;
}

void tgi_index_deinit(tgi_index *index)
{
    tgi_free(index->slots);
    *index = (tgi_index){0};
}

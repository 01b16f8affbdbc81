/* SPDX-License-Identifier: MIT */
/*
 * hash.h - hashing of bytes (xxHash), and the open-addressing index used by
 * every table of the library: it maps hashes to positions in an array the
 * owner keeps, and leaves equality to the owner.
 */
#ifndef TGI_HASH_H
#define TGI_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t tgi_hash(const void *data, size_t bytes, uint64_t seed);

/* For names and checksums in files: the same bytes on every machine. */
typedef struct tgi_hash128 {
    unsigned char bytes[16];
} tgi_hash128;

tgi_hash128 tgi_hash_128(const void *data, size_t bytes);

/* All zero is an empty index. Positions are any 32-bit number but 0. */
typedef struct tgi_index {
    struct tgi_index_slot {
        uint32_t hash; /* upper half, to skip most comparisons */
        uint32_t position; /* 0: free */
    } *slots;
    size_t n, capacity; /* capacity is 0 or a power of two */
} tgi_index;

/* Walks the positions stored under `hash`: start with *probe = 0, ends with
   0. */
uint32_t tgi_index_next(const tgi_index *index, uint64_t hash, size_t *probe);

/* Adds a position; false when out of memory. */
bool tgi_index_add(tgi_index *index, uint64_t hash, uint32_t position);

void tgi_index_clear(tgi_index *index);
void tgi_index_deinit(tgi_index *index);

#endif /* TGI_HASH_H */

/* SPDX-License-Identifier: MIT */
/*
 * hash.h - hashing of bytes (xxHash), and the open-addressing hash index of
 * all the library's tables. It maps hashes to positions in the owner's array;
 * the owner compares keys.
 */
#ifndef TGI_HASH_H
#define TGI_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t tgi_hash(const void *data, size_t bytes, uint64_t seed);

/* For file names and checksums: independent of byte order. */
typedef struct tgi_hash128 {
    unsigned char bytes[16];
} tgi_hash128;

tgi_hash128 tgi_hash_128(const void *data, size_t bytes);

/* Zero-initialised, it is empty. Positions are nonzero. */
typedef struct tgi_index {
    struct tgi_index_slot {
        uint32_t hash;     /* upper half of the hash */
        uint32_t position; /* 0: free slot */
    } *slots;
    size_t n, capacity; /* capacity is 0 or a power of two */
} tgi_index;

/* Iterates over the positions stored under `hash`, from *probe = 0; returns 0
   at the end. */
uint32_t tgi_index_next(const tgi_index *index, uint64_t hash, size_t *probe);

/* Adds a position; false when out of memory. */
bool tgi_index_add(tgi_index *index, uint64_t hash, uint32_t position);

void tgi_index_clear(tgi_index *index);
void tgi_index_deinit(tgi_index *index);

#endif /* TGI_HASH_H */

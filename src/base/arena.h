/* SPDX-License-Identifier: MIT */
/*
 * arena.h - arena allocator: all memory is freed at once. Allocations never
 * move.
 */
#ifndef TGI_ARENA_H
#define TGI_ARENA_H

#include <stddef.h>

typedef struct tgi_arena_block tgi_arena_block;

/* Zero-initialised, it is an empty arena. */
typedef struct tgi_arena {
    tgi_arena_block *blocks; /* newest first */
    char *next, *end;        /* free part of the newest block */
    size_t bytes;            /* obtained from tgi_alloc */
} tgi_arena;

/* 16-byte aligned; NULL when out of memory. The arena remains usable. */
void *tgi_arena_alloc(tgi_arena *arena, size_t bytes);
void *tgi_arena_copy(tgi_arena *arena, const void *data, size_t bytes);
void tgi_arena_deinit(tgi_arena *arena);

#endif /* TGI_ARENA_H */

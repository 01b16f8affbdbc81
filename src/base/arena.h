/* SPDX-License-Identifier: MIT */
/*
 * arena.h - memory that is given back all at once. Blocks never move.
 */
#ifndef TGI_ARENA_H
#define TGI_ARENA_H

#include <stddef.h>

typedef struct tgi_arena_block tgi_arena_block;

/* All zero is an empty arena. */
typedef struct tgi_arena {
    tgi_arena_block *blocks; /* newest first */
    char *next, *end;        /* room left in the newest block */
    size_t bytes;            /* taken from the allocator so far */
} tgi_arena;

/* 16-byte aligned; NULL when out of memory (the arena stays usable). */
void *tgi_arena_alloc(tgi_arena *arena, size_t bytes);
void *tgi_arena_copy(tgi_arena *arena, const void *data, size_t bytes);
void tgi_arena_deinit(tgi_arena *arena);

#endif /* TGI_ARENA_H */

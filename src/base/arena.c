/* SPDX-License-Identifier: MIT */
/*
 * arena.c - bump allocation from a list of blocks, whose sizes grow up to a
 * limit. A request larger than a quarter of the next block gets its own block,
 * second in the list, so that allocation continues in the newest one.
 */
#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

#define ARENA_ALIGN 16
#define FIRST_BLOCK_BYTES ((size_t)1024)
#define LAST_BLOCK_BYTES ((size_t)256 * 1024)

struct tgi_arena_block {
    _Alignas(ARENA_ALIGN) tgi_arena_block *older;
};

/* A block of `bytes`, not yet in the list. */
static tgi_arena_block *block_create(tgi_arena *arena, size_t bytes)
{
    tgi_arena_block *block = tgi_alloc(sizeof *block + bytes);
    if (block)
        arena->bytes += sizeof *block + bytes;
    return block;
}

/* Doubles the arena, within the limits. */
static size_t next_block_bytes(const tgi_arena *arena)
{
    if (arena->bytes < FIRST_BLOCK_BYTES)
        return FIRST_BLOCK_BYTES;
    if (arena->bytes > LAST_BLOCK_BYTES)
        return LAST_BLOCK_BYTES;
    return arena->bytes;
}

static void *alloc_own_block(tgi_arena *arena, size_t bytes)
{
    tgi_arena_block *block = block_create(arena, bytes);
    if (!block)
        return NULL;
    tgi_arena_block *newest = arena->blocks;
    block->older = newest ? newest->older : NULL;
    if (newest)
        newest->older = block;
    else
        arena->blocks = block;
    return block + 1;
}

void *tgi_arena_alloc(tgi_arena *arena, size_t bytes)
{
    if (bytes > PTRDIFF_MAX - sizeof(tgi_arena_block) - ARENA_ALIGN)
        return NULL;
    bytes = (bytes + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);

    if (!arena->next || bytes > (size_t)(arena->end - arena->next)) {
        size_t room = next_block_bytes(arena);
        if (bytes > room / 4)
            return alloc_own_block(arena, bytes);
        tgi_arena_block *block = block_create(arena, room);
        if (!block)
            return NULL;
        block->older = arena->blocks;
        arena->blocks = block;
        arena->next = (char *)(block + 1);
        arena->end = arena->next + room;
    }
    void *memory = arena->next;
    arena->next += bytes;
    return memory;
}

void *tgi_arena_copy(tgi_arena *arena, const void *data, size_t bytes)
{
    void *copy = tgi_arena_alloc(arena, bytes);
    if (copy && bytes > 0)
        memcpy(copy, data, bytes);
    return copy;
}

void tgi_arena_deinit(tgi_arena *arena)
{
    tgi_arena_block *block = arena->blocks;
    while (block) {
        tgi_arena_block *older = block->older;
        tgi_free(block);
        block = older;
    }
    *arena = (tgi_arena){0};
}

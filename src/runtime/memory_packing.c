/* SPDX-License-Identifier: MIT */
/*
 * memory_packing.c - packs buffers by live range. Visits the buffers by start
 * of their live range: frees the blocks of buffers whose range has ended, then
 * takes a free block that fits, or extends the memory.
 *
 * Free blocks are kept in segregated free lists (bins), eight per power of two,
 * with a bitmap of non-empty bins, so allocation and freeing take constant
 * time. Adjacent free blocks are merged.
 */
#include "runtime/memory_packing.h"

#include "base/checked.h"
#include "base/error.h"

enum {
    SUB_BITS = 3, /* bits below a size's highest that select the bin */
    SUB_BINS = 1 << SUB_BITS,
    BINS = 64 * SUB_BINS,
    TRIES = 8 /* blocks tried in the first bin, where some may be too small */
};

/* Sizes are in units of TGI_BUFFER_ALIGN; block 0 is none. */
typedef struct block {
    int64_t offset, size;
    uint32_t before, after;           /* neighbours in memory */
    uint32_t free_before, free_after; /* in the bin */
    bool is_free;
} block;

typedef struct pool {
    block *blocks;
    uint32_t n_blocks; /* in use, block 0 included */
    uint32_t end;      /* the last block in memory */
    int64_t size;
    uint32_t bins[BINS];
    uint64_t filled[BINS / 64];
} pool;

/* -- Bins ------------------------------------------------------------------ */

static int bin_of(int64_t size)
{
    if (size < SUB_BINS)
        return (int)size;
    int high = 63 - __builtin_clzll((uint64_t)size);
    int sub = (int)(size >> (high - SUB_BITS)) & (SUB_BINS - 1);
    return (high - SUB_BITS + 1) * SUB_BINS + sub;
}

static void bin_add(pool *p, uint32_t b)
{
    int bin = bin_of(p->blocks[b].size);
    uint32_t head = p->bins[bin];
    p->blocks[b].is_free = true;
    p->blocks[b].free_before = 0;
    p->blocks[b].free_after = head;
    p->blocks[head].free_before = b;
    p->bins[bin] = b;
    p->filled[bin / 64] |= UINT64_C(1) << bin % 64;
}

static void bin_remove(pool *p, uint32_t b)
{
    const block *removed = &p->blocks[b];
    int bin = bin_of(removed->size);
    if (removed->free_before)
        p->blocks[removed->free_before].free_after = removed->free_after;
    else
        p->bins[bin] = removed->free_after;
    p->blocks[removed->free_after].free_before = removed->free_before;
    if (!p->bins[bin])
        p->filled[bin / 64] &= ~(UINT64_C(1) << bin % 64);
    p->blocks[b].is_free = false;
}

/* A free block of at least `size`, or 0. */
static uint32_t find_free(const pool *p, int64_t size)
{
    int bin = bin_of(size);
    uint32_t b = p->bins[bin];
    for (int i = 0; b && i < TRIES; i++, b = p->blocks[b].free_after)
        if (p->blocks[b].size >= size)
            return b;
    /* In all later bins, every block is large enough. */
    bin++;
    for (int word = bin / 64; word < BINS / 64; word++) {
        uint64_t filled = p->filled[word];
        if (word == bin / 64)
            filled &= ~UINT64_C(0) << bin % 64;
        if (filled)
            return p->bins[word * 64 + __builtin_ctzll(filled)];
    }
    return 0;
}

/* -- Blocks ---------------------------------------------------------------- */

/* Inserts a new block after `before` in memory. */
static uint32_t block_insert(pool *p, uint32_t before, int64_t offset,
                             int64_t size)
{
    uint32_t b = p->n_blocks++;
    uint32_t after = before ? p->blocks[before].after : 0;
    p->blocks[b] = (block){
        .offset = offset, .size = size, .before = before, .after = after};
    if (before)
        p->blocks[before].after = b;
    if (after)
        p->blocks[after].before = b;
    else
        p->end = b;
    return b;
}

/* Merges b with the next block; neither is in a bin. */
static void block_merge(pool *p, uint32_t b)
{
    uint32_t removed = p->blocks[b].after;
    uint32_t after = p->blocks[removed].after;
    p->blocks[b].size += p->blocks[removed].size;
    p->blocks[b].after = after;
    if (after)
        p->blocks[after].before = b;
    else
        p->end = b;
}

/* Allocates a block; 0 if offsets would overflow. */
static uint32_t allocate_block(pool *p, int64_t size)
{
    uint32_t b = find_free(p, size);
    bool extends = p->end && p->blocks[p->end].is_free;
    if (!b && extends && p->blocks[p->end].size >= size)
        b = p->end;
    if (b) {
        bin_remove(p, b);
        int64_t excess = p->blocks[b].size - size;
        if (excess) {
            p->blocks[b].size = size;
            bin_add(p, block_insert(p, b, p->blocks[b].offset + size, excess));
        }
        return b;
    }

    /* Extend the memory at its end, from a trailing free block if there is
       one. */
    int64_t more = extends ? size - p->blocks[p->end].size : size;
    int64_t total, bytes;
    if (!tgi_checked_add(p->size, more, &total) ||
        !tgi_checked_mul(total, TGI_BUFFER_ALIGN, &bytes))
        return 0;
    if (extends) {
        b = p->end;
        bin_remove(p, b);
        p->blocks[b].size = size;
    } else {
        b = block_insert(p, p->end, p->size, size);
    }
    p->size = total;
    return b;
}

static void free_block(pool *p, uint32_t b)
{
    uint32_t before = p->blocks[b].before, after = p->blocks[b].after;
    if (after && p->blocks[after].is_free) {
        bin_remove(p, after);
        block_merge(p, b);
    }
    if (before && p->blocks[before].is_free) {
        bin_remove(p, before);
        block_merge(p, before);
        b = before;
    }
    bin_add(p, b);
}

/* -- Live ranges ----------------------------------------------------------- */

typedef struct packing {
    pool pool;
    uint32_t *block;    /* by buffer */
    uint32_t *expiring; /* by last use: a buffer + 1 … */
    uint32_t *next;     /* … and the next one in that list */
} packing;

static tg_status fail_too_large(void)
{
    return tgi_error_set(TG_ERROR_OUT_OF_MEMORY, TGI_NO_SITE,
                         "out of memory: the bytes of all temporaries do not "
                         "fit 64 bits");
}

static tg_status assign_offsets(packing *s, tgi_buffer *buffers,
                                size_t n_buffers, int64_t base)
{
    tgi_ref now = 0;
    for (size_t i = 0; i < n_buffers; i++) {
        tgi_buffer *buffer = &buffers[i];
        buffer->offset = base;
        if (buffer->storage != TGI_STORAGE_TEMPORARY || buffer->bytes == 0)
            continue;
        for (; now < buffer->first; now++)
            for (uint32_t e = s->expiring[now]; e; e = s->next[e - 1])
                free_block(&s->pool, s->block[e - 1]);
        int64_t size = (buffer->bytes - 1) / TGI_BUFFER_ALIGN + 1;
        uint32_t b = allocate_block(&s->pool, size);
        if (!b || !tgi_checked_add(
                      base, s->pool.blocks[b].offset * TGI_BUFFER_ALIGN,
                      &buffer->offset))
            return fail_too_large();
        s->block[i] = b;
        s->next[i] = s->expiring[buffer->last];
        s->expiring[buffer->last] = (uint32_t)i + 1;
    }
    return TG_OK;
}

tg_status tgi_memory_pack(tgi_buffer *buffers, size_t n_buffers,
                          tgi_ref last_ref, int64_t base, int64_t *out_end)
{
    /* A buffer creates at most one new block. */
    packing s = {.pool = {.n_blocks = 1}};
    s.pool.blocks = tgi_alloc_zero((n_buffers + 1) * sizeof(block));
    s.block = tgi_alloc((n_buffers + 1) * sizeof(uint32_t));
    s.next = tgi_alloc((n_buffers + 1) * sizeof(uint32_t));
    s.expiring = tgi_alloc_zero(((size_t)last_ref + 1) * sizeof(uint32_t));
    tg_status status = s.pool.blocks && s.block && s.next && s.expiring
                           ? assign_offsets(&s, buffers, n_buffers, base)
                           : tgi_error_memory();
    if (status == TG_OK &&
        !tgi_checked_add(base, s.pool.size * TGI_BUFFER_ALIGN, out_end))
        status = fail_too_large();
    tgi_free(s.pool.blocks);
    tgi_free(s.block);
    tgi_free(s.next);
    tgi_free(s.expiring);
    return status;
}

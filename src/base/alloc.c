/* SPDX-License-Identifier: MIT */
/*
 * alloc.c - default and user allocators, the count of live bytes and fault
 * injection, all in allocate_counted and release_counted. On these build
 * blocks, which store their size in a header, and buffers, whose owners pass
 * it.
 */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"

/* Precedes every block; keeps the block aligned for any C type. */
typedef struct block_head {
    _Alignas(16) size_t bytes; /* of the block, without the header */
} block_head;

#define LARGE_PAGE ((size_t)2 << 20)

static void *default_allocate(size_t bytes, size_t align, void *user)
{
    (void)user;
    if (align <= _Alignof(max_align_t))
        return malloc(bytes); /* faster than posix_memalign */
    /* Faulting in a small page costs about as much as copying it, so large
       buffers request huge pages. Failure to get them is harmless. */
    const bool is_large = bytes >= 2 * LARGE_PAGE;
    void *memory = NULL;
    if (posix_memalign(&memory, is_large ? LARGE_PAGE : align, bytes) != 0)
        return NULL;
    if (is_large)
        madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

static void default_release(void *memory, size_t bytes, size_t align,
                            void *user)
{
    (void)bytes, (void)align, (void)user;
    free(memory);
}

static const tg_allocator default_allocator = {default_allocate,
                                               default_release, NULL};

/* Written only while nothing is allocated, hence without a lock. */
static tg_allocator allocator = {default_allocate, default_release, NULL};

static atomic_size_t live_bytes;

/* Fault injection. Allocations are counted only once it has been used. */
static atomic_bool is_counting;
static atomic_long n_requests;     /* since tgi_alloc_inject_failure */
static atomic_long fail_from = -1; /* the first request to fail, or -1 */
static atomic_bool fail_forever;

static bool must_fail(void)
{
    if (!atomic_load_explicit(&is_counting, memory_order_relaxed))
        return false;
    long n = atomic_fetch_add_explicit(&n_requests, 1, memory_order_relaxed);
    long from = atomic_load_explicit(&fail_from, memory_order_relaxed);
    if (from < 0 || n < from)
        return false;
    return n == from || atomic_load(&fail_forever);
}

static void *allocate_counted(size_t bytes, size_t align)
{
    if (must_fail() || bytes > PTRDIFF_MAX)
        return NULL;
    void *memory = allocator.allocate(bytes, align, allocator.user);
    if (memory)
        atomic_fetch_add_explicit(&live_bytes, bytes, memory_order_relaxed);
    return memory;
}

static void release_counted(void *memory, size_t bytes, size_t align)
{
    atomic_fetch_sub_explicit(&live_bytes, bytes, memory_order_relaxed);
    allocator.release(memory, bytes, align, allocator.user);
}

/* -- Blocks ---------------------------------------------------------------- */

static block_head *head_of(void *memory)
{
    return (block_head *)memory - 1;
}

void *tgi_alloc(size_t bytes)
{
    if (bytes > PTRDIFF_MAX)
        return NULL;
    block_head *head =
        allocate_counted(sizeof *head + bytes, _Alignof(block_head));
    if (!head)
        return NULL;
    head->bytes = bytes;
    return head + 1;
}

void *tgi_alloc_zero(size_t bytes)
{
    void *memory = tgi_alloc(bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

void *tgi_realloc(void *memory, size_t bytes)
{
    void *moved = tgi_alloc(bytes);
    if (!moved || !memory)
        return moved;
    size_t old_bytes = head_of(memory)->bytes;
    memcpy(moved, memory, old_bytes < bytes ? old_bytes : bytes);
    tgi_free(memory);
    return moved;
}

size_t tgi_block_bytes(const void *memory)
{
    const block_head *head = memory;
    return head ? sizeof *head + head[-1].bytes : 0;
}

void tgi_free(void *memory)
{
    if (memory)
        release_counted(head_of(memory), tgi_block_bytes(memory),
                        _Alignof(block_head));
}

char *tgi_strdup(const char *string)
{
    size_t bytes = strlen(string) + 1;
    char *copy = tgi_alloc(bytes);
    return copy ? memcpy(copy, string, bytes) : NULL;
}

/* -- Buffers --------------------------------------------------------------- */

/* Allocators may return NULL for a request of 0 bytes. */
static size_t at_least_one(size_t bytes)
{
    return bytes ? bytes : 1;
}

void *tgi_buffer_alloc(size_t bytes)
{
    return allocate_counted(at_least_one(bytes), TGI_BUFFER_ALIGN);
}

void tgi_buffer_free(void *buffer, size_t bytes)
{
    if (buffer)
        release_counted(buffer, at_least_one(bytes), TGI_BUFFER_ALIGN);
}

/* -- Settings -------------------------------------------------------------- */

long tgi_alloc_inject_failure(long nth, int forever)
{
    atomic_store(&is_counting, true);
    atomic_store(&fail_from, -1);
    const long n = atomic_exchange(&n_requests, 0);
    atomic_store(&fail_forever, forever != 0);
    atomic_store(&fail_from, nth < 0 ? -1 : nth);
    return n;
}

static tg_status set_allocator(const tg_allocator *wanted)
{
    if (!wanted)
        wanted = &default_allocator;
    if (!wanted->allocate || !wanted->release)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "the allocator lacks allocate or release; set both");
    if (tg_live_objects() != 0 || tg_live_bytes() != 0)
        TGI_FAIL(TG_ERROR_BUSY, TGI_NO_SITE,
                 "cannot change the allocator while %zu objects (%zu bytes) "
                 "are alive; release them first",
                 tg_live_objects(), tg_live_bytes());
    allocator = *wanted;
    return TG_OK;
}

tg_status tg_allocator_set(const tg_allocator *wanted)
{
    tgi_api_frame frame = tgi_api_enter(NULL, __func__);
    tg_status status = set_allocator(wanted);
    tgi_api_leave(frame);
    return status;
}

size_t tg_live_bytes(void)
{
    return atomic_load_explicit(&live_bytes, memory_order_relaxed);
}

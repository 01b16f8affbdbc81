/* SPDX-License-Identifier: MIT */
/*
 * alloc.c - the default allocator, the user's, the byte count and the faults
 * of tests, all behind two functions: take and give_back. What is built on
 * them are blocks, which carry their size in front of them, and buffers,
 * whose owners know it.
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

/* In front of every block; keeps what follows aligned for any C type. */
typedef struct block_head {
    _Alignas(16) size_t bytes; /* of the block without its head */
} block_head;

#define LARGE_PAGE ((size_t)2 << 20)

static void *default_allocate(size_t bytes, size_t align, void *user)
{
    (void)user;
    if (align <= _Alignof(max_align_t))
        return malloc(bytes); /* the quick one */
    /* A fresh page costs as much as moving its bytes does: large buffers ask
       for large pages, and take it as it comes if there are none. */
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

static atomic_bool is_watched; /* tgi_alloc_inject_failure was ever called */
static atomic_long n_asked;        /* since its last call */
static atomic_long fail_from = -1; /* the first to fail, or -1 */
static atomic_bool fail_forever;

static bool is_to_fail(void)
{
    if (!atomic_load_explicit(&is_watched, memory_order_relaxed))
        return false;
    long n = atomic_fetch_add_explicit(&n_asked, 1, memory_order_relaxed);
    long from = atomic_load_explicit(&fail_from, memory_order_relaxed);
    if (from < 0 || n < from)
        return false;
    return n == from || atomic_load(&fail_forever);
}

static void *take(size_t bytes, size_t align)
{
    if (is_to_fail() || bytes > PTRDIFF_MAX)
        return NULL;
    void *memory = allocator.allocate(bytes, align, allocator.user);
    if (memory)
        atomic_fetch_add_explicit(&live_bytes, bytes, memory_order_relaxed);
    return memory;
}

static void give_back(void *memory, size_t bytes, size_t align)
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
    block_head *head = take(sizeof *head + bytes, _Alignof(block_head));
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
        give_back(head_of(memory), tgi_block_bytes(memory),
                  _Alignof(block_head));
}

char *tgi_strdup(const char *string)
{
    size_t bytes = strlen(string) + 1;
    char *copy = tgi_alloc(bytes);
    return copy ? memcpy(copy, string, bytes) : NULL;
}

/* -- Buffers --------------------------------------------------------------- */

/* Allocators may answer NULL to a request of nothing. */
static size_t at_least_one(size_t bytes)
{
    return bytes ? bytes : 1;
}

void *tgi_buffer_alloc(size_t bytes)
{
    return take(at_least_one(bytes), TGI_BUFFER_ALIGN);
}

void tgi_buffer_free(void *buffer, size_t bytes)
{
    if (buffer)
        give_back(buffer, at_least_one(bytes), TGI_BUFFER_ALIGN);
}

/* -- Settings -------------------------------------------------------------- */

long tgi_alloc_inject_failure(long nth, int forever)
{
    atomic_store(&is_watched, true);
    atomic_store(&fail_from, -1);
    long asked = atomic_exchange(&n_asked, 0);
    atomic_store(&fail_forever, forever != 0);
    atomic_store(&fail_from, nth < 0 ? -1 : nth);
    return asked;
}

static tg_status set_allocator(const tg_allocator *wanted)
{
    if (!wanted)
        wanted = &default_allocator;
    if (!wanted->allocate || !wanted->release)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "an allocator needs both allocate and release");
    if (tg_live_objects() != 0 || tg_live_bytes() != 0)
        TGI_FAIL(TG_ERROR_BUSY, TGI_NO_SITE,
                 "the allocator cannot change while objects are alive: %zu, "
                 "with %zu bytes",
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

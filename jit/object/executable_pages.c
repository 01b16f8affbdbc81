/* SPDX-License-Identifier: MIT */
/*
 * executable_pages.c - pooled pages for machine code.
 *
 * Pages come in chunks of a megabyte (or more, for larger code). All pages of
 * a chunk are read-execute but those being filled: a chunk at rest, with any
 * pattern of used and free pages, is one mapping, and neighbouring chunks
 * merge in the kernel. So 10,000 images need a few mappings.
 *
 * Free pages therefore stay executable, but empty: their contents are given
 * back to the system, and a call of code that is gone finds zero bytes. They
 * become writable again when they are reused. A chunk without used pages is
 * unmapped.
 */
#include "object/executable_pages.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/at_fork.h"
#include "base/error.h"

enum { CHUNK_BYTES = 1 << 20 };

typedef struct chunk {
    struct chunk *next;
    unsigned char *memory;
    size_t n_pages, n_free;
    bool is_used[]; /* by page */
} chunk;

static chunk *chunks; /* guarded by `lock`, and so is all inside */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

TGI_LOCK_ACROSS_FORK(&lock, (void)0)

/* -- The system ------------------------------------------------------------ */

static atomic_long n_calls_allowed = -1; /* negative: all */

void tgi_pages_inject_failures(long n_calls)
{
    atomic_store(&n_calls_allowed, n_calls);
}

/* False, with errno set, if a test has the system refuse. */
static bool is_allowed(void)
{
    long n = atomic_load(&n_calls_allowed);
    while (n > 0)
        if (atomic_compare_exchange_weak(&n_calls_allowed, &n, n - 1))
            return true;
    errno = EACCES;
    return n < 0;
}

static tg_status refused(size_t bytes)
{
    const int reason = errno;
    char text[128];
    TGI_FAIL(reason == ENOMEM ? TG_ERROR_OUT_OF_MEMORY : TG_ERROR_UNSUPPORTED,
             TGI_NO_SITE, "cannot have %zu bytes of executable memory: %s",
             bytes, strerror_r(reason, text, sizeof(text)));
}

static tg_status protect(void *memory, size_t bytes, int protection)
{
    if (!is_allowed() || mprotect(memory, bytes, protection) != 0)
        return refused(bytes);
    return TG_OK;
}

size_t tgi_pages_page_bytes(void)
{
    static atomic_size_t unit;
    size_t bytes = atomic_load_explicit(&unit, memory_order_relaxed);
    if (bytes == 0) {
        bytes = (size_t)sysconf(_SC_PAGESIZE);
        atomic_store_explicit(&unit, bytes, memory_order_relaxed);
    }
    return bytes;
}

static size_t pages_of(size_t bytes)
{
    return bytes / tgi_pages_page_bytes() +
           (bytes % tgi_pages_page_bytes() != 0);
}

size_t tgi_pages_round_up(size_t bytes)
{
    return pages_of(bytes) * tgi_pages_page_bytes();
}

/* -- Chunks ---------------------------------------------------------------- */

/*
 * Without a reservation, for the sake of merging: the kernel would mark the
 * pages that were ever writable as reserved, and does not merge mappings
 * which differ in that; nor will those be merged that are not ours.
 */
static tg_status chunk_map(chunk *c)
{
    const size_t bytes = c->n_pages * tgi_pages_page_bytes();
    if (!is_allowed())
        return refused(bytes);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return refused(bytes);
    c->memory = memory;
    return TG_OK;
}

static tg_status chunk_create(size_t n_pages, chunk **out_chunk)
{
    if (n_pages < pages_of(CHUNK_BYTES))
        n_pages = pages_of(CHUNK_BYTES);
    chunk *c = tgi_alloc_zero(sizeof(*c) + n_pages * sizeof(c->is_used[0]));
    if (!c)
        return tgi_error_memory();
    c->n_pages = c->n_free = n_pages;
    tg_status status = chunk_map(c);
    if (status != TG_OK)
        tgi_free(c);
    else
        *out_chunk = c;
    return status;
}

/* First of `n_pages` free pages in a row; the chunk's n_pages if none are. */
static size_t chunk_find(const chunk *c, size_t n_pages)
{
    if (c->n_free < n_pages)
        return c->n_pages;
    size_t n_found = 0;
    for (size_t i = 0; i < c->n_pages; i++) {
        n_found = c->is_used[i] ? 0 : n_found + 1;
        if (n_found == n_pages)
            return i + 1 - n_pages;
    }
    return c->n_pages;
}

static void chunk_mark(chunk *c, size_t first, size_t n_pages, bool is_used)
{
    for (size_t i = first; i < first + n_pages; i++) {
        assert(c->is_used[i] != is_used);
        c->is_used[i] = is_used;
    }
    c->n_free += is_used ? -n_pages : n_pages;
}

/* Marks pages as used; they stay as they are. Under the lock. */
static tg_status take(size_t n_pages, void **out_memory)
{
    chunk *c = chunks;
    size_t first = 0;
    while (c && (first = chunk_find(c, n_pages)) == c->n_pages)
        c = c->next;
    if (!c) {
        TGI_TRY(chunk_create(n_pages, &c));
        c->next = chunks;
        chunks = c;
        first = 0;
    }
    chunk_mark(c, first, n_pages, true);
    *out_memory = c->memory + first * tgi_pages_page_bytes();
    return TG_OK;
}

static bool chunk_has(const chunk *c, const void *memory)
{
    const uintptr_t at = (uintptr_t)memory, begin = (uintptr_t)c->memory;
    return at >= begin && at - begin < c->n_pages * tgi_pages_page_bytes();
}

/* The opposite of take. Under the lock. */
static void give_back(void *memory, size_t n_pages)
{
    chunk **link = &chunks;
    while (!chunk_has(*link, memory))
        link = &(*link)->next;
    chunk *c = *link;
    const size_t at = (size_t)((unsigned char *)memory - c->memory);
    chunk_mark(c, at / tgi_pages_page_bytes(), n_pages, false);

    /* Unmapping the middle of a merged mapping makes two: where the kernel
       has no more of them, the chunk stays and waits for new code. */
    if (c->n_free == c->n_pages &&
        munmap(c->memory, c->n_pages * tgi_pages_page_bytes()) == 0) {
        *link = c->next;
        tgi_free(c);
    }
}

/* -- Pages ----------------------------------------------------------------- */

tg_status tgi_pages_alloc(size_t bytes, void **out_memory)
{

    assert(bytes > 0);
    *out_memory = NULL;
    const size_t n_pages = pages_of(bytes);
    void *memory = NULL;
    pthread_mutex_lock(&lock);
    tg_status status = take(n_pages, &memory);
    pthread_mutex_unlock(&lock);
    TGI_TRY(status);

    status = protect(memory, n_pages * tgi_pages_page_bytes(),
                     PROT_READ | PROT_WRITE);
    if (status != TG_OK) {
        tgi_pages_free(memory, bytes);
        return status;
    }
    memset(memory, 0, n_pages * tgi_pages_page_bytes());
    *out_memory = memory;
    return TG_OK;
}

tg_status tgi_pages_seal(void *memory, size_t bytes)
{
    TGI_TRY(protect(memory, pages_of(bytes) * tgi_pages_page_bytes(),
                    PROT_READ | PROT_EXEC));
    __builtin___clear_cache(memory, (char *)memory + bytes);
    return TG_OK;
}

void tgi_pages_free(void *memory, size_t bytes)
{
    const size_t n_pages = pages_of(bytes);
    /* For pages that were never sealed. If it fails they are a mapping of
       their own until they are used again. */
    (void)mprotect(memory, n_pages * tgi_pages_page_bytes(),
                   PROT_READ | PROT_EXEC);
    /* Locked memory cannot be given back: it is cleared on its next use. */
    (void)madvise(memory, n_pages * tgi_pages_page_bytes(), MADV_DONTNEED);
    pthread_mutex_lock(&lock);
    give_back(memory, n_pages);
    pthread_mutex_unlock(&lock);
}

size_t tgi_pages_used(void)
{
    size_t n_pages = 0;
    pthread_mutex_lock(&lock);
    for (const chunk *c = chunks; c; c = c->next)
        n_pages += c->n_pages - c->n_free;
    pthread_mutex_unlock(&lock);
    return n_pages * tgi_pages_page_bytes();
}

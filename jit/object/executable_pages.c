/* SPDX-License-Identifier: MIT */
/*
 * executable_pages.c - see executable_pages.h.
 *
 * Pages are allocated in chunks of 1 MiB, or more for larger code. All pages of
 * a chunk are read-execute, except those being filled. A chunk is therefore one
 * mapping, whatever its pattern of used and free pages, and the kernel merges
 * adjacent chunks: 10,000 images need a few mappings.
 *
 * Free pages stay executable, but their contents are returned to the system: a
 * call of freed code executes zero bytes. They become writable when they are
 * reused. A chunk without used pages is unmapped.
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

static chunk *chunks; /* guarded by `lock`, with their contents */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

TGI_LOCK_ACROSS_FORK(&lock, (void)0)

/* -- System calls ---------------------------------------------------------- */

static atomic_long n_calls_allowed = -1; /* negative: all */

void tgi_pages_inject_failures(long n_calls)
{
    atomic_store(&n_calls_allowed, n_calls);
}

/* False, with errno set, if a test injects a failure. */
static bool is_call_allowed(void)
{
    long n = atomic_load(&n_calls_allowed);
    while (n > 0)
        if (atomic_compare_exchange_weak(&n_calls_allowed, &n, n - 1))
            return true;
    errno = EACCES;
    return n < 0;
}

/* Whatever the reason, also ENOMEM: without pages the interpreter can run. */
static tg_status fail_pages(size_t bytes)
{
    const int reason = errno;
    char text[128];
    TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
             "cannot allocate %zu bytes of executable memory: %s", bytes,
             strerror_r(reason, text, sizeof(text)));
}

static tg_status protect_pages(void *memory, size_t bytes, int protection)
{
    if (!is_call_allowed() || mprotect(memory, bytes, protection) != 0)
        return fail_pages(bytes);
    return TG_OK;
}

size_t tgi_pages_page_bytes(void)
{
    static atomic_size_t cached;
    size_t bytes = atomic_load_explicit(&cached, memory_order_relaxed);
    if (bytes == 0) {
        bytes = (size_t)sysconf(_SC_PAGESIZE);
        atomic_store_explicit(&cached, bytes, memory_order_relaxed);
    }
    return bytes;
}

static size_t count_pages(size_t bytes)
{
    return bytes / tgi_pages_page_bytes() +
           (bytes % tgi_pages_page_bytes() != 0);
}

size_t tgi_pages_round_up(size_t bytes)
{
    return count_pages(bytes) * tgi_pages_page_bytes();
}

/* -- Chunks ---------------------------------------------------------------- */

/*
 * MAP_NORESERVE makes mappings mergeable: else the kernel would account pages
 * that have ever been writable, and it does not merge mappings that differ in
 * that. It also keeps them apart from mappings of others.
 */
static tg_status chunk_map(chunk *c)
{
    const size_t bytes = c->n_pages * tgi_pages_page_bytes();
    if (!is_call_allowed())
        return fail_pages(bytes);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return fail_pages(bytes);
    c->memory = memory;
    return TG_OK;
}

static tg_status chunk_create(size_t n_pages, chunk **out_chunk)
{
    if (n_pages < count_pages(CHUNK_BYTES))
        n_pages = count_pages(CHUNK_BYTES);
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

/* The first of n_pages consecutive free pages; c->n_pages if there are none. */
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

/* Finds free pages and marks them as used; their protection does not change.
   Lock held. */
static tg_status reserve_pages(size_t n_pages, void **out_memory)
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

/* The inverse of reserve_pages. Lock held. */
static void release_pages(void *memory, size_t n_pages)
{
    chunk **link = &chunks;
    while (!chunk_has(*link, memory))
        link = &(*link)->next;
    chunk *c = *link;
    const size_t at = (size_t)((unsigned char *)memory - c->memory);
    chunk_mark(c, at / tgi_pages_page_bytes(), n_pages, false);

    /* Unmapping the middle of a merged mapping splits it, which fails at the
       limit of mappings. Then the chunk stays, for new code. */
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
    const size_t n_pages = count_pages(bytes);
    void *memory = NULL;
    pthread_mutex_lock(&lock);
    tg_status status = reserve_pages(n_pages, &memory);
    pthread_mutex_unlock(&lock);
    TGI_TRY(status);

    status = protect_pages(memory, n_pages * tgi_pages_page_bytes(),
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
    TGI_TRY(protect_pages(memory, count_pages(bytes) * tgi_pages_page_bytes(),
                          PROT_READ | PROT_EXEC));
    __builtin___clear_cache(memory, (char *)memory + bytes);
    return TG_OK;
}

void tgi_pages_free(void *memory, size_t bytes)
{
    const size_t n_pages = count_pages(bytes);
    /* For pages that were never sealed. If it fails, they remain a separate
       mapping until they are reused. */
    (void)mprotect(memory, n_pages * tgi_pages_page_bytes(),
                   PROT_READ | PROT_EXEC);
    /* Fails for locked memory, which is cleared when it is reused. */
    (void)madvise(memory, n_pages * tgi_pages_page_bytes(), MADV_DONTNEED);
    pthread_mutex_lock(&lock);
    release_pages(memory, n_pages);
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

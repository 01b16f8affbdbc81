/* SPDX-License-Identifier: MIT */
/*
 * code_cache.c - see code_cache.h.
 *
 * One lock guards all; it is not held while code is made, as that takes long
 * and calls user code (logs). An entry without code is being made: who needs
 * it too, waits. Not so who is called by a thread that makes something: it
 * might wait for itself, and makes its own.
 */
#include "cache/code_cache.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/at_fork.h"
#include "base/error.h"
#include "base/hash.h"
#include "cache/code.h"

#define DEFAULT_LIMIT ((size_t)64 << 20)

typedef struct entry {
    struct entry *next;
    tgi_code *code; /* NULL: being made */
    uint64_t hash;
    uint64_t last_use;
    size_t key_bytes;
    char key[];
} entry;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t made;
    unsigned n_contexts;
    entry *entries;
    size_t limit;
    uint64_t tick;
    tg_code_counters counts;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .made = PTHREAD_COND_INITIALIZER,
           .limit = DEFAULT_LIMIT};

/* Codes that this thread is making. */
static _Thread_local int n_making;

/* -- Entries, with the lock held ------------------------------------------- */

static size_t bytes_of(const entry *e)
{
    return tgi_block_bytes(e) + (e->code ? tgi_code_bytes(e->code) : 0);
}

static entry *find(const void *key, size_t key_bytes, uint64_t hash)
{
    entry *e = cache.entries;
    while (e && (e->hash != hash || e->key_bytes != key_bytes ||
                 memcmp(e->key, key, key_bytes) != 0))
        e = e->next;
    return e;
}

/* Takes an entry out. What leaves is freed when the lock is not held, as that
   of code pages is taken then (at_fork.h). */
static void drop(entry *e, entry **gone)
{
    entry **link = &cache.entries;
    while (*link != e)
        link = &(*link)->next;
    *link = e->next;
    if (e->code) {
        cache.counts.entries--;
        cache.counts.bytes -= bytes_of(e);
    }
    e->next = *gone;
    *gone = e;
}

static void trim(size_t limit, entry **gone)
{
    while (cache.counts.bytes > limit) {
        entry *oldest = NULL;
        for (entry *e = cache.entries; e; e = e->next)
            if (e->code && (!oldest || e->last_use < oldest->last_use))
                oldest = e;
        drop(oldest, gone);
        cache.counts.evictions++;
    }
}

static void free_all(entry *gone)
{
    while (gone) {
        entry *next = gone->next;
        tgi_code_release(gone->code);
        tgi_free(gone);
        gone = next;
    }
}

/* Ends what began with taking the lock. */
static void unlock(entry *gone)
{
    pthread_mutex_unlock(&cache.lock);
    free_all(gone);
}

static bool begin(const void *key, size_t key_bytes, uint64_t hash)
{
    entry *e = tgi_alloc(sizeof(*e) + key_bytes);
    if (!e)
        return false;
    *e = (entry){
        .next = cache.entries, .hash = hash, .key_bytes = key_bytes};
    memcpy(e->key, key, key_bytes);
    cache.entries = e;
    return true;
}

/* -- Forks ----------------------------------------------------------------- */

/* Those who make code, or wait for it, are not in the child. */
static void forget_makers(void)
{
    entry *gone = NULL;
    for (entry *e = cache.entries, *next; e; e = next) {
        next = e->next;
        if (!e->code)
            drop(e, &gone);
    }
    pthread_cond_init(&cache.made, NULL);
    free_all(gone);
}

TGI_LOCK_ACROSS_FORK(&cache.lock, forget_makers())

/* -- Getting --------------------------------------------------------------- */

static tg_status make_unlocked(tgi_code_build_fn *make, void *user,
                               tgi_code **out_code)
{
    pthread_mutex_unlock(&cache.lock);
    n_making++;
    tg_status status = make(user, out_code);
    n_making--;
    pthread_mutex_lock(&cache.lock);
    if (status || *out_code) /* else it was only looked for */
        cache.counts.misses++;
    return status;
}

/*
 * Makes code for the new entry of this key; others wait for it. A log that
 * forks comes back in the child too, where the entry is gone, and perhaps
 * made again.
 */
static tg_status make_entry(const void *key, size_t key_bytes, uint64_t hash,
                            tgi_code_build_fn *make, void *user,
                            tgi_code **out_code, entry **gone)
{
    tg_status status = make_unlocked(make, user, out_code);
    entry *e = find(key, key_bytes, hash);
    if (!e || e->code)
        return status;
    if (status || !*out_code || cache.n_contexts == 0) {
        drop(e, gone);
    } else {
        e->code = tgi_code_retain(*out_code);
        e->last_use = ++cache.tick;
        cache.counts.entries++;
        cache.counts.bytes += bytes_of(e);
        trim(cache.limit, gone);
    }
    pthread_cond_broadcast(&cache.made);
    return status;
}

static tg_status get(const void *key, size_t key_bytes, bool waits,
                     tgi_code_build_fn *make, void *user, tgi_code **out_code,
                     entry **gone)
{
    const uint64_t hash = tgi_hash(key, key_bytes, 0);
    entry *e;
    while ((e = find(key, key_bytes, hash)) && !e->code && !n_making &&
           waits)
        pthread_cond_wait(&cache.made, &cache.lock);
    if (e && e->code) {
        cache.counts.hits++;
        e->last_use = ++cache.tick;
        *out_code = tgi_code_retain(e->code);
        return TG_OK;
    }
    if (e && !waits)
        return TG_OK;
    if (e || !cache.limit)
        return make_unlocked(make, user, out_code);
    if (!begin(key, key_bytes, hash))
        return tgi_error_memory();
    return make_entry(key, key_bytes, hash, make, user, out_code, gone);
}

tg_status tgi_code_cache_get(const void *key, size_t key_bytes, bool waits,
                             tgi_code_build_fn *make, void *user,
                             tgi_code **out_code)
{
    *out_code = NULL;
    entry *gone = NULL;
    pthread_mutex_lock(&cache.lock);
    tg_status status =
        get(key, key_bytes, waits, make, user, out_code, &gone);
    unlock(gone);
    return status;
}

/* -- The whole ------------------------------------------------------------- */

void tgi_code_cache_open(void)
{
    pthread_mutex_lock(&cache.lock);
    cache.n_contexts++;
    pthread_mutex_unlock(&cache.lock);
}

void tgi_code_cache_close(void)
{
    entry *gone = NULL;
    pthread_mutex_lock(&cache.lock);
    if (--cache.n_contexts == 0)
        trim(0, &gone);
    unlock(gone);
}

void tgi_code_cache_set_limit(size_t bytes)
{
    entry *gone = NULL;
    pthread_mutex_lock(&cache.lock);
    cache.limit = bytes;
    trim(bytes, &gone);
    unlock(gone);
}

void tgi_code_cache_clear(void)
{
    entry *gone = NULL;
    pthread_mutex_lock(&cache.lock);
    trim(0, &gone);
    unlock(gone);
}

void tgi_code_cache_counters(tg_code_counters *out_counts)
{
    pthread_mutex_lock(&cache.lock);
    *out_counts = cache.counts;
    pthread_mutex_unlock(&cache.lock);
}

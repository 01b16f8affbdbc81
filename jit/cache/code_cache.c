/* SPDX-License-Identifier: MIT */
/*
 * code_cache.c - see code_cache.h.
 *
 * One lock guards everything. It is not held while code is built, which takes
 * long and calls user code (logs). An entry without code is being built; other
 * threads wait for it. A call made by a log callback during a build does not
 * wait, because it might wait for itself: it builds its own code.
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
    tgi_code *code; /* NULL: being built */
    uint64_t hash;
    uint64_t last_use;
    size_t key_bytes;
    char key[];
} entry;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t built;
    unsigned n_contexts;
    entry *entries;
    size_t limit;
    uint64_t tick;
    tg_code_counters counts;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .built = PTHREAD_COND_INITIALIZER,
           .limit = DEFAULT_LIMIT};

/* Builds under way on this thread. */
static _Thread_local int n_building;

/* -- Entries, with the lock held ------------------------------------------- */

static size_t entry_bytes(const entry *e)
{
    return tgi_block_bytes(e) + (e->code ? tgi_code_bytes(e->code) : 0);
}

static entry *find_entry(const void *key, size_t key_bytes, uint64_t hash)
{
    entry *e = cache.entries;
    while (e && (e->hash != hash || e->key_bytes != key_bytes ||
                 memcmp(e->key, key, key_bytes) != 0))
        e = e->next;
    return e;
}

/* Moves an entry to the list `removed`, which is freed after the lock has been
   released: freeing takes the lock of code pages, and no two of these locks
   may nest (at_fork.h). */
static void remove_entry(entry *e, entry **removed)
{
    entry **link = &cache.entries;
    while (*link != e)
        link = &(*link)->next;
    *link = e->next;
    if (e->code) {
        cache.counts.entries--;
        cache.counts.bytes -= entry_bytes(e);
    }
    e->next = *removed;
    *removed = e;
}

static void evict_above(size_t limit, entry **removed)
{
    while (cache.counts.bytes > limit) {
        entry *oldest = NULL;
        for (entry *e = cache.entries; e; e = e->next)
            if (e->code && (!oldest || e->last_use < oldest->last_use))
                oldest = e;
        remove_entry(oldest, removed);
        cache.counts.evictions++;
    }
}

static void free_entries(entry *removed)
{
    while (removed) {
        entry *next = removed->next;
        tgi_code_release(removed->code);
        tgi_free(removed);
        removed = next;
    }
}

static void unlock_and_free(entry *removed)
{
    pthread_mutex_unlock(&cache.lock);
    free_entries(removed);
}

/* Adds an entry without code; false when out of memory. */
static bool add_entry(const void *key, size_t key_bytes, uint64_t hash)
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

/* The threads that build code are not in the child: removes their entries. */
static void reset_in_child(void)
{
    entry *removed = NULL;
    for (entry *e = cache.entries, *next; e; e = next) {
        next = e->next;
        if (!e->code)
            remove_entry(e, &removed);
    }
    pthread_cond_init(&cache.built, NULL);
    free_entries(removed);
}

TGI_LOCK_ACROSS_FORK(&cache.lock, reset_in_child())

/* -- Lookup ---------------------------------------------------------------- */

static tg_status build_unlocked(tgi_code_build_fn *build, void *user,
                                tgi_code **out_code)
{
    pthread_mutex_unlock(&cache.lock);
    n_building++;
    tg_status status = build(user, out_code);
    n_building--;
    pthread_mutex_lock(&cache.lock);
    if (status || *out_code) /* else only the disk cache was searched */
        cache.counts.misses++;
    return status;
}

/*
 * Builds the code of the entry just added; other threads wait for it. If a log
 * callback forks, this also returns in the child, where the entry has been
 * removed and perhaps added again.
 */
static tg_status build_entry(const void *key, size_t key_bytes, uint64_t hash,
                             tgi_code_build_fn *build, void *user,
                             tgi_code **out_code, entry **removed)
{
    tg_status status = build_unlocked(build, user, out_code);
    entry *e = find_entry(key, key_bytes, hash);
    if (!e || e->code)
        return status;
    if (status || !*out_code || cache.n_contexts == 0) {
        remove_entry(e, removed);
    } else {
        e->code = tgi_code_retain(*out_code);
        e->last_use = ++cache.tick;
        cache.counts.entries++;
        cache.counts.bytes += entry_bytes(e);
        evict_above(cache.limit, removed);
    }
    pthread_cond_broadcast(&cache.built);
    return status;
}

static tg_status get_locked(const void *key, size_t key_bytes, bool waits,
                            tgi_code_build_fn *build, void *user,
                            tgi_code **out_code, entry **removed)
{
    const uint64_t hash = tgi_hash(key, key_bytes, 0);
    entry *e;
    while ((e = find_entry(key, key_bytes, hash)) && !e->code && !n_building &&
           waits)
        pthread_cond_wait(&cache.built, &cache.lock);
    if (e && e->code) {
        cache.counts.hits++;
        e->last_use = ++cache.tick;
        *out_code = tgi_code_retain(e->code);
        return TG_OK;
    }
    if (e && !waits)
        return TG_OK;
    if (e || !cache.limit)
        return build_unlocked(build, user, out_code);
    if (!add_entry(key, key_bytes, hash))
        return tgi_error_memory();
    return build_entry(key, key_bytes, hash, build, user, out_code, removed);
}

tg_status tgi_code_cache_get(const void *key, size_t key_bytes, bool waits,
                             tgi_code_build_fn *build, void *user,
                             tgi_code **out_code)
{
    *out_code = NULL;
    entry *removed = NULL;
    pthread_mutex_lock(&cache.lock);
    tg_status status =
        get_locked(key, key_bytes, waits, build, user, out_code, &removed);
    unlock_and_free(removed);
    return status;
}

/* -- The cache as a whole -------------------------------------------------- */

void tgi_code_cache_open(void)
{
    pthread_mutex_lock(&cache.lock);
    cache.n_contexts++;
    pthread_mutex_unlock(&cache.lock);
}

void tgi_code_cache_close(void)
{
    entry *removed = NULL;
    pthread_mutex_lock(&cache.lock);
    if (--cache.n_contexts == 0)
        evict_above(0, &removed);
    unlock_and_free(removed);
}

void tgi_code_cache_set_limit(size_t bytes)
{
    entry *removed = NULL;
    pthread_mutex_lock(&cache.lock);
    cache.limit = bytes;
    evict_above(bytes, &removed);
    unlock_and_free(removed);
}

void tgi_code_cache_clear(void)
{
    entry *removed = NULL;
    pthread_mutex_lock(&cache.lock);
    evict_above(0, &removed);
    unlock_and_free(removed);
}

void tgi_code_cache_count_timed(uint64_t n_schedules)
{
    pthread_mutex_lock(&cache.lock);
    cache.counts.timed_schedules += n_schedules;
    pthread_mutex_unlock(&cache.lock);
}

void tgi_code_cache_counters(tg_code_counters *out_counts)
{
    pthread_mutex_lock(&cache.lock);
    *out_counts = cache.counts;
    pthread_mutex_unlock(&cache.lock);
}

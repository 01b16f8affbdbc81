/* SPDX-License-Identifier: MIT */
/*
 * disk_cache.c - the open caches of a process; load and save.
 *
 * A load is an open and a read: no index is kept in memory, so that entries of
 * other processes are visible at once, and a process with hits only never lists
 * the directory. A writing process scans the directory on its first save and
 * every SAVES_PER_SCAN saves, to remove files of dead writers and to learn the
 * total size. Between scans, several processes together may exceed the limit.
 */
#include "cache/disk_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/at_fork.h"
#include "base/error.h"
#include "base/live.h"
#include "cache/disk_cache_dir.h"
#include "cache/disk_cache_evict.h"

enum {
    SAVES_PER_SCAN = 64,
    /* The time of last use has this resolution, so that a frequently used entry
       is not written on each use. */
    LAST_USE_SECONDS = 3600
};

struct tgi_disk_cache {
    tgi_disk_cache *next; /* `next` and `refs` are guarded by `lock` */
    size_t refs;
    int dir;
    dev_t device;
    ino_t inode;
    tgi_disk_cache_mode mode;
    uint64_t max_bytes;
    char *path; /* for messages */

    atomic_bool has_warned;
    atomic_ulong n_save_attempts;
    _Atomic uint64_t bytes; /* of all entries, approximately */
    _Atomic uint64_t hits, misses, saves, evictions, bad;
};

/* -- Open caches of this process ------------------------------------------- */

static tgi_disk_cache *caches;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

TGI_LOCK_ACROSS_FORK(&lock, (void)0)

/* Lock held. */
static tgi_disk_cache *find_open_cache(const struct stat *s,
                                       tgi_disk_cache_mode mode,
                                       uint64_t max_bytes)
{
    tgi_disk_cache *cache = caches;
    while (cache && (cache->device != s->st_dev || cache->inode != s->st_ino ||
                     cache->mode != mode || cache->max_bytes != max_bytes))
        cache = cache->next;
    return cache;
}

/* Adds a cache to the list; NULL when out of memory. Lock held. */
static tgi_disk_cache *add_cache(const char *path, int dir,
                                 const struct stat *s, tgi_disk_cache_mode mode,
                                 uint64_t max_bytes)
{
    tgi_disk_cache *cache = tgi_alloc_zero(sizeof(*cache));
    char *path_copy = tgi_strdup(path);
    if (!cache || !path_copy) {
        tgi_free(cache);
        tgi_free(path_copy);
        return NULL;
    }
    cache->dir = dir;
    cache->device = s->st_dev;
    cache->inode = s->st_ino;
    cache->mode = mode;
    cache->max_bytes = max_bytes;
    cache->path = path_copy;
    cache->next = caches;
    caches = cache;
    tgi_live_add(TGI_LIVE_DISK_CACHE, 1);
    return cache;
}

tg_status tgi_disk_cache_open(const char *path, tgi_disk_cache_mode mode,
                              uint64_t max_bytes, tgi_disk_cache **out_cache)
{
    int dir;
    struct stat s;
    *out_cache = NULL;
    if (mode == TGI_DISK_CACHE_OFF)
        return TG_OK;
    TGI_TRY(tgi_disk_cache_dir_open(path, mode == TGI_DISK_CACHE_READ_WRITE,
                                    &dir, &s));
    if (dir < 0)
        return TG_OK;
    pthread_mutex_lock(&lock);
    tgi_disk_cache *cache = find_open_cache(&s, mode, max_bytes);
    const bool is_new = !cache;
    if (is_new)
        cache = add_cache(path, dir, &s, mode, max_bytes);
    if (cache)
        cache->refs++;
    pthread_mutex_unlock(&lock);
    if (!is_new || !cache)
        close(dir);
    *out_cache = cache;
    return cache ? TG_OK : tgi_error_memory();
}

void tgi_disk_cache_release(tgi_disk_cache *cache)
{
    if (!cache)
        return;
    pthread_mutex_lock(&lock);
    const bool is_last = --cache->refs == 0;
    tgi_disk_cache **link = &caches;
    while (is_last && *link != cache)
        link = &(*link)->next;
    if (is_last)
        *link = cache->next;
    pthread_mutex_unlock(&lock);
    if (!is_last)
        return;
    close(cache->dir);
    tgi_free(cache->path);
    tgi_free(cache);
    tgi_live_add(TGI_LIVE_DISK_CACHE, -1);
}

/* -- Errors and counters --------------------------------------------------- */

static void add_to_counter(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* Logs an I/O error; out of memory is reported elsewhere. */
static void log_error(tgi_disk_cache *cache, const tgi_log *log,
                      const char *action, int reason)
{
    char text[128];
    if (reason == ENOMEM)
        return;
    const bool is_first = !atomic_exchange(&cache->has_warned, true);
    tgi_log_write(log, is_first ? TG_LOG_WARN : TG_LOG_DEBUG, TGI_LOG_CACHE,
                  "%s: cannot %s an entry: %s", cache->path, action,
                  strerror_r(reason, text, sizeof(text)));
}

static uint64_t value_of(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void tgi_disk_cache_counters(const tgi_disk_cache *cache,
                             tg_cache_counters *out_counts)
{
    *out_counts = (tg_cache_counters){.struct_bytes = sizeof(*out_counts)};
    if (!cache)
        return;
    out_counts->hits = value_of(&cache->hits);
    out_counts->misses = value_of(&cache->misses);
    out_counts->saves = value_of(&cache->saves);
    out_counts->evictions = value_of(&cache->evictions);
    out_counts->bad = value_of(&cache->bad);
}

/* -- Load ------------------------------------------------------------------ */

/* Updates the time of last use if it is old, or in the future because of a
   wrong clock. Errors are ignored. */
static void update_last_use(const tgi_disk_cache *cache, const char *name,
                            const tgi_cache_entry *entry)
{
    const int64_t age = (int64_t)time(NULL) - entry->last_use;
    if (cache->mode == TGI_DISK_CACHE_READ_WRITE &&
        (age > LAST_USE_SECONDS || age < -LAST_USE_SECONDS))
        (void)utimensat(cache->dir, name, NULL, AT_SYMLINK_NOFOLLOW);
}

/* As tgi_cache_entry_read, but an entry of another key with the same hash is
   OTHER_VERSION. */
static tgi_cache_entry_state read_entry(const tgi_disk_cache *cache,
                                        const char *name, tgi_byte_span key,
                                        tgi_cache_entry *out_entry)
{
    tgi_cache_entry_state state =
        tgi_cache_entry_read(cache->dir, name, out_entry);
    if (state == TGI_CACHE_ENTRY_VALID &&
        (out_entry->key.n != key.n ||
         (key.n && memcmp(out_entry->key.data, key.data, key.n) != 0))) {
        tgi_free(out_entry->file);
        state = TGI_CACHE_ENTRY_OTHER_VERSION;
    }
    return state;
}

/* Counts a hit and turns the file into the value, which the caller frees. */
static void *take_value(tgi_disk_cache *cache, const char *name,
                        const tgi_cache_entry *entry, size_t *out_bytes)
{
    update_last_use(cache, name, entry);
    add_to_counter(&cache->hits, 1);
    *out_bytes = entry->value.n;
    return memmove(entry->file, entry->value.data, entry->value.n);
}

/* Logs a bad entry; deletes it if damaged, so that it is read only once. */
static void reject_entry(tgi_disk_cache *cache, const char *name,
                         bool is_damaged, const tgi_log *log)
{
    add_to_counter(&cache->bad, 1);
    tgi_log_write(
        log, TG_LOG_INFO, TGI_LOG_CACHE, "%s/%s is %s", cache->path, name,
        is_damaged ? "damaged"
                   : "not a regular file that only this user may write");
    if (is_damaged && cache->mode == TGI_DISK_CACHE_READ_WRITE)
        (void)unlinkat(cache->dir, name, 0);
}

void *tgi_disk_cache_load(tgi_disk_cache *cache, tgi_byte_span key,
                          const tgi_log *log, size_t *out_bytes)
{
    *out_bytes = 0;
    if (!cache)
        return NULL;
    char name[TGI_CACHE_ENTRY_NAME_BYTES];
    tgi_cache_entry_name(key, name);
    tgi_cache_entry entry;
    switch (read_entry(cache, name, key, &entry)) {
    case TGI_CACHE_ENTRY_VALID:
        return take_value(cache, name, &entry, out_bytes);
    case TGI_CACHE_ENTRY_MISSING:
    case TGI_CACHE_ENTRY_OTHER_VERSION:
        break;
    case TGI_CACHE_ENTRY_DAMAGED:
        reject_entry(cache, name, true, log);
        break;
    case TGI_CACHE_ENTRY_UNTRUSTED:
        reject_entry(cache, name, false, log);
        break;
    case TGI_CACHE_ENTRY_IO_ERROR:
        log_error(cache, log, "read", errno);
        break;
    }
    add_to_counter(&cache->misses, 1);
    return NULL;
}

void *tgi_disk_cache_probe(tgi_disk_cache *cache, tgi_byte_span key,
                           size_t *out_bytes)
{
    *out_bytes = 0;
    if (!cache)
        return NULL;
    char name[TGI_CACHE_ENTRY_NAME_BYTES];
    tgi_cache_entry_name(key, name);
    tgi_cache_entry entry;
    return read_entry(cache, name, key, &entry) == TGI_CACHE_ENTRY_VALID
               ? take_value(cache, name, &entry, out_bytes)
               : NULL;
}

/* -- Save ------------------------------------------------------------------ */

/* Scans the directory, removes temporary files of dead writers, evicts. */
static void clean_up(tgi_disk_cache *cache)
{
    tgi_disk_cache_scan scan;
    if (tgi_disk_cache_scan_init(&scan, cache->dir) != 0)
        return;
    tgi_disk_cache_scan_sweep(&scan, cache->dir);
    add_to_counter(&cache->evictions, tgi_disk_cache_scan_evict(
                                          &scan, cache->dir, cache->max_bytes));
    atomic_store(&cache->bytes, scan.bytes);
    tgi_disk_cache_scan_deinit(&scan);
}

bool tgi_disk_cache_save(tgi_disk_cache *cache, tgi_byte_span key,
                         tgi_byte_span value, const tgi_log *log)
{
    if (!cache || cache->mode != TGI_DISK_CACHE_READ_WRITE)
        return false;
    const uint64_t bytes = tgi_cache_entry_bytes(key, value);
    if (bytes > cache->max_bytes) {
        tgi_log_write(log, TG_LOG_DEBUG, TGI_LOG_CACHE,
                      "%s: an entry of %llu bytes exceeds the limit of %llu",
                      cache->path, (unsigned long long)bytes,
                      (unsigned long long)cache->max_bytes);
        return false;
    }
    char name[TGI_CACHE_ENTRY_NAME_BYTES];
    tgi_cache_entry_name(key, name);
    const int reason = tgi_cache_entry_write(cache->dir, name, key, value);
    /* ENOENT: another process took the writer for dead and removed the file. */
    if (reason && reason != ENOENT)
        log_error(cache, log, "write", reason);
    if (!reason)
        add_to_counter(&cache->saves, 1);
    /* Also after a failure: files of dead writers may fill the disk. */
    const uint64_t total = atomic_fetch_add(&cache->bytes, reason ? 0 : bytes);
    if (atomic_fetch_add(&cache->n_save_attempts, 1) % SAVES_PER_SCAN == 0 ||
        (!reason && total + bytes > cache->max_bytes))
        clean_up(cache);
    return !reason;
}

/* SPDX-License-Identifier: MIT */
/*
 * disk_cache.c - the stores of a process, and what is done with one.
 *
 * Reading costs an open and a read: nothing is kept in memory, so that what
 * other processes write is seen at once, and a process that finds all it looks
 * for never lists the directory. A process that writes does, the first time
 * and now and then: to sweep up after writers that died, and to learn how much
 * there is, as others write too. So several processes may together go over the
 * bound, by what they write between two looks.
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
    SAVES_PER_LOOK = 64,
    /* A use is noted if the last note is that old, in seconds: what is used
       all the time does not cost a write each time. */
    USE_SECONDS = 3600
};

struct tgi_disk_cache {
    tgi_disk_cache *next; /* guarded by `lock`, as is `refs` */
    size_t refs;
    int dir;
    dev_t device;
    ino_t inode;
    tgi_disk_cache_mode mode;
    uint64_t most_bytes;
    char *path; /* for messages */

    atomic_bool has_warned;
    atomic_ulong n_tries_to_save;
    _Atomic uint64_t bytes; /* of all entries, about */
    _Atomic uint64_t hits, misses, saves, evictions, bad;
};

/* -- The stores of this process -------------------------------------------- */

static tgi_disk_cache *stores;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

TGI_LOCK_ACROSS_FORK(&lock, (void)0)

/* Under the lock. */
static tgi_disk_cache *find(const struct stat *s, tgi_disk_cache_mode mode,
                            uint64_t most_bytes)
{
    tgi_disk_cache *store = stores;
    while (store && (store->device != s->st_dev || store->inode != s->st_ino ||
                     store->mode != mode || store->most_bytes != most_bytes))
        store = store->next;
    return store;
}

/* A new one in the list; NULL when out of memory. Under the lock. */
static tgi_disk_cache *add(const char *path, int dir, const struct stat *s,
                           tgi_disk_cache_mode mode, uint64_t most_bytes)
{
    tgi_disk_cache *store = tgi_alloc_zero(sizeof(*store));
    char *own_path = tgi_strdup(path);
    if (!store || !own_path) {
        tgi_free(store);
        tgi_free(own_path);
        return NULL;
    }
    store->dir = dir;
    store->device = s->st_dev;
    store->inode = s->st_ino;
    store->mode = mode;
    store->most_bytes = most_bytes;
    store->path = own_path;
    store->next = stores;
    stores = store;
    tgi_live_add(TGI_LIVE_DISK_CACHE, 1);
    return store;
}

tg_status tgi_disk_cache_open(const char *path, tgi_disk_cache_mode mode,
                              uint64_t most_bytes, tgi_disk_cache **out_store)
{
    int dir;
    struct stat s;
    *out_store = NULL;
    if (mode == TGI_DISK_CACHE_OFF)
        return TG_OK;
    TGI_TRY(tgi_disk_cache_dir_open(path, mode == TGI_DISK_CACHE_READ_WRITE,
                                    &dir, &s));
    if (dir < 0)
        return TG_OK;
    pthread_mutex_lock(&lock);
    tgi_disk_cache *store = find(&s, mode, most_bytes);
    const bool is_new = !store;
    if (is_new)
        store = add(path, dir, &s, mode, most_bytes);
    if (store)
        store->refs++;
    pthread_mutex_unlock(&lock);
    if (!is_new || !store)
        close(dir);
    *out_store = store;
    return store ? TG_OK : tgi_error_memory();
}

void tgi_disk_cache_release(tgi_disk_cache *store)
{
    if (!store)
        return;
    pthread_mutex_lock(&lock);
    const bool is_last = --store->refs == 0;
    tgi_disk_cache **link = &stores;
    while (is_last && *link != store)
        link = &(*link)->next;
    if (is_last)
        *link = store->next;
    pthread_mutex_unlock(&lock);
    if (!is_last)
        return;
    close(store->dir);
    tgi_free(store->path);
    tgi_free(store);
    tgi_live_add(TGI_LIVE_DISK_CACHE, -1);
}

/* -- Trouble and counts ---------------------------------------------------- */

static void count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* What went wrong around the store. Memory that is out is others' to tell. */
static void tell(tgi_disk_cache *store, const tgi_log *log, const char *doing,
                 int reason)
{
    char text[128];
    if (reason == ENOMEM)
        return;
    const bool is_news = !atomic_exchange(&store->has_warned, true);
    tgi_log_write(log, is_news ? TG_LOG_WARN : TG_LOG_DEBUG, TGI_LOG_CACHE,
                  "%s: cannot %s an entry: %s", store->path, doing,
                  strerror_r(reason, text, sizeof(text)));
}

static uint64_t value_of(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void tgi_disk_cache_counters(const tgi_disk_cache *store,
                             tg_cache_counters *out_counts)
{
    *out_counts = (tg_cache_counters){.struct_bytes = sizeof(*out_counts)};
    if (!store)
        return;
    out_counts->hits = value_of(&store->hits);
    out_counts->misses = value_of(&store->misses);
    out_counts->saves = value_of(&store->saves);
    out_counts->evictions = value_of(&store->evictions);
    out_counts->bad = value_of(&store->bad);
}

/* -- Load ------------------------------------------------------------------ */

/* Notes that an entry is in use, if the note on it is old, or from a future
   that a clock once believed in. That it cannot is nobody's concern. */
static void note_use(const tgi_disk_cache *store, const char *name,
                     const tgi_cache_entry *entry)
{
    const int64_t age = (int64_t)time(NULL) - entry->last_use;
    if (store->mode == TGI_DISK_CACHE_READ_WRITE &&
        (age > USE_SECONDS || age < -USE_SECONDS))
        (void)utimensat(store->dir, name, NULL, AT_SYMLINK_NOFOLLOW);
}

/* What is under the key, as tgi_cache_entry_read has it; another key's is foreign,
   though of the same hash. */
static tgi_cache_entry_state read_entry(const tgi_disk_cache *store,
                                        const char *name, tgi_byte_span key,
                                        tgi_cache_entry *out_entry)
{
    tgi_cache_entry_state state =
        tgi_cache_entry_read(store->dir, name, out_entry);
    if (state == TGI_CACHE_ENTRY_VALID &&
        (out_entry->key.n != key.n ||
         (key.n && memcmp(out_entry->key.data, key.data, key.n) != 0))) {
        tgi_free(out_entry->file);
        state = TGI_CACHE_ENTRY_OTHER_VERSION;
    }
    return state;
}

/* The value of a good entry, as the caller of a load gets it. */
static void *use(tgi_disk_cache *store, const char *name,
                 const tgi_cache_entry *entry, size_t *out_bytes)
{
    note_use(store, name, entry);
    count(&store->hits, 1);
    *out_bytes = entry->value.n;
    return memmove(entry->file, entry->value.data, entry->value.n);
}

/* A bad entry: damaged ones go, so that they are told of and read once. */
static void reject(tgi_disk_cache *store, const char *name, bool is_damaged,
                   const tgi_log *log)
{
    count(&store->bad, 1);
    tgi_log_write(
        log, TG_LOG_INFO, TGI_LOG_CACHE, "%s/%s is %s", store->path, name,
        is_damaged ? "damaged" : "not a plain file of this user's alone");
    if (is_damaged && store->mode == TGI_DISK_CACHE_READ_WRITE)
        (void)unlinkat(store->dir, name, 0);
}

void *tgi_disk_cache_load(tgi_disk_cache *store, tgi_byte_span key,
                          const tgi_log *log, size_t *out_bytes)
{
    *out_bytes = 0;
    if (!store)
        return NULL;
    char name[TGI_CACHE_ENTRY_NAME_BYTES];
    tgi_cache_entry_name(key, name);
    tgi_cache_entry entry;
    switch (read_entry(store, name, key, &entry)) {
    case TGI_CACHE_ENTRY_VALID:
        return use(store, name, &entry, out_bytes);
    case TGI_CACHE_ENTRY_MISSING:
    case TGI_CACHE_ENTRY_OTHER_VERSION:
        break;
    case TGI_CACHE_ENTRY_DAMAGED:
        reject(store, name, true, log);
        break;
    case TGI_CACHE_ENTRY_UNTRUSTED:
        reject(store, name, false, log);
        break;
    case TGI_CACHE_ENTRY_IO_ERROR:
        tell(store, log, "read", errno);
        break;
    }
    count(&store->misses, 1);
    return NULL;
}

void *tgi_disk_cache_probe(tgi_disk_cache *store, tgi_byte_span key,
                           size_t *out_bytes)
{
    *out_bytes = 0;
    if (!store)
        return NULL;
    char name[TGI_CACHE_ENTRY_NAME_BYTES];
    tgi_cache_entry_name(key, name);
    tgi_cache_entry entry;
    return read_entry(store, name, key, &entry) == TGI_CACHE_ENTRY_VALID
               ? use(store, name, &entry, out_bytes)
               : NULL;
}

/* -- Save ------------------------------------------------------------------ */

/* Looks at the whole directory and puts it in order. */
static void tidy(tgi_disk_cache *store)
{
    tgi_disk_cache_scan scan;
    if (tgi_disk_cache_scan_init(&scan, store->dir) != 0)
        return;
    tgi_disk_cache_scan_sweep(&scan, store->dir);
    count(&store->evictions,
          tgi_disk_cache_scan_evict(&scan, store->dir, store->most_bytes));
    atomic_store(&store->bytes, scan.bytes);
    tgi_disk_cache_scan_deinit(&scan);
}

bool tgi_disk_cache_save(tgi_disk_cache *store, tgi_byte_span key,
                         tgi_byte_span value, const tgi_log *log)
{
    if (!store || store->mode != TGI_DISK_CACHE_READ_WRITE)
        return false;
    const uint64_t bytes = tgi_cache_entry_bytes(key, value);
    if (bytes > store->most_bytes) {
        tgi_log_write(log, TG_LOG_DEBUG, TGI_LOG_CACHE,
                      "%s: an entry of %llu bytes is over the bound of %llu",
                      store->path, (unsigned long long)bytes,
                      (unsigned long long)store->most_bytes);
        return false;
    }
    char name[TGI_CACHE_ENTRY_NAME_BYTES];
    tgi_cache_entry_name(key, name);
    const int reason = tgi_cache_entry_write(store->dir, name, key, value);
    /* Whoever swept the file away took us for dead: not worth a word. */
    if (reason && reason != ENOENT)
        tell(store, log, "write", reason);
    if (!reason)
        count(&store->saves, 1);
    /* Also if it failed: the room may be filled with what others left. */
    const uint64_t total = atomic_fetch_add(&store->bytes, reason ? 0 : bytes);
    if (atomic_fetch_add(&store->n_tries_to_save, 1) % SAVES_PER_LOOK == 0 ||
        (!reason && total + bytes > store->most_bytes))
        tidy(store);
    return !reason;
}

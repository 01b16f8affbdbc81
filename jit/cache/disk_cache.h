/* SPDX-License-Identifier: MIT */
/*
 * disk_cache.h - a directory of bytes under keys: the disk cache of compiled code.
 *
 * A store never makes a call fail. What it cannot read is not found, what it
 * cannot write is not kept; the first trouble of each store is warned of, the
 * others only logged for who debugs. A store that is NULL holds nothing.
 *
 * Any number of threads and processes may use a directory at once, without
 * locks: an entry is one file that appears whole, under its final name, or
 * not at all. Those who race with each other lose an entry at most. A child
 * may go on after fork.
 *
 * docs/CACHE.md has the format and all rules.
 */
#ifndef TGI_DISK_CACHE_H
#define TGI_DISK_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "tgjit/cache.h"

typedef struct tgi_disk_cache tgi_disk_cache;

typedef enum tgi_disk_cache_mode {
    TGI_DISK_CACHE_OFF = 1,
    TGI_DISK_CACHE_READ_ONLY =
        2, /* nothing is ever written, removed or created */
    TGI_DISK_CACHE_READ_WRITE = 4
} tgi_disk_cache_mode;

/* A key may be any bytes. Its first line is what people are shown of it. */
typedef struct tgi_byte_span {
    const void *data;
    size_t n;
} tgi_byte_span;

/*
 * The path of the directory `dir` (NULL: the default one, as the environment
 * is now), to be freed with tgi_free. NULL if there is no default.
 */
TG_MUST_CHECK tg_status tgi_disk_cache_path(const char *dir, char **out_path);

/*
 * Opens the store in the directory at `path`, which may hold this many bytes.
 * Those who open the same directory in the same way share one store. TG_OK
 * with NULL: it is off, or the directory to read is not there. FILE: the
 * directory cannot be used, and the record says why.
 */
TG_MUST_CHECK tg_status tgi_disk_cache_open(const char *path,
                                            tgi_disk_cache_mode mode,
                                            uint64_t most_bytes,
                                            tgi_disk_cache **out_store);
void tgi_disk_cache_release(tgi_disk_cache *store);

/* The value under the key, to be freed with tgi_free, and its size; NULL if
   there is none. */
TG_MUST_CHECK void *tgi_disk_cache_load(tgi_disk_cache *store,
                                        tgi_byte_span key, const tgi_log *log,
                                        size_t *out_bytes);

/* The same for who will load it later if it is not there: what is missing or
   bad is neither counted nor told now. */
TG_MUST_CHECK void *tgi_disk_cache_probe(tgi_disk_cache *store,
                                         tgi_byte_span key, size_t *out_bytes);

/* Puts a value under the key, in place of another. Says whether it did. */
bool tgi_disk_cache_save(tgi_disk_cache *store, tgi_byte_span key,
                         tgi_byte_span value, const tgi_log *log);

/* What happened so far, in this process. */
void tgi_disk_cache_counters(const tgi_disk_cache *store,
                             tg_cache_counters *out_counts);

/* -- Looking after a directory --------------------------------------------- */

/*
 * What is behind the functions of tgjit/cache.h, for the directory at `path`,
 * which may be missing: it then is empty.
 */
TG_MUST_CHECK tg_status tgi_disk_cache_list(const char *path,
                                            tg_cache_visit *visit, void *user);
TG_MUST_CHECK tg_status tgi_disk_cache_verify(const char *path, bool deletes,
                                              tg_cache_report *out_report);
TG_MUST_CHECK tg_status tgi_disk_cache_clear(const char *path);
TG_MUST_CHECK tg_status tgi_disk_cache_size(const char *path,
                                            size_t *out_entries,
                                            uint64_t *out_bytes);

#endif /* TGI_DISK_CACHE_H */

/* SPDX-License-Identifier: MIT */
/*
 * disk_cache.h - the disk cache of compiled code: a directory that maps keys to
 * values, both byte strings.
 *
 * A cache never makes a call fail: an entry that cannot be read is a miss, one
 * that cannot be written is dropped. The first I/O error of each cache is
 * logged as a warning, later ones at debug level. A NULL cache is empty.
 *
 * Any number of threads and processes may use a directory concurrently,
 * without locks: an entry is a file that is renamed to its final name when it
 * is complete. A race loses an entry at most. A forked child may continue to
 * use a cache.
 *
 * docs/CACHE.md specifies the format.
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
    TGI_DISK_CACHE_READ_ONLY = 2, /* never creates, writes or removes files */
    TGI_DISK_CACHE_READ_WRITE = 4
} tgi_disk_cache_mode;

/* A key is any bytes; its first line is shown as a description. */
typedef struct tgi_byte_span {
    const void *data;
    size_t n;
} tgi_byte_span;

/*
 * The path of the directory `dir`, or of the default one from the environment
 * if it is NULL; freed with tgi_free. NULL if there is no default.
 */
TG_MUST_CHECK tg_status tgi_disk_cache_path(const char *dir, char **out_path);

/*
 * Opens the cache in the directory at `path`, with a capacity of `max_bytes`.
 * Opening the same directory with the same options again shares one cache.
 * *out_cache is NULL if the mode is OFF, or READ_ONLY and the directory is
 * missing. Fails with TG_ERROR_FILE if the directory cannot be used.
 */
TG_MUST_CHECK tg_status tgi_disk_cache_open(const char *path,
                                            tgi_disk_cache_mode mode,
                                            uint64_t max_bytes,
                                            tgi_disk_cache **out_cache);
void tgi_disk_cache_release(tgi_disk_cache *cache);

/* The value of the key, freed with tgi_free, and its size; NULL on a miss. */
TG_MUST_CHECK void *tgi_disk_cache_load(tgi_disk_cache *cache,
                                        tgi_byte_span key, const tgi_log *log,
                                        size_t *out_bytes);

/* As load, but a miss or bad entry is neither counted nor logged: the caller
   will load it later. */
TG_MUST_CHECK void *tgi_disk_cache_probe(tgi_disk_cache *cache,
                                         tgi_byte_span key, size_t *out_bytes);

/* Stores or replaces the value of the key; false if it was not stored. */
bool tgi_disk_cache_save(tgi_disk_cache *cache, tgi_byte_span key,
                         tgi_byte_span value, const tgi_log *log);

/* Counters of this process; zero for a NULL cache. */
void tgi_disk_cache_counters(const tgi_disk_cache *cache,
                             tg_cache_counters *out_counts);

/* -- Administration -------------------------------------------------------- */

/* The functions of tgjit/cache.h, for the directory at `path`. A missing
   directory is empty. */
TG_MUST_CHECK tg_status tgi_disk_cache_list(const char *path,
                                            tg_cache_visit *visit, void *user);
TG_MUST_CHECK tg_status tgi_disk_cache_verify(const char *path, bool deletes,
                                              tg_cache_report *out_report);
TG_MUST_CHECK tg_status tgi_disk_cache_clear(const char *path);
TG_MUST_CHECK tg_status tgi_disk_cache_size(const char *path,
                                            size_t *out_entries,
                                            uint64_t *out_bytes);

#endif /* TGI_DISK_CACHE_H */

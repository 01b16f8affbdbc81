/* SPDX-License-Identifier: MIT */
/*
 * disk_cache_evict.h - a scan of the files of a cache directory, in order of
 * eviction; removal of temporary files of dead writers, and eviction.
 */
#ifndef TGI_DISK_CACHE_EVICT_H
#define TGI_DISK_CACHE_EVICT_H

#include <sys/types.h>
#include <time.h>

#include "base/vec.h"
#include "cache/disk_cache_entry.h"

enum { TGI_DISK_CACHE_FILE_NAME_BYTES = 64 };

typedef struct tgi_disk_cache_file {
    char name[TGI_DISK_CACHE_FILE_NAME_BYTES];
    uint64_t bytes;
    struct timespec last_use;
    pid_t writer; /* of a temporary file; 0: an entry */
} tgi_disk_cache_file;

typedef struct tgi_disk_cache_scan {
    TGI_VEC(tgi_disk_cache_file) files; /* least recently used first */
    size_t n_entries;
    uint64_t bytes; /* of entries */
} tgi_disk_cache_scan;

/* Scans a directory; 0 or an errno, then deinit is not needed. Skips files with
   other names and files that disappear during the scan. */
int tgi_disk_cache_scan_init(tgi_disk_cache_scan *scan, int dir);
void tgi_disk_cache_scan_deinit(tgi_disk_cache_scan *scan);

/* Removes temporary files whose writers are dead. */
void tgi_disk_cache_scan_sweep(const tgi_disk_cache_scan *scan, int dir);

/*
 * If the entries exceed `max_bytes` in total, removes the least recently used
 * until they are below 7/8 of it, so that the next save does not evict again.
 * Returns the number removed; scan->bytes is the remaining total.
 */
size_t tgi_disk_cache_scan_evict(tgi_disk_cache_scan *scan, int dir,
                                 uint64_t max_bytes);

#endif /* TGI_DISK_CACHE_EVICT_H */

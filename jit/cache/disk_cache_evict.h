/* SPDX-License-Identifier: MIT */
/*
 * disk_cache_evict.h - all files of a store at one moment, in the order in which
 * they would have to go, and the two reasons for that: what a writer that died
 * has left behind, and more bytes than there may be.
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
    pid_t writer; /* of a temporary file; 0: it is an entry */
} tgi_disk_cache_file;

typedef struct tgi_disk_cache_scan {
    TGI_VEC(tgi_disk_cache_file) files; /* the least recently used first */
    size_t n_entries;
    uint64_t bytes; /* of entries */
} tgi_disk_cache_scan;

/* 0 or an errno, and then there is nothing to deinit. Files that are gone
   again, or whose names are not ours, are left out. */
int tgi_disk_cache_scan_init(tgi_disk_cache_scan *scan, int dir);
void tgi_disk_cache_scan_deinit(tgi_disk_cache_scan *scan);

/* Removes temporary files that nobody will finish. */
void tgi_disk_cache_scan_sweep(const tgi_disk_cache_scan *scan, int dir);

/*
 * If entries have more than `most_bytes` in all, removes the least recently
 * used until they have clearly less, so that the next one does not cost a
 * scan again. Returns how many; scan->bytes is what is left.
 */
size_t tgi_disk_cache_scan_evict(tgi_disk_cache_scan *scan, int dir,
                                 uint64_t most_bytes);

#endif /* TGI_DISK_CACHE_EVICT_H */

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

enum { TGI_SCAN_NAME_BYTES = 64 };

typedef struct tgi_scan_file {
    char name[TGI_SCAN_NAME_BYTES];
    uint64_t bytes;
    struct timespec last_use;
    pid_t writer; /* of a temporary file; 0: it is an entry */
} tgi_scan_file;

typedef struct tgi_scan {
    TGI_VEC(tgi_scan_file) files; /* the least recently used first */
    size_t n_entries;
    uint64_t bytes; /* of entries */
} tgi_scan;

/* 0 or an errno, and then there is nothing to deinit. Files that are gone
   again, or whose names are not ours, are left out. */
int tgi_scan_init(tgi_scan *scan, int dir);
void tgi_scan_deinit(tgi_scan *scan);

/* Removes temporary files that nobody will finish. */
void tgi_scan_sweep(const tgi_scan *scan, int dir);

/*
 * If entries have more than `most_bytes` in all, removes the least recently
 * used until they have clearly less, so that the next one does not cost a
 * scan again. Returns how many; scan->bytes is what is left.
 */
size_t tgi_scan_evict(tgi_scan *scan, int dir, uint64_t most_bytes);

#endif /* TGI_DISK_CACHE_EVICT_H */

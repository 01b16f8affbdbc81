/* SPDX-License-Identifier: MIT */
/*
 * cache_object.h - the disk cache of a context: its settings, read when the
 * context is created, and the cache itself (jit/cache/disk_cache.h), opened on
 * first use. A program that compiles nothing never accesses the disk.
 */
#ifndef TGI_CACHE_OBJECT_H
#define TGI_CACHE_OBJECT_H

#include "jit.h"
#include "tgjit/context.h"

typedef struct tgi_context_cache {
    tgi_disk_cache_mode mode;
    uint64_t max_bytes;
    char *path;                 /* NULL: no directory was found */
    atomic_bool is_opened;      /* `disk_cache` is final */
    tgi_disk_cache *disk_cache; /* NULL: none */
} tgi_context_cache;

/* `dir` as in tgjit/cache.h. */
tg_status tgi_context_cache_init(tgi_context_cache *cache,
                                 tgi_disk_cache_mode mode, uint64_t max_bytes,
                                 const char *dir);
void tgi_context_cache_deinit(tgi_context_cache *cache);

/* The disk cache of a context (borrowed), or NULL. Opened on the first call; a
   failure to open it is logged once. */
tgi_disk_cache *tgi_context_disk_cache(tg_context *ctx);

#endif /* TGI_CACHE_OBJECT_H */

/* SPDX-License-Identifier: MIT */
/*
 * cache_object.h - a context's part in the disk cache: the settings, read when
 * the context is made, and the store (jit/cache/disk_cache.h), which is opened when it is
 * needed first. A program that compiles nothing never touches the disk.
 */
#ifndef TGI_CACHE_OBJECT_H
#define TGI_CACHE_OBJECT_H

#include "jit.h"
#include "tgjit/context.h"

typedef struct tgi_context_cache {
    tgi_disk_cache_mode mode;
    uint64_t most_bytes;
    char *path;             /* NULL: there is no place for one */
    atomic_bool is_settled; /* `store` is what it will be */
    tgi_disk_cache *store;  /* NULL: none */
} tgi_context_cache;

/* `dir` as in tgjit/cache.h. */
tg_status tgi_context_cache_init(tgi_context_cache *cache,
                                 tgi_disk_cache_mode mode, uint64_t most_bytes,
                                 const char *dir);
void tgi_context_cache_deinit(tgi_context_cache *cache);

/* The store of a context, lent; NULL if there is none. The first one to ask
   has it opened; that this cannot be done is warned of once. */
tgi_disk_cache *tgi_context_disk_cache(tg_context *ctx);

#endif /* TGI_CACHE_OBJECT_H */

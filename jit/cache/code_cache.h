/* SPDX-License-Identifier: MIT */
/*
 * code_cache.h - the in-memory cache of compiled code: equal loops of any
 * functions and contexts of the process are compiled once.
 *
 * The cache is empty while there is no context. Its size is bounded; the least
 * recently used entry is evicted first. Code is unmapped when its last user has
 * released it. All functions are thread-safe.
 */
#ifndef TGI_CODE_CACHE_H
#define TGI_CODE_CACHE_H

#include "tgjit/cache.h"

typedef struct tgi_code tgi_code; /* code.h */

/* Called by each context when it is created, and when it is destroyed. */
void tgi_code_cache_open(void);
void tgi_code_cache_close(void);

/* Sets the capacity in bytes; 0 disables the cache. */
void tgi_code_cache_set_limit(size_t bytes);
void tgi_code_cache_clear(void);
void tgi_code_cache_counters(tg_code_counters *out_counts);
/* Adds to counts.timed_schedules. */
void tgi_code_cache_count_timed(uint64_t n_schedules);

/* Loads or generates the code of a missing entry; *out_code may be NULL. No
   lock is held. */
typedef tg_status tgi_code_build_fn(void *user, tgi_code **out_code);

/*
 * The code of a key, retained: from the cache, from another thread that is
 * building it, or from `build`. Unless it `waits`, *out_code is NULL while
 * another thread builds it.
 */
tg_status tgi_code_cache_get(const void *key, size_t key_bytes, bool waits,
                             tgi_code_build_fn *build, void *user,
                             tgi_code **out_code);

#endif /* TGI_CODE_CACHE_H */

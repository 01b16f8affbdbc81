/* SPDX-License-Identifier: MIT */
/*
 * code_cache.h - compiled code of the process by its key: equal loops are
 * compiled once, whichever functions and contexts they come from.
 *
 * The cache is there while a context is. It is bounded: what was not used for
 * longest goes first, and is unmapped when nobody runs it any more.
 */
#ifndef TGI_CODE_CACHE_H
#define TGI_CODE_CACHE_H

#include "tgjit/cache.h"

typedef struct tgi_code tgi_code; /* code.h */

/* Every context opens it, and closes it at its end. */
void tgi_code_cache_open(void);
void tgi_code_cache_close(void);

/* At most so many bytes are kept; 0: none. */
void tgi_code_cache_set_limit(size_t bytes);
void tgi_code_cache_clear(void);
void tgi_code_cache_counters(tg_code_counters *out_counts);

/* Makes the code that is wanted, or NULL; no lock is held. */
typedef tg_status tgi_code_build_fn(void *user, tgi_code **out_code);

/*
 * The code of that key, retained: one that is there, one that another thread
 * is making, or a new one. Who does not want to wait gets none while it is
 * being made.
 */
tg_status tgi_code_cache_get(const void *key, size_t key_bytes, bool waits,
                             tgi_code_build_fn *make, void *user,
                             tgi_code **out_code);

#endif /* TGI_CODE_CACHE_H */

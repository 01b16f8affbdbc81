/* SPDX-License-Identifier: MIT */
/*
 * code_cache.h - compiled code of the process by its key: equal loops are
 * compiled once, whichever functions and contexts they come from.
 *
 * The cache is there while a context is. It is bounded: what was not used for
 * longest goes first, and is unmapped when nobody runs it any more. jit.h has
 * what the front does with it.
 */
#ifndef TGI_CODE_CACHE_H
#define TGI_CODE_CACHE_H

#include "code.h"
#include "jit.h"

/* Makes the code that is wanted, or NULL; no lock is held. */
typedef tg_status tgi_code_make(void *user, tgi_code **out_code);

/*
 * The code of that key, retained: one that is there, one that another thread
 * is making, or a new one. Who does not want to wait gets none while it is
 * being made.
 */
tg_status tgi_code_cache_get(const void *key, size_t key_bytes, bool waits,
                             tgi_code_make *make, void *user,
                             tgi_code **out_code);

#endif /* TGI_CODE_CACHE_H */

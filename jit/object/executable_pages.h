/* SPDX-License-Identifier: MIT */
/*
 * executable_pages.h - memory for machine code: whole pages, pooled, that are either
 * writable or executable and never both.
 *
 *     tgi_pages_alloc    read-write: fill them
 *     tgi_pages_seal     read-execute from now on
 *     tgi_pages_free     back to the pool, sealed or not
 *
 * The kernel bounds the number of mappings of a process (65530 by default),
 * so code must not cost a mapping each: see executable_pages.c. Everything here may be
 * called from any thread, and in a child after fork.
 */
#ifndef TGI_EXECUTABLE_PAGES_H
#define TGI_EXECUTABLE_PAGES_H

#include <stddef.h>

#include "tgjit/base.h"

/* Bytes of one page. */
size_t tgi_pages_page_bytes(void);

/* Bytes of the pages that tgi_pages_alloc takes for so many, and those that
   all together take now. */
size_t tgi_pages_round_up(size_t bytes);
size_t tgi_pages_used(void);

/*
 * Room for `bytes` > 0 bytes, all zero, that begins at a page. Errors: out of
 * memory; unsupported, if the system has no executable memory for this
 * process.
 */
TG_MUST_CHECK tg_status tgi_pages_alloc(size_t bytes, void **out_memory);

/* Ends the writing. Of pages that it fails for only tgi_pages_free is left. */
TG_MUST_CHECK tg_status tgi_pages_seal(void *memory, size_t bytes);

/* `bytes` as given to tgi_pages_alloc. Nobody may be running the code. */
void tgi_pages_free(void *memory, size_t bytes);

/*
 * For tests: after `n_calls` more requests to the system for pages or their
 * protection it refuses all others. Negative: it is asked again.
 */
void tgi_pages_inject_failures(long n_calls);

#endif /* TGI_EXECUTABLE_PAGES_H */

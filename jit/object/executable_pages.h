/* SPDX-License-Identifier: MIT */
/*
 * executable_pages.h - pooled pages for machine code, writable or executable,
 * never both.
 *
 *     tgi_pages_alloc    read-write, to be filled
 *     tgi_pages_seal     read-execute from now on
 *     tgi_pages_free     back to the pool, sealed or not
 *
 * The kernel limits the number of mappings of a process (65530 by default), so
 * an image must not cost one: see executable_pages.c. All functions are
 * thread-safe and may be called in a forked child.
 */
#ifndef TGI_EXECUTABLE_PAGES_H
#define TGI_EXECUTABLE_PAGES_H

#include <stddef.h>

#include "tgjit/base.h"

/* The page size in bytes. */
size_t tgi_pages_page_bytes(void);

/* `bytes` rounded up to whole pages; bytes of all pages in use. */
size_t tgi_pages_round_up(size_t bytes);
size_t tgi_pages_used(void);

/*
 * Allocates `bytes` > 0 zero bytes, aligned to a page. OUT_OF_MEMORY, or
 * UNSUPPORTED if the system denies executable memory to this process.
 */
TG_MUST_CHECK tg_status tgi_pages_alloc(size_t bytes, void **out_memory);

/* Makes the pages executable and read-only. After a failure, they can only be
   freed. */
TG_MUST_CHECK tg_status tgi_pages_seal(void *memory, size_t bytes);

/* `bytes` as passed to tgi_pages_alloc. No thread may execute the code. */
void tgi_pages_free(void *memory, size_t bytes);

/* For tests: after n_calls more system calls for pages or their protection, all
   fail. Negative: none fails. */
void tgi_pages_inject_failures(long n_calls);

#endif /* TGI_EXECUTABLE_PAGES_H */

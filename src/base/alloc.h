/* SPDX-License-Identifier: MIT */
/*
 * alloc.h - memory allocation. Every allocation of the library goes through
 * these functions, so the user's allocator, the count of live bytes and fault
 * injection cover all of them. They return NULL when out of memory and record
 * no error.
 */
#ifndef TGI_ALLOC_H
#define TGI_ALLOC_H

#include <stddef.h>

#define TGI_BUFFER_ALIGN 64 /* bytes; tensors, variables and temporaries */

/* Blocks store their size, so tgi_free needs only the pointer. */
void *tgi_alloc(size_t bytes);
void *tgi_alloc_zero(size_t bytes);
void *tgi_realloc(void *memory, size_t bytes);
void tgi_free(void *memory);
char *tgi_strdup(const char *string);

/* Bytes that a block adds to tg_live_bytes; 0 for NULL. */
size_t tgi_block_bytes(const void *memory);

/* Buffers for elements, aligned to TGI_BUFFER_ALIGN. The caller passes the
   size again to free one. A buffer of 0 bytes is not NULL. */
void *tgi_buffer_alloc(size_t bytes);
void tgi_buffer_free(void *buffer, size_t bytes);

/*
 * Fault injection for tests: allocation number `nth` from now (0: the next)
 * fails and, if `forever`, all later ones. A negative `nth` disables it.
 * Returns the number of allocations requested since the last call.
 */
long tgi_alloc_inject_failure(long nth, int forever);

#endif /* TGI_ALLOC_H */

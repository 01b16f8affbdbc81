/* SPDX-License-Identifier: MIT */
/*
 * alloc.h - the one door to memory. All of the library's own allocations
 * pass here, so that a user's allocator, the byte count and fault injection
 * see every one of them. NULL means out of memory; nothing else is done.
 */
#ifndef TGI_ALLOC_H
#define TGI_ALLOC_H

#include <stddef.h>

#define TGI_BUFFER_ALIGN 64 /* of tensors, variables and temporaries */

/* Blocks know their size: release takes the pointer alone. */
void *tgi_alloc(size_t bytes);
void *tgi_alloc_zero(size_t bytes);
void *tgi_realloc(void *memory, size_t bytes);
void tgi_free(void *memory);
char *tgi_strdup(const char *string);

/* Bytes that a block adds to tg_live_bytes; 0 for NULL. */
size_t tgi_block_bytes(const void *memory);

/* Buffers for elements: aligned to TGI_BUFFER_ALIGN, size given back. Never
   NULL for 0 bytes. */
void *tgi_buffer_alloc(size_t bytes);
void tgi_buffer_free(void *buffer, size_t bytes);

/*
 * Fault injection for tests: allocation number `nth` from now (0: the next)
 * fails, and if `forever` all later ones too. A negative `nth` turns it off.
 * Returns how many allocations were asked for since the last call.
 */
long tgi_alloc_inject_failure(long nth, int forever);

#endif /* TGI_ALLOC_H */

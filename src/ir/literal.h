/* SPDX-License-Identifier: MIT */
/*
 * literal.h - the elements of a constant, reference-counted and immutable, so
 * that graphs before and after a pass share them.
 */
#ifndef TGI_LITERAL_H
#define TGI_LITERAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/refcount.h"

typedef struct tgi_literal {
    tgi_refcount refs;
    uint64_t hash; /* of the contents */
    size_t bytes;
    void *data; /* TGI_BUFFER_ALIGN aligned */
} tgi_literal;

/* Copies `data` (NULL: zeros); NULL when out of memory (recorded). */
tgi_literal *tgi_literal_create(const void *data, size_t bytes);
/* Takes ownership of a buffer of tgi_buffer_alloc, even on failure. */
tgi_literal *tgi_literal_adopt(void *buffer, size_t bytes);
tgi_literal *tgi_literal_retain(tgi_literal *literal);
void tgi_literal_release(tgi_literal *literal);

#endif /* TGI_LITERAL_H */

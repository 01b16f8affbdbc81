/* SPDX-License-Identifier: MIT */
/*
 * literal.c - reference-counted, immutable elements of constants.
 */
#include "ir/literal.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/live.h"

tgi_literal *tgi_literal_create(const void *data, size_t bytes)
{
    void *buffer = tgi_buffer_alloc(bytes);
    if (!buffer) {
        tgi_error_memory();
        return NULL;
    }
    if (!data)
        memset(buffer, 0, bytes);
    else if (bytes > 0)
        memcpy(buffer, data, bytes);
    return tgi_literal_adopt(buffer, bytes);
}

tgi_literal *tgi_literal_adopt(void *buffer, size_t bytes)
{
    tgi_literal *literal = tgi_alloc(sizeof *literal);
    if (!literal) {
        tgi_buffer_free(buffer, bytes);
        tgi_error_memory();
        return NULL;
    }
    tgi_refcount_init(&literal->refs);
    literal->hash = tgi_hash(buffer, bytes, 0);
    literal->bytes = bytes;
    literal->data = buffer;
    tgi_live_add(TGI_LIVE_LITERAL, 1);
    return literal;
}

tgi_literal *tgi_literal_retain(tgi_literal *literal)
{
    tgi_refcount_inc(&literal->refs);
    return literal;
}

void tgi_literal_release(tgi_literal *literal)
{
    if (!literal || !tgi_refcount_dec(&literal->refs))
        return;
    tgi_buffer_free(literal->data, literal->bytes);
    tgi_free(literal);
    tgi_live_add(TGI_LIVE_LITERAL, -1);
}

/* SPDX-License-Identifier: MIT */
/*
 * leb128.h - LEB128: variable-length integers, seven bits per byte, lowest
 * first; the eighth bit is set if another byte follows.
 */
#ifndef TGI_LEB128_H
#define TGI_LEB128_H

#include <stdint.h>

#include "base/strbuf.h"

static inline void tgi_leb128_put(tgi_strbuf *out, uint64_t number)
{
    char bytes[10];
    size_t n = 0;
    do {
        bytes[n] = (char)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
        number >>= 7;
        n++;
    } while (number);
    tgi_strbuf_add_bytes(out, bytes, n);
}

/* Reads a number at *at and advances *at past it; false if it does not end
   before `end`. */
static inline bool tgi_leb128_get(const unsigned char **at,
                                  const unsigned char *end,
                                  uint64_t *out_number)
{
    *out_number = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        const unsigned char byte = *(*at)++;
        *out_number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

#endif /* TGI_LEB128_H */

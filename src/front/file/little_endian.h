/* SPDX-License-Identifier: MIT */
/*
 * little_endian.h - numbers in files, which are little-endian and lie anywhere.
 */
#ifndef TGI_LITTLE_ENDIAN_H
#define TGI_LITTLE_ENDIAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of elements in memory, and so in the files that are written. */
#define TGI_IS_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

static inline uint64_t tgi_le_get(const unsigned char *from, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = bytes; i-- > 0;)
        number = number << 8 | from[i];
    return number;
}

static inline void tgi_le_put(unsigned char *to, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++, number >>= 8)
        to[i] = (unsigned char)number;
}

#endif /* TGI_LITTLE_ENDIAN_H */

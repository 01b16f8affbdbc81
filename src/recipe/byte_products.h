/* SPDX-License-Identifier: MIT */
/*
 * byte_products.h - the step of a MATMUL of bytes (TG_MATMUL_BYTES): operands
 * hold four bytes each, unsigned ones in a, signed ones in b, and the sum wraps.
 * Instructions of newer CPUs do the same.
 */
#ifndef TGI_BYTE_PRODUCTS_H
#define TGI_BYTE_PRODUCTS_H

#include <stdint.h>

static inline int32_t tgi_add_byte_products(int32_t a, int32_t b, int32_t sum)
{
    uint32_t total = (uint32_t)sum;
    for (int shift = 0; shift < 32; shift += 8) {
        const int32_t left = (uint8_t)((uint32_t)a >> shift);
        const int32_t right = (int8_t)(uint8_t)((uint32_t)b >> shift);
        total += (uint32_t)(left * right);
    }
    return (int32_t)total;
}

#endif /* TGI_BYTE_PRODUCTS_H */

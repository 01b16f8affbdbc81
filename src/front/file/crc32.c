/* SPDX-License-Identifier: MIT */
/*
 * crc32.c - see crc32.h. Eight bytes at a time ("slicing by 8"): table k gives
 * the effect of a byte that k more bytes follow.
 */
#include "front/file/crc32.h"

#include <pthread.h>

#include "front/file/little_endian.h"

enum { SLICES = 8 };

static uint32_t tables[SLICES][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        tables[0][byte] = crc;
    }
    for (int k = 1; k < SLICES; k++)
        for (int byte = 0; byte < 256; byte++) {
            const uint32_t crc = tables[k - 1][byte];
            tables[k][byte] = crc >> 8 ^ tables[0][crc & 0xff];
        }
}

uint32_t tgi_crc32(uint32_t before, const void *data, size_t n)
{
    const unsigned char *next = data;
    uint32_t crc = ~before;
    pthread_once(&once, fill_tables);
    for (; n >= SLICES; n -= SLICES, next += SLICES) {
        const uint64_t word = tgi_le_get(next, SLICES) ^ crc;
        crc = 0;
        for (int k = 0; k < SLICES; k++)
            crc ^= tables[SLICES - 1 - k][word >> 8 * k & 0xff];
    }
    for (; n > 0; n--, next++)
        crc = crc >> 8 ^ tables[0][(crc ^ *next) & 0xff];
    return ~crc;
}

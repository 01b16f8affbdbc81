/* SPDX-License-Identifier: MIT */
/*
 * crc32.h - the checksum of ZIP files (polynomial 0xedb88320), which a build
 * without zlib needs too.
 */
#ifndef TGI_CRC32_H
#define TGI_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Goes on from the checksum of the bytes before, 0 if there are none. */
uint32_t tgi_crc32(uint32_t before, const void *data, size_t n);

#endif /* TGI_CRC32_H */

/* SPDX-License-Identifier: MIT */
/*
 * cache_size.h - how large the last cache of a processor is.
 */
#ifndef TGI_CACHE_SIZE_H
#define TGI_CACHE_SIZE_H

#include <stdint.h>

/* Bytes; 0: nobody knows. Asks once per process. Thread-safe. */
int64_t tgi_cache_bytes(void);

#endif /* TGI_CACHE_SIZE_H */

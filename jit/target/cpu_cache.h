/* SPDX-License-Identifier: MIT */
/*
 * cpu_cache.h - how large the last cache of a processor is.
 */
#ifndef TGI_CPU_CACHE_H
#define TGI_CPU_CACHE_H

#include <stdint.h>

/* Bytes; 0: nobody knows. Asks once per process. Thread-safe. */
int64_t tgi_cpu_cache_bytes(void);

#endif /* TGI_CPU_CACHE_H */

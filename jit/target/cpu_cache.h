/* SPDX-License-Identifier: MIT */
/*
 * cpu_cache.h - the sizes of the host's caches.
 */
#ifndef TGI_CPU_CACHE_H
#define TGI_CPU_CACHE_H

#include <stdint.h>

/* Bytes of the last-level cache; 0 if unknown. Determined once per process.
   Thread-safe. */
int64_t tgi_cpu_cache_bytes(void);
/* The same for the level-2 cache of a core. */
int64_t tgi_cpu_l2_bytes(void);

#endif /* TGI_CPU_CACHE_H */

/* SPDX-License-Identifier: MIT */
/*
 * machine.h - processors and caches of the machine.
 */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stddef.h>

int machine_processors(void);

/* Size in bytes of the data cache at `level`, 1 to 3; 0 if there is none. */
size_t machine_cache_bytes(int level);

#endif /* BENCH_MACHINE_H */

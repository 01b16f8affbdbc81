/* SPDX-License-Identifier: MIT */
/*
 * machine.h - what the machine says about itself.
 */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stddef.h>

int machine_processors(void);

/* Bytes of the data cache of that level, 1 to 3; 0 if there is none. */
size_t machine_cache_bytes(int level);

#endif /* BENCH_MACHINE_H */

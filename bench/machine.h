/* SPDX-License-Identifier: MIT */
/*
 * machine.h - the machine and the build that are measured.
 */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stddef.h>

int machine_processors(void);

/* Size in bytes of the data cache at `level`, 1 to 3; 0 if there is none. */
size_t machine_cache_bytes(int level);

/* What reports say about the machine. */
typedef struct machine_facts {
    char cpu[96]; /* "" if not known */
    int processors, vector_bits;
    double cache_bytes[3];
    char llvm[32]; /* "" without a code generator */
    char library[32];
} machine_facts;

machine_facts machine_describe(void);

#endif /* BENCH_MACHINE_H */

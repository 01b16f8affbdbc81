/* SPDX-License-Identifier: MIT */
/*
 * target.h - the machine that code is compiled for, as data: what the choice
 * of schedules (jit/schedule) needs to know about it. Names of CPUs and
 * instruction sets occur only where a target is built, in target.c.
 */
#ifndef TGI_TARGET_H
#define TGI_TARGET_H

#include <stdbool.h>
#include <stdint.h>

/* Instruction sets of vectors. */
typedef enum tgi_isa {
    TGI_ISA_SSE,
    TGI_ISA_AVX2, /* and FMA */
    TGI_ISA_AVX512,
    TGI_ISA_NEON /* of AArch64, always with FMA */
} tgi_isa;

typedef struct tgi_target {
    const char *name; /* of the instruction set, for dumps; static */
    /* Of the registers of a kernel: the least and the greatest width. */
    unsigned min_vector_bits, max_vector_bits;
    /* Of the arithmetic units: a vector of twice that width takes as long as
       two vectors. Zen 4 has units of 256 bits for registers of 512. */
    unsigned unit_bits;
    unsigned n_registers;      /* vector registers */
    unsigned min_masked_bytes; /* of an element under a mask; 0: no masks */
    unsigned line_bytes;       /* of a cache line */
    unsigned l1_sets;
    int64_t l1_bytes, l2_bytes;
    /* Size of a result beyond which its stores are non-temporal: that of the
       last-level cache, unless measured; 0: they never are. */
    int64_t non_temporal_bytes;
    /* Of the last-level cache, if it is known; else 0. */
    int64_t last_level_bytes;
    /* Size of a buffer beyond which string instructions fill it faster than
       vector stores; 0: they do not, or the CPU has none. */
    int64_t string_store_bytes;
} tgi_target;

/*
 * The target for the CPU named `cpu` (cpu.def; NULL or "": the host) and
 * vectors of `vector_bits` (0: as wide as profitable). Never fails: whether
 * the host runs the code is checked by the compile. Thread-safe.
 */
void tgi_target_init(const char *cpu, unsigned vector_bits,
                     tgi_target *out_target);

/* A target by the name of its instruction set, with typical caches, for tests
   that do not depend on the host: sse, avx2, avx512, neon. False if there is
   none of that name. */
bool tgi_target_by_name(const char *name, tgi_target *out_target);

#endif /* TGI_TARGET_H */

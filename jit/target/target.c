/* SPDX-License-Identifier: MIT */
/* target.c - see target.h. */
#include "target/target.h"

#include "target/cpu_cache.h"
#include "target/host_cpu.h"

#include <string.h>

/* -- Instruction sets ------------------------------------------------------ */

/* In the order of tgi_isa, with the caches of typical CPUs. */
static const tgi_target instruction_sets[] = {
    {.name = "sse",
     .min_vector_bits = 128,
     .max_vector_bits = 128,
     .unit_bits = 128,
     .n_registers = 16,
     .min_masked_bytes = 4,
     .line_bytes = 64,
     .l1_sets = 64,
     .l1_bytes = 32 << 10,
     .l2_bytes = 512 << 10,
     .non_temporal_bytes = 32 << 20},
    {.name = "avx2",
     .min_vector_bits = 256,
     .max_vector_bits = 256,
     .unit_bits = 256,
     .n_registers = 16,
     .min_masked_bytes = 4,
     .line_bytes = 64,
     .l1_sets = 64,
     .l1_bytes = 32 << 10,
     .l2_bytes = 512 << 10,
     .non_temporal_bytes = 32 << 20},
    {.name = "avx512",
     .min_vector_bits = 256,
     .max_vector_bits = 512,
     .unit_bits = 256,
     .n_registers = 32,
     .min_masked_bytes = 1,
     .line_bytes = 64,
     .l1_sets = 64,
     .l1_bytes = 32 << 10,
     .l2_bytes = 1 << 20,
     .non_temporal_bytes = 32 << 20,
     .string_store_bytes = 1 << 20},
    {.name = "neon",
     .min_vector_bits = 128,
     .max_vector_bits = 128,
     .unit_bits = 128,
     .n_registers = 32,
     .min_masked_bytes = 0,
     .line_bytes = 64,
     .l1_sets = 256,
     .l1_bytes = 64 << 10,
     .l2_bytes = 1 << 20,
     .non_temporal_bytes = 32 << 20},
};

bool tgi_target_by_name(const char *name, tgi_target *out)
{
    const size_t n = sizeof(instruction_sets) / sizeof(instruction_sets[0]);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(instruction_sets[i].name, name)) {
            *out = instruction_sets[i];
            return true;
        }
    return false;
}

/* -- CPUs ------------------------------------------------------------------ */

static tgi_isa host_isa(void)
{
#if defined(__x86_64__) || defined(__i386__)
    const bool has_avx512 = __builtin_cpu_supports("avx512f") &&
                            __builtin_cpu_supports("avx512bw") &&
                            __builtin_cpu_supports("avx512cd") &&
                            __builtin_cpu_supports("avx512dq") &&
                            __builtin_cpu_supports("avx512vl");
    return has_avx512 ? TGI_ISA_AVX512 : TGI_ISA_AVX2;
#else
    return TGI_ISA_NEON;
#endif
}

static tgi_isa cpu_isa(const char *cpu)
{
    static const struct {
        const char *name;
        tgi_isa isa;
    } cpus[] = {
#define CPU(id, name, isa, products) {name, TGI_ISA_##isa},
#include "target/cpu.def"
#undef CPU
    };
    for (size_t i = 1; cpu && i < sizeof(cpus) / sizeof(cpus[0]); i++)
        if (!strcmp(cpu, cpus[i].name))
            return cpus[i].isa;
    return host_isa();
}

/* Hypervisors report the last-level cache of a whole socket (260 MiB for two
   cores were seen). Beyond this size, non-temporal stores were measured to be
   no slower even where the cache is larger. */
enum { MAX_LAST_LEVEL_BYTES = 32 << 20 };

/* Sizes of L2 that are believed: of CPUs with AVX2, from Haswell's to those
   that cores share. */
enum { MIN_L2_BYTES = 256 << 10, MAX_L2_BYTES = 4 << 20 };

/* Not on AArch64: its systems often do not report the sizes, and code for it
   is compiled on other machines. */
static void use_caches_of_host(tgi_target *target)
{
    const int64_t l2_bytes = tgi_cpu_l2_bytes();
    if (l2_bytes >= MIN_L2_BYTES && l2_bytes <= MAX_L2_BYTES)
        target->l2_bytes = l2_bytes;
    target->last_level_bytes = target->non_temporal_bytes =
        tgi_cpu_cache_bytes();
    if (target->last_level_bytes > MAX_LAST_LEVEL_BYTES) {
        target->last_level_bytes = 0;
        target->non_temporal_bytes = MAX_LAST_LEVEL_BYTES;
    }
}

/* The units of all CPUs with AVX-512 but Zen 4 are as wide as the registers.
   __builtin_cpu_is does not know younger names with all compilers. */
static unsigned host_unit_bits(tgi_isa isa, unsigned vector_bits)
{
#if defined(__x86_64__) || defined(__i386__)
    if (isa == TGI_ISA_AVX512 && __builtin_cpu_is("amdfam19h"))
        return 256;
#endif
    (void)isa;
    return vector_bits;
}

void tgi_target_init(const char *cpu, unsigned vector_bits, tgi_target *out)
{
    tgi_isa isa = cpu_isa(cpu);
    /* A narrower width stands for a CPU that has no wider one. */
    if (isa == TGI_ISA_AVX512 && vector_bits && vector_bits != 512)
        isa = TGI_ISA_AVX2;
    *out = instruction_sets[isa];
    if (vector_bits)
        out->min_vector_bits = out->max_vector_bits = vector_bits;
    if (isa != TGI_ISA_NEON)
        use_caches_of_host(out);
    if (!cpu || !*cpu) {
        out->unit_bits = host_unit_bits(isa, out->max_vector_bits);
        out->string_store_bytes =
            tgi_host_has_string_stores() ? out->l2_bytes : 0;
    }
}

/* SPDX-License-Identifier: MIT */
/*
 * machine.c - see machine.h. Prefers the kernel's numbers to those of sysconf,
 * which in virtual machines returns the last-level cache of a whole socket.
 */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tgjit.h"

int machine_processors(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

/* Reads the first word of a sysfs file about a cache of CPU 0. */
static int read_word(int index, const char *name, char *out_word)
{
    char path[96];
    snprintf(path, sizeof(path),
             "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    const int n = fscanf(file, "%31s", out_word);
    fclose(file);
    return n == 1;
}

static size_t kernel_cache_bytes(int level)
{
    char word[32];
    for (int index = 0; read_word(index, "level", word); index++) {
        int is_level;
        size_t kib;
        if (sscanf(word, "%d", &is_level) == 1 && is_level == level &&
            read_word(index, "type", word) &&
            strcmp(word, "Instruction") != 0 &&
            read_word(index, "size", word) && sscanf(word, "%zuK", &kib) == 1)
            return kib << 10;
    }
    return 0;
}

size_t machine_cache_bytes(int level)
{
    const size_t bytes = kernel_cache_bytes(level);
    if (bytes)
        return bytes;
    long reported = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
    static const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                _SC_LEVEL3_CACHE_SIZE};
    reported = level >= 1 && level <= 3 ? sysconf(names[level - 1]) : 0;
#endif
    return reported > 0 ? (size_t)reported : 0;
}

/* -- Facts ----------------------------------------------------------------- */

/* Copies the value of "KEY<tab>: VALUE"; false if the line has another key. */
static bool read_value(const char *line, const char *key, char *out_value,
                       size_t capacity)
{
    const size_t length = strlen(key);
    const char *colon = strchr(line, ':');
    if (strncmp(line, key, length) != 0 || !colon || *out_value ||
        strspn(line + length, " \t") != (size_t)(colon - line) - length)
        return false;
    snprintf(out_value, capacity, "%.*s", (int)strcspn(colon + 2, "\n"),
             colon + 2);
    return true;
}

/* The name of the first CPU, with its family and model, since virtual machines
   often have vague names. */
static void describe_cpu(char *out_text, size_t capacity)
{
    char line[512], name[64] = "", family[8] = "", model[8] = "";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof(line), file)) {
        read_value(line, "model name", name, sizeof(name));
        read_value(line, "cpu family", family, sizeof(family));
        read_value(line, "model", model, sizeof(model));
    }
    if (file)
        fclose(file);
    if (*family && *model)
        snprintf(out_text, capacity, "%s (family %s, model %s)", name, family,
                 model);
    else
        snprintf(out_text, capacity, "%s", name);
}

/* The widest registers that compiled code uses by default. */
static int vector_bits(void)
{
    const char *set = getenv("TGJIT_VECTOR_BITS");
    const int wanted = set ? atoi(set) : 0;
    if (wanted == 128 || wanted == 256 || wanted == 512)
        return wanted;
#if defined __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
        return 512;
    if (__builtin_cpu_supports("avx2"))
        return 256;
#endif
    return 128;
}

machine_facts machine_describe(void)
{
    machine_facts facts = {.processors = machine_processors(),
                           .vector_bits = vector_bits()};
    describe_cpu(facts.cpu, sizeof(facts.cpu));
    for (int level = 1; level <= 3; level++)
        facts.cache_bytes[level - 1] = (double)machine_cache_bytes(level);
    snprintf(facts.llvm, sizeof(facts.llvm), "%s", BENCH_LLVM_VERSION);
    snprintf(facts.library, sizeof(facts.library), "%s", tg_version());
    return facts;
}

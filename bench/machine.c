/* SPDX-License-Identifier: MIT */
/*
 * machine.c - see machine.h. Prefers the kernel's numbers to those of sysconf,
 * which in virtual machines returns the last-level cache of a whole socket.
 */
#include "machine.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* SPDX-License-Identifier: MIT */
/*
 * cpu_cache.c - see cpu_cache.h. sysfs is preferred: in virtual machines,
 * sysconf returns the last-level cache of a whole socket.
 */
#include "target/cpu_cache.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

/* A number from a sysfs file of a cache of CPU 0; -1 if there is none. */
static long long read_number(int index, const char *name)
{
    char path[96];
    long long number;
    snprintf(path, sizeof(path),
             "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    const int n = fscanf(file, "%lld", &number);
    fclose(file);
    return n == 1 ? number : -1;
}

static int64_t l2_bytes, last_level_bytes;

/* Reads the sizes, in KiB, of the caches of level 2 and the highest level. */
static void find_caches(void)
{
    long long highest = 0, level;
    for (int index = 0; (level = read_number(index, "level")) > 0; index++) {
        const long long kib = read_number(index, "size");
        if (level == 2 && kib > 0)
            l2_bytes = kib << 10;
        if (level > highest && kib > 0) {
            highest = level;
            last_level_bytes = kib << 10;
        }
    }
#ifdef _SC_LEVEL3_CACHE_SIZE
    if (!last_level_bytes) {
        const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
        last_level_bytes = bytes > 0 ? bytes : 0;
    }
#endif
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

int64_t tgi_cpu_cache_bytes(void)
{
    pthread_once(&once, find_caches);
    return last_level_bytes;
}

int64_t tgi_cpu_l2_bytes(void)
{
    pthread_once(&once, find_caches);
    return l2_bytes;
}

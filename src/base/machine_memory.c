/* SPDX-License-Identifier: MIT */
/*
 * machine_memory.c - physical memory and cgroup limits, see machine_memory.h.
 *
 * /proc/self/cgroup lists the cgroups, one line per hierarchy: "0::/path" for
 * version 2, "7:memory:/path" for version 1. In a container, the path may be
 * the host's, only the end of which is mounted, or "/". Therefore the limits of
 * all groups from there to the root of the hierarchy are read; missing ones are
 * skipped.
 */
#include "base/machine_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PATH = 4096 };

/* The number in a file; UINT64_MAX if it is "max" or cannot be read. */
static uint64_t read_limit(const char *path)
{
    char text[32];
    FILE *file = fopen(path, "re");
    if (!file)
        return UINT64_MAX;
    const bool is_read = fgets(text, sizeof(text), file) != NULL;
    fclose(file);
    char *end;
    errno = 0;
    const uint64_t limit = is_read ? strtoumax(text, &end, 10) : 0;
    return is_read && end != text && text[0] != '-' && errno == 0
               ? limit
               : UINT64_MAX;
}

/* The lowest limit of a group and its ancestors. Truncates the path `group`. */
static uint64_t min_limit(const char *root, const char *mount, char *group,
                          const char *file)
{
    uint64_t lowest = UINT64_MAX;
    for (;;) {
        char path[MAX_PATH];
        const int n = snprintf(path, sizeof(path), "%s%s%s/%s", root, mount,
                               group, file);
        const uint64_t limit =
            n > 0 && n < (int)sizeof(path) ? read_limit(path) : UINT64_MAX;
        lowest = limit < lowest ? limit : lowest;
        char *last = strrchr(group, '/');
        if (!last)
            return lowest;
        *last = '\0';
    }
}

/* True if `name` is an element of a comma-separated list. */
static bool list_contains(const char *list, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    }
    return false;
}

/* The limit of one line of /proc/self/cgroup. Modifies the line. */
static uint64_t limit_of_line(const char *root, char *line)
{
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return UINT64_MAX;
    *controllers++ = '\0';
    *group++ = '\0';
    if (list_contains(controllers, "memory"))
        return min_limit(root, "/sys/fs/cgroup/memory", group,
                         "memory.limit_in_bytes");
    if (*controllers != '\0')
        return UINT64_MAX;
    /* Systems that also mount version 1 mount version 2 at "unified". */
    char group_copy[MAX_PATH];
    snprintf(group_copy, sizeof(group_copy), "%s", group);
    const uint64_t limit =
        min_limit(root, "/sys/fs/cgroup", group, "memory.max");
    const uint64_t unified =
        min_limit(root, "/sys/fs/cgroup/unified", group_copy, "memory.max");
    return limit < unified ? limit : unified;
}

uint64_t tgi_cgroup_memory_limit(const char *root)
{
    char line[MAX_PATH];
    snprintf(line, sizeof(line), "%s/proc/self/cgroup", root);
    FILE *file = fopen(line, "re");
    uint64_t lowest = UINT64_MAX;
    while (file && fgets(line, sizeof(line), file)) {
        const uint64_t limit = limit_of_line(root, line);
        lowest = limit < lowest ? limit : lowest;
    }
    if (file)
        fclose(file);
    return lowest;
}

static uint64_t machine_memory;

static void find_machine_memory(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    const uint64_t physical = pages > 0 && bytes > 0
                                  ? (uint64_t)pages * (uint64_t)bytes
                                  : UINT64_MAX;
    const uint64_t limit = tgi_cgroup_memory_limit("");
    machine_memory = limit < physical ? limit : physical;
}

uint64_t tgi_machine_memory(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_machine_memory);
    return machine_memory;
}

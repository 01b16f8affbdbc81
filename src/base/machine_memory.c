/* SPDX-License-Identifier: MIT */
/*
 * machine_memory.c - see machine_memory.h.
 *
 * /proc/self/cgroup names the groups, one line for each hierarchy:
 * "0::/path" of version 2, "7:memory:/path" of version 1. In a container the
 * path may be the host's, of which only the end is mounted, or "/": so each
 * group from there up to the root of the hierarchy is asked, and those that do
 * not exist are skipped.
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

/* The number in a file; UINT64_MAX if it is "max", or there is none. */
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

/* The least limit of a group, a path which this shortens, and those around
   it. */
static uint64_t least_limit(const char *root, const char *mount, char *group,
                            const char *file)
{
    uint64_t least = UINT64_MAX;
    for (;;) {
        char path[MAX_PATH];
        const int n = snprintf(path, sizeof(path), "%s%s%s/%s", root, mount,
                               group, file);
        const uint64_t limit =
            n > 0 && n < (int)sizeof(path) ? read_limit(path) : UINT64_MAX;
        least = limit < least ? limit : least;
        char *last = strrchr(group, '/');
        if (!last)
            return least;
        *last = '\0';
    }
}

/* True if `name` is in a list with commas. */
static bool has_name(const char *list, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    }
    return false;
}

/* The limit by one line of /proc/self/cgroup, which this changes. */
static uint64_t limit_of_line(const char *root, char *line)
{
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return UINT64_MAX;
    *controllers++ = '\0';
    *group++ = '\0';
    if (has_name(controllers, "memory"))
        return least_limit(root, "/sys/fs/cgroup/memory", group,
                           "memory.limit_in_bytes");
    if (*controllers != '\0')
        return UINT64_MAX;
    char again[MAX_PATH]; /* beside version 1, it is mounted elsewhere */
    snprintf(again, sizeof(again), "%s", group);
    const uint64_t limit =
        least_limit(root, "/sys/fs/cgroup", group, "memory.max");
    const uint64_t other =
        least_limit(root, "/sys/fs/cgroup/unified", again, "memory.max");
    return limit < other ? limit : other;
}

uint64_t tgi_cgroup_memory_limit(const char *root)
{
    char line[MAX_PATH];
    snprintf(line, sizeof(line), "%s/proc/self/cgroup", root);
    FILE *file = fopen(line, "re");
    uint64_t least = UINT64_MAX;
    while (file && fgets(line, sizeof(line), file)) {
        const uint64_t limit = limit_of_line(root, line);
        least = limit < least ? limit : least;
    }
    if (file)
        fclose(file);
    return least;
}

static uint64_t found;

static void find(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    const uint64_t physical = pages > 0 && bytes > 0
                                  ? (uint64_t)pages * (uint64_t)bytes
                                  : UINT64_MAX;
    const uint64_t limit = tgi_cgroup_memory_limit("");
    found = limit < physical ? limit : physical;
}

uint64_t tgi_machine_memory(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    return found;
}

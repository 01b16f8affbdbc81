/* SPDX-License-Identifier: MIT */
/*
 * disk_cache_evict.c - see disk_cache_evict.h. Other processes may evict at the
 * same time: a file that is already gone is no error. An entry that is written
 * or used while it is removed is lost and will be compiled again.
 */
#include "cache/disk_cache_evict.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HOUR = 3600 };

/* -- Scan ------------------------------------------------------------------ */

/* Adds a file to the scan if its name is one of ours; 0 or an errno. */
static int add_file(tgi_disk_cache_scan *scan, int dir, const char *name)
{
    tgi_disk_cache_file file = {.writer = 0};
    if (strlen(name) >= sizeof(file.name) ||
        (!tgi_cache_entry_is_name(name) &&
         !tgi_cache_entry_is_temporary(name, &file.writer)))
        return 0;
    struct stat s;
    if (fstatat(dir, name, &s, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : errno;
    if (S_ISDIR(s.st_mode))
        return 0;
    strcpy(file.name, name);
    file.bytes = (uint64_t)s.st_size;
    file.last_use = s.st_mtim;
    if (!tgi_vec_push(&scan->files, file))
        return ENOMEM;
    if (!file.writer) {
        scan->n_entries++;
        scan->bytes += file.bytes;
    }
    return 0;
}

static int compare_last_use(const void *left, const void *right)
{
    const tgi_disk_cache_file *a = left, *b = right;
    if (a->last_use.tv_sec != b->last_use.tv_sec)
        return a->last_use.tv_sec < b->last_use.tv_sec ? -1 : 1;
    if (a->last_use.tv_nsec != b->last_use.tv_nsec)
        return a->last_use.tv_nsec < b->last_use.tv_nsec ? -1 : 1;
    return strcmp(a->name, b->name);
}

int tgi_disk_cache_scan_init(tgi_disk_cache_scan *scan, int dir)
{
    *scan = (tgi_disk_cache_scan){0};
    /* Reopened: a duplicated descriptor would share the read position. */
    const int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    int reason = 0;
    if (!stream) {
        reason = errno;
        if (fd >= 0)
            close(fd);
        return reason;
    }
    while (!reason) {
        errno = 0;
        const struct dirent *found = readdir(stream);
        if (!found) {
            reason = errno;
            break;
        }
        reason = add_file(scan, dir, found->d_name);
    }
    closedir(stream);
    if (reason)
        tgi_disk_cache_scan_deinit(scan);
    else if (scan->files.n)
        qsort(scan->files.data, scan->files.n, sizeof(*scan->files.data),
              compare_last_use);
    return reason;
}

void tgi_disk_cache_scan_deinit(tgi_disk_cache_scan *scan)
{
    tgi_vec_deinit(&scan->files);
}

/* -- Removal --------------------------------------------------------------- */

/* A writer in another container may appear dead; it loses its entry. */
static bool is_orphan(const tgi_disk_cache_file *file, time_t now)
{
    return file->writer && (file->last_use.tv_sec < now - HOUR ||
                            (kill(file->writer, 0) != 0 && errno == ESRCH));
}

void tgi_disk_cache_scan_sweep(const tgi_disk_cache_scan *scan, int dir)
{
    const time_t now = time(NULL);
    for (size_t i = 0; i < scan->files.n; i++)
        if (is_orphan(&scan->files.data[i], now))
            unlinkat(dir, scan->files.data[i].name, 0);
}

size_t tgi_disk_cache_scan_evict(tgi_disk_cache_scan *scan, int dir,
                                 uint64_t max_bytes)
{
    if (scan->bytes <= max_bytes)
        return 0;
    const uint64_t target = max_bytes - max_bytes / 8;
    size_t n_removed = 0, n_left = scan->n_entries;
    for (size_t i = 0; i < scan->files.n && scan->bytes > target; i++) {
        const tgi_disk_cache_file *file = &scan->files.data[i];
        /* The newest entry stays if it alone is within the limit. */
        if (file->writer || (n_left == 1 && scan->bytes <= max_bytes))
            continue;
        const bool is_removed = unlinkat(dir, file->name, 0) == 0;
        if (!is_removed && errno != ENOENT)
            continue;
        n_removed += is_removed;
        n_left--;
        scan->bytes -= file->bytes;
    }
    return n_removed;
}

/* SPDX-License-Identifier: MIT */
/*
 * temporary_file.c - see temporary_file.h.
 */
#include "base/temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

int tgi_temporary_create(int dir, mode_t mode,
                         char out_name[TGI_TEMPORARY_NAME_BYTES])
{
    static atomic_ulong number;
    /* Processes in other containers may have our number too. */
    for (int tries = 0;; tries++) {
        snprintf(out_name, TGI_TEMPORARY_NAME_BYTES, TGI_TEMPORARY_FORMAT,
                 (long)getpid(), atomic_fetch_add(&number, 1));
        const int fd = openat(
            dir, out_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
            mode);
        if (fd >= 0 || errno != EEXIST || tries == 100)
            return fd;
    }
}

/* Beyond the limit of a file's size, a write would raise a signal. */
static bool is_over_limit(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

int tgi_temporary_append(int fd, uint64_t bytes_before, const void *data,
                         size_t bytes)
{
    const char *from = data;
    if (is_over_limit(bytes_before + bytes))
        return EFBIG;
    while (bytes > 0) {
        const ssize_t put_bytes = write(fd, from, bytes);
        if (put_bytes < 0 && errno == EINTR)
            continue;
        if (put_bytes <= 0)
            return put_bytes < 0 ? errno : EIO;
        from += put_bytes;
        bytes -= (size_t)put_bytes;
    }
    return 0;
}

int tgi_temporary_write(int dir, const void *data, size_t bytes, mode_t mode,
                        char out_name[TGI_TEMPORARY_NAME_BYTES])
{
    if (is_over_limit(bytes))
        return EFBIG;
    const int fd = tgi_temporary_create(dir, mode, out_name);
    if (fd < 0)
        return errno;
    int reason = tgi_temporary_append(fd, 0, data, bytes);
    /* Some file systems tell only now that there was no room. */
    if (close(fd) != 0 && !reason && errno != EINTR)
        reason = errno;
    if (reason)
        unlinkat(dir, out_name, 0);
    return reason;
}

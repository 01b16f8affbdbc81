/* SPDX-License-Identifier: MIT */
/*
 * temporary_file.c - writes files with temporary names, see temporary_file.h.
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
    /* A process in another container may have the same process id. */
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

/* Writing beyond RLIMIT_FSIZE would raise SIGXFSZ. */
static bool exceeds_file_size_limit(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

int tgi_temporary_append(int fd, uint64_t bytes_before, const void *data,
                         size_t bytes)
{
    const char *from = data;
    if (exceeds_file_size_limit(bytes_before + bytes))
        return EFBIG;
    while (bytes > 0) {
        const ssize_t written = write(fd, from, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? errno : EIO;
        from += written;
        bytes -= (size_t)written;
    }
    return 0;
}

int tgi_temporary_write(int dir, const void *data, size_t bytes, mode_t mode,
                        char out_name[TGI_TEMPORARY_NAME_BYTES])
{
    if (exceeds_file_size_limit(bytes))
        return EFBIG;
    const int fd = tgi_temporary_create(dir, mode, out_name);
    if (fd < 0)
        return errno;
    int error = tgi_temporary_append(fd, 0, data, bytes);
    /* Some file systems report a full disk only on close. */
    if (close(fd) != 0 && !error && errno != EINTR)
        error = errno;
    if (error)
        unlinkat(dir, out_name, 0);
    return error;
}

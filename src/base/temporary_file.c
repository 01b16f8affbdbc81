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

/* Creates a file that did not exist; -1 and errno on failure. */
static int create_exclusive(int dir, mode_t mode, char *out_name)
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
static bool exceeds_file_size_limit(size_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

/* 0 or an errno. */
static int write_all(int fd, const char *data, size_t n)
{
    while (n > 0) {
        const ssize_t written = write(fd, data, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? errno : EIO;
        data += written;
        n -= (size_t)written;
    }
    return 0;
}

int tgi_temporary_write(int dir, const void *data, size_t bytes, mode_t mode,
                        char out_name[TGI_TEMPORARY_NAME_BYTES])
{
    if (exceeds_file_size_limit(bytes))
        return EFBIG;
    const int fd = create_exclusive(dir, mode, out_name);
    if (fd < 0)
        return errno;
    int error = write_all(fd, data, bytes);
    /* Some file systems report a full disk only on close. */
    if (close(fd) != 0 && !error && errno != EINTR)
        error = errno;
    if (error)
        unlinkat(dir, out_name, 0);
    return error;
}

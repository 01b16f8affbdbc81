/* SPDX-License-Identifier: MIT */
/*
 * atomic_file.c - see atomic_file.h.
 */
#include "base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

/* -- Paths ----------------------------------------------------------------- */

const char *tgi_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int tgi_path_open_folder(const char *path)
{
    const char *base = tgi_path_base(path);
    if (base == path)
        return open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *folder = tgi_strdup(path);
    if (!folder) {
        errno = ENOMEM;
        return -1;
    }
    folder[base - path] = '\0';
    const int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int reason = errno;
    tgi_free(folder);
    errno = reason;
    return dir;
}

/* -- Files ----------------------------------------------------------------- */

/* The temporary file: new ones by the umask, others as the one they replace. */
static int create_like(tgi_atomic_file *file)
{
    struct stat old;
    const bool is_there = fstatat(file->dir, tgi_path_base(file->path), &old,
                                  AT_SYMLINK_NOFOLLOW) == 0;
    if (is_there && !S_ISREG(old.st_mode) && !S_ISLNK(old.st_mode))
        return S_ISDIR(old.st_mode) ? EISDIR : EEXIST;
    const bool is_file = is_there && S_ISREG(old.st_mode);
    const mode_t mode = is_file ? old.st_mode & 0777 : 0666;
    /* The owner can write until it is whole, whatever its mode will be. */
    file->fd = tgi_temporary_create(file->dir, mode | S_IWUSR,
                                    file->temporary);
    if (file->fd < 0)
        return errno;
    /* Past the umask. A file system without permissions may refuse. */
    if (is_file && fchmod(file->fd, mode) != 0 && errno != EPERM &&
        errno != ENOTSUP)
        return errno;
    return 0;
}

int tgi_atomic_file_begin(tgi_atomic_file *file, const char *path)
{
    *file = (tgi_atomic_file){.path = path, .fd = -1};
    if (!*tgi_path_base(path))
        return *path ? EISDIR : ENOENT;
    file->dir = tgi_path_open_folder(path);
    if (file->dir < 0)
        return errno;
    const int reason = create_like(file);
    return reason ? tgi_atomic_file_end(file, reason) : 0;
}

int tgi_atomic_file_write(tgi_atomic_file *file, const void *data,
                          size_t bytes)
{
    const int reason =
        tgi_temporary_append(file->fd, file->bytes, data, bytes);
    file->bytes += bytes;
    return reason;
}

/* Some file systems cannot, which is no reason not to write there. */
static int synchronise(int fd)
{
    if (fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP)
        return 0;
    return errno;
}

int tgi_atomic_file_end(tgi_atomic_file *file, int reason)
{
    const bool is_open = file->fd >= 0;
    if (!reason)
        reason = synchronise(file->fd);
    if (is_open && close(file->fd) != 0 && !reason && errno != EINTR)
        reason = errno;
    if (!reason && renameat(file->dir, file->temporary, file->dir,
                            tgi_path_base(file->path)) != 0)
        reason = errno;
    if (reason && is_open)
        unlinkat(file->dir, file->temporary, 0);
    /* The name is on the disk after this; a failure cannot be undone. */
    if (!reason)
        synchronise(file->dir);
    close(file->dir);
    return reason;
}

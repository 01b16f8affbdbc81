/* SPDX-License-Identifier: MIT */
/*
 * disk_cache_dir.c - see disk_cache_dir.h; tgi_disk_cache_path of disk_cache.h.
 */
#include "cache/disk_cache_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "cache/disk_cache.h"

/* -- Path ------------------------------------------------------------------ */

/* The value of an environment variable that names a directory, or NULL. The XDG
   specification ignores relative paths; a setuid program ignores all. */
static const char *env_directory(const char *variable)
{
    const char *path = secure_getenv(variable);
    return path && path[0] == '/' ? path : NULL;
}

/* NULL if the home directory does not exist, as for service users. */
static const char *home_directory(void)
{
    const char *path = env_directory("HOME");
    return path && access(path, F_OK) == 0 ? path : NULL;
}

/* Removes trailing "/" and "/.": a symbolic link before them would be
   followed. */
static void strip_trailing_slashes(tgi_strbuf *path)
{
    while (path->n > 1) {
        const char last = path->text[path->n - 1];
        if (last != '/' && (last != '.' || path->text[path->n - 2] != '/'))
            break;
        tgi_strbuf_truncate(path, path->n - 1);
    }
}

tg_status tgi_disk_cache_path(const char *dir, char **out_path)
{
    tgi_strbuf path = {0};
    *out_path = NULL;
    if (dir && *dir) {
        tgi_strbuf_add(&path, dir);
        strip_trailing_slashes(&path);
    } else if ((dir = env_directory("XDG_CACHE_HOME"))) {
        tgi_strbuf_addf(&path, "%s/tgjit", dir);
    } else if ((dir = home_directory())) {
        tgi_strbuf_addf(&path, "%s/.cache/tgjit", dir);
    } else {
        return TG_OK;
    }
    *out_path = tgi_strbuf_take(&path);
    return *out_path ? TG_OK : tgi_error_memory();
}

/* -- Trust ----------------------------------------------------------------- */

static tg_status reject_directory(const char *path, const char *reason)
{
    TGI_FAIL(TG_ERROR_FILE, TGI_NO_SITE, "the cache %s %s", path, reason);
}

/* O_NOFOLLOW checks the last component only: "link/.." would open the parent of
   the link's target. */
static bool ends_in_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, "..") == 0;
}

static tg_status fail_open(const char *path, int reason)
{
    char text[128];
    if (reason == ENOTDIR || reason == ELOOP)
        return reject_directory(path,
                                "is not a directory, or is a symbolic link");
    TGI_FAIL(TG_ERROR_FILE, TGI_NO_SITE, "the cache %s cannot be opened: %s",
             path, strerror_r(reason, text, sizeof(text)));
}

static tg_status check_permissions(const char *path, const struct stat *s)
{
    if (s->st_uid != geteuid())
        return reject_directory(path, "belongs to another user");
    if (s->st_mode & (S_IWGRP | S_IWOTH))
        return reject_directory(path, "is writable by other users");
    return TG_OK;
}

/* Creates the directory and its missing parents. Ignores errors: the following
   open reports them. */
static tg_status create_directory(const char *path)
{
    char *part = tgi_strdup(path);
    if (!part)
        return tgi_error_memory();
    for (char *at = part + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        (void)mkdir(part, S_IRWXU);
    }
    (void)mkdir(part, S_IRWXU);
    tgi_free(part);
    return TG_OK;
}

tg_status tgi_disk_cache_dir_open(const char *path, bool creates, int *out_dir,
                                  struct stat *out_stat)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    *out_dir = -1;
    if (ends_in_parent(path))
        return reject_directory(path,
                                "ends in '..'; name the directory itself");
    int dir = open(path, flags);
    if (dir < 0 && errno == ENOENT) {
        if (!creates)
            return TG_OK;
        TGI_TRY(create_directory(path));
        dir = open(path, flags);
    }
    if (dir < 0)
        return fail_open(path, errno);
    tg_status status = fstat(dir, out_stat) == 0
                           ? check_permissions(path, out_stat)
                           : fail_open(path, errno);
    if (status != TG_OK)
        close(dir);
    else
        *out_dir = dir;
    return status;
}

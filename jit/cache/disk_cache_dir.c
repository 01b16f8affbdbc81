/* SPDX-License-Identifier: MIT */
/*
 * disk_cache_dir.c - see disk_cache_dir.h, and tgi_disk_cache_path of disk_cache.h.
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

/* -- Where it is ----------------------------------------------------------- */

/* The value of a variable that names a directory. The XDG specification has
   relative ones ignored; a setuid program has none. */
static const char *directory_of(const char *variable)
{
    const char *path = secure_getenv(variable);
    return path && path[0] == '/' ? path : NULL;
}

/* One that does not exist, as users of services have, is none. */
static const char *home(void)
{
    const char *path = directory_of("HOME");
    return path && access(path, F_OK) == 0 ? path : NULL;
}

/* Cuts slashes and dots off: a symbolic link before them would be followed. */
static void cut_end(tgi_strbuf *path)
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
        cut_end(&path);
    } else if ((dir = directory_of("XDG_CACHE_HOME"))) {
        tgi_strbuf_addf(&path, "%s/tgjit", dir);
    } else if ((dir = home())) {
        tgi_strbuf_addf(&path, "%s/.cache/tgjit", dir);
    } else {
        return TG_OK;
    }
    *out_path = tgi_strbuf_take(&path);
    return *out_path ? TG_OK : tgi_error_memory();
}

/* -- Whether it can be trusted --------------------------------------------- */

static tg_status refuse(const char *path, const char *why)
{
    TGI_FAIL(TG_ERROR_FILE, TGI_NO_SITE, "the cache %s %s", path, why);
}

/*
 * O_NOFOLLOW looks at the last component alone. Behind "link/.." it would be
 * the parent of the link's target, wherever that is.
 */
static bool ends_in_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, "..") == 0;
}

static tg_status cannot_open(const char *path, int reason)
{
    char text[128];
    if (reason == ENOTDIR || reason == ELOOP)
        return refuse(path, "is not a directory, or a symbolic link to one");
    TGI_FAIL(TG_ERROR_FILE, TGI_NO_SITE, "the cache %s cannot be opened: %s",
             path, strerror_r(reason, text, sizeof(text)));
}

static tg_status check(const char *path, const struct stat *s)
{
    if (s->st_uid != geteuid())
        return refuse(path, "belongs to another user");
    if (s->st_mode & (S_IWGRP | S_IWOTH))
        return refuse(path, "may be written to by others");
    return TG_OK;
}

/* Makes it, and what is missing above. If that fails, opening tells why. */
static tg_status make(const char *path)
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
        return refuse(path, "ends in '..': name the directory itself");
    int dir = open(path, flags);
    if (dir < 0 && errno == ENOENT) {
        if (!creates)
            return TG_OK;
        TGI_TRY(make(path));
        dir = open(path, flags);
    }
    if (dir < 0)
        return cannot_open(path, errno);
    tg_status status = fstat(dir, out_stat) == 0 ? check(path, out_stat)
                                                 : cannot_open(path, errno);
    if (status != TG_OK)
        close(dir);
    else
        *out_dir = dir;
    return status;
}

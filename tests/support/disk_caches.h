/* SPDX-License-Identifier: MIT */
/*
 * disk_caches.h - for tests of the disk cache: a private directory, caches in
 * it, a log that counts warnings, and entries as files.
 */
#ifndef TGI_TEST_DISK_CACHES_H
#define TGI_TEST_DISK_CACHES_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cache/disk_cache_entry.h"
#include "support/support.h"

enum { NOBODY = 65534, ROOM = 1 << 20 };

/* -- A place --------------------------------------------------------------- */

typedef struct place {
    char home[64]; /* created and removed by the test */
    char dir[96];  /* cache directory below it, not created yet */
    tgi_log log;
    int n_warnings;
} place;

static inline void count_warnings(tg_log_level level, const char *component,
                                  const char *message, void *user)
{
    place *p = user;
    (void)message;
    if (strcmp(component, "cache") == 0 && level == TG_LOG_WARN)
        p->n_warnings++;
}

static inline void place_begin(place *p)
{
    memset(p, 0, sizeof(*p));
    strcpy(p->home, "/tmp/tgjit-test-XXXXXX");
    cr_assert_not_null(mkdtemp(p->home));
    snprintf(p->dir, sizeof(p->dir), "%s/store", p->home);
    tgi_log_init(&p->log, TG_LOG_DEBUG, count_warnings, p);
}

static inline int remove_one(const char *path, const struct stat *s, int kind,
                             struct FTW *where)
{
    (void)s, (void)kind, (void)where;
    return remove(path);
}

static inline void place_end(place *p)
{
    cr_assert_eq(nftw(p->home, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
    check_nothing_is_alive();
}

static inline tgi_disk_cache *open_cache_at(int line, const place *p,
                                            tgi_disk_cache_mode mode,
                                            uint64_t max_bytes)
{
    tgi_disk_cache *cache = NULL;
    const tg_status status =
        tgi_disk_cache_open(p->dir, mode, max_bytes, &cache);
    cr_assert_eq(status, TG_OK, "line %d: %s", line, tg_error(NULL));
    cr_assert_not_null(cache, "line %d", line);
    return cache;
}
#define open_cache(p, mode) open_cache_at(__LINE__, p, mode, ROOM)

/* -- Entries --------------------------------------------------------------- */

static inline tgi_byte_span text(const char *string)
{
    return (tgi_byte_span){string, strlen(string)};
}

static inline bool save(place *p, tgi_disk_cache *cache, const char *key,
                        const char *value)
{
    return tgi_disk_cache_save(cache, text(key), text(value), &p->log);
}

/* True if the key has this value (NULL: none). */
static inline bool holds(place *p, tgi_disk_cache *cache, const char *key,
                         const char *value)
{
    size_t n;
    char *found = tgi_disk_cache_load(cache, text(key), &p->log, &n);
    const bool is_right =
        value ? found && n == strlen(value) && memcmp(found, value, n) == 0
              : !found && n == 0;
    tgi_free(found);
    return is_right;
}

static inline tg_cache_counters counts_of(const tgi_disk_cache *cache)
{
    tg_cache_counters counts;
    tgi_disk_cache_counters(cache, &counts);
    return counts;
}

/* -- Files ----------------------------------------------------------------- */

/* The path of the file of a key. Valid for the next three calls. */
static inline const char *path_of(const place *p, const char *key)
{
    static char paths[4][192];
    static int next;
    char name[TGI_CACHE_ENTRY_NAME_BYTES];
    tgi_cache_entry_name(text(key), name);
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", p->dir, name);
    return path;
}

static inline bool is_there(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0;
}

static inline size_t read_bytes(const char *path, unsigned char *to,
                                size_t room)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    const size_t n = fread(to, 1, room, file);
    fclose(file);
    return n;
}

static inline void write_bytes(const char *path, const void *data, size_t n)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file, "%s", path);
    cr_assert_eq(fwrite(data, 1, n, file), n);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(chmod(path, 0600), 0);
}

/* Sets the time of last use to this many seconds ago. */
static inline void set_age(const char *path, long seconds)
{
    const struct timespec when = {.tv_sec = time(NULL) - seconds};
    const struct timespec times[2] = {when, when};
    cr_assert_eq(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static inline long age_of(const char *path)
{
    struct stat s;
    cr_assert_eq(lstat(path, &s), 0, "%s", path);
    return (long)(time(NULL) - s.st_mtime);
}

/* Number of files in the directory, whatever their names. */
static inline size_t n_files(const char *dir)
{
    size_t n = 0;
    DIR *stream = opendir(dir);
    cr_assert_not_null(stream, "%s", dir);
    for (struct dirent *found; (found = readdir(stream));)
        n +=
            strcmp(found->d_name, ".") != 0 && strcmp(found->d_name, "..") != 0;
    closedir(stream);
    return n;
}

/* Gives up root privileges, which override permissions. */
static inline void become_user(const place *p)
{
    if (geteuid() != 0)
        return;
    cr_assert_eq(chown(p->home, NOBODY, NOBODY), 0);
    cr_assert_eq(setresuid(NOBODY, NOBODY, NOBODY), 0);
}

#endif /* TGI_TEST_DISK_CACHES_H */

/* SPDX-License-Identifier: MIT */
/*
 * test_disk_cache_dir.c - the directory of a disk cache: its default location,
 * how it is created, which directories are rejected, and read-only ones.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "support/disk_caches.h"

/* -- Location -------------------------------------------------------------- */

static void check_path_at(int line, const char *dir, const char *expected)
{
    char *path = NULL;
    cr_assert_eq(tgi_disk_cache_path(dir, &path), TG_OK);
    if (expected)
        cr_assert_str_eq(path, expected, "line %d: %s", line, path);
    else
        cr_assert_null(path, "line %d: %s", line, path);
    tgi_free(path);
}
#define check_path(dir, expected) check_path_at(__LINE__, dir, expected)

Test(disk_cache_dir, the_default_follows_xdg)
{
    setenv("HOME", "/tmp", 1);
    setenv("XDG_CACHE_HOME", "/tmp/somewhere", 1);
    check_path(NULL, "/tmp/somewhere/tgjit");
    check_path("", "/tmp/somewhere/tgjit");
    setenv("XDG_CACHE_HOME", "relative", 1);
    check_path(NULL, "/tmp/.cache/tgjit");
    setenv("XDG_CACHE_HOME", "", 1);
    check_path(NULL, "/tmp/.cache/tgjit");
    unsetenv("XDG_CACHE_HOME");
    check_path(NULL, "/tmp/.cache/tgjit");
    check_path("given/", "given");
    check_path("/given//", "/given");
    check_path("/", "/");
    check_path("//", "/");
    check_path("/.", "/");
    check_path(".", ".");
    check_path("././/", ".");
    check_path("given/./.", "given");
    check_path("/given/.//./", "/given");
    check_path("/given/..", "/given/..");
    check_path("given/.hidden", "given/.hidden");
    check_path("given/dot.", "given/dot.");
    check_nothing_is_alive();
}

Test(disk_cache_dir, without_a_home_there_is_no_default)
{
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/nonexistent/home", 1);
    check_path(NULL, NULL);
    setenv("HOME", "", 1);
    check_path(NULL, NULL);
    unsetenv("HOME");
    check_path(NULL, NULL);
    check_nothing_is_alive();
}

/* -- Creation -------------------------------------------------------------- */

static mode_t mode_of(const char *path)
{
    struct stat s;
    cr_assert_eq(stat(path, &s), 0, "%s", path);
    return s.st_mode & 07777;
}

Test(disk_cache_dir, it_is_made_for_this_user_alone_with_its_parents)
{
    place p;
    place_begin(&p);
    umask(0);
    snprintf(p.dir, sizeof(p.dir), "%s/a/b/c", p.home);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    cr_assert_eq(mode_of(p.dir), 0700);
    p.dir[strlen(p.dir) - 2] = '\0';
    cr_assert_eq(mode_of(p.dir), 0700);
    strcat(p.dir, "/c");
    cr_assert(save(&p, cache, "key", "value"));
    cr_assert_eq(mode_of(path_of(&p, "key")), 0600);
    tgi_disk_cache_release(cache);
    place_end(&p);
}

Test(disk_cache_dir, read_only_mode_creates_none)
{
    place p;
    place_begin(&p);
    tgi_disk_cache *cache;
    cr_assert_eq(
        tgi_disk_cache_open(p.dir, TGI_DISK_CACHE_READ_ONLY, ROOM, &cache),
        TG_OK);
    cr_assert_null(cache);
    cr_assert_not(is_there(p.dir));
    place_end(&p);
}

/* -- Refused directories --------------------------------------------------- */

static void check_refused_at(int line, const place *p, const char *piece)
{
    static const tgi_disk_cache_mode modes[] = {TGI_DISK_CACHE_READ_ONLY,
                                                TGI_DISK_CACHE_READ_WRITE};
    for (int i = 0; i < 2; i++) {
        tgi_disk_cache *cache;
        tg_error_clear();
        cr_assert_eq(tgi_disk_cache_open(p->dir, modes[i], ROOM, &cache),
                     TG_ERROR_FILE, "line %d", line);
        cr_assert_null(cache);
        cr_assert_not_null(strstr(tg_error(NULL), piece), "line %d: %s", line,
                           tg_error(NULL));
        cr_assert_not_null(strstr(tg_error(NULL), p->dir), "line %d: %s", line,
                           tg_error(NULL));
    }
}
#define check_refused(p, piece) check_refused_at(__LINE__, p, piece)

Test(disk_cache_dir, a_symbolic_link_is_refused)
{
    place p;
    place_begin(&p);
    char target[128];
    snprintf(target, sizeof(target), "%s/target", p.home);
    cr_assert_eq(mkdir(target, 0700), 0);
    cr_assert_eq(symlink(target, p.dir), 0);
    check_refused(&p, "symbolic link");
    /* Other spellings, which the system would resolve. */
    static const char *const ends[] = {"/",   "//",   "/.",    "/./",
                                       "/.//", "/././", "/..", "/../",
                                       "/../.", "/./.."};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        char spelling[256], *path;
        tgi_disk_cache *cache;
        snprintf(spelling, sizeof(spelling), "%s%s", p.dir, ends[i]);
        cr_assert_eq(tgi_disk_cache_path(spelling, &path), TG_OK);
        cr_assert_eq(
            tgi_disk_cache_open(path, TGI_DISK_CACHE_READ_WRITE, ROOM, &cache),
            TG_ERROR_FILE, "%s", spelling);
        cr_assert_null(cache);
        tgi_free(path);
    }
    /* A dangling link is not turned into a directory. */
    cr_assert_eq(rmdir(target), 0);
    check_refused(&p, "symbolic link");
    cr_assert_not(is_there(target));
    place_end(&p);
}

/* As written by a user. */
Test(disk_cache_dir, a_link_in_any_spelling_is_refused_by_name)
{
    place p;
    place_begin(&p);
    char target[128], spelling[256];
    snprintf(target, sizeof(target), "%s/target", p.home);
    cr_assert_eq(mkdir(target, 0700), 0);
    cr_assert_eq(symlink(target, p.dir), 0);
    static const char *const ends[] = {"", "/.", "/./", "/.."};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        tg_cache_report report = TG_CACHE_REPORT_INIT;
        snprintf(spelling, sizeof(spelling), "%s%s", p.dir, ends[i]);
        cr_assert_eq(tg_cache_verify(spelling, false, &report), TG_ERROR_FILE,
                     "%s", spelling);
    }
    place_end(&p);
}

Test(disk_cache_dir, one_that_others_may_write_to_is_refused)
{
    place p;
    place_begin(&p);
    static const mode_t modes[] = {0720, 0702, 0770, 01777};
    cr_assert_eq(mkdir(p.dir, 0700), 0);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(chmod(p.dir, modes[i]), 0);
        check_refused(&p, "writable by other users");
    }
    cr_assert_eq(chmod(p.dir, 0755), 0);
    tgi_disk_cache_release(open_cache(&p, TGI_DISK_CACHE_READ_WRITE));
    place_end(&p);
}

Test(disk_cache_dir, another_users_is_refused)
{
    if (geteuid() != 0)
        cr_skip_test("only root can give directories away");
    place p;
    place_begin(&p);
    cr_assert_eq(mkdir(p.dir, 0700), 0);
    cr_assert_eq(chown(p.dir, NOBODY, NOBODY), 0);
    check_refused(&p, "another user");
    place_end(&p);
}

Test(disk_cache_dir, a_file_is_refused)
{
    place p;
    place_begin(&p);
    write_bytes(p.dir, "", 0);
    check_refused(&p, "is not a directory");
    place_end(&p);
}

Test(disk_cache_dir, one_that_cannot_be_made_is_refused)
{
    place p;
    place_begin(&p);
    char file[128];
    snprintf(file, sizeof(file), "%s/file", p.home);
    write_bytes(file, "", 0);
    snprintf(p.dir, sizeof(p.dir), "%s/file/store", p.home);
    check_refused(&p, "is not a directory");
    place_end(&p);
}

/* -- Directories that cannot be written to --------------------------------- */

/* The cache has one entry, "old". Whatever is tried, results are the same
   and there is one warning. */
static void check_reads_but_does_not_write(place *p, tgi_disk_cache *cache,
                                           const char *value)
{
    for (int i = 0; i < 3; i++) {
        cr_assert_not(save(p, cache, "new", value));
        cr_assert(holds(p, cache, "new", NULL));
        cr_assert(holds(p, cache, "old", "value"));
    }
    cr_assert_eq(p->n_warnings, 1);
    cr_assert_eq(n_files(p->dir), 1);
    cr_assert_eq(counts_of(cache).bad, 0);
}

Test(disk_cache_dir, one_without_permission_to_write_is_only_read)
{
    place p;
    place_begin(&p);
    become_user(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    cr_assert(save(&p, cache, "old", "value"));
    set_age(path_of(&p, "old"), 7200);
    cr_assert_eq(chmod(p.dir, 0500), 0);
    check_reads_but_does_not_write(&p, cache, "value");
    tgi_disk_cache_release(cache);
    cr_assert_eq(chmod(p.dir, 0700), 0);
    nftw(p.home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    check_nothing_is_alive();
}

/* Mounts a separate file system at the cache directory. */
static void mount_at(const place *p, unsigned long flags, const char *data)
{
    cr_assert_eq(mkdir(p->dir, 0700), 0);
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", p->dir, "tmpfs", flags, data) != 0) {
        rmdir(p->dir);
        rmdir(p->home);
        cr_skip_test("file systems may not be mounted here");
    }
}

Test(disk_cache_dir, on_a_read_only_file_system_it_is_only_read)
{
    place p;
    place_begin(&p);
    mount_at(&p, 0, "size=1M,mode=0700");
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    cr_assert(save(&p, cache, "old", "value"));
    set_age(path_of(&p, "old"), 7200);
    cr_assert_eq(
        mount("none", p.dir, "tmpfs", MS_REMOUNT | MS_RDONLY, "mode=0700"), 0);
    check_reads_but_does_not_write(&p, cache, "value");
    tgi_disk_cache_release(cache);
    cr_assert_eq(umount(p.dir), 0);
    place_end(&p);
}

enum { LARGE = 100000 };

static const char *large_value(void)
{
    static char value[LARGE + 1];
    memset(value, 'v', LARGE);
    return value;
}

Test(disk_cache_dir, on_a_full_disk_it_is_only_read)
{
    place p;
    place_begin(&p);
    mount_at(&p, 0, "size=64k,mode=0700");
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    cr_assert(save(&p, cache, "old", "value"));
    check_reads_but_does_not_write(&p, cache, large_value());
    cr_assert(save(&p, cache, "small", "value"), "there is room for that");
    tgi_disk_cache_release(cache);
    cr_assert_eq(umount(p.dir), 0);
    place_end(&p);
}

Test(disk_cache_dir, the_limit_of_file_sizes_raises_no_signal)
{
    place p;
    place_begin(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    cr_assert(save(&p, cache, "old", "value"));
    struct rlimit before, limit;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = LARGE / 2;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    check_reads_but_does_not_write(&p, cache, large_value());
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    tgi_disk_cache_release(cache);
    place_end(&p);
}

Test(disk_cache_dir, one_that_is_removed_holds_nothing)
{
    place p;
    place_begin(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    cr_assert_eq(rmdir(p.dir), 0);
    cr_assert_not(save(&p, cache, "key", "value"));
    cr_assert(holds(&p, cache, "key", NULL));
    cr_assert_leq(p.n_warnings, 1);
    tgi_disk_cache *again = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    cr_assert_neq(again, cache, "it is another directory");
    cr_assert(save(&p, again, "key", "value"));
    tgi_disk_cache_release(cache);
    tgi_disk_cache_release(again);
    place_end(&p);
}

/* SPDX-License-Identifier: MIT */
/*
 * test_disk_cache_admin.c - the functions of tgjit/cache.h, and the related
 * context options.
 */
#include "front/object/context_object.h"
#include "support/api.h"
#include "support/disk_caches.h"

/* -- Lists ----------------------------------------------------------------- */

typedef struct shown {
    char lines[4096]; /* descriptions */
    uint64_t bytes;
    int n, most;
    int64_t last_use;
} shown;

static bool keep_entry(const tg_cache_entry *entry, void *user)
{
    shown *s = user;
    keep_line(s->lines, sizeof(s->lines), entry->description);
    cr_assert(tgi_cache_entry_is_name(entry->name));
    s->bytes += entry->bytes;
    s->last_use = entry->last_use;
    return ++s->n != s->most;
}

Test(disk_cache_admin, entries_are_listed_the_oldest_first)
{
    place p;
    place_begin(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    cr_assert(save(&p, cache, "b: the second\nmore of it", "value"));
    cr_assert(save(&p, cache, "c", ""));
    cr_assert(save(&p, cache, "a: \x1b[31m\ttab \xff", "a value\n"));
    set_age(path_of(&p, "a: \x1b[31m\ttab \xff"), 300);
    set_age(path_of(&p, "b: the second\nmore of it"), 200);
    set_age(path_of(&p, "c"), 100);
    shown s = {.most = 0};
    check_works(tg_cache_list(p.dir, keep_entry, &s));
    cr_assert_str_eq(s.lines, "a: ?[31m?tab ?\nb: the second\nc\n");
    cr_assert_leq(llabs((long long)(time(NULL) - 100 - s.last_use)), 2);

    size_t n_entries = 0;
    uint64_t bytes = 0;
    check_works(tg_cache_size(p.dir, &n_entries, &bytes));
    cr_assert_eq(n_entries, 3);
    cr_assert_eq(bytes, s.bytes);
    check_works(tg_cache_size(p.dir, NULL, NULL));

    s = (shown){.most = 2};
    check_works(tg_cache_list(p.dir, keep_entry, &s));
    cr_assert_eq(s.n, 2, "the visitor has seen enough");
    tgi_disk_cache_release(cache);
    place_end(&p);
}

Test(disk_cache_admin, damaged_entries_are_listed_too)
{
    place p;
    place_begin(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    write_bytes(path_of(&p, "empty"), "", 0);
    char zeros[100] = {0};
    write_bytes(path_of(&p, "zeros"), zeros, sizeof(zeros));
    shown s = {.most = 0};
    check_works(tg_cache_list(p.dir, keep_entry, &s));
    cr_assert_str_eq(s.lines, "\n\n");
    tgi_disk_cache_release(cache);
    place_end(&p);
}

/* -- Verify and clear ------------------------------------------------------ */

static tg_cache_report verify(const place *p, bool deletes)
{
    tg_cache_report report = TG_CACHE_REPORT_INIT;
    report.good = 1000; /* is overwritten */
    check_works(tg_cache_verify(p->dir, deletes, &report));
    return report;
}

Test(disk_cache_admin, verify_counts_and_removes_bad_entries)
{
    place p;
    place_begin(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    char key[16];
    for (int i = 0; i < 8; i++) {
        snprintf(key, sizeof(key), "%d", i);
        cr_assert(save(&p, cache, key, "value"));
    }
    tg_cache_report r = verify(&p, false);
    cr_assert(r.good == 8 && !r.bad && !r.foreign && !r.unread);

    unsigned char file[128];
    size_t n = read_bytes(path_of(&p, "0"), file, sizeof(file));
    write_bytes(path_of(&p, "0"), file, n - 1); /* truncated */
    file[n - 1] ^= 1;
    write_bytes(path_of(&p, "1"), file, n); /* a flipped bit */
    cr_assert_eq(rename(path_of(&p, "2"), path_of(&p, "x")), 0);
    cr_assert_eq(chmod(path_of(&p, "3"), 0666), 0);
    cr_assert_eq(unlink(path_of(&p, "4")), 0);
    cr_assert_eq(symlink(path_of(&p, "5"), path_of(&p, "4")), 0);
    file[8]++;
    write_bytes(path_of(&p, "6"), file, n); /* another version */
    r = verify(&p, false);
    cr_assert(r.good == 2 && r.bad == 5 && r.foreign == 1 && !r.unread);
    cr_assert_eq(n_files(p.dir), 8);
    r = verify(&p, true);
    cr_assert(r.good == 2 && r.bad == 5);
    cr_assert_eq(n_files(p.dir), 3);
    r = verify(&p, true);
    cr_assert(r.good == 2 && !r.bad && r.foreign == 1);
    tgi_disk_cache_release(cache);
    place_end(&p);
}

Test(disk_cache_admin, unreadable_entries_do_not_count_as_bad)
{
    place p;
    place_begin(&p);
    become_user(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    cr_assert(save(&p, cache, "key", "value"));
    cr_assert_eq(chmod(path_of(&p, "key"), 0), 0);
    tg_cache_report r = verify(&p, true);
    cr_assert(!r.good && !r.bad && r.unread == 1);
    cr_assert_eq(n_files(p.dir), 1);
    tgi_disk_cache_release(cache);
    nftw(p.home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    check_nothing_is_alive();
}

Test(disk_cache_admin, clear_removes_entries_and_nothing_else)
{
    place p;
    place_begin(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    cr_assert(save(&p, cache, "a", "value"));
    cr_assert(save(&p, cache, "b", "value"));
    char other[128];
    static const char *const names[] = {
        "tmp-1-7", "tmp-0-7", "tmp-4294967297-7", "tmp-1-7x", "README",
        "0123.tgjit",
        "0123456789ABCDEF0123456789abcdef.tgjit", /* upper-case letters are
                                                     not ours */
        "0123456789abcdef0123456789abcdef.tgjit~"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(other, sizeof(other), "%s/%s", p.dir, names[i]);
        write_bytes(other, "", 0);
    }
    check_works(tg_cache_clear(p.dir));
    cr_assert_eq(n_files(p.dir), 7, "but the temporary file");
    cr_assert(holds(&p, cache, "a", NULL));
    cr_assert(save(&p, cache, "a", "again"));
    cr_assert(holds(&p, cache, "a", "again"));
    tgi_disk_cache_release(cache);
    place_end(&p);
}

Test(disk_cache_admin, an_entry_that_cannot_be_removed_is_an_error)
{
    place p;
    place_begin(&p);
    become_user(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    cr_assert(save(&p, cache, "good", "value"));
    write_bytes(path_of(&p, "bad"), "bad", 3);
    cr_assert_eq(chmod(p.dir, 0500), 0);
    tg_cache_report report = TG_CACHE_REPORT_INIT;
    check_fails(tg_cache_verify(p.dir, true, &report), TG_ERROR_FILE,
                "cannot remove an entry", "denied");
    cr_assert(report.good == 1 && report.bad == 1);
    check_fails(tg_cache_clear(p.dir), TG_ERROR_FILE, p.dir,
                "cannot remove an entry", "denied");
    cr_assert_eq(chmod(p.dir, 0700), 0);
    cr_assert_eq(n_files(p.dir), 2);
    tgi_disk_cache_release(cache);
    nftw(p.home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    check_nothing_is_alive();
}

Test(disk_cache_admin, what_is_being_written_is_no_entry)
{
    place p;
    place_begin(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    char temporary[128];
    cr_assert(save(&p, cache, "a", "value"));
    snprintf(temporary, sizeof(temporary), "%s/tmp-%d-1000000", p.dir,
             (int)getppid());
    write_bytes(temporary, "part", 4);
    shown s = {.most = 0};
    check_works(tg_cache_list(p.dir, keep_entry, &s));
    cr_assert_eq(s.n, 1);
    const tg_cache_report r = verify(&p, true);
    cr_assert(r.good == 1 && !r.bad && !r.foreign && !r.unread);
    cr_assert_eq(n_files(p.dir), 2);
    tgi_disk_cache_release(cache);
    place_end(&p);
}

/* -- Directories ----------------------------------------------------------- */

static bool count_entry(const tg_cache_entry *entry, void *user)
{
    (void)entry;
    ++*(int *)user;
    return true;
}

Test(disk_cache_admin, a_missing_directory_is_empty)
{
    place p;
    place_begin(&p);
    int n = 0;
    size_t n_entries = 1;
    uint64_t bytes = 1;
    check_works(tg_cache_list(p.dir, count_entry, &n));
    check_works(tg_cache_size(p.dir, &n_entries, &bytes));
    check_works(tg_cache_clear(p.dir));
    cr_assert(!n && !n_entries && !bytes && !verify(&p, true).good);
    cr_assert_not(is_there(p.dir));
    place_end(&p);
}

static void check_all_fail_at(int line, const char *dir, const char *piece)
{
    int n = 0;
    tg_cache_report report = TG_CACHE_REPORT_INIT;
    const char *const pieces[] = {piece, NULL};
    check_failure_at(line, tg_cache_list(dir, count_entry, &n), TG_ERROR_FILE,
                     pieces);
    check_failure_at(line, tg_cache_verify(dir, true, &report), TG_ERROR_FILE,
                     pieces);
    check_failure_at(line, tg_cache_clear(dir), TG_ERROR_FILE, pieces);
    check_failure_at(line, tg_cache_size(dir, NULL, NULL), TG_ERROR_FILE,
                     pieces);
}
#define check_all_fail(dir, piece) check_all_fail_at(__LINE__, dir, piece)

Test(disk_cache_admin, a_hostile_directory_is_refused)
{
    place p;
    place_begin(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    cr_assert(save(&p, cache, "key", "value"));
    cr_assert_eq(chmod(p.dir, 0770), 0);
    check_all_fail(p.dir, "writable by other users");
    cr_assert_eq(n_files(p.dir), 1);
    tgi_disk_cache_release(cache);
    place_end(&p);
}

Test(disk_cache_admin, the_environment_names_the_directory)
{
    place p;
    place_begin(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    cr_assert(save(&p, cache, "key", "value"));
    size_t n_entries = 0;
    setenv("TGJIT_CACHE_DIR", p.dir, 1);
    check_works(tg_cache_size(NULL, &n_entries, NULL));
    cr_assert_eq(n_entries, 1);
    unsetenv("TGJIT_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    check_all_fail(NULL, "HOME");
    tgi_disk_cache_release(cache);
    place_end(&p);
}

Test(disk_cache_admin, wrong_arguments_are_refused)
{
    place p;
    place_begin(&p);
    session s;
    session_begin(&s);
    tg_cache_report report = {0};
    tg_cache_counters counts = {0};
    check_fails(tg_cache_list(p.dir, NULL, NULL), TG_ERROR_INVALID_ARGUMENT,
                "callback is NULL");
    check_fails(tg_cache_verify(p.dir, true, NULL), TG_ERROR_INVALID_ARGUMENT,
                "out_report is NULL");
    check_fails(tg_cache_verify(p.dir, true, &report),
                TG_ERROR_INVALID_ARGUMENT, "struct_bytes is 0");
    check_fails(tg_cache_counts(s.ctx, NULL), TG_ERROR_INVALID_ARGUMENT,
                "out_counts is NULL");
    check_fails(tg_cache_counts(s.ctx, &counts), TG_ERROR_INVALID_ARGUMENT,
                "struct_bytes is 0");
    counts.struct_bytes = sizeof(counts);
    check_fails(tg_cache_counts(NULL, &counts), TG_ERROR_INVALID_ARGUMENT,
                "context is NULL");
    cr_assert_str_eq(tg_error_last()->function, "tg_cache_counts");
    tg_context_release(s.ctx);
    place_end(&p);
}

static bool fault_scenario(void)
{
    int n = 0;
    tg_cache_report report = TG_CACHE_REPORT_INIT;
    return tg_cache_list(NULL, count_entry, &n) == TG_OK &&
           tg_cache_verify(NULL, true, &report) == TG_OK &&
           tg_cache_size(NULL, NULL, NULL) == TG_OK;
}

Test(disk_cache_admin, out_of_memory_is_an_error)
{
    place p;
    place_begin(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    cr_assert(save(&p, cache, "key", "value"));
    tgi_disk_cache_release(cache);
    setenv("TGJIT_CACHE_DIR", p.dir, 1);
    check_every_fault(fault_scenario);
    cr_assert_eq(n_files(p.dir), 1, "what was not read is not bad");
    place_end(&p);
}

/* -- Contexts -------------------------------------------------------------- */

static tg_cache_counters counters_of(tg_context *ctx)
{
    tg_cache_counters counts = TG_CACHE_COUNTERS_INIT;
    check_works(tg_cache_counts(ctx, &counts));
    cr_assert_eq(counts.struct_bytes, sizeof(counts));
    return counts;
}

Test(disk_cache_admin, a_context_opens_its_cache_when_it_is_needed)
{
    place p;
    place_begin(&p);
    session s;
    session_begin_with(&s,
                       (tg_context_options){.cache = "rw", .cache_dir = p.dir});
    cr_assert_eq(counters_of(s.ctx).misses, 0);
    cr_assert_not(is_there(p.dir));
    tgi_disk_cache *cache = tgi_context_disk_cache(s.ctx);
    cr_assert_not_null(cache);
    cr_assert(is_there(p.dir));
    cr_assert(save(&p, cache, "key", "value"));
    cr_assert(holds(&p, cache, "key", "value"));
    cr_assert(holds(&p, cache, "other", NULL));
    const tg_cache_counters c = counters_of(s.ctx);
    cr_assert(c.hits == 1 && c.misses == 1 && c.saves == 1);

    /* Another context with the same settings shares the cache. */
    session t;
    session_begin_with(&t,
                       (tg_context_options){.cache = "rw", .cache_dir = p.dir});
    cr_assert_eq(tgi_context_disk_cache(t.ctx), cache);
    tg_context_release(t.ctx);
    cr_assert_eq(tgi_context_disk_cache(s.ctx), cache);
    tg_context_release(s.ctx);
    place_end(&p);
}

Test(disk_cache_admin, counts_of_no_version_are_refused)
{
    session s;
    session_begin(&s);
    tg_cache_counters counts;
    for (size_t bytes = 0; bytes < sizeof(counts); bytes++) {
        memset(&counts, 0xff, sizeof(counts));
        counts.struct_bytes = bytes;
        check_fails(tg_cache_counts(s.ctx, &counts), TG_ERROR_INVALID_ARGUMENT,
                    "tg_cache_counters: struct_bytes is ");
        cr_assert_eq(counts.hits, UINT64_MAX);
    }
    session_end(&s);
}

static void check_settings_at(int line, tg_context_options options,
                              tgi_disk_cache_mode mode, uint64_t max_bytes,
                              int n_warnings)
{
    session s;
    session_begin_with(&s, options);
    cr_assert_eq(s.ctx->cache.mode, mode, "line %d", line);
    cr_assert_eq(s.ctx->cache.max_bytes, max_bytes, "line %d: %llu", line,
                 (unsigned long long)s.ctx->cache.max_bytes);
    int n = 0;
    for (const char *at = s.logged; (at = strchr(at, '\n')); at++)
        n++;
    cr_assert_eq(n, n_warnings, "line %d: %s", line, s.logged);
    session_end(&s);
}
#define check_settings(...) check_settings_at(__LINE__, __VA_ARGS__)

Test(disk_cache_admin, settings_come_from_options_or_the_environment)
{
    static const struct {
        const char *text;
        uint64_t bytes;
        int n_warnings;
    } sizes[] = {
        {"0", 0, 0},
        {"1000", 1000, 0},
        {"3K", 3 << 10, 0},
        {"16M", 16 << 20, 0},
        {"2G", (uint64_t)2 << 30, 0},
        {"17179869183G", (uint64_t)17179869183 << 30, 0},
        {"17179869184G", 256 << 20, 1},
        {"99999999999999999999", 256 << 20, 1},
        {"-1", 256 << 20, 1},
        {" 1", 256 << 20, 1},
        {"K", 256 << 20, 1},
        {"1KB", 256 << 20, 1},
        {"1x", 256 << 20, 1},
        {"", 256 << 20, 0},
    };
    const tg_context_options none = {0};
    unsetenv("TGJIT_CACHE");
    unsetenv("TGJIT_CACHE_MAX");
    check_settings(none, TGI_DISK_CACHE_READ_WRITE, 256 << 20, 0);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        setenv("TGJIT_CACHE_MAX", sizes[i].text, 1);
        check_settings(none, TGI_DISK_CACHE_READ_WRITE, sizes[i].bytes,
                       sizes[i].n_warnings);
    }
    check_settings((tg_context_options){.cache_max_bytes = 7},
                   TGI_DISK_CACHE_READ_WRITE, 7, 0);
    unsetenv("TGJIT_CACHE_MAX");
    static const struct {
        const char *text;
        tgi_disk_cache_mode mode;
        int n_warnings;
    } modes[] = {
        {"off", TGI_DISK_CACHE_OFF, 0},
        {"ro", TGI_DISK_CACHE_READ_ONLY, 0},
        {"rw", TGI_DISK_CACHE_READ_WRITE, 0},
        {"rw,ro", TGI_DISK_CACHE_OFF, 1},
        {"on", TGI_DISK_CACHE_OFF, 1},
        {"ro,off", TGI_DISK_CACHE_OFF, 1},
    };
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        setenv("TGJIT_CACHE", modes[i].text, 1);
        check_settings(none, modes[i].mode, 256 << 20, modes[i].n_warnings);
    }
    check_settings((tg_context_options){.cache = "rw"},
                   TGI_DISK_CACHE_READ_WRITE, 256 << 20, 0);
}

Test(disk_cache_admin, a_context_without_a_cache_warns_once)
{
    place p;
    place_begin(&p);
    write_bytes(p.dir, "", 0);
    session s;
    session_begin_with(&s,
                       (tg_context_options){.cache = "rw", .cache_dir = p.dir});
    tg_error_clear();
    for (int i = 0; i < 3; i++)
        cr_assert_null(tgi_context_disk_cache(s.ctx));
    cr_assert_not_null(strstr(s.logged, "disk cache disabled"));
    cr_assert_eq(strchr(s.logged, '\n')[1], '\0', "%s", s.logged);
    cr_assert_eq(tg_error_last()->status, TG_OK, "that is no failure");
    tg_context_release(s.ctx);

    unsetenv("TGJIT_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    session_begin_with(&s, (tg_context_options){.cache = "rw"});
    for (int i = 0; i < 3; i++)
        cr_assert_null(tgi_context_disk_cache(s.ctx));
    cr_assert_not_null(strstr(s.logged, "HOME"));
    cr_assert_eq(strchr(s.logged, '\n')[1], '\0', "%s", s.logged);
    tg_context_release(s.ctx);

    session_begin_with(&s, (tg_context_options){.cache = "off"});
    cr_assert_null(tgi_context_disk_cache(s.ctx));
    cr_assert_str_eq(s.logged, "");
    tg_context_release(s.ctx);
    place_end(&p);
}

/* SPDX-License-Identifier: MIT */
/*
 * test_disk_cache_damage.c - invalid entries: damaged in every way, of another
 * version, not regular files of this user, or unreadable.
 */
#include <sys/resource.h>

#include "base/hash.h"
#include "support/disk_caches.h"

/* -- Damage ---------------------------------------------------------------- */

/* An entry, and its valid file. */
typedef struct sample {
    place p;
    tgi_disk_cache *cache;
    const char *path;
    unsigned char file[128];
    size_t n;
} sample;

static void sample_begin(sample *s)
{
    place_begin(&s->p);
    s->cache = open_cache(&s->p, TGI_DISK_CACHE_READ_WRITE);
    cr_assert(save(&s->p, s->cache, "the key", "and its value"));
    s->path = path_of(&s->p, "the key");
    s->n = read_bytes(s->path, s->file, sizeof(s->file));
    cr_assert_eq(s->n, 48 + 7 + 13);
}

static void sample_end(sample *s)
{
    write_bytes(s->path, s->file, s->n);
    cr_assert(holds(&s->p, s->cache, "the key", "and its value"));
    tgi_disk_cache_release(s->cache);
    cr_assert_eq(s->p.n_warnings, 0);
    place_end(&s->p);
}

/* True if these bytes are rejected as an entry, counted and deleted. */
static bool is_removed(sample *s, const unsigned char *file, size_t n)
{
    const uint64_t n_bad = counts_of(s->cache).bad;
    write_bytes(s->path, file, n);
    return holds(&s->p, s->cache, "the key", NULL) && !is_there(s->path) &&
           counts_of(s->cache).bad == n_bad + 1;
}

/* True if they are rejected but kept, as of another version. */
static bool is_passed_over(sample *s, const unsigned char *file, size_t n)
{
    const uint64_t n_bad = counts_of(s->cache).bad;
    write_bytes(s->path, file, n);
    return holds(&s->p, s->cache, "the key", NULL) && is_there(s->path) &&
           counts_of(s->cache).bad == n_bad;
}

Test(disk_cache_damage, every_flipped_bit_is_refused)
{
    sample s;
    sample_begin(&s);
    for (size_t bit = 0; bit < 8 * s.n; bit++) {
        unsigned char file[sizeof(s.file)];
        memcpy(file, s.file, s.n);
        file[bit / 8] ^= (unsigned char)(1 << bit % 8);
        const bool is_version = bit / 8 >= 8 && bit / 8 < 12;
        cr_assert(is_version ? is_passed_over(&s, file, s.n)
                             : is_removed(&s, file, s.n),
                  "bit %zu", bit);
    }
    sample_end(&s);
}

Test(disk_cache_damage, every_truncation_is_refused)
{
    sample s;
    sample_begin(&s);
    for (size_t n = 0; n < s.n; n++)
        cr_assert(is_removed(&s, s.file, n), "%zu bytes", n);
    for (size_t n = s.n + 1; n < sizeof(s.file); n++)
        cr_assert(is_removed(&s, s.file, n), "%zu bytes", n);
    sample_end(&s);
}

/* Sets the sizes in the header, and a valid checksum. */
static void forge(sample *s, unsigned char *file, uint32_t header_bytes,
                  uint64_t key_bytes, uint64_t value_bytes)
{
    memcpy(file, s->file, sizeof(s->file));
    memcpy(file + 12, &header_bytes, 4);
    memcpy(file + 32, &key_bytes, 8);
    memcpy(file + 40, &value_bytes, 8);
    const tgi_hash128 sum = tgi_hash_128(file + 32, s->n - 32);
    memcpy(file + 16, sum.bytes, 16);
}

Test(disk_cache_damage, sizes_are_validated_even_if_the_checksum_matches)
{
    static const struct {
        uint32_t header;
        uint64_t key, value;
    } cases[] = {
        {48, 8, 13},          {48, 7, 12},
        {48, UINT64_MAX, 21}, {48, UINT64_MAX - 47, 13},
        {48, 7, UINT64_MAX},  {47, 7, 13},
        {49, 7, 12},          {48, (uint64_t)1 << 63, (uint64_t)1 << 63},
    };
    sample s;
    sample_begin(&s);
    unsigned char file[sizeof(s.file)];
    forge(&s, file, 48, 7, 13);
    cr_assert_eq(memcmp(file, s.file, s.n), 0, "forging works");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        forge(&s, file, cases[i].header, cases[i].key, cases[i].value);
        cr_assert(is_removed(&s, file, s.n), "case %zu", i);
    }
    sample_end(&s);
}

Test(disk_cache_damage, a_file_far_too_large_is_not_read)
{
    sample s;
    sample_begin(&s);
    const uint64_t bytes = (uint64_t)1 << 40;
    unsigned char file[sizeof(s.file)];
    forge(&s, file, 48, 7, bytes - 48 - 7);
    write_bytes(s.path, file, s.n);
    cr_assert_eq(truncate(s.path, (off_t)bytes), 0);
    cr_assert(holds(&s.p, s.cache, "the key", NULL));
    cr_assert_not(is_there(s.path));
    sample_end(&s);
}

Test(disk_cache_damage, another_version_is_passed_over_and_overwritten)
{
    sample s;
    sample_begin(&s);
    unsigned char file[sizeof(s.file)];
    memcpy(file, s.file, s.n);
    file[8]++;
    cr_assert(is_passed_over(&s, file, s.n));
    cr_assert(is_passed_over(&s, file, 12), "its header may be another");
    cr_assert(save(&s.p, s.cache, "the key", "new"));
    cr_assert(holds(&s.p, s.cache, "the key", "new"));
    sample_end(&s);
}

Test(disk_cache_damage, who_only_reads_removes_nothing)
{
    sample s;
    sample_begin(&s);
    tgi_disk_cache *reader = open_cache(&s.p, TGI_DISK_CACHE_READ_ONLY);
    cr_assert(holds(&s.p, reader, "the key", "and its value"));
    cr_assert_not(save(&s.p, reader, "other", "value"));
    write_bytes(s.path, s.file, s.n - 1);
    cr_assert(holds(&s.p, reader, "the key", NULL));
    cr_assert(is_there(s.path));
    cr_assert_eq(counts_of(reader).bad, 1);
    cr_assert_eq(n_files(s.p.dir), 1);
    tgi_disk_cache_release(reader);
    sample_end(&s);
}

/* -- Files that are not ours ----------------------------------------------- */

Test(disk_cache_damage, a_symbolic_link_is_no_entry)
{
    sample s;
    sample_begin(&s);
    char target[128];
    snprintf(target, sizeof(target), "%s/target", s.p.home);
    cr_assert_eq(rename(s.path, target), 0);
    cr_assert_eq(symlink(target, s.path), 0);
    cr_assert(holds(&s.p, s.cache, "the key", NULL));
    cr_assert_eq(counts_of(s.cache).bad, 1);
    /* The link is replaced; its target is not touched. */
    cr_assert(save(&s.p, s.cache, "the key", "and its value"));
    cr_assert(holds(&s.p, s.cache, "the key", "and its value"));
    unsigned char file[sizeof(s.file)];
    cr_assert_eq(read_bytes(target, file, sizeof(file)), s.n);
    cr_assert_eq(memcmp(file, s.file, s.n), 0);
    sample_end(&s);
}

Test(disk_cache_damage, a_file_that_others_may_write_is_no_entry)
{
    sample s;
    sample_begin(&s);
    static const mode_t modes[] = {0620, 0602, 0666};
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(chmod(s.path, modes[i]), 0);
        cr_assert(holds(&s.p, s.cache, "the key", NULL));
    }
    cr_assert_eq(chmod(s.path, 0644), 0);
    cr_assert(holds(&s.p, s.cache, "the key", "and its value"));
    cr_assert_eq(counts_of(s.cache).bad, 3);
    sample_end(&s);
}

Test(disk_cache_damage, another_users_file_is_no_entry)
{
    if (geteuid() != 0)
        cr_skip_test("only root can give files away");
    sample s;
    sample_begin(&s);
    cr_assert_eq(chown(s.path, NOBODY, NOBODY), 0);
    cr_assert(holds(&s.p, s.cache, "the key", NULL));
    cr_assert_eq(counts_of(s.cache).bad, 1);
    cr_assert(save(&s.p, s.cache, "the key", "and its value"));
    sample_end(&s);
}

Test(disk_cache_damage, pipes_and_directories_are_no_entries, .timeout = 60)
{
    place p;
    place_begin(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    cr_assert_eq(mkfifo(path_of(&p, "pipe"), 0600), 0);
    cr_assert_eq(mkdir(path_of(&p, "dir"), 0700), 0);
    cr_assert(holds(&p, cache, "pipe", NULL));
    cr_assert(holds(&p, cache, "dir", NULL));
    cr_assert_eq(counts_of(cache).bad, 2);
    cr_assert(save(&p, cache, "pipe", "value"));
    cr_assert(holds(&p, cache, "pipe", "value"));
    cr_assert_eq(p.n_warnings, 0);
    for (int i = 0; i < 3; i++)
        cr_assert_not(save(&p, cache, "dir", "value"));
    cr_assert_eq(p.n_warnings, 1, "of what cannot be written, once");
    cr_assert_eq(n_files(p.dir), 2, "nothing is left behind");
    tgi_disk_cache_release(cache);
    place_end(&p);
}

/* -- Failures that do not depend on the entry ------------------------------ */

Test(disk_cache_damage, an_error_of_the_system_removes_nothing)
{
    sample s;
    sample_begin(&s);
    struct rlimit before, none;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int i = 0; i < 3; i++) {
        cr_assert(holds(&s.p, s.cache, "the key", NULL));
        cr_assert_not(save(&s.p, s.cache, "the key", "and its value"));
    }
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    cr_assert_eq(s.p.n_warnings, 1);
    cr_assert_eq(counts_of(s.cache).bad, 0);
    cr_assert(holds(&s.p, s.cache, "the key", "and its value"));
    s.p.n_warnings = 0;
    sample_end(&s);
}

Test(disk_cache_damage, an_entry_that_may_not_be_read_is_left_alone)
{
    place p;
    place_begin(&p);
    become_user(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    cr_assert(save(&p, cache, "key", "value"));
    cr_assert_eq(chmod(path_of(&p, "key"), 0), 0);
    cr_assert(holds(&p, cache, "key", NULL));
    cr_assert(holds(&p, cache, "key", NULL));
    cr_assert_eq(p.n_warnings, 1);
    cr_assert_eq(chmod(path_of(&p, "key"), 0400), 0);
    cr_assert(holds(&p, cache, "key", "value"));
    cr_assert_eq(counts_of(cache).bad, 0);
    tgi_disk_cache_release(cache);
    nftw(p.home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    check_nothing_is_alive();
}

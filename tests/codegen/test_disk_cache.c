/* SPDX-License-Identifier: MIT */
/*
 * test_disk_cache.c - entries of a disk cache: saved, found, used, evicted and
 * left behind. test_disk_cache_damage.c tests damaged entries,
 * test_disk_cache_dir.c the directory.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "support/disk_caches.h"

/* -- Found and not found --------------------------------------------------- */

Test(disk_cache, saved_entries_are_found)
{
    place p;
    place_begin(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    static const char *const words[] = {"", "x", "a line\nand another", "end"};
    for (int k = 0; k < 4; k++)
        for (int v = 0; v < 4; v++) {
            cr_assert(save(&p, cache, words[k], words[v]));
            cr_assert(holds(&p, cache, words[k], words[v]));
        }
    cr_assert_eq(n_files(p.dir), 4);
    cr_assert(holds(&p, cache, "another", NULL));
    const tg_cache_counters c = counts_of(cache);
    cr_assert(c.hits == 16 && c.misses == 1 && c.saves == 16 && c.bad == 0 &&
              c.evictions == 0);
    tgi_disk_cache_release(cache);

    /* Also by the next process. */
    cache = open_cache(&p, TGI_DISK_CACHE_READ_ONLY);
    cr_assert(holds(&p, cache, "x", "end"));
    tgi_disk_cache_release(cache);
    cr_assert_eq(p.n_warnings, 0);
    place_end(&p);
}

Test(disk_cache, large_values_begin_where_memory_begins)
{
    enum { BYTES = 300000 };
    place p;
    place_begin(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    static unsigned char value[BYTES];
    for (size_t i = 0; i < BYTES; i++)
        value[i] = (unsigned char)(i * 7 ^ i >> 8);
    cr_assert(tgi_disk_cache_save(cache, text("odd"),
                                  (tgi_byte_span){value, BYTES}, &p.log));
    size_t n;
    unsigned char *found = tgi_disk_cache_load(cache, text("odd"), &p.log, &n);
    cr_assert_eq(n, BYTES);
    cr_assert_eq(memcmp(found, value, n), 0);
    cr_assert_eq((uintptr_t)found % 16, 0);
    tgi_free(found);
    tgi_disk_cache_release(cache);
    place_end(&p);
}

Test(disk_cache, keys_with_equal_hashes_are_distinguished)
{
    place p;
    place_begin(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    cr_assert(save(&p, cache, "one", "1"));
    cr_assert_eq(rename(path_of(&p, "one"), path_of(&p, "two")), 0);
    cr_assert(holds(&p, cache, "two", NULL));
    cr_assert_eq(rename(path_of(&p, "two"), path_of(&p, "longer")), 0);
    cr_assert(holds(&p, cache, "longer", NULL));
    cr_assert(is_there(path_of(&p, "longer")), "it is no damage");
    cr_assert_eq(counts_of(cache).bad, 0);
    cr_assert(save(&p, cache, "longer", "2"));
    cr_assert(holds(&p, cache, "longer", "2"));
    tgi_disk_cache_release(cache);
    place_end(&p);
}

Test(disk_cache, a_null_cache_is_empty)
{
    place p;
    place_begin(&p);
    cr_assert_not(save(&p, NULL, "key", "value"));
    cr_assert(holds(&p, NULL, "key", NULL));
    cr_assert_eq(counts_of(NULL).misses, 0);
    tgi_disk_cache_release(NULL);
    tgi_disk_cache *cache;
    cr_assert_eq(tgi_disk_cache_open(p.dir, TGI_DISK_CACHE_OFF, ROOM, &cache),
                 TG_OK);
    cr_assert_null(cache);
    cr_assert_not(is_there(p.dir));
    place_end(&p);
}

Test(disk_cache, equal_opens_of_a_directory_share_a_cache)
{
    place p;
    place_begin(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    tgi_disk_cache *same = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    tgi_disk_cache *reader = open_cache(&p, TGI_DISK_CACHE_READ_ONLY);
    tgi_disk_cache *bounded =
        open_cache_at(__LINE__, &p, TGI_DISK_CACHE_READ_WRITE, 100);
    cr_assert_eq(cache, same);
    cr_assert(cache != reader && cache != bounded && reader != bounded);
    tgi_disk_cache_release(cache);
    cr_assert(save(&p, same, "key", "value"));
    tgi_disk_cache_release(same);
    cr_assert(holds(&p, reader, "key", "value"));
    tgi_disk_cache_release(reader);
    tgi_disk_cache_release(bounded);
    place_end(&p);
}

/* -- Memory that is out ---------------------------------------------------- */

static char fault_dir[128];

static bool fault_scenario(void)
{
    tgi_log log;
    tgi_log_init(&log, TG_LOG_OFF, NULL, NULL);
    char *path = NULL;
    tgi_disk_cache *cache = NULL;
    size_t n = 0;
    bool good = tgi_disk_cache_path(fault_dir, &path) == TG_OK &&
                tgi_disk_cache_open(path, TGI_DISK_CACHE_READ_WRITE, ROOM,
                                    &cache) == TG_OK;
    /* A value that is not saved or not found is not a failure. */
    (void)tgi_disk_cache_save(cache, text("key"), text("value"), &log);
    void *value = tgi_disk_cache_load(cache, text("key"), &log, &n);
    cr_assert(!value || (n == 5 && memcmp(value, "value", 5) == 0));
    cr_assert_eq(counts_of(cache).bad, 0);
    tgi_free(value);
    tgi_disk_cache_release(cache);
    tgi_free(path);
    return good;
}

Test(disk_cache, memory_that_is_out_harms_no_entry)
{
    place p;
    place_begin(&p);
    snprintf(fault_dir, sizeof(fault_dir), "%s/", p.dir);
    check_every_fault(fault_scenario);
    place_end(&p);
}

/* -- Uses and room --------------------------------------------------------- */

Test(disk_cache, a_use_is_noted_once_an_hour)
{
    place p;
    place_begin(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    tgi_disk_cache *reader = open_cache(&p, TGI_DISK_CACHE_READ_ONLY);
    cr_assert(save(&p, cache, "key", "value"));
    const char *path = path_of(&p, "key");
    set_age(path, 1800);
    cr_assert(holds(&p, cache, "key", "value"));
    cr_assert_geq(age_of(path), 1800, "it was used not long ago");
    set_age(path, 7200);
    cr_assert(holds(&p, reader, "key", "value"));
    cr_assert_geq(age_of(path), 7200,
                  "a read-only cache does not update the time");
    cr_assert(holds(&p, cache, "key", "value"));
    cr_assert_lt(age_of(path), 1800);
    set_age(path, -7200);
    cr_assert(holds(&p, cache, "key", "value"));
    cr_assert_geq(age_of(path), -1800, "the clock was wrong");
    tgi_disk_cache_release(cache);
    tgi_disk_cache_release(reader);
    place_end(&p);
}

/* Size of the file of an entry with this key and value. */
static uint64_t bytes_of(const char *key, const char *value)
{
    return tgi_cache_entry_bytes(text(key), text(value));
}

Test(disk_cache, the_least_recently_used_go_first)
{
    enum { N = 16 };
    place p;
    place_begin(&p);
    const uint64_t each = bytes_of("key 00", "value");
    tgi_disk_cache *cache =
        open_cache_at(__LINE__, &p, TGI_DISK_CACHE_READ_WRITE, N * each);
    char key[N + 1][16];
    for (int i = 0; i < N; i++) {
        snprintf(key[i], sizeof(key[i]), "key %02d", i);
        cr_assert(save(&p, cache, key[i], "value"));
        set_age(path_of(&p, key[i]), 100000 - 100 * i);
    }
    cr_assert_eq(n_files(p.dir), N, "there is room for that many");
    cr_assert(holds(&p, cache, key[0], "value"));
    strcpy(key[N], "key 99");
    cr_assert(save(&p, cache, key[N], "value"));
    /* An eighth of the limit is freed. */
    cr_assert_eq(counts_of(cache).evictions, 3);
    for (int i = 0; i <= N; i++)
        cr_assert(holds(&p, cache, key[i], i < 1 || i > 3 ? "value" : NULL),
                  "%s", key[i]);
    cr_assert_eq(counts_of(cache).bad, 0);
    tgi_disk_cache_release(cache);
    place_end(&p);
}

Test(disk_cache, there_is_never_more_than_the_bound)
{
    place p;
    place_begin(&p);
    const uint64_t most = 4000;
    tgi_disk_cache *cache =
        open_cache_at(__LINE__, &p, TGI_DISK_CACHE_READ_WRITE, most);
    char key[16];
    for (int i = 0; i < 300; i++) {
        snprintf(key, sizeof(key), "%d", i);
        cr_assert(save(&p, cache, key, "a value of some length"));
        size_t n_entries;
        uint64_t bytes;
        cr_assert_eq(tgi_disk_cache_size(p.dir, &n_entries, &bytes), TG_OK);
        cr_assert_leq(bytes, most);
        cr_assert(holds(&p, cache, key, "a value of some length"));
    }
    cr_assert_gt(counts_of(cache).evictions, 200);
    tgi_disk_cache_release(cache);
    place_end(&p);
}

Test(disk_cache, one_entry_may_fill_the_room_but_not_more)
{
    place p;
    place_begin(&p);
    const uint64_t most = bytes_of("key", "value");
    tgi_disk_cache *cache =
        open_cache_at(__LINE__, &p, TGI_DISK_CACHE_READ_WRITE, most);
    cr_assert(save(&p, cache, "key", "value"));
    cr_assert(holds(&p, cache, "key", "value"));
    cr_assert_not(save(&p, cache, "key", "value!"));
    cr_assert(holds(&p, cache, "key", "value"));
    set_age(path_of(&p, "key"), 60);
    cr_assert(save(&p, cache, "kez", "value"));
    cr_assert(holds(&p, cache, "kez", "value"));
    cr_assert(holds(&p, cache, "key", NULL));
    cr_assert_eq(p.n_warnings, 0);
    tgi_disk_cache_release(cache);
    place_end(&p);
}

/* -- Files of dead writers ------------------------------------------------- */

/* A process that has exited. */
static pid_t dead_process(void)
{
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0)
        _exit(0);
    cr_assert_eq(waitpid(child, NULL, 0), child);
    return child;
}

static const char *make_temporary(const place *p, long writer, int number)
{
    static char paths[4][128];
    char *path = paths[number % 4];
    snprintf(path, sizeof(paths[0]), "%s/tmp-%ld-%d", p->dir, writer, number);
    write_bytes(path, "part", 4);
    return path;
}

Test(disk_cache, orphans_are_swept_when_something_is_saved)
{
    place p;
    place_begin(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    const char *dead = make_temporary(&p, dead_process(), 1000000);
    const char *old = make_temporary(&p, getppid(), 1000001);
    const char *alive = make_temporary(&p, getppid(), 1000002);
    set_age(old, 7200);
    char other[128];
    snprintf(other, sizeof(other), "%s/tmp-1x", p.dir);
    write_bytes(other, "mine", 4);
    set_age(other, 7200);
    cr_assert(save(&p, cache, "key", "value"));
    cr_assert_not(is_there(dead));
    cr_assert_not(is_there(old));
    cr_assert(is_there(alive));
    cr_assert(is_there(other));
    /* Not on every save, but again later. */
    dead = make_temporary(&p, dead_process(), 1000003);
    cr_assert(save(&p, cache, "key", "value"));
    cr_assert(is_there(dead));
    for (int i = 0; i < 64; i++)
        cr_assert(save(&p, cache, "key", "value"));
    cr_assert_not(is_there(dead));
    tgi_disk_cache_release(cache);
    place_end(&p);
}

Test(disk_cache, files_that_are_being_written_are_not_evicted)
{
    enum { N = 4 };
    place p;
    place_begin(&p);
    const uint64_t each = bytes_of("key 0", "value");
    tgi_disk_cache *cache =
        open_cache_at(__LINE__, &p, TGI_DISK_CACHE_READ_WRITE, N * each);
    const char *alive = make_temporary(&p, getppid(), 1000000);
    set_age(alive, 3000); /* older than all entries */
    char key[16];
    for (int i = 0; i <= N; i++) {
        snprintf(key, sizeof(key), "key %d", i);
        cr_assert(save(&p, cache, key, "value"));
        set_age(path_of(&p, key), 1000 - 100 * i);
    }
    cr_assert_gt(counts_of(cache).evictions, 0);
    cr_assert(is_there(alive));
    cr_assert(holds(&p, cache, "key 0", NULL));
    cr_assert(holds(&p, cache, "key 4", "value"));
    tgi_disk_cache_release(cache);
    place_end(&p);
}

Test(disk_cache, a_temporary_name_that_is_taken_is_passed_over)
{
    place p;
    place_begin(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    for (int i = 0; i < 3; i++)
        make_temporary(&p, getpid(), i);
    cr_assert(save(&p, cache, "key", "value"));
    cr_assert(holds(&p, cache, "key", "value"));
    cr_assert_eq(n_files(p.dir), 4);
    tgi_disk_cache_release(cache);
    place_end(&p);
}

/* -- Children and threads -------------------------------------------------- */

Test(disk_cache, a_child_may_use_it_after_fork)
{
    place p;
    place_begin(&p);
    tgi_disk_cache *cache = open_cache(&p, TGI_DISK_CACHE_READ_WRITE);
    cr_assert(save(&p, cache, "parent", "1"));
    const pid_t child = fork();
    if (child == 0)
        _exit(!(holds(&p, cache, "parent", "1") &&
                save(&p, cache, "child", "2")));
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    cr_assert(holds(&p, cache, "child", "2"));
    tgi_disk_cache_release(cache);
    place_end(&p);
}

static void *open_and_use(void *user)
{
    place *p = user;
    for (int i = 0; i < 100; i++) {
        tgi_disk_cache *cache = NULL;
        if (tgi_disk_cache_open(p->dir, TGI_DISK_CACHE_READ_WRITE, ROOM,
                                &cache) ||
            !save(p, cache, "key", "value") || !holds(p, cache, "key", "value"))
            return p;
        tgi_disk_cache_release(cache);
    }
    return NULL;
}

Test(disk_cache, threads_open_use_and_release_at_once)
{
    enum { THREADS = 4 };
    place p;
    place_begin(&p);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, open_and_use, &p), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        cr_assert_null(failed);
    }
    cr_assert_eq(n_files(p.dir), 1);
    place_end(&p);
}

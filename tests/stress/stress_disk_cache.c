/* SPDX-License-Identifier: MIT */
/*
 * stress_disk_cache.c - one directory, many processes.
 *
 *   crowd    eight processes of two threads load 500 overlapping keys each and
 *            save those they do not find, while one process deletes bad
 *            entries and another reads everything; a second crowd finds all
 *   killed   a process that saves is killed at random times, repeatedly: all
 *            entries that are found afterwards are intact
 *
 * A plain program. Takes the number of kills; or "--hits N" for the second part
 * alone, until N kills hit a write, and a number that varies their times.
 */
#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cache/disk_cache.h"

enum {
    PROCESSES = 8,
    THREADS = 2, /* per process */
    KEYS = 500,  /* of each process */
    STEP = 100,  /* offset between the keys of two processes */
    MAX_VALUE_BYTES = 60000,
    KILLED_KEYS = 16,
    DEFAULT_KILLS = 300,
    WATCHDOG_SECONDS = 540
};

#define ROOM ((uint64_t)1 << 30)

static char dir[] = "/tmp/tgjit-stress-XXXXXX";
static char path[64];
static int n_failed;

#define CHECK(condition) check(condition, #condition, __LINE__)

static void check(bool good, const char *what, int line)
{
    if (!good && n_failed++ < 20)
        fprintf(stderr, "stress_disk_cache.c:%d: %s\n", line, what);
}

/* Discards all messages. */
static void count_word(tg_log_level level, const char *component,
                       const char *message, void *user)
{
    (void)user;
    if (level == TG_LOG_WARN) {
        n_failed++;
        fprintf(stderr, "%s: %s\n", component, message);
    }
}

static tgi_log quiet;

/* -- Values that can be checked -------------------------------------------- */

static tgi_byte_span make_key(long number, char *buf, size_t n)
{
    const int length = snprintf(buf, n, "key %ld\nand more", number);
    return (tgi_byte_span){buf, (size_t)length};
}

/* Bytes determined by the key and a word that the writer chooses. */
static size_t make_value(long number, uint32_t choice, unsigned char *buf)
{
    uint64_t state = (uint64_t)number << 32 | choice;
    const size_t n = 8 + state * 0x9e3779b97f4a7c15u % (MAX_VALUE_BYTES - 16);
    for (size_t i = 0; i < n; i += sizeof(state)) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        memcpy(buf + i, &state, sizeof(state));
    }
    memcpy(buf, &choice, sizeof(choice));
    return n;
}

static bool is_value(long number, const unsigned char *value, size_t n)
{
    unsigned char expected[MAX_VALUE_BYTES];
    uint32_t choice;
    if (n < sizeof(choice))
        return false;
    memcpy(&choice, value, sizeof(choice));
    return make_value(number, choice, expected) == n &&
           memcmp(expected, value, n) == 0;
}

/* True if there is a value, which must be right. */
static bool load(tgi_disk_cache *cache, long number)
{
    char buf[64];
    size_t n;
    unsigned char *value = tgi_disk_cache_load(
        cache, make_key(number, buf, sizeof(buf)), &quiet, &n);
    const bool is_found = value != NULL;
    if (is_found)
        CHECK(is_value(number, value, n));
    tgi_free(value);
    return is_found;
}

static bool save(tgi_disk_cache *cache, long number, uint32_t choice)
{
    char buf[64];
    unsigned char value[MAX_VALUE_BYTES];
    const size_t n = make_value(number, choice, value);
    return tgi_disk_cache_save(cache, make_key(number, buf, sizeof(buf)),
                               (tgi_byte_span){value, n}, &quiet);
}

static tgi_disk_cache *open_cache(tgi_disk_cache_mode mode)
{
    tgi_disk_cache *cache = NULL;
    if (tgi_disk_cache_open(path, mode, ROOM, &cache) || !cache) {
        fprintf(stderr, "%s\n", tg_error(NULL));
        exit(EXIT_FAILURE);
    }
    return cache;
}

/* -- A crowd --------------------------------------------------------------- */

typedef struct share {
    tgi_disk_cache *cache;
    long first;
    int thread;
} share;

/* Both threads process all keys, from opposite ends. */
static void *use_keys(void *user)
{
    const share *s = user;
    for (long i = 0; i < KEYS; i++) {
        const long number = s->first + (s->thread ? KEYS - 1 - i : i);
        if (!load(s->cache, number)) {
            CHECK(save(s->cache, number, (uint32_t)getpid()));
            CHECK(load(s->cache, number));
        }
    }
    return NULL;
}

/* One process. In the second crowd all keys are found. */
static void work(int process, bool is_second)
{
    share shares[THREADS];
    pthread_t threads[THREADS];
    tgi_disk_cache *cache = open_cache(TGI_DISK_CACHE_READ_WRITE);
    for (int i = 0; i < THREADS; i++) {
        shares[i] = (share){cache, (long)process * STEP, i};
        if (pthread_create(&threads[i], NULL, use_keys, &shares[i]))
            exit(EXIT_FAILURE);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    tg_cache_counters c;
    tgi_disk_cache_counters(cache, &c);
    CHECK(c.bad == 0);
    CHECK(c.evictions == 0);
    if (is_second) {
        CHECK(c.hits == (uint64_t)KEYS * THREADS);
        CHECK(c.misses == 0 && c.saves == 0);
    }
    tgi_disk_cache_release(cache);
}

/* Deletes bad entries, of which there are none. */
static void sweep(void)
{
    for (;;) {
        tg_cache_report report = {0};
        CHECK(tgi_disk_cache_verify(path, true, &report) == TG_OK);
        CHECK(report.bad == 0 && report.foreign == 0 && report.unread == 0);
        if (n_failed)
            _exit(EXIT_FAILURE);
    }
}

static void read_all(void)
{
    tgi_disk_cache *cache = open_cache(TGI_DISK_CACHE_READ_ONLY);
    for (long number = 0;; number = (number + 1) % (PROCESSES * STEP + KEYS)) {
        (void)load(cache, number);
        if (n_failed)
            _exit(EXIT_FAILURE);
    }
}

static pid_t start(void (*what)(void))
{
    const pid_t child = fork();
    if (child == 0) {
        what();
        _exit(n_failed ? EXIT_FAILURE : EXIT_SUCCESS);
    }
    CHECK(child > 0);
    return child;
}

/* The endless processes must still be running. */
static void stop(pid_t child)
{
    int status = 0;
    kill(child, SIGKILL);
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

static void crowd(bool is_second)
{
    pid_t workers[PROCESSES];
    const pid_t sweeper = start(sweep), reader = start(read_all);
    for (int i = 0; i < PROCESSES; i++) {
        workers[i] = fork();
        if (workers[i] == 0) {
            work(i, is_second);
            _exit(n_failed ? EXIT_FAILURE : EXIT_SUCCESS);
        }
        CHECK(workers[i] > 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = 1;
        CHECK(waitpid(workers[i], &status, 0) == workers[i] && status == 0);
    }
    stop(sweeper);
    stop(reader);
}

/* -- Killed writers -------------------------------------------------------- */

static int begun[2]; /* pipe: one byte per writer that has started */

static void save_for_ever(void)
{
    tgi_disk_cache *cache = open_cache(TGI_DISK_CACHE_READ_WRITE);
    for (uint32_t choice = (uint32_t)getpid();; choice++)
        if (save(cache, choice % KILLED_KEYS, choice) &&
            choice == (uint32_t)getpid())
            CHECK(write(begun[1], "", 1) == 1);
}

/* Files that are not entries. */
static size_t count_temporaries(void)
{
    size_t n_files = 0, n_entries = 0;
    uint64_t bytes;
    DIR *stream = opendir(path);
    CHECK(stream != NULL);
    while (stream && readdir(stream))
        n_files++;
    if (stream)
        closedir(stream);
    CHECK(tgi_disk_cache_size(path, &n_entries, &bytes) == TG_OK);
    return n_files - 2 - n_entries;
}

/* n_hits >= 0: until so many hit a write. */
static void killed(long n_kills, long n_hits, uint64_t seed)
{
    tgi_disk_cache *cache = open_cache(TGI_DISK_CACHE_READ_WRITE);
    uint64_t state = seed;
    size_t n_interrupted = 0;
    if (n_hits >= 0)
        n_kills = LONG_MAX;
    CHECK(pipe(begun) == 0);
    long i = 0;
    for (; i < n_kills && n_interrupted < (size_t)n_hits && !n_failed; i++) {
        const pid_t child = start(save_for_ever);
        char byte;
        CHECK(read(begun[0], &byte, 1) == 1);
        state = state * 6364136223846793005u + 1442695040888963407u;
        const struct timespec pause = {0, (long)(state >> 33) % 1000000};
        nanosleep(&pause, NULL);
        stop(child);
        n_interrupted += count_temporaries() > 0;
        for (long number = 0; number < KILLED_KEYS; number++)
            (void)load(cache, number);
    }
    tg_cache_counters c;
    tgi_disk_cache_counters(cache, &c);
    CHECK(c.bad == 0);
    CHECK(c.hits > 0 || n_kills == 0);

    printf("%ld kills, %zu amid a write: %llu found, %llu bad\n", i,
           n_interrupted, (unsigned long long)c.hits,
           (unsigned long long)c.bad);
    tgi_disk_cache_release(cache);

    /* The next save removes the temporary files they left. */
    cache = open_cache(TGI_DISK_CACHE_READ_WRITE);
    CHECK(save(cache, 0, 0));
    CHECK(count_temporaries() == 0);
    tgi_disk_cache_release(cache);
}

/* -- The program ----------------------------------------------------------- */

static int remove_one(const char *name, const struct stat *s, int kind,
                      struct FTW *where)
{
    (void)s, (void)kind, (void)where;
    return remove(name);
}

int main(int argc, char **argv)
{
    const bool is_long = argc > 2 && strcmp(argv[1], "--hits") == 0;
    const long n_hits = is_long ? atol(argv[2]) : -1;
    const long n_kills = argc > 1 ? atol(argv[1]) : DEFAULT_KILLS;
    const uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
    if (argc == 1)
        alarm(WATCHDOG_SECONDS);
    tgi_log_init(&quiet, TG_LOG_WARN, count_word, NULL);
    if (!mkdtemp(dir)) {
        perror(dir);
        return EXIT_FAILURE;
    }
    snprintf(path, sizeof(path), "%s/store", dir);
    tgi_disk_cache *cache =
        open_cache(TGI_DISK_CACHE_READ_WRITE); /* creates the directory for
                                                  readers */
    if (n_hits < 0) {
        crowd(false);
        crowd(true);
        CHECK(tgi_disk_cache_clear(path) == TG_OK);
    }
    killed(n_kills, n_hits, seed);
    tgi_disk_cache_release(cache);
    CHECK(nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
    CHECK(tg_live_objects() == 0 && tg_live_bytes() == 0);
    if (n_failed)
        printf("%d checks failed\n", n_failed);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

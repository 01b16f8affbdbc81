/* SPDX-License-Identifier: MIT */
/*
 * stress_killed_files.c - a process that saves tensors and variables is killed
 * at random times, repeatedly. Every file is then a whole one: all of its
 * numbers are those of one save, the last that has returned or a later one.
 *
 *     --kills N   kills (default 60)
 *     --hits N    instead: until N of them hit a write
 *     --seed S    of the random times
 *
 * A kill hits a write if it leaves a temporary file.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/arguments.h"
#include "support/support_random.h"
#include "tgjit.h"

enum { FILES = 3, VARIABLES = 3, WATCHDOG_SECONDS = 300 };

static const char *const names[FILES] = {"x.safetensors", "x.npz", "x.npy"};
static const int64_t lengths[VARIABLES] = {3, 20000, 700};
static char folder[] = "/tmp/tgjit-killed-XXXXXX";
static long n_failed;

#define CHECK(condition) check(condition, #condition, __LINE__)

static bool check(bool good, const char *what, int line)
{
    if (!good && n_failed++ < 20)
        fprintf(stderr, "stress_killed_files.c:%d: %s: %s\n", line, what,
                tg_error(NULL));
    return good;
}

static const char *path_of(int file)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, names[file]);
    return path;
}

static tg_context *create_context(void)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.jit = "off";
    options.cache = "off";
    return tg_context_create(&options);
}

static bool create_variables(tg_context *ctx, tg_variable *v[VARIABLES])
{
    bool good = true;
    for (int i = 0; i < VARIABLES; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        v[i] = tg_variable_create(ctx, name, TG_I64, TG_DIMS(lengths[i]),
                                  tg_zeros());
        good &= v[i] != NULL;
    }
    return good;
}

/* -- The writer ------------------------------------------------------------ */

static bool set_all(tg_variable *v, int64_t number, int64_t n)
{
    int64_t *data = tg_variable_map(v, TG_WRITE);
    for (int64_t i = 0; data && i < n; i++)
        data[i] = number;
    return data && tg_variable_unmap(v) == TG_OK;
}

/* Saves numbers from `first` on in all files, and reports each to `done`. */
static void save_for_ever(int64_t first, int done)
{
    tg_variable *v[VARIABLES];
    tg_context *ctx = create_context();
    CHECK(create_variables(ctx, v));
    for (int64_t number = first; n_failed == 0; number++) {
        for (int i = 0; i < VARIABLES; i++)
            CHECK(set_all(v[i], number, lengths[i]));
        for (int file = 0; file < 2; file++)
            CHECK(tg_variables_save(v, VARIABLES, path_of(file)) == TG_OK);
        tg_tensor *x = tg_tensor_create(ctx, TG_I64, TG_DIMS(9000),
                                        tg_fill(number));
        CHECK(tg_npy_save(x, path_of(2)) == TG_OK);
        tg_tensor_release(x);
        CHECK(write(done, &number, sizeof(number)) == sizeof(number));
    }
    _exit(EXIT_FAILURE);
}

/* -- The reader ------------------------------------------------------------ */

/* The number that all elements are; -1 if they differ. */
static int64_t number_of(const int64_t *data, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        if (data[i] != data[0])
            return -1;
    return data ? data[0] : -1;
}

static int64_t number_in_variables(tg_context *ctx, int file)
{
    tg_variable *v[VARIABLES];
    int64_t number = -1;
    CHECK(create_variables(ctx, v));
    if (CHECK(tg_variables_load(v, VARIABLES, path_of(file)) == TG_OK))
        for (int i = 0; i < VARIABLES; i++) {
            const int64_t *data = tg_variable_map(v[i], TG_READ);
            const int64_t one = number_of(data, lengths[i]);
            CHECK(i == 0 || one == number);
            number = one;
            CHECK(tg_variable_unmap(v[i]) == TG_OK);
        }
    for (int i = 0; i < VARIABLES; i++)
        tg_variable_release(v[i]);
    return number;
}

static int64_t number_in_tensor(tg_context *ctx, int file)
{
    tg_tensor *x = tg_npy_load(ctx, path_of(file));
    const int64_t number =
        CHECK(x != NULL)
            ? number_of(tg_tensor_data(x), tg_tensor_dims(x)[0])
            : -1;
    tg_tensor_release(x);
    return number;
}

/* Files beside those that are saved are removed, and counted. */
static int remove_temporaries(void)
{
    int n = 0;
    DIR *stream = opendir(folder);
    for (struct dirent *e; stream && (e = readdir(stream));) {
        bool is_known = e->d_name[0] == '.' &&
                        strspn(e->d_name, ".") == strlen(e->d_name);
        for (int i = 0; i < FILES; i++)
            is_known |= strcmp(e->d_name, names[i]) == 0;
        if (!is_known) {
            n++;
            CHECK(unlinkat(dirfd(stream), e->d_name, 0) == 0);
        }
    }
    if (stream)
        closedir(stream);
    return n;
}

/* One kill after `nanoseconds` of writing; true if it hit a write. */
static bool kill_one(int64_t first, long nanoseconds, int64_t *out_last)
{
    int done[2], status = 0;
    int64_t finished = -1, number;
    if (!CHECK(pipe(done) == 0))
        return false;
    const pid_t child = fork();
    if (child == 0)
        save_for_ever(first, done[1]);
    close(done[1]);
    CHECK(child > 0);
    /* It has written everything once, so that there are files. */
    CHECK(read(done[0], &finished, sizeof(finished)) == sizeof(finished));
    nanosleep(&(struct timespec){0, nanoseconds}, NULL);
    kill(child, SIGKILL);
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    while (read(done[0], &number, sizeof(number)) == sizeof(number))
        finished = number;
    close(done[0]);
    const bool is_hit = remove_temporaries() > 0;
    tg_context *ctx = create_context();
    for (int i = 0; i < FILES; i++) {
        number = i == 2 ? number_in_tensor(ctx, i)
                        : number_in_variables(ctx, i);
        /* The save after the last one that was reported may have ended. */
        CHECK(number == finished || number == finished + 1);
    }
    tg_context_release(ctx);
    *out_last = finished + 1;
    return is_hit;
}

int main(int argc, char **argv)
{
    long kills = 60, hits = -1, n_kills = 0, n_hits = 0;
    uint64_t random = 1;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (value && !strcmp(argv[i], "--kills"))
            kills = atol(value);
        else if (value && !strcmp(argv[i], "--hits"))
            hits = atol(value);
        else if (value && !strcmp(argv[i], "--seed"))
            random = strtoull(value, NULL, 0);
        else
            return !argument_is_wrong("stress_killed_files", argc, argv, i) + 1;
    }
    if (argc == 1)
        alarm(WATCHDOG_SECONDS);
    if (!mkdtemp(folder)) {
        perror(folder);
        return EXIT_FAILURE;
    }
    for (int64_t next = 1;
         n_failed == 0 && (hits < 0 ? n_kills < kills : n_hits < hits);
         n_kills++)
        n_hits += kill_one(next, random_below(&random, 1500000), &next);
    printf("%ld kills, %ld amid a write, %ld failed\n", n_kills, n_hits,
           n_failed);
    for (int i = 0; i < FILES; i++)
        unlink(path_of(i));
    CHECK(rmdir(folder) == 0);
    CHECK(tg_live_objects() == 0 && tg_live_bytes() == 0);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

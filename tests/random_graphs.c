/* SPDX-License-Identifier: MIT */
/*
 * random_graphs.c - random-graphs: checks random programs.
 *
 *   --mode passes   what to check: passes keep the bits
 *   --seed S        a graph is named by its seed and its number
 *   --count N       how many graphs
 *   --only K        number K alone, minimised if it fails
 *   --bytes HEX     the program in these bytes, minimised if it fails
 *   --failures N    stops after so many
 *   --corpus DIR    first all DIR/ *.hex, one program a line, # for comments
 *   --verbose       says how far it is
 *
 * A failure prints one line that shows it again, then its graphs. The last
 * line is "N passed, N failed". Work is done by a child: if it crashes or
 * hangs the parent knows where, minimises that, and starts another behind it.
 */
#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random_graph.h"

enum { MOST_BYTES = 4096, MOST_SECONDS = 60, ENOUGH_FOR_COVERAGE = 20000 };

typedef struct options {
    uint64_t seed, count, only, most_failures;
    bool is_only, is_verbose;
    const char *bytes, *corpus;
} options;

/* Shared by parent and children. */
typedef struct totals {
    rg_coverage coverage;
    uint64_t n_passed, n_failed;
} totals;

/* -- Strings --------------------------------------------------------------- */

/* The string of graph k: mostly short, since small failures are clear. */
static size_t make_bytes(uint64_t seed, uint64_t k, uint8_t *bytes)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u ^ k;
    uint64_t size = rg_random(&state);
    size_t n = 24 + size % 64;
    if (size / 64 % 8 == 0)
        n += size / 512 % 192;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(rg_random(&state) >> 32);
    return n;
}

static size_t parse_hex(const char *text, uint8_t *bytes)
{
    size_t n = 0;
    for (unsigned byte;
         n < MOST_BYTES && isxdigit((unsigned char)text[0]) &&
         isxdigit((unsigned char)text[1]) && sscanf(text, "%2x", &byte) == 1;
         text += 2)
        bytes[n++] = (uint8_t)byte;
    return n;
}

static void print_hex(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("%02x", bytes[i]);
}

/* -- Failures -------------------------------------------------------------- */

static void print_failure(const uint8_t *bytes, size_t n, const char *name,
                          const char *what)
{
    printf("FAILED random-graphs --mode passes --bytes ");
    print_hex(bytes, n);
    printf("   # %s: %s\n", name, what);
}

/* Checks once more, in a child, and prints all there is to know; false if
   there is nothing to print. */
static bool explain(const uint8_t *bytes, size_t n, const char *name)
{
    static rg_coverage ignored;
    rg_failure failure;
    if (rg_check(bytes, n, &ignored, &failure))
        return false;
    print_failure(bytes, n, name, failure.what);
    if (failure.before)
        printf("before:\n%s", failure.before);
    if (failure.after)
        printf("after:\n%s", failure.after);
    return true;
}

/* Minimises a failing string, and prints how to see it again. */
static void report(uint8_t *bytes, size_t n, const char *name)
{
    char what[64];
    int status = 0;
    n = rg_minimise(bytes, n);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        bool is_explained = explain(bytes, n, name);
        fflush(stdout);
        _exit(is_explained ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
    if (status) {
        snprintf(what, sizeof(what), "%s",
                 WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                     : "it dies, or fails now and then");
        print_failure(bytes, n, name, what);
    }
    fflush(stdout);
}

/* One string, in another process since it may crash. */
static void check_apart(uint8_t *bytes, size_t n, const char *name, totals *all)
{
    bool good = rg_check_apart(bytes, n);
    all->n_passed += good;
    all->n_failed += !good;
    if (!good)
        report(bytes, n, name);
}

/* -- The corpus ------------------------------------------------------------ */

static void check_file(const char *path, const char *name, totals *all)
{
    char line[2 * MOST_BYTES + 2];
    uint8_t bytes[MOST_BYTES];
    FILE *file = fopen(path, "r");
    if (!file) {
        printf("cannot read %s\n", path);
        all->n_failed++;
        return;
    }
    while (fgets(line, sizeof(line), file)) {
        size_t n = parse_hex(line, bytes);
        if (n)
            check_apart(bytes, n, name, all);
    }
    fclose(file);
}

static int is_hex_file(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return n > 4 && strcmp(entry->d_name + n - 4, ".hex") == 0;
}

static void check_corpus(const char *directory, totals *all)
{
    struct dirent **entries;
    int n = scandir(directory, &entries, is_hex_file, alphasort);
    if (n <= 0) {
        printf("there is no corpus in %s\n", directory);
        all->n_failed++;
        return;
    }
    for (int i = 0; i < n; i++) {
        /* Not the library's memory: every check ends with none alive. */
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
        check_file(path, entries[i]->d_name, all);
        free(entries[i]);
    }
    free(entries);
}

/* -- Random strings -------------------------------------------------------- */

/* Checks graphs from `first` on and does not return: it ends at the first
   failure, having said which one is under way. */
static void work(const options *o, uint64_t first, totals *all)
{
    uint8_t bytes[MOST_BYTES];
    rg_failure failure;
    for (uint64_t k = first; k < o->count; k++) {
        all->coverage.n_current = k;
        if (o->is_verbose && k % 1000 == 0)
            fprintf(stderr, "graph %llu\n", (unsigned long long)k);
        alarm(MOST_SECONDS);
        size_t n = make_bytes(o->seed, k, bytes);
        if (!rg_check(bytes, n, &all->coverage, &failure))
            _exit(EXIT_FAILURE);
        all->n_passed++;
    }
    all->coverage.n_current = o->count;
    exit(EXIT_SUCCESS); /* what only the end can tell, such as a leak, counts */
}

static void check_random(const options *o, totals *all)
{
    for (uint64_t first = 0;
         first < o->count && all->n_failed < o->most_failures;) {
        fflush(stdout);
        int status = 0;
        pid_t child = fork();
        if (child == 0)
            work(o, first, all);
        if (child < 0 || waitpid(child, &status, 0) != child)
            abort();
        if (status == 0)
            break;
        all->n_failed++;
        uint64_t k = all->coverage.n_current;
        first = k + 1;
        uint8_t bytes[MOST_BYTES];
        char name[64];
        snprintf(name, sizeof(name), "seed %llu number %llu",
                 (unsigned long long)o->seed, (unsigned long long)k);
        if (k < o->count)
            report(bytes, make_bytes(o->seed, k, bytes), name);
        else
            printf("FAILED random-graphs --mode passes --seed %llu --count "
                   "%llu   # status %d at its end\n",
                   (unsigned long long)o->seed, (unsigned long long)o->count,
                   status);
    }
}

/* -- The program ----------------------------------------------------------- */

static int usage(void)
{
    fputs("usage: random-graphs [--mode passes] [--seed S] [--count N]\n"
          "           [--failures N] [--only K] [--bytes HEX] [--corpus DIR]\n"
          "           [--verbose]\n",
          stderr);
    return 2;
}

static bool parse(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (strcmp(name, "--verbose") == 0) {
            o->is_verbose = true;
            continue;
        }
        const char *value = i + 1 < argc ? argv[++i] : NULL;
        if (!value)
            return false;
        if (strcmp(name, "--mode") == 0 && strcmp(value, "passes") == 0)
            continue;
        if (strcmp(name, "--seed") == 0)
            o->seed = strtoull(value, NULL, 0);
        else if (strcmp(name, "--count") == 0)
            o->count = strtoull(value, NULL, 0);
        else if (strcmp(name, "--only") == 0)
            o->only = strtoull(value, NULL, 0), o->is_only = true;
        else if (strcmp(name, "--failures") == 0)
            o->most_failures = strtoull(value, NULL, 0);
        else if (strcmp(name, "--bytes") == 0)
            o->bytes = value;
        else if (strcmp(name, "--corpus") == 0)
            o->corpus = value;
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    options o = {.seed = 1, .count = 10000, .most_failures = 20};
    if (!parse(argc, argv, &o))
        return usage();
    totals *all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return 1;

    uint8_t bytes[MOST_BYTES];
    if (o.bytes) {
        check_apart(bytes, parse_hex(o.bytes, bytes), "bytes", all);
    } else if (o.is_only) {
        check_apart(bytes, make_bytes(o.seed, o.only, bytes), "only", all);
    } else {
        if (o.corpus)
            check_corpus(o.corpus, all);
        check_random(&o, all);
        rg_coverage_print(&all->coverage);
        if (all->coverage.n_graphs >= ENOUGH_FOR_COVERAGE &&
            rg_coverage_holes(&all->coverage))
            all->n_failed++;
    }
    printf("%llu passed, %llu failed\n", (unsigned long long)all->n_passed,
           (unsigned long long)all->n_failed);
    return all->n_failed ? 1 : 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * onnx_suite.c - runs ONNX's conformance tests: every folder below DIR that has
 * a model.onnx, in the order of their names.
 *
 *     onnx-suite [--backend jit|interp|both] [--jobs N] [--verbose]
 *                [--only NAME] [--min-passed N] DIR...
 *
 * A result has the expected dtype and shape, and elements within ONNX's
 * tolerance; with both back ends, the compiled result has the bits of the
 * interpreted one. Prints the folders that fail, a table by operator and dtype,
 * and the totals. Exits with 1 if a folder fails, or fewer than N pass.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onnx/onnx_suite.h"
#include "support/arguments.h"
#include "support/workers.h"

enum { MAX_SECONDS = 120 };

typedef struct suite {
    char **folders;
    size_t n, capacity;
    suite_options options;
    suite_result *results; /* shared by the processes */
    const char *only;
    bool is_verbose;
    long min_passed;
    int n_jobs;
} suite;

/* -- Folders --------------------------------------------------------------- */

static void add_folder(suite *s, const char *path)
{
    if (s->n == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : 256;
        s->folders = realloc(s->folders, s->capacity * sizeof(*s->folders));
        if (!s->folders)
            abort();
    }
    s->folders[s->n] = strdup(path);
    if (!s->folders[s->n++])
        abort();
}

static bool exists(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return !access(path, F_OK);
}

/* Finds the folders with a model at most three levels below `path`. */
static void find_folders(suite *s, const char *path, int depth)
{
    char below[4096];
    struct dirent **entries;
    if (exists(path, "model.onnx")) {
        const char *slash = strrchr(path, '/');
        if (!s->only || !strcmp(slash ? slash + 1 : path, s->only))
            add_folder(s, path);
        return;
    }
    const int n = depth ? scandir(path, &entries, NULL, alphasort) : -1;
    for (int i = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.') {
            snprintf(below, sizeof(below), "%s/%s", path, entries[i]->d_name);
            find_folders(s, below, depth - 1);
        }
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

/* -- Processes ------------------------------------------------------------- */

static bool check(const void *user, uint64_t number, void *tally)
{
    const suite *s = user;
    suite_result result;
    (void)tally;
    suite_run(s->folders[number], &s->options, &result);
    s->results[number] = result;
    return true; /* failures are counted by the parent */
}

/* Results are in shared memory; there is nothing to add. */
static void add(void *sum, const void *tally)
{
    (void)sum;
    (void)tally;
}

static void report(const void *user, uint64_t number, int status)
{
    const suite *s = user;
    if (number == s->n)
        fprintf(stderr, "a process failed at its end, status %d\n", status);
    else
        fprintf(stderr, "%s: status %d\n", s->folders[number], status);
}

/* -- Report ---------------------------------------------------------------- */

static const char *outcome_names[] = {"crashed", "failed", "failed",
                                      "unsupported"};

static int compare_results(const void *a, const void *b)
{
    const suite_result *p = a, *q = b;
    const int by_op = strcmp(p->op, q->op);
    return by_op ? by_op : strcmp(p->dtype, q->dtype);
}

/* A line for each operator and dtype. */
static void print_table(suite *s)
{
    printf("%-28s %-6s %6s %6s %6s\n", "operator", "dtype", "pass", "fail",
           "unsup.");
    qsort(s->results, s->n, sizeof(*s->results), compare_results);
    for (size_t i = 0; i < s->n;) {
        const suite_result *first = &s->results[i];
        size_t counts[4] = {0};
        for (; i < s->n && !compare_results(first, &s->results[i]); i++)
            counts[s->results[i].outcome]++;
        printf("%-28s %-6s %6zu %6zu %6zu\n", first->op, first->dtype,
               counts[SUITE_PASSED],
               counts[SUITE_FAILED] + counts[SUITE_NOT_RUN],
               counts[SUITE_UNSUPPORTED]);
    }
}

/* Prints everything; returns the exit status. */
static int print_report(suite *s)
{
    size_t counts[4] = {0}, n_close = 0, n_tiled = 0;
    for (size_t i = 0; i < s->n; i++) {
        const suite_result *r = &s->results[i];
        counts[r->outcome]++;
        n_close += r->outcome == SUITE_PASSED && r->is_close;
        n_tiled += r->outcome == SUITE_PASSED && r->is_tiled;
        if (r->outcome == SUITE_FAILED || r->outcome == SUITE_NOT_RUN ||
            (r->outcome == SUITE_UNSUPPORTED && s->is_verbose))
            printf("%s: %s: %s\n", outcome_names[r->outcome], s->folders[i],
                   r->message);
    }
    print_table(s);
    const size_t n_failed = counts[SUITE_FAILED] + counts[SUITE_NOT_RUN];
    printf("%zu of those that pass are within 1e-5; %zu were repeated with "
           "tiled inputs\n",
           n_close, n_tiled);
    printf("%zu passed, %zu failed, %zu unsupported\n", counts[SUITE_PASSED],
           n_failed, counts[SUITE_UNSUPPORTED]);
    if ((long)counts[SUITE_PASSED] < s->min_passed)
        fprintf(stderr, "onnx-suite: fewer than %ld passed\n", s->min_passed);
    return n_failed || (long)counts[SUITE_PASSED] < s->min_passed;
}

/* -- Command line ---------------------------------------------------------- */

static bool set_backend(suite *s, const char *name)
{
    s->options.interprets = strcmp(name, "jit") != 0;
    s->options.compiles = strcmp(name, "interp") != 0;
    return !strcmp(name, "jit") || !strcmp(name, "interp") ||
           !strcmp(name, "both");
}

static bool parse(suite *s, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--verbose"))
            s->is_verbose = true;
        else if (!strcmp(argv[i], "--backend") && value &&
                 set_backend(s, value))
            i++;
        else if (!strcmp(argv[i], "--jobs") && value && atoi(value) > 0 &&
                 atoi(value) <= WORKERS_MAX)
            s->n_jobs = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--only") && value)
            s->only = argv[++i];
        else if (!strcmp(argv[i], "--min-passed") && value && atol(value) > 0)
            s->min_passed = atol(argv[++i]);
        else if (argv[i][0] == '-')
            return argument_is_wrong("onnx-suite", argc, argv, i);
        else
            find_folders(s, argv[i], 3);
    }
    return true;
}

int main(int argc, char **argv)
{
    suite s = {.n_jobs = workers_default_jobs()};
    uint64_t n_passed = 0, n_failed = 0;
    set_backend(&s, "both");
    if (!parse(&s, argc, argv))
        return 2;
    if (s.n == 0) {
        fprintf(stderr, "onnx-suite: no folder with a model.onnx\n");
        return 2;
    }
    s.results = mmap(NULL, s.n * sizeof(*s.results), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s.results == MAP_FAILED)
        abort();
    const workers w = {.count = s.n,
                       .max_failures = s.n,
                       .n_jobs = s.n_jobs,
                       .seconds = MAX_SECONDS,
                       .user = &s,
                       .check = check,
                       .report = report,
                       .add = add};
    workers_run(&w, NULL, &n_passed, &n_failed);
    int status = print_report(&s);
    for (size_t i = 0; i < s.n; i++)
        free(s.folders[i]);
    free(s.folders);
    munmap(s.results, s.n * sizeof(*s.results));
    return status || n_failed;
}

/* SPDX-License-Identifier: MIT */
/*
 * random_graph_work.c - checks one string, or all numbers of a seed in several
 * processes. The parent minimises failures.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random/random_graph.h"
#include "support/workers.h"

enum { MAX_SECONDS = 120 };

/* Additional bytes for branches and loops. */
enum { FOR_REGIONS = 128 };

/* -- Strings --------------------------------------------------------------- */

/* Mostly short, since small failures are clearer; longer if compiled. */
size_t rg_work_bytes(const rg_work *work, uint64_t k, uint8_t *bytes)
{
    uint64_t state = work->seed * 0x9e3779b97f4a7c15u ^ k;
    uint64_t size = rg_random(&state);
    size_t n = (work->settings.mode == RG_JIT ? 40 : 24) + size % 64;
    if (size / 64 % 8 == 0)
        n += size / 512 % 192;
    for (size_t i = 0; i < n + FOR_REGIONS; i++)
        bytes[i] = (uint8_t)(rg_random(&state) >> 32);
    return rg_has_control(&work->settings, bytes, n) ? n + FOR_REGIONS : n;
}

rg_settings rg_work_settings(const rg_work *work, uint64_t k)
{
    rg_settings settings = work->settings;
    settings.vector_bits = work->widths[k % (uint64_t)work->n_widths];
    return settings;
}

void rg_work_name(const rg_work *work, uint64_t k, char *name, size_t bytes)
{
    snprintf(name, bytes, "seed %llu number %llu",
             (unsigned long long)work->seed, (unsigned long long)k);
}

/* -- Failures -------------------------------------------------------------- */

static void print_settings(FILE *out, const rg_settings *settings)
{
    fprintf(out, "random-graphs --mode %s",
            settings->mode != RG_JIT      ? "passes"
            : settings->skips_loop_passes ? "loops"
                                          : "jit");
    if (settings->control != RG_CONTROL_SOME)
        fprintf(out, " --control %s",
                settings->control == RG_CONTROL_ALL ? "all" : "none");
    if (settings->mode != RG_JIT)
        return;
    for (int i = 0; i < settings->n_teams; i++)
        fprintf(out, "%s%d", i ? "," : " --threads ", settings->teams[i]);
    fprintf(out, " --vector-bits %u", settings->vector_bits);
    if (settings->n_schedules)
        fprintf(out, " --schedules %d", settings->n_schedules);
    if (settings->cache)
        fprintf(out, " --%s %s", settings->is_filled ? "filled" : "cache",
                settings->cache);
    if (settings->emits_for)
        fprintf(out, " --emit %s", settings->emits_for);
    if (settings->planted)
        fprintf(out, " --plant%s %s", settings->plants_crash ? "-crash" : "",
                tgi_op_table[settings->planted].name);
}

/* Prints the command that reproduces a failure. */
static void print_command(FILE *out, const rg_settings *settings,
                          const uint8_t *bytes, size_t n)
{
    print_settings(out, settings);
    fprintf(out, " --bytes ");
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%02x", bytes[i]);
}

static void print_failure(const rg_settings *settings, const uint8_t *bytes,
                          size_t n, const char *name, const char *what)
{
    printf("FAILED ");
    print_command(stdout, settings, bytes, n);
    printf("   # %s: %s\n", name, what);
}

/* "DIR/random-graphs-NAME-BITS.c", with special characters of the name
   replaced. */
static void repro_path(const rg_settings *settings, const char *name,
                       char *path, size_t bytes)
{
    char word[128];
    size_t n = 0;
    for (; *name && n + 1 < sizeof(word); name++)
        if (isalnum((unsigned char)*name))
            word[n++] = *name;
        else if (n && word[n - 1] != '-')
            word[n++] = '-';
    word[n] = 0;
    snprintf(path, bytes, "%s/random-graphs-%s-%u.c",
             settings->repro_dir ? settings->repro_dir : ".", word,
             settings->vector_bits);
}

/* Appends the command to the reproducer of the failing run and prints its
   path. */
static void annotate_repro(const rg_settings *settings, const uint8_t *bytes,
                           size_t n)
{
    FILE *file = fopen(settings->repro, "r+");
    if (!file) {
        printf("repro: none, there is no graph without calls and regions\n");
        return;
    }
    fseek(file, 0, SEEK_END);
    fputs("\n/* ", file);
    print_command(file, settings, bytes, n);
    fputs(" */\n", file);
    printf(fclose(file) == 0 ? "repro: %s\n" : "cannot write %s\n",
           settings->repro);
}

/* Checks again in a child process and prints all details; false if there are
   none. */
static bool explain_failure(const rg_settings *settings, const uint8_t *bytes,
                            size_t n, const char *name)
{
    static rg_coverage ignored;
    rg_failure failure;
    if (rg_check(settings, bytes, n, &ignored, &failure))
        return false;
    print_failure(settings, bytes, n, name, failure.what);
    if (failure.before)
        printf("before:\n%s", failure.before);
    if (failure.after)
        printf("after:\n%s", failure.after);
    return true;
}

/* Minimises a failing string and prints how to reproduce it. */
static void report_failure(const rg_settings *asked, uint8_t *bytes, size_t n,
                           const char *name)
{
    char what[64], path[4096];
    int status = 0;
    /* The choice of control flow is fixed, whatever the bytes become. */
    rg_settings written = *asked, *const settings = &written;
    settings->control = rg_has_control(asked, bytes, n) ? RG_CONTROL_ALL
                                                        : RG_CONTROL_NONE;
    /* A filled cache has no code for other programs. */
    if (!settings->is_filled)
        n = rg_minimise(settings, bytes, n);
    if (settings->mode == RG_JIT) {
        repro_path(settings, name, path, sizeof(path));
        unlink(path);
        written.repro = path;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        workers_limit_time(MAX_SECONDS);
        bool is_explained = explain_failure(&written, bytes, n, name);
        fflush(stdout);
        _exit(is_explained ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
    if (status) {
        snprintf(what, sizeof(what), "%s",
                 WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                     : "it dies, or fails now and then");
        print_failure(settings, bytes, n, name, what);
    }
    if (written.repro)
        annotate_repro(&written, bytes, n);
    fflush(stdout);
}

void rg_work_on(const rg_settings *settings, uint8_t *bytes, size_t n,
                const char *name, rg_totals *totals)
{
    bool good = rg_check_apart(settings, bytes, n);
    totals->n_passed += good;
    totals->n_failed += !good;
    if (!good)
        report_failure(settings, bytes, n, name);
}

/* -- All numbers ----------------------------------------------------------- */

static bool check_number(const void *user, uint64_t k, void *tally)
{
    const rg_work *work = user;
    uint8_t bytes[RG_MAX_BYTES];
    rg_failure failure;
    if (work->is_verbose && k % 1000 == 0)
        fprintf(stderr, "graph %llu\n", (unsigned long long)k);
    const rg_settings settings = rg_work_settings(work, k);
    size_t n = rg_work_bytes(work, k, bytes);
    return rg_check(&settings, bytes, n, tally, &failure);
}

static void report(const void *user, uint64_t k, int status)
{
    const rg_work *work = user;
    uint8_t bytes[RG_MAX_BYTES];
    char name[64];
    const rg_settings settings = rg_work_settings(work, k);
    if (k < work->count) {
        rg_work_name(work, k, name, sizeof(name));
        report_failure(&settings, bytes, rg_work_bytes(work, k, bytes), name);
        return;
    }
    printf("FAILED ");
    print_settings(stdout, &settings);
    printf(" --seed %llu --count %llu --jobs %d   # status %d at its end\n",
           (unsigned long long)work->seed, (unsigned long long)work->count,
           work->n_jobs, status);
}

static void add(void *sum, const void *tally)
{
    rg_coverage_merge(sum, tally);
}

void rg_work_all(const rg_work *work, rg_totals *totals)
{
    const workers w = {.count = work->count,
                       .max_failures = work->max_failures,
                       .n_jobs = work->n_jobs,
                       .seconds = MAX_SECONDS,
                       .user = work,
                       .check = check_number,
                       .tally_bytes = sizeof(rg_coverage),
                       .report = report,
                       .add = add};
    workers_run(&w, &totals->coverage, &totals->n_passed, &totals->n_failed);
}

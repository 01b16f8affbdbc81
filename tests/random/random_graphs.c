/* SPDX-License-Identifier: MIT */
/*
 * random_graphs.c - random-graphs: checks random programs.
 *
 *   --mode MODE         passes: graph passes preserve bits, and loop passes
 *                       give valid loops, with any of them left out; jit:
 *                       compiled code has the bits of the interpreter; loops:
 *                       as jit, with random loop passes left out
 *   --control WHICH     graphs with branches and loops: some, all, none
 *   --threads LIST      mode jit: team sizes; default: 1,2,3,7
 *   --vector-bits LIST  mode jit: vector widths, in rotation; default:
 *                       128,256,512. Those that the host lacks are skipped
 *   --schedules N       mode jit: repeat with N random schedules
 *   --cache DIR         mode jit: repeat with code cached in DIR
 *   --emit HOST         mode jit: compile the graphs for the CPU TGJIT_CPU of
 *                       another machine, into the cache; run nothing
 *   --filled DIR        mode jit: run the code that --emit has put into DIR;
 *                       compile nothing
 *   --print-host        print this machine's HOST
 *   --seed S            a graph is identified by its seed and number
 *   --count N           number of graphs
 *   --only K            only graph K, minimised if it fails
 *   --bytes HEX         the program in these bytes, minimised if it fails
 *   --failures N        stop after N failures
 *   --repro-dir DIR     mode jit: directory for reproducers of failures
 *   --plant OP          mode jit: graphs with this op count as failing; with
 *   --plant-crash OP    this one they crash. To test failure handling
 *   --corpus DIR        first all DIR/ *.hex, one program per line, # for
 *                       comments; those in control*.hex have control flow
 *   --jobs N            processes; default: one per CPU
 *   --verbose           print progress
 *
 * With TGJIT_CHECK, mode jit compares calls with that check.
 *
 * A failure prints one command that reproduces it, then its graphs, and in mode
 * jit leaves a standalone C program, random-graphs-NAME-BITS.c, which runs the
 * graph both ways and compares. The last line is "N passed, N failed". Without
 * a compiler, mode jit says so and exits with status 77.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random/random_graph.h"
#include "run/team.h"
#include "support/arguments.h"
#include "support/corpus.h"
#include "support/instrument.h"
#include "support/vector_widths.h"
#include "support/watched.h"
#include "support/workers.h"
#include "target/host_cpu.h"

enum { ENOUGH_FOR_COVERAGE = 100000, SKIPPED = 77 };
_Static_assert((int)RG_MAX_BYTES == (int)CORPUS_MAX_BYTES,
               "a string of the corpus is a program");

typedef struct options {
    rg_work work;
    uint64_t only;
    bool is_only;
    const char *bytes, *corpus;
} options;

/* Checks one string with every vector width. */
static void check_string(const rg_work *work, const uint8_t *bytes, size_t n,
                         const char *name, rg_totals *totals)
{
    for (int i = 0; i < work->n_widths; i++) {
        uint8_t copy[RG_MAX_BYTES];
        const rg_settings settings = rg_work_settings(work, (uint64_t)i);
        memcpy(copy, bytes, n);
        rg_work_on(&settings, copy, n, name, totals);
    }
}

/* -- The corpus ------------------------------------------------------------ */

static void check_file(const rg_work *all, const char *path, const char *name,
                       rg_totals *totals)
{
    rg_work own = *all, *const work = &own;
    char line[2 * RG_MAX_BYTES + 2];
    uint8_t bytes[RG_MAX_BYTES];
    FILE *file = fopen(path, "r");
    if (!file) {
        printf("cannot read %s\n", path);
        totals->n_failed++;
        return;
    }
    if (strncmp(name, "control", strlen("control")) == 0)
        work->settings.control = RG_CONTROL_ALL;
    for (int i = 1; fgets(line, sizeof(line), file); i++) {
        char place[300];
        size_t n = corpus_parse(line, bytes);
        snprintf(place, sizeof(place), "%s:%d", name, i);
        if (n)
            check_string(work, bytes, n, place, totals);
    }
    fclose(file);
}

static int is_hex_file(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return n > 4 && strcmp(entry->d_name + n - 4, ".hex") == 0;
}

static void check_corpus(const rg_work *work, const char *directory,
                         rg_totals *totals)
{
    struct dirent **entries;
    int n = scandir(directory, &entries, is_hex_file, alphasort);
    if (n <= 0) {
        printf("there is no corpus in %s\n", directory);
        totals->n_failed++;
        return;
    }
    for (int i = 0; i < n; i++) {
        /* Not the library's allocator: every check ends with nothing alive. */
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
        check_file(work, path, entries[i]->d_name, totals);
        free(entries[i]);
    }
    free(entries);
}

/* -- Options --------------------------------------------------------------- */

static int usage(void)
{
    fputs("usage: random-graphs [--mode passes|jit|loops] [--threads LIST]\n"
          "           [--control some|all|none]\n"
          "           [--vector-bits LIST] [--seed S] [--count N]\n"
          "           [--failures N] [--only K] [--bytes HEX] [--corpus DIR]\n"
          "           [--jobs N] [--verbose] [--repro-dir DIR]\n"
          "           [--cache DIR] [--schedules N] [--plant OP]\n"
          "           [--plant-crash OP] [--emit HOST] [--filled DIR]\n"
          "           [--print-host]\n",
          stderr);
    return 2;
}

/* Parses a comma-separated list; returns its length, 0 if invalid. */
static int parse_list(const char *text, int least, int *numbers, int most)
{
    int n = 0;
    for (char *end;; text = end + 1) {
        long number = strtol(text, &end, 10);
        if (n == most || end == text || number < least || number > 4096)
            return 0;
        numbers[n++] = (int)number;
        if (*end == 0)
            return n;
        if (*end != ',')
            return 0;
    }
}

static bool parse_mode(const char *value, rg_settings *settings)
{
    settings->skips_loop_passes = strcmp(value, "loops") == 0;
    settings->mode = settings->skips_loop_passes || strcmp(value, "jit") == 0
                         ? RG_JIT
                         : RG_PASSES;
    return settings->mode == RG_JIT || strcmp(value, "passes") == 0;
}

static bool parse_control(const char *value, rg_control *out_control)
{
    static const char *const words[] = {[RG_CONTROL_SOME] = "some",
                                        [RG_CONTROL_ALL] = "all",
                                        [RG_CONTROL_NONE] = "none"};
    int i = 0;
    while (i < 3 && strcmp(value, words[i]) != 0)
        i++;
    *out_control = (rg_control)i;
    return i < 3;
}

static bool parse_widths(const char *value, rg_work *work)
{
    int widths[RG_MAX_WIDTHS];
    work->n_widths = parse_list(value, 0, widths, RG_MAX_WIDTHS);
    for (int i = 0; i < work->n_widths; i++)
        work->widths[i] = (unsigned)widths[i];
    return work->n_widths > 0;
}

/* If none is left, the host has vectors of 256 bits. */
static void skip_missing_widths(rg_work *work)
{
    int n = 0;
    for (int i = 0; i < work->n_widths; i++)
        if (host_vector_bits((int)work->widths[i]) == (int)work->widths[i])
            work->widths[n++] = work->widths[i];
        else
            printf("the host lacks vectors of %u bits: skipped\n",
                   work->widths[i]);
    if (!n)
        work->widths[n++] = 256;
    work->n_widths = n;
}

static bool parse_planted(const char *value, bool crashes,
                          rg_settings *settings)
{
    settings->plants_crash = crashes;
    for (int op = 1; op < TGI_OPS; op++)
        if (strcmp(tgi_op_table[op].name, value) == 0)
            settings->planted = (tgi_op)op;
    return settings->planted;
}

static bool parse_value(const char *name, const char *value, options *o)
{
    rg_work *work = &o->work;
    rg_settings *settings = &work->settings;
    if (strcmp(name, "--mode") == 0)
        return parse_mode(value, settings);
    if (strcmp(name, "--control") == 0)
        return parse_control(value, &settings->control);
    if (strcmp(name, "--vector-bits") == 0)
        return parse_widths(value, work);
    if (strcmp(name, "--threads") == 0)
        return (settings->n_teams =
                    parse_list(value, 1, settings->teams, RG_MAX_TEAMS)) > 0;
    if (strcmp(name, "--schedules") == 0)
        return parse_list(value, 0, &settings->n_schedules, 1) == 1;
    if (strcmp(name, "--jobs") == 0)
        return parse_list(value, 1, &work->n_jobs, 1) &&
               work->n_jobs <= WORKERS_MAX;
    if (strcmp(name, "--plant") == 0 || strcmp(name, "--plant-crash") == 0)
        return parse_planted(value, name[7] != 0, settings);
    if (strcmp(name, "--seed") == 0)
        work->seed = strtoull(value, NULL, 0);
    else if (strcmp(name, "--count") == 0)
        work->count = strtoull(value, NULL, 0);
    else if (strcmp(name, "--only") == 0)
        o->only = strtoull(value, NULL, 0), o->is_only = true;
    else if (strcmp(name, "--failures") == 0)
        work->max_failures = strtoull(value, NULL, 0);
    else if (strcmp(name, "--bytes") == 0)
        o->bytes = value;
    else if (strcmp(name, "--corpus") == 0)
        o->corpus = value;
    else if (strcmp(name, "--cache") == 0)
        settings->cache = value;
    else if (strcmp(name, "--filled") == 0)
        settings->cache = value, settings->is_filled = true;
    else if (strcmp(name, "--emit") == 0)
        settings->emits_for = value;
    else if (strcmp(name, "--repro-dir") == 0)
        settings->repro_dir = value;
    else
        return false;
    return true;
}

static bool parse(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--verbose") == 0)
            o->work.is_verbose = true;
        else if (i + 1 == argc || !parse_value(argv[i], argv[i + 1], o))
            return argument_is_wrong("random-graphs", argc, argv, i);
        else
            i++;
    }
    if (o->work.settings.mode == RG_PASSES)
        o->work.n_widths = 1;
    if (o->work.settings.emits_for && !o->work.settings.cache) {
        fputs("random-graphs: --emit needs --cache\n", stderr);
        return false;
    }
    return true;
}

/* -- The program ----------------------------------------------------------- */

/* True if teams were requested and possible, but none ran. With TGJIT_CHECK
   only calls run, whose teams are not counted. */
static bool missed_teams(const rg_work *work, const rg_coverage *coverage)
{
    bool wanted = false;
    if (getenv("TGJIT_CHECK"))
        return false;
    for (int i = 0; i < work->settings.n_teams; i++)
        wanted |= work->settings.teams[i] > 1;
    return wanted && tgi_team_size(2) > 1 && coverage->n_graphs >= 100 &&
           coverage->n_parallel_runs == 0;
}

static void check_all(const options *o, rg_totals *totals)
{
    const rg_mode mode = o->work.settings.mode;
    const rg_coverage *coverage = &totals->coverage;
    if (o->corpus)
        check_corpus(&o->work, o->corpus, totals);
    rg_work_all(&o->work, totals);
    rg_coverage_print(coverage, mode);
    if (coverage->n_graphs >= ENOUGH_FOR_COVERAGE &&
        !o->work.settings.emits_for &&
        rg_coverage_holes(coverage, mode))
        totals->n_failed++;
    if (mode == RG_JIT && !o->work.settings.emits_for &&
        missed_teams(&o->work, coverage)) {
        printf("no run was parallel\n");
        totals->n_failed++;
    }
}

#ifndef TGI_LIBFUZZER

int main(int argc, char **argv)
{
    static rg_totals totals;
    uint8_t bytes[RG_MAX_BYTES];
    options o = {.work = {.settings = {.n_teams = 4, .teams = {1, 2, 3, 7}},
                          .n_widths = 3,
                          .widths = {128, 256, 512},
                          .seed = 1,
                          .count = 10000,
                          .max_failures = 20,
                          .n_jobs = workers_default_jobs()}};
    if (argc == 2 && strcmp(argv[1], "--print-host") == 0) {
        printf("%s\n", tgi_host_cpu());
        return 0;
    }
    if (!parse(argc, argv, &o))
        return usage();
    if (o.work.settings.mode == RG_JIT) {
        wait_passively(argv);
        if (!o.work.settings.is_filled && !can_compile())
            return SKIPPED;
        skip_missing_widths(&o.work);
        setenv("TGJIT_GRAIN", "0", true);
        setenv("TGJIT_VERIFY", "1", true); /* verify LLVM IR too */
        if (!o.work.settings.cache)        /* instrumented code is not cached */
            instrument_compiled_code();
    }
    if (o.bytes) {
        check_string(&o.work, bytes, corpus_parse(o.bytes, bytes), "bytes",
                     &totals);
    } else if (o.is_only) {
        const rg_settings settings = rg_work_settings(&o.work, o.only);
        char name[64];
        rg_work_name(&o.work, o.only, name, sizeof(name));
        rg_work_on(&settings, bytes, rg_work_bytes(&o.work, o.only, bytes),
                   name, &totals);
    } else {
        check_all(&o, &totals);
    }
    printf("%llu passed, %llu failed\n", (unsigned long long)totals.n_passed,
           (unsigned long long)totals.n_failed);
    return totals.n_failed ? 1 : 0;
}

#endif /* TGI_LIBFUZZER */

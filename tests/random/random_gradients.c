/* SPDX-License-Identifier: MIT */
/*
 * random_gradients.c - random-gradients: checks derivatives of random programs.
 *
 *   --mode MODE    differences: derivatives agree with finite differences,
 *                  interpreted; jit: compiled code has the bits of the
 *                  interpreter; all: both
 *   --threads LIST mode jit: team sizes, of which most programs use the first
 *                  two; default: 1,2,3,7
 *   --unbounded U  loops that save an unbounded number of values: some, none;
 *                  default: some
 *   --seed S       a program is identified by its seed and number
 *   --count N      number of programs
 *   --only K       only program K, minimised if it fails
 *   --drop LIST    with --only: without these operations
 *   --failures N   stop after N failures
 *   --jobs N       processes; default: one per CPU
 *   --verbose      print progress and the number of operations by kind; with
 *                  --only: print the program
 *
 * A failure prints one command that reproduces it, with everything dropped that
 * is not needed. The last line is "N passed, N failed". Without a compiler,
 * mode jit says so and exits with status 77.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random/random_gradient.h"
#include "support/arguments.h"
#include "support/instrument.h"
#include "support/watched.h"
#include "support/workers.h"

enum { MAX_SECONDS = 120, SKIPPED = 77, ENOUGH = 1000 };

typedef struct options {
    gr_settings settings;
    uint64_t seed, count, only, max_failures;
    bool is_only, is_verbose;
    int n_jobs;
} options;

/* -- Failures -------------------------------------------------------------- */

/* Checks in a child process, which may crash; prints its output. */
static int check_apart(const options *o, const gr_settings *settings,
                       uint64_t number, bool reports)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        static gr_tally ignored;
        gr_failure failure = {""};
        gr_settings own = *settings;
        own.log = reports ? stdout : NULL;
        workers_limit_time(MAX_SECONDS);
        if (!reports && !freopen("/dev/null", "w", stderr))
            _exit(EXIT_FAILURE);
        const bool good =
            gr_check(&own, gr_seed(o->seed, number), &ignored, &failure);
        if (reports && !good)
            printf("  %s\n", failure.what);
        fflush(stdout);
        _exit(good ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
    return status;
}

/* Drops operations one by one, as long as it fails in the same way. */
static void minimise(const options *o, uint64_t number, int status,
                     gr_settings *settings)
{
    uint64_t sites[GR_MAX_DROPPED];
    for (bool again = true; again;) {
        const int n = gr_list_sites(settings, gr_seed(o->seed, number), sites);
        again = false;
        for (int i = n - 1; i >= 0; i--) {
            if (settings->dropped.n == GR_MAX_DROPPED)
                return;
            settings->dropped.sites[settings->dropped.n++] = sites[i];
            if (check_apart(o, settings, number, false) == status)
                again = true;
            else
                settings->dropped.n--;
        }
    }
}

/* Removes operations inside dropped ones from the list. */
static void prune(const options *o, uint64_t number, gr_settings *settings)
{
    uint64_t sites[GR_MAX_DROPPED];
    gr_dropped *dropped = &settings->dropped;
    for (int i = dropped->n - 1; i >= 0; i--) {
        const gr_dropped all = *dropped;
        bool is_made = false;
        dropped->sites[i] = dropped->sites[--dropped->n];
        const int n = gr_list_sites(settings, gr_seed(o->seed, number), sites);
        for (int k = 0; k < n; k++)
            is_made |= sites[k] == all.sites[i];
        if (is_made)
            *dropped = all;
    }
}

static void print_command(const options *o, const gr_settings *settings,
                          uint64_t number)
{
    printf("random-gradients --mode %s --unbounded %s --seed %llu --only %llu",
           !settings->jit           ? "differences"
           : !settings->differences ? "jit"
                                    : "all",
           settings->has_unbounded ? "some" : "none",
           (unsigned long long)o->seed, (unsigned long long)number);
    for (int i = 0; settings->jit && i < settings->n_teams; i++)
        printf("%s%d", i ? "," : " --threads ", settings->teams[i]);
    for (int i = 0; i < settings->dropped.n; i++)
        printf("%s%llx", i ? "," : " --drop ",
               (unsigned long long)settings->dropped.sites[i]);
    printf("\n");
}

static void report(const void *user, uint64_t number, int status)
{
    const options *o = user;
    gr_settings settings = o->settings;
    if (number == o->count) {
        printf("FAILED: status %d at the end of a process\n", status);
        return;
    }
    const int first = check_apart(o, &settings, number, false);
    if (first == 0)
        printf("FAILED, but not when it is run alone: ");
    else
        printf("FAILED ");
    print_command(o, &settings, number);
    if (first == 0)
        return;
    /* Listing may crash, too. */
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        minimise(o, number, first, &settings);
        prune(o, number, &settings);
        print_command(o, &settings, number);
        const int last = check_apart(o, &settings, number, true);
        if (WIFSIGNALED(last))
            printf("  %s\n", strsignal(WTERMSIG(last)));
        fflush(stdout);
        _exit(EXIT_SUCCESS);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
}

/* -- All numbers ----------------------------------------------------------- */

static bool check_number(const void *user, uint64_t k, void *tally)
{
    const options *o = user;
    gr_failure failure;
    if (o->is_verbose && k % 1000 == 0)
        fprintf(stderr, "program %llu\n", (unsigned long long)k);
    return gr_check(&o->settings, gr_seed(o->seed, k), tally, &failure);
}

static void add(void *sum, const void *tally)
{
    uint64_t *to = sum;
    const uint64_t *from = tally;
    for (size_t i = 0; i < sizeof(gr_tally) / sizeof(uint64_t); i++)
        to[i] += from[i];
}

/* True if enough was checked. */
static bool report_tally(const options *o, const gr_tally *tally)
{
    bool good = true;
    printf("%llu programs, %llu differences of which %llu are not good "
           "enough, %llu second derivatives, %llu compiled, %llu "
           "unconnected, %llu effects\n",
           (unsigned long long)tally->n_programs,
           (unsigned long long)tally->n_differences,
           (unsigned long long)tally->n_rejected,
           (unsigned long long)tally->n_second,
           (unsigned long long)tally->n_compiled,
           (unsigned long long)tally->n_unconnected,
           (unsigned long long)tally->n_effects);
    for (int i = 0; i < gr_n_kinds; i++) {
        if (o->is_verbose)
            printf("  %s %llu\n", gr_kinds[i].name,
                   (unsigned long long)tally->made[i]);
        if (tally->n_programs >= ENOUGH && !tally->made[i]) {
            printf("there is no %s\n", gr_kinds[i].name);
            good = false;
        }
    }
    if (tally->n_differences >= ENOUGH &&
        tally->n_rejected * 20 > tally->n_differences) {
        printf("more than one in twenty differences is not good enough\n");
        good = false;
    }
    return good;
}

/* -- Options --------------------------------------------------------------- */

static int usage(void)
{
    fputs("usage: random-gradients [--mode differences|jit|all]\n"
          "           [--threads LIST] [--unbounded some|none] [--seed S]\n"
          "           [--count N] [--only K [--drop LIST]] [--failures N]\n"
          "           [--jobs N] [--verbose]\n",
          stderr);
    return 2;
}

static bool parse_mode(const char *value, gr_settings *settings)
{
    const bool all = strcmp(value, "all") == 0;
    settings->differences = all || strcmp(value, "differences") == 0;
    settings->jit = all || strcmp(value, "jit") == 0;
    return settings->differences || settings->jit;
}

static bool parse_teams(const char *text, gr_settings *settings)
{
    settings->n_teams = 0;
    for (char *end;; text = end + 1) {
        const long n = strtol(text, &end, 10);
        if (settings->n_teams == GR_MAX_TEAMS || n < 1 || n > 4096)
            return false;
        settings->teams[settings->n_teams++] = (int)n;
        if (*end != ',')
            return *end == 0;
    }
}

static bool parse_dropped(const char *text, gr_dropped *dropped)
{
    for (char *end;; text = end + 1) {
        if (dropped->n == GR_MAX_DROPPED)
            return false;
        dropped->sites[dropped->n++] = strtoull(text, &end, 16);
        if (end == text || *end != ',')
            return end != text && *end == 0;
    }
}

static bool parse_value(const char *name, const char *value, options *o)
{
    if (strcmp(name, "--mode") == 0)
        return parse_mode(value, &o->settings);
    if (strcmp(name, "--threads") == 0)
        return parse_teams(value, &o->settings);
    if (strcmp(name, "--drop") == 0)
        return parse_dropped(value, &o->settings.dropped);
    if (strcmp(name, "--unbounded") == 0) {
        o->settings.has_unbounded = strcmp(value, "some") == 0;
        return o->settings.has_unbounded || strcmp(value, "none") == 0;
    }
    const uint64_t number = strtoull(value, NULL, 0);
    if (strcmp(name, "--seed") == 0)
        o->seed = number;
    else if (strcmp(name, "--count") == 0)
        o->count = number;
    else if (strcmp(name, "--only") == 0)
        o->only = number, o->is_only = true;
    else if (strcmp(name, "--failures") == 0)
        o->max_failures = number;
    else if (strcmp(name, "--jobs") == 0 && number && number <= WORKERS_MAX)
        o->n_jobs = (int)number;
    else
        return false;
    return true;
}

static bool parse(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--verbose") == 0)
            o->is_verbose = true;
        else if (i + 1 == argc || !parse_value(argv[i], argv[i + 1], o))
            return argument_is_wrong("random-gradients", argc, argv, i);
        else
            i++;
    return true;
}

/* -- The program ----------------------------------------------------------- */

/* True if the program passes. */
static bool check_one(const options *o)
{
    const int status = check_apart(o, &o->settings, o->only, o->is_verbose);
    if (status)
        report(o, o->only, status);
    return status == 0;
}

int main(int argc, char **argv)
{
    static gr_tally tally;
    uint64_t n_passed = 0, n_failed = 0;
    options o = {.settings = {.differences = true,
                              .jit = true,
                              .has_unbounded = true,
                              .n_teams = 4,
                              .teams = {1, 2, 3, 7}},
                 .seed = 1,
                 .count = 1000,
                 .max_failures = 20,
                 .n_jobs = workers_default_jobs()};
    if (!parse(argc, argv, &o))
        return usage();
    if (gr_forgotten()) {
        printf("no program has %s\n", gr_forgotten());
        return 1;
    }
    setenv("TGJIT_VERIFY", "1", 1);
    if (o.settings.jit) {
        wait_passively(argv);
        if (!can_compile())
            return SKIPPED;
        setenv("TGJIT_GRAIN", "0", 1);
        instrument_compiled_code();
    }
    if (o.is_only) {
        const bool good = check_one(&o);
        n_passed = good;
        n_failed = !good;
    } else {
        const workers w = {.count = o.count,
                           .max_failures = o.max_failures,
                           .n_jobs = o.n_jobs,
                           .seconds = MAX_SECONDS,
                           .user = &o,
                           .check = check_number,
                           .tally_bytes = sizeof(gr_tally),
                           .report = report,
                           .add = add};
        workers_run(&w, &tally, &n_passed, &n_failed);
        n_failed += !report_tally(&o, &tally);
    }
    printf("%llu passed, %llu failed\n", (unsigned long long)n_passed,
           (unsigned long long)n_failed);
    return n_failed ? 1 : 0;
}

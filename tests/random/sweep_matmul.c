/* SPDX-License-Identifier: MIT */
/*
 * sweep_matmul.c - sweep-matmul: checks that compiled matmuls have the bits of
 * interpreted ones.
 *
 *   --seed S       an item is identified by its seed and number
 *   --count N      number of items: random forms (matmul.h), in one size or,
 *                  if extents are unknown, in several
 *   --all          first: plain matmuls of all sizes, dtypes and transposes
 *   --epilogues    only forms that reduce the product, most of them such that
 *                  it can be reduced in an epilogue
 *   --only K       only item K
 *   --form WORDS   only this form, with the given seed …
 *   --sizes LIST   … in this size: m,n,k,b1,b2
 *   --failures N   stop after N failures
 *   --jobs N       processes; default: one per CPU
 *
 * A failure prints one command that reproduces it. The last line is "N passed,
 * N failed"; of many items, some must be run by teams, some packed, and some
 * reduced in an epilogue. Without a compiler it says so and exits with status
 * 77.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random/matmul.h"
#include "run/team.h"
#include "support/arguments.h"
#include "support/instrument.h"
#include "support/watched.h"
#include "support/workers.h"

enum {
    SKIPPED = 77,
    ENOUGH = 100, /* items after which coverage is required */
    MAX_SECONDS = 300,
    SOME_SIZES = 10, /* of a form with unknown extents */
    /* Limit of m * n * k, summed over the sizes of an item; the interpreter
       takes some milliseconds per million. One item in RARE has a higher
       limit. */
    MAX_STEPS = 4 << 20,
    MANY_STEPS = 64 << 20,
    EPILOGUE_STEPS = 1 << 18, /* enough for a reduction epilogue to pay off */
    RARE = 32,
    MAX_SIZES = 512
};

static const int64_t extents[] = {0,  1,   2,   3,   5,   7,   8,
                                  15, 16,  17,  31,  33,  63,  64,
                                  65, 127, 129, 255, 256, 257, 513};
enum {
    N_EXTENTS = sizeof(extents) / sizeof(extents[0]),
    MANY_PANELS = 1025 /* occasional k */
};

/* Dtypes with specialised matmul code. */
static const uint8_t main_types[] = {PRODUCT_F32, PRODUCT_F64, PRODUCT_I32,
                                     PRODUCT_I64};
enum { N_MAIN_TYPES = sizeof(main_types) / sizeof(main_types[0]) };

typedef struct options {
    uint64_t seed, count, only, max_failures;
    bool does_all, does_epilogues, is_only, has_sizes;
    const char *words;
    product_sizes sizes;
    int n_jobs;
} options;

/* A form, and sizes to check it in. */
typedef struct item {
    product_form form;
    size_t n_sizes;
    product_sizes sizes[MAX_SIZES];
} item;

/* -- Random items ---------------------------------------------------------- */

static int64_t steps_of(const product_sizes *sizes)
{
    int64_t steps = 1;
    for (int i = 0; i < PRODUCT_EXTENTS; i++)
        steps *= sizes->extent[i] ? sizes->extent[i] : 1;
    return steps;
}

/* Picks unknown extents, or all of them. */
static void pick_sizes(const product_form *form, uint64_t *random,
                       bool picks_all, product_sizes *sizes)
{
    for (int i = 0; i < PRODUCT_EXTENTS; i++) {
        const uint64_t choice = rg_random(random);
        if (picks_all || product_is_open(form, i))
            sizes->extent[i] = i >= PRODUCT_B1 ? (int64_t)(choice % 4)
                               : i == PRODUCT_K && (choice >> 32) % 16 == 0
                                   ? MANY_PANELS
                                   : extents[choice % N_EXTENTS];
    }
    product_sizes_make_valid(form, sizes);
}

/* Changes a form so that it reduces rows and columns of known extents. */
static void make_reduced(uint64_t choice, product_form *form)
{
    static const uint8_t ends[] = {PRODUCT_END_ROW_SUM, PRODUCT_END_COLUMN_SUM,
                                   PRODUCT_END_SOFTMAX};
    enum { MN = 1 << PRODUCT_M | 1 << PRODUCT_N };
    form->field[PRODUCT_FIELD_END] = ends[choice % 3];
    form->field[PRODUCT_FIELD_TYPE] = main_types[(choice >> 8) % N_MAIN_TYPES];
    form->field[PRODUCT_FIELD_OPEN] &= (uint8_t)~MN;
    product_form_make_valid(form);
}

/* The first size is arbitrary; later ones differ in unknown extents, within the
   step limit. */
static void make_random(const options *o, uint64_t k, item *it)
{
    uint64_t random = o->seed * 0x9e3779b97f4a7c15u ^ k;
    int64_t left = o->does_epilogues && k % 4 ? EPILOGUE_STEPS
                   : k % RARE                 ? MAX_STEPS
                                              : MANY_STEPS;
    product_form_random(&it->form, rg_random(&random));
    if (o->does_epilogues)
        make_reduced(rg_random(&random), &it->form);
    it->n_sizes = 0;
    const bool is_open = it->form.field[PRODUCT_FIELD_OPEN] != 0;
    for (int i = 0; i < (is_open ? SOME_SIZES : 1); i++) {
        product_sizes sizes = it->sizes[0];
        do
            pick_sizes(&it->form, &random, i == 0, &sizes);
        while (i == 0 && steps_of(&sizes) > left);
        if (steps_of(&sizes) > left)
            continue;
        left -= steps_of(&sizes);
        it->sizes[it->n_sizes++] = sizes;
    }
}

/* -- All sizes ------------------------------------------------------------- */

enum {
    FLIPS = 4,
    WIDTHS = 3,
    N_PLAIN = N_MAIN_TYPES * FLIPS * WIDTHS * N_EXTENTS
};

/* A plain matmul of unknown extents with one n, and all m and k. */
static void make_plain(uint64_t k, item *it)
{
    product_form *form = &it->form;
    memset(form, 0, sizeof(*form));
    form->seed = k;
    form->field[PRODUCT_FIELD_WIDTH] = (uint8_t)(k % WIDTHS);
    form->field[PRODUCT_FIELD_FLIP] = (uint8_t)(k / WIDTHS % FLIPS);
    form->field[PRODUCT_FIELD_TYPE] =
        main_types[k / WIDTHS / FLIPS % N_MAIN_TYPES];
    form->field[PRODUCT_FIELD_FILL] =
        (uint8_t)(k % (uint64_t)product_n_choices(PRODUCT_FIELD_FILL));
    form->field[PRODUCT_FIELD_OPEN] = 7; /* m, n, k */
    const int64_t n = extents[k / WIDTHS / FLIPS / N_MAIN_TYPES];
    it->n_sizes = 0;
    for (int i = 0; i < N_EXTENTS; i++)
        for (int j = 0; j < N_EXTENTS; j++)
            it->sizes[it->n_sizes++] =
                (product_sizes){{extents[i], n, extents[j], 1, 1}};
}

/* -- Items ----------------------------------------------------------------- */

static uint64_t n_items(const options *o)
{
    return o->count + (o->does_all ? N_PLAIN : 0);
}

static void make_item(const options *o, uint64_t k, item *it)
{
    if (o->does_all && k < N_PLAIN)
        make_plain(k, it);
    else
        make_random(o, k, it);
}

/* -- Checking -------------------------------------------------------------- */

static void print_sizes(const product_sizes *sizes)
{
    for (int i = 0; i < PRODUCT_EXTENTS; i++)
        printf("%s%" PRId64, i ? "," : "", sizes->extent[i]);
}

static void print_failure(const product_form *form, const product_sizes *sizes,
                          const char *what)
{
    char words[PRODUCT_TEXT];
    product_form_print(form, words);
    printf("FAILED sweep-matmul --form %s --sizes ", words);
    print_sizes(sizes);
    printf(" --seed %" PRIu64 "   # %s\n", form->seed, what);
    fflush(stdout);
}

static bool check_item(const item *it, product_tally *tally)
{
    product_failure failure;
    if (product_check(&it->form, it->sizes, it->n_sizes, tally, &failure))
        return true;
    print_failure(&it->form, &failure.sizes, failure.what);
    return false;
}

static bool check_number(const void *user, uint64_t k, void *tally)
{
    static item it;
    make_item(user, k, &it);
    return check_item(&it, tally);
}

/* Checks one size in a child process; reports a failure and returns false. */
static bool check_apart(const product_form *form, const product_sizes *sizes)
{
    int status = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        static item it;
        product_tally ignored = {0};
        it.form = *form;
        it.n_sizes = 1;
        it.sizes[0] = *sizes;
        workers_limit_time(MAX_SECONDS);
        _exit(check_item(&it, &ignored) ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
    if (WIFSIGNALED(status))
        print_failure(form, sizes, strsignal(WTERMSIG(status)));
    return status == 0;
}

/* Reports failures that the child could not: the size in which it crashes, if
   one alone does, or that only its exit fails. */
static void report_crash(const void *user, uint64_t k, int status)
{
    static item it;
    const options *o = user;
    const bool is_item = k < n_items(o);
    if (is_item && WIFEXITED(status))
        return;
    if (is_item)
        make_item(o, k, &it);
    for (size_t i = 0; is_item && i < it.n_sizes; i++)
        if (!check_apart(&it.form, &it.sizes[i]))
            return;
    printf("FAILED sweep-matmul%s%s --seed %" PRIu64 " --%s %" PRIu64
           "   # status %d%s\n",
           o->does_all ? " --all" : "", o->does_epilogues ? " --epilogues" : "",
           o->seed, is_item ? "only" : "count", is_item ? k : o->count, status,
           is_item ? "" : " at its end");
}

/* -- Options --------------------------------------------------------------- */

static int usage(void)
{
    fputs("usage: sweep-matmul [--seed S] [--count N] [--all] [--epilogues]\n"
          "           [--only K] [--form WORDS --sizes M,N,K,B1,B2]\n"
          "           [--failures N] [--jobs N]\n",
          stderr);
    return 2;
}

static bool parse_sizes(const char *text, product_sizes *sizes)
{
    for (int i = 0; i < PRODUCT_EXTENTS; i++) {
        char *end;
        sizes->extent[i] = strtoll(text, &end, 10);
        if (end == text || sizes->extent[i] < 0 ||
            *end != (i + 1 < PRODUCT_EXTENTS ? ',' : 0))
            return false;
        text = end + 1;
    }
    return true;
}

static bool parse_value(const char *name, const char *value, options *o)
{
    if (strcmp(name, "--seed") == 0)
        o->seed = strtoull(value, NULL, 0);
    else if (strcmp(name, "--count") == 0)
        o->count = strtoull(value, NULL, 0);
    else if (strcmp(name, "--only") == 0)
        o->only = strtoull(value, NULL, 0), o->is_only = true;
    else if (strcmp(name, "--failures") == 0)
        o->max_failures = strtoull(value, NULL, 0);
    else if (strcmp(name, "--form") == 0)
        o->words = value;
    else if (strcmp(name, "--sizes") == 0)
        return o->has_sizes = parse_sizes(value, &o->sizes);
    else if (strcmp(name, "--jobs") == 0)
        return (o->n_jobs = atoi(value)) >= 1 && o->n_jobs <= WORKERS_MAX;
    else
        return false;
    return true;
}

static bool parse(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0)
            o->does_all = true;
        else if (strcmp(argv[i], "--epilogues") == 0)
            o->does_epilogues = true;
        else if (i + 1 == argc || !parse_value(argv[i], argv[i + 1], o))
            return argument_is_wrong("sweep-matmul", argc, argv, i);
        else
            i++;
    }
    if (!o->words != !o->has_sizes)
        fputs("sweep-matmul: --form and --sizes go together\n", stderr);
    return !o->words == !o->has_sizes;
}

/* -- The program ----------------------------------------------------------- */

static void add(void *sum, const void *tally)
{
    uint64_t *into = sum;
    const uint64_t *from = tally;
    for (size_t i = 0; i < sizeof(product_tally) / sizeof(*into); i++)
        into[i] += from[i];
}

/* Counts the features that many items must have covered but did not. */
static uint64_t count_missed(const product_tally *tally, bool does_epilogues)
{
    uint64_t n = 0;
    if (tally->n_forms < ENOUGH)
        return 0;
    if (tally->n_split_runs == 0 && tgi_team_size(2) > 1)
        n++, printf("nothing was run by a team\n");
    if (tally->n_packed == 0 && !does_epilogues)
        n++, printf("nothing was packed\n");
    /* Only one form in a hundred has a reduction epilogue, so chance may miss
       it. */
    if (does_epilogues && tally->n_epilogues < tally->n_programs / 8)
        n++, printf("too few products were reduced in an epilogue\n");
    return n;
}

static void check_all(const options *o, uint64_t *n_passed, uint64_t *n_failed)
{
    product_tally tally = {0};
    const workers w = {.count = n_items(o),
                       .max_failures = o->max_failures,
                       .n_jobs = o->n_jobs,
                       .seconds = MAX_SECONDS,
                       .user = o,
                       .check = check_number,
                       .tally_bytes = sizeof(product_tally),
                       .report = report_crash,
                       .add = add};
    workers_run(&w, &tally, n_passed, n_failed);
    printf("%" PRIu64 " forms in %" PRIu64 " sizes, as %" PRIu64
           " programs, %" PRIu64 " of them packed, %" PRIu64
           " with epilogues; %" PRIu64 " runs, %" PRIu64 " by a team, %" PRIu64
           " of them split\n",
           tally.n_forms, tally.n_sizes, tally.n_programs, tally.n_packed,
           tally.n_epilogues, tally.n_runs, tally.n_team_runs,
           tally.n_split_runs);
    *n_failed += count_missed(&tally, o->does_epilogues);
}

static bool check_form(const options *o)
{
    product_form form = {.seed = o->seed};
    product_sizes sizes = o->sizes;
    if (!product_form_parse(o->words, &form)) {
        printf("invalid form %s\n", o->words);
        return false;
    }
    product_form_make_valid(&form);
    product_sizes_make_valid(&form, &sizes);
    return check_apart(&form, &sizes);
}

int main(int argc, char **argv)
{
    options o = {.seed = 1,
                 .count = 1000,
                 .max_failures = 20,
                 .n_jobs = workers_default_jobs()};
    uint64_t n_passed = 0, n_failed = 0;
    if (!parse(argc, argv, &o))
        return usage();
    wait_passively(argv);
    if (!can_compile())
        return SKIPPED;
    setenv("TGJIT_GRAIN", "0", true);
    setenv("TGJIT_VERIFY", "1", true); /* verify LLVM IR too */
    instrument_compiled_code();
    if (o.words) {
        n_failed = !check_form(&o);
        n_passed = !n_failed;
    } else if (o.is_only) {
        product_tally ignored = {0};
        n_failed = !check_number(&o, o.only, &ignored);
        n_passed = !n_failed;
    } else {
        check_all(&o, &n_passed, &n_failed);
    }
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", n_passed, n_failed);
    return n_failed ? 1 : 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * options.c - see options.h.
 */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "peers/python.h"

static const char usage[] =
    "Usage: tgjit-bench [OPTION]...\n"
    "\n"
    "Verifies and times the library, hand-written code and other libraries,\n"
    "case by case. A row is named CASE/SIZE/BACKEND/threads:N. Back ends:\n"
    "\n"
    "  interp              the reference interpreter\n"
    "  jit                 compiled code\n"
    "  jit, unknown sizes  compiled code, traced with all extents unknown\n"
    "  jit, fast accuracy  compiled code, errors of up to 4 ulp\n"
    "  c                   plain C, optimised for this machine\n"
    "  c, strict           the same without fast math (single operations)\n"
    "  expert              hand-written SIMD\n"
    "  openblas, blis, onednn, libxsmm\n"
    "                      for matrix products and convolutions, if installed\n"
    "  numpy, numexpr, numba, torch, torch.compile, tensorflow,\n"
    "  tensorflow.xla, jax, onnxruntime\n"
    "                      with --peers, in processes of their own\n"
    "\n"
    "Prints one line per case, with the time of compiled code, the speed-up\n"
    "over the interpreter, the ratios to plain C and to the fastest library,\n"
    "and the share of this machine's peak rate.\n"
    "\n"
    "Options (defaults in parentheses):\n"
    "  --all              measure every row, and print all of them\n"
    "  --list             print the names of the rows and exit\n"
    "  --calibrate        measure this machine for the choice of schedules, print\n"
    "                     and keep what was found; takes about a second\n"
    "  --check            verify only, also odd sizes, and inputs with NaN,\n"
    "                     infinities and denormals\n"
    "  --filter=REGEX     select rows by extended regular expression; \".\"\n"
    "                     selects all (those of the first screen)\n"
    "  --threads=LIST     numbers of threads, such as 1,2 (1 and the number\n"
    "                     of processors)\n"
    "  --peers            also compare with engines in Python\n"
    "                     (bench/peers/setup), and note which are missing\n"
    "  --peer-timeout=S   seconds that an engine may take to answer (300)\n"
    "  --min-time=S       minimum seconds of one repetition (0.01)\n"
    "  --repetitions=N    repetitions of each row (9)\n"
    "  --format=FORMAT    console, json, csv, markdown (console)\n"
    "  --out=FILE         write the report to FILE (as json unless a format\n"
    "                     is given) and the table to standard output\n"
    "  --html=FILE        write a page with charts to FILE; also measures\n"
    "                     how times grow with the size\n"
    "  --label=TEXT       a remark about the run, for the reports\n"
    "  --from=FILE        do not measure, but read what --out wrote; may be\n"
    "                     repeated, to merge files\n"
    "  --baseline=FILE    compare with an earlier --out\n"
    "  --threshold=P      percent by which a row must be slower than the\n"
    "                     baseline to fail the program (5)\n"
    "  --help, --version\n"
    "\n"
    "Exit status: 0 on success, 1 if a row was wrong or could not run, 2 if\n"
    "the command line is invalid or no row matches the filter, 3 if a row is\n"
    "slower than the baseline.\n";

static bool invalid_value(const char *option, const char *value)
{
    fprintf(stderr, "tgjit-bench: --%s=%s is not valid; see --help\n", option,
            value);
    return false;
}

/* -- Values ---------------------------------------------------------------- */

static bool read_integer(const char *text, char **end, long max, long *out)
{
    errno = 0;
    *out = strtol(text, end, 10);
    return *end != text && !errno && *out >= 1 && *out <= max;
}

static bool read_threads(options *o, const char *list)
{
    o->n_threads = 0;
    for (const char *at = list;;) {
        char *end;
        long n;
        if (!read_integer(at, &end, 1024, &n) ||
            (*end != ',' && *end != '\0') ||
            o->n_threads == MAX_THREAD_COUNTS)
            return invalid_value("threads", list);
        o->threads[o->n_threads++] = (int)n;
        if (!*end)
            return true;
        at = end + 1;
    }
}

static bool read_repetitions(options *o, const char *text)
{
    char *end;
    long n;
    if (!read_integer(text, &end, 100000, &n) || *end)
        return invalid_value("repetitions", text);
    o->measure.repetitions = (size_t)n;
    return true;
}

static bool read_seconds(const char *option, const char *text, double *out)
{
    char *end;
    const double seconds = strtod(text, &end);
    if (end == text || *end || !(seconds > 0 && seconds < 1e6))
        return invalid_value(option, text);
    *out = seconds;
    return true;
}

static bool read_peer_timeout(const char *text)
{
    double seconds;
    if (!read_seconds("peer-timeout", text, &seconds))
        return false;
    python_set_timeout(seconds);
    return true;
}

static bool read_filter(options *o, const char *text)
{
    if (o->has_filter)
        regfree(&o->filter);
    o->has_filter = !regcomp(&o->filter, text, REG_EXTENDED | REG_NOSUB);
    o->filter_text = text;
    return o->has_filter || invalid_value("filter", text);
}

static bool read_format(options *o, const char *text)
{
    static const char *const names[] = {[FORMAT_TABLE] = "console",
                                        [FORMAT_JSON] = "json",
                                        [FORMAT_CSV] = "csv",
                                        [FORMAT_MARKDOWN] = "markdown"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], text) == 0) {
            o->format = (format)i;
            o->has_format = true;
            return true;
        }
    return invalid_value("format", text);
}

static bool read_threshold(options *o, const char *text)
{
    char *end;
    const double percent = strtod(text, &end);
    if (end == text || *end || !(percent >= 0 && percent < 1e6))
        return invalid_value("threshold", text);
    o->threshold = percent / 100;
    return true;
}

static bool add_file(options *o, const char *path)
{
    if (o->n_from == MAX_FILES)
        return invalid_value("from", path);
    o->from[o->n_from++] = path;
    return true;
}

/* -- The command line ------------------------------------------------------ */

static void set_defaults(options *o)
{
    const int processors = machine_processors();
    memset(o, 0, sizeof(*o));
    o->measure = (measure_options){.min_time = 0.01, .repetitions = 9};
    o->threshold = 0.05;
    o->threads[o->n_threads++] = 1;
    if (processors > 1)
        o->threads[o->n_threads++] = processors;
}

/* Handles one option; false if the program is to exit with *out_status. */
static bool read_option(options *o, int letter, int *out_status)
{
    *out_status = EXIT_USAGE;
    switch (letter) {
    case 'l':
        o->action = ACTION_LIST;
        return true;
    case 'C':
        o->action = ACTION_CALIBRATE;
        return true;
    case 'c':
        o->action = ACTION_CHECK;
        return true;
    case 'f':
        return read_filter(o, optarg);
    case 't':
        return read_threads(o, optarg);
    case 'p':
        o->has_peers = true;
        return true;
    case 'P':
        return read_peer_timeout(optarg);
    case 'm':
        return read_seconds("min-time", optarg, &o->measure.min_time);
    case 'r':
        return read_repetitions(o, optarg);
    case 'F':
        return read_format(o, optarg);
    case 'o':
        o->out = optarg;
        return true;
    case 'a':
        o->has_all = true;
        return true;
    case 'H':
        o->html = optarg;
        return true;
    case 'L':
        o->label = optarg;
        return true;
    case 'i':
        return add_file(o, optarg);
    case 'b':
        o->baseline = optarg;
        return true;
    case 'T':
        return read_threshold(o, optarg);
    case 'h':
        fputs(usage, stdout);
        *out_status = EXIT_SUCCESS;
        return false;
    case 'V':
        printf("tgjit-bench %s\n", tg_version());
        *out_status = EXIT_SUCCESS;
        return false;
    default: /* getopt has reported the error */
        fprintf(stderr, "See tgjit-bench --help.\n");
        return false;
    }
}

bool options_read(options *out_options, int argc, char **argv,
                  int *out_status)
{
    static const struct option long_options[] = {
        {"all", no_argument, NULL, 'a'},
        {"list", no_argument, NULL, 'l'},
        {"calibrate", no_argument, NULL, 'C'},
        {"check", no_argument, NULL, 'c'},
        {"filter", required_argument, NULL, 'f'},
        {"threads", required_argument, NULL, 't'},
        {"peers", no_argument, NULL, 'p'},
        {"peer-timeout", required_argument, NULL, 'P'},
        {"min-time", required_argument, NULL, 'm'},
        {"repetitions", required_argument, NULL, 'r'},
        {"format", required_argument, NULL, 'F'},
        {"out", required_argument, NULL, 'o'},
        {"html", required_argument, NULL, 'H'},
        {"label", required_argument, NULL, 'L'},
        {"from", required_argument, NULL, 'i'},
        {"baseline", required_argument, NULL, 'b'},
        {"threshold", required_argument, NULL, 'T'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    options *o = out_options;
    set_defaults(o);
    int letter;
    while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1)
        if (!read_option(o, letter, out_status)) {
            options_deinit(o);
            return false;
        }
    if (optind < argc) {
        fprintf(stderr,
                "tgjit-bench: unexpected argument '%s'; did you mean "
                "--filter=%s?\n",
                argv[optind], argv[optind]);
        *out_status = EXIT_USAGE;
        options_deinit(o);
        return false;
    }
    if (!o->has_format && o->out)
        o->format = FORMAT_JSON;
    return true;
}

void options_deinit(options *o)
{
    if (o->has_filter)
        regfree(&o->filter);
    o->has_filter = false;
}

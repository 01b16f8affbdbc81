/* SPDX-License-Identifier: MIT */
/*
 * options.h - the command line.
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <regex.h>

#include "measure.h"

enum { MAX_THREAD_COUNTS = 16, MAX_FILES = 16 };
enum {
    EXIT_USAGE = 2,     /* invalid command line */
    EXIT_REGRESSION = 3 /* slower than the baseline */
};

typedef enum action {
    ACTION_MEASURE,
    ACTION_CHECK,
    ACTION_LIST,
    ACTION_CALIBRATE
} action;
typedef enum format {
    FORMAT_TABLE,
    FORMAT_JSON,
    FORMAT_CSV,
    FORMAT_MARKDOWN
} format;

typedef struct options {
    action action;
    bool has_filter;
    regex_t filter;
    const char *filter_text;
    bool has_all;   /* every row, and the table of all rows */
    bool has_peers; /* rows of engines in Python; notes about missing peers */
    measure_options measure;
    int threads[MAX_THREAD_COUNTS];
    size_t n_threads;
    bool has_format;
    format format; /* of `out` if set, else of stdout */
    const char *out, *html, *label;
    const char *from[MAX_FILES]; /* results to read instead of measuring */
    size_t n_from;
    const char *baseline;
    double threshold; /* how much slower is a regression, as a share */
} options;

/*
 * Parses the command line. False if the program is to exit with *out_status,
 * after an error, --help or --version.
 */
bool options_read(options *out_options, int argc, char **argv,
                  int *out_status);
void options_deinit(options *o);

#endif /* BENCH_OPTIONS_H */

/* SPDX-License-Identifier: MIT */
/*
 * options.h - the command line.
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <regex.h>

#include "report.h"

enum { MAX_THREAD_COUNTS = 16 };
enum { EXIT_USAGE = 2 }; /* invalid command line */

typedef enum action { ACTION_MEASURE, ACTION_CHECK, ACTION_LIST } action;

typedef struct options {
    action action;
    bool has_filter;
    regex_t filter;
    const char *filter_text;
    bool has_peers; /* rows of engines in Python; notes about missing peers */
    measure_options measure;
    int threads[MAX_THREAD_COUNTS];
    size_t n_threads;
    const report_format *format; /* for `out` if set, else for stdout */
    const char *out;
} options;

/*
 * Parses the command line. False if the program is to exit with *out_status,
 * after an error, --help or --version.
 */
bool options_read(options *out_options, int argc, char **argv,
                  int *out_status);
void options_deinit(options *o);

#endif /* BENCH_OPTIONS_H */

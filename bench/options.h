/* SPDX-License-Identifier: MIT */
/*
 * options.h - what the command line asks for.
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <regex.h>

#include "report.h"

enum { MAX_THREAD_COUNTS = 16 };
enum { EXIT_USAGE = 2 }; /* the command line is wrong */

typedef enum action { ACTION_MEASURE, ACTION_CHECK, ACTION_LIST } action;

typedef struct options {
    action action;
    bool has_filter;
    regex_t filter;
    const char *filter_text;
    measure_options measure;
    int threads[MAX_THREAD_COUNTS];
    size_t n_threads;
    const report_format *format; /* of `out` if given, else of stdout */
    const char *out;
} options;

/*
 * Reads the command line. False if there is nothing more to do: then
 * *out_status is what to exit with.
 */
bool options_read(options *out_options, int argc, char **argv,
                  int *out_status);
void options_deinit(options *o);

#endif /* BENCH_OPTIONS_H */

/* SPDX-License-Identifier: MIT */
/* fuzz_options.h - the options of programs that check random cases. */
#ifndef TGI_TEST_FUZZ_OPTIONS_H
#define TGI_TEST_FUZZ_OPTIONS_H

#include <stdint.h>
#include <stdlib.h>

#include "support/arguments.h"
#include "support/workers.h"

typedef struct fuzz_options {
    uint64_t seed, count, only;
    bool is_only; /* --only was given */
    int n_jobs;
} fuzz_options;

/* --count N, --seed S, --only K, --jobs J. Reports a wrong argument; false. */
static inline bool fuzz_options_parse(const char *program, fuzz_options *o,
                                      int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (value && strcmp(argv[i], "--count") == 0)
            o->count = strtoull(value, NULL, 0);
        else if (value && strcmp(argv[i], "--seed") == 0)
            o->seed = strtoull(value, NULL, 0);
        else if (value && strcmp(argv[i], "--only") == 0)
            o->only = strtoull(value, NULL, 0), o->is_only = true;
        else if (value && strcmp(argv[i], "--jobs") == 0 && atoi(value) >= 1 &&
                 atoi(value) <= WORKERS_MAX)
            o->n_jobs = atoi(value);
        else
            return argument_is_wrong(program, argc, argv, i);
    }
    return true;
}

/* The random state of case `number`. */
static inline uint64_t fuzz_options_random(const fuzz_options *o,
                                           uint64_t number)
{
    return o->seed * 0x2545f4914f6cdd1du + number;
}

#endif /* TGI_TEST_FUZZ_OPTIONS_H */

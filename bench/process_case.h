/* SPDX-License-Identifier: MIT */
/*
 * process_case.h - the family of cases about whole processes: from the request
 * for one to its first result, and the memory it then has. They are this
 * program once more, by an option that is not for people.
 */
#ifndef BENCH_PROCESS_CASE_H
#define BENCH_PROCESS_CASE_H

#include "case.h"

typedef enum process_kind {
    PROCESS_EMPTY,  /* main, and nothing else: what all others stand upon */
    PROCESS_INTERP, /* interprets */
    PROCESS_COLD,   /* compiles, and keeps the code in a directory */
    PROCESS_WARM,   /* finds it there */
    PROCESS_TIERS,  /* interprets, and has it compiled in the background */
    N_PROCESS_KINDS
} process_kind;

typedef struct process_case {
    process_kind kind;
} process_case;

extern const case_family process_family;

/* Whether this is such a process; its exit status, if so. */
bool process_is_child(int argc, char **argv, int *out_status);

#endif /* BENCH_PROCESS_CASE_H */

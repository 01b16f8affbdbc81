/* SPDX-License-Identifier: MIT */
/*
 * process_case.h - cases that time whole processes, from their creation to the
 * first result, and their resident memory at that point. A child is this
 * program, run with an internal option.
 */
#ifndef BENCH_PROCESS_CASE_H
#define BENCH_PROCESS_CASE_H

#include "case.h"

typedef enum process_kind {
    PROCESS_EMPTY,  /* an empty main, the baseline */
    PROCESS_INTERP, /* interprets */
    PROCESS_COLD,   /* compiles, and saves the code in a disk cache */
    PROCESS_WARM,   /* loads the code from that cache */
    PROCESS_TIERS,  /* interprets while compiling in the background */
    N_PROCESS_KINDS
} process_kind;

typedef struct process_case {
    process_kind kind;
} process_case;

extern const case_family process_family;

/* True if this process is such a child; it has run and is to exit with
   *out_status. */
bool process_is_child(int argc, char **argv, int *out_status);

#endif /* BENCH_PROCESS_CASE_H */

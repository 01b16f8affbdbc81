/* SPDX-License-Identifier: MIT */
/*
 * graph_case.h - the family of cases about what happens before a function
 * runs. Every iteration makes a new function, so nothing is found in a table.
 */
#ifndef BENCH_GRAPH_CASE_H
#define BENCH_GRAPH_CASE_H

#include "case.h"

typedef enum graph_phase {
    PHASE_TRACE,  /* the callback, which records the graph */
    PHASE_PASSES, /* from there to a trace that can be called */
    PHASE_FIRST,  /* all up to the first result, so with the compiler */
    PHASE_DISK    /* the same with code from a directory */
} graph_phase;

typedef struct graph_case {
    graph_phase phase;
} graph_case;

extern const case_family graph_family;

#endif /* BENCH_GRAPH_CASE_H */

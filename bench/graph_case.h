/* SPDX-License-Identifier: MIT */
/*
 * graph_case.h - cases that time what happens before a function runs. Every
 * iteration creates a new function, so no trace is reused.
 */
#ifndef BENCH_GRAPH_CASE_H
#define BENCH_GRAPH_CASE_H

#include "case.h"

typedef enum graph_phase {
    PHASE_TRACE,  /* the callback, which records the graph */
    PHASE_PASSES, /* from there to a trace that can be called */
    PHASE_FIRST,  /* everything up to the first result, with the compiler */
    PHASE_DISK    /* the same, with code from the disk cache */
} graph_phase;

typedef struct graph_case {
    graph_phase phase;
} graph_case;

extern const case_family graph_family;

#endif /* BENCH_GRAPH_CASE_H */

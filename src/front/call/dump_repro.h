/* SPDX-License-Identifier: MIT */
/*
 * dump_repro.h - a call as a reproducer: a C program that builds the same
 * graph, contains the same data, interprets and compiles it, and compares the
 * results.
 */
#ifndef TGI_DUMP_REPRO_H
#define TGI_DUMP_REPRO_H

#include "ir/graph.h"

/* Settings of the call. Zero: the default. */
typedef struct tgi_repro_settings {
    int threads;
    unsigned vector_bits;
    bool ignores_grain;  /* TGJIT_GRAIN=0 */
    bool no_contraction; /* disabled, or already applied to the graph */
} tgi_repro_settings;

/*
 * Appends the program for a graph without calls and host calls, with these
 * values of its extents and these contents of its parameters. When out of
 * memory, out->failed is set.
 */
void tgi_dump_repro(const tgi_graph *graph, const int64_t *values,
                    void *const *params, const tgi_repro_settings *settings,
                    tgi_strbuf *out);

#endif /* TGI_DUMP_REPRO_H */

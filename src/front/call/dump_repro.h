/* SPDX-License-Identifier: MIT */
/*
 * dump_repro.h - a call as a program: C that builds the same graph, has the
 * same data, runs it in the interpreter and compiled, and tells whether they
 * agree.
 */
#ifndef TGI_DUMP_REPRO_H
#define TGI_DUMP_REPRO_H

#include "ir/graph.h"

/* How the call ran. All zero: as it suits the machine. */
typedef struct tgi_repro_settings {
    int threads;
    unsigned vector_bits;
    bool splits_all;     /* as TGJIT_GRAIN=0 makes it */
    bool no_contraction; /* the context had none, or the graph has been
                            through it */
} tgi_repro_settings;

/*
 * Writes the program for a graph without calls, those of the host among them,
 * with these values of its extents and these elements of its parameters.
 */
void tgi_dump_repro(const tgi_graph *graph, const int64_t *values,
                    void *const *params, const tgi_repro_settings *settings,
                    tgi_strbuf *out);

#endif /* TGI_DUMP_REPRO_H */

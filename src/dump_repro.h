/* SPDX-License-Identifier: MIT */
/*
 * dump_repro.h - a call as a program: C that builds the same graph, has the
 * same data, runs it in the interpreter and compiled, and tells whether they
 * agree.
 */
#ifndef TGI_DUMP_REPRO_H
#define TGI_DUMP_REPRO_H

#include "graph.h"

/*
 * Writes the program for a graph without calls, with these values of its
 * extents and these elements of its parameters.
 */
void tgi_dump_repro(const tgi_graph *graph, const int64_t *values,
                    void *const *params, tgi_strbuf *out);

#endif /* TGI_DUMP_REPRO_H */

/* SPDX-License-Identifier: MIT */
/*
 * inspect.h - everything the compiler knows about a graph, for the pages of
 * TGJIT_INSPECT: its loops with schedules, the decisions of fusion and the
 * assembly.
 */
#ifndef TGI_INSPECT_H
#define TGI_INSPECT_H

#include "jit.h"
#include "loop/loops.h"

typedef struct tgi_inspected_code {
    tgi_loops *loops; /* with schedules */
    char *fusion;     /* a line per decision (loop/explain.h) */
    char *assembly;   /* NULL: there is none, because of … */
    char reason[512]; /* … this */
} tgi_inspected_code;

/*
 * Compiles the graph as tgi_program_create does, for calls whose extents have
 * these values, but always anew: caches do not have the texts. Nothing is
 * loaded or saved. Fails if there are no loops; without a code generator, only
 * the assembly is missing. A program of the graph, or NULL, gives its measured
 * plan. On success tgi_inspected_code_deinit is due. `graph` must outlive the
 * loops.
 */
tg_status tgi_jit_inspect(const tgi_graph *graph, const int64_t *values,
                          const tgi_jit_options *options,
                          const tgi_program *program,
                          tgi_inspected_code *out_code);
void tgi_inspected_code_deinit(tgi_inspected_code *code);

#endif /* TGI_INSPECT_H */

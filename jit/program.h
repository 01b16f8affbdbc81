/* SPDX-License-Identifier: MIT */
/*
 * program.h - tgi_program, a compiled graph, for jit/run and jit/export.
 */
#ifndef TGI_PROGRAM_H
#define TGI_PROGRAM_H

#include "base/refcount.h"
#include "cache/code.h"
#include "codegen/entry_abi.h"
#include "jit.h"
#include "loop/loops.h"

struct tgi_program {
    tgi_refcount refs;
    tgi_graph *graph; /* retained */
    tgi_loops *loops;
    tgi_code *code;   /* retained; other programs may share it */
    tgi_entry *entry; /* of `code` */
    tgi_compile_stats stats;
    atomic_uint reported_in; /* the generation of the profile that has them */
};

/* UNSUPPORTED if the graph or one of its regions has a CALL node: calls must be
   inlined before a compile. */
tg_status tgi_program_check_no_calls(const tgi_graph *graph);

#endif /* TGI_PROGRAM_H */

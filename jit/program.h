/* SPDX-License-Identifier: MIT */
/*
 * program.h - the inside of a compiled graph.
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
    tgi_code *code;   /* retained, perhaps shared with others */
    tgi_entry *entry; /* its */
};

/* Graphs are compiled without calls: all must have been inlined. */
tg_status tgi_program_check_no_calls(const tgi_graph *graph);

#endif /* TGI_PROGRAM_H */

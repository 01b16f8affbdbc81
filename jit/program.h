/* SPDX-License-Identifier: MIT */
/*
 * program.h - the inside of a compiled graph.
 */
#ifndef TGI_PROGRAM_H
#define TGI_PROGRAM_H

#include "abi.h"
#include "codegen.h"
#include "image.h"
#include "jit.h"
#include "loops.h"
#include "refcount.h"

struct tgi_program {
    tgi_refcount refs;
    tgi_graph *graph; /* retained */
    tgi_loops *loops;
    tgi_image *image;
    tgi_entry *entry;
    const tgi_kernel_cost *costs; /* by kernel; the loops' */
};

#endif /* TGI_PROGRAM_H */

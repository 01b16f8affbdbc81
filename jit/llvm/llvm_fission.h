/* SPDX-License-Identifier: MIT */
/*
 * llvm_fission.h - long bodies in strips: what the files share.
 *
 *   llvm_fission.c        rows by strips, and what is left over of a row
 *   llvm_fission_plan.c   where a body is cut
 *   llvm_fission_loop.c   the loop of a strip
 *   llvm_fission_function.c  strips as functions, for those that are the same
 */
#ifndef TGI_LLVM_FISSION_H
#define TGI_LLVM_FISSION_H

#include "llvm/llvm_lower.h"

/* What becomes of an inst of the body. */
typedef struct tgi_llvm_placed {
    uint32_t strip;   /* that computes it; loads are made anew by all */
    uint32_t last;    /* the last one that uses it */
    uint32_t slot;    /* number + 1 of where it is kept for others; or 0 */
    uint32_t fetched; /* number + 1 of the strip that fetched it last; or 0 */
    uint32_t local;   /* its number within the strip, from 1 */
} tgi_llvm_placed;

typedef struct tgi_llvm_strips {
    tgi_llvm_kernel *k;
    unsigned phase;
    unsigned lanes;

    uint32_t n_strips;
    bool *is_shared;         /* by strip: it is a function */
    tgi_llvm_placed *placed; /* by inst */

    /* Where values are kept: memory of each slot, and while it is planned
       the last strip that reads it. */
    uint32_t n_slots;
    LLVMValueRef *slots;
    uint32_t *slot_last;
    unsigned slot_bytes; /* of an element */

    /* By access: where its row begins, in the strips and in fact; room for
       what is left over. NULL: not an access of the body. */
    LLVMValueRef *heads, *real, *spares;
    /* By inst: memory of what is the same for all lanes, for functions. */
    LLVMValueRef *scalars;

    LLVMValueRef at, n; /* where the strips begin, how long they are */
} tgi_llvm_strips;

/* True if an inst belongs to the body. */
bool tgi_llvm_is_in_body(const tgi_llvm_strips *s, uint32_t inst);
/* True if strips take an inst anew where they need it: a load, a position. */
bool tgi_llvm_is_anew(const tgi_llvm_strips *s, uint32_t inst);
/* True if a strip computes it. */
bool tgi_llvm_is_in_strip(const tgi_llvm_strips *s, uint32_t inst,
                          uint32_t strip);

/* Cuts the body; the arrays are there and zero. */
void tgi_llvm_strips_plan(tgi_llvm_strips *s);

/* Emits a strip from s->at on, in place. */
void tgi_llvm_strip_loop(tgi_llvm_strips *s, uint32_t strip);

/* Puts what is the same for all lanes where functions find it. */
void tgi_llvm_share_scalars(tgi_llvm_strips *s);
/* Emits a strip as the call of a function, made if there is none like it;
   false if that cannot be. */
bool tgi_llvm_strip_call(tgi_llvm_strips *s, uint32_t strip);

#endif /* TGI_LLVM_FISSION_H */

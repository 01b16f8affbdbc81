/* SPDX-License-Identifier: MIT */
/*
 * llvm_strips.h - how a long body is cut into strips (llvm_strips_plan.c), for
 * the file that emits them (llvm_strips.c).
 */
#ifndef TGI_LLVM_STRIPS_H
#define TGI_LLVM_STRIPS_H

#include "llvm_lower.h"

/* What becomes of an inst. */
typedef struct tgi_llvm_placed {
    uint32_t strip; /* that computes it */
    uint32_t last;  /* the last one that uses it */
    uint32_t slot;  /* number + 1 of where it is kept for later ones; or 0 */
    uint32_t fetched; /* number + 1 of the strip that fetched it last; or 0 */
} tgi_llvm_placed;

typedef struct tgi_llvm_plan {
    unsigned phase;
    unsigned lanes;
    uint32_t n_strips;
    uint32_t *calls;         /* by strip: the inst that is a call; 0: none */
    tgi_llvm_placed *placed; /* by inst */
    /* By access: where its row begins, in the strips and in fact; room for
       what is left over. NULL: not an access of the body. */
    LLVMValueRef *heads, *real, *spares;
    uint32_t n_slots;
    uint32_t *slot_last;  /* by slot: the last strip that reads it */
    LLVMValueRef *slots;  /* memory of each */
    unsigned slot_bytes;  /* of an element */
} tgi_llvm_plan;

/* Fills a plan, whose arrays are there and zero. */
void tgi_llvm_plan_strips(const tgi_llvm_kernel *k, tgi_llvm_plan *plan);

/* True if strips take an inst anew where they need it: a load. */
bool tgi_llvm_is_anew(const tgi_inst *inst);

/* True if an inst belongs to the body of a phase. */
bool tgi_llvm_is_in_body(const tgi_llvm_kernel *k, uint32_t inst,
                         unsigned phase);

/*
 * A function that applies the op of an inst to whole strips:
 *
 *     void op(const void *const in[n_operands] …, void *out, i64 n)
 *
 * with n > 0 a multiple of `lanes`.
 */
LLVMValueRef tgi_llvm_strip_function(tgi_llvm_kernel *k, const tgi_inst *inst,
                                     unsigned lanes);
LLVMTypeRef tgi_llvm_strip_function_type(const tgi_llvm_program *program,
                                         const tgi_inst *inst);

#endif /* TGI_LLVM_STRIPS_H */

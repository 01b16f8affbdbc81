/* SPDX-License-Identifier: MIT */
/*
 * llvm_fission.h - long bodies in parts: what the files share.
 *
 *   llvm_fission.c        rows by parts, and what is left over of a row
 *   llvm_fission_plan.c   where a body is cut
 *   llvm_fission_loop.c   the loop of a part
 *   llvm_fission_function.c  parts as functions, for those that are the same
 */
#ifndef TGI_LLVM_FISSION_H
#define TGI_LLVM_FISSION_H

#include "llvm/llvm_kernel_state.h"

/* What becomes of an inst of the body. */
typedef struct tgi_llvm_fission_inst {
    uint32_t part;     /* that computes it; loads are made anew by all */
    uint32_t last_use; /* the last_use one that uses it */
    uint32_t slot;     /* number + 1 of where it is kept for others; or 0 */
    uint32_t
        loaded_in; /* number + 1 of the part that loaded_in it last_use; or 0 */
    uint32_t local; /* its number within the part, from 1 */
} tgi_llvm_fission_inst;

typedef struct tgi_llvm_fission {
    tgi_llvm_kernel *k;
    unsigned phase;
    unsigned lanes;

    uint32_t n_parts;
    bool *is_function;            /* by part: it is a function */
    tgi_llvm_fission_inst *insts; /* by inst */

    /* Where values are kept: memory of each slot, and while it is planned
       the last_use part that reads it. */
    uint32_t n_slots;
    LLVMValueRef *slots;
    uint32_t *slot_last_use;
    unsigned slot_bytes; /* of an element */

    /* By access: where its row begins, in the parts and in fact; room for
       what is left over. NULL: not an access of the body. */
    LLVMValueRef *row_starts, *buffer_rows, *tail_rows;
    /* By inst: memory of what is the same for all lanes, for functions. */
    LLVMValueRef *scalars;

    LLVMValueRef at, n; /* where the parts begin, how long they are */
} tgi_llvm_fission;

/* True if an inst belongs to the body. */
bool tgi_llvm_fission_in_body(const tgi_llvm_fission *s, uint32_t inst);
/* True if parts take an inst anew where they need it: a load, a position. */
bool tgi_llvm_fission_rematerialises(const tgi_llvm_fission *s, uint32_t inst);
/* True if a part computes it. */
bool tgi_llvm_fission_in_part(const tgi_llvm_fission *s, uint32_t inst,
                              uint32_t part);

/* Cuts the body; the arrays are there and zero. */
void tgi_llvm_fission_plan(tgi_llvm_fission *s);

/* Emits a part from s->at on, in place. */
void tgi_llvm_fission_loop_emit(tgi_llvm_fission *s, uint32_t part);

/* Puts what is the same for all lanes where functions find it. */
void tgi_llvm_fission_scalars_store(tgi_llvm_fission *s);
/* Emits a part as the call of a function, made if there is none like it;
   false if that cannot be. */
bool tgi_llvm_fission_call_emit(tgi_llvm_fission *s, uint32_t part);

/* -- Interface ------------------------------------------------------------- */

/* True if a phase can be split: no reductions or checks, unit strides, and a
   heavy body. */
bool tgi_llvm_can_fission(const tgi_llvm_analysis *a, unsigned phase);
/* True if its body exceeds the cost of one loop. */
bool tgi_llvm_needs_fission(const tgi_llvm_analysis *a, unsigned phase);
/* Emits such a phase; from … to - 1 of the inner axis. */
void tgi_llvm_rows_fission_emit(tgi_llvm_kernel *k, unsigned phase,
                                LLVMValueRef from, LLVMValueRef to);
/* Frees the table of functions that fissioned loops share. */
void tgi_llvm_fission_functions_free(tgi_llvm_program *program);

#endif /* TGI_LLVM_FISSION_H */

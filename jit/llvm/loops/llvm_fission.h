/* SPDX-License-Identifier: MIT */
/*
 * llvm_fission.h - loop fission and strip-mining of heavy bodies, shared by
 *
 *   llvm_fission.c           strip loop, tail of a row
 *   llvm_fission_loop.c      the loop of a part
 *   llvm_fission_function.c  parts as functions that a program shares
 */
#ifndef TGI_LLVM_FISSION_H
#define TGI_LLVM_FISSION_H

#include "llvm/emit/llvm_kernel_state.h"

/* State of an inst of the body. */
typedef struct tgi_llvm_fission_inst {
    uint32_t loaded_in; /* number + 1 of the part that loaded it last; or 0 */
    uint32_t local;     /* number within its part, from 1 */
} tgi_llvm_fission_inst;

typedef struct tgi_llvm_fission {
    tgi_llvm_kernel *k;
    unsigned phase;
    unsigned lanes;

    const tgi_fission *plan;
    tgi_llvm_fission_inst *insts; /* by inst */
    /* By slot: a stack array of one strip, which holds values for later
       parts. */
    LLVMValueRef *slots;

    /* By access: address at 0 of the inner axis in the current strip loop, in
       the buffer, and of the padded tail. NULL: not an access of the body. */
    LLVMValueRef *row_starts, *buffer_rows, *tail_rows;
    /* By inst: memory of a uniform operand, for functions; NULL: none. */
    LLVMValueRef *scalars;

    LLVMValueRef at, n; /* first element and length of the current strip */
} tgi_llvm_fission;

static inline const tgi_inst *
tgi_llvm_fission_inst_at(const tgi_llvm_fission *s, uint32_t inst)
{
    return &s->k->loops->insts.data[inst];
}

static inline tg_dtype tgi_llvm_fission_access_dtype(const tgi_llvm_fission *s,
                                                     uint32_t access)
{
    const uint32_t buffer =
        tgi_buffer_id_index(s->k->loops->accesses.data[access].buffer);
    return s->k->program->loops->buffers.data[buffer].dtype;
}

/* True if a store belongs to the body. */
static inline bool tgi_llvm_fission_has_store(const tgi_llvm_fission *s,
                                              const tgi_loop_store *store)
{
    return store->level == TGI_LEVEL_INNER && store->phase == s->phase;
}

/* The schedule of an inst. */
static inline const tgi_inst_schedule *
tgi_llvm_fission_placed(const tgi_llvm_fission *s, uint32_t inst)
{
    return &s->k->schedule->insts[inst];
}

/* True if an inst belongs to the body. */
static inline bool tgi_llvm_fission_in_body(const tgi_llvm_fission *s,
                                            uint32_t inst)
{
    return tgi_llvm_fission_placed(s, inst)->level == TGI_LEVEL_INNER &&
           tgi_llvm_fission_inst_at(s, inst)->phase == s->phase;
}

/* True for loads and positions, which every part that uses them computes. */
static inline bool tgi_llvm_fission_rematerialises(const tgi_llvm_fission *s,
                                                   uint32_t inst)
{
    return tgi_llvm_fission_inst_at(s, inst)->kind == TGI_INST_LOAD ||
           tgi_llvm_fission_inst_at(s, inst)->kind == TGI_INST_POSITION;
}

/* True if this part computes an inst. */
static inline bool tgi_llvm_fission_in_part(const tgi_llvm_fission *s,
                                            uint32_t inst, uint32_t part)
{
    return tgi_llvm_fission_in_body(s, inst) &&
           !tgi_llvm_fission_rematerialises(s, inst) &&
           tgi_llvm_fission_placed(s, inst)->part == part;
}

/* True if a part is a function that kernels share. */
bool tgi_llvm_fission_is_function(const tgi_llvm_fission *s, uint32_t part);

/* Emits the loop of a part over the strip at s->at. */
void tgi_llvm_fission_loop_emit(tgi_llvm_fission *s, uint32_t part);

/* Stores the uniform operands of parts that are functions to s->scalars. */
void tgi_llvm_fission_scalars_store(tgi_llvm_fission *s);
/* Emits a part as a call of a function, defining it if no equal one exists.
   False if the part cannot be a function. */
bool tgi_llvm_fission_call_emit(tgi_llvm_fission *s, uint32_t part);

/* -- Interface ------------------------------------------------------------- */

/* Emits a phase with fission; from … to - 1 of the inner axis. */
void tgi_llvm_fission_emit(tgi_llvm_kernel *k, unsigned phase,
                                LLVMValueRef from, LLVMValueRef to);
/* Frees the table of functions that fissioned loops share. */
void tgi_llvm_fission_functions_free(tgi_llvm_program *program);

#endif /* TGI_LLVM_FISSION_H */

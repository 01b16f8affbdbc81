/* SPDX-License-Identifier: MIT */
/*
 * llvm_fission.h - loop fission and strip-mining of heavy bodies, shared by
 *
 *   llvm_fission.c           strip loop, tail of a row
 *   llvm_fission_plan.c      which part computes an inst, and slots
 *   llvm_fission_loop.c      the loop of a part
 *   llvm_fission_function.c  parts as functions that a program shares
 */
#ifndef TGI_LLVM_FISSION_H
#define TGI_LLVM_FISSION_H

#include "llvm/emit/llvm_kernel_state.h"

/* Placement of an inst of the body. */
typedef struct tgi_llvm_fission_inst {
    uint32_t part;      /* that computes it, unless it is rematerialised */
    uint32_t last_use;  /* the last part that uses it */
    uint32_t slot;      /* number + 1 of its slot; 0: not used by later parts */
    uint32_t loaded_in; /* number + 1 of the part that loaded it last; or 0 */
    uint32_t local;     /* number within its part, from 1 */
} tgi_llvm_fission_inst;

typedef struct tgi_llvm_fission {
    tgi_llvm_kernel *k;
    unsigned phase;
    unsigned lanes;

    uint32_t n_parts;
    bool *is_function;            /* by part */
    tgi_llvm_fission_inst *insts; /* by inst */

    /* Slots: stack arrays of one strip, which hold values for later parts. */
    uint32_t n_slots;
    LLVMValueRef *slots;     /* addresses */
    uint32_t *slot_last_use; /* while planning: the last part that reads it */
    unsigned slot_bytes;     /* of an element */

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

/* True if an inst belongs to the body. */
bool tgi_llvm_fission_in_body(const tgi_llvm_fission *s, uint32_t inst);
/* True for loads and positions, which every part that uses them computes. */
bool tgi_llvm_fission_rematerialises(const tgi_llvm_fission *s, uint32_t inst);
/* True if this part computes an inst. */
bool tgi_llvm_fission_in_part(const tgi_llvm_fission *s, uint32_t inst,
                              uint32_t part);

/* Splits the body into parts and assigns slots. Requires arrays of zeros. */
void tgi_llvm_fission_plan(tgi_llvm_fission *s);

/* Emits the loop of a part over the strip at s->at. */
void tgi_llvm_fission_loop_emit(tgi_llvm_fission *s, uint32_t part);

/* Stores the uniform operands of parts that are functions to s->scalars. */
void tgi_llvm_fission_scalars_store(tgi_llvm_fission *s);
/* Emits a part as a call of a function, defining it if no equal one exists.
   False if the part cannot be a function. */
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

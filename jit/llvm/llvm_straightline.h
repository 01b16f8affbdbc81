/* SPDX-License-Identifier: MIT */
/*
 * llvm_straightline.h - a straight-line group: consecutive straight-line
 * kernels, or a loop of them, emitted into the entry.
 *
 *   llvm_straightline.c       kernels
 *   llvm_straightline_loop.c  loops and branches around them
 *   llvm_store_forwarding.c   stored elements as SSA values
 */
#ifndef TGI_LLVM_STRAIGHTLINE_H
#define TGI_LLVM_STRAIGHTLINE_H

#include "llvm/llvm_entry.h"
#include "llvm/llvm_store_forwarding.h"

/* A loop-invariant load in front of a loop. */
typedef struct tgi_llvm_hoisted_load {
    uint32_t buffer;
    unsigned lanes;
    int64_t first; /* element */
    LLVMValueRef value;
} tgi_llvm_hoisted_load;

enum { TGI_LLVM_MAX_HOISTED_LOADS = 64 };

struct tgi_llvm_straightline {
    tgi_llvm_program *program;
    LLVMValueRef function, frame, table, thread;
    LLVMBasicBlockRef entry;        /* addresses and hoisted loads go here */
    LLVMValueRef *buffers;          /* by buffer: its address */
    tgi_llvm_forwarded **forwarded; /* by buffer: its elements; NULL: none */
    bool *is_stored;                /* by buffer: the group stores to it */
    bool *in_registers;             /* by buffer: carried, not in memory */
    bool hoists_loads;              /* of buffers that are not stored to */
    unsigned n_hoisted;
    tgi_llvm_hoisted_load hoisted[TGI_LLVM_MAX_HOISTED_LOADS];
};

/* A lane number, for LLVM's vector instructions. */
static inline LLVMValueRef tgi_llvm_lane_index(const tgi_llvm_program *program,
                                               unsigned lane)
{
    return LLVMConstInt(program->i32, lane, false);
}

/* -- llvm_straightline.c --------------------------------------------------- */

/* Begins a group of steps first … end - 1 in the current block; NULL after
   tgi_llvm_fail. */
tgi_llvm_straightline *tgi_llvm_straightline_begin(tgi_llvm_entry *entry,
                                                   size_t first, size_t end);
/* Emits a kernel; false after tgi_llvm_fail. */
bool tgi_llvm_straightline_kernel_emit(tgi_llvm_straightline *group,
                                       const tgi_kernel_loops *loops);
void tgi_llvm_straightline_end(tgi_llvm_straightline *group);

/* -- llvm_straightline_loop.c ---------------------------------------------- */

/* Emits the straight-line loop that begins at step `at`; returns the step after
   it. */
size_t tgi_llvm_straightline_loop_emit(tgi_llvm_entry *n, size_t at);

#endif /* TGI_LLVM_STRAIGHTLINE_H */

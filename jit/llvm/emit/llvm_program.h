/* SPDX-License-Identifier: MIT */
/*
 * llvm_program.h - one compile: the program, the target, the module under
 * construction and its first failure. llvm_codegen.c creates it.
 */
#ifndef TGI_LLVM_PROGRAM_H
#define TGI_LLVM_PROGRAM_H

#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_target.h"
#include "loop/loops.h"

typedef struct tgi_llvm_debug tgi_llvm_debug;

typedef struct tgi_llvm_program {
    const tgi_loops *loops;
    const tgi_llvm_target *target;
    tgi_llvm_emitter emitter;
    void *(*alloc)(size_t bytes);
    void (*free)(void *memory);

    LLVMTypeRef void_type, bit, i32, i64, pointer;
    LLVMTypeRef frame_type, kernel_type;
    LLVMValueRef check_handler; /* see llvm_check.h; NULL: no checks */
    LLVMValueRef zeros; /* read by gathers from empty buffers, or NULL */
    struct tgi_llvm_fission_functions *fission_functions;
    tgi_llvm_debug *debug; /* see llvm_debug.h; NULL: none */
    bool has_step_hooks; /* the entry calls frame->step_done */
    bool has_polls;      /* the entry calls frame->poll */
    bool can_be_cancelled; /* it reads frame->cancel_word */
    bool is_out_of_memory;
    const char *failure; /* static text; NULL: none */
} tgi_llvm_program;

/* Records why the compile fails, unless an earlier failure is recorded; `why`
   is static. Returns false. */
bool tgi_llvm_fail(tgi_llvm_program *program, const char *why);
/* The same for a failed allocation. */
bool tgi_llvm_fail_memory(tgi_llvm_program *program);

/* A lane number, for LLVM's vector instructions. */
static inline LLVMValueRef tgi_llvm_lane_index(const tgi_llvm_program *program,
                                               unsigned lane)
{
    return LLVMConstInt(program->i32, lane, false);
}

#endif /* TGI_LLVM_PROGRAM_H */

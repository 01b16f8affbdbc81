/* SPDX-License-Identifier: MIT */
/* llvm_kernel.h - a function for each kernel, and its work items. */
#ifndef TGI_LLVM_KERNEL_H
#define TGI_LLVM_KERNEL_H

#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_program.h"

/* Sets up the emission state of a kernel; false after tgi_llvm_fail.
   End either way. */
bool tgi_llvm_kernel_begin(tgi_llvm_kernel *k, tgi_llvm_program *program,
                           const tgi_kernel_loops *loops);
void tgi_llvm_kernel_end(tgi_llvm_kernel *k);

/* Defines the function of a kernel; NULL for a straight-line kernel, which is
   emitted into the entry. False after tgi_llvm_fail. */
bool tgi_llvm_kernel_define(tgi_llvm_program *program,
                            const tgi_kernel_loops *loops,
                            LLVMValueRef *out_function);

/* True if a kernel runs the function of its twin. A kernel whose code has lines
   has a function of its own. */
static inline bool tgi_llvm_kernel_has_twin(const tgi_llvm_program *program,
                                            const tgi_kernel_loops *kernel)
{
    return !tgi_kernel_id_is_none(kernel->twin) && !program->debug;
}

#endif /* TGI_LLVM_KERNEL_H */

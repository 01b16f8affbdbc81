/* SPDX-License-Identifier: MIT */
/* llvm_cancel.h - places at which a call can end early (entry_abi.h). */
#ifndef TGI_LLVM_CANCEL_H
#define TGI_LLVM_CANCEL_H

#include "llvm/emit/llvm_kernel_state.h"

/* The word to watch and the value it had; constant during a call. */
typedef struct tgi_llvm_cancel {
    LLVMValueRef word, seen;
} tgi_llvm_cancel;

tgi_llvm_cancel tgi_llvm_cancel_load(const tgi_llvm_program *program,
                                     LLVMValueRef frame);

/*
 * Branches to `target` if the call must end, and continues in a new block.
 * `how`, an i64, is TGI_CANCEL_AGREED or TGI_CANCEL_ALONE; NULL is the latter. A
 * load, a comparison and a branch that is not taken.
 */
void tgi_llvm_cancel_emit(const tgi_llvm_program *program,
                          LLVMValueRef function, LLVMValueRef frame,
                          tgi_llvm_cancel cancel, LLVMValueRef how,
                          LLVMBasicBlockRef target);

#endif /* TGI_LLVM_CANCEL_H */

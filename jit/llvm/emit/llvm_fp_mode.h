/* SPDX-License-Identifier: MIT */
/*
 * llvm_fp_mode.h - the register with the floating-point mode (base/fpenv.h), in
 * generated code: MXCSR or FPCR.
 */
#ifndef TGI_LLVM_FP_MODE_H
#define TGI_LLVM_FP_MODE_H

#include <llvm-c/Core.h>
#include <stdint.h>

#include "target/target.h"

typedef struct tgi_llvm_fp_mode {
    uint32_t control, value; /* control bits, and their values in our mode */
    LLVMValueRef slot;       /* of MXCSR, which is accessed in memory; or NULL */
    LLVMValueRef read, write; /* intrinsics */
} tgi_llvm_fp_mode;

/* For code of one function, in whose entry block the builder is. */
void tgi_llvm_fp_mode_init(tgi_llvm_fp_mode *mode, tgi_isa isa,
                           LLVMModuleRef module, LLVMBuilderRef builder);

/* Reads and writes the register, an i32. */
LLVMValueRef tgi_llvm_fp_mode_read(const tgi_llvm_fp_mode *mode,
                                   LLVMBuilderRef builder);
void tgi_llvm_fp_mode_write(const tgi_llvm_fp_mode *mode,
                            LLVMBuilderRef builder, LLVMValueRef value);

#endif /* TGI_LLVM_FP_MODE_H */

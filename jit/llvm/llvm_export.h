/* SPDX-License-Identifier: MIT */
/* llvm_export.h - the function that other programs call (ahead of time). */
#ifndef TGI_LLVM_EXPORT_H
#define TGI_LLVM_EXPORT_H

#include "codegen/codegen.h"
#include "llvm/emit/llvm_program.h"

/* Defines the exported function, which runs the entry; the entry becomes
   internal. False after tgi_llvm_fail. */
bool tgi_llvm_export_define(tgi_llvm_program *program, LLVMValueRef entry,
                            const tgi_codegen_export *export);

#endif /* TGI_LLVM_EXPORT_H */

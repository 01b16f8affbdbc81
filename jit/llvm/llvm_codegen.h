/* SPDX-License-Identifier: MIT */
/* llvm_codegen.h - the plugin's interface for compiles (codegen.h). */
#ifndef TGI_LLVM_CODEGEN_H
#define TGI_LLVM_CODEGEN_H

#include "codegen/codegen.h"

tgi_codegen_compile tgi_llvm_codegen;
tgi_codegen_dispose tgi_llvm_codegen_dispose;

#endif /* TGI_LLVM_CODEGEN_H */

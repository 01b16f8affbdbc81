/* SPDX-License-Identifier: MIT */
/* llvm_classify.h - the analysis of a kernel. */
#ifndef TGI_LLVM_CLASSIFY_H
#define TGI_LLVM_CLASSIFY_H

#include "llvm/emit/llvm_analysis.h"

/* Analyses a kernel; false after tgi_llvm_fail. Deinit either way. */
bool tgi_llvm_analysis_init(tgi_llvm_analysis *a,
                            struct tgi_llvm_program *program,
                            const tgi_kernel_loops *loops);
void tgi_llvm_analysis_deinit(tgi_llvm_analysis *a);

#endif /* TGI_LLVM_CLASSIFY_H */

/* SPDX-License-Identifier: MIT */
/* llvm_cost.h - the cost of insts and kernels. */
#ifndef TGI_LLVM_COST_H
#define TGI_LLVM_COST_H

#include "codegen/codegen.h"
#include "llvm/emit/llvm_analysis.h"

/* Instructions on full vectors that an inst costs. */
unsigned tgi_llvm_inst_cost(const tgi_llvm_analysis *a, const tgi_inst *inst);

/* Picoseconds per point and element. */
tgi_kernel_cost tgi_llvm_kernel_cost(const tgi_llvm_analysis *a);

#endif /* TGI_LLVM_COST_H */

/* SPDX-License-Identifier: MIT */
/*
 * llvm_target.h - the CPU to compile for, and the LLVM attributes that follow.
 *
 * Compiled code needs some features (llvm_isa.h); hosts without them run the
 * interpreter. A target is the host, or another CPU by its LLVM name whose
 * features the host has, so that its code can be tested here. CPUs with other
 * features are rejected. Code of another architecture is compiled only for
 * other machines (`is_foreign`).
 */
#ifndef TGI_LLVM_TARGET_H
#define TGI_LLVM_TARGET_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <stdbool.h>
#include <stddef.h>

#include "llvm/emit/llvm_isa.h"

typedef struct tgi_llvm_target {
    LLVMTargetMachineRef machine; /* owned by this thread */
    const char *triple;           /* static */
    const char *cpu;              /* LLVM's name */
    const char *features;         /* relative to cpu: "+fma,-sse4a,…" */
    const tgi_llvm_isa *isa;
} tgi_llvm_target;

/*
 * The target for the CPU named `cpu` (NULL, "" or "host": the host), if it has
 * vectors of 128, 256 or 512 bits (0: any). If `is_foreign`, another machine
 * runs the code. On failure, returns false and writes the reason to `message`,
 * truncated to n bytes. Each thread owns one machine per CPU, disposed of when
 * it ends. Thread-safe.
 */
bool tgi_llvm_target_init(const char *cpu, unsigned vector_bits,
                          bool is_foreign, tgi_llvm_target *out_target,
                          char *message, size_t n);

/* Sets the triple and data layout of an empty module. */
void tgi_llvm_target_set_module(const tgi_llvm_target *target,
                                LLVMModuleRef module);

/*
 * Sets the attributes that every function with a body needs: CPU and features,
 * the width of its vector registers, no-builtins (LLVM must not introduce
 * library calls), nounwind, and frame pointers, by which profilers unwind.
 * Functions of external linkage become hidden, as jit/object/image.h requires.
 */
void tgi_llvm_target_set_function(const tgi_llvm_target *target,
                                  LLVMValueRef function, unsigned vector_bits);

/* The width of its vector registers, as set above; 128 of a temporary function
   without attributes. */
unsigned tgi_llvm_target_function_bits(LLVMValueRef function);

#endif /* TGI_LLVM_TARGET_H */

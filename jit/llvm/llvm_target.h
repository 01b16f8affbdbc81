/* SPDX-License-Identifier: MIT */
/*
 * llvm_target.h - for which CPU code is made, and what LLVM is told about it.
 *
 * The least is AVX2 with FMA; a host below that runs the interpreter. A target
 * is the host itself, or a lesser CPU by LLVM's name, so that one machine can
 * make and test the code of another. What the host could not run is refused.
 */
#ifndef TGI_LLVM_TARGET_H
#define TGI_LLVM_TARGET_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/dtype.h"

typedef struct tgi_llvm_target {
    LLVMTargetMachineRef machine; /* of this thread, never to be disposed of */
    const char *cpu;              /* as LLVM names it */
    const char *features;         /* beyond the CPU's own: "+avx2,-sse4a,…" */
    unsigned vector_bits;         /* of the vectors to emit */
    bool has_avx512;              /* F, BW, CD, DQ and VL */
} tgi_llvm_target;

/*
 * The target of the CPU named `cpu` (NULL, "" and "host": this one) with
 * vectors of 128, 256 or 512 bits (0: 256). False if there is none; then
 * `message` says why, cut at n bytes. A machine is made once for each thread
 * and CPU, and is that thread's alone until it ends.
 */
bool tgi_llvm_target_init(const char *cpu, unsigned vector_bits,
                          tgi_llvm_target *out_target, char *message, size_t n);

/* Lanes that fill one vector. */
unsigned tgi_llvm_target_lanes(const tgi_llvm_target *target, tg_dtype dtype);

/* Before anything is emitted into a module: its triple and data layout. */
void tgi_llvm_target_set_module(const tgi_llvm_target *target,
                                LLVMModuleRef module);

/*
 * For every function with a body: the target, no library calls to be made up,
 * no unwinding, and frame pointers, by which profilers walk the stack. One
 * that is not internal becomes hidden, as jit/object/image.h wants it.
 */
void tgi_llvm_target_set_function(const tgi_llvm_target *target,
                                  LLVMValueRef function);

/* Has a function compiled in an eighth less of time, where the order of its
   instructions hardly matters: loads and FMAs that the CPU orders itself. */
void tgi_llvm_target_skip_post_ra_scheduler(LLVMValueRef function);

#endif /* TGI_LLVM_TARGET_H */

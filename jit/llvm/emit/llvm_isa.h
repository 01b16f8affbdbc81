/* SPDX-License-Identifier: MIT */
/*
 * llvm_isa.h - what the code generator must know of an instruction set beyond
 * LLVM's generic IR. All of x86 is in llvm_x86.c; another architecture is
 * another file with constants of this type.
 */
#ifndef TGI_LLVM_ISA_H
#define TGI_LLVM_ISA_H

#include <llvm-c/Core.h>
#include <stdbool.h>

/* Lanes of `permute`, and elements of its table. */
enum { TGI_LLVM_PERMUTE_LANES = 8 };

typedef struct tgi_llvm_isa {
    bool has_512_bits;
    /* Without these, llvm_quirks.c helps LLVM. */
    bool has_mask_registers;
    bool converts_64_bit_integers; /* vectors of them, to and from floats */
    bool broadcasts_operands;      /* one element in memory, as an operand */
    unsigned mask_bytes; /* up to this size, LLVM combines masks of i1 well */

    /* A store fence, which orders non-temporal stores. */
    void (*store_fence)(LLVMBuilderRef builder);
    /* Lane i is the element number index[i] % 8 of a vector of 8 floats. */
    LLVMValueRef (*permute)(LLVMBuilderRef builder, LLVMValueRef table,
                            LLVMValueRef index);
    /* Store the floating-point mode (fpenv.h) to an i32, and load it. */
    void (*save_fp_mode)(LLVMBuilderRef builder, LLVMValueRef slot);
    void (*restore_fp_mode)(LLVMBuilderRef builder, LLVMValueRef slot);
    /* The CPU whose model in LLVM has no post-RA scheduler. */
    const char *unscheduled_cpu;
} tgi_llvm_isa;

/* Features that compiled code needs, for messages: "A or B". */
extern const char tgi_llvm_isa_needed[];

/* The instruction set of a CPU with these features, in LLVM's notation; NULL if
   one is missing that compiled code needs. */
const tgi_llvm_isa *tgi_llvm_isa_of_features(const char *features);
/* That of a CPU of cpu.def. */
const tgi_llvm_isa *tgi_llvm_isa_of_cpu(bool has_512_bits);

#endif /* TGI_LLVM_ISA_H */

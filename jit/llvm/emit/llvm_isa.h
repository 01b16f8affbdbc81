/* SPDX-License-Identifier: MIT */
/*
 * llvm_isa.h - what the code generator must know of an instruction set beyond
 * LLVM's generic IR. All of x86 is in llvm_x86.c, all of AArch64 in
 * llvm_aarch64.c; another architecture is another file with constants of this
 * type.
 */
#ifndef TGI_LLVM_ISA_H
#define TGI_LLVM_ISA_H

#include <llvm-c/Core.h>
#include <stdbool.h>
#include <stdint.h>

#include "target/target.h"

/* LLVM's back ends. Code of all but that of the host is for other machines. */
typedef enum tgi_llvm_architecture {
    TGI_LLVM_X86_64,
    TGI_LLVM_AARCH64,
    TGI_LLVM_ARCHITECTURES
} tgi_llvm_architecture;

/* Lanes of `permute`, and elements of its table. */
enum { TGI_LLVM_PERMUTE_LANES = 8 };

typedef struct tgi_llvm_isa {
    tgi_llvm_architecture architecture;
    unsigned max_vector_bits;
    /* Without these, llvm_quirks.c helps LLVM. */
    bool has_mask_registers;
    bool converts_64_bit_integers; /* vectors of them, to and from floats */
    bool broadcasts_operands;      /* one element in memory, as an operand */
    unsigned mask_bytes; /* up to this size, LLVM combines masks of i1 well */

    /* Stores n_bytes copies of a byte, by whole cache lines. NULL: no such
       instruction. */
    void (*fill)(LLVMBuilderRef builder, LLVMValueRef address,
                 LLVMValueRef n_bytes, LLVMValueRef byte);
    /* A store fence, which orders non-temporal stores. NULL: a barrier orders
       them like other stores. */
    void (*store_fence)(LLVMBuilderRef builder);
    /* Lane i is the element number index[i] % 8 of a vector of 8 floats. NULL:
       no such instruction. */
    LLVMValueRef (*permute)(LLVMBuilderRef builder, LLVMValueRef table,
                            LLVMValueRef index);
    /* x 2^n, rounded once, of vectors that fill a register. NULL: no such
       instruction. */
    LLVMValueRef (*scale)(LLVMBuilderRef builder, LLVMValueRef x,
                          LLVMValueRef n);
    /* Vectors of 4, 8 or 16 floats, and of no more bits than a register, to the
       bits of f16, rounded once. NULL: no such instruction. */
    LLVMValueRef (*narrow)(LLVMBuilderRef builder, LLVMValueRef x);
    bool extends_f16; /* fpext of half is an instruction */
    /* sum + the products of bytes (byte_products.h), of vectors of i32 that fill
       a register. NULL: no instruction is better than generic code. */
    LLVMValueRef (*add_byte_products)(LLVMBuilderRef builder, LLVMValueRef a,
                                      LLVMValueRef b, LLVMValueRef sum);
    /* Store the floating-point mode (fpenv.h) to an i32, and load it. */
    void (*save_fp_mode)(LLVMBuilderRef builder, LLVMValueRef slot);
    void (*restore_fp_mode)(LLVMBuilderRef builder, LLVMValueRef slot);
    uint32_t fp_control, fp_mode; /* its control bits, and their values */
    /* The CPU whose model in LLVM has no post-RA scheduler; NULL: none. */
    const char *unscheduled_cpu;
} tgi_llvm_isa;

/* Features of the host that compiled code needs, for messages: "A or B". */
extern const char tgi_llvm_isa_needed[];

/* The instruction set of a host with these features, in LLVM's notation; NULL
   if one is missing that compiled code needs. */
const tgi_llvm_isa *tgi_llvm_isa_of_features(const char *features);
/* That of a CPU of cpu.def. */
const tgi_llvm_isa *tgi_llvm_isa_of(tgi_isa isa, bool has_vnni);

/* -- For the files of architectures ---------------------------------------- */

/* An instruction set of the architecture; NULL if it is none. */
const tgi_llvm_isa *tgi_llvm_x86_isa(tgi_isa isa, bool has_vnni);
const tgi_llvm_isa *tgi_llvm_aarch64_isa(tgi_isa isa);

/* Calls an intrinsic that is not overloaded. */
LLVMValueRef tgi_llvm_isa_call(LLVMBuilderRef builder, const char *name,
                               LLVMValueRef *operands, unsigned n);

#endif /* TGI_LLVM_ISA_H */

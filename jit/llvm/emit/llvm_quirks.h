/* SPDX-License-Identifier: MIT */
/*
 * llvm_quirks.h - workarounds for LLVM, seen with LLVM 19.1.7 for x86-64. Each
 * comment states what LLVM does with plain IR, and what that costs.
 *
 * tests/codegen/test_llvm_quirks.c compiles the plain IR and fails as soon as
 * LLVM generates good code for it: then the workaround can go.
 */
#ifndef TGI_LLVM_QUIRKS_H
#define TGI_LLVM_QUIRKS_H

#include "llvm/emit/llvm_emit.h"

/*
 * The passes to run. Code is vectorised already, and instruction selection
 * eliminates common subexpressions within a block. No pass but early-cse was
 * found to make code faster: instcombine undoes the masks of
 * tgi_llvm_quirk_combine_masks (pow loses a third of its speed), and the O2
 * pipeline doubles the compile time.
 */
extern const char tgi_llvm_quirk_passes[];

/*
 * Masks a and b of values of `dtype`, combined by And or Or. If a value has
 * several registers, LLVM packs i1 masks to bytes before it combines three of
 * them and unpacks the result: 33 instructions instead of 20 for a select by
 * (a | b) & c. It does not pack masks of the dtype's width, and needs no help
 * with mask registers. Without instcombine, it does not merge two tests for NaN
 * either.
 */
LLVMValueRef tgi_llvm_quirk_combine_masks(tgi_llvm_emitter *emitter,
                                          LLVMOpcode opcode, tg_dtype dtype,
                                          LLVMValueRef a, LLVMValueRef b);

/*
 * True if constants are loaded as full vectors (llvm_constant_pool.c). LLVM
 * broadcasts constants from one element, which is a separate instruction unless
 * operands in memory can be broadcast: a quarter of the instructions of a
 * polynomial. erf takes 25 % longer, Black-Scholes 10 %.
 */
bool tgi_llvm_quirk_pools_constants(const tgi_llvm_emitter *emitter);

/* True for conversions between floats and integers of `dtype` that the CPU has
   no instruction for. LLVM converts one lane at a time, which takes twice as
   long as the code of llvm_convert.c. */
bool tgi_llvm_quirk_converts_by_lane(const tgi_llvm_emitter *emitter,
                                     tg_dtype dtype);

/* True for integer divisions that are exact as float divisions. LLVM divides
   one lane at a time: 8 idivl for 8 lanes of i32. */
bool tgi_llvm_quirk_divides_by_lane(const tgi_llvm_emitter *emitter,
                                    tg_dtype dtype);

/* True if a table of n constants fits into vectors that one instruction
   permutes. LLVM does not find that instruction: it extracts the indices, again
   for every table, and loads one lane at a time. */
bool tgi_llvm_quirk_permutes_table(const tgi_llvm_emitter *emitter,
                                   tg_dtype dtype, size_t n);

/*
 * Keeps a vector load, of memory that is stored to afterwards, from being
 * repeated. If lanes of the vector are used after such a store, LLVM may load
 * them again by a broadcast, after the store. This is a miscompilation: the
 * workaround can go only if no LLVM that the build accepts has it.
 */
void tgi_llvm_quirk_keep_load(LLVMValueRef load);

/* Compiles a function without the post-RA scheduler, which AMD's CPUs have in
   LLVM's model, in an eighth less time. For loops of loads and FMAs, which the
   CPU reorders well by itself. */
void tgi_llvm_quirk_skip_post_ra_scheduler(const tgi_llvm_isa *isa,
                                           LLVMValueRef function);

/* A pointer from a loop-carried address, as an integer. From pointers, or
   indices, LLVM's loop strength reduction weighs a formula per load, a fifth of
   the compile time of a micro-kernel. */
LLVMValueRef tgi_llvm_quirk_pointer_of(LLVMBuilderRef builder,
                                       LLVMTypeRef pointer,
                                       LLVMValueRef address);

/* Stores the address of an alloca, once, in front of all loops. If loops store
   it, LLVM hoists the computation of such addresses out of all of them and
   keeps each alive, or spilled, throughout the function. */
void tgi_llvm_quirk_store_address(LLVMBuilderRef builder, LLVMValueRef address,
                                  LLVMValueRef to);

#endif /* TGI_LLVM_QUIRKS_H */

/* SPDX-License-Identifier: MIT */
/*
 * llvm_emit.h - recipes over LLVM values: the tgi_emitter of generated code.
 *
 * A value is a vector of `lanes` elements (with one lane, the element itself);
 * a mask is the same of i1. Elements are iN, float and double; a bool is an
 * i8, 0 or 1. No instruction has fast-math or wrap flags, is a call or lowers
 * to one: recipes have the result bits of the interpreter for any number of
 * lanes.
 */
#ifndef TGI_LLVM_EMIT_H
#define TGI_LLVM_EMIT_H

#include <llvm-c/Core.h>
#include <stdbool.h>

#include "llvm/emit/llvm_isa.h"
#include "recipe/emit.h"
#include "schedule/schedule.h"

/* The intrinsics of primitives, all of which lower inline. */
typedef enum tgi_llvm_intrinsic {
    TGI_LLVM_FMA,
    TGI_LLVM_SQRT,
    TGI_LLVM_FLOOR,
    TGI_LLVM_CEIL,
    TGI_LLVM_TRUNC,
    TGI_LLVM_ROUND_EVEN,
    TGI_LLVM_FABS,
    TGI_LLVM_INTRINSICS
} tgi_llvm_intrinsic;

enum {
    TGI_LLVM_LANE_COUNTS = 8, /* 1, 2, 4 … TGI_MAX_LANES, and 3 */
    TGI_LLVM_MAX_TABLES = 32, /* further ones are emitted at each use */
    TGI_LLVM_MAX_POOLED = 96  /* loaded constants of a recipe */
};

typedef struct tgi_llvm_emitter {
    tgi_emitter base; /* first member: recipes get its address */
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder; /* positioned by its owner */
    /* 3 or a power of two, at most TGI_MAX_LANES. May change between
       recipes; all operands of a recipe have as many. */
    unsigned lanes;
    const tgi_llvm_isa *isa;

    LLVMTypeRef floats[2]; /* float, double */
    LLVMValueRef intrinsics[TGI_LLVM_INTRINSICS][2][TGI_LLVM_LANE_COUNTS];
    struct {
        const void *table;
        LLVMValueRef global;
    } tables[TGI_LLVM_MAX_TABLES];
    int n_tables;
    /* Loads of the recipe under construction (llvm_constant_pool.c). */
    bool is_pooling;
    unsigned n_pooled;
    LLVMValueRef pooled[TGI_LLVM_MAX_POOLED];
    /* Of the rare code under construction; NULL: it is not skipped. */
    LLVMBasicBlockRef before_rare, after_rare;
} tgi_llvm_emitter;

/*
 * Borrows module, builder and isa, which must outlive the emitter. Owns
 * nothing, so there is no deinit. Starts with one lane.
 */
void tgi_llvm_emitter_init(tgi_llvm_emitter *emitter, LLVMModuleRef module,
                           LLVMBuilderRef builder,
                           const tgi_llvm_isa *isa);

/* -- Types ----------------------------------------------------------------- */

/* The types of an element, of a value and of a mask. */
LLVMTypeRef tgi_llvm_element_type(const tgi_llvm_emitter *emitter,
                                  tg_dtype dtype);
LLVMTypeRef tgi_llvm_type(const tgi_llvm_emitter *emitter, tg_dtype dtype);
LLVMTypeRef tgi_llvm_mask_type(const tgi_llvm_emitter *emitter);
/* Integers as wide as the elements of a value. */
LLVMTypeRef tgi_llvm_integer_type(const tgi_llvm_emitter *emitter,
                                  tg_dtype dtype);

/* A vector of `lanes` elements; with one lane, the element type. */
LLVMTypeRef tgi_llvm_vector_of(const tgi_llvm_emitter *emitter,
                               LLVMTypeRef element);

/* -- Values ---------------------------------------------------------------- */

/* A constant by its bits: one element, and a value. */
LLVMValueRef tgi_llvm_scalar_constant(const tgi_llvm_emitter *emitter,
                                      tg_dtype dtype, uint64_t bits);
LLVMValueRef tgi_llvm_constant(const tgi_llvm_emitter *emitter, tg_dtype dtype,
                               uint64_t bits);
/* An element in all lanes. */
LLVMValueRef tgi_llvm_splat(const tgi_llvm_emitter *emitter,
                            LLVMValueRef element);

/* Lanes first … first + n - 1 of a vector; if n is 1, an element. */
LLVMValueRef tgi_llvm_extract_lanes(const tgi_llvm_emitter *emitter,
                                    LLVMValueRef vector, unsigned first,
                                    unsigned n);

/* The lanes of x, which may be an element, before poison: a vector of n. */
LLVMValueRef tgi_llvm_add_lanes(const tgi_llvm_emitter *emitter, LLVMValueRef x,
                                unsigned n);

/* n vectors of one type as one vector; n is a power of two. Overwrites
   `vectors`. */
LLVMValueRef tgi_llvm_concat(const tgi_llvm_emitter *emitter,
                             LLVMValueRef *vectors, unsigned n);

/* A bool value as a mask, and back. */
LLVMValueRef tgi_llvm_mask_of_bool(const tgi_llvm_emitter *emitter,
                                   LLVMValueRef value);
LLVMValueRef tgi_llvm_bool_of_mask(const tgi_llvm_emitter *emitter,
                                   LLVMValueRef mask);

/* Calls an intrinsic on values of F32 or F64. */
LLVMValueRef tgi_llvm_intrinsic_call(tgi_llvm_emitter *emitter,
                                     tgi_llvm_intrinsic intrinsic,
                                     tg_dtype dtype, LLVMValueRef *operands,
                                     unsigned n_operands);

#endif /* TGI_LLVM_EMIT_H */

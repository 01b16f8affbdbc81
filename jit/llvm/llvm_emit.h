/* SPDX-License-Identifier: MIT */
/*
 * llvm_emit.h - recipes over LLVM values: the tgi_emitter of compiled code.
 *
 * A value is a vector of `lanes` elements (with one lane: the element itself)
 * and a mask is the same of i1. Elements are iN, float and double; a bool is
 * an i8 that holds 0 or 1. Nothing emitted here has a fast-math or wrap flag,
 * calls anything, or lowers to a call: recipes mean the same bits as in the
 * interpreter, whatever the number of lanes.
 */
#ifndef TGI_LLVM_EMIT_H
#define TGI_LLVM_EMIT_H

#include <llvm-c/Core.h>
#include <stdbool.h>

#include "recipe/emit.h"

#define TGI_LLVM_MAX_LANES 64 /* at most */

/* The only intrinsics words become, but for the one of llvm_lookup.c. All lower
   inline, given AVX2 and FMA. */
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
    TGI_LLVM_LANE_COUNTS = 8, /* 1, 2, 4 … TGI_LLVM_MAX_LANES, and 3 */
    TGI_LLVM_MAX_TABLES = 32, /* remembered; more are emitted again */
    TGI_LLVM_MAX_POOLED = 96  /* constants of a recipe in memory, at most */
};

typedef struct tgi_llvm_emitter {
    tgi_emitter base; /* first: it is what recipes get */
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder; /* where to emit, moved by its owner */
    /* 3 or a power of two, at most TGI_LLVM_MAX_LANES; may be changed between
       recipes, whose operands must all have that many. */
    unsigned lanes;
    /* The target has AVX-512 with its mask registers and 64-bit conversions:
       then LLVM needs no help with masks and long integers. */
    bool has_avx512;

    LLVMTypeRef floats[2]; /* float, double */
    LLVMValueRef intrinsics[TGI_LLVM_INTRINSICS][2][TGI_LLVM_LANE_COUNTS];
    struct {
        const void *table;
        LLVMValueRef global;
    } tables[TGI_LLVM_MAX_TABLES];
    int n_tables;
    /* See llvm_constant_pool.c: loads of the recipe that is being emitted. */
    bool is_pooling;
    unsigned n_pooled;
    LLVMValueRef pooled[TGI_LLVM_MAX_POOLED];
} tgi_llvm_emitter;

/*
 * Everything stays the caller's and must outlive the emitter; there is
 * nothing to give back. Starts with one lane.
 */
void tgi_llvm_emitter_init(tgi_llvm_emitter *emitter, LLVMModuleRef module,
                           LLVMBuilderRef builder, bool has_avx512);

/* -- Types ----------------------------------------------------------------- */

/* Of one element, of a value of `lanes` of them, and of a mask. */
LLVMTypeRef tgi_llvm_element_type(const tgi_llvm_emitter *emitter,
                                  tg_dtype dtype);
LLVMTypeRef tgi_llvm_type(const tgi_llvm_emitter *emitter, tg_dtype dtype);
LLVMTypeRef tgi_llvm_mask_type(const tgi_llvm_emitter *emitter);

/* The vector of `lanes` such elements; itself if that is one. */
LLVMTypeRef tgi_llvm_vector_of(const tgi_llvm_emitter *emitter,
                               LLVMTypeRef element);

/* -- Values ---------------------------------------------------------------- */

/* A constant by the bits of an element; one, and in every lane. */
LLVMValueRef tgi_llvm_scalar_constant(const tgi_llvm_emitter *emitter,
                                      tg_dtype dtype, uint64_t bits);
LLVMValueRef tgi_llvm_constant(const tgi_llvm_emitter *emitter, tg_dtype dtype,
                               uint64_t bits);
/* An element in every lane. */
LLVMValueRef tgi_llvm_splat(const tgi_llvm_emitter *emitter,
                            LLVMValueRef element);

/* What SELECT takes, of a bool value; and back. */
LLVMValueRef tgi_llvm_mask_of_bool(const tgi_llvm_emitter *emitter,
                                   LLVMValueRef value);
LLVMValueRef tgi_llvm_bool_of_mask(const tgi_llvm_emitter *emitter,
                                   LLVMValueRef mask);

/* A call of an intrinsic on values of F32 or F64. */
LLVMValueRef tgi_llvm_intrinsic_call(tgi_llvm_emitter *emitter,
                                     tgi_llvm_intrinsic intrinsic,
                                     tg_dtype dtype, LLVMValueRef *operands,
                                     unsigned n_operands);

#endif /* TGI_LLVM_EMIT_H */

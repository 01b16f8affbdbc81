/* SPDX-License-Identifier: MIT */
/*
 * llvm_analysis.h - facts about a kernel, derived from the loop IR before any
 * code is emitted: levels, uniformity, lanes, and the choice and tiling of the
 * loop skeleton. They depend on the target, but hold no LLVM value, and none
 * of them changes a result bit.
 *
 *   llvm_classify.c       levels, uniformity, phases, lanes
 *   llvm_cost.c           costs of insts and kernels
 *   llvm_matmul_tiling.c  matmuls: micro-kernel, work items, packing
 *   llvm_transpose.c      kernels that go by transposed tiles
 *
 * A value either *varies* along the vector axis and has one element per lane,
 * or is uniform and has one element.
 */
#ifndef TGI_LLVM_ANALYSIS_H
#define TGI_LLVM_ANALYSIS_H

#include <stdbool.h>

#include "loop/loops.h"

struct tgi_llvm_program;

enum {
    /* Inner elements of a work item of a kernel without reductions: whole cache
       lines for every dtype. */
    TGI_LLVM_ITEM_ELEMENTS = 64,
    TGI_LLVM_MAX_REDUCTIONS = 16,  /* per phase */
    TGI_LLVM_MAX_TREE_VECTORS = 16 /* vectors that hold the tree's lanes */
};

/* Operands of a matmul: A is uniform, B varies. Bits. */
enum { TGI_LLVM_OPERAND_A = 1, TGI_LLVM_OPERAND_B = 2 };

/* Facts about an inst. */
typedef struct tgi_llvm_inst_facts {
    uint8_t level;    /* tgi_level at which it is computed */
    uint8_t operands; /* matmul operands that it is part of */
    bool varies;
    /* POINT: depends on a reduction of its own phase, so it is computed after
       the loop of that phase. */
    bool is_after_loop;
} tgi_llvm_inst_facts;

typedef struct tgi_llvm_phase {
    bool has_loop;           /* runs along the inner axis */
    bool can_mask;           /* else the tail is scalar */
    bool is_heavy;           /* many instructions per element */
    unsigned lanes;          /* of its vectors */
    unsigned register_lanes; /* of a vector that fills one register */
    unsigned tail_lanes;     /* of the tail; masked if > 1 */
    unsigned n_reductions;
    uint32_t reductions[TGI_LLVM_MAX_REDUCTIONS]; /* numbers */
} tgi_llvm_phase;

/* Loads and stores through transposed tiles (llvm_transpose.c). */
typedef struct tgi_llvm_transpose {
    int row_axis;       /* outer axis along a tile's rows */
    unsigned tile_rows; /* columns: TGI_LLVM_ITEM_ELEMENTS */
    unsigned item_rows; /* rows of a work item */
    uint8_t *uses;      /* by access; 0: it has no tile */
    const tgi_kernel_loops *original;
    tgi_kernel_loops loops; /* with accesses to tiles */
} tgi_llvm_transpose;

/* Tiling of a matmul (llvm_matmul.h). */
typedef struct tgi_llvm_matmul_tiling {
    unsigned mr;          /* rows of the micro-kernel; 0: not a matmul */
    int row_axis;         /* outer axis of the rows */
    int64_t item_rows;    /* rows of a work item */
    unsigned n_panels;    /* packed panels of a work item, if > 1; else 0 */
    bool packs_b;         /* packs a k-block of B before using it … */
    bool transposes_b;    /* … and transposes it */
    bool reduces_rows;    /* row epilogue: a work item has all columns */
    bool reduces_columns; /* column epilogue: a work item has all rows */
} tgi_llvm_matmul_tiling;

typedef struct tgi_llvm_analysis {
    struct tgi_llvm_program *program;
    const tgi_kernel_loops *loops; /* of a transpose: those with tiles */
    int inner;                     /* number of the inner axis, the last */
    int vector_axis;
    bool is_split;         /* two-stage reduction: see tgi_reduction */
    unsigned wide_columns; /* columns of a work item; 0: those of a vector */
    tgi_llvm_inst_facts *insts; /* by inst */
    tgi_llvm_phase *phases;
    bool *non_temporal_stores; /* by store: may be non-temporal */
    tgi_llvm_matmul_tiling matmul;
    tgi_llvm_transpose *transpose; /* NULL: no transposed tiles */
    void *memory;                  /* of the arrays */
} tgi_llvm_analysis;

/* True if a reduction gives a position. */
static inline bool tgi_llvm_is_arg(const tgi_reduction *reduction)
{
    return reduction->op == TGI_OP_ARGMAX || reduction->op == TGI_OP_ARGMIN;
}

/* True if an access is uniform along the vector axis or has unit stride there,
   in a packed panel too. */
bool tgi_llvm_is_contiguous(const tgi_llvm_analysis *a,
                            const tgi_access *access);
/* … and masked vectors can access it: AVX2 masks elements of 4 and 8 bytes. */
bool tgi_llvm_is_maskable(const tgi_llvm_analysis *a, const tgi_access *access);
/* True if a row, or a work item's part of it, may not be a multiple of `size`
   elements, a power of two up to TGI_LLVM_ITEM_ELEMENTS. */
bool tgi_llvm_may_have_tail(const tgi_llvm_analysis *a, int64_t size);

#endif /* TGI_LLVM_ANALYSIS_H */

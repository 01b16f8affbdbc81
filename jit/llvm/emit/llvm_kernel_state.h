/* SPDX-License-Identifier: MIT */
/*
 * llvm_kernel_state.h - emission state of a kernel: builder, blocks, loop
 * indices, masks, SSA values and addresses, beside the schedule that decides
 * which code is emitted.
 *
 * A loop body is emitted several times, with different lanes or masks; `values`
 * holds the values of the last time.
 */
#ifndef TGI_LLVM_KERNEL_STATE_H
#define TGI_LLVM_KERNEL_STATE_H

#include "schedule/schedule.h"
#include "llvm/emit/llvm_program.h"

/* Extents that are loaded once per kernel; others are loaded at each use. */
enum { TGI_LLVM_MAX_CACHED_DIMS = 32 };

/* The value of an inst. */
typedef struct tgi_llvm_value {
    /* The element or vector, and the mask of a bool; NULL: not computed. */
    LLVMValueRef value, mask;
    /* Of a uniform value: splats that dominate the loop; NULL: none. */
    LLVMValueRef splat, splat_mask;
} tgi_llvm_value;

/* A matmul, while it is emitted (llvm_matmul.h). */
typedef struct tgi_llvm_matmul_state {
    /* By access, while a micro-kernel is emitted: address without the offsets
       along the vector axis and the inner axis. */
    LLVMValueRef *row_starts;
    /* By store, of reduction epilogues: memory of the partial results of rows
       (from first_row on) or columns, and the SSA values of the columns at
       k->index. */
    LLVMValueRef *partials, first_row, *column_partials;
} tgi_llvm_matmul_state;

typedef struct tgi_llvm_straightline tgi_llvm_straightline;

typedef struct tgi_llvm_kernel {
    const tgi_schedule *schedule;
    tgi_llvm_program *program;
    tgi_llvm_emitter *e;
    LLVMBuilderRef b;
    const tgi_kernel_loops *loops; /* those of the schedule */

    LLVMValueRef function;
    LLVMValueRef frame, begin, end, thread;
    LLVMValueRef table;      /* addresses of buffers, of this thread */
    LLVMBasicBlockRef entry; /* loop-invariant code is emitted here */

    /* Current loop indices; of the vector axis, that of lane 0. NULL: outside
       the loop. */
    LLVMValueRef index[TGI_LOOP_AXES];
    LLVMValueRef interchanged_item; /* of the interchanged axis: work item */
    LLVMValueRef mask;       /* active lanes; NULL: all */
    unsigned n_active_lanes; /* the first n, if known; else 0 */
    unsigned splat_lanes;    /* of the splats in `values` */

    tgi_llvm_matmul_state matmul;
    tgi_llvm_straightline *straightline; /* NULL: a function of its own */
    bool keeps_loads;                    /* see llvm_store_forwarding.c */
    void *memory;                        /* of the arrays */
    tgi_llvm_value *values;              /* by inst */
    const tgi_site_chain **sites;        /* by inst, see llvm_debug.h */
    /* By access: element offset of the point. */
    LLVMValueRef *point_bases;
    /* By access: address at 0 of the inner axis, which may lie outside the
       buffer; NULL: unknown. */
    LLVMValueRef *row_starts;
    LLVMValueRef *buffers;     /* by buffer: address; NULL: not loaded yet */
    LLVMValueRef *tile_memory; /* by access: stack memory of its tile */
    LLVMValueRef *offset_tables; /* by number: a constant; NULL: not made */

    /* By phase: condition for non-temporal stores, an i1; NULL: never. */
    LLVMValueRef *non_temporal_phases;
    LLVMValueRef uses_non_temporal; /* the same for any phase */
    bool emits_non_temporal;        /* in the body under construction */

    struct {
        tgi_dim dim;
        LLVMValueRef value;
    } dims[TGI_LLVM_MAX_CACHED_DIMS];
    unsigned n_dims;
} tgi_llvm_kernel;

/* Width of the registers of code that belongs to no kernel. */
enum { TGI_LLVM_ENTRY_BITS = 256 };

static inline unsigned tgi_llvm_vector_bits(const tgi_llvm_kernel *k)
{
    return k->schedule ? k->schedule->vector_bits : TGI_LLVM_ENTRY_BITS;
}

#endif /* TGI_LLVM_KERNEL_STATE_H */

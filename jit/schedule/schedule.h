/* SPDX-License-Identifier: MIT */
/*
 * schedule.h - how a kernel runs: loops, vectors, tails, accumulators, packing,
 * fission and stores. The loop IR says what a kernel computes; a schedule that
 * tgi_schedule_verify accepts does not change a result bit.
 *
 * A *nest* is a list of loops, outermost first. A loop runs over one axis of
 * the kernel in steps. A loop inside another one over the same axis covers a
 * step of it. `item_extent` divides the domain into work items, which threads
 * share; each phase has a nest inside a work item:
 *
 *   SERIAL  a loop
 *   UNROLL  a loop whose iterations are emitted one after the other
 *   VECTOR  a loop whose iterations are vectors of `step` lanes; loops inside
 *           it run on whole vectors
 *
 * Loop interchange: in an elementwise ROWS kernel, a SERIAL loop along an outer
 * axis may be inside the vector loop. Insts that do not depend on that axis are
 * hoisted: they run once per vector, before the loop.
 *
 * Row order: in a COLUMNS kernel without reductions, such as a scatter, the
 * SERIAL loop along rows may be outside of the vector loop. Consecutive work
 * items are then one loop, row by row. Insts that do not depend on the column
 * are hoisted: they run once per row. In a scan, the values that columns carry
 * from row to row are on the stack.
 *
 * Schedules are chosen (choose.h) from the loop IR and a target. They are
 * printed and verified without LLVM, and are part of the key of a compile.
 */
#ifndef TGI_SCHEDULE_H
#define TGI_SCHEDULE_H

#include <stdbool.h>

#include "loop/loops.h"

/* -- Nests ----------------------------------------------------------------- */

typedef enum tgi_loop_kind {
    TGI_LOOP_SERIAL,
    TGI_LOOP_UNROLL,
    TGI_LOOP_VECTOR
} tgi_loop_kind;

/* How the elements after the last full vector run, if there are any. */
typedef enum tgi_tail {
    TGI_TAIL_SCALAR, /* one at a time */
    TGI_TAIL_MASK,   /* vectors of tail_lanes under a mask */
    TGI_TAIL_STACK   /* one full vector, padded on the stack */
} tgi_tail;

typedef struct tgi_nest_loop {
    uint8_t kind; /* tgi_loop_kind */
    uint8_t axis;
    uint8_t tail;          /* VECTOR: tgi_tail */
    uint16_t tail_lanes;   /* MASK: lanes; SCALAR: 1 */
    uint16_t narrow_lanes; /* VECTOR: of a second loop, before the tail; or 0 */
    int64_t step;
} tgi_nest_loop;

enum { TGI_MAX_NEST = TGI_LOOP_AXES + 6 };

typedef struct tgi_nest {
    unsigned n;
    tgi_nest_loop loops[TGI_MAX_NEST];
} tgi_nest;

/* -- Phases ---------------------------------------------------------------- */

enum {
    TGI_MAX_PHASE_REDUCTIONS = 16,
    TGI_MAX_TREE_VECTORS = 16, /* vectors that hold the lanes of the tree */
    TGI_MAX_LANES = 64,        /* of a vector */
    /* Inner elements of a work item, if rows are divided: whole cache lines for
       every dtype. */
    TGI_ITEM_ELEMENTS = 64
};

typedef enum tgi_accumulator_storage {
    TGI_IN_REGISTERS,
    TGI_ON_STACK
} tgi_accumulator_storage;

/* Partial results of the reductions of a phase, between iterations of its
   vector loop. */
typedef struct tgi_accumulators {
    uint8_t storage; /* tgi_accumulator_storage */
    /* In any order, as exact reductions may be; else that of reduce_tree.h. */
    bool is_reassociated;
    unsigned n_vectors; /* of each reduction */
} tgi_accumulators;

/* Loop fission: the body is split into parts, one loop each over a strip. */
typedef struct tgi_fission {
    uint32_t n_parts;    /* 0: no fission */
    uint32_t n_slots;    /* arrays of a strip that pass values between parts */
    uint32_t slot_bytes; /* of an element of a slot */
    bool last_is_function; /* the last part, which stores */
    int64_t strip;         /* elements of a strip; 0: one part needs none */
} tgi_fission;

typedef struct tgi_phase_schedule {
    bool has_loop; /* runs along the inner axis */
    bool can_mask; /* every access along the vector axis can be masked */
    /* Straight-line rows: a vector is no wider than the SSA values that its
       operands are in, so that none is assembled from narrow ones. */
    bool keeps_operand_widths;
    tgi_nest nest; /* has one VECTOR loop */
    unsigned n_reductions;
    uint32_t reductions[TGI_MAX_PHASE_REDUCTIONS]; /* numbers */
    tgi_accumulators accumulators;                 /* n_reductions > 0 */
    tgi_fission fission;
    bool is_non_temporal; /* has non-temporal stores */
    /* Size of a buffer beyond which string instructions store the phase's only
       result, equal bytes. 0: they never do. */
    int64_t string_store_bytes;
    /* Number + 1 of the store whose vectors begin at cache lines: elements
       before the first line run as a tail. 0: none. */
    uint32_t aligned_store;
} tgi_phase_schedule;

/* -- Insts ----------------------------------------------------------------- */

/* Operands of a matmul: A is uniform, B varies. Bits. */
enum { TGI_OPERAND_A = 1, TGI_OPERAND_B = 2 };

/*
 * Facts about an inst that follow from the loop IR and the vector axis, and its
 * part in loop fission. A value either *varies* along the vector axis and has
 * one element per lane, or is uniform and has one element.
 */
typedef struct tgi_inst_schedule {
    uint8_t level;    /* tgi_level at which it is computed */
    uint8_t operands; /* matmul operands that it is part of */
    bool varies;
    /* POINT: depends on a reduction of its own phase, so it is computed after
       the loop of that phase. */
    bool is_after_loop;
    bool is_hoisted; /* INNER: runs before the interchanged loop, or that along
                        columns in row order */
    uint32_t cost; /* instructions per vector */
    /* Fission: the part that computes it, and number + 1 of the slot that holds
       it for later parts; or 0. */
    uint32_t part, slot;
    bool is_function; /* its part is a function that kernels share */
} tgi_inst_schedule;

/* -- Matmuls --------------------------------------------------------------- */

/* Choices for a matmul beside its nest. */
typedef struct tgi_matmul_schedule {
    unsigned mr, nr;      /* of the micro-kernel; 0: not a matmul */
    int row_axis;         /* outer axis of the rows */
    int64_t item_rows;    /* rows of a work item */
    unsigned n_panels;    /* vectors of columns of a work item, if > 1 */
    /* Points of the axis before the rows in a work item, if > 1: matrices with
       the same B, whose k-blocks serve all of them. */
    int64_t item_matrices;
    /* The micro-kernel function prefetches packed panels of B. */
    bool prefetches_panels;
    bool packs_b;         /* packs a k-block of B before using it … */
    bool transposes_b;    /* … and transposes it */
    bool reduces_rows;    /* row epilogue: a work item has all columns */
    bool reduces_columns; /* column epilogue: a work item has all rows */
    bool epilogue_in_registers;
    /* The micro-kernel is a function that kernels share, … */
    bool calls_function;
    /* … which reads B from packed panels: of full vectors, of masked ones.
       Unless packs_b: if C has few rows, it is not called then. */
    bool packs_for_function, packs_masked_for_function, has_few_rows;
    /* A step of k looks up A's offset in the next one. Else LLVM loads all
       elements of A at once, each to a register. */
    bool looks_ahead;
    /* If > 0, A has an offset table and is contiguous in runs of so many steps
       of k, of which every k-block has whole ones: the function looks up one
       offset per run. */
    unsigned a_run;
    /* The loop over k-blocks is inside of that over micro-kernels, in the
       function: the rows of A stay in L1 for all of k, and C is added to in L1.
       Else k-blocks are outside, so that a panel of B stays in L1. */
    bool blocks_in_rows;
    uint32_t a_access, b_access; /* of the loads of the operands */
    /* Bytes of the next matrix of a batch that micro-kernels prefetch. */
    int64_t prefetched_a_bytes, prefetched_b_bytes;
} tgi_matmul_schedule;

/* -- Transposed tiles ------------------------------------------------------ */

/* How an access is used. */
enum { TGI_IS_LOADED = 1, TGI_IS_STORED = 2, TGI_IS_POSITION = 4 };

/* Accesses whose elements are staged on the stack, in tiles of `rows` x
   TGI_ITEM_ELEMENTS that are transposed on the way. */
typedef struct tgi_tiles {
    unsigned rows; /* 0: no tiles */
    int row_axis;  /* outer axis along a tile's rows */
    uint8_t *uses; /* by access: bits; 0: it has no tile */
} tgi_tiles;

/* -- Kernels --------------------------------------------------------------- */

/* Estimated cost of a kernel in picoseconds: per point, and per element. */
typedef struct tgi_kernel_cost {
    int64_t point, element;
} tgi_kernel_cost;

typedef struct tgi_schedule {
    const tgi_kernel_loops *original; /* the kernel */
    /* The kernel as it is emitted: `original`, or a copy in which accesses with
       a tile refer to it. */
    const tgi_kernel_loops *loops;
    unsigned vector_bits; /* of registers */
    int inner;            /* number of the inner axis, the last */
    int vector_axis;
    /* Inner elements of a point of a two-stage reduction (tgi_reduction), which
       has one block; 0: not split. */
    int64_t split_block;
    tgi_inst_schedule *insts; /* by inst */
    tgi_phase_schedule *phases;

    /* By axis: extent of a work item; 0: the whole axis. */
    int64_t item_extent[TGI_LOOP_AXES];
    /* Columns of a work item whose accumulators are on the stack; 0: those of
       a vector. In row order, columns whose carried values are, of consecutive
       work items; 0: there are no such values. */
    unsigned wide_columns;
    tgi_matmul_schedule matmul;
    tgi_tiles tiles;
    /* A kernel that packs a matrix into panels: their width, and whether it
       packs columns that are contiguous in memory. */
    unsigned pack_width;
    bool packs_transposed;

    bool *non_temporal_stores; /* by store */
    /* Size of a buffer beyond which its stores are non-temporal, and prefetch
       distance of their loops. */
    int64_t non_temporal_bytes, prefetch_bytes;

    tgi_kernel_cost cost;
    tgi_kernel_loops copy; /* see `loops`; shares all lists but accesses */
} tgi_schedule;

struct tgi_target; /* target/target.h */

/* Chooses the schedule of one kernel, which need not be in the list of the
   loops yet; fails as the loop pass does. */
tg_status tgi_schedule_choose_kernel(tgi_loops *loops,
                                     const struct tgi_target *target,
                                     tgi_kernel_loops *kernel);

/* Appends a text form, for dumps and goldens (docs/SCHEDULES.md). */
void tgi_schedule_print(const tgi_schedule *s, tgi_strbuf *out);

/* Checks that a schedule does not change a result bit (verify.h). TG_OK, or
   TG_ERROR_INTERNAL with a message that names the kernel and the violated
   rule. */
tg_status tgi_schedule_verify(const tgi_schedule *s);
/* The same for all kernels of scheduled loops. */
tg_status tgi_schedule_verify_all(const tgi_loops *loops);

/* -- Helpers --------------------------------------------------------------- */

static inline const tgi_nest_loop *tgi_nest_vector(const tgi_nest *nest)
{
    unsigned i = 0;
    while (nest->loops[i].kind != TGI_LOOP_VECTOR)
        i++;
    return &nest->loops[i];
}

static inline unsigned tgi_phase_lanes(const tgi_phase_schedule *phase)
{
    return (unsigned)tgi_nest_vector(&phase->nest)->step;
}

/* The first loop of a kind over an axis; NULL: none. */
static inline const tgi_nest_loop *tgi_nest_find(const tgi_nest *nest,
                                                 tgi_loop_kind kind, int axis)
{
    for (unsigned i = 0; i < nest->n; i++)
        if (nest->loops[i].kind == kind && nest->loops[i].axis == axis)
            return &nest->loops[i];
    return NULL;
}

/* The outer axis along which a loop inside the vector loop runs; -1: none. */
static inline int tgi_schedule_interchanged_axis(const tgi_schedule *s)
{
    const tgi_nest *nest = &s->phases[0].nest;
    if (s->loops->vectors != TGI_ROWS || nest->n < 2)
        return -1;
    const tgi_nest_loop *last = &nest->loops[nest->n - 1];
    return last->kind == TGI_LOOP_SERIAL ? last->axis : -1;
}

/* True if a COLUMNS kernel runs row by row. */
static inline bool tgi_schedule_is_row_order(const tgi_schedule *s)
{
    const tgi_nest_loop *first = &s->phases[0].nest.loops[0];
    return s->loops->vectors == TGI_COLUMNS && s->loops->reductions.n == 0 &&
           first->kind == TGI_LOOP_SERIAL && first->axis == s->inner;
}

/* True if a nest has a SERIAL loop over blocks of `size` along an axis. */
static inline bool tgi_nest_has_blocks(const tgi_nest *nest, int axis,
                                       int64_t size)
{
    const tgi_nest_loop *outer = tgi_nest_find(nest, TGI_LOOP_SERIAL, axis);
    return outer && outer->step == size;
}

/* Iterations of the UNROLL loop of a nest; 1: there is none. */
static inline unsigned tgi_nest_unrolled(const tgi_nest *nest)
{
    int64_t step[TGI_LOOP_AXES] = {0}; /* by axis, of the last loop over it */
    for (unsigned i = 0; i < nest->n; i++) {
        const tgi_nest_loop *loop = &nest->loops[i];
        if (loop->kind == TGI_LOOP_UNROLL)
            return (unsigned)(step[loop->axis] / loop->step);
        step[loop->axis] = loop->step;
    }
    return 1;
}

/* Lanes of the reduction tree that a phase accumulates. */
static inline unsigned tgi_phase_tree_lanes(const tgi_phase_schedule *phase)
{
    return phase->accumulators.n_vectors * tgi_phase_lanes(phase);
}

/* True if an inst is a constant whose bytes are equal. */
static inline bool tgi_schedule_has_equal_bytes(const tgi_inst *inst)
{
    const int n = tgi_dtype_bytes(inst->dtype);
    bool are_equal = inst->kind == TGI_INST_CONSTANT;
    for (int i = 1; i < n; i++)
        are_equal &= (inst->bits >> (8 * i) & 0xff) == (inst->bits & 0xff);
    return are_equal;
}

/* True if a reduction gives a position. */
static inline bool tgi_reduction_is_arg(const tgi_reduction *reduction)
{
    return reduction->op == TGI_OP_ARGMAX || reduction->op == TGI_OP_ARGMIN;
}

/* True if the result of a reduction does not depend on the order of its
   elements. */
static inline bool tgi_reduction_is_reassociable(const tgi_reduction *reduction)
{
    return !tgi_reduction_is_arg(reduction) && !reduction->combines_blocks &&
           (reduction->op == TGI_OP_REDUCE_MAX ||
            reduction->op == TGI_OP_REDUCE_MIN ||
            !tgi_dtype_is(reduction->dtype, TGI_CLASS_FLOAT));
}

/* True if it is then computed by the CPU's min or max of floats. */
static inline bool
tgi_reduction_is_native_minmax(const tgi_reduction *reduction)
{
    return (reduction->op == TGI_OP_REDUCE_MAX ||
            reduction->op == TGI_OP_REDUCE_MIN) &&
           tgi_dtype_is(reduction->dtype, TGI_CLASS_FLOAT);
}

/* True if an access is uniform along the vector axis or has unit stride there,
   in a packed panel too. */
static inline bool tgi_schedule_is_contiguous(const tgi_schedule *s,
                                              const tgi_access *access)
{
    return (access->panel_width ||
            tgi_stride_is_one(access->stride[s->vector_axis]) ||
            tgi_stride_is_zero(access->stride[s->vector_axis])) &&
           !(access->index && s->insts[access->index].varies);
}

/* The reduction of a matmul, and the inst that computes an element of B. */
static inline const tgi_reduction *
tgi_schedule_matmul_reduction(const tgi_schedule *s)
{
    return &s->loops->reductions.data[0];
}

static inline uint32_t tgi_schedule_operand_b(const tgi_schedule *s)
{
    const tgi_reduction *r = tgi_schedule_matmul_reduction(s);
    return s->insts[r->value].varies ? r->value : r->other;
}

/* Lanes of a packed panel: a cache line of the elements of a matmul. */
static inline unsigned tgi_schedule_panel_lanes(const tgi_schedule *s)
{
    return TGI_PANEL_ROW_BYTES /
           (unsigned)tgi_dtype_bytes(tgi_schedule_matmul_reduction(s)->dtype);
}

/*
 * Lanes of the next vector of a tail of `left` columns. That of a matmul is no
 * wider than they are, rounded up to a power of two; but a vector of which
 * whole packed panels would be inactive is halved, so it is full. Work items of
 * several vectors of panels have no vectors narrower than a panel.
 */
static inline unsigned tgi_schedule_tail_lanes(const tgi_schedule *s,
                                               unsigned left)
{
    unsigned lanes = tgi_phase_lanes(&s->phases[0]);
    if (!s->matmul.mr)
        return lanes;
    const unsigned panel = tgi_schedule_panel_lanes(s);
    while (lanes / 2 >= left && (s->matmul.n_panels <= 1 || lanes > panel))
        lanes /= 2;
    return lanes > panel && lanes - panel >= left ? lanes / 2 : lanes;
}

/* True if a row of a matmul fits the vector of its micro-kernel. */
static inline bool tgi_schedule_row_fits_vector(const tgi_schedule *s)
{
    const tgi_dim n = s->loops->extent[s->vector_axis];
    return n == s->matmul.nr || (n < s->matmul.nr && s->phases[0].can_mask);
}

/* Lanes of the reduction tree that the rows of a row epilogue reach, rounded up
   to a power of two. */
static inline unsigned tgi_schedule_epilogue_lanes(const tgi_schedule *s,
                                                   const tgi_loop_store *store)
{
    const tgi_dim n = s->loops->extent[s->vector_axis];
    unsigned lanes =
        (unsigned)tgi_tree_lanes(tgi_kernel_dtype(s->loops, store->value));
    while (lanes / 2 >= n)
        lanes /= 2;
    return lanes;
}

#endif /* TGI_SCHEDULE_H */

/* SPDX-License-Identifier: MIT */
/*
 * loops.h - the loop IR, between graphs and LLVM IR.
 *
 * A program is a list of steps over buffers. Most steps are kernels: one loop
 * nest each, which stores into buffers. Fusion (fuse/) builds a program from a
 * graph, memory/ assigns storage to its buffers, llvm/ generates code. The IR
 * is independent of thread count and vector width.
 *
 * A kernel has *outer* axes, whose points are divided among threads, and at
 * most one *inner* axis. At each point it runs its phases in order; a phase is
 * one sweep along the inner axis. A reduction's result is available to all
 * later phases of the point. `vectors` is the axis along which vectors lie:
 *
 *   ROWS     the inner axis. Reductions run along it, in the order of lanes,
 *            blocks and pairwise combines of reduce_tree.h. A kernel without
 *            reductions (one phase, no loop-carried values) is also ROWS, and
 *            threads may divide its inner axis as well.
 *   COLUMNS  the last outer axis. Reductions run along the inner axis in
 *            order, in blocks of TGI_BLOCK_ROWS; only the first phase sweeps
 *            it. A kernel that only packs a matrix into panels, or scatters
 *            or scans along the inner axis, is also COLUMNS.
 *
 * Extents and strides are tgi_dims: known numbers, or symbolic expressions
 * whose values are in the frame of a call. Positions have 64 bits.
 */
#ifndef TGI_LOOPS_H
#define TGI_LOOPS_H

#include "base/vec.h"
#include "ir/dims.h"
#include "ir/graph.h"
#include "loop/id.h"
#include "recipe/reduce_tree.h"

/* The axes of a convolution, those of its windows and channels, and one that
   counts blocks. Fusion leaves fewer: the outer axes and one inner one. */
enum { TGI_LOOP_AXES = 2 * TG_MAX_RANK };

/* Bytes of one row of a packed panel: a cache line. */
enum { TGI_PANEL_ROW_BYTES = 64 };

/* Maximum number of elements of a buffer without memory (TGI_PLACE_SSA). */
enum { TGI_MAX_SSA_ELEMENTS = 1024 };

TGI_DEFINE_ID(tgi_buffer_id);    /* into tgi_loops.buffers */
TGI_DEFINE_ID(tgi_kernel_id);    /* into tgi_loops.kernels */
TGI_DEFINE_ID(tgi_control_id);   /* into tgi_loops.controls */
TGI_DEFINE_ID(tgi_host_id);      /* into tgi_loops.hosts */
TGI_DEFINE_ID(tgi_rows_id);      /* into tgi_loops.row_blocks */
TGI_DEFINE_ID(tgi_memo_id);      /* into tgi_loops.memo_params */
TGI_DEFINE_ID(tgi_stack_set_id); /* one of tgi_loops.n_stack_sets */

/* -- Buffers --------------------------------------------------------------- */

typedef enum tgi_place {
    TGI_PLACE_PARAM,    /* parameter `index` of the graph, or a variable */
    TGI_PLACE_RESULT,   /* result `index` */
    TGI_PLACE_CONSTANT, /* the literal `node` */
    TGI_PLACE_TEMP,     /* temporary memory of the call */
    TGI_PLACE_SCRATCH,  /* per-thread memory, at thread * size (rounded up to
                           TGI_BUFFER_ALIGN) */
    TGI_PLACE_BLOCK,    /* per-thread memory for the rows of a row block */
    TGI_PLACE_SSA,      /* no memory: SSA values of one straight-line group */
    TGI_PLACE_COUNTER,  /* finished iterations of a loop: an i64 per thread */
    TGI_PLACE_STACK     /* an unbounded stack of stack set `index`; its
                           address is reloaded from the frame, as it changes */
} tgi_place;

/* `index` of a stack onto which no remaining loop pushes. */
#define TGI_NO_STACK_SET UINT32_MAX

typedef struct tgi_loop_buffer {
    uint8_t place; /* tgi_place */
    uint8_t dtype;
    uint32_t index; /* see tgi_place */
    /* A control-flow step refers to the buffer: it is neither merged with
       another one nor promoted to SSA values. */
    bool is_pinned;
    tgi_ref node;           /* whose value it holds, or 0 … */
    const tgi_graph *graph; /* … in this graph */
    tgi_dim count; /* elements (SCRATCH, BLOCK: per thread; STACK: per slice) */
    /* Live range in epochs, the intervals between barriers. */
    bool is_used;
    uint32_t first_epoch, last_epoch; /* inclusive, if is_used */
} tgi_loop_buffer;

/* -- Addresses ------------------------------------------------------------- */

/* A distance in elements; negative for views with negative steps. */
typedef struct tgi_stride {
    tgi_dim distance;
    bool is_negative;
} tgi_stride;

static inline bool tgi_stride_is_zero(tgi_stride stride)
{
    return stride.distance == 0;
}

static inline bool tgi_stride_is_one(tgi_stride stride)
{
    return stride.distance == 1 && !stride.is_negative;
}

/*
 * Element offset + sum of stride[axis] * index[axis] of a buffer. The inner
 * axis follows the outer ones. If `index` is not 0, a gather adds
 * index_stride * the value of that i64 inst, which is in range. A scatter does
 * the same in a COLUMNS kernel without reductions, where the index is equal
 * for all columns. If `shift` is not 0, the start of a dynamic slice is added,
 * an i64 inst of level KERNEL.
 *
 * COLUMNS only: if `panel_width` is not 0, the last outer axis is packed into
 * panels of that many columns. Index i of it adds
 * stride * (i / panel_width) + i % panel_width, so that the code reads a panel
 * contiguously. The last panel has full width; elements past the last column
 * are never used.
 */
typedef struct tgi_access {
    tgi_buffer_id buffer;
    uint32_t panel_width;
    tgi_dim offset;
    tgi_stride stride[TGI_LOOP_AXES];
    uint32_t index;
    tgi_stride index_stride;
    uint32_t shift;
} tgi_access;

/* -- Instructions ---------------------------------------------------------- */

typedef enum tgi_inst_kind {
    TGI_INST_CONSTANT, /* `bits`: one element */
    TGI_INST_EXTENT,   /* the extent `dim`, as i64 */
    TGI_INST_POSITION, /* i64: offset + sum of stride * index of `access` */
    TGI_INST_LOAD,     /* through `access` */
    TGI_INST_OP,       /* an elementwise op: its recipe for `type` */
    TGI_INST_CAST,     /* CAST or BITCAST from `type` to `dtype` */
    TGI_INST_RANDOM,   /* RANDOM_BITS: key, offset (u64), position (i64) */
    TGI_INST_INDEX,    /* of a gather: an integer `type`, clamped to
                          0 … dim - 1, as i64; 0 if dim is 0 */
    TGI_INST_IN_RANGE, /* bool: the integer is in 0 … dim - 1 */
    TGI_INST_OFFSET,   /* i64: entry of offset table `number` at the inner
                          index; COLUMNS only */
    TGI_INST_CARRIED,  /* value of inst `number`, which may follow, at the
                          previous inner index; at the first one, `bits` */
    TGI_INST_REDUCED   /* result of reduction `number`, of this phase or an
                          earlier one */
} tgi_inst_kind;

/* The outermost loop level at which an inst can be computed. */
typedef enum tgi_level {
    TGI_LEVEL_KERNEL, /* invariant in the kernel */
    TGI_LEVEL_POINT,  /* invariant along the inner axis */
    TGI_LEVEL_INNER
} tgi_level;

/*
 * Insts are numbered from 1; operands precede their users. An inst of level
 * INNER belongs to one phase and is used in no other. One of level POINT is
 * computed at the start of its phase, before the loop (after it if it needs a
 * reduction of the phase), and may be used by all later phases. At each
 * element, all insts are computed before anything is stored. Comparisons
 * yield bool (0 or 1); SELECT takes a bool first.
 */
typedef struct tgi_inst {
    uint8_t kind;
    uint8_t op;    /* OP, CAST: tgi_op */
    uint8_t dtype; /* of the value */
    uint8_t type;  /* OP: dtype of the recipe; CAST, INDEX: of the operand */
    uint8_t level;
    uint8_t n_operands;
    uint16_t phase;
    uint32_t operands[3];
    uint32_t number; /* LOAD, POSITION: its access; OFFSET: its table;
                        REDUCED: its reduction; CARRIED: an inst */
    union {
        uint64_t bits;
        tgi_dim dim;
    };
    tgi_ref node; /* its origin, for names and messages; or 0 */
} tgi_inst;

/*
 * An inner axis that consists of several axes, such as those of a window, is
 * their row-major nest. Where an access has strides along them that are not
 * those of one axis, it has stride 0 along the inner axis and an OFFSET inst as
 * its index, which looks up the sum of stride * index of these axes.
 *
 * A table whose extents and strides are known is a constant of the code, unless
 * it is large. Else every thread computes it, in `memory`.
 */
typedef struct tgi_offset_table {
    int n_axes;
    tgi_dim extent[TG_MAX_RANK];
    tgi_stride stride[TG_MAX_RANK];
    tgi_buffer_id memory; /* SCRATCH, i64; or none: a constant */
} tgi_offset_table;

/* Maximum entries of a constant table. */
enum { TGI_MAX_CONSTANT_OFFSETS = 4096 };

/* -- Stores, reductions, checks -------------------------------------------- */

/*
 * Stores inst `value` through `access`. Level INNER: at every element, in the
 * loop of its phase. POINT: once per point, after that loop. KERNEL (a kernel
 * without axes): as POINT.
 *
 * If `epilogue_op` is not 0, the store is a *reduction epilogue* of a matmul:
 * it stores the reduction of `value` over many points. The op is SUM, PROD,
 * REDUCE_MAX or REDUCE_MIN, on a dtype of 4 or 8 bytes. It runs along the last
 * outer axis (`along_rows`, in the order of lanes) or the one before it (in
 * order). The extent of that axis is known, at least 1 and at most one block
 * (tgi_epilogue_reduce_max); the access has stride 0 along it. The kernel is
 * COLUMNS with at least two outer axes, and its only reduction is a MATMUL
 * that is not split. One operand of the MATMUL is computed from a single load,
 * invariant along the last axis, and kernel-invariant values. The other one is
 * computed likewise from a load that moves along the last axis and not along
 * the one before it. Level POINT.
 */
typedef struct tgi_loop_store {
    uint32_t value;
    uint32_t access; /* number */
    uint16_t phase;
    uint8_t level;
    uint8_t epilogue_op; /* tgi_op; 0: a plain store */
    bool along_rows;
    tgi_ref node; /* its origin, or 0 */
} tgi_loop_store;

/*
 * Reduces inst `value` (MATMUL: value * other, by fma) along the inner axis.
 * `op` is SUM, PROD, REDUCE_MAX, REDUCE_MIN, MATMUL, ARGMAX or ARGMIN (the
 * last two COLUMNS only, with an i64 result).
 *
 * ROWS: every lane starts from the op's start value (MATMUL: +0). COLUMNS: so
 * does every block of TGI_BLOCK_ROWS. The blocks of a MATMUL are added in
 * ascending order, those of other ops are combined pairwise. Without elements
 * the result is the op's empty value (MATMUL: +0).
 *
 * Two-stage reductions (split-K). In the first kernel (`is_split`) each block
 * is an outer point: the last outer axis (ROWS) or the one before it (COLUMNS)
 * counts blocks, the inner extent is that of the whole reduction, and the
 * result at a point is that of its block. In the second kernel
 * (`combines_blocks`) the inner axis runs over blocks, which are combined
 * pairwise (MATMUL: in ascending order) without a start value.
 */
typedef struct tgi_reduction {
    uint8_t op;
    uint8_t dtype;
    uint16_t phase;
    bool is_split, combines_blocks;
    bool is_bytes; /* MATMUL of i32: the products of their four bytes, unsigned
                      ones of value, signed ones of other (byte_products.h) */
    uint32_t value, other;
    tgi_ref node; /* its origin, or 0 */
} tgi_reduction;

/*
 * Tests inst `value` (bool, level INNER) at every element. If it is false,
 * run-time check `number` of the program has failed at position `position` (an
 * i64 inst), where the index is `index` (an integer inst).
 */
typedef struct tgi_loop_check {
    uint32_t value, position, index;
    uint32_t number;
    uint16_t phase;
} tgi_loop_check;

/* -- Kernels --------------------------------------------------------------- */

typedef enum tgi_vectors { TGI_ROWS, TGI_COLUMNS } tgi_vectors;

typedef struct tgi_kernel_loops {
    const char *name; /* tg_<function>_<n>_<ops>; owned by the program */
    uint8_t vectors;  /* tgi_vectors */
    uint8_t n_outer;
    bool has_inner;
    /* Unrolled into the entry and run by thread 0; all extents are known. */
    bool is_straightline;
    /* If set, the kernel's outputs depend only on this memoised parameter; it
       does not run while that is unchanged. */
    tgi_memo_id memo;
    uint16_t n_phases; /* at least 1 */
    /* Outer extents, then the inner one, which is 1 without an inner axis. */
    tgi_dim extent[TGI_LOOP_AXES];

    TGI_VEC(tgi_inst) insts; /* [0] is unused */
    TGI_VEC(tgi_access) accesses;
    TGI_VEC(tgi_offset_table) offsets;
    TGI_VEC(tgi_loop_store) stores;
    TGI_VEC(tgi_reduction) reductions;
    TGI_VEC(tgi_loop_check) checks;
    const tgi_graph *graph; /* of the nodes of insts, stores and reductions */
    /* The user's lines that traced it, for profiles: first the one with most of
       the work. Owned by the program. */
    const tg_site *sites;
    uint32_t n_sites;
    const tgi_site_chain *main_site; /* sites[0], with its calls; or NULL */
    /* The row blocks that it is in, or none: they fix its work items. */
    tgi_rows_id rows;
    /* How it runs (jit/schedule); NULL: not chosen yet. */
    struct tgi_schedule *schedule;
    /* An earlier kernel whose code this one runs, on the buffers that it
       accesses where that one accesses its own; or none. Accesses and offset
       tables correspond by number. */
    tgi_kernel_id twin;
} tgi_kernel_loops;

static inline int tgi_kernel_dtype(const tgi_kernel_loops *k, uint32_t inst)
{
    return k->insts.data[inst].dtype;
}

/* The line that traced a node; NULL: unknown. */
static inline const tgi_site_chain *tgi_loops_site(const tgi_graph *graph,
                                                   tgi_ref node)
{
    return graph && node ? tgi_graph_node(graph, node)->site : NULL;
}

/* -- Programs -------------------------------------------------------------- */

/*
 * Consecutive straight-line kernels form a *straight-line group*. One thread
 * runs all of it, and buffers used only inside need no memory.
 *
 * Control flow is a sequence of properly nested steps:
 *
 *     LOOP … TEST … LOOP_END                TEST is optional
 *     SWITCH, CASE … CASE …, SWITCH_END
 *
 * All threads take the same path: the deciding values are uniform and are not
 * overwritten before every thread has read them. Iterations and cases end with
 * a barrier, also those without kernels. A straight-line loop is a
 * straight-line group with everything in it; barriers inside have no effect.
 */
typedef enum tgi_loop_step_kind {
    TGI_STEP_RUN,              /* runs `kernel` */
    TGI_STEP_BARRIER,          /* makes earlier stores visible */
    TGI_STEP_RETURN_IF_FAILED, /* ends the call if a check has failed; follows
                                  a barrier */
    TGI_STEP_HOST,             /* frame->host(frame, index of `host`); between
                                  two barriers */
    TGI_STEP_ROWS,             /* runs the kernels up to ROWS_END by row
                                  blocks */
    TGI_STEP_ROWS_END,
    TGI_STEP_LOOP,             /* leaves the loop after the last iteration */
    TGI_STEP_TEST,             /* leaves the loop if the test is false */
    TGI_STEP_LOOP_END,         /* jumps back to LOOP */
    TGI_STEP_SWITCH,           /* jumps to the selected CASE */
    TGI_STEP_CASE, /* ends the case before it: jumps to SWITCH_END */
    TGI_STEP_SWITCH_END
} tgi_loop_step_kind;

typedef struct tgi_loop_step {
    uint8_t kind;
    union {
        tgi_kernel_id kernel;   /* RUN */
        tgi_host_id host;       /* HOST */
        tgi_rows_id rows;       /* ROWS, ROWS_END */
        tgi_control_id control; /* LOOP … SWITCH_END */
    };
} tgi_loop_step;

/*
 * Row blocks. The steps between ROWS and ROWS_END are kernels that have rows in
 * common: a thread runs all of them for a block of rows before the next block,
 * so that what they share stays in its L2. They need no barriers, because a row
 * of every buffer that one of them writes is accessed only by the same row of
 * the others (jit/blocks).
 *
 * There are `matrices` times `rows` rows; no block extends over two matrices.
 * The first n_axes axes of a kernel (the inner one may be the last of them)
 * count rows, in row-major order: index r of all of them is row r if per_row
 * and rows_per_index are 1. A row may have several indices, or an index
 * several rows: those of a block of a split reduction.
 */
typedef struct tgi_row_kernel {
    uint8_t n_axes;
    tgi_dim per_row;        /* indices of a row */
    int64_t rows_per_index; /* or rows of an index; one of the two is 1 */
} tgi_row_kernel;

/* A buffer of place BLOCK: row r of a block is at r * row_elements, rounded
   down to a cache line for the first row. */
typedef struct tgi_block_buffer {
    tgi_buffer_id buffer;
    tgi_dim row_elements;
} tgi_block_buffer;

typedef struct tgi_row_blocks {
    tgi_dim matrices, rows;
    int64_t block_rows;
    uint32_t n_kernels, n_buffers;
    tgi_row_kernel *kernels; /* in the order of the steps; the program … */
    tgi_block_buffer *buffers; /* … owns both arrays */
} tgi_row_blocks;

/* A branch or loop. The program owns the arrays. */
typedef struct tgi_control_flow {
    const tgi_graph *graph;
    tgi_ref node;          /* SWITCH or LOOP */
    uint32_t n_cases;      /* SWITCH; 0: this is a LOOP */
    tgi_buffer_id operand; /* i64: the selected case, or the iterations */
    tgi_buffer_id counter; /* LOOP: finished iterations, a COUNTER */
    bool has_test, is_limited;
    tgi_buffer_id test;   /* has_test: bool */
    uint32_t limit_check; /* is_limited: number of the run-time check */
    /* LOOP: may end the call before an iteration (frame->must_end); in
       straight-line code a run-time check that has failed says so. */
    bool is_cancellable;
    uint32_t cancel_check;
    /* LOOP: the unbounded stacks it pushes onto, and the run-time check that
       fails if memory for them runs out. Before each iteration the stacks get
       room for one more slice, … */
    tgi_stack_set_id stack_set;
    uint32_t memory_check;
    /* … after the `base` (i64) slices that an enclosing loop has pushed.
       Without has_base, base equals operand and is not read. */
    bool has_base;
    tgi_buffer_id base;
    /* LOOP: every step inside is straight-line; thread 0 runs it. */
    bool is_straightline;
    /* LOOP: value k is in carried[k]; the body leaves its next value in
       next[k]. SWITCH: result k is in carried[k]; next == carried. */
    uint32_t n_carried;
    tgi_buffer_id *carried, *next;
    bool *in_registers; /* is_straightline: value k is in SSA values */
    /* After an iteration, buffer to[i] gets the address that from[i] had. All
       moves happen at once; both arrays list the same buffers. */
    uint32_t n_moved;
    tgi_buffer_id *to, *from;
} tgi_control_flow;

/* A print, failed assert or host call: the buffers of its inputs, then of its
   outputs. */
typedef struct tgi_host_step {
    const tgi_graph *graph;
    tgi_ref node;
    uint32_t n_inputs, n_buffers;
    tgi_buffer_id *buffers; /* owned by the program */
} tgi_host_step;

/* A check that can fail while the program runs: a gather or scatter; or a loop
   with a limit or with stacks, with the buffer of its operand. */
typedef struct tgi_runtime_check {
    const tgi_graph *graph;
    tgi_ref node;
    tgi_buffer_id buffer; /* of a loop; else none */
} tgi_runtime_check;

typedef struct tgi_loops {
    tgi_arena arena;
    const char *name;
    tgi_dims *dims; /* of all extents here; retained */
    const tgi_graph *graph;
    TGI_VEC(tgi_loop_buffer) buffers;
    TGI_VEC(tgi_kernel_loops *) kernels; /* in launch order */
    TGI_VEC(tgi_loop_step) steps;
    TGI_VEC(tgi_host_step) hosts;
    TGI_VEC(tgi_runtime_check) runtime_checks;
    TGI_VEC(tgi_control_flow) controls;
    TGI_VEC(tgi_row_blocks) row_blocks;
    /* Parameter numbers of variables that the program does not write and
       whose packed forms it memoises across calls. */
    TGI_VEC(uint32_t) memo_params;
    uint32_t n_stack_sets; /* loops that push onto unbounded stacks */
    uint32_t n_epochs;
} tgi_loops;

/* NULL when out of memory (recorded). Retains `dims`; `name` and `graph` are
   lent and must outlive the result. */
tgi_loops *tgi_loops_create(const char *name, tgi_dims *dims,
                            const tgi_graph *graph);
void tgi_loops_destroy(tgi_loops *loops);

/* Appends an empty kernel; NULL when out of memory (recorded). */
tgi_kernel_loops *tgi_loops_add_kernel(tgi_loops *loops);
void tgi_kernel_loops_destroy(tgi_kernel_loops *kernel);

/* Lanes over which a ROWS reduction distributes elements of this dtype. */
static inline int tgi_tree_lanes(int dtype)
{
    return tgi_dtype_bytes(dtype) == 8 ? TGI_LANES_8 : TGI_LANES_4;
}

/* Minimum number of work items for which a kernel is divided among threads. */
enum { TGI_MIN_SHARED_ITEMS = 4 };

/* Maximum extent of the axis that a reduction epilogue reduces: one block. */
static inline int64_t tgi_epilogue_reduce_max(bool along_rows, int dtype)
{
    return along_rows ? TGI_BLOCK_STEPS * tgi_tree_lanes(dtype)
                      : TGI_BLOCK_ROWS;
}

static inline tgi_loop_buffer *tgi_loops_buffer(const tgi_loops *loops,
                                                tgi_buffer_id id)
{
    return &loops->buffers.data[tgi_buffer_id_index(id)];
}

static inline tgi_kernel_loops *tgi_loops_kernel(const tgi_loops *loops,
                                                 tgi_kernel_id id)
{
    return loops->kernels.data[tgi_kernel_id_index(id)];
}

static inline tgi_control_flow *tgi_loops_control(const tgi_loops *loops,
                                                  tgi_control_id id)
{
    return &loops->controls.data[tgi_control_id_index(id)];
}

static inline tgi_row_blocks *tgi_loops_rows(const tgi_loops *loops,
                                             tgi_rows_id id)
{
    return &loops->row_blocks.data[tgi_rows_id_index(id)];
}

/* True if the loop itself can end the call, apart from the steps in it. */
static inline bool tgi_control_flow_can_fail(const tgi_control_flow *c)
{
    return c->is_limited || !tgi_stack_set_id_is_none(c->stack_set) ||
           c->is_cancellable;
}

static inline bool tgi_host_step_is_assert(const tgi_host_step *step)
{
    return tgi_graph_node(step->graph, step->node)->op == TGI_OP_FAIL;
}

/* The kernel that a step runs; NULL if the step is not RUN. */
static inline const tgi_kernel_loops *
tgi_loops_kernel_at(const tgi_loops *loops, size_t step)
{
    const tgi_loop_step *s = &loops->steps.data[step];
    return s->kind == TGI_STEP_RUN ? tgi_loops_kernel(loops, s->kernel) : NULL;
}

/* The LOOP_END or SWITCH_END of the LOOP or SWITCH at `step`. */
static inline size_t tgi_loops_end_of(const tgi_loops *loops, size_t step)
{
    const tgi_loop_step *first = &loops->steps.data[step];
    const int kind =
        first->kind == TGI_STEP_LOOP ? TGI_STEP_LOOP_END : TGI_STEP_SWITCH_END;
    while (
        loops->steps.data[step].kind != kind ||
        !tgi_control_id_equals(loops->steps.data[step].control, first->control))
        step++;
    return step;
}

/* State of a walk over all steps that numbers straight-line groups from 1. */
typedef struct tgi_group_walk {
    uint32_t group;      /* of the step, if it is part of one */
    uint32_t loop_depth; /* enclosing straight-line loops */
} tgi_group_walk;

/* Advances the walk to `step`; call it for every step in order. True if the
   step runs a straight-line kernel. */
bool tgi_loops_walk_groups(const tgi_loops *loops, size_t step,
                           tgi_group_walk *walk);

/* True if a call that fails may have written a buffer: a step that writes it
   precedes one that can end the call. Also true if there are branches or
   loops. */
bool tgi_loops_may_write_and_fail(const tgi_loops *loops, tgi_buffer_id buffer);

/* A *unit* is a kernel, a straight-line group or a straight-line loop. The step
   after the unit at `step`; `step` if it is another one. */
size_t tgi_loops_end_of_unit(const tgi_loops *loops, size_t step);

/*
 * True if the program is one unit, with no other steps. Such an entry needs no
 * step hooks (entry_abi.h): the time of the call is that of the kernel.
 */
bool tgi_loops_are_single(const tgi_loops *loops);

/* True if a host step is one of tg_host_start: kernels are polled. */
bool tgi_loops_have_starts(const tgi_loops *loops);

enum { TGI_LOOPS_SOURCE = 1 /* lines and names of the user's program */ };

/* Appends a text form, for dumps and goldens. */
void tgi_loops_print(const tgi_loops *loops, unsigned flags, tgi_strbuf *out);

/* Its parts: a buffer by letter and number, the same with its name in the
   user's program (if it has one), a kernel, and a line for a step (for one that
   runs a kernel, its name). */
void tgi_loops_print_buffer(const tgi_loops *loops, tgi_buffer_id buffer,
                            tgi_strbuf *out);
void tgi_loops_print_named_buffer(const tgi_loops *loops, tgi_buffer_id buffer,
                                  tgi_strbuf *out);
void tgi_loops_print_kernel(const tgi_loops *loops,
                            const tgi_kernel_loops *kernel, unsigned flags,
                            tgi_strbuf *out);
void tgi_loops_print_step(const tgi_loops *loops, size_t step,
                          tgi_strbuf *out);

/* Checks the rules of this header. TG_OK, or TG_ERROR_INTERNAL with a message
   that names the violated rule. */
tg_status tgi_loops_verify(const tgi_loops *loops);

#endif /* TGI_LOOPS_H */

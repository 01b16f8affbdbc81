/* SPDX-License-Identifier: MIT */
/*
 * loops.h - a function as loops: the form between the graph and LLVM.
 *
 * A program is a list of steps over numbered buffers. Most steps are kernels:
 * one loop nest each, which stores into buffers. Fusion (fuse*.c) makes it
 * from a graph, the plan places its buffers and barriers, llvm_*.c turns it
 * into code. Nothing here depends on threads or on the width of vectors.
 *
 * A kernel has *outer* axes, over whose points it is split among threads, and
 * at most one *inner* axis. At each point it runs its phases in order; each
 * goes once along the inner axis. Results of reductions are known to all
 * later phases of the point. Along which axis vectors lie:
 *
 *   ROWS     the inner axis. Reductions run along it, by the tree of lanes,
 *            blocks and cascade of reduce_tree.h. A kernel without any
 *            reduction (one phase, no loop carries anything) is of this kind
 *            too, and may also be split along its inner axis.
 *   COLUMNS  the last outer axis. Reductions run along the inner axis in
 *            order, in blocks of TGI_BLOCK_ROWS. Only the first phase goes
 *            along it. A kernel that only stores a matrix by slivers, or
 *            scatters along the inner axis, is of this kind too.
 *
 * Extents and strides are tgi_dims: numbers, or names of expressions whose
 * values the frame holds at the call. Positions are 64 bits wide everywhere.
 */
#ifndef TGI_LOOPS_H
#define TGI_LOOPS_H

#include "base/vec.h"
#include "ir/dims.h"
#include "ir/graph.h"
#include "recipe/reduce_tree.h"

/* Those of a value, one that is reduced, one that counts blocks. */
enum { TGI_LOOP_AXES = TG_MAX_RANK + 2 };

/* Bytes of a row of a panel_width: a line of the cache. */
enum { TGI_PANEL_ROW_BYTES = 64 };

/* Elements of a buffer that has no memory (TGI_PLACE_SSA), at most. */
enum { TGI_MAX_SSA_ELEMENTS = 1024 };

/* -- Buffers --------------------------------------------------------------- */

typedef enum tgi_place {
    TGI_PLACE_PARAM,    /* parameter `index` of the graph, variables too */
    TGI_PLACE_RESULT,   /* result `index` */
    TGI_PLACE_CONSTANT, /* elements of node `node` */
    TGI_PLACE_TEMP,     /* memory of the call */
    TGI_PLACE_SCRATCH,  /* memory of each thread: starts at `thread` times its
                           size (rounded up to TGI_BUFFER_ALIGN) */
    TGI_PLACE_SSA,      /* no memory: values of one tiny region */
    TGI_PLACE_COUNTER,  /* trips a loop has done, an i64 of each thread */
    TGI_PLACE_STACK     /* memory that grows while a loop runs, the one with
                           stacks number `index`: its address is that in the
                           frame, which changes */
} tgi_place;

/* As the index of a stack: no loop is left that pushes onto it. */
#define TGI_NO_STACK_SET UINT32_MAX

typedef struct tgi_loop_buffer {
    uint8_t place; /* tgi_place */
    uint8_t dtype;
    uint32_t index;
    /* Loops know it by its number while it moves about: it keeps its memory,
       and a place in it. */
    bool is_pinned;
    tgi_ref node;  /* whose value it holds; 0: none … */
    const tgi_graph *graph; /* … of this graph */
    tgi_dim count; /* elements (SCRATCH: of one thread; STACK: of a slice) */
    /* Epochs it is in use, if it is: epochs are what barriers divide. */
    bool is_used;
    uint32_t first_epoch, last_epoch;
} tgi_loop_buffer;

/* -- Addresses ------------------------------------------------------------- */

/* A distance in elements. Views with negative steps make it negative. */
typedef struct tgi_stride {
    tgi_dim distance;
    bool is_negative;
} tgi_stride;

/*
 * Element offset + sum of stride[axis] * index[axis] of a buffer; the inner
 * axis comes after the outer ones. A gather adds stride * value of `index`
 * (an i64 inst, in range) if that is not 0. So does a scatter, in a kernel of
 * COLUMNS without reductions: its index is the same for all columns. A slice
 * whose start the run operand adds `shift` (an i64 inst of level KERNEL) if
 * that is not 0.
 *
 * COLUMNS only: `panel_width`, if it is not 0, is how many columns lie side by side.
 * The stride of the last outer axis is that from one panel_width to the next: its
 * index i adds stride * (i / panel_width) + i % panel_width. So a panel of a matrix can
 * be read from one end to the other, a few columns wide. The last panel_width is
 * as wide as all; what it has past the last column is never looked at.
 */
typedef struct tgi_access {
    uint32_t buffer;
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
    TGI_INST_EXTENT,   /* the extent `dim` as i64 */
    TGI_INST_POSITION, /* i64: offset + sum of stride * index of `access` */
    TGI_INST_LOAD,     /* through `access` */
    TGI_INST_OP,       /* an elementwise op: its recipe for `type` */
    TGI_INST_CAST,     /* from `type` to `dtype` */
    TGI_INST_RANDOM,   /* RANDOM_BITS: key, offset (u64), position (i64) */
    TGI_INST_INDEX,    /* of a gather: any integer `type` as i64 in 0 … dim-1
                          (dim > 0), by clamping; where dim is 0: 0 */
    TGI_INST_IN_RANGE, /* bool: the same integer was in 0 … dim-1 */
    TGI_INST_REDUCED   /* reduction `number`, of an earlier phase or its own */
} tgi_inst_kind;

/* How often an inst is computed: the lowest level it can stand at. */
typedef enum tgi_level {
    TGI_LEVEL_KERNEL, /* the same at every point */
    TGI_LEVEL_POINT,  /* the same along the inner axis */
    TGI_LEVEL_INNER
} tgi_level;

/*
 * Insts are numbered from 1; operands come before their users. An inst of
 * level INNER belongs to one phase and is used in no other. One of level
 * POINT is computed at the beginning of its phase, before the loop (after it
 * if it needs a reduction of the phase), and may be used by all later phases.
 * At each element, all insts are computed before anything is stored.
 * Comparisons give bool (0 or 1), and SELECT takes one first.
 */
typedef struct tgi_inst {
    uint8_t kind;
    uint8_t op;    /* OP: tgi_op */
    uint8_t dtype; /* of the value */
    uint8_t type;  /* OP: that its recipe is for; CAST, INDEX: of the operand */
    uint8_t level;
    uint8_t n_operands;
    uint16_t phase;
    uint32_t operands[3];
    uint32_t number; /* LOAD, POSITION: of its access; REDUCED */
    union {
        uint64_t bits;
        tgi_dim dim;
    };
    tgi_ref node; /* where it comes from, for names and messages; or 0 */
} tgi_inst;

/* -- What a kernel does with values ---------------------------------------- */

/*
 * Stores inst `value` through `access`. Level INNER: at every element, in the
 * loop of its phase. POINT: once at every point, after that loop. KERNEL (no
 * axes at all): as POINT.
 *
 * A *fold* stores what reducing the values of many points gives, by an op that
 * is SUM, PROD, REDUCE_MAX or REDUCE_MIN, of type 4 or 8 bytes. It goes along
 * the last outer axis (`along_rows`: by the tree of lanes) or the one before it
 * (in order), which is known to have elements, and no more of them than one
 * block (tgi_epilogue_reduce_max); the access stands still along it. Only a product has
 * folds: COLUMNS of at least two outer axes, whose one reduction is a MATMUL
 * that is not split. One side of that is a load that stands still along the
 * last axis, or made from one such load and what is known in all of the
 * kernel; the other side is the same, of a load that moves along the last axis
 * and not along the one before it. Level POINT.
 */
typedef struct tgi_loop_store {
    uint32_t value;
    uint32_t access; /* number */
    uint16_t phase;
    uint8_t level;
    uint8_t epilogue_op; /* tgi_op; 0: the value of each point itself */
    bool along_rows;
} tgi_loop_store;

/*
 * Reduces inst `value` (of MATMUL: value * other, by fma) along the inner
 * axis. `op` is SUM, PROD, REDUCE_MAX, REDUCE_MIN, MATMUL, ARGMAX or ARGMIN
 * (COLUMNS only; gives i64).
 *
 * ROWS: lanes start from the op's start value (MATMUL: +0). COLUMNS: so do
 * blocks of TGI_BLOCK_ROWS; the blocks of MATMUL are added in ascending
 * order, those of the others go through the cascade. Of no elements: the
 * op's empty value (MATMUL: +0).
 *
 * `is_split`: each block is an outer point of its own: the last outer axis
 * (ROWS) or the one before it (COLUMNS) counts the blocks, the inner extent
 * is that of the whole, and the result at a point is that of its block alone
 * (no cascade). A later kernel reduces the blocks with `combines_blocks`: then the
 * inner axis goes over blocks in the order of the cascade (of MATMUL:
 * ascending) and nothing starts from anything.
 */
typedef struct tgi_reduction {
    uint8_t op;
    uint8_t dtype;
    uint16_t phase;
    bool is_split, combines_blocks;
    uint32_t value, other;
} tgi_reduction;

/*
 * Looks whether inst `value` (bool, level INNER) is true; where it is not,
 * check `number` has failed at position `position` (an i64 inst) of what is
 * runtime_checks.
 */
typedef struct tgi_loop_check {
    uint32_t value, position;
    uint32_t number;
    uint16_t phase;
} tgi_loop_check;

/* -- Kernels --------------------------------------------------------------- */

typedef enum tgi_vectors { TGI_ROWS, TGI_COLUMNS } tgi_vectors;

typedef struct tgi_kernel_loops {
    const char *name; /* tg_<function>_<n>_<ops>; the program's */
    uint8_t vectors;  /* tgi_vectors */
    uint8_t n_outer;
    bool has_inner;
    /* It becomes straight-line code in the entry, which the first thread runs:
       all of its extents are known, and so is all that it does. */
    bool is_straightline;
    /* Not 0: all that it stores follows from what is kept, number kept - 1 of
       the program; it need not run while that stays as it was. */
    uint32_t memo;
    uint16_t n_phases; /* at least 1 */
    /* Outer extents, then the inner one. Without an inner axis it is 1. */
    tgi_dim extent[TGI_LOOP_AXES];

    TGI_VEC(tgi_inst) insts; /* [0] is unused */
    TGI_VEC(tgi_access) accesses;
    TGI_VEC(tgi_loop_store) stores;
    TGI_VEC(tgi_reduction) reductions;
    TGI_VEC(tgi_loop_check) checks;
} tgi_kernel_loops;

/* -- Programs -------------------------------------------------------------- */

/*
 * Tiny kernels that follow each other without any other step between them are
 * a *region*: one thread does all of it, and what only they touch needs no
 * memory.
 *
 * Branches and loops are steps between other steps, properly nested; `number`
 * is that of the tgi_control_flow:
 *
 *     LOOP … TEST … AGAIN      TEST only if there is one
 *     SWITCH, CASE … CASE …, END
 *
 * All threads go the same way: what operand is the same for all of them, and
 * is not stored to before all have seen it. A loop that is tiny, with all that
 * is in it, is a region of its own; inside, barriers mean nothing.
 */
typedef enum tgi_loop_step_kind {
    TGI_STEP_RUN,              /* kernel `number` */
    TGI_STEP_BARRIER,          /* what was stored before is seen after it */
    TGI_STEP_RETURN_IF_FAILED, /* ends the call if a check has failed; after a barrier */
    TGI_STEP_HOST,     /* frame->host(frame, number): between two barriers */
    TGI_STEP_LOOP,     /* all trips done: behind AGAIN, else on */
    TGI_STEP_TEST,     /* the test says no: behind AGAIN, else on */
    TGI_STEP_LOOP_END, /* end of a trip: back to LOOP */
    TGI_STEP_SWITCH,   /* to the CASE that is chosen */
    TGI_STEP_CASE,     /* from the one before it to END */
    TGI_STEP_SWITCH_END
} tgi_loop_step_kind;

typedef struct tgi_loop_step {
    uint8_t kind;
    uint32_t number;
} tgi_loop_step;

/* A branch or loop. Buffers are numbers. */
typedef struct tgi_control_flow {
    const tgi_graph *graph;
    tgi_ref node;      /* SWITCH or LOOP */
    uint32_t n_cases;  /* SWITCH; 0: it is a LOOP */
    uint32_t operand;  /* i64: which branch, or how many trips */
    uint32_t counter;  /* LOOP: trips done, COUNTER */
    bool has_test, is_limited;
    uint32_t test;     /* bool */
    uint32_t limit_check; /* is_limited: number of the check */
    /* LOOP: number + 1 among those that push onto stacks, and that of the
       check which fails if there is no memory for them; 0: it does not. Before
       each trip there is made room for one more slice. */
    uint32_t stack_set, memory_check;
    /* … which goes behind as many as `base` says (i64), if stacks that were
       begun before go on; else it is `operand`. */
    bool has_base;
    uint32_t base;
    /* LOOP: all it does is tiny, and for the first thread alone: it is code in
       the entry, what it carries is values. */
    bool is_straightline;
    /* LOOP: value k is in carried[k]; the body has left the next one in
       place[k]. SWITCH: results are in carried[k], which is place[k], too. */
    uint32_t n_carried;
    uint32_t *carried, *next; /* the program's */
    bool *
        in_registers; /* is_straightline: it is not in memory while the loop runs */
    /* After a trip, buffer to[i] has the address that from[i] had in it: all
       at once, the same buffers on both sides. */
    uint32_t n_moved;
    uint32_t *to, *from; /* the program's */
} tgi_control_flow;

/* A print or a host call: the buffers its inputs are in, and then those its
   outputs go to. */
typedef struct tgi_host_step {
    const tgi_graph *graph;
    tgi_ref node;
    uint32_t n_inputs, n_buffers;
    uint32_t *buffers; /* the program's */
} tgi_host_step;

/* What checks its indices (a gather or scatter), and the buffer these are in;
   or a loop with a limit, and the buffer that is in; or one with stacks. */
typedef struct tgi_runtime_check {
    const tgi_graph *graph;
    tgi_ref node;
    uint32_t buffer;
} tgi_runtime_check;

typedef struct tgi_loops {
    tgi_arena arena;
    const char *name;
    tgi_dims *dims; /* of all extents in here; retained */
    const tgi_graph *graph;
    TGI_VEC(tgi_loop_buffer) buffers;
    TGI_VEC(tgi_kernel_loops *) kernels; /* in the order of launch */
    TGI_VEC(tgi_loop_step) steps;
    TGI_VEC(tgi_host_step) hosts; /* by number of host step */
    TGI_VEC(tgi_runtime_check) runtime_checks; /* by number of check */
    TGI_VEC(tgi_control_flow) controls;
    /* Parameters: variables that the program does not write, and from which
       it makes something that lasts from call to call. */
    TGI_VEC(uint32_t) memo_params;
    uint32_t n_stack_sets; /* loops that push onto some */
    uint32_t n_epochs;
} tgi_loops;

tgi_loops *tgi_loops_create(const char *name, tgi_dims *dims,
                            const tgi_graph *graph);
void tgi_loops_destroy(tgi_loops *loops);

/* An empty kernel at the end of the list; NULL when out of memory. */
tgi_kernel_loops *tgi_loops_add_kernel(tgi_loops *loops);
void tgi_kernel_loops_destroy(tgi_kernel_loops *kernel);

/* Lanes that a reduction along rows deals elements of this type out to. */
static inline int tgi_tree_lanes(int dtype)
{
    return tgi_dtype_bytes(dtype) == 8 ? TGI_LANES_8 : TGI_LANES_4;
}

/* Items of a kernel that threads want to share, at least. */
enum { TGI_MIN_SHARED_ITEMS = 4 };

/* Values that a fold takes at most. */
static inline int64_t tgi_epilogue_reduce_max(bool along_rows, int dtype)
{
    return along_rows ? TGI_BLOCK_STEPS * tgi_tree_lanes(dtype)
                      : TGI_BLOCK_ROWS;
}

/* The kernel that a step runs; NULL: it does something else. */
static inline const tgi_kernel_loops *
tgi_loops_kernel_at(const tgi_loops *loops, size_t step)
{
    const tgi_loop_step *s = &loops->steps.data[step];
    return s->kind == TGI_STEP_RUN ? loops->kernels.data[s->number] : NULL;
}

/* The AGAIN of a LOOP, the END of a SWITCH that stands at `step`. */
static inline size_t tgi_loops_end_of(const tgi_loops *loops, size_t step)
{
    const tgi_loop_step *first = &loops->steps.data[step];
    const int kind =
        first->kind == TGI_STEP_LOOP ? TGI_STEP_LOOP_END : TGI_STEP_SWITCH_END;
    while (loops->steps.data[step].kind != kind ||
           loops->steps.data[step].number != first->number)
        step++;
    return step;
}

/* A walk over all steps that numbers tiny regions, from 1 on. */
typedef struct tgi_group_walk {
    uint32_t group;      /* of the step, if it is part of one */
    uint32_t loop_depth; /* tiny loops that it is in */
} tgi_group_walk;

/* The next step; true if it is a tiny kernel. */
bool tgi_loops_walk_groups(const tgi_loops *loops, size_t step,
                           tgi_group_walk *walk);

/* Text of all, for dumps and goldens. */
void tgi_loops_print(const tgi_loops *loops, tgi_strbuf *out);

/* TG_OK, or an internal error that names what is wrong. */
tg_status tgi_loops_verify(const tgi_loops *loops);

#endif /* TGI_LOOPS_H */

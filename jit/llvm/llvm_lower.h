/* SPDX-License-Identifier: MIT */
/*
 * llvm_lower.h - from loops (loops.h) to LLVM IR: what the files share.
 *
 *   llvm_codegen.c      the door: a module for one program
 *   llvm_entry.c        its entry: steps, shares of threads, barriers
 *   llvm_control.c      branches and loops around them
 *   llvm_kernel.c       a function for each kernel: the loop over its items
 *   llvm_tiny*.c        or straight-line code in the entry
 *   llvm_rows.c         an item of ROWS: maps along the inner axis …
 *   llvm_rows_reduce.c  … and reductions by the tree of reduce_tree.h …
 *   llvm_rows_reassociable.c    … or in any order, where that gives the same bits
 *   llvm_strips*.c      … or long bodies in strips
 *   llvm_columns.c      an item of COLUMNS
 *   llvm_columns_wide.c … of many columns
 *   llvm_product*.c     … of a matrix matmul: rows of tiles
 *   llvm_pack.c         … that stores a matrix by slivers
 *   llvm_transpose.c    an item of ROWS that goes by tiles …
 *   llvm_register_transpose.c         … which are turned in registers
 *   llvm_non_temporal.c       stores past the cache
 *   llvm_reduce.c       steps, starts and ends of reductions
 *   llvm_pairwise.c      combining blocks
 *   llvm_inst.c         values of instructions, llvm_random.c one of them
 *   llvm_access.c       addresses, loads, stores
 *   llvm_check.c        checks of indices
 *   llvm_classify.c        facts about a kernel: levels, lanes, what varies
 *   llvm_cost.c         how long a kernel takes
 *   llvm_flow.c         loops, branches and arithmetic on positions
 *   llvm_frame.c        the frame, buffers, extents
 *
 * A value either *varies* along the axis of vectors, then it has `lanes` of
 * the emitter, or it is one element. Bodies of loops are emitted several
 * times, with other lanes or masks: `values` holds those of the last time.
 */
#ifndef TGI_LLVM_LOWER_H
#define TGI_LLVM_LOWER_H

#include "codegen/codegen.h"
#include "llvm/llvm_emit.h"
#include "llvm/llvm_target.h"
#include "loop/loops.h"
#include "recipe/reduce_tree.h"

enum {
    /* Elements that an item of a kernel without reductions has along the
       inner axis: whole cache lines of every type. */
    TGI_LLVM_ITEM_ELEMENTS = 64,
    TGI_LLVM_MAX_CARRIED = 64,    /* values carried by one loop, at most */
    TGI_LLVM_MAX_REDUCTIONS = 16, /* in one phase, at most */
    /* Vectors that the lanes of the tree are cut into, at most. */
    TGI_LLVM_MAX_TREE_VECTORS = 16,
    TGI_LLVM_MAX_MR = 12, /* of a matmul, at most */
    TGI_LLVM_MAX_CACHED_DIMS =
        32 /* extents remembered; more are loaded again */
};

/* -- A program ------------------------------------------------------------- */

typedef struct tgi_llvm_program {
    const tgi_loops *loops;
    const tgi_llvm_target *target;
    tgi_llvm_emitter emitter;
    void *(*alloc)(size_t bytes);
    void (*free)(void *memory);
    int64_t cache_bytes; /* of the last cache; 0: nothing is stored past it */
    bool *is_read;       /* by buffer: anything loads it; NULL: not needed */

    LLVMTypeRef void_type, bit, i32, i64, pointer;
    LLVMTypeRef frame_type, kernel_type;
    LLVMValueRef
        check_handler;  /* tells of a failed check; NULL: none can fail */
    LLVMValueRef zeros; /* to read where there is nothing; NULL: not so far */
    uint32_t op_uses[TGI_OPS][TGI_DTYPES]; /* of ops by type, in all kernels */
    struct tgi_llvm_fission_functions
        *fission_functions; /* see llvm_fission_function.c */
    bool is_out_of_memory;
    const char *failure; /* NULL: none; a static text */
} tgi_llvm_program;

/* Notes why there will be no code; the first reason counts. False. */
bool tgi_llvm_fail(tgi_llvm_program *program, const char *why);

/* -- A kernel -------------------------------------------------------------- */

/* An inst, while it has a value. */
typedef struct tgi_llvm_value {
    uint8_t level; /* tgi_level, at which it is computed */
    uint8_t operands; /* of a matmul that it is part of: see llvm_matmul.h */
    bool varies;
    /* POINT, needs a reduction of its own phase: computed after the loop. */
    bool is_after_loop;
    /* The value, and of a bool its mask; NULL: not known (yet). */
    LLVMValueRef value, mask;
    /* The same in every lane, made before a loop; NULL: not made. */
    LLVMValueRef splat, splat_mask;
} tgi_llvm_value;

/* What is known of a phase. */
typedef struct tgi_llvm_phase {
    bool has_loop;       /* does something along the inner axis */
    bool can_mask;       /* else what is left over is done one by one */
    bool is_heavy;       /* computes much for an element */
    unsigned lanes;      /* of its vectors */
    unsigned register_lanes; /* of vectors that are one register */
    unsigned tail_lanes;     /* of those for what is left over; masked if > 1 */
    unsigned n_reductions;
    uint32_t reductions[TGI_LLVM_MAX_REDUCTIONS]; /* numbers */
    LLVMValueRef uses_non_temporal; /* has stores past the cache; NULL: never */
} tgi_llvm_phase;

/* See llvm_transpose.c. */
typedef struct tgi_llvm_transpose_tile {
    uint8_t uses; /* what for; 0: the access has no tile */
    LLVMValueRef memory;
} tgi_llvm_transpose_tile;

typedef struct tgi_llvm_transpose {
    int row_axis;       /* outer axis of their rows */
    unsigned tile_rows; /* of a tile; columns: TGI_LLVM_ITEM_ELEMENTS */
    unsigned item_rows; /* rows of an item */
    tgi_llvm_transpose_tile *tiles; /* by access */
    const tgi_kernel_loops *original;
    tgi_kernel_loops loops; /* the same, with accesses to the tiles */
} tgi_llvm_transpose;

/* See llvm_matmul.h. */
typedef struct tgi_llvm_matmul {
    unsigned mr; /* rows of the micro-kernel; 0: the kernel is no matmul */
    int row_axis;      /* outer axis of its rows */
    int64_t item_rows; /* rows of an item */
    unsigned n_panels; /* of an item, if it has more than one; else 0 */
    bool packs_b;      /* a panel of columns, before it is used … */
    bool transposes_b; /* … on its way to the stack */
    LLVMValueRef *row_starts; /* by access, while a tile is computed */
    bool reduces_rows;    /* has folds along rows: items have all columns … */
    bool reduces_columns; /* … and along columns: all rows */
    /* By store, of folds: memory for what rows (from the first one on) or
       columns have come to; and the values of the columns at k->index. */
    LLVMValueRef *partials, first_row, *column_partials;
} tgi_llvm_matmul;

typedef struct tgi_llvm_straightline
    tgi_llvm_straightline; /* see llvm_straightline.c */

typedef struct tgi_llvm_kernel {
    tgi_llvm_program *program;
    tgi_llvm_emitter *e;
    LLVMBuilderRef b;
    const tgi_kernel_loops *loops;

    LLVMValueRef function;
    LLVMValueRef frame, begin, end, thread;
    LLVMValueRef table; /* addresses of buffers, as this thread has them */
    LLVMBasicBlockRef entry; /* what does not change stands here */

    int inner;       /* number of the inner axis: the last */
    int vector_axis; /* along which vectors lie */
    /* Where the loops are. Of the vector axis: lane 0. NULL: nowhere. */
    LLVMValueRef index[TGI_LOOP_AXES];
    LLVMValueRef mask;    /* lanes that count; NULL: all */
    unsigned n_active_lanes; /* how many these are; 0: not known */
    bool is_split;        /* see tgi_reduction */
    unsigned wide_columns; /* columns of an item; 0: those of a vector */
    unsigned splat_lanes; /* of the splats in `values` */

    tgi_llvm_matmul matmul;
    tgi_llvm_transpose *transpose;       /* NULL: it does not go by tiles */
    tgi_llvm_straightline *straightline; /* NULL: it is a function of its own */
    bool
        loads_are_volatile; /* what it loads will be stored to: llvm_straightline.c */
    void *memory;          /* of the arrays below */
    tgi_llvm_phase *phases;
    tgi_llvm_value *values; /* by inst */
    LLVMValueRef *point_bases; /* by access: element at the point */
    /* By access: address of the element at 0 of the inner axis, which may not
       be in its buffer; NULL: it is, and none are known. */
    LLVMValueRef *row_starts;
    LLVMValueRef *buffers;  /* by buffer; NULL: not used so far */
    bool *non_temporal_stores;      /* by store: may go past the cache … */
    bool emits_non_temporal;        /* … in the body that is being emitted */
    LLVMValueRef uses_non_temporal; /* any phase does; NULL: none */
    struct {
        tgi_dim dim;
        LLVMValueRef value;
    } dims[TGI_LLVM_MAX_CACHED_DIMS];
    unsigned n_dims;
} tgi_llvm_kernel;

/* -- llvm_frame.c ---------------------------------------------------------- */

/* Members of tgi_frame, by number. */
typedef enum tgi_frame_member {
    TGI_FRAME_BUFFERS,
    TGI_FRAME_DIMS,
    TGI_FRAME_GRAIN,
    TGI_FRAME_SHARE,
    TGI_FRAME_BARRIER,
    TGI_FRAME_HOST,
    TGI_FRAME_FAILED_CHECK,
    TGI_FRAME_FAILED_POSITION,
    TGI_FRAME_UNCHANGED,
    TGI_FRAME_CAPACITY,
    TGI_FRAME_GROW,
    TGI_FRAME_MEMBERS
} tgi_frame_member;

void tgi_llvm_frame_init(tgi_llvm_program *program);

/* Address and value of a member. */
LLVMValueRef tgi_llvm_frame_address(const tgi_llvm_program *program,
                                    LLVMValueRef frame,
                                    tgi_frame_member member);
LLVMValueRef tgi_llvm_frame_load(const tgi_llvm_program *program,
                                 LLVMValueRef frame, tgi_frame_member member);

/* An extent, where the builder stands. */
LLVMValueRef tgi_llvm_frame_dim(const tgi_llvm_program *program,
                                LLVMValueRef frame, tgi_dim dim);

/* The same, a stride, and the address of a buffer, known in all of a kernel. */
LLVMValueRef tgi_llvm_dim(tgi_llvm_kernel *k, tgi_dim dim);
LLVMValueRef tgi_llvm_stride(tgi_llvm_kernel *k, tgi_stride stride);
LLVMValueRef tgi_llvm_buffer(tgi_llvm_kernel *k, uint32_t buffer);

/* Where a table of buffers has the address of one. */
LLVMValueRef tgi_llvm_buffer_table_entry(const tgi_llvm_program *program,
                                         LLVMValueRef table, uint32_t buffer);

/* -- llvm_flow.c ----------------------------------------------------------- */

/* Positions: 64 bits, simplified where an operand is a number. */
LLVMValueRef tgi_llvm_const_i64(const tgi_llvm_program *program, int64_t n);
bool tgi_llvm_is_const_i64(LLVMValueRef value, int64_t *out_n);
LLVMValueRef tgi_llvm_add(const tgi_llvm_program *program, LLVMValueRef a,
                          LLVMValueRef b);
LLVMValueRef tgi_llvm_mul(const tgi_llvm_program *program, LLVMValueRef a,
                          LLVMValueRef b);
LLVMValueRef tgi_llvm_min(const tgi_llvm_program *program, LLVMValueRef a,
                          LLVMValueRef b);
/* a / b rounded up; b > 0. */
LLVMValueRef tgi_llvm_ceil_div(const tgi_llvm_program *program, LLVMValueRef a,
                               int64_t b);

/* from + the largest multiple of `size`, a power of two, below to - from. */
LLVMValueRef tgi_llvm_round_down(tgi_llvm_kernel *k, LLVMValueRef from,
                                 LLVMValueRef to, int64_t size);
/* True if a row, or the part of it that an item has, may be no multiple of
   `size`, a power of two up to TGI_LLVM_ITEM_ELEMENTS. */
bool tgi_llvm_may_have_tail(const tgi_llvm_kernel *k, int64_t size);
/* True if both are numbers and the same. */
bool tgi_llvm_are_equal_consts(LLVMValueRef a, LLVMValueRef b);

/* A loop from `start` to below `end`; none at all if that is nothing. */
typedef struct tgi_llvm_loop {
    LLVMBasicBlockRef before, body, after;
    LLVMValueRef index, end;
    int64_t step;
    bool is_unconditional; /* runs at least once, as far as numbers tell */
    unsigned n_carried;
    LLVMValueRef initial[TGI_LLVM_MAX_CARRIED];
    /* In the body what it starts with; after the end what comes out. */
    LLVMValueRef carried[TGI_LLVM_MAX_CARRIED];
} tgi_llvm_loop;

void tgi_llvm_loop_begin(tgi_llvm_kernel *k, tgi_llvm_loop *loop,
                         LLVMValueRef start, LLVMValueRef end, int64_t step,
                         const LLVMValueRef *initial, unsigned n_carried);
void tgi_llvm_loop_end(tgi_llvm_kernel *k, tgi_llvm_loop *loop,
                       const LLVMValueRef *next);
/* Begins one that is known to run at least once, and carries nothing. */
void tgi_llvm_loop_begin_nonempty(tgi_llvm_kernel *k, tgi_llvm_loop *loop,
                                  LLVMValueRef start, LLVMValueRef end,
                                  int64_t step);

/* A stretch of code that may be left out. */
typedef struct tgi_llvm_branch {
    LLVMBasicBlockRef before, inside, after;
    bool is_unconditional; /* is never left out, as far as numbers tell */
} tgi_llvm_branch;

void tgi_llvm_branch_begin(tgi_llvm_kernel *k, tgi_llvm_branch *branch,
                           LLVMValueRef condition);
void tgi_llvm_branch_end(tgi_llvm_kernel *k, tgi_llvm_branch *branch);
/* After the end: `inside` if it was run, else `outside`. */
LLVMValueRef tgi_llvm_branch_value(tgi_llvm_kernel *k,
                                   const tgi_llvm_branch *branch,
                                   LLVMValueRef inside, LLVMValueRef outside);

LLVMBasicBlockRef tgi_llvm_block_append(tgi_llvm_kernel *k, const char *name);

/* Room for n elements on the stack. */
LLVMValueRef tgi_llvm_stack_array(tgi_llvm_kernel *k, LLVMTypeRef type,
                                  unsigned n);

/* Emits at the end of the entry until the second call, which goes back. */
LLVMBasicBlockRef tgi_llvm_position_at_entry(tgi_llvm_kernel *k);
void tgi_llvm_position_restore(tgi_llvm_kernel *k, LLVMBasicBlockRef block);

/* -- llvm_classify.c ---------------------------------------------------------- */

/* Fills levels, phases and what varies; false after tgi_llvm_fail. */
bool tgi_llvm_classify(tgi_llvm_kernel *k);

/* True if an access goes through memory in steps of one element along the
   axis of vectors, or stands still. */
bool tgi_llvm_is_contiguous(const tgi_llvm_kernel *k, const tgi_access *access);
/* … and vectors of it may be masked. */
bool tgi_llvm_is_maskable(const tgi_llvm_kernel *k, const tgi_access *access);

/* -- llvm_cost.c ----------------------------------------------------------- */

/* What an inst costs for each element, in instructions on full vectors. */
unsigned tgi_llvm_inst_cost(const tgi_llvm_kernel *k, const tgi_inst *inst);

tgi_kernel_cost tgi_llvm_kernel_cost(const tgi_llvm_kernel *k);

/* -- llvm_access.c --------------------------------------------------------- */

/* Computes the addresses of all accesses at a point. */
void tgi_llvm_point_addresses_emit(tgi_llvm_kernel *k);

/* Address of lane 0 in the loops, without an index that varies. */
LLVMValueRef tgi_llvm_address(tgi_llvm_kernel *k, const tgi_access *access);
/* The same from the indices alone: in no tile, and without an index. */
LLVMValueRef tgi_llvm_address_from_indices(tgi_llvm_kernel *k,
                                           const tgi_access *access);

LLVMValueRef tgi_llvm_load(tgi_llvm_kernel *k, uint32_t access);
void tgi_llvm_store(tgi_llvm_kernel *k, const tgi_loop_store *store);
/* Stores a value of the current lanes; gives what does so, if that is one
   vector as it is, else NULL. */
LLVMValueRef tgi_llvm_store_value(tgi_llvm_kernel *k, const tgi_access *access,
                                  LLVMValueRef value);

/* Number of an access's element (of lane 0), as a position. */
LLVMValueRef tgi_llvm_position(tgi_llvm_kernel *k, const tgi_access *access);

/* 0, 1, 2 … of `lanes` elements of an integer type. */
LLVMValueRef tgi_llvm_iota(const tgi_llvm_kernel *k, LLVMTypeRef element);

/* The mask of the first n lanes. */
LLVMValueRef tgi_llvm_tail_mask(tgi_llvm_kernel *k, LLVMValueRef n);

/* -- llvm_inst.c ----------------------------------------------------------- */

/* An inst's value for the current lanes; of a bool also as a mask. */
LLVMValueRef tgi_llvm_value_of(tgi_llvm_kernel *k, uint32_t inst);
LLVMValueRef tgi_llvm_mask_of(tgi_llvm_kernel *k, uint32_t inst);

/* Emits one, whose operands have values. */
void tgi_llvm_inst_emit(tgi_llvm_kernel *k, uint32_t inst);
/* Emit the insts of a level: KERNEL; POINT of a phase, those before its loop
   or the late ones; INNER of a phase, with its stores and checks. */
void tgi_llvm_kernel_insts_emit(tgi_llvm_kernel *k);
void tgi_llvm_point_insts_emit(tgi_llvm_kernel *k, unsigned phase, bool late);
void tgi_llvm_body_emit(tgi_llvm_kernel *k, unsigned phase);
void tgi_llvm_inner_stores_emit(tgi_llvm_kernel *k, unsigned phase);
void tgi_llvm_point_stores_emit(tgi_llvm_kernel *k, unsigned phase);

/* Between the two, bodies of a phase take what is the same for all lanes from
   values made here. */
void tgi_llvm_splats_begin(tgi_llvm_kernel *k, unsigned phase);
void tgi_llvm_splats_end(tgi_llvm_kernel *k);

/* Gives the insts REDUCED of a reduction their value. */
void tgi_llvm_set_reduced(tgi_llvm_kernel *k, uint32_t reduction,
                          LLVMValueRef value);

/* -- llvm_random.c --------------------------------------------------------- */

/* RANDOM_BITS of type U32 or U64 for the current lanes. */
LLVMValueRef tgi_llvm_random_bits(tgi_llvm_kernel *k, tg_dtype dtype,
                                  LLVMValueRef key, LLVMValueRef offset,
                                  LLVMValueRef position);

/* -- llvm_check.c ---------------------------------------------------------- */

/* Defines the function that notes a failed check in the frame. */
void tgi_llvm_check_init(tgi_llvm_program *program);
void tgi_llvm_check_emit(tgi_llvm_kernel *k, const tgi_loop_check *check);

/* -- llvm_reduce.c --------------------------------------------------------- */

/* What a reduction carries along: mostly one value. */
enum { TGI_LLVM_MAX_PARTS = 3 };
typedef struct tgi_llvm_accumulator {
    LLVMValueRef part[TGI_LLVM_MAX_PARTS];
} tgi_llvm_accumulator;

/* How: by the recipe, or (if the order does not matter) by a quicker way to
   the same bits, which is told by `is_reassociable`. */
bool tgi_llvm_is_reassociable(const tgi_llvm_kernel *k, uint32_t reduction);
/* Has it such a way? */
bool tgi_llvm_uses_native_minmax(const tgi_llvm_kernel *k, uint32_t reduction);
unsigned tgi_llvm_accumulator_parts(const tgi_llvm_kernel *k,
                                    uint32_t reduction, bool is_reassociable);
void tgi_llvm_reduce_start(tgi_llvm_kernel *k, uint32_t reduction,
                           bool is_reassociable,
                           tgi_llvm_accumulator *out_state);
/* Takes the value of the last body into the state, where the mask says so. */
void tgi_llvm_reduce_step(tgi_llvm_kernel *k, uint32_t reduction,
                          bool is_reassociable, tgi_llvm_accumulator *state);
/* The same for `first` and then the value of the last body, of a quick one. */
void tgi_llvm_reduce_step_pair(tgi_llvm_kernel *k, uint32_t reduction,
                               LLVMValueRef first, tgi_llvm_accumulator *state);
/* What is free: the upper half of the lanes into the lower. */
void tgi_llvm_reduce_halve(tgi_llvm_kernel *k, uint32_t reduction,
                           tgi_llvm_accumulator *state);
LLVMValueRef tgi_llvm_reduce_finish(tgi_llvm_kernel *k, uint32_t reduction,
                                    bool is_reassociable,
                                    const tgi_llvm_accumulator *state);

/* What the total of a matrix matmul's panels, along from … to, starts with. */
LLVMValueRef tgi_llvm_matmul_start(tgi_llvm_kernel *k, LLVMValueRef from,
                                   LLVMValueRef to);
/* Two results as one, the earlier on the left. */
LLVMValueRef tgi_llvm_reduce_combine(tgi_llvm_kernel *k, uint32_t reduction,
                                     LLVMValueRef left, LLVMValueRef right);
/* The lanes of n vectors, in order, as one element. Leaves one lane set. */
LLVMValueRef tgi_llvm_horizontal_reduce(tgi_llvm_kernel *k, uint32_t reduction,
                                        LLVMValueRef *vectors, unsigned n);
/* Both by an op and the type it is for. */
LLVMValueRef tgi_llvm_reduce_combine_op(tgi_llvm_kernel *k, int op,
                                        tg_dtype dtype, LLVMValueRef left,
                                        LLVMValueRef right);
LLVMValueRef tgi_llvm_horizontal_reduce_op(tgi_llvm_kernel *k, int op,
                                           tg_dtype dtype,
                                           LLVMValueRef *vectors, unsigned n);
/* Of no elements. */
LLVMValueRef tgi_llvm_reduce_empty(tgi_llvm_kernel *k, uint32_t reduction);

/* -- llvm_pairwise.c -------------------------------------------------------- */

/* The parts of all reductions of a phase. */
typedef struct tgi_llvm_pairwise {
    const tgi_llvm_phase *phase;
    LLVMValueRef parts[TGI_LLVM_MAX_REDUCTIONS]; /* arrays */
} tgi_llvm_pairwise;

void tgi_llvm_pairwise_begin(tgi_llvm_kernel *k, tgi_llvm_pairwise *pairwise,
                             const tgi_llvm_phase *phase);
/* Block number `n_blocks` (from 0). Of ARGMAX and ARGMIN nothing is done. */
void tgi_llvm_pairwise_push(tgi_llvm_kernel *k, tgi_llvm_pairwise *pairwise,
                            const LLVMValueRef *blocks, LLVMValueRef n_blocks);
/* Of n_blocks > 0. */
void tgi_llvm_pairwise_total(tgi_llvm_kernel *k, tgi_llvm_pairwise *pairwise,
                             LLVMValueRef n_blocks, LLVMValueRef *out_totals);

/* -- llvm_rows.c, llvm_rows_reduce.c, llvm_columns.c ----------------------- */

/* All of a point; `from` and `to` bound the inner axis. */
void tgi_llvm_rows_emit(tgi_llvm_kernel *k, LLVMValueRef from, LLVMValueRef to);
void tgi_llvm_rows_reduce_emit(tgi_llvm_kernel *k, unsigned phase,
                               LLVMValueRef from, LLVMValueRef to);
void tgi_llvm_rows_reassociable_emit(tgi_llvm_kernel *k, unsigned phase,
                                     LLVMValueRef from, LLVMValueRef to,
                                     LLVMValueRef *out_results);
/* Lanes and elements of a block of the tree, of a phase with reductions. */
unsigned tgi_llvm_tree_lanes(const tgi_llvm_kernel *k,
                             const tgi_llvm_phase *phase);
int64_t tgi_llvm_block_elements(const tgi_llvm_kernel *k,
                                const tgi_llvm_phase *phase);

/*
 * Calls `visit` with the builder in the loops of a phase from one position to
 * another: of full vectors, then for what is left over with fewer lanes and a
 * mask. k->index of the inner axis and k->mask are set.
 */
typedef void tgi_llvm_body_fn(tgi_llvm_kernel *k, unsigned phase, void *user);
void tgi_llvm_rows_loop(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef from,
                        LLVMValueRef to, tgi_llvm_body_fn *visit, void *user);

/* The same for what is left over, `from` below one vector before `to`. */
void tgi_llvm_rows_tail(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef from,
                        LLVMValueRef to, tgi_llvm_body_fn *visit, void *user);

/* A phase without reductions whose body is long, if it can be done so. */
bool tgi_llvm_can_fission(const tgi_llvm_kernel *k, unsigned phase);
/* … and whether it takes more than one. */
bool tgi_llvm_needs_fission(const tgi_llvm_kernel *k, unsigned phase);
void tgi_llvm_rows_fission_emit(tgi_llvm_kernel *k, unsigned phase,
                                LLVMValueRef from, LLVMValueRef to);
/* Forgets the functions that strips share. */
void tgi_llvm_fission_functions_free(tgi_llvm_program *program);

/* All of the points of a chunk of columns. */
void tgi_llvm_columns_emit(tgi_llvm_kernel *k, LLVMValueRef chunk);
/* Calls `visit` for the columns of one vector, from `column` on: with all
   lanes or, near the end of n columns, with a mask or one by one. */
typedef void tgi_llvm_columns_fn(tgi_llvm_kernel *k, LLVMValueRef column,
                                 void *user);
void tgi_llvm_columns_step(tgi_llvm_kernel *k, LLVMValueRef column,
                           LLVMValueRef n, tgi_llvm_columns_fn *visit,
                           void *user);
unsigned tgi_llvm_item_columns(const tgi_llvm_kernel *k);

/* -- llvm_columns_wide.c --------------------------------------------------- */

/* Columns of an item if it is worth it to take many at once, by vectors of so
   many lanes; else 0. */
unsigned tgi_llvm_wide_item_columns(const tgi_llvm_kernel *k, unsigned lanes);
/* Columns from `column` to before `end`, whole vectors, of rows from … to. */
void tgi_llvm_columns_wide_emit(tgi_llvm_kernel *k, LLVMValueRef column,
                                LLVMValueRef end, LLVMValueRef from,
                                LLVMValueRef to);

/* -- llvm_product*.c ------------------------------------------------------- */

/* Lanes of its tiles if the kernel is a matmul, and k->matmul; else 0. Knows
   better whether columns can be masked. */
unsigned tgi_llvm_matmul_classify(tgi_llvm_kernel *k);

/* The block of rows at k->index, of the columns there. */
void tgi_llvm_matmul_item_emit(tgi_llvm_kernel *k, LLVMValueRef from,
                               LLVMValueRef to);
/* The same of several slivers, from `column` on. */
void tgi_llvm_matmul_panels_emit(tgi_llvm_kernel *k, LLVMValueRef column,
                                 LLVMValueRef n);
/* Around all columns of an item that folds rows. */
void tgi_llvm_row_epilogue_begin(tgi_llvm_kernel *k);
void tgi_llvm_row_epilogue_end(tgi_llvm_kernel *k);

/* -- llvm_pack.c ----------------------------------------------------------- */

/* Columns of a sliver, of a kernel that packs; else 0. */
unsigned tgi_llvm_pack_panel_width(const tgi_llvm_kernel *k);
/* A kernel that packs columns which lie along memory. */
bool tgi_llvm_pack_is_transposed(const tgi_llvm_kernel *k);
/* The sliver that begins with a column, of n columns in all. */
void tgi_llvm_pack_transposed_emit(tgi_llvm_kernel *k, LLVMValueRef column,
                                   LLVMValueRef n);

/* -- llvm_non_temporal.c --------------------------------------------------------- */

/* Notes what is read in the call; false when out of memory. */
bool tgi_llvm_non_temporal_init(tgi_llvm_program *program);
/* Finds the phases with stores past the cache, once lanes are known. */
void tgi_llvm_non_temporal_classify(tgi_llvm_kernel *k);
/* Emits a loop of such stores, if there are any, and gives where it ends:
   what comes after it is not done yet. */
LLVMValueRef tgi_llvm_non_temporal_loop(tgi_llvm_kernel *k, unsigned phase,
                                        LLVMValueRef from, LLVMValueRef to,
                                        tgi_llvm_body_fn *visit, void *user);
bool tgi_llvm_is_non_temporal(const tgi_llvm_kernel *k,
                              const tgi_loop_store *store);
/* Makes a store of so many bytes, that begins with a line or divides one, go
   past the cache. */
void tgi_llvm_non_temporal_mark(const tgi_llvm_kernel *k, LLVMValueRef store,
                                unsigned bytes);
/* Asks memory for what will be read or written: by an address only, which may
   be past any end. */
void tgi_llvm_prefetch(tgi_llvm_kernel *k, LLVMValueRef address, int64_t bytes,
                       bool to_write);
/* Before a kernel returns: others see what it has stored. */
void tgi_llvm_non_temporal_fence(tgi_llvm_kernel *k);

/* -- llvm_register_transpose.c ----------------------------------------------------------- */

/* Lines of elements: element e of line l is at start + l * line + e, or - e
   if they go backwards. */
typedef struct tgi_llvm_line_array {
    LLVMValueRef start, line;
    bool is_reversed;
} tgi_llvm_line_array;

/* to[e][l] = from[l][e], for all l < n_lines and e < n_elements. */
typedef struct tgi_llvm_register_transpose {
    tgi_llvm_kernel *k;
    LLVMTypeRef element;
    unsigned bytes; /* of an element */
    tgi_llvm_line_array from, to;
    LLVMValueRef n_lines, n_elements;
    unsigned
        prefetch_distance; /* elements of lines to ask for ahead; 0: none */
} tgi_llvm_register_transpose;

/* `lines_first`: takes some lines along all elements, then the next; else
   some elements along all lines. */
void tgi_llvm_register_transpose_emit(const tgi_llvm_register_transpose *turn,
                                      bool lines_first);

/* n columns of what an access reads, which lie along memory, of n_rows rows
   from k->index on: into rows of `width` elements. */
void tgi_llvm_transpose_columns(tgi_llvm_kernel *k, const tgi_access *access,
                                LLVMValueRef to, unsigned width, LLVMValueRef n,
                                LLVMValueRef n_rows);

/* -- llvm_transpose.c ------------------------------------------------------ */

/* Finds out whether a kernel goes by tiles: then k->loops become those with
   accesses to tiles. False when out of memory. To be freed either way. */
bool tgi_llvm_transpose_prepare(tgi_llvm_kernel *k);
void tgi_llvm_transpose_free(tgi_llvm_kernel *k);
/* All tiles of a stack, by number, in a unit of the inner axis. */
void tgi_llvm_transpose_item_emit(tgi_llvm_kernel *k, LLVMValueRef stack,
                                  LLVMValueRef unit);

/* -- llvm_kernel.c --------------------------------------------------------- */

/* How a kernel is cut into items. */
typedef struct tgi_llvm_kernel_info {
    LLVMValueRef function; /* NULL: it is straightline, and in the entry */
    /* How many of an axis belong to one item, or 0 if all. Of reductions that
       are split, a block belongs to a point. */
    int64_t item_extent[TGI_LOOP_AXES];
    int64_t split_block; /* inner elements of a point if it is split; or 0 */
    tgi_kernel_cost cost;
} tgi_llvm_kernel_info;

/* Prepares a kernel, and finds its shape; false after tgi_llvm_fail. To be
   ended either way. */
bool tgi_llvm_kernel_begin(tgi_llvm_kernel *k, tgi_llvm_program *program,
                           const tgi_kernel_loops *loops);
void tgi_llvm_kernel_end(tgi_llvm_kernel *k);

/* Defines the function of a kernel, or learns what the entry must know of a
   straightline one; false after tgi_llvm_fail. */
bool tgi_llvm_kernel_define(tgi_llvm_program *program,
                            const tgi_kernel_loops *loops,
                            tgi_llvm_kernel_info *out_info);

/* -- llvm_store_forwarding.c ----------------------------------------------------- */

/* What the region has stored there, of the current lanes; NULL: it must be
   loaded. */
LLVMValueRef tgi_llvm_forwarded_load(tgi_llvm_kernel *k,
                                     const tgi_access *access);
/* True if the program stores to this buffer: what is loaded of it must be
   loaded where it says so. */
bool tgi_llvm_straightline_is_stored(const tgi_llvm_kernel *k, uint32_t buffer);
/* Notes what is stored; true if it goes into no memory. */
bool tgi_llvm_forwarded_store(tgi_llvm_kernel *k, const tgi_access *access,
                              LLVMValueRef value);

/* -- llvm_entry.c ---------------------------------------------------------- */

/* Defines the entry; NULL after tgi_llvm_fail. */
LLVMValueRef tgi_llvm_entry_define(tgi_llvm_program *program,
                                   const tgi_llvm_kernel_info *kernels,
                                   const char *name);

/* -- llvm_export.c --------------------------------------------------------- */

/* Defines the function that other programs call; the entry, which it runs with
   at most so many threads, is no longer seen from outside. False after
   tgi_llvm_fail. */
bool tgi_llvm_export_define(tgi_llvm_program *program, LLVMValueRef entry,
                            const tgi_codegen_export *export, int n_threads);

#endif /* TGI_LLVM_LOWER_H */

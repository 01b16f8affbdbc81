/* SPDX-License-Identifier: MIT */
/*
 * llvm_micro_kernel_function.c - micro-kernels as functions. Matmuls of a
 * program share a function per dtype, height, number of lanes and width of
 * registers: most of the compile time of a matmul is that of its micro-kernel,
 * and networks have many. A row of B is read in vectors of the width of a
 * packed panel, at any distance, so that one function serves packed panels and
 * contiguous rows.
 *
 * For each row r of COUNT micro-kernels: c_out[r] = c_in[r] + sum over k of
 * a[r][k] * b[k]. The epilogue is the caller's.
 *
 * The function reads full vectors of B. Lanes beyond the last column read
 * whatever follows in memory. In the last row of B that is out of bounds, so
 * the caller passes a padded copy of that row.
 *
 * The loop over k carries two addresses as integers; the loop over
 * micro-kernels carries nothing (tgi_llvm_quirk_pointer_of).
 */
#include "llvm/emit/llvm_access.h"
#include "llvm/emit/llvm_cache_hints.h"
#include "schedule/schedule.h"
#include "llvm/emit/llvm_debug.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_offsets.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/emit/llvm_quirks.h"
#include "llvm/emit/llvm_target.h"
#include "llvm/emit/llvm_byte_products.h"
#include "llvm/matmul/llvm_matmul.h"
#include "llvm/reduce/llvm_reduce.h"

#include <stdio.h>
#include <string.h>

/*
 * Arguments of the function, an array of i64. Strides are in bytes. After step
 * B_LAST_K, B continues at B_LAST. COUNT is at least 1. On return, it is 0;
 * A_START, C_IN and C_OUT point to the next rows.
 */
enum {
    A_START,
    A_ROW_STRIDE,
    A_K_STRIDE, /* of offsets that are looked up, if A has an offset table */
    A_OFFSETS,  /* the entry of the first step, if A has an offset table */
    B_START,
    B_K_STRIDE,
    B_PANEL_STRIDE, /* if a row of B is wider than a panel */
    N_STEPS,        /* of k */
    B_LAST,
    B_LAST_K,
    C_IN,
    C_IN_STRIDE,
    C_OUT,
    C_OUT_STRIDE,
    COUNT,
    N_ARGS
};

static int64_t matmul_element_bytes(const tgi_llvm_kernel *k)
{
    return tgi_dtype_bytes((int)tgi_llvm_matmul_dtype(k));
}

static LLVMValueRef vector_bytes(const tgi_llvm_kernel *k)
{
    return tgi_llvm_const_i64(k->program,
                              k->e->lanes * matmul_element_bytes(k));
}

bool tgi_llvm_micro_kernel_needs_packing(const tgi_llvm_kernel *k)
{
    const tgi_matmul_schedule *m = &k->schedule->matmul;
    return k->e->lanes > 1 &&
           (k->mask ? m->packs_masked_for_function : m->packs_for_function);
}

bool tgi_llvm_micro_kernel_is_function(const tgi_llvm_kernel *k)
{
    const tgi_matmul_schedule *m = &k->schedule->matmul;
    return m->calls_function &&
           (m->packs_b ||
            !(m->has_few_rows && tgi_llvm_micro_kernel_needs_packing(k)));
}

/* Vectors of a row of B: the panels that it spans. */
static unsigned count_panels(const tgi_llvm_kernel *k)
{
    const unsigned width = tgi_schedule_panel_lanes(k->schedule);
    return k->e->lanes > width ? k->e->lanes / width : 1;
}

/* The number of A's offset table; -1: it has none. */
static int64_t a_offset_table(const tgi_llvm_kernel *k)
{
    const uint32_t index = tgi_llvm_operand_access(k, TGI_OPERAND_A)->index;
    return index ? (int64_t)k->loops->insts.data[index].number : -1;
}

/* -- The function ---------------------------------------------------------- */

typedef struct function_state {
    tgi_llvm_kernel *k;
    unsigned height, n_panels;
    bool has_offsets; /* A has an offset table */
    bool looks_ahead; /* tgi_matmul_schedule */
    LLVMTypeRef element, vector;
    LLVMValueRef array, args[N_ARGS];
    LLVMValueRef acc[TGI_LLVM_MAX_MR];
} function_state;

static LLVMValueRef as_pointer(const function_state *t, LLVMValueRef number)
{
    return tgi_llvm_quirk_pointer_of(t->k->b, t->k->program->pointer, number);
}

/* The address of row r. */
static LLVMValueRef row_address(const function_state *t, LLVMValueRef start,
                                unsigned r, LLVMValueRef stride)
{
    const tgi_llvm_program *program = t->k->program;
    LLVMValueRef bytes =
        tgi_llvm_mul(program, stride, tgi_llvm_const_i64(program, r));
    return r ? LLVMBuildGEP2(t->k->b, LLVMInt8TypeInContext(t->k->e->context),
                             start, &bytes, 1, "")
             : start;
}

static LLVMValueRef load_as(const function_state *t, LLVMTypeRef type,
                            LLVMValueRef from)
{
    LLVMValueRef value = LLVMBuildLoad2(t->k->b, type, from, "");
    LLVMSetAlignment(value, (unsigned)matmul_element_bytes(t->k));
    return value;
}

static LLVMValueRef load_b_row(const function_state *t, LLVMValueRef b)
{
    LLVMValueRef parts[TGI_MAX_LANES];
    LLVMTypeRef type = LLVMVectorType(t->element, t->k->e->lanes / t->n_panels);
    if (t->n_panels == 1)
        return load_as(t, t->vector, b);
    for (unsigned i = 0; i < t->n_panels; i++)
        parts[i] =
            load_as(t, type, row_address(t, b, i, t->args[B_PANEL_STRIDE]));
    return tgi_llvm_concat(t->k->e, parts, t->n_panels);
}

/* Prefetches the row of B that is used 64 steps later: 4 KB ahead in a packed
   panel, on the next page, where the hardware does not prefetch. */
static void prefetch_b_row(const function_state *t, LLVMValueRef b)
{
    enum { STEPS = 64 };
    tgi_llvm_kernel *k = t->k;
    LLVMValueRef ahead =
        tgi_llvm_const_i64(k->program, STEPS * TGI_PANEL_ROW_BYTES);
    LLVMValueRef later = LLVMBuildGEP2(
        k->b, LLVMInt8TypeInContext(k->e->context), b, &ahead, 1, "");
    for (unsigned i = 0; i < t->n_panels; i++)
        tgi_llvm_prefetch(k,
                          row_address(t, later, i, t->args[B_PANEL_STRIDE]),
                          TGI_PANEL_ROW_BYTES, false);
}

static void emit_k_step(function_state *t, LLVMValueRef a, LLVMValueRef b)
{
    tgi_llvm_kernel *k = t->k;
    LLVMValueRef b_row = load_b_row(t, b);
    if (k->schedule->matmul.prefetches_panels)
        prefetch_b_row(t, b);
    for (unsigned r = 0; r < t->height; r++) {
        LLVMValueRef element =
            load_as(t, t->element, row_address(t, a, r, t->args[A_ROW_STRIDE]));
        const tgi_emitted in[] = {tgi_llvm_splat(k->e, element), b_row,
                                  t->acc[r]};
        t->acc[r] = tgi_llvm_product_step(
            k->e, tgi_schedule_matmul_reduction(k->schedule), in);
    }
}

static LLVMValueRef next_b(const function_state *t, LLVMValueRef step,
                           LLVMValueRef at)
{
    LLVMBuilderRef b = t->k->b;
    return LLVMBuildSelect(
        b, LLVMBuildICmp(b, LLVMIntEQ, step, t->args[B_LAST_K], ""),
        t->args[B_LAST], LLVMBuildAdd(b, at, t->args[B_K_STRIDE], ""), "");
}

static void start_accumulators(const function_state *t, LLVMValueRef *out)
{
    for (unsigned r = 0; r < t->height; r++) {
        tgi_llvm_accumulator state;
        tgi_llvm_reduce_start(t->k, 0, false, &state);
        out[r] = state.part[0];
    }
}

/* The address of A in a step; `at` is the address that the loop carries. */
static LLVMValueRef a_address(const function_state *t, LLVMValueRef at)
{
    const tgi_llvm_program *program = t->k->program;
    if (!t->has_offsets)
        return at;
    LLVMValueRef offset =
        LLVMBuildLoad2(t->k->b, program->i64, as_pointer(t, at), "");
    LLVMValueRef bytes =
        tgi_llvm_mul(program, offset,
                     tgi_llvm_const_i64(program, matmul_element_bytes(t->k)));
    return tgi_llvm_add(program, t->args[A_START], bytes);
}

/*
 * Emits the loop over k where A is contiguous in runs of steps: an outer loop
 * over runs, which looks up the offset of the first step of each, and an inner
 * loop over its steps. *at_a, the entry of the first run, and *at_b move behind
 * the last.
 */
static void emit_run_loops(function_state *t, LLVMValueRef *at_a,
                           LLVMValueRef *at_b, LLVMValueRef n_steps)
{
    enum { AT_A, AT_B, N_ADDRESSES, MAX_UNROLLED = 2 }; /* 4: as fast */
    tgi_llvm_kernel *k = t->k;
    const tgi_llvm_program *program = k->program;
    const int64_t run = k->schedule->matmul.a_run;
    const int64_t n_unrolled = run % MAX_UNROLLED ? 1 : MAX_UNROLLED;
    const unsigned n = N_ADDRESSES + t->height;
    LLVMValueRef carried[N_ADDRESSES + TGI_LLVM_MAX_MR] = {*at_a, *at_b};
    start_accumulators(t, carried + N_ADDRESSES);
    tgi_llvm_loop runs, steps;
    tgi_llvm_loop_begin(k, &runs, tgi_llvm_const_i64(program, 0),
                        n_steps, run, carried, n);
    memcpy(carried, runs.carried, n * sizeof(carried[0]));
    carried[AT_A] = a_address(t, runs.carried[AT_A]);
    tgi_llvm_loop_begin(k, &steps, tgi_llvm_const_i64(program, 0),
                        tgi_llvm_const_i64(program, run), n_unrolled, carried,
                        n);
    memcpy(carried, steps.carried, n * sizeof(carried[0]));
    memcpy(t->acc, carried + N_ADDRESSES, t->height * sizeof(t->acc[0]));
    for (int64_t i = 0; i < n_unrolled; i++) {
        LLVMValueRef step = tgi_llvm_add(program, runs.index, steps.index);
        step = tgi_llvm_add(program, step, tgi_llvm_const_i64(program, i));
        emit_k_step(t, as_pointer(t, carried[AT_A]),
                    as_pointer(t, carried[AT_B]));
        carried[AT_A] =
            tgi_llvm_add(program, carried[AT_A],
                         tgi_llvm_const_i64(program, matmul_element_bytes(k)));
        carried[AT_B] = next_b(t, step, carried[AT_B]);
    }
    memcpy(carried + N_ADDRESSES, t->acc, t->height * sizeof(t->acc[0]));
    tgi_llvm_loop_end(k, &steps, carried);
    memcpy(carried, steps.carried, n * sizeof(carried[0]));
    carried[AT_A] =
        tgi_llvm_add(program, runs.carried[AT_A], t->args[A_K_STRIDE]);
    tgi_llvm_loop_end(k, &runs, carried);
    memcpy(t->acc, runs.carried + N_ADDRESSES,
           t->height * sizeof(t->acc[0]));
    *at_a = runs.carried[AT_A];
    *at_b = runs.carried[AT_B];
}

/* The address that the loop carries to the next step; in the last one, an
   offset has no successor. */
static LLVMValueRef next_a(const function_state *t, LLVMValueRef step,
                           LLVMValueRef at)
{
    LLVMBuilderRef b = t->k->b;
    LLVMValueRef next = LLVMBuildAdd(b, at, t->args[A_K_STRIDE], "");
    if (!t->looks_ahead)
        return next;
    LLVMValueRef last = LLVMBuildSub(b, t->args[N_STEPS],
                                     tgi_llvm_const_i64(t->k->program, 1), "");
    return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntEQ, step, last, ""), at,
                           next, "");
}

/*
 * Emits the loop over k, which has at least one step, then the accumulators. It
 * carries two addresses, of A or its offset, and of B; if it looks ahead, also
 * the address that the next offset gives.
 */
static void emit_k_loop(function_state *t)
{
    enum { AT_A, AT_B, AT_NEXT_A, MAX_ADDRESSES };
    tgi_llvm_kernel *k = t->k;
    const unsigned acc = t->looks_ahead ? MAX_ADDRESSES : AT_NEXT_A;
    LLVMValueRef carried[MAX_ADDRESSES + TGI_LLVM_MAX_MR] = {
        t->args[t->has_offsets ? A_OFFSETS : A_START], t->args[B_START]};
    if (t->looks_ahead)
        carried[AT_NEXT_A] = a_address(t, carried[AT_A]);
    start_accumulators(t, carried + acc);
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, tgi_llvm_const_i64(k->program, 0),
                        t->args[N_STEPS], 1, carried, acc + t->height);
    memcpy(t->acc, loop.carried + acc, sizeof(t->acc));
    LLVMValueRef a = t->looks_ahead ? loop.carried[AT_NEXT_A]
                                    : a_address(t, loop.carried[AT_A]);
    carried[AT_A] = next_a(t, loop.index, loop.carried[AT_A]);
    if (t->looks_ahead)
        carried[AT_NEXT_A] = a_address(t, carried[AT_A]);
    emit_k_step(t, as_pointer(t, a), as_pointer(t, loop.carried[AT_B]));
    memcpy(carried + acc, t->acc, sizeof(t->acc));
    carried[AT_B] = next_b(t, loop.index, loop.carried[AT_B]);
    tgi_llvm_loop_end(k, &loop, carried);
    memcpy(t->acc, loop.carried + acc, sizeof(t->acc));
}

/* Adds the accumulators to the rows at c_in. */
static void store_c(const function_state *t, LLVMValueRef c_in,
                    LLVMValueRef c_in_stride)
{
    tgi_llvm_kernel *k = t->k;
    c_in = as_pointer(t, c_in);
    LLVMValueRef c_out = as_pointer(t, t->args[C_OUT]);
    for (unsigned r = 0; r < t->height; r++) {
        LLVMValueRef c = load_as(t, t->vector,
                                 row_address(t, c_in, r, c_in_stride));
        LLVMValueRef store =
            LLVMBuildStore(k->b, tgi_llvm_reduce_combine(k, 0, c, t->acc[r]),
                           row_address(t, c_out, r, t->args[C_OUT_STRIDE]));
        LLVMSetAlignment(store, (unsigned)matmul_element_bytes(k));
    }
}

static LLVMValueRef arg_address(const tgi_llvm_kernel *k, LLVMValueRef array,
                                unsigned number)
{
    LLVMValueRef at = tgi_llvm_const_i64(k->program, number);
    return LLVMBuildGEP2(k->b, k->program->i64, array, &at, 1, "");
}

static void load_arg(function_state *t, unsigned number)
{
    t->args[number] = LLVMBuildLoad2(t->k->b, t->k->program->i64,
                                     arg_address(t->k, t->array, number), "");
}

/* -- k-blocks of a micro-kernel -- */

/* k is one k-block, or the caller loops over them. */
static void emit_one_block(function_state *t)
{
    LLVMValueRef a = t->args[A_OFFSETS], b = t->args[B_START];
    if (t->k->schedule->matmul.a_run)
        emit_run_loops(t, &a, &b, t->args[N_STEPS]);
    else
        emit_k_loop(t);
    load_arg(t, C_IN);
    load_arg(t, C_OUT);
    store_c(t, t->args[C_IN], t->args[C_IN_STRIDE]);
}

/* A loop over k-blocks. The first one adds to c_in, the others to c_out. */
static void emit_blocks(function_state *t)
{
    enum { AT_A, AT_B, AT_C, C_STRIDE, N_CARRIED };
    tgi_llvm_kernel *k = t->k;
    LLVMValueRef size = tgi_llvm_const_i64(k->program, TGI_BLOCK_ROWS);
    load_arg(t, C_IN);
    load_arg(t, C_OUT);
    LLVMValueRef carried[N_CARRIED] = {t->args[A_OFFSETS], t->args[B_START],
                                       t->args[C_IN], t->args[C_IN_STRIDE]};
    tgi_llvm_loop blocks;
    tgi_llvm_loop_begin(k, &blocks, tgi_llvm_const_i64(k->program, 0),
                        t->args[N_STEPS], TGI_BLOCK_ROWS, carried, N_CARRIED);
    memcpy(carried, blocks.carried, sizeof(carried));
    LLVMValueRef left =
        LLVMBuildSub(k->b, t->args[N_STEPS], blocks.index, "");
    emit_run_loops(t, &carried[AT_A], &carried[AT_B],
                   tgi_llvm_min(k->program, left, size));
    store_c(t, carried[AT_C], carried[C_STRIDE]);
    carried[AT_C] = t->args[C_OUT];
    carried[C_STRIDE] = t->args[C_OUT_STRIDE];
    tgi_llvm_loop_end(k, &blocks, carried);
}

static LLVMValueRef advance_arg(const function_state *t, unsigned number,
                                LLVMValueRef bytes)
{
    LLVMValueRef moved = tgi_llvm_add(t->k->program, t->args[number], bytes);
    LLVMBuildStore(t->k->b, moved, arg_address(t->k, t->array, number));
    return moved;
}

static LLVMValueRef height_times(const function_state *t, LLVMValueRef stride)
{
    return tgi_llvm_mul(t->k->program, stride,
                        tgi_llvm_const_i64(t->k->program, t->height));
}

static void emit_function(function_state *t)
{
    tgi_llvm_kernel *k = t->k;
    LLVMBasicBlockRef body = tgi_llvm_block_append(k, "micro_kernel");
    LLVMBasicBlockRef done = tgi_llvm_block_append(k, "done");
    for (unsigned i = 0; i < N_ARGS; i++)
        if (i != A_START && i != C_IN && i != C_OUT && i != COUNT &&
            (i != B_PANEL_STRIDE || t->n_panels > 1) &&
            (i != A_OFFSETS || t->has_offsets))
            load_arg(t, i);
    LLVMBuildBr(k->b, body);
    LLVMPositionBuilderAtEnd(k->b, body);
    load_arg(t, A_START);
    if (k->schedule->matmul.blocks_in_rows)
        emit_blocks(t);
    else
        emit_one_block(t);
    advance_arg(t, A_START, height_times(t, t->args[A_ROW_STRIDE]));
    advance_arg(t, C_IN, height_times(t, t->args[C_IN_STRIDE]));
    advance_arg(t, C_OUT, height_times(t, t->args[C_OUT_STRIDE]));
    load_arg(t, COUNT);
    LLVMValueRef left =
        advance_arg(t, COUNT, tgi_llvm_const_i64(k->program, -1));
    LLVMBuildCondBr(k->b,
                    LLVMBuildICmp(k->b, LLVMIntSGT, left,
                                  tgi_llvm_const_i64(k->program, 0), ""),
                    body, done);
    LLVMPositionBuilderAtEnd(k->b, done);
    LLVMBuildRetVoid(k->b);
}

/* Emits the body of the function; restores the position of the builder. */
static void define_function(tgi_llvm_kernel *k, LLVMValueRef function,
                            unsigned height)
{
    LLVMBasicBlockRef block = LLVMGetInsertBlock(k->b);
    LLVMValueRef kernel = k->function;
    function_state t = {
        .k = k,
        .height = height,
        .n_panels = count_panels(k),
        .has_offsets = a_offset_table(k) >= 0,
        .looks_ahead = k->schedule->matmul.looks_ahead,
        .element = tgi_llvm_element_type(k->e, tgi_llvm_matmul_dtype(k)),
        .vector = tgi_llvm_type(k->e, tgi_llvm_matmul_dtype(k)),
        .array = LLVMGetParam(function, 0)};
    const tgi_llvm_debug_place before =
        tgi_llvm_debug_enter_shared(k, function);
    k->function = function;
    LLVMPositionBuilderAtEnd(k->b, tgi_llvm_block_append(k, "entry"));
    emit_function(&t);
    tgi_llvm_debug_leave(k->program, before);
    k->function = kernel;
    LLVMPositionBuilderAtEnd(k->b, block);
}

static LLVMTypeRef function_type(tgi_llvm_program *program)
{
    return LLVMFunctionType(program->void_type, &program->pointer, 1, false);
}

/* The function of this height and the current lanes. */
static LLVMValueRef find_or_define(tgi_llvm_kernel *k, unsigned height)
{
    char name[80], runs[24] = "";
    if (k->schedule->matmul.a_run)
        snprintf(runs, sizeof(runs), "_run%u%s", k->schedule->matmul.a_run,
                 k->schedule->matmul.blocks_in_rows ? "_blocks" : "");
    snprintf(name, sizeof(name), "tg_micro_kernel_%s_%ux%u_%u%s%s%s%s",
             tgi_dtype_table[tgi_llvm_matmul_dtype(k)].name, height,
             k->e->lanes, tgi_llvm_vector_bits(k),
             k->schedule->matmul.looks_ahead ? "_offsets_ahead"
             : a_offset_table(k) >= 0        ? "_offsets"
                                             : "",
             runs,
             tgi_schedule_matmul_reduction(k->schedule)->is_bytes ? "_bytes"
                                                                  : "",
             k->schedule->matmul.prefetches_panels ? "_prefetch" : "");
    LLVMValueRef function = LLVMGetNamedFunction(k->e->module, name);
    if (function)
        return function;
    function = LLVMAddFunction(k->e->module, name, function_type(k->program));
    LLVMSetLinkage(function, LLVMInternalLinkage);
    tgi_llvm_target_set_function(k->program->target, function,
                                 tgi_llvm_vector_bits(k));
    tgi_llvm_quirk_skip_post_ra_scheduler(k->e->isa, function);
    define_function(k, function, height);
    return function;
}

/* -- Calls ----------------------------------------------------------------- */

static void set_arg(tgi_llvm_kernel *k, const tgi_llvm_micro_kernel_args *args,
                    unsigned number, LLVMValueRef value)
{
    if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind)
        value = LLVMBuildPtrToInt(k->b, value, k->program->i64, "");
    LLVMBuildStore(k->b, value, arg_address(k, args->array, number));
}

/* The stride of an operand along an axis, in bytes. */
static LLVMValueRef stride_bytes(tgi_llvm_kernel *k, uint8_t operand, int axis)
{
    const tgi_access *access = tgi_llvm_operand_access(k, operand);
    return tgi_llvm_mul(
        k->program, tgi_llvm_stride(k, access->stride[axis]),
        tgi_llvm_const_i64(k->program, matmul_element_bytes(k)));
}

/* Bytes between the panels of a row of B, which is contiguous unless the matrix
   is packed; `is_packed`: a k-block is packed on the stack, in such rows. */
static LLVMValueRef b_panel_stride(tgi_llvm_kernel *k, bool is_packed)
{
    const bool in_panels =
        !is_packed && tgi_llvm_operand_access(k, TGI_OPERAND_B)->panel_width;
    return in_panels
               ? stride_bytes(k, TGI_OPERAND_B, k->schedule->vector_axis)
               : tgi_llvm_const_i64(k->program, TGI_PANEL_ROW_BYTES);
}

void tgi_llvm_micro_kernel_args_init(tgi_llvm_kernel *k,
                                     tgi_llvm_micro_kernel_args *args,
                                     bool is_packed)
{
    LLVMValueRef none = tgi_llvm_const_i64(k->program, -1);
    args->array = tgi_llvm_stack_array(k, k->program->i64, N_ARGS);
    LLVMBasicBlockRef block = tgi_llvm_position_at_entry(k);
    set_arg(k, args, A_ROW_STRIDE,
            stride_bytes(k, TGI_OPERAND_A, k->schedule->matmul.row_axis));
    const int64_t run = k->schedule->matmul.a_run;
    set_arg(k, args, A_K_STRIDE,
            a_offset_table(k) >= 0
                ? tgi_llvm_const_i64(k->program, (run ? run : 1) *
                                                     (int64_t)sizeof(int64_t))
                : stride_bytes(k, TGI_OPERAND_A, k->schedule->inner));
    set_arg(k, args, B_K_STRIDE,
            is_packed ? vector_bytes(k)
                      : stride_bytes(k, TGI_OPERAND_B, k->schedule->inner));
    if (count_panels(k) > 1)
        set_arg(k, args, B_PANEL_STRIDE, b_panel_stride(k, is_packed));
    set_arg(k, args, B_LAST, none);
    set_arg(k, args, B_LAST_K, none);
    tgi_llvm_position_restore(k, block);
    args->last_row = (tgi_llvm_packed_panel){0};
    if (!k->mask || is_packed ||
        tgi_llvm_operand_access(k, TGI_OPERAND_B)->panel_width)
        return;
    LLVMValueRef end = tgi_llvm_dim(k, k->loops->extent[k->schedule->inner]);
    args->last_row.memory = tgi_llvm_stack_array(
        k, tgi_llvm_element_type(k->e, tgi_llvm_matmul_dtype(k)), k->e->lanes);
    tgi_llvm_panel_pack(
        k, &args->last_row,
        LLVMBuildSub(k->b, end, tgi_llvm_const_i64(k->program, 1), ""), end);
    set_arg(k, args, B_LAST, args->last_row.memory);
}

void tgi_llvm_micro_kernel_args_set(tgi_llvm_kernel *k,
                                    const tgi_llvm_micro_kernel_args *args)
{
    k->index[k->schedule->matmul.row_axis] = args->row;
    k->index[k->schedule->inner] = args->from;
    set_arg(k, args, A_START,
            tgi_llvm_address_from_indices(
                k, tgi_llvm_operand_access(k, TGI_OPERAND_A)));
    set_arg(k, args, B_START,
            args->b_panel->memory
                ? args->b_panel->memory
                : tgi_llvm_address_from_indices(
                      k, tgi_llvm_operand_access(k, TGI_OPERAND_B)));
    k->index[k->schedule->inner] = NULL;
    if (a_offset_table(k) >= 0)
        set_arg(k, args, A_OFFSETS,
                tgi_llvm_offset_address(k, (uint32_t)a_offset_table(k),
                                        args->from));
    set_arg(k, args, N_STEPS, LLVMBuildSub(k->b, args->to, args->from, ""));
    if (args->last_row.memory)
        set_arg(k, args, B_LAST_K,
                LLVMBuildSub(k->b,
                             tgi_llvm_add(k->program, args->last_row.first_k,
                                          tgi_llvm_const_i64(k->program, -1)),
                             args->from, ""));
    set_arg(k, args, C_IN, args->c_in);
    set_arg(
        k, args, C_IN_STRIDE,
        tgi_llvm_mul(k->program, args->c_in_stride,
                     tgi_llvm_const_i64(k->program, matmul_element_bytes(k))));
    set_arg(k, args, C_OUT, args->c_out);
    set_arg(k, args, C_OUT_STRIDE,
            tgi_llvm_const_i64(k->program,
                               args->c_width * matmul_element_bytes(k)));
}

void tgi_llvm_micro_kernel_call(tgi_llvm_kernel *k,
                                const tgi_llvm_micro_kernel_args *args,
                                unsigned height, LLVMValueRef n)
{
    LLVMValueRef array = args->array;
    tgi_llvm_branch any;
    tgi_llvm_branch_begin(k, &any,
                          LLVMBuildICmp(k->b, LLVMIntSGT, n,
                                        tgi_llvm_const_i64(k->program, 0), ""));
    set_arg(k, args, COUNT, n);
    LLVMValueRef function = find_or_define(k, height);
    tgi_llvm_debug_call(k, function);
    LLVMBuildCall2(k->b, function_type(k->program), function, &array, 1, "");
    tgi_llvm_branch_end(k, &any);
}

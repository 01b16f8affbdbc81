/* SPDX-License-Identifier: MIT */
/*
 * llvm_micro_kernel.c - a tile of a matrix product: a few rows and one vector
 * of columns, whose sums are in registers. What is loaded of a side serves all
 * of the other. Columns that lie far apart, or across, are copied to the stack
 * first, a panel at a time.
 */
#include "llvm/llvm_access.h"
#include "llvm/llvm_analysis.h"
#include "llvm/llvm_emit.h"
#include "llvm/llvm_flow.h"
#include "llvm/llvm_frame.h"
#include "llvm/llvm_inst.h"
#include "llvm/llvm_kernel_state.h"
#include "llvm/llvm_matmul.h"
#include "llvm/llvm_non_temporal.h"
#include "llvm/llvm_program.h"
#include "llvm/llvm_reduce.h"
#include "llvm/llvm_register_transpose.h"

enum {
    LINE = 64,              /* bytes */
    MOST_UNROLLED = 16,     /* steps of a panel without a loop */
    SMALL_BYTES = 64 << 10, /* of a matrix that is asked for as a whole … */
    LEAST_STEPS = 1 << 14   /* … by a product of so many steps at least */
};

/* -- Sums ------------------------------------------------------------------ */

/* The address of a side's load at a row, but for what moves in loops. */
static LLVMValueRef head_of(tgi_llvm_kernel *k, uint8_t side)
{
    LLVMValueRef column = k->index[k->analysis.vector_axis];
    k->index[k->analysis.vector_axis] = k->index[k->analysis.inner] = NULL;
    LLVMValueRef head = tgi_llvm_address_from_indices(
        k, tgi_llvm_operand_access(&k->analysis, side));
    k->index[k->analysis.vector_axis] = column;
    return head;
}

/* Emits a side where k->index is. */
static void emit_side(tgi_llvm_kernel *k, uint8_t side)
{
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        if ((k->analysis.insts[i].operands & side) &&
            k->analysis.insts[i].level != TGI_LEVEL_KERNEL)
            tgi_llvm_inst_emit(k, i);
}

static LLVMTypeRef row_type(const tgi_llvm_kernel *k)
{
    return tgi_llvm_type(k->e, tgi_llvm_matmul_reduction(&k->analysis)->dtype);
}

/* A tile while it is computed. */
typedef struct rows {
    unsigned n;
    LLVMValueRef heads[TGI_LLVM_MAX_MR]; /* of the row side */
    tgi_llvm_micro_kernel *tile;
} rows;

/* Sets the address of a side's load. */
static void set_head(tgi_llvm_kernel *k, uint8_t side, LLVMValueRef head)
{
    k->matmul.row_starts[tgi_llvm_operand_access(&k->analysis, side) -
                         k->loops->accesses.data] = head;
}

static void begin_tile(tgi_llvm_kernel *k, rows *t, LLVMValueRef row)
{
    for (unsigned r = 0; r < t->n; r++) {
        tgi_llvm_accumulator state;
        tgi_llvm_reduce_start(k, 0, false, &state);
        t->tile->sums[r] = state.part[0];
        k->index[k->analysis.matmul.row_axis] =
            tgi_llvm_add(k->program, row, tgi_llvm_const_i64(k->program, r));
        t->heads[r] = head_of(k, TGI_LLVM_OPERAND_A);
    }
    set_head(k, TGI_LLVM_OPERAND_B, head_of(k, TGI_LLVM_OPERAND_B));
}

static LLVMValueRef panel_row(tgi_llvm_kernel *k,
                              const tgi_llvm_packed_panel *p, LLVMValueRef at)
{
    LLVMValueRef row = LLVMBuildSub(k->b, at, p->first, "");
    return LLVMBuildGEP2(k->b, row_type(k), p->memory, &row, 1, "");
}

static void emit_columns(tgi_llvm_kernel *k, const tgi_llvm_packed_panel *p,
                         LLVMValueRef at)
{
    if (!p->memory) {
        emit_side(k, TGI_LLVM_OPERAND_B);
        return;
    }
    LLVMValueRef row =
        LLVMBuildLoad2(k->b, row_type(k), panel_row(k, p, at), "");
    LLVMSetAlignment(row, 4);
    k->values[tgi_llvm_operand_b_inst(&k->analysis)].value = row;
}

/* One step of k: the column side once, and the row side for every row. */
static void take_step(tgi_llvm_kernel *k, rows *t, LLVMValueRef at)
{
    k->index[k->analysis.inner] = at;
    emit_columns(k, t->tile->columns, at);
    for (unsigned r = 0; r < t->n; r++) {
        tgi_llvm_accumulator state = {{t->tile->sums[r]}};
        set_head(k, TGI_LLVM_OPERAND_A, t->heads[r]);
        emit_side(k, TGI_LLVM_OPERAND_A);
        tgi_llvm_reduce_step(k, 0, false, &state);
        t->tile->sums[r] = state.part[0];
    }
    k->index[k->analysis.inner] = NULL;
}

void tgi_llvm_micro_kernel_emit(tgi_llvm_kernel *k, tgi_llvm_micro_kernel *tile,
                                LLVMValueRef row, unsigned height,
                                LLVMValueRef from, LLVMValueRef to)
{
    rows t = {.n = height, .tile = tile};
    int64_t first, last;
    begin_tile(k, &t, row);
    k->row_starts = k->matmul.row_starts;
    if (tgi_llvm_is_const_i64(from, &first) &&
        tgi_llvm_is_const_i64(to, &last) && last - first <= MOST_UNROLLED) {
        for (; first < last; first++)
            take_step(k, &t, tgi_llvm_const_i64(k->program, first));
    } else {
        tgi_llvm_loop loop;
        tgi_llvm_loop_begin(k, &loop, from, to, 1, tile->sums, height);
        for (unsigned r = 0; r < height; r++)
            tile->sums[r] = loop.carried[r];
        take_step(k, &t, loop.index);
        tgi_llvm_loop_end(k, &loop, tile->sums);
        for (unsigned r = 0; r < height; r++)
            tile->sums[r] = loop.carried[r];
    }
    k->row_starts = NULL;
}

/* -- Copies ---------------------------------------------------------------- */

/* Columns that lie along memory, into rows of the panel. */
static void turn_columns(tgi_llvm_kernel *k, const tgi_llvm_packed_panel *panel,
                         LLVMValueRef from, LLVMValueRef to)
{
    LLVMValueRef n = tgi_llvm_const_i64(k->program, k->e->lanes);
    if (k->mask) {
        LLVMValueRef left = LLVMBuildSub(
            k->b, tgi_llvm_dim(k, k->loops->extent[k->analysis.vector_axis]),
            k->index[k->analysis.vector_axis], "");
        n = tgi_llvm_min(k->program, n, left);
    }
    k->index[k->analysis.inner] = from;
    tgi_llvm_transpose_columns(
        k, tgi_llvm_operand_access(&k->analysis, TGI_LLVM_OPERAND_B),
        panel->memory, k->e->lanes, n, LLVMBuildSub(k->b, to, from, ""));
    k->index[k->analysis.inner] = NULL;
}

void tgi_llvm_panel_pack(tgi_llvm_kernel *k, tgi_llvm_packed_panel *panel,
                         LLVMValueRef from, LLVMValueRef to)
{
    tgi_llvm_loop loop;
    panel->first = from;
    if (k->analysis.matmul.transposes_b) {
        turn_columns(k, panel, from, to);
        return;
    }
    set_head(k, TGI_LLVM_OPERAND_B, head_of(k, TGI_LLVM_OPERAND_B));
    k->row_starts = k->matmul.row_starts;
    tgi_llvm_loop_begin(k, &loop, from, to, 1, NULL, 0);
    k->index[k->analysis.inner] = loop.index;
    emit_side(k, TGI_LLVM_OPERAND_B);
    LLVMSetAlignment(
        LLVMBuildStore(
            k->b, tgi_llvm_value_of(k, tgi_llvm_operand_b_inst(&k->analysis)),
            panel_row(k, panel, loop.index)),
        4);
    tgi_llvm_loop_end(k, &loop, NULL);
    k->index[k->analysis.inner] = NULL;
    k->row_starts = NULL;
}

/* -- Asking ahead ---------------------------------------------------------- */

int64_t tgi_llvm_matmul_prefetch_bytes(const tgi_llvm_analysis *a, uint8_t side)
{
    const int axis = a->matmul.row_axis;
    const tgi_dim m = a->loops->extent[axis];
    const tgi_dim n = a->loops->extent[a->vector_axis];
    const tgi_dim inner = a->loops->extent[a->inner];
    const tgi_access *access = tgi_llvm_operand_access(a, side);
    if (axis == 0 || a->is_split || access->panel_width ||
        !tgi_dim_is_known(m) || !tgi_dim_is_known(n) ||
        !tgi_dim_is_known(inner) || m > SMALL_BYTES || n > SMALL_BYTES ||
        inner > SMALL_BYTES || m * n * inner < LEAST_STEPS)
        return 0;
    const tgi_dim kept = side == TGI_LLVM_OPERAND_A ? m : n;
    const int64_t bytes =
        kept * inner * tgi_dtype_bytes(tgi_llvm_matmul_reduction(a)->dtype);
    const tgi_stride stride = access->stride[axis - 1];
    return bytes <= SMALL_BYTES && !stride.is_negative &&
                   stride.distance == kept * inner
               ? bytes
               : 0;
}

/* Each tile of a product asks for its part of the next matrix: what is read
   of a small one is too little for the CPU to find out where it goes on. */
static void ask_for_matrix(tgi_llvm_kernel *k, uint8_t side, LLVMValueRef row)
{
    const tgi_llvm_program *program = k->program;
    const int64_t bytes = tgi_llvm_matmul_prefetch_bytes(&k->analysis, side);
    if (!bytes)
        return;
    const int64_t lanes = k->analysis.phases[0].lanes,
                  height = k->analysis.matmul.mr;
    const int64_t m = k->loops->extent[k->analysis.matmul.row_axis];
    const int64_t n = k->loops->extent[k->analysis.vector_axis];
    const int64_t tiles = (m + height - 1) / height;
    const int64_t chunks = (n + lanes - 1) / lanes;
    const int64_t lines = (bytes + LINE - 1) / LINE;
    const int64_t share = (lines + tiles * chunks - 1) / (tiles * chunks);
    LLVMValueRef column = k->index[k->analysis.vector_axis];
    LLVMValueRef part = tgi_llvm_add(
        program,
        tgi_llvm_mul(
            program,
            LLVMBuildUDiv(k->b, column, tgi_llvm_const_i64(program, lanes), ""),
            tgi_llvm_const_i64(program, tiles)),
        LLVMBuildUDiv(k->b, row, tgi_llvm_const_i64(program, height), ""));
    k->index[k->analysis.matmul.row_axis] = tgi_llvm_const_i64(program, 0);
    LLVMValueRef matrix = head_of(k, side);
    LLVMValueRef from = tgi_llvm_add(
        program, tgi_llvm_const_i64(program, bytes),
        tgi_llvm_mul(program, part, tgi_llvm_const_i64(program, share * LINE)));
    tgi_llvm_prefetch(k,
                      LLVMBuildGEP2(k->b, LLVMInt8TypeInContext(k->e->context),
                                    matrix, &from, 1, ""),
                      share * LINE, false);
}

/* Asks for the lines that the results of a tile go to, while it is computed:
   stores end in order, each would wait for its line. */
static void ask_for_results(tgi_llvm_kernel *k, LLVMValueRef row,
                            unsigned height)
{
    const tgi_dim inner = k->loops->extent[k->analysis.inner];
    if (tgi_dim_is_known(inner) && inner < MOST_UNROLLED)
        return;
    k->index[k->analysis.inner] = NULL;
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        const tgi_access *access =
            &k->loops->accesses.data[k->loops->stores.data[i].access];
        if (k->loops->stores.data[i].epilogue_op)
            continue;
        for (unsigned r = 0; r < height; r++) {
            k->index[k->analysis.matmul.row_axis] = tgi_llvm_add(
                k->program, row, tgi_llvm_const_i64(k->program, r));
            tgi_llvm_prefetch(k, tgi_llvm_address_from_indices(k, access), 1,
                              true);
        }
    }
}

void tgi_llvm_micro_kernel_prefetch(tgi_llvm_kernel *k, LLVMValueRef row,
                                    unsigned height)
{
    ask_for_results(k, row, height);
    ask_for_matrix(k, TGI_LLVM_OPERAND_A, row);
    ask_for_matrix(k, TGI_LLVM_OPERAND_B, row);
}

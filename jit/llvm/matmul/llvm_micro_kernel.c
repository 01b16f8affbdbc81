/* SPDX-License-Identifier: MIT */
/*
 * llvm_micro_kernel.c - the micro-kernel: at most mr rows of A x one vector of
 * columns of B, the accumulators in registers. Each load of B serves all rows,
 * each load of A all columns. Columns of B that are far apart, or contiguous in
 * memory, are packed on the stack, a k-block at a time.
 */
#include "llvm/emit/llvm_access.h"
#include "schedule/schedule.h"
#include "llvm/emit/llvm_cache_hints.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/emit/llvm_register_transpose.h"
#include "llvm/matmul/llvm_matmul.h"
#include "llvm/reduce/llvm_reduce.h"

enum { LINE = 64 }; /* bytes of a cache line */

static bool is_k_unrolled(const tgi_llvm_kernel *k)
{
    return tgi_nest_find(&k->schedule->phases[0].nest, TGI_LOOP_UNROLL,
                         k->schedule->inner);
}

/* -- Accumulators ---------------------------------------------------------- */

/* The address of an operand at k->index, but at column 0 and k = 0. */
static LLVMValueRef operand_start(tgi_llvm_kernel *k, uint8_t operand)
{
    LLVMValueRef column = k->index[k->schedule->vector_axis];
    k->index[k->schedule->vector_axis] = k->index[k->schedule->inner] = NULL;
    LLVMValueRef start =
        tgi_llvm_address_from_indices(k, tgi_llvm_operand_access(k, operand));
    k->index[k->schedule->vector_axis] = column;
    return start;
}

/* Emits the insts of an operand at k->index: its OFFSET, or all others. */
static void emit_operand_insts(tgi_llvm_kernel *k, uint8_t operand,
                               bool is_offset)
{
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        if ((k->schedule->insts[i].operands & operand) &&
            k->schedule->insts[i].level != TGI_LEVEL_KERNEL &&
            (k->loops->insts.data[i].kind == TGI_INST_OFFSET) == is_offset)
            tgi_llvm_inst_emit(k, i);
}

static void emit_operand(tgi_llvm_kernel *k, uint8_t operand)
{
    emit_operand_insts(k, operand, false);
}

static LLVMTypeRef vector_type(const tgi_llvm_kernel *k)
{
    return tgi_llvm_type(k->e,
                         tgi_schedule_matmul_reduction(k->schedule)->dtype);
}

/* A micro-kernel, while it is emitted. */
typedef struct tile_state {
    unsigned n_rows;
    LLVMValueRef a_starts[TGI_LLVM_MAX_MR]; /* by row: address at k = 0 */
    tgi_llvm_micro_kernel *tile;
} tile_state;

/* Sets the start that the operand's load uses. */
static void set_operand_start(tgi_llvm_kernel *k, uint8_t operand,
                              LLVMValueRef start)
{
    k->matmul.row_starts[tgi_llvm_operand_access(k, operand) -
                         k->loops->accesses.data] = start;
}

static void begin_micro_kernel(tgi_llvm_kernel *k, tile_state *t,
                               LLVMValueRef row)
{
    for (unsigned r = 0; r < t->n_rows; r++) {
        tgi_llvm_accumulator state;
        tgi_llvm_reduce_start(k, 0, false, &state);
        t->tile->acc[r] = state.part[0];
        k->index[k->schedule->matmul.row_axis] =
            tgi_llvm_add(k->program, row, tgi_llvm_const_i64(k->program, r));
        t->a_starts[r] = operand_start(k, TGI_OPERAND_A);
    }
    set_operand_start(k, TGI_OPERAND_B, operand_start(k, TGI_OPERAND_B));
}

static LLVMValueRef panel_row_address(tgi_llvm_kernel *k,
                                      const tgi_llvm_packed_panel *p,
                                      LLVMValueRef at)
{
    LLVMValueRef row = LLVMBuildSub(k->b, at, p->first_k, "");
    return LLVMBuildGEP2(k->b, vector_type(k), p->memory, &row, 1, "");
}

static void emit_b_row(tgi_llvm_kernel *k, const tgi_llvm_packed_panel *p,
                       LLVMValueRef at)
{
    if (!p->memory) {
        emit_operand_insts(k, TGI_OPERAND_B, true);
        emit_operand(k, TGI_OPERAND_B);
        return;
    }
    LLVMValueRef row =
        LLVMBuildLoad2(k->b, vector_type(k), panel_row_address(k, p, at), "");
    LLVMSetAlignment(row, 4);
    k->values[tgi_schedule_operand_b(k->schedule)].value = row;
}

/* One step of k: loads a row of B, and for every row an element of A. */
static void emit_k_step(tgi_llvm_kernel *k, tile_state *t, LLVMValueRef at)
{
    k->index[k->schedule->inner] = at;
    emit_b_row(k, t->tile->b_panel, at);
    emit_operand_insts(k, TGI_OPERAND_A, true);
    for (unsigned r = 0; r < t->n_rows; r++) {
        tgi_llvm_accumulator state = {{t->tile->acc[r]}};
        set_operand_start(k, TGI_OPERAND_A, t->a_starts[r]);
        emit_operand(k, TGI_OPERAND_A);
        tgi_llvm_reduce_step(k, 0, false, &state);
        t->tile->acc[r] = state.part[0];
    }
    k->index[k->schedule->inner] = NULL;
}

/* -- Steps with prefetches ------------------------------------------------- */

/* Steps of k that are emitted one after the other with their prefetches: a
   power of two, so that the lines of each group are at a multiple of its first
   k. A group has at least one line of the longer of the two shares; the lines
   per group and operand are *out_lines. */
static int64_t group_steps(const tgi_llvm_micro_kernel *tile, int64_t n_steps,
                           int64_t *out_lines)
{
    enum { MAX_STEPS = 4 };
    const int64_t a = tile->next[0].n, b = tile->next[1].n;
    const int64_t lines = a > b ? a : b;
    int64_t steps = MAX_STEPS;
    while (steps > 1 && steps * lines > n_steps)
        steps /= 2;
    *out_lines = (lines * steps + n_steps - 1) / n_steps;
    return steps;
}

/* Prefetches `lines` lines of each share, those after `skipped` lines. A group
   beyond the shorter share prefetches lines of the next micro-kernel. */
static void emit_group_prefetch(tgi_llvm_kernel *k,
                                const tgi_llvm_micro_kernel *tile,
                                LLVMValueRef offset, int64_t lines)
{
    LLVMTypeRef byte = LLVMInt8TypeInContext(k->e->context);
    for (int i = 0; i < 2; i++)
        if (tile->next[i].n)
            tgi_llvm_prefetch(k,
                              LLVMBuildGEP2(k->b, byte, tile->next[i].start,
                                            &offset, 1, ""),
                              lines * LINE, false);
}

static bool prefetches(const tgi_llvm_micro_kernel *tile)
{
    return tile->next[0].n || tile->next[1].n;
}

/* Emits the steps from `first` to last - 1 one after the other. */
static void emit_unrolled_steps(tgi_llvm_kernel *k, tile_state *t,
                                int64_t first, int64_t last)
{
    int64_t lines = 0, steps = 1;
    if (prefetches(t->tile))
        steps = group_steps(t->tile, last - first, &lines);
    for (int64_t i = 0; i < last - first; i++) {
        if (i % steps == 0)
            emit_group_prefetch(
                k, t->tile,
                tgi_llvm_const_i64(k->program, i / steps * lines * LINE),
                lines);
        emit_k_step(k, t, tgi_llvm_const_i64(k->program, first + i));
    }
}

/* Emits the steps from `first` to last - 1 in groups, each of which prefetches
   its part of the next operands: a burst before the first step would fill the
   line fill buffers, and the loads behind it would wait. */
static void emit_prefetching_steps(tgi_llvm_kernel *k, tile_state *t,
                                   int64_t first, int64_t last)
{
    int64_t lines;
    const tgi_llvm_program *program = k->program;
    tgi_llvm_micro_kernel *tile = t->tile;
    const int64_t steps = group_steps(tile, last - first, &lines);
    const int64_t end = first + (last - first) / steps * steps;
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, tgi_llvm_const_i64(program, first),
                        tgi_llvm_const_i64(program, end), steps, tile->acc,
                        t->n_rows);
    for (unsigned r = 0; r < t->n_rows; r++)
        tile->acc[r] = loop.carried[r];
    LLVMValueRef done = tgi_llvm_add(program, loop.index,
                                     tgi_llvm_const_i64(program, -first));
    emit_group_prefetch(
        k, tile,
        tgi_llvm_mul(program, done,
                     tgi_llvm_const_i64(program, lines * (LINE / steps))),
        lines);
    for (int64_t i = 0; i < steps; i++)
        emit_k_step(k, t,
                    tgi_llvm_add(program, loop.index,
                                 tgi_llvm_const_i64(program, i)));
    tgi_llvm_loop_end(k, &loop, tile->acc);
    for (unsigned r = 0; r < t->n_rows; r++)
        tile->acc[r] = loop.carried[r];
    for (int64_t i = end; i < last; i++)
        emit_k_step(k, t, tgi_llvm_const_i64(program, i));
}

void tgi_llvm_micro_kernel_emit(tgi_llvm_kernel *k, tgi_llvm_micro_kernel *tile,
                                LLVMValueRef row, unsigned height,
                                LLVMValueRef from, LLVMValueRef to)
{
    tile_state t = {.n_rows = height, .tile = tile};
    int64_t first, last;
    begin_micro_kernel(k, &t, row);
    k->row_starts = k->matmul.row_starts;
    const bool is_known = tgi_llvm_is_const_i64(from, &first) &&
                          tgi_llvm_is_const_i64(to, &last);
    if (is_k_unrolled(k) && is_known) {
        emit_unrolled_steps(k, &t, first, last);
    } else if (is_known && prefetches(tile)) {
        emit_prefetching_steps(k, &t, first, last);
    } else {
        tgi_llvm_loop loop;
        tgi_llvm_loop_begin(k, &loop, from, to, 1, tile->acc, height);
        for (unsigned r = 0; r < height; r++)
            tile->acc[r] = loop.carried[r];
        emit_k_step(k, &t, loop.index);
        tgi_llvm_loop_end(k, &loop, tile->acc);
        for (unsigned r = 0; r < height; r++)
            tile->acc[r] = loop.carried[r];
    }
    k->row_starts = NULL;
}

/* -- Packing --------------------------------------------------------------- */

/* Packs columns that are contiguous in memory. */
static void pack_transposed(tgi_llvm_kernel *k,
                            const tgi_llvm_packed_panel *panel,
                            LLVMValueRef from, LLVMValueRef to)
{
    LLVMValueRef n = tgi_llvm_const_i64(k->program, k->e->lanes);
    if (k->mask) {
        LLVMValueRef left = LLVMBuildSub(
            k->b, tgi_llvm_dim(k, k->loops->extent[k->schedule->vector_axis]),
            k->index[k->schedule->vector_axis], "");
        n = tgi_llvm_min(k->program, n, left);
    }
    k->index[k->schedule->inner] = from;
    tgi_llvm_transpose_columns(k, tgi_llvm_operand_access(k, TGI_OPERAND_B),
                               panel->memory, k->e->lanes, n,
                               LLVMBuildSub(k->b, to, from, ""));
    k->index[k->schedule->inner] = NULL;
}

void tgi_llvm_panel_pack(tgi_llvm_kernel *k, tgi_llvm_packed_panel *panel,
                         LLVMValueRef from, LLVMValueRef to)
{
    tgi_llvm_loop loop;
    panel->first_k = from;
    if (k->schedule->matmul.transposes_b) {
        pack_transposed(k, panel, from, to);
        return;
    }
    set_operand_start(k, TGI_OPERAND_B, operand_start(k, TGI_OPERAND_B));
    k->row_starts = k->matmul.row_starts;
    tgi_llvm_loop_begin(k, &loop, from, to, 1, NULL, 0);
    k->index[k->schedule->inner] = loop.index;
    emit_operand(k, TGI_OPERAND_B);
    LLVMSetAlignment(
        LLVMBuildStore(
            k->b, tgi_llvm_value_of(k, tgi_schedule_operand_b(k->schedule)),
            panel_row_address(k, panel, loop.index)),
        4);
    tgi_llvm_loop_end(k, &loop, NULL);
    k->index[k->schedule->inner] = NULL;
    k->row_starts = NULL;
}

/* -- Prefetch -------------------------------------------------------------- */

/* Each micro-kernel prefetches its share of the next matrix of a batch: a small
   matrix ends before the hardware prefetcher has detected the stream. */
static void share_next_operand(tgi_llvm_kernel *k, tgi_llvm_micro_kernel *tile,
                               uint8_t operand, LLVMValueRef row)
{
    const tgi_llvm_program *program = k->program;
    const bool is_a = operand == TGI_OPERAND_A;
    const int64_t bytes = is_a ? k->schedule->matmul.prefetched_a_bytes
                               : k->schedule->matmul.prefetched_b_bytes;
    if (!bytes)
        return;
    const int64_t lanes = tgi_phase_lanes(&k->schedule->phases[0]),
                  height = k->schedule->matmul.mr;
    const int64_t m = k->loops->extent[k->schedule->matmul.row_axis];
    const int64_t n = k->loops->extent[k->schedule->vector_axis];
    const int64_t tiles = (m + height - 1) / height;
    const int64_t chunks = (n + lanes - 1) / lanes;
    const int64_t lines = (bytes + LINE - 1) / LINE;
    const int64_t share = (lines + tiles * chunks - 1) / (tiles * chunks);
    LLVMValueRef column = k->index[k->schedule->vector_axis];
    LLVMValueRef part = tgi_llvm_add(
        program,
        tgi_llvm_mul(
            program,
            LLVMBuildUDiv(k->b, column, tgi_llvm_const_i64(program, lanes), ""),
            tgi_llvm_const_i64(program, tiles)),
        LLVMBuildUDiv(k->b, row, tgi_llvm_const_i64(program, height), ""));
    k->index[k->schedule->matmul.row_axis] = tgi_llvm_const_i64(program, 0);
    LLVMValueRef matrix = operand_start(k, operand);
    LLVMValueRef from = tgi_llvm_add(
        program, tgi_llvm_const_i64(program, bytes),
        tgi_llvm_mul(program, part, tgi_llvm_const_i64(program, share * LINE)));
    tile->next[is_a ? 0 : 1] = (tgi_llvm_prefetched_lines){
        .start = LLVMBuildGEP2(k->b, LLVMInt8TypeInContext(k->e->context),
                               matrix, &from, 1, ""),
        .n = share};
}

/* Prefetches the lines of the results before the micro-kernel: stores retire in
   order, and each would wait for its line. */
static void prefetch_results(tgi_llvm_kernel *k, LLVMValueRef row,
                             unsigned height)
{
    if (is_k_unrolled(k))
        return;
    k->index[k->schedule->inner] = NULL;
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        const tgi_loop_store *store = &k->loops->stores.data[i];
        const tgi_access *access = &k->loops->accesses.data[store->access];
        if (store->epilogue_op)
            continue;
        const int64_t bytes =
            k->e->lanes *
            (int64_t)tgi_dtype_bytes(tgi_kernel_dtype(k->loops, store->value));
        for (unsigned r = 0; r < height; r++) {
            k->index[k->schedule->matmul.row_axis] = tgi_llvm_add(
                k->program, row, tgi_llvm_const_i64(k->program, r));
            tgi_llvm_prefetch(k, tgi_llvm_address_from_indices(k, access),
                              bytes, true);
        }
    }
}

void tgi_llvm_micro_kernel_prefetch(tgi_llvm_kernel *k,
                                    tgi_llvm_micro_kernel *tile,
                                    LLVMValueRef row, unsigned height)
{
    prefetch_results(k, row, height);
    share_next_operand(k, tile, TGI_OPERAND_A, row);
    share_next_operand(k, tile, TGI_OPERAND_B, row);
}

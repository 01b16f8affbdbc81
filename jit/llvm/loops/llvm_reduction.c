/* SPDX-License-Identifier: MIT */
/*
 * llvm_reduction.c - reductions along the inner axis: the loops of a nest, with
 * accumulators in the storage that the schedule says. A nest is, after a loop
 * over blocks if there are several, one of
 *
 *     serial(i) unroll(i) vector(i)   rows, accumulators in registers
 *     vector(i)                       rows, accumulators on the stack; or exact
 *                                     reductions, in registers
 *     serial(i:1), unroll(i:1)        columns, whose vector the caller chooses
 *     serial(i) vector(o) unroll(i)   wide columns, on the stack
 *
 * All are a loop over *steps* of one or more unrolled vectors, then the rest,
 * which is less than a step. Blocks are combined pairwise; the k-blocks of a
 * matmul in ascending order.
 */
#include "llvm/loops/llvm_reduction.h"
#include "llvm/emit/llvm_access.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_poll.h"
#include "llvm/loops/llvm_phases.h"
#include "llvm/loops/llvm_vector_loop.h"
#include "llvm/reduce/llvm_accumulators.h"
#include "llvm/reduce/llvm_pairwise.h"

typedef struct reduction {
    tgi_llvm_kernel *k;
    unsigned phase;
    const tgi_phase_schedule *p;
    int64_t block_size;
    LLVMValueRef first_column, end_column; /* wide columns; or NULL */
    tgi_llvm_accumulators acc;             /* of the current block */
} reduction;

static reduction make_reduction(tgi_llvm_kernel *k, unsigned phase)
{
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    const tg_dtype dtype = k->loops->reductions.data[p->reductions[0]].dtype;
    return (reduction){.k = k,
                       .phase = phase,
                       .p = p,
                       .block_size = k->loops->vectors == TGI_ROWS
                                         ? TGI_BLOCK_STEPS *
                                               (int64_t)tgi_tree_lanes(dtype)
                                         : TGI_BLOCK_ROWS};
}

static bool has_blocks(const reduction *r)
{
    return tgi_nest_has_blocks(&r->p->nest, r->k->schedule->inner,
                               r->block_size);
}

/* Elements of a step of a block. */
static int64_t step_size(const reduction *r)
{
    const tgi_nest_loop *loop = r->p->nest.loops;
    while (loop->axis != r->k->schedule->inner || loop->step == r->block_size)
        loop++;
    return loop->step;
}

/* -- Columns on the stack -------------------------------------------------- */

/* Begins a loop over the vectors of wide columns; returns the element of the
   accumulators at which the current one begins. */
static LLVMValueRef begin_columns(const reduction *r, tgi_llvm_loop *loop)
{
    tgi_llvm_kernel *k = r->k;
    tgi_llvm_loop_begin(k, loop, r->first_column, r->end_column, k->e->lanes,
                        NULL, 0);
    k->index[k->schedule->vector_axis] = loop->index;
    return LLVMBuildSub(k->b, loop->index, r->first_column, "");
}

/* Starts accumulators of wide columns. `start`: of a matmul; NULL: the start of
   the reduction. */
static void start_columns(reduction *r, tgi_llvm_accumulators *acc,
                          LLVMValueRef start)
{
    tgi_llvm_loop loop;
    tgi_llvm_acc_init(r->k, acc, r->phase, 1);
    tgi_llvm_acc_allocate(r->k, acc, r->k->schedule->wide_columns);
    tgi_llvm_acc_start(r->k, acc, false);
    if (start)
        acc->values[0] = start;
    LLVMValueRef at = begin_columns(r, &loop);
    tgi_llvm_acc_store(r->k, acc, 0, at);
    tgi_llvm_loop_end(r->k, &loop, NULL);
}

/* -- Steps ----------------------------------------------------------------- */

/* Accumulates n vectors, `distance` apart. */
static void emit_vectors(reduction *r, LLVMValueRef at, unsigned n,
                         int64_t distance)
{
    tgi_llvm_kernel *k = r->k;
    LLVMValueRef firsts[TGI_MAX_PHASE_REDUCTIONS];
    for (unsigned i = 0; i < n; i++) {
        k->index[k->schedule->inner] = tgi_llvm_add(
            k->program, at, tgi_llvm_const_i64(k->program, i * distance));
        tgi_llvm_body_emit(k, r->phase);
        if (!r->p->accumulators.is_reassociated || (i | 1) == n)
            tgi_llvm_acc_step(k, &r->acc, r->acc.n_vectors > 1 ? i : 0);
        else if (i % 2 == 0)
            tgi_llvm_acc_step_first(k, &r->acc, firsts);
        else
            tgi_llvm_acc_step_second(k, &r->acc, firsts);
    }
    k->index[k->schedule->inner] = NULL;
}

/* n rows of wide columns, from `at` on. */
static void emit_wide_rows(reduction *r, LLVMValueRef at, unsigned n)
{
    tgi_llvm_loop loop;
    LLVMValueRef column = begin_columns(r, &loop);
    tgi_llvm_point_insts_emit(r->k, r->phase, false);
    tgi_llvm_acc_load(r->k, &r->acc, 0, column);
    emit_vectors(r, at, n, 1);
    tgi_llvm_acc_store(r->k, &r->acc, 0, column);
    tgi_llvm_loop_end(r->k, &loop, NULL);
}

/* A loop over steps of n vectors: as many as fit into from … to - 1. Returns
   the position after them. */
static LLVMValueRef emit_steps(reduction *r, LLVMValueRef from, LLVMValueRef to,
                               int64_t step, unsigned n)
{
    tgi_llvm_kernel *k = r->k;
    LLVMValueRef end = step > 1 ? tgi_llvm_round_down(k, from, to, step) : to;
    tgi_llvm_loop loop;
    if (tgi_llvm_are_equal_consts(from, end))
        return end;
    if (r->first_column) {
        tgi_llvm_loop_begin(k, &loop, from, end, step, NULL, 0);
        emit_wide_rows(r, loop.index, n);
        tgi_llvm_loop_end(k, &loop, NULL);
    } else {
        tgi_llvm_acc_loop_begin(k, &r->acc, &loop, from, end, step);
        if (!has_blocks(r) && tgi_llvm_has_long_rows(k))
            tgi_llvm_poll_every(k, loop.index, step, TGI_LLVM_POLLED_ELEMENTS);
        emit_vectors(r, loop.index, n, k->e->lanes);
        tgi_llvm_acc_loop_end(k, &r->acc, &loop);
    }
    return end;
}

/* -- The rest of a block --------------------------------------------------- */

/* Exact reductions: the lower lanes of their vector, under a mask. */
static void emit_masked_rest(reduction *r, LLVMValueRef from, LLVMValueRef to)
{
    tgi_llvm_kernel *k = r->k;
    tgi_llvm_loop loop;
    tgi_llvm_acc_halve(k, &r->acc, tgi_nest_vector(&r->p->nest)->tail_lanes);
    if (tgi_llvm_are_equal_consts(from, to))
        return;
    tgi_llvm_acc_loop_begin(k, &r->acc, &loop, from, to, k->e->lanes);
    if (k->e->lanes > 1)
        k->mask = tgi_llvm_tail_mask(k, LLVMBuildSub(k->b, to, loop.index, ""));
    emit_vectors(r, loop.index, 1, 0);
    k->mask = NULL;
    tgi_llvm_acc_loop_end(k, &r->acc, &loop);
}

/*
 * Unrolls the rest of a row of known length, with a mask on the last vector.
 * False if the length is unknown, or the rest can neither be masked nor ends
 * with a full vector.
 */
static bool emit_known_rest(reduction *r, LLVMValueRef from, LLVMValueRef to)
{
    tgi_llvm_kernel *k = r->k;
    const unsigned lanes = k->e->lanes;
    int64_t at, end;
    if (!tgi_llvm_is_const_i64(from, &at) || !tgi_llvm_is_const_i64(to, &end) ||
        !(r->p->can_mask || end % lanes == 0))
        return false;
    for (unsigned i = 0; at < end; i++, at += lanes) {
        k->index[k->schedule->inner] = tgi_llvm_const_i64(k->program, at);
        if (end - at < lanes)
            k->mask =
                tgi_llvm_tail_mask(k, tgi_llvm_const_i64(k->program, end - at));
        tgi_llvm_body_emit(k, r->phase);
        tgi_llvm_acc_step(k, &r->acc, i);
        k->mask = NULL;
    }
    k->index[k->schedule->inner] = NULL;
    return true;
}

/* Blocks begin at multiples of the lanes: lane = position % lanes. */
static void step_on_stack(tgi_llvm_kernel *k, unsigned phase, void *user)
{
    tgi_llvm_accumulators *acc = user;
    tgi_llvm_body_emit(k, phase);
    LLVMValueRef lane = LLVMBuildAnd(
        k->b, k->index[k->schedule->inner],
        tgi_llvm_const_i64(k->program, tgi_phase_tree_lanes(acc->phase) - 1),
        "");
    tgi_llvm_acc_load(k, acc, 0, lane);
    tgi_llvm_acc_step(k, acc, 0);
    tgi_llvm_acc_store(k, acc, 0, lane);
}

/* Elements of a row with the lanes of the tree on the stack, of which a vector
   is loaded and stored at a time. */
static void emit_on_stack(reduction *r, LLVMValueRef from, LLVMValueRef to)
{
    tgi_llvm_kernel *k = r->k;
    const unsigned lanes = tgi_phase_lanes(r->p);
    tgi_llvm_acc_allocate(k, &r->acc, tgi_phase_tree_lanes(r->p));
    for (unsigned i = 0; i < r->acc.n_vectors; i++)
        tgi_llvm_acc_store(k, &r->acc, i,
                           tgi_llvm_const_i64(k->program, i * lanes));
    tgi_llvm_vector_loop_emit(k, r->phase, from, to, step_on_stack, &r->acc);
    for (unsigned i = 0; i < r->acc.n_vectors; i++)
        tgi_llvm_acc_load(k, &r->acc, i,
                          tgi_llvm_const_i64(k->program, i * lanes));
}

/* -- Blocks ---------------------------------------------------------------- */

/* Accumulates a block into accumulators that have been started. */
static void emit_block(reduction *r, LLVMValueRef from, LLVMValueRef to)
{
    const bool is_rows = r->k->loops->vectors == TGI_ROWS;
    int64_t first, end;
    if (is_rows && r->p->accumulators.storage == TGI_ON_STACK) {
        emit_on_stack(r, from, to);
        return;
    }
    if (!is_rows && !r->k->schedule->wide_columns &&
        tgi_nest_find(&r->p->nest, TGI_LOOP_UNROLL, r->k->schedule->inner) &&
        tgi_llvm_is_const_i64(from, &first) &&
        tgi_llvm_is_const_i64(to, &end)) {
        emit_vectors(r, from, (unsigned)(end - first), 1);
        return;
    }
    if (!is_rows && !r->first_column) { /* also the tail of wide columns */
        emit_steps(r, from, to, 1, 1);
        return;
    }
    LLVMValueRef at =
        emit_steps(r, from, to, step_size(r), tgi_nest_unrolled(&r->p->nest));
    if (r->first_column)
        emit_steps(r, at, to, 1, 1);
    else if (r->p->accumulators.is_reassociated)
        emit_masked_rest(r, at, to);
    else if (!tgi_llvm_are_equal_consts(at, to) && !emit_known_rest(r, at, to))
        emit_on_stack(r, at, to);
}

static void finish_block(reduction *r, LLVMValueRef *out)
{
    const bool is_rows = r->k->loops->vectors == TGI_ROWS;
    if (is_rows && !r->p->accumulators.is_reassociated) {
        tgi_llvm_acc_horizontal(r->k, &r->acc, out);
        return;
    }
    if (is_rows)
        tgi_llvm_acc_halve(r->k, &r->acc, 1);
    tgi_llvm_acc_finish(r->k, &r->acc, out);
}

/* `is_later`: not the first block; the accumulators of ARGMAX and ARGMIN, which
   only COLUMNS kernels have, span all blocks. */
static void reduce_block(reduction *r, LLVMValueRef from, LLVMValueRef to,
                         bool is_later, LLVMValueRef *out)
{
    if (r->k->loops->vectors == TGI_ROWS)
        r->k->e->lanes = tgi_phase_lanes(r->p);
    if (!is_later)
        tgi_llvm_acc_init(r->k, &r->acc, r->phase,
                          r->p->accumulators.n_vectors);
    tgi_llvm_acc_start(r->k, &r->acc, is_later);
    emit_block(r, from, to);
    finish_block(r, out);
}

static void reduce_blocks(reduction *r, LLVMValueRef from, LLVMValueRef to,
                          LLVMValueRef *out)
{
    tgi_llvm_kernel *k = r->k;
    const bool carries_args = k->loops->vectors == TGI_COLUMNS;
    LLVMValueRef size = tgi_llvm_const_i64(k->program, r->block_size);
    tgi_llvm_pairwise pairwise;
    tgi_llvm_loop loop;
    if (!carries_args)
        k->e->lanes = 1;
    tgi_llvm_pairwise_begin(k, &pairwise, r->p);
    if (carries_args) {
        tgi_llvm_acc_init(k, &r->acc, r->phase, 1);
        tgi_llvm_acc_start(k, &r->acc, false);
        tgi_llvm_acc_loop_begin(k, &r->acc, &loop, from, to, r->block_size);
    } else {
        tgi_llvm_loop_begin(k, &loop, from, to, r->block_size, NULL, 0);
    }
    LLVMValueRef end = tgi_llvm_add(k->program, loop.index, size);
    tgi_llvm_poll_every(k, loop.index, r->block_size,
                        TGI_LLVM_POLLED_BLOCKS * r->block_size);
    reduce_block(r, loop.index, tgi_llvm_min(k->program, end, to), carries_args,
                 out);
    tgi_llvm_pairwise_push(k, &pairwise, out,
                           LLVMBuildUDiv(k->b, loop.index, size, ""));
    if (carries_args) {
        tgi_llvm_acc_loop_end(k, &r->acc, &loop);
        tgi_llvm_acc_finish(k, &r->acc, out);
    } else {
        tgi_llvm_loop_end(k, &loop, NULL);
    }
    tgi_llvm_pairwise_total(
        k, &pairwise, tgi_llvm_ceil_div(k->program, to, r->block_size), out);
}

/* -- Reductions ------------------------------------------------------------ */

static void reduce_range(reduction *r, LLVMValueRef from, LLVMValueRef to,
                         LLVMValueRef *out)
{
    const uint32_t first = r->p->reductions[0];
    if (r->k->loops->reductions.data[first].combines_blocks)
        tgi_llvm_pairwise_reduce(r->k, r->phase, from, to, out);
    else if (has_blocks(r))
        reduce_blocks(r, from, to, out);
    else
        reduce_block(r, from, to, false, out);
}

void tgi_llvm_reduction_emit(tgi_llvm_kernel *k, unsigned phase,
                             LLVMValueRef from, LLVMValueRef to)
{
    reduction r = make_reduction(k, phase);
    const unsigned lanes = k->loops->vectors == TGI_ROWS ? 1 : k->e->lanes;
    LLVMValueRef results[TGI_MAX_PHASE_REDUCTIONS] = {NULL};
    int64_t first, end;
    const bool is_known =
        tgi_llvm_is_const_i64(from, &first) && tgi_llvm_is_const_i64(to, &end);
    tgi_llvm_branch branch;
    if (!is_known)
        tgi_llvm_branch_begin(k, &branch,
                              LLVMBuildICmp(k->b, LLVMIntSLT, from, to, ""));
    if (!is_known || first < end)
        reduce_range(&r, from, to, results);
    if (!is_known)
        tgi_llvm_branch_end(k, &branch);
    k->e->lanes = lanes;
    for (unsigned i = 0; i < r.p->n_reductions; i++) {
        LLVMValueRef empty = tgi_llvm_reduce_empty(k, r.p->reductions[i]);
        LLVMValueRef result =
            !is_known    ? tgi_llvm_branch_value(k, &branch, results[i], empty)
            : results[i] ? results[i]
                         : empty;
        tgi_llvm_set_reduced(k, r.p->reductions[i], result);
    }
}

/* -- Wide columns ---------------------------------------------------------- */

/* Adds the result of a k-block to the totals. */
static void add_k_block(reduction *r, tgi_llvm_accumulators *totals)
{
    tgi_llvm_kernel *k = r->k;
    tgi_llvm_loop loop;
    LLVMValueRef at = begin_columns(r, &loop);
    tgi_llvm_acc_load(k, &r->acc, 0, at);
    tgi_llvm_acc_load(k, totals, 0, at);
    totals->values[0] =
        tgi_llvm_reduce_combine(k, 0, totals->values[0], r->acc.values[0]);
    tgi_llvm_acc_store(k, totals, 0, at);
    tgi_llvm_loop_end(k, &loop, NULL);
}

/* Emits all phases with the results. */
static void finish_columns(reduction *r, tgi_llvm_accumulators *acc)
{
    tgi_llvm_kernel *k = r->k;
    LLVMValueRef results[TGI_MAX_PHASE_REDUCTIONS];
    tgi_llvm_loop loop;
    tgi_llvm_acc_load(k, acc, 0, begin_columns(r, &loop));
    tgi_llvm_acc_finish(k, acc, results);
    for (unsigned i = 0; i < r->p->n_reductions; i++)
        tgi_llvm_set_reduced(k, r->p->reductions[i], results[i]);
    tgi_llvm_phases_emit(k, NULL, NULL);
    tgi_llvm_loop_end(k, &loop, NULL);
    k->index[k->schedule->vector_axis] = NULL;
}

void tgi_llvm_wide_reduction_emit(tgi_llvm_kernel *k, LLVMValueRef first,
                                  LLVMValueRef end, LLVMValueRef from,
                                  LLVMValueRef to)
{
    reduction r = make_reduction(k, 0);
    r.first_column = first;
    r.end_column = end;
    if (!has_blocks(&r)) {
        start_columns(&r, &r.acc, NULL);
        emit_block(&r, from, to);
        finish_columns(&r, &r.acc);
        return;
    }
    tgi_llvm_accumulators totals;
    tgi_llvm_loop blocks;
    LLVMValueRef size = tgi_llvm_const_i64(k->program, r.block_size);
    start_columns(&r, &totals, tgi_llvm_matmul_start(k, from, to));
    tgi_llvm_loop_begin(k, &blocks, from, to, r.block_size, NULL, 0);
    LLVMValueRef next = tgi_llvm_add(k->program, blocks.index, size);
    tgi_llvm_poll(k);
    start_columns(&r, &r.acc, NULL);
    emit_block(&r, blocks.index, tgi_llvm_min(k->program, next, to));
    add_k_block(&r, &totals);
    tgi_llvm_loop_end(k, &blocks, NULL);
    finish_columns(&r, &totals);
}

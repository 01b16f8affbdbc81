/* SPDX-License-Identifier: MIT */
/*
 * llvm_rows_reduce.c - reductions along the inner axis, in the order of
 * reduce_tree.h: lanes, blocks, pairwise combination of blocks.
 *
 * The lanes of a block fill several vectors. These are accumulated in registers
 * if the body is short and they fit; the tail of a block, and blocks of long
 * bodies, load and store one vector of lanes at a time.
 */
#include "llvm/emit/llvm_access.h"
#include "schedule/schedule.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/reduce/llvm_accumulators.h"
#include "llvm/reduce/llvm_pairwise.h"
#include "llvm/rows/llvm_rows.h"

/* -- Blocks ---------------------------------------------------------------- */

/* Accumulates full sets of lanes; returns the position after them. */
static LLVMValueRef reduce_in_registers(tgi_llvm_kernel *k, unsigned phase,
                                        LLVMValueRef from, LLVMValueRef to,
                                        tgi_llvm_accumulators *acc)
{
    const int64_t step = tgi_phase_tree_lanes(acc->phase);
    LLVMValueRef end = tgi_llvm_round_down(k, from, to, step);
    if (tgi_llvm_are_equal_consts(from, end))
        return end;
    tgi_llvm_loop loop;
    tgi_llvm_acc_loop_begin(k, acc, &loop, from, end, step);
    for (unsigned i = 0; i < acc->n_vectors; i++) {
        k->index[k->schedule->inner] =
            tgi_llvm_add(k->program, loop.index,
                         tgi_llvm_const_i64(k->program, i * k->e->lanes));
        tgi_llvm_body_emit(k, phase);
        tgi_llvm_acc_step(k, acc, i);
    }
    tgi_llvm_acc_loop_end(k, acc, &loop);
    return end;
}

/*
 * Unrolls the tail of a row of known length, with a mask on the last vector.
 * False if the length is unknown, or the tail can neither be masked nor ends
 * with a full vector, or accumulators are on the stack.
 */
static bool reduce_known_tail(tgi_llvm_kernel *k, unsigned phase,
                              LLVMValueRef from, LLVMValueRef to,
                              tgi_llvm_accumulators *acc)
{
    const tgi_phase_schedule *p = acc->phase;
    const unsigned lanes = k->e->lanes;
    int64_t at, end;
    if (!tgi_llvm_is_const_i64(from, &at) || !tgi_llvm_is_const_i64(to, &end) ||
        p->accumulators.storage != TGI_IN_REGISTERS ||
        !(p->can_mask || end % lanes == 0))
        return false;
    for (unsigned i = 0; at < end; i++, at += lanes) {
        k->index[k->schedule->inner] = tgi_llvm_const_i64(k->program, at);
        if (end - at < lanes)
            k->mask =
                tgi_llvm_tail_mask(k, tgi_llvm_const_i64(k->program, end - at));
        tgi_llvm_body_emit(k, phase);
        tgi_llvm_acc_step(k, acc, i);
        k->mask = NULL;
    }
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

/* Moves all vectors to the stack, accumulates there, and moves them back. */
static void reduce_on_stack(tgi_llvm_kernel *k, unsigned phase,
                            LLVMValueRef from, LLVMValueRef to,
                            tgi_llvm_accumulators *acc)
{
    const unsigned lanes = k->e->lanes;
    tgi_llvm_acc_allocate(k, acc, tgi_phase_tree_lanes(acc->phase));
    for (unsigned i = 0; i < acc->n_vectors; i++)
        tgi_llvm_acc_store(k, acc, i,
                           tgi_llvm_const_i64(k->program, i * lanes));
    tgi_llvm_rows_loop(k, phase, from, to, step_on_stack, acc);
    for (unsigned i = 0; i < acc->n_vectors; i++)
        tgi_llvm_acc_load(k, acc, i, tgi_llvm_const_i64(k->program, i * lanes));
}

/* One block; out[i] is the result of reduction i of the phase. */
static void reduce_block(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef from,
                         LLVMValueRef to, LLVMValueRef *out)
{
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    tgi_llvm_accumulators acc;
    k->e->lanes = tgi_phase_lanes(p);
    tgi_llvm_acc_init(k, &acc, phase, p->accumulators.n_vectors);
    tgi_llvm_acc_start(k, &acc, false);
    LLVMValueRef at = from;
    if (p->accumulators.storage == TGI_IN_REGISTERS)
        at = reduce_in_registers(k, phase, from, to, &acc);
    if (!tgi_llvm_are_equal_consts(at, to) &&
        !reduce_known_tail(k, phase, at, to, &acc))
        reduce_on_stack(k, phase, at, to, &acc);
    tgi_llvm_acc_horizontal(k, &acc, out);
    k->index[k->schedule->inner] = NULL;
}

static void reduce_blocks(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef from,
                          LLVMValueRef to, LLVMValueRef *out)
{
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    const int64_t size = TGI_BLOCK_STEPS *
                         (int64_t)tgi_tree_lanes(
                             k->loops->reductions.data[p->reductions[0]].dtype);
    int64_t n;
    if (k->schedule->split_block ||
        (tgi_llvm_is_const_i64(to, &n) && n <= size)) {
        reduce_block(k, phase, from, to, out);
        return;
    }
    tgi_llvm_pairwise pairwise;
    tgi_llvm_loop loop;
    k->e->lanes = 1;
    tgi_llvm_pairwise_begin(k, &pairwise, p);
    tgi_llvm_loop_begin(k, &loop, from, to, size, NULL, 0);
    LLVMValueRef end = tgi_llvm_add(k->program, loop.index,
                                    tgi_llvm_const_i64(k->program, size));
    reduce_block(k, phase, loop.index, tgi_llvm_min(k->program, end, to), out);
    LLVMValueRef number = LLVMBuildLShr(
        k->b, loop.index,
        tgi_llvm_const_i64(k->program, __builtin_ctzll((uint64_t)size)), "");
    tgi_llvm_pairwise_push(k, &pairwise, out, number);
    tgi_llvm_loop_end(k, &loop, NULL);
    tgi_llvm_pairwise_total(k, &pairwise,
                            tgi_llvm_ceil_div(k->program, to, size), out);
}

/* -- Phases ---------------------------------------------------------------- */

void tgi_llvm_rows_reduce_emit(tgi_llvm_kernel *k, unsigned phase,
                               LLVMValueRef from, LLVMValueRef to)
{
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    const bool is_second_stage =
        k->loops->reductions.data[p->reductions[0]].combines_blocks;
    LLVMValueRef results[TGI_MAX_PHASE_REDUCTIONS];
    LLVMValueRef is_any = LLVMBuildICmp(k->b, LLVMIntSLT, from, to, "");
    tgi_llvm_branch branch;
    tgi_llvm_branch_begin(k, &branch, is_any);
    if (is_second_stage) {
        k->e->lanes = 1;
        tgi_llvm_pairwise_reduce(k, phase, from, to, results);
    } else if (p->accumulators.is_reassociated)
        tgi_llvm_rows_reassociable_emit(k, phase, from, to, results);
    else
        reduce_blocks(k, phase, from, to, results);
    tgi_llvm_branch_end(k, &branch);
    k->e->lanes = 1;
    for (unsigned i = 0; i < p->n_reductions; i++)
        tgi_llvm_set_reduced(
            k, p->reductions[i],
            tgi_llvm_branch_value(k, &branch, results[i],
                                  tgi_llvm_reduce_empty(k, p->reductions[i])));
}

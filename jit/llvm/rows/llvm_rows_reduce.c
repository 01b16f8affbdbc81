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
#include "llvm/reduce/llvm_pairwise.h"
#include "llvm/reduce/llvm_reduce.h"
#include "llvm/rows/llvm_rows.h"

#include <assert.h>

/* -- Accumulators in memory ------------------------------------------------ */

typedef struct lane_memory {
    unsigned lanes;
    LLVMValueRef array[TGI_MAX_PHASE_REDUCTIONS];
} lane_memory;

static tg_dtype reduction_dtype(const tgi_llvm_kernel *k, uint32_t reduction)
{
    return k->loops->reductions.data[reduction].dtype;
}

static LLVMValueRef lane_address(tgi_llvm_kernel *k, uint32_t reduction,
                                 LLVMValueRef array, LLVMValueRef lane)
{
    return LLVMBuildGEP2(
        k->b, tgi_llvm_element_type(k->e, reduction_dtype(k, reduction)), array,
        &lane, 1, "");
}

static LLVMValueRef load_lanes(tgi_llvm_kernel *k, uint32_t reduction,
                               LLVMValueRef address)
{
    const tg_dtype dtype = reduction_dtype(k, reduction);
    LLVMValueRef value =
        LLVMBuildLoad2(k->b, tgi_llvm_type(k->e, dtype), address, "");
    LLVMSetAlignment(value, (unsigned)tgi_dtype_bytes((int)dtype));
    return value;
}

static void store_lanes(tgi_llvm_kernel *k, uint32_t reduction,
                        LLVMValueRef value, LLVMValueRef address)
{
    LLVMSetAlignment(
        LLVMBuildStore(k->b, value, address),
        (unsigned)tgi_dtype_bytes((int)reduction_dtype(k, reduction)));
}

/* Blocks begin at multiples of the lanes: lane = position % lanes. */
static void step_in_memory(tgi_llvm_kernel *k, unsigned phase, void *user)
{
    const lane_memory *m = user;
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    tgi_llvm_body_emit(k, phase);
    LLVMValueRef lane =
        LLVMBuildAnd(k->b, k->index[k->schedule->inner],
                     tgi_llvm_const_i64(k->program, m->lanes - 1), "");
    for (unsigned i = 0; i < p->n_reductions; i++) {
        LLVMValueRef address =
            lane_address(k, p->reductions[i], m->array[i], lane);
        tgi_llvm_accumulator state = {
            .part = {load_lanes(k, p->reductions[i], address)}};
        tgi_llvm_reduce_step(k, p->reductions[i], false, &state);
        store_lanes(k, p->reductions[i], state.part[0], address);
    }
}

/* -- Blocks ---------------------------------------------------------------- */

/* Accumulators of a block: `n` vectors per reduction. */
typedef struct vectors {
    unsigned n;
    LLVMValueRef all[TGI_MAX_PHASE_REDUCTIONS * TGI_MAX_TREE_VECTORS];
} vectors;

static LLVMValueRef *vectors_of(vectors *v, unsigned reduction)
{
    return &v->all[reduction * v->n];
}

/* Accumulates full sets of lanes; returns the position after them. */
static LLVMValueRef reduce_in_registers(tgi_llvm_kernel *k, unsigned phase,
                                        LLVMValueRef from, LLVMValueRef to,
                                        vectors *v)
{
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    const int64_t step = tgi_phase_tree_lanes(p);
    LLVMValueRef end = tgi_llvm_round_down(k, from, to, step);
    if (tgi_llvm_are_equal_consts(from, end))
        return end;
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, from, end, step, v->all,
                        p->n_reductions * v->n);
    for (unsigned j = 0; j < v->n; j++) {
        k->index[k->schedule->inner] = tgi_llvm_add(
            k->program, loop.index,
            tgi_llvm_const_i64(k->program, j * tgi_phase_lanes(p)));
        tgi_llvm_body_emit(k, phase);
        for (unsigned i = 0; i < p->n_reductions; i++) {
            tgi_llvm_accumulator state = {.part = {loop.carried[i * v->n + j]}};
            tgi_llvm_reduce_step(k, p->reductions[i], false, &state);
            vectors_of(v, i)[j] = state.part[0];
        }
    }
    tgi_llvm_loop_end(k, &loop, v->all);
    for (unsigned i = 0; i < p->n_reductions * v->n; i++)
        v->all[i] = loop.carried[i];
    return end;
}

/*
 * Unrolls the tail of a row of known length, with a mask on the last vector.
 * False if the length is unknown, or the tail can neither be masked nor ends
 * with a full vector, or accumulators do not fit registers.
 */
static bool reduce_known_tail(tgi_llvm_kernel *k, unsigned phase,
                              LLVMValueRef from, LLVMValueRef to, vectors *v)
{
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    int64_t at, end;
    if (!tgi_llvm_is_const_i64(from, &at) || !tgi_llvm_is_const_i64(to, &end) ||
        p->accumulators.storage != TGI_IN_REGISTERS ||
        !(p->can_mask || end % tgi_phase_lanes(p) == 0))
        return false;
    for (unsigned j = 0; at < end; j++, at += tgi_phase_lanes(p)) {
        k->index[k->schedule->inner] = tgi_llvm_const_i64(k->program, at);
        if (end - at < tgi_phase_lanes(p))
            k->mask =
                tgi_llvm_tail_mask(k, tgi_llvm_const_i64(k->program, end - at));
        tgi_llvm_body_emit(k, phase);
        for (unsigned i = 0; i < p->n_reductions; i++) {
            tgi_llvm_accumulator state = {.part = {vectors_of(v, i)[j]}};
            tgi_llvm_reduce_step(k, p->reductions[i], false, &state);
            vectors_of(v, i)[j] = state.part[0];
        }
        k->mask = NULL;
    }
    return true;
}

static void reduce_in_memory(tgi_llvm_kernel *k, unsigned phase,
                             LLVMValueRef from, LLVMValueRef to, vectors *v)
{
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    lane_memory m = {.lanes = tgi_phase_tree_lanes(p)};
    for (unsigned i = 0; i < p->n_reductions; i++) {
        m.array[i] = tgi_llvm_stack_array(
            k,
            tgi_llvm_element_type(k->e, reduction_dtype(k, p->reductions[i])),
            m.lanes);
        for (unsigned j = 0; j < v->n; j++)
            store_lanes(k, p->reductions[i], vectors_of(v, i)[j],
                        lane_address(k, p->reductions[i], m.array[i],
                                     tgi_llvm_const_i64(
                                         k->program, j * tgi_phase_lanes(p))));
    }
    tgi_llvm_rows_loop(k, phase, from, to, step_in_memory, &m);
    for (unsigned i = 0; i < p->n_reductions; i++)
        for (unsigned j = 0; j < v->n; j++)
            vectors_of(v, i)[j] = load_lanes(
                k, p->reductions[i],
                lane_address(
                    k, p->reductions[i], m.array[i],
                    tgi_llvm_const_i64(k->program, j * tgi_phase_lanes(p))));
}

/* One block; out[i] is the result of reduction i of the phase. */
static void reduce_block(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef from,
                         LLVMValueRef to, LLVMValueRef *out)
{
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    vectors v = {.n = p->accumulators.n_vectors};
    k->e->lanes = tgi_phase_lanes(p);
    for (unsigned i = 0; i < p->n_reductions; i++) {
        tgi_llvm_accumulator state;
        tgi_llvm_reduce_start(k, p->reductions[i], false, &state);
        for (unsigned j = 0; j < v.n; j++)
            vectors_of(&v, i)[j] = state.part[0];
    }
    LLVMValueRef at = from;
    if (p->accumulators.storage == TGI_IN_REGISTERS)
        at = reduce_in_registers(k, phase, from, to, &v);
    if (!tgi_llvm_are_equal_consts(at, to) &&
        !reduce_known_tail(k, phase, at, to, &v))
        reduce_in_memory(k, phase, at, to, &v);
    for (unsigned i = 0; i < p->n_reductions; i++) {
        k->e->lanes = tgi_phase_lanes(p);
        out[i] = tgi_llvm_horizontal_reduce(k, p->reductions[i],
                                            vectors_of(&v, i), v.n);
    }
    k->index[k->schedule->inner] = NULL;
}

static void reduce_blocks(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef from,
                          LLVMValueRef to, LLVMValueRef *out)
{
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    const int64_t size =
        TGI_BLOCK_STEPS *
        (int64_t)tgi_tree_lanes((int)reduction_dtype(k, p->reductions[0]));
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

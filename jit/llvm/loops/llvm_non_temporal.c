/* SPDX-License-Identifier: MIT */
/*
 * llvm_non_temporal.c - loops with non-temporal stores (choose_stores.c).
 *
 * Non-temporal stores must be aligned, so a loop is preceded by the elements
 * before the first whole line. They are weakly ordered, so a fence ends the
 * kernel. Loads are prefetched, because hardware prefetchers stop at pages.
 */
#include "llvm/loops/llvm_non_temporal.h"
#include "llvm/emit/llvm_access.h"
#include "schedule/schedule.h"
#include "llvm/emit/llvm_cache_hints.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_poll.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/loops/llvm_vector_loop.h"

#include <assert.h>

enum {
    LINE = 64,               /* bytes of a cache line */
    MAX_PREFETCHED_LOADS = 4 /* per phase */
};

/* -- Which stores ---------------------------------------------------------- */

static const tgi_loop_buffer *buffer_of(const tgi_llvm_kernel *k,
                                        const tgi_loop_store *store)
{
    return tgi_loops_buffer(k->program->loops,
                            tgi_llvm_store_access(k, store)->buffer);
}

static unsigned store_element_bytes(const tgi_llvm_kernel *k,
                                    const tgi_loop_store *store)
{
    return (unsigned)tgi_dtype_bytes(buffer_of(k, store)->dtype);
}

/* An i1: all buffers with non-temporal stores of a phase are large enough. */
static LLVMValueRef are_large(tgi_llvm_kernel *k, unsigned phase)
{
    LLVMValueRef all = NULL;
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        const tgi_loop_store *store = &k->loops->stores.data[i];
        if (!k->schedule->non_temporal_stores[i] || store->phase != phase)
            continue;
        LLVMValueRef is_large = LLVMBuildICmp(
            k->b, LLVMIntSGT, tgi_llvm_dim(k, buffer_of(k, store)->count),
            tgi_llvm_const_i64(k->program, k->schedule->non_temporal_bytes /
                                               store_element_bytes(k, store)),
            "");
        all = all ? LLVMBuildAnd(k->b, all, is_large, "") : is_large;
    }
    return all;
}

void tgi_llvm_non_temporal_begin(tgi_llvm_kernel *k)
{
    LLVMBasicBlockRef block = tgi_llvm_position_at_entry(k);
    for (unsigned phase = 0; phase < k->loops->n_phases; phase++) {
        if (!k->schedule->phases[phase].is_non_temporal)
            continue;
        k->non_temporal_phases[phase] = are_large(k, phase);
        k->uses_non_temporal =
            k->uses_non_temporal
                ? LLVMBuildOr(k->b, k->uses_non_temporal,
                              k->non_temporal_phases[phase], "")
                : k->non_temporal_phases[phase];
    }
    tgi_llvm_position_restore(k, block);
}

/* -- Intrinsics ------------------------------------------------------------ */

/* Prefetches the unit-stride loads of a phase. */
static void prefetch_loads(tgi_llvm_kernel *k, unsigned phase)
{
    unsigned n = 0;
    for (uint32_t i = 1; i < k->loops->insts.n; i++) {
        const tgi_inst *inst = &k->loops->insts.data[i];
        if (inst->kind != TGI_INST_LOAD || inst->phase != phase)
            continue;
        const tgi_access *access = &k->loops->accesses.data[inst->number];
        if (access->index || access->stride[k->schedule->inner].distance != 1 ||
            ++n > MAX_PREFETCHED_LOADS)
            continue;
        const int64_t bytes =
            k->e->lanes * (int64_t)tgi_dtype_bytes(inst->dtype);
        LLVMValueRef ahead = tgi_llvm_const_i64(
            k->program, access->stride[k->schedule->inner].is_negative
                            ? -k->schedule->prefetch_bytes - bytes
                            : k->schedule->prefetch_bytes);
        LLVMTypeRef byte = LLVMInt8TypeInContext(k->e->context);
        tgi_llvm_prefetch(k,
                          LLVMBuildGEP2(k->b, byte, tgi_llvm_address(k, access),
                                        &ahead, 1, ""),
                          bytes, false);
    }
}

/* -- Loops ----------------------------------------------------------------- */

/* Bytes of a store's address beyond the start of its cache line. */
static LLVMValueRef line_offset(tgi_llvm_kernel *k, const tgi_loop_store *store)
{
    LLVMValueRef address = LLVMBuildPtrToInt(
        k->b, tgi_llvm_address(k, tgi_llvm_store_access(k, store)),
        k->program->i64, "");
    return LLVMBuildAnd(k->b, address, tgi_llvm_const_i64(k->program, LINE - 1),
                        "");
}

/* An i1: at k->index, all non-temporal stores of a phase begin a cache line. */
static LLVMValueRef are_aligned(tgi_llvm_kernel *k, unsigned phase)
{
    LLVMValueRef past = tgi_llvm_const_i64(k->program, 0);
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        const tgi_loop_store *store = &k->loops->stores.data[i];
        if (k->schedule->non_temporal_stores[i] && store->phase == phase)
            past = LLVMBuildOr(k->b, past, line_offset(k, store), "");
    }
    return LLVMBuildICmp(k->b, LLVMIntEQ, past,
                         tgi_llvm_const_i64(k->program, 0), "");
}

LLVMValueRef tgi_llvm_peel_to_line(tgi_llvm_kernel *k, unsigned phase,
                                   LLVMValueRef from, LLVMValueRef to,
                                   tgi_llvm_body_fn *body, void *user)
{
    const uint32_t aligned = k->schedule->phases[phase].aligned_store;
    if (!aligned)
        return from;
    const tgi_loop_store *store = &k->loops->stores.data[aligned - 1];
    k->index[k->schedule->inner] = from;
    LLVMValueRef left = LLVMBuildNeg(k->b, line_offset(k, store), "");
    left =
        LLVMBuildAnd(k->b, left, tgi_llvm_const_i64(k->program, LINE - 1), "");
    left = LLVMBuildUDiv(
        k->b, left,
        tgi_llvm_const_i64(k->program, store_element_bytes(k, store)), "");
    LLVMValueRef start =
        tgi_llvm_min(k->program, tgi_llvm_add(k->program, from, left), to);
    tgi_llvm_vector_tail_emit(k, phase, from, start, body, user);
    return start;
}

LLVMValueRef tgi_llvm_non_temporal_loop(tgi_llvm_kernel *k, unsigned phase,
                                        LLVMValueRef from, LLVMValueRef to,
                                        tgi_llvm_body_fn *visit, void *user)
{
    const unsigned lanes = tgi_phase_lanes(&k->schedule->phases[phase]);
    if (!k->non_temporal_phases[phase])
        return from;
    tgi_llvm_branch branch, aligned;
    tgi_llvm_branch_begin(k, &branch, k->non_temporal_phases[phase]);
    LLVMValueRef start = tgi_llvm_peel_to_line(k, phase, from, to, visit, user);
    k->index[k->schedule->inner] = start;
    tgi_llvm_branch_begin(k, &aligned, are_aligned(k, phase));
    LLVMValueRef end = tgi_llvm_round_down(k, start, to, lanes);
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, start, end, lanes, NULL, 0);
    if (tgi_llvm_has_long_rows(k))
        tgi_llvm_poll_every(k, loop.index, lanes, TGI_LLVM_POLLED_ELEMENTS);
    k->index[k->schedule->inner] = loop.index;
    if (!k->schedule->tiles.rows)
        prefetch_loads(k, phase);
    k->emits_non_temporal = true;
    visit(k, phase, user);
    k->emits_non_temporal = false;
    tgi_llvm_loop_end(k, &loop, NULL);
    tgi_llvm_branch_end(k, &aligned);
    end = tgi_llvm_branch_value(k, &aligned, end, start);
    tgi_llvm_branch_end(k, &branch);
    return tgi_llvm_branch_value(k, &branch, end, from);
}

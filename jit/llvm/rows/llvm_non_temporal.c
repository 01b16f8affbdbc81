/* SPDX-License-Identifier: MIT */
/*
 * llvm_non_temporal.c - non-temporal stores. A result that exceeds the
 * last-level cache and is not read in the call is stored by whole cache lines,
 * which need not be read first: a third of the memory traffic of scaling a
 * vector. Smaller results stay in the cache for their next reader.
 *
 * Non-temporal stores must be aligned, so a loop is preceded by the elements
 * before the first whole line. They are weakly ordered, so a fence ends the
 * kernel. Loads are prefetched, because hardware prefetchers stop at pages.
 */
#include "llvm/rows/llvm_non_temporal.h"
#include "llvm/emit/llvm_access.h"
#include "llvm/emit/llvm_analysis.h"
#include "llvm/emit/llvm_cache_hints.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/rows/llvm_rows.h"

#include <assert.h>
#include <string.h>

enum {
    LINE = 64,               /* bytes of a cache line */
    MIN_STORE_BYTES = 16,    /* of the narrowest non-temporal vector store */
    PREFETCH_BYTES = 256,    /* prefetch distance */
    MAX_PREFETCHED_LOADS = 4 /* per phase */
};

/* -- Which stores ---------------------------------------------------------- */

static void record_loads(tgi_llvm_program *program,
                         const tgi_kernel_loops *kernel)
{
    for (uint32_t i = 1; i < kernel->insts.n; i++) {
        const tgi_inst *inst = &kernel->insts.data[i];
        if (inst->kind == TGI_INST_LOAD)
            program->is_read[tgi_buffer_id_index(
                kernel->accesses.data[inst->number].buffer)] = true;
    }
}

bool tgi_llvm_non_temporal_init(tgi_llvm_program *program)
{
    const tgi_loops *loops = program->loops;
    if (program->cache_bytes <= 0)
        return true;
    program->is_read = program->alloc(loops->buffers.n + 1);
    if (!program->is_read)
        return false;
    memset(program->is_read, 0, loops->buffers.n + 1);
    for (size_t i = 0; i < loops->kernels.n; i++)
        record_loads(program, loops->kernels.data[i]);
    for (size_t i = 0; i < loops->hosts.n; i++) {
        const tgi_host_step *host = &loops->hosts.data[i];
        for (uint32_t j = 0; j < host->n_buffers; j++)
            program->is_read[tgi_buffer_id_index(host->buffers[j])] = true;
    }
    /* The next iteration of a loop reads what this one stores. */
    for (size_t i = 0; i < loops->controls.n; i++)
        for (uint32_t j = 0; j < loops->controls.data[i].n_moved; j++)
            program
                ->is_read[tgi_buffer_id_index(loops->controls.data[i].to[j])] =
                true;
    return true;
}

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

/* Elements of a buffer that fits the last-level cache. */
static int64_t max_cached_elements(const tgi_llvm_kernel *k,
                                   const tgi_loop_store *store)
{
    return k->program->cache_bytes / store_element_bytes(k, store);
}

/* True if a store may be non-temporal, provided that unknown extents are large
   enough. */
static bool is_candidate(const tgi_llvm_kernel *k, const tgi_loop_store *store)
{
    const tgi_stride stride =
        tgi_llvm_store_access(k, store)->stride[k->analysis.inner];
    const tgi_loop_buffer *buffer = buffer_of(k, store);
    const unsigned lanes = k->analysis.phases[store->phase].lanes;
    return store->level == TGI_LEVEL_INNER && stride.distance == 1 &&
           !stride.is_negative && buffer->place != TGI_PLACE_SCRATCH &&
           !tgi_llvm_store_access(k, store)->shift &&
           lanes * store_element_bytes(k, store) >= MIN_STORE_BYTES &&
           !(k->analysis.transpose &&
             k->analysis.transpose->uses[store->access]) &&
           (!tgi_dim_is_known(buffer->count) ||
            buffer->count > max_cached_elements(k, store)) &&
           !k->program->is_read[tgi_buffer_id_index(
               tgi_llvm_store_access(k, store)->buffer)];
}

/* An i1: all buffers of a phase with candidates exceed the cache. Records the
   candidates. */
static LLVMValueRef exceed_cache(tgi_llvm_kernel *k, unsigned phase)
{
    LLVMValueRef exceeds = NULL;
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        const tgi_loop_store *store = &k->loops->stores.data[i];
        k->analysis.non_temporal_stores[i] |=
            store->phase == phase && is_candidate(k, store);
        if (!k->analysis.non_temporal_stores[i] || store->phase != phase)
            continue;
        LLVMValueRef is_large = LLVMBuildICmp(
            k->b, LLVMIntSGT, tgi_llvm_dim(k, buffer_of(k, store)->count),
            tgi_llvm_const_i64(k->program, max_cached_elements(k, store)), "");
        exceeds =
            exceeds ? LLVMBuildAnd(k->b, exceeds, is_large, "") : is_large;
    }
    return exceeds;
}

void tgi_llvm_non_temporal_classify(tgi_llvm_kernel *k)
{
    if (k->program->cache_bytes <= 0 || k->loops->vectors != TGI_ROWS)
        return;
    LLVMBasicBlockRef block = tgi_llvm_position_at_entry(k);
    for (unsigned phase = 0; phase < k->loops->n_phases; phase++) {
        tgi_llvm_phase *p = &k->analysis.phases[phase];
        /* Heavy phases are not bound by memory. */
        if (p->has_loop && !p->n_reductions && !p->is_heavy)
            k->non_temporal_phases[phase] = exceed_cache(k, phase);
        if (k->non_temporal_phases[phase])
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
        if (access->index || access->stride[k->analysis.inner].distance != 1 ||
            ++n > MAX_PREFETCHED_LOADS)
            continue;
        const int64_t bytes =
            k->e->lanes * (int64_t)tgi_dtype_bytes(inst->dtype);
        LLVMValueRef ahead = tgi_llvm_const_i64(
            k->program, access->stride[k->analysis.inner].is_negative
                            ? -PREFETCH_BYTES - bytes
                            : (int64_t)PREFETCH_BYTES);
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
        if (k->analysis.non_temporal_stores[i] && store->phase == phase)
            past = LLVMBuildOr(k->b, past, line_offset(k, store), "");
    }
    return LLVMBuildICmp(k->b, LLVMIntEQ, past,
                         tgi_llvm_const_i64(k->program, 0), "");
}

/* The first element from `from` on at which the first non-temporal store of a
   phase begins a cache line. */
static LLVMValueRef next_line(tgi_llvm_kernel *k, unsigned phase,
                              LLVMValueRef from)
{
    size_t i = 0;
    while (!k->analysis.non_temporal_stores[i] ||
           k->loops->stores.data[i].phase != phase)
        i++;
    const tgi_loop_store *store = &k->loops->stores.data[i];
    k->index[k->analysis.inner] = from;
    LLVMValueRef left = LLVMBuildNeg(k->b, line_offset(k, store), "");
    left =
        LLVMBuildAnd(k->b, left, tgi_llvm_const_i64(k->program, LINE - 1), "");
    left = LLVMBuildUDiv(
        k->b, left,
        tgi_llvm_const_i64(k->program, store_element_bytes(k, store)), "");
    return tgi_llvm_add(k->program, from, left);
}

LLVMValueRef tgi_llvm_non_temporal_loop(tgi_llvm_kernel *k, unsigned phase,
                                        LLVMValueRef from, LLVMValueRef to,
                                        tgi_llvm_body_fn *visit, void *user)
{
    const unsigned lanes = k->analysis.phases[phase].lanes;
    if (!k->non_temporal_phases[phase])
        return from;
    tgi_llvm_branch branch, aligned;
    tgi_llvm_branch_begin(k, &branch, k->non_temporal_phases[phase]);
    /* Rows of transposed tiles are too short to align them. */
    LLVMValueRef start = from;
    if (!k->analysis.transpose) {
        start = tgi_llvm_min(k->program, next_line(k, phase, from), to);
        tgi_llvm_rows_tail(k, phase, from, start, visit, user);
    }
    k->index[k->analysis.inner] = start;
    tgi_llvm_branch_begin(k, &aligned, are_aligned(k, phase));
    LLVMValueRef end = tgi_llvm_round_down(k, start, to, lanes);
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, start, end, lanes, NULL, 0);
    k->index[k->analysis.inner] = loop.index;
    if (!k->analysis.transpose)
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

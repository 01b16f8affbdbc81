/* SPDX-License-Identifier: MIT */
/*
 * llvm_non_temporal.c - stores past the cache. A result that is larger than the
 * last cache and is not read in the call is written to memory by whole lines,
 * which need not be read first: that is a third of what scaling a vector
 * moves. Smaller results stay in the cache for whoever comes next.
 *
 * Such stores must be aligned, so a stretch begins with what comes before the
 * first whole line; and they are weakly ordered, so a fence ends the kernel.
 * Inputs are asked for ahead: the CPU does so by itself, but not across pages.
 */
#include "llvm/llvm_lower.h"

#include <assert.h>
#include <string.h>

enum {
    LINE = 64,         /* bytes */
    LEAST_STORE = 16,  /* bytes of a vector: less is not stored past a cache */
    AHEAD = 256,       /* bytes that inputs are asked for ahead */
    MOST_ASKED = 4     /* inputs */
};

/* -- Which stores ---------------------------------------------------------- */

static void note_loads(tgi_llvm_program *program,
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
        note_loads(program, loops->kernels.data[i]);
    for (size_t i = 0; i < loops->hosts.n; i++) {
        const tgi_host_step *host = &loops->hosts.data[i];
        for (uint32_t j = 0; j < host->n_buffers; j++)
            program->is_read[tgi_buffer_id_index(host->buffers[j])] = true;
    }
    /* What a trip of a loop leaves, the next one reads. */
    for (size_t i = 0; i < loops->controls.n; i++)
        for (uint32_t j = 0; j < loops->controls.data[i].n_moved; j++)
            program
                ->is_read[tgi_buffer_id_index(loops->controls.data[i].to[j])] =
                true;
    return true;
}

static const tgi_access *access_of(const tgi_llvm_kernel *k,
                                   const tgi_loop_store *store)
{
    return &k->loops->accesses.data[store->access];
}

static const tgi_loop_buffer *buffer_of(const tgi_llvm_kernel *k,
                                        const tgi_loop_store *store)
{
    return tgi_loops_buffer(k->program->loops, access_of(k, store)->buffer);
}

static unsigned bytes_of(const tgi_llvm_kernel *k, const tgi_loop_store *store)
{
    return (unsigned)tgi_dtype_bytes(buffer_of(k, store)->dtype);
}

/* The largest number of elements that stay in the cache. */
static int64_t most_cached(const tgi_llvm_kernel *k,
                           const tgi_loop_store *store)
{
    return k->program->cache_bytes / bytes_of(k, store);
}

/* True if it might be worth it, as far as is known without the extents. */
static bool may_stream(const tgi_llvm_kernel *k, const tgi_loop_store *store)
{
    const tgi_stride stride = access_of(k, store)->stride[k->inner];
    const tgi_loop_buffer *buffer = buffer_of(k, store);
    const unsigned lanes = k->phases[store->phase].lanes;
    return store->level == TGI_LEVEL_INNER && stride.distance == 1 &&
           !stride.is_negative && buffer->place != TGI_PLACE_SCRATCH &&
           !access_of(k, store)->shift &&
           lanes * bytes_of(k, store) >= LEAST_STORE &&
           !(k->transpose && k->transpose->tiles[store->access].uses) &&
           (!tgi_dim_is_known(buffer->count) ||
            buffer->count > most_cached(k, store)) &&
           !k->program
                ->is_read[tgi_buffer_id_index(access_of(k, store)->buffer)];
}

bool tgi_llvm_is_non_temporal(const tgi_llvm_kernel *k,
                              const tgi_loop_store *store)
{
    return k->emits_non_temporal &&
           k->non_temporal_stores[store - k->loops->stores.data];
}

/* True if the buffers of all such stores of a phase are large enough. */
static LLVMValueRef are_large(tgi_llvm_kernel *k, unsigned phase)
{
    LLVMValueRef large = NULL;
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        const tgi_loop_store *store = &k->loops->stores.data[i];
        k->non_temporal_stores[i] |=
            store->phase == phase && may_stream(k, store);
        if (!k->non_temporal_stores[i] || store->phase != phase)
            continue;
        LLVMValueRef is_large = LLVMBuildICmp(
            k->b, LLVMIntSGT, tgi_llvm_dim(k, buffer_of(k, store)->count),
            tgi_llvm_const_i64(k->program, most_cached(k, store)), "");
        large = large ? LLVMBuildAnd(k->b, large, is_large, "") : is_large;
    }
    return large;
}

void tgi_llvm_non_temporal_classify(tgi_llvm_kernel *k)
{
    if (k->program->cache_bytes <= 0 || k->loops->vectors != TGI_ROWS)
        return;
    LLVMBasicBlockRef block = tgi_llvm_position_at_entry(k);
    for (unsigned phase = 0; phase < k->loops->n_phases; phase++) {
        tgi_llvm_phase *p = &k->phases[phase];
        /* What computes much does not wait for memory. */
        if (p->has_loop && !p->n_reductions && !p->is_heavy)
            p->uses_non_temporal = are_large(k, phase);
        if (p->uses_non_temporal)
            k->uses_non_temporal = k->uses_non_temporal
                                       ? LLVMBuildOr(k->b, k->uses_non_temporal,
                                                     p->uses_non_temporal, "")
                                       : p->uses_non_temporal;
    }
    tgi_llvm_position_restore(k, block);
}

/* -- Marks, questions, fences ---------------------------------------------- */

void tgi_llvm_non_temporal_mark(const tgi_llvm_kernel *k, LLVMValueRef store,
                                unsigned bytes)
{
    static const char name[] = "nontemporal";
    LLVMContextRef context = k->e->context;
    LLVMMetadataRef one =
        LLVMValueAsMetadata(LLVMConstInt(k->program->i32, 1, false));
    LLVMSetMetadata(
        store, LLVMGetMDKindIDInContext(context, name, sizeof(name) - 1),
        LLVMMetadataAsValue(context,
                            LLVMMDNodeInContext2(context, &one, 1)));
    LLVMSetAlignment(store, bytes < LINE ? bytes : LINE);
}

static void call(tgi_llvm_kernel *k, const char *name, LLVMTypeRef *types,
                 unsigned n_types, LLVMValueRef *operands, unsigned n)
{
    const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMBuildCall2(
        k->b, LLVMIntrinsicGetType(k->e->context, id, types, n_types),
        LLVMGetIntrinsicDeclaration(k->e->module, id, types, n_types),
        operands, n, "");
}

void tgi_llvm_non_temporal_fence(tgi_llvm_kernel *k)
{
    if (!k->uses_non_temporal)
        return;
    tgi_llvm_branch branch;
    tgi_llvm_branch_begin(k, &branch, k->uses_non_temporal);
    call(k, "llvm.x86.sse.sfence", NULL, 0, NULL, 0);
    tgi_llvm_branch_end(k, &branch);
}

void tgi_llvm_prefetch(tgi_llvm_kernel *k, LLVMValueRef address, int64_t bytes,
                       bool to_write)
{
    LLVMTypeRef byte = LLVMInt8TypeInContext(k->e->context);
    for (int64_t at = 0; at < bytes; at += LINE) {
        LLVMValueRef offset = tgi_llvm_const_i64(k->program, at);
        LLVMValueRef operands[] = {
            LLVMBuildGEP2(k->b, byte, address, &offset, 1, ""),
            LLVMConstInt(k->program->i32, to_write, false),
            LLVMConstInt(k->program->i32, 3, false),  /* to all caches */
            LLVMConstInt(k->program->i32, 1, false)}; /* of data */
        call(k, "llvm.prefetch", &k->program->pointer, 1, operands, 4);
    }
}

/* Asks for what comes later. */
static void ask_ahead(tgi_llvm_kernel *k, unsigned phase)
{
    unsigned n = 0;
    for (uint32_t i = 1; i < k->loops->insts.n; i++) {
        const tgi_inst *inst = &k->loops->insts.data[i];
        if (inst->kind != TGI_INST_LOAD || inst->phase != phase)
            continue;
        const tgi_access *access = &k->loops->accesses.data[inst->number];
        if (access->index || access->stride[k->inner].distance != 1 ||
            ++n > MOST_ASKED)
            continue;
        const int64_t bytes =
            k->e->lanes * (int64_t)tgi_dtype_bytes(inst->dtype);
        LLVMValueRef ahead = tgi_llvm_const_i64(
            k->program, access->stride[k->inner].is_negative ? -AHEAD - bytes
                                                             : (int64_t)AHEAD);
        LLVMTypeRef byte = LLVMInt8TypeInContext(k->e->context);
        tgi_llvm_prefetch(k,
                          LLVMBuildGEP2(k->b, byte, tgi_llvm_address(k, access),
                                        &ahead, 1, ""),
                          bytes, false);
    }
}

/* -- Stretches ------------------------------------------------------------- */

/* Bytes by which a store's address is past a whole line. */
static LLVMValueRef past_line(tgi_llvm_kernel *k, const tgi_loop_store *store)
{
    LLVMValueRef address =
        LLVMBuildPtrToInt(k->b, tgi_llvm_address(k, access_of(k, store)),
                          k->program->i64, "");
    return LLVMBuildAnd(k->b, address, tgi_llvm_const_i64(k->program, LINE - 1),
                        "");
}

/* True if all stores of a phase begin with a line at k->index. */
static LLVMValueRef are_aligned(tgi_llvm_kernel *k, unsigned phase)
{
    LLVMValueRef past = tgi_llvm_const_i64(k->program, 0);
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        const tgi_loop_store *store = &k->loops->stores.data[i];
        if (k->non_temporal_stores[i] && store->phase == phase)
            past = LLVMBuildOr(k->b, past, past_line(k, store), "");
    }
    return LLVMBuildICmp(k->b, LLVMIntEQ, past,
                         tgi_llvm_const_i64(k->program, 0), "");
}

/* Where the first line of the first such store begins, from `from` on. */
static LLVMValueRef first_line(tgi_llvm_kernel *k, unsigned phase,
                               LLVMValueRef from)
{
    size_t i = 0;
    while (!k->non_temporal_stores[i] ||
           k->loops->stores.data[i].phase != phase)
        i++;
    const tgi_loop_store *store = &k->loops->stores.data[i];
    k->index[k->inner] = from;
    LLVMValueRef left = LLVMBuildNeg(k->b, past_line(k, store), "");
    left =
        LLVMBuildAnd(k->b, left, tgi_llvm_const_i64(k->program, LINE - 1), "");
    left = LLVMBuildUDiv(
        k->b, left, tgi_llvm_const_i64(k->program, bytes_of(k, store)), "");
    return tgi_llvm_add(k->program, from, left);
}

LLVMValueRef tgi_llvm_non_temporal_loop(tgi_llvm_kernel *k, unsigned phase,
                                        LLVMValueRef from, LLVMValueRef to,
                                        tgi_llvm_body_fn *visit, void *user)
{
    const unsigned lanes = k->phases[phase].lanes;
    if (!k->phases[phase].uses_non_temporal)
        return from;
    tgi_llvm_branch branch, aligned;
    tgi_llvm_branch_begin(k, &branch, k->phases[phase].uses_non_temporal);
    /* Rows of tiles are short: what is before a line is not worth it. */
    LLVMValueRef start = from;
    if (!k->transpose) {
        start = tgi_llvm_min(k->program, first_line(k, phase, from), to);
        tgi_llvm_rows_tail(k, phase, from, start, visit, user);
    }
    k->index[k->inner] = start;
    tgi_llvm_branch_begin(k, &aligned, are_aligned(k, phase));
    LLVMValueRef end = tgi_llvm_round_down(k, start, to, lanes);
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, start, end, lanes, NULL, 0);
    k->index[k->inner] = loop.index;
    if (!k->transpose)
        ask_ahead(k, phase);
    k->emits_non_temporal = true;
    visit(k, phase, user);
    k->emits_non_temporal = false;
    tgi_llvm_loop_end(k, &loop, NULL);
    tgi_llvm_branch_end(k, &aligned);
    end = tgi_llvm_branch_value(k, &aligned, end, start);
    tgi_llvm_branch_end(k, &branch);
    return tgi_llvm_branch_value(k, &branch, end, from);
}

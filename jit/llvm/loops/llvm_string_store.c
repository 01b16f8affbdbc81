/* SPDX-License-Identifier: MIT */
/*
 * llvm_string_store.c - see llvm_string_store.h. A vector store that misses the
 * cache reads the line first; a string instruction knows that it will write all
 * of it. It needs some dozen cycles to begin, and in L1 and L2 it is no faster,
 * so short buffers are filled by vectors.
 */
#include "llvm/loops/llvm_string_store.h"
#include "llvm/emit/llvm_access.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_isa.h"
#include "llvm/emit/llvm_poll.h"
#include "llvm/emit/llvm_program.h"

/* The only store of a phase. */
static const tgi_loop_store *store_of(const tgi_llvm_kernel *k, unsigned phase)
{
    const tgi_loop_store *store = k->loops->stores.data;
    while (store->phase != phase)
        store++;
    return store;
}

LLVMValueRef tgi_llvm_string_store(tgi_llvm_kernel *k, unsigned phase,
                                   LLVMValueRef from, LLVMValueRef to)
{
    const tgi_llvm_isa *isa = k->e->isa;
    if (!isa->fill || tgi_llvm_has_long_rows(k))
        return from;
    const tgi_loop_store *store = store_of(k, phase);
    const tgi_access *access = tgi_llvm_store_access(k, store);
    const tgi_loop_buffer *buffer =
        tgi_loops_buffer(k->program->loops, access->buffer);
    const int64_t bytes = tgi_dtype_bytes(buffer->dtype);
    const uint64_t bits = k->loops->insts.data[store->value].bits;
    const unsigned lanes = k->e->lanes;
    tgi_llvm_branch branch;
    tgi_llvm_branch_begin(
        k, &branch,
        LLVMBuildICmp(
            k->b, LLVMIntSGT, tgi_llvm_dim(k, buffer->count),
            tgi_llvm_const_i64(
                k->program,
                k->schedule->phases[phase].string_store_bytes / bytes),
            ""));
    k->index[k->schedule->inner] = from;
    k->e->lanes = 1;
    isa->fill(k->b, tgi_llvm_address(k, access),
              tgi_llvm_mul(k->program, LLVMBuildSub(k->b, to, from, ""),
                           tgi_llvm_const_i64(k->program, bytes)),
              LLVMConstInt(LLVMInt8TypeInContext(k->e->context), bits & 0xff,
                           false));
    k->index[k->schedule->inner] = NULL;
    k->e->lanes = lanes;
    tgi_llvm_branch_end(k, &branch);
    return tgi_llvm_branch_value(k, &branch, to, from);
}

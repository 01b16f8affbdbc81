/* SPDX-License-Identifier: MIT */
/* llvm_cache_hints.c - non-temporal marks, store fences and prefetches. */
#include "llvm/emit/llvm_cache_hints.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_program.h"

#include <string.h>

enum { LINE = 64 }; /* bytes of a cache line */

static void call_intrinsic(tgi_llvm_kernel *k, const char *name,
                           LLVMTypeRef *types, unsigned n_types,
                           LLVMValueRef *operands, unsigned n)
{
    const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMBuildCall2(
        k->b, LLVMIntrinsicGetType(k->e->context, id, types, n_types),
        LLVMGetIntrinsicDeclaration(k->e->module, id, types, n_types), operands,
        n, "");
}

bool tgi_llvm_is_non_temporal(const tgi_llvm_kernel *k,
                              const tgi_loop_store *store)
{
    return k->emits_non_temporal &&
           k->schedule->non_temporal_stores[store - k->loops->stores.data];
}

void tgi_llvm_non_temporal_mark(const tgi_llvm_kernel *k, LLVMValueRef store,
                                unsigned bytes)
{
    static const char name[] = "nontemporal";
    LLVMContextRef context = k->e->context;
    LLVMMetadataRef one =
        LLVMValueAsMetadata(LLVMConstInt(k->program->i32, 1, false));
    LLVMSetMetadata(
        store, LLVMGetMDKindIDInContext(context, name, sizeof(name) - 1),
        LLVMMetadataAsValue(context, LLVMMDNodeInContext2(context, &one, 1)));
    LLVMSetAlignment(store, bytes < LINE ? bytes : LINE);
}

void tgi_llvm_non_temporal_fence(tgi_llvm_kernel *k)
{
    if (!k->uses_non_temporal || !k->e->isa->store_fence)
        return;
    tgi_llvm_branch branch;
    tgi_llvm_branch_begin(k, &branch, k->uses_non_temporal);
    k->e->isa->store_fence(k->b);
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
            LLVMConstInt(k->program->i32, 3, false),  /* all cache levels */
            LLVMConstInt(k->program->i32, 1, false)}; /* data */
        call_intrinsic(k, "llvm.prefetch", &k->program->pointer, 1, operands,
                       4);
    }
}

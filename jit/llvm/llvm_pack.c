/* SPDX-License-Identifier: MIT */
/*
 * llvm_pack.c - kernels that pack a matrix into panels (tgi_access). Where rows
 * are contiguous in memory, llvm_columns.c fills several panels side by side.
 * Where columns are, as in a matmul with a transposed matrix, they are
 * transposed in registers.
 */
#include "llvm/llvm_lower.h"

static const tgi_access *stored_access(const tgi_llvm_kernel *k)
{
    return &k->loops->accesses.data[k->loops->stores.data[0].access];
}

/* The access of the load that is stored unchanged; NULL: none. */
static const tgi_access *loaded_access(const tgi_llvm_kernel *k)
{
    const tgi_inst *inst =
        &k->loops->insts.data[k->loops->stores.data[0].value];
    return inst->kind == TGI_INST_LOAD ? &k->loops->accesses.data[inst->number]
                                       : NULL;
}

unsigned tgi_llvm_pack_panel_width(const tgi_llvm_kernel *k)
{
    return k->loops->vectors == TGI_COLUMNS && k->loops->stores.n == 1
               ? stored_access(k)->panel_width
               : 0;
}

bool tgi_llvm_pack_is_transposed(const tgi_llvm_kernel *k)
{
    if (!tgi_llvm_pack_panel_width(k))
        return false;
    const tgi_access *from = loaded_access(k);
    return from && !from->index && from->stride[k->inner].distance == 1 &&
           from->stride[k->vector_axis].distance != 1;
}

void tgi_llvm_pack_transposed_emit(tgi_llvm_kernel *k, LLVMValueRef column,
                                   LLVMValueRef n)
{
    const tgi_access *to = stored_access(k);
    LLVMValueRef width = tgi_llvm_const_i64(k->program, to->panel_width);
    int64_t number;
    k->index[k->vector_axis] = column;
    LLVMValueRef n_columns =
        tgi_llvm_is_const_i64(n, &number) && number % to->panel_width == 0
            ? width
            : tgi_llvm_min(k->program, width,
                           LLVMBuildSub(k->b, n, column, ""));
    tgi_llvm_transpose_columns(k, loaded_access(k),
                               tgi_llvm_address_from_indices(k, to),
                               to->panel_width, n_columns,
                               tgi_llvm_dim(k, k->loops->extent[k->inner]));
    k->index[k->vector_axis] = NULL;
}

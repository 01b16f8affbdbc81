/* SPDX-License-Identifier: MIT */
/*
 * llvm_pack.c - kernels that pack a matrix into panels (tgi_access). Where rows
 * are contiguous in memory, llvm_columns.c fills several panels side by side.
 * Where columns are, as in a matmul with a transposed matrix, they are
 * transposed in registers.
 */
#include "llvm/matmul/llvm_pack.h"
#include "llvm/emit/llvm_access.h"
#include "llvm/emit/llvm_analysis.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_register_transpose.h"

static const tgi_access *stored_access(const tgi_llvm_analysis *a)
{
    return &a->loops->accesses.data[a->loops->stores.data[0].access];
}

/* The access of the load that is stored unchanged; NULL: none. */
static const tgi_access *loaded_access(const tgi_llvm_analysis *a)
{
    const tgi_inst *inst =
        &a->loops->insts.data[a->loops->stores.data[0].value];
    return inst->kind == TGI_INST_LOAD ? &a->loops->accesses.data[inst->number]
                                       : NULL;
}

unsigned tgi_llvm_pack_panel_width(const tgi_llvm_analysis *a)
{
    return a->loops->vectors == TGI_COLUMNS && a->loops->stores.n == 1
               ? stored_access(a)->panel_width
               : 0;
}

bool tgi_llvm_pack_is_transposed(const tgi_llvm_analysis *a)
{
    if (!tgi_llvm_pack_panel_width(a))
        return false;
    const tgi_access *from = loaded_access(a);
    return from && !from->index && from->stride[a->inner].distance == 1 &&
           from->stride[a->vector_axis].distance != 1;
}

void tgi_llvm_pack_transposed_emit(tgi_llvm_kernel *k, LLVMValueRef column,
                                   LLVMValueRef n)
{
    const tgi_access *to = stored_access(&k->analysis);
    LLVMValueRef width = tgi_llvm_const_i64(k->program, to->panel_width);
    int64_t number;
    k->index[k->analysis.vector_axis] = column;
    LLVMValueRef n_columns =
        tgi_llvm_is_const_i64(n, &number) && number % to->panel_width == 0
            ? width
            : tgi_llvm_min(k->program, width,
                           LLVMBuildSub(k->b, n, column, ""));
    tgi_llvm_transpose_columns(
        k, loaded_access(&k->analysis), tgi_llvm_address_from_indices(k, to),
        to->panel_width, n_columns,
        tgi_llvm_dim(k, k->loops->extent[k->analysis.inner]));
    k->index[k->analysis.vector_axis] = NULL;
}

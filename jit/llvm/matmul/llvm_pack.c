/* SPDX-License-Identifier: MIT */
/*
 * llvm_pack.c - kernels that pack a matrix into panels (tgi_access). Where rows
 * are contiguous in memory, llvm_columns.c fills several panels side by side.
 * Where columns are, as in a matmul with a transposed matrix, they are
 * transposed in registers.
 */
#include "llvm/matmul/llvm_pack.h"
#include "llvm/emit/llvm_access.h"
#include "schedule/schedule.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_register_transpose.h"

static const tgi_access *stored_access(const tgi_schedule *s)
{
    return &s->loops->accesses.data[s->loops->stores.data[0].access];
}

/* The access of the load that is stored unchanged; NULL: none. */
static const tgi_access *loaded_access(const tgi_schedule *s)
{
    const tgi_inst *inst =
        &s->loops->insts.data[s->loops->stores.data[0].value];
    return inst->kind == TGI_INST_LOAD ? &s->loops->accesses.data[inst->number]
                                       : NULL;
}

void tgi_llvm_pack_transposed_emit(tgi_llvm_kernel *k, LLVMValueRef column,
                                   LLVMValueRef n)
{
    const tgi_access *to = stored_access(k->schedule);
    LLVMValueRef width = tgi_llvm_const_i64(k->program, to->panel_width);
    int64_t number;
    k->index[k->schedule->vector_axis] = column;
    LLVMValueRef n_columns =
        tgi_llvm_is_const_i64(n, &number) && number % to->panel_width == 0
            ? width
            : tgi_llvm_min(k->program, width,
                           LLVMBuildSub(k->b, n, column, ""));
    tgi_llvm_transpose_columns(
        k, loaded_access(k->schedule), tgi_llvm_address_from_indices(k, to),
        to->panel_width, n_columns,
        tgi_llvm_dim(k, k->loops->extent[k->schedule->inner]));
    k->index[k->schedule->vector_axis] = NULL;
}

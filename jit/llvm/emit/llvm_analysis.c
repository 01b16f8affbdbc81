/* SPDX-License-Identifier: MIT */
/* llvm_analysis.c - predicates on accesses and rows (llvm_analysis.h). */
#include "llvm/emit/llvm_analysis.h"
#include "llvm/emit/llvm_program.h"

bool tgi_llvm_is_contiguous(const tgi_llvm_analysis *a,
                            const tgi_access *access)
{
    return (access->panel_width ||
            tgi_stride_is_one(access->stride[a->vector_axis]) ||
            tgi_stride_is_zero(access->stride[a->vector_axis])) &&
           !(access->index && a->insts[access->index].varies);
}

bool tgi_llvm_is_maskable(const tgi_llvm_analysis *a, const tgi_access *access)
{
    const int dtype =
        tgi_loops_buffer(a->program->loops, access->buffer)->dtype;
    return tgi_llvm_is_contiguous(a, access) && tgi_dtype_bytes(dtype) >= 4;
}

bool tgi_llvm_may_have_tail(const tgi_llvm_analysis *a, int64_t size)
{
    const tgi_dim extent = a->loops->extent[a->inner];
    return !tgi_dim_is_known(extent) || extent % size;
}

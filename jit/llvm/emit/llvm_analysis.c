/* SPDX-License-Identifier: MIT */
/* llvm_analysis.c - predicates on accesses and rows (llvm_analysis.h). */
#include "llvm/emit/llvm_analysis.h"
#include "llvm/emit/llvm_program.h"

static bool is_zero_stride(tgi_stride stride)
{
    return stride.distance == 0;
}

static bool is_unit_stride(tgi_stride stride)
{
    return stride.distance == 1 && !stride.is_negative;
}

bool tgi_llvm_is_contiguous(const tgi_llvm_analysis *a,
                            const tgi_access *access)
{
    return (access->panel_width ||
            is_unit_stride(access->stride[a->vector_axis]) ||
            is_zero_stride(access->stride[a->vector_axis])) &&
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

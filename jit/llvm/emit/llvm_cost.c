/* SPDX-License-Identifier: MIT */
/*
 * llvm_cost.c - the cost model (recipe/cost.h) of a kernel once it is analysed:
 * whether more threads pay, and whether a body is heavy.
 */
#include "llvm/emit/llvm_cost.h"
#include "llvm/emit/llvm_analysis.h"
#include "llvm/emit/llvm_program.h"
#include "loop/inst_cost.h"

/* -- Insts ----------------------------------------------------------------- */

static tgi_cost inst_cost(const tgi_llvm_analysis *a, const tgi_inst *inst,
                          tgi_cost_width width)
{
    if (inst->kind == TGI_INST_LOAD &&
        !tgi_llvm_is_contiguous(a, &a->loops->accesses.data[inst->number]))
        return tgi_cost_of_simple(TGI_COST_STRIDED_LOAD);
    return tgi_inst_cost(a->loops, inst, width);
}

unsigned tgi_llvm_inst_cost(const tgi_llvm_analysis *a, const tgi_inst *inst)
{
    const unsigned bits = a->program->target->vector_bits;
    return inst_cost(a, inst, tgi_cost_width_of(bits)).instructions;
}

/* -- Kernels --------------------------------------------------------------- */

tgi_kernel_cost tgi_llvm_kernel_cost(const tgi_llvm_analysis *a)
{
    tgi_kernel_cost cost = {.point = TGI_COST_PS_PER_POINT};
    const tgi_kernel_loops *loops = a->loops;
    for (uint32_t i = 1; i < loops->insts.n; i++) {
        const tgi_inst *inst = &loops->insts.data[i];
        const int64_t bytes = tgi_dtype_bytes(
            inst->dtype == TG_BOOL ? inst->type ? inst->type : TG_BOOL
                                   : inst->dtype);
        int64_t picoseconds = inst_cost(a, inst, TGI_COST_ASSUMED).half_cycles *
                              bytes * TGI_COST_PS_PER_BYTE;
        if (inst->kind == TGI_INST_LOAD)
            picoseconds += bytes * TGI_COST_PS_PER_BYTE_MOVED;
        if (a->insts[i].level == TGI_LEVEL_INNER)
            cost.element += picoseconds;
        else if (a->insts[i].level == TGI_LEVEL_POINT)
            cost.point += picoseconds;
    }
    for (size_t i = 0; i < loops->stores.n; i++) {
        const tgi_loop_store *store = &loops->stores.data[i];
        const int64_t bytes =
            tgi_dtype_bytes(loops->insts.data[store->value].dtype);
        if (store->level == TGI_LEVEL_INNER)
            cost.element += bytes * TGI_COST_PS_PER_BYTE_MOVED;
    }
    if (a->matmul.mr) /* a micro-kernel reuses what it loads */
        cost.element = 0;
    for (size_t i = 0; i < loops->reductions.n; i++) {
        const tgi_reduction *r = &loops->reductions.data[i];
        cost.element +=
            tgi_cost_of_step(r->op, (tg_dtype)r->dtype, TGI_COST_ASSUMED)
                .half_cycles *
            tgi_dtype_bytes(r->dtype) * TGI_COST_PS_PER_BYTE;
    }
    return cost;
}

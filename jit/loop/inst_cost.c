/* SPDX-License-Identifier: MIT */
/*
 * inst_cost.c - see inst_cost.h.
 */
#include "loop/inst_cost.h"

static unsigned uniform_operands(const tgi_kernel_loops *kernel,
                                 const tgi_inst *inst)
{
    unsigned uniform = 0;
    for (int i = 0; i < inst->n_operands; i++)
        if (kernel->insts.data[inst->operands[i]].level < inst->level)
            uniform |= 1u << i;
    return uniform;
}

tgi_cost tgi_inst_cost(const tgi_kernel_loops *kernel, const tgi_inst *inst,
                       tgi_cost_width width)
{
    switch ((tgi_inst_kind)inst->kind) {
    case TGI_INST_OP:
        return tgi_cost_of_op(inst->op, (tg_dtype)inst->type,
                              uniform_operands(kernel, inst), width);
    case TGI_INST_CAST:
        return tgi_cost_of_cast(inst->op, (tg_dtype)inst->type,
                                (tg_dtype)inst->dtype, width);
    case TGI_INST_RANDOM:
        return tgi_cost_of_random((tg_dtype)inst->dtype, width);
    case TGI_INST_LOAD:
        return tgi_cost_of_simple(TGI_COST_LOAD);
    case TGI_INST_POSITION:
    case TGI_INST_OFFSET:
    case TGI_INST_INDEX:
    case TGI_INST_IN_RANGE:
        return tgi_cost_of_simple(TGI_COST_POSITION);
    case TGI_INST_CONSTANT:
    case TGI_INST_EXTENT:
    case TGI_INST_CARRIED:
    case TGI_INST_REDUCED:
        break;
    }
    return (tgi_cost){0};
}

/* SPDX-License-Identifier: MIT */
/*
 * inst_cost.h - the cost model (recipe/cost.h) for the loop IR.
 */
#ifndef TGI_INST_COST_H
#define TGI_INST_COST_H

#include "loop/loops.h"
#include "recipe/cost.h"

/*
 * The cost of an inst for one vector. Operands of an outer level are uniform.
 * A LOAD is contiguous: how a strided one is loaded depends on the kernel.
 */
tgi_cost tgi_inst_cost(const tgi_kernel_loops *kernel, const tgi_inst *inst,
                       tgi_cost_width width);

#endif /* TGI_INST_COST_H */

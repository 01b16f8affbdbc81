/* SPDX-License-Identifier: MIT */
/*
 * llvm_fission_loop.c - the loop of a part: it loads what it needs, computes
 * its insts, and keeps what later parts need. The last one also stores.
 */
#include "llvm/llvm_emit.h"
#include "llvm/llvm_fission.h"
#include "llvm/llvm_flow.h"
#include "llvm/llvm_inst.h"
#include "llvm/llvm_kernel_state.h"

static const tgi_inst *inst_at(const tgi_llvm_fission *s, uint32_t number)
{
    return &s->k->loops->insts.data[number];
}

/* A vector may be wider than what an array is aligned to. */
static LLVMValueRef kept_at(const tgi_llvm_fission *s, uint32_t inst,
                            LLVMValueRef index)
{
    const tgi_llvm_kernel *k = s->k;
    return LLVMBuildGEP2(k->b,
                         tgi_llvm_element_type(k->e, inst_at(s, inst)->dtype),
                         s->slots[s->insts[inst].slot - 1], &index, 1, "");
}

/* Sees to it that an operand has its value in this part. */
static void fetch(tgi_llvm_fission *s, uint32_t inst, uint32_t part,
                  LLVMValueRef index)
{
    tgi_llvm_kernel *k = s->k;
    tgi_llvm_fission_inst *placed = &s->insts[inst];
    if (!tgi_llvm_fission_in_body(s, inst) || placed->loaded_in == part + 1)
        return;
    placed->loaded_in = part + 1;
    if (tgi_llvm_fission_rematerialises(s, inst)) {
        tgi_llvm_inst_emit(k, inst);
    } else if (placed->part < part) {
        k->values[inst].value =
            LLVMBuildLoad2(k->b, tgi_llvm_type(k->e, inst_at(s, inst)->dtype),
                           kept_at(s, inst, index), "");
        LLVMSetAlignment(k->values[inst].value, 1);
        k->values[inst].mask = NULL;
    }
}

/* At the end: LLVM orders instructions better so, by 4 % of Black-Scholes. */
static void keep(tgi_llvm_fission *s, uint32_t part, LLVMValueRef index)
{
    tgi_llvm_kernel *k = s->k;
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        if (tgi_llvm_fission_in_part(s, i, part) && s->insts[i].slot)
            LLVMSetAlignment(LLVMBuildStore(k->b, tgi_llvm_value_of(k, i),
                                            kept_at(s, i, index)),
                             1);
}

static void store_results(tgi_llvm_fission *s, uint32_t part,
                          LLVMValueRef index)
{
    const tgi_kernel_loops *loops = s->k->loops;
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].level == TGI_LEVEL_INNER &&
            loops->stores.data[i].phase == s->phase)
            fetch(s, loops->stores.data[i].value, part, index);
    tgi_llvm_inner_stores_emit(s->k, s->phase);
}

void tgi_llvm_fission_loop_emit(tgi_llvm_fission *s, uint32_t part)
{
    tgi_llvm_kernel *k = s->k;
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin_nonempty(k, &loop, tgi_llvm_const_i64(k->program, 0),
                                 s->n, s->lanes);
    k->index[k->analysis.inner] = tgi_llvm_add(k->program, s->at, loop.index);
    for (uint32_t i = 1; i < k->loops->insts.n; i++) {
        if (!tgi_llvm_fission_in_part(s, i, part))
            continue;
        for (int j = 0; j < inst_at(s, i)->n_operands; j++)
            fetch(s, inst_at(s, i)->operands[j], part, loop.index);
        tgi_llvm_inst_emit(k, i);
    }
    keep(s, part, loop.index);
    if (part == s->n_parts - 1)
        store_results(s, part, loop.index);
    k->index[k->analysis.inner] = NULL;
    tgi_llvm_loop_end(k, &loop, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * llvm_fission_loop.c - the loop of a part. It loads its operands from buffers
 * and slots, computes its insts, and stores values that later parts use to
 * slots. The last part also stores the results.
 */
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/loops/llvm_fission.h"

static LLVMValueRef slot_address(const tgi_llvm_fission *s, uint32_t inst,
                                 LLVMValueRef index)
{
    const tgi_llvm_kernel *k = s->k;
    return LLVMBuildGEP2(
        k->b,
        tgi_llvm_element_type(k->e, tgi_llvm_fission_inst_at(s, inst)->dtype),
        s->slots[tgi_llvm_fission_placed(s, inst)->slot - 1], &index, 1, "");
}

/* Gives an operand its value in this part, unless it has one. Slots are not
   aligned to vectors. */
static void load_operand(tgi_llvm_fission *s, uint32_t inst, uint32_t part,
                         LLVMValueRef index)
{
    tgi_llvm_kernel *k = s->k;
    tgi_llvm_fission_inst *info = &s->insts[inst];
    if (!tgi_llvm_fission_in_body(s, inst) || info->loaded_in == part + 1)
        return;
    info->loaded_in = part + 1;
    if (tgi_llvm_fission_rematerialises(s, inst)) {
        tgi_llvm_inst_emit(k, inst);
    } else if (tgi_llvm_fission_placed(s, inst)->part < part) {
        k->values[inst].value = LLVMBuildLoad2(
            k->b, tgi_llvm_type(k->e, tgi_llvm_fission_inst_at(s, inst)->dtype),
            slot_address(s, inst, index), "");
        LLVMSetAlignment(k->values[inst].value, 1);
        k->values[inst].mask = NULL;
    }
}

/* Slots are stored at the end of the body: while it is computed, stores would
   compete with it for registers. Black-Scholes takes 2 to 5 % less. */
static void store_slots(tgi_llvm_fission *s, uint32_t part, LLVMValueRef index)
{
    tgi_llvm_kernel *k = s->k;
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        if (tgi_llvm_fission_in_part(s, i, part) &&
            tgi_llvm_fission_placed(s, i)->slot)
            LLVMSetAlignment(LLVMBuildStore(k->b, tgi_llvm_value_of(k, i),
                                            slot_address(s, i, index)),
                             1);
}

static void store_results(tgi_llvm_fission *s, uint32_t part,
                          LLVMValueRef index)
{
    const tgi_kernel_loops *loops = s->k->loops;
    for (size_t i = 0; i < loops->stores.n; i++)
        if (tgi_llvm_fission_has_store(s, &loops->stores.data[i]))
            load_operand(s, loops->stores.data[i].value, part, index);
    tgi_llvm_inner_stores_emit(s->k, s->phase);
}

void tgi_llvm_fission_loop_emit(tgi_llvm_fission *s, uint32_t part)
{
    tgi_llvm_kernel *k = s->k;
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin_nonempty(k, &loop, tgi_llvm_const_i64(k->program, 0),
                                 s->n, s->lanes);
    k->index[k->schedule->inner] = tgi_llvm_add(k->program, s->at, loop.index);
    for (uint32_t i = 1; i < k->loops->insts.n; i++) {
        if (!tgi_llvm_fission_in_part(s, i, part))
            continue;
        for (int j = 0; j < tgi_llvm_fission_inst_at(s, i)->n_operands; j++)
            load_operand(s, tgi_llvm_fission_inst_at(s, i)->operands[j], part,
                         loop.index);
        tgi_llvm_inst_emit(k, i);
    }
    store_slots(s, part, loop.index);
    if (part == s->plan->n_parts - 1)
        store_results(s, part, loop.index);
    k->index[k->schedule->inner] = NULL;
    tgi_llvm_loop_end(k, &loop, NULL);
}

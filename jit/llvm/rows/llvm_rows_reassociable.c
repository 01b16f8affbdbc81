/* SPDX-License-Identifier: MIT */
/*
 * llvm_rows_reassociable.c - reductions along the inner axis whose result does
 * not depend on the order of elements: one vector accumulator, without blocks
 * or tree. The tail uses the lower lanes of it.
 */
#include "llvm/emit/llvm_access.h"
#include "schedule/schedule.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/reduce/llvm_accumulators.h"
#include "llvm/rows/llvm_rows.h"

/* -- Bodies ---------------------------------------------------------------- */

static void reduce_vector(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef at,
                          tgi_llvm_accumulators *acc)
{
    k->index[k->schedule->inner] = at;
    tgi_llvm_body_emit(k, phase);
    tgi_llvm_acc_step(k, acc, 0);
}

/* Native min and max accumulate two vectors at 1.5 times the cost of one: they
   share the instructions for NaNs and signs. */
static void reduce_two_vectors(tgi_llvm_kernel *k, unsigned phase,
                               LLVMValueRef at, tgi_llvm_accumulators *acc)
{
    LLVMValueRef firsts[TGI_MAX_PHASE_REDUCTIONS];
    k->index[k->schedule->inner] = at;
    tgi_llvm_body_emit(k, phase);
    tgi_llvm_acc_step_first(k, acc, firsts);
    k->index[k->schedule->inner] = tgi_llvm_add(
        k->program, at, tgi_llvm_const_i64(k->program, k->e->lanes));
    tgi_llvm_body_emit(k, phase);
    tgi_llvm_acc_step_second(k, acc, firsts);
}

/* -- Loops ----------------------------------------------------------------- */

typedef enum loop_kind { VECTORS, PAIRS, MASKED } loop_kind;

static void emit_loop(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef from,
                      LLVMValueRef to, loop_kind kind,
                      tgi_llvm_accumulators *acc)
{
    tgi_llvm_loop loop;
    if (tgi_llvm_are_equal_consts(from, to))
        return;
    tgi_llvm_acc_loop_begin(k, acc, &loop, from, to,
                            k->e->lanes * (kind == PAIRS ? 2 : 1));
    if (kind == MASKED)
        k->mask = tgi_llvm_tail_mask(k, LLVMBuildSub(k->b, to, loop.index, ""));
    if (kind == PAIRS)
        reduce_two_vectors(k, phase, loop.index, acc);
    else
        reduce_vector(k, phase, loop.index, acc);
    k->mask = NULL;
    tgi_llvm_acc_loop_end(k, acc, &loop);
}

void tgi_llvm_rows_reassociable_emit(tgi_llvm_kernel *k, unsigned phase,
                                     LLVMValueRef from, LLVMValueRef to,
                                     LLVMValueRef *out)
{
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    const unsigned n_unrolled = tgi_nest_unrolled(&p->nest);
    tgi_llvm_accumulators acc;
    k->e->lanes = tgi_phase_lanes(p);
    tgi_llvm_acc_init(k, &acc, phase, 1);
    tgi_llvm_acc_start(k, &acc, false);
    LLVMValueRef end =
        tgi_llvm_round_down(k, from, to, n_unrolled * tgi_phase_lanes(p));
    emit_loop(k, phase, from, end, n_unrolled > 1 ? PAIRS : VECTORS, &acc);
    tgi_llvm_acc_halve(k, &acc, tgi_nest_vector(&p->nest)->tail_lanes);
    emit_loop(k, phase, end, to, k->e->lanes > 1 ? MASKED : VECTORS, &acc);
    tgi_llvm_acc_halve(k, &acc, 1);
    tgi_llvm_acc_finish(k, &acc, out);
    k->index[k->schedule->inner] = NULL;
}

/* SPDX-License-Identifier: MIT */
/* llvm_phases.c - see llvm_phases.h. */
#include "llvm/loops/llvm_phases.h"
#include "llvm/emit/llvm_debug.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/loops/llvm_fission.h"
#include "llvm/loops/llvm_interchange.h"
#include "llvm/loops/llvm_reduction.h"
#include "llvm/loops/llvm_scan.h"
#include "llvm/loops/llvm_vector_loop.h"

/* -- Loops ----------------------------------------------------------------- */

static void emit_body(tgi_llvm_kernel *k, unsigned phase, void *user)
{
    (void)user;
    tgi_llvm_body_emit(k, phase);
}

typedef struct range {
    LLVMValueRef from, to;
} range;

static void emit_nest(tgi_llvm_kernel *k, unsigned phase, void *user)
{
    const range *inner = user;
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    const bool is_rows = k->loops->vectors == TGI_ROWS;
    if (is_rows) {
        k->e->lanes = tgi_phase_lanes(p);
        tgi_llvm_splats_begin(k, phase);
    }
    if (p->n_reductions)
        tgi_llvm_reduction_emit(k, phase, inner->from, inner->to);
    else if (!is_rows)
        tgi_llvm_scan_emit(k, phase, inner->from, inner->to);
    else if (p->fission.n_parts)
        tgi_llvm_fission_emit(k, phase, inner->from, inner->to);
    else
        tgi_llvm_vector_loop_emit(
            k, phase, inner->from, inner->to,
            tgi_schedule_interchanged_axis(k->schedule) >= 0
                ? tgi_llvm_interchanged_body_emit
                : emit_body,
            NULL);
    if (is_rows)
        tgi_llvm_splats_end(k);
}

/* -- Phases ---------------------------------------------------------------- */

void tgi_llvm_phases_emit(tgi_llvm_kernel *k, tgi_llvm_phase_loop_fn *emit_loop,
                          void *user)
{
    /* A point of a ROWS kernel is one element of its outer axes. */
    const unsigned lanes = k->loops->vectors == TGI_ROWS ? 1 : k->e->lanes;
    for (unsigned phase = 0; phase < k->loops->n_phases; phase++) {
        LLVMMetadataRef before = tgi_llvm_debug_set_phase(k, phase);
        k->e->lanes = lanes;
        tgi_llvm_point_insts_emit(k, phase, false);
        if (emit_loop && k->schedule->phases[phase].has_loop)
            emit_loop(k, phase, user);
        k->e->lanes = lanes;
        tgi_llvm_point_insts_emit(k, phase, true);
        tgi_llvm_point_stores_emit(k, phase);
        tgi_llvm_debug_restore(k->program, before);
    }
}

void tgi_llvm_point_emit(tgi_llvm_kernel *k, LLVMValueRef from, LLVMValueRef to)
{
    tgi_llvm_phases_emit(k, emit_nest, &(range){from, to});
}

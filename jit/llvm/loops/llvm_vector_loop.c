/* SPDX-License-Identifier: MIT */
/* llvm_vector_loop.c - see llvm_vector_loop.h. */
#include "llvm/loops/llvm_vector_loop.h"
#include "llvm/emit/llvm_access.h"
#include "schedule/schedule.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_poll.h"
#include "llvm/loops/llvm_non_temporal.h"
#include "llvm/loops/llvm_string_store.h"

void tgi_llvm_vector_tail_emit(tgi_llvm_kernel *k, unsigned phase,
                               LLVMValueRef from, LLVMValueRef to,
                               tgi_llvm_body_fn *body, void *user)
{
    const unsigned lanes = k->e->lanes;
    tgi_llvm_loop loop;
    k->e->lanes = tgi_nest_vector(&k->schedule->phases[phase].nest)->tail_lanes;
    tgi_llvm_loop_begin(k, &loop, from, to, k->e->lanes, NULL, 0);
    k->index[k->schedule->inner] = loop.index;
    if (k->e->lanes > 1)
        k->mask = tgi_llvm_tail_mask(k, LLVMBuildSub(k->b, to, loop.index, ""));
    body(k, phase, user);
    k->mask = NULL;
    tgi_llvm_loop_end(k, &loop, NULL);
    k->e->lanes = lanes;
}

/* A loop over full vectors of `lanes`; returns the position after them. */
static LLVMValueRef emit_full_vectors(tgi_llvm_kernel *k, unsigned phase,
                                      unsigned lanes, LLVMValueRef from,
                                      LLVMValueRef to, tgi_llvm_body_fn *body,
                                      void *user)
{
    LLVMValueRef end = tgi_llvm_round_down(k, from, to, lanes);
    if (tgi_llvm_are_equal_consts(from, end))
        return end;
    tgi_llvm_loop loop;
    k->e->lanes = lanes;
    tgi_llvm_loop_begin(k, &loop, from, end, lanes, NULL, 0);
    if (tgi_llvm_has_long_rows(k))
        tgi_llvm_poll_every(k, loop.index, lanes, TGI_LLVM_POLLED_ELEMENTS);
    k->index[k->schedule->inner] = loop.index;
    body(k, phase, user);
    tgi_llvm_loop_end(k, &loop, NULL);
    return end;
}

/* True if there is never a tail: work items end where vectors end. */
static bool has_no_tail(const tgi_llvm_kernel *k, unsigned phase)
{
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    const tgi_dim extent = k->loops->extent[k->schedule->inner];
    return tgi_dim_is_known(extent) && extent % tgi_phase_lanes(p) == 0 &&
           !p->aligned_store && !p->is_non_temporal && !p->string_store_bytes;
}

void tgi_llvm_vector_loop_emit(tgi_llvm_kernel *k, unsigned phase,
                               LLVMValueRef from, LLVMValueRef to,
                               tgi_llvm_body_fn *body, void *user)
{
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    const unsigned narrow_lanes = tgi_nest_vector(&p->nest)->narrow_lanes;
    k->e->lanes = tgi_phase_lanes(p);
    if (p->string_store_bytes)
        from = tgi_llvm_string_store(k, phase, from, to);
    from = p->is_non_temporal
               ? tgi_llvm_non_temporal_loop(k, phase, from, to, body, user)
               : tgi_llvm_peel_to_line(k, phase, from, to, body, user);
    from =
        emit_full_vectors(k, phase, tgi_phase_lanes(p), from, to, body, user);
    if (!has_no_tail(k, phase) && narrow_lanes)
        from = emit_full_vectors(k, phase, narrow_lanes, from, to, body, user);
    k->e->lanes = tgi_phase_lanes(p);
    if (!has_no_tail(k, phase) && !tgi_llvm_are_equal_consts(from, to) &&
        tgi_phase_lanes(p) > 1)
        tgi_llvm_vector_tail_emit(k, phase, from, to, body, user);
    k->index[k->schedule->inner] = NULL;
}

/* SPDX-License-Identifier: MIT */
/* llvm_phases.c - see llvm_phases.h. */
#include "llvm/loops/llvm_phases.h"
#include "llvm/emit/llvm_debug.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_poll.h"
#include "llvm/loops/llvm_fission.h"
#include "llvm/loops/llvm_interchange.h"
#include "llvm/loops/llvm_reduction.h"
#include "llvm/loops/llvm_vector_loop.h"

#include <string.h>

/* -- Scans ----------------------------------------------------------------- */

/* The next inst that a loop carries, after inst i; 0: none. */
static uint32_t next_carried(const tgi_llvm_kernel *k, uint32_t i)
{
    for (i++; i < k->loops->insts.n; i++)
        if (k->loops->insts.data[i].kind == TGI_INST_CARRIED)
            return i;
    return 0;
}

/* One step, with the values that the one before left; sets `values` to those
   that it leaves. */
static void emit_scan_step(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef at,
                           LLVMValueRef *values)
{
    unsigned n = 0;
    for (uint32_t i = 0; (i = next_carried(k, i));)
        k->values[i] = (tgi_llvm_value){.value = values[n++]};
    k->index[k->schedule->inner] = at;
    tgi_llvm_body_emit(k, phase);
    k->index[k->schedule->inner] = NULL;
    n = 0;
    for (uint32_t i = 0; (i = next_carried(k, i));)
        values[n++] = tgi_llvm_value_of(k, k->loops->insts.data[i].number);
}

/* A loop over steps from … to - 1, n_unrolled in each iteration, with n carried
   values. */
static void emit_scan_loop(tgi_llvm_kernel *k, unsigned phase,
                           LLVMValueRef from, LLVMValueRef to,
                           unsigned n_unrolled, LLVMValueRef *values,
                           unsigned n)
{
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, from, to, n_unrolled, values, n);
    memcpy(values, loop.carried, n * sizeof(*values));
    if (!k->loops->is_straightline)
        tgi_llvm_poll_every(k, loop.index, n_unrolled, TGI_LLVM_POLLED_STEPS);
    for (unsigned i = 0; i < n_unrolled; i++)
        emit_scan_step(k, phase,
                       tgi_llvm_add(k->program, loop.index,
                                    tgi_llvm_const_i64(k->program, i)),
                       values);
    tgi_llvm_loop_end(k, &loop, values);
    memcpy(values, loop.carried, n * sizeof(*values));
}

/* Steps from … to - 1 in order. */
static void emit_scan(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef from,
                      LLVMValueRef to)
{
    const tgi_inst *insts = k->loops->insts.data;
    const unsigned n_unrolled =
        tgi_nest_unrolled(&k->schedule->phases[phase].nest);
    LLVMValueRef values[TGI_LLVM_MAX_CARRIED];
    unsigned n = 0;
    int64_t at, end;
    for (uint32_t i = 0; (i = next_carried(k, i));)
        values[n++] = tgi_llvm_constant(k->e, insts[i].dtype, insts[i].bits);
    if (k->loops->is_straightline && tgi_llvm_is_const_i64(from, &at) &&
        tgi_llvm_is_const_i64(to, &end)) {
        for (; at < end; at++)
            emit_scan_step(k, phase, tgi_llvm_const_i64(k->program, at),
                           values);
        return;
    }
    if (n_unrolled > 1 && !k->loops->is_straightline) {
        LLVMValueRef full = tgi_llvm_round_down(k, from, to, n_unrolled);
        emit_scan_loop(k, phase, from, full, n_unrolled, values, n);
        from = full;
    }
    if (!tgi_llvm_are_equal_consts(from, to))
        emit_scan_loop(k, phase, from, to, 1, values, n);
}

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
        emit_scan(k, phase, inner->from, inner->to);
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

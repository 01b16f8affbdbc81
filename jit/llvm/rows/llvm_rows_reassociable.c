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
#include "llvm/reduce/llvm_reduce.h"
#include "llvm/rows/llvm_rows.h"

/* Accumulators of all reductions of a phase, part after part. */
typedef struct accumulators {
    unsigned n;
    LLVMValueRef all[TGI_MAX_PHASE_REDUCTIONS * TGI_LLVM_MAX_PARTS];
} accumulators;

static unsigned parts_of(const tgi_llvm_kernel *k, const tgi_phase_schedule *p,
                         unsigned i)
{
    return tgi_llvm_accumulator_parts(k, p->reductions[i], true);
}

static void start_accumulators(tgi_llvm_kernel *k, const tgi_phase_schedule *p,
                               accumulators *s)
{
    s->n = 0;
    for (unsigned i = 0; i < p->n_reductions; i++) {
        tgi_llvm_accumulator state;
        tgi_llvm_reduce_start(k, p->reductions[i], true, &state);
        for (unsigned j = 0; j < parts_of(k, p, i); j++)
            s->all[s->n++] = state.part[j];
    }
}

/* Calls `change` for each accumulator. */
static void update_accumulators(
    tgi_llvm_kernel *k, const tgi_phase_schedule *p, accumulators *s,
    void change(tgi_llvm_kernel *k, unsigned i, uint32_t reduction,
                tgi_llvm_accumulator *state, void *user),
    void *user)
{
    for (unsigned i = 0, at = 0; i < p->n_reductions; i++) {
        const unsigned n = parts_of(k, p, i);
        tgi_llvm_accumulator state;
        for (unsigned j = 0; j < n; j++)
            state.part[j] = s->all[at + j];
        change(k, i, p->reductions[i], &state, user);
        for (unsigned j = 0; j < n; j++)
            s->all[at + j] = state.part[j];
        at += n;
    }
}

/* -- Bodies ---------------------------------------------------------------- */

static void step_accumulator(tgi_llvm_kernel *k, unsigned i, uint32_t reduction,
                             tgi_llvm_accumulator *state, void *user)
{
    (void)i;
    (void)user;
    tgi_llvm_reduce_step(k, reduction, true, state);
}

static void reduce_vector(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef at,
                          accumulators *s)
{
    k->index[k->schedule->inner] = at;
    tgi_llvm_body_emit(k, phase);
    update_accumulators(k, &k->schedule->phases[phase], s, step_accumulator,
                        NULL);
}

/* Native min and max accumulate two vectors at 1.5 times the cost of one: they
   share the instructions for NaNs and signs. */
static void step_first(tgi_llvm_kernel *k, unsigned i, uint32_t reduction,
                       tgi_llvm_accumulator *state, void *user)
{
    LLVMValueRef *firsts = user;
    if (tgi_reduction_is_native_minmax(&k->loops->reductions.data[reduction]))
        firsts[i] =
            tgi_llvm_value_of(k, k->loops->reductions.data[reduction].value);
    else
        tgi_llvm_reduce_step(k, reduction, true, state);
}

static void step_second(tgi_llvm_kernel *k, unsigned i, uint32_t reduction,
                        tgi_llvm_accumulator *state, void *user)
{
    LLVMValueRef *firsts = user;
    if (tgi_reduction_is_native_minmax(&k->loops->reductions.data[reduction]))
        tgi_llvm_reduce_step_pair(k, reduction, firsts[i], state);
    else
        tgi_llvm_reduce_step(k, reduction, true, state);
}

static void reduce_two_vectors(tgi_llvm_kernel *k, unsigned phase,
                               LLVMValueRef at, accumulators *s)
{
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    LLVMValueRef firsts[TGI_MAX_PHASE_REDUCTIONS];
    k->index[k->schedule->inner] = at;
    tgi_llvm_body_emit(k, phase);
    update_accumulators(k, p, s, step_first, firsts);
    k->index[k->schedule->inner] = tgi_llvm_add(
        k->program, at, tgi_llvm_const_i64(k->program, k->e->lanes));
    tgi_llvm_body_emit(k, phase);
    update_accumulators(k, p, s, step_second, firsts);
}

/* -- Loops ----------------------------------------------------------------- */

typedef enum loop_kind { VECTORS, PAIRS, MASKED } loop_kind;

static void emit_loop(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef from,
                      LLVMValueRef to, loop_kind kind, accumulators *s)
{
    tgi_llvm_loop loop;
    if (tgi_llvm_are_equal_consts(from, to))
        return;
    tgi_llvm_loop_begin(k, &loop, from, to,
                        k->e->lanes * (kind == PAIRS ? 2 : 1), s->all, s->n);
    for (unsigned i = 0; i < s->n; i++)
        s->all[i] = loop.carried[i];
    if (kind == MASKED)
        k->mask = tgi_llvm_tail_mask(k, LLVMBuildSub(k->b, to, loop.index, ""));
    if (kind == PAIRS)
        reduce_two_vectors(k, phase, loop.index, s);
    else
        reduce_vector(k, phase, loop.index, s);
    k->mask = NULL;
    tgi_llvm_loop_end(k, &loop, s->all);
    for (unsigned i = 0; i < s->n; i++)
        s->all[i] = loop.carried[i];
}

static void halve_accumulator(tgi_llvm_kernel *k, unsigned i,
                              uint32_t reduction, tgi_llvm_accumulator *state,
                              void *user)
{
    (void)i;
    (void)user;
    tgi_llvm_reduce_halve(k, reduction, state);
}

static void finish_accumulator(tgi_llvm_kernel *k, unsigned i,
                               uint32_t reduction, tgi_llvm_accumulator *state,
                               void *user)
{
    LLVMValueRef *out = user;
    out[i] = tgi_llvm_reduce_finish(k, reduction, true, state);
}

static void halve_down_to(tgi_llvm_kernel *k, const tgi_phase_schedule *p,
                          unsigned lanes, accumulators *s)
{
    while (k->e->lanes > lanes) {
        update_accumulators(k, p, s, halve_accumulator, NULL);
        k->e->lanes /= 2;
    }
}

void tgi_llvm_rows_reassociable_emit(tgi_llvm_kernel *k, unsigned phase,
                                     LLVMValueRef from, LLVMValueRef to,
                                     LLVMValueRef *out)
{
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    accumulators s;
    k->e->lanes = tgi_phase_lanes(p);
    start_accumulators(k, p, &s);
    const unsigned n_unrolled = tgi_nest_unrolled(&p->nest);
    LLVMValueRef end =
        tgi_llvm_round_down(k, from, to, n_unrolled * tgi_phase_lanes(p));
    emit_loop(k, phase, from, end, n_unrolled > 1 ? PAIRS : VECTORS, &s);
    halve_down_to(k, p, tgi_nest_vector(&p->nest)->tail_lanes, &s);
    emit_loop(k, phase, end, to, k->e->lanes > 1 ? MASKED : VECTORS, &s);
    halve_down_to(k, p, 1, &s);
    update_accumulators(k, p, &s, finish_accumulator, out);
    k->index[k->schedule->inner] = NULL;
}

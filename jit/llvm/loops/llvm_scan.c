/* SPDX-License-Identifier: MIT */
/*
 * llvm_scan.c - steps along the inner axis of a kernel without reductions, in
 * order. Each leaves values for the next: in registers, which loops carry, or,
 * if all columns of a row go before the next row, in arrays on the stack.
 */
#include "llvm/loops/llvm_scan.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_poll.h"

#include <string.h>

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

/* The values before the first step, in the current lanes. */
static unsigned initial_values(tgi_llvm_kernel *k, LLVMValueRef *out)
{
    const tgi_inst *insts = k->loops->insts.data;
    unsigned n = 0;
    for (uint32_t i = 0; (i = next_carried(k, i));)
        out[n++] = tgi_llvm_constant(k->e, insts[i].dtype, insts[i].bits);
    return n;
}

void tgi_llvm_scan_emit(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef from,
                        LLVMValueRef to)
{
    const unsigned n_unrolled =
        tgi_nest_unrolled(&k->schedule->phases[phase].nest);
    LLVMValueRef values[TGI_LLVM_MAX_CARRIED];
    const unsigned n = initial_values(k, values);
    int64_t at, end;
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

/* -- Row order ------------------------------------------------------------- */

/* Values of the current lanes, which begin at `column`. */
static LLVMValueRef address_of(tgi_llvm_kernel *k, const tgi_llvm_wide_scan *w,
                               unsigned number, LLVMValueRef column)
{
    LLVMValueRef at = LLVMBuildSub(k->b, column, w->first, "");
    return LLVMBuildGEP2(k->b, tgi_llvm_element_type(k->e, w->dtypes[number]),
                         w->arrays[number], &at, 1, "");
}

static void store_values(tgi_llvm_kernel *k, const tgi_llvm_wide_scan *w,
                         LLVMValueRef column, const LLVMValueRef *values)
{
    for (unsigned i = 0; i < w->n; i++)
        LLVMSetAlignment(
            LLVMBuildStore(k->b, values[i], address_of(k, w, i, column)),
            (unsigned)tgi_dtype_bytes((int)w->dtypes[i]));
}

void tgi_llvm_wide_scan_init(tgi_llvm_kernel *k, tgi_llvm_wide_scan *w)
{
    *w = (tgi_llvm_wide_scan){0};
    for (uint32_t i = 0; (i = next_carried(k, i)); w->n++) {
        w->dtypes[w->n] = k->loops->insts.data[i].dtype;
        w->arrays[w->n] = tgi_llvm_stack_array(
            k, tgi_llvm_element_type(k->e, w->dtypes[w->n]),
            k->schedule->wide_columns);
    }
}

void tgi_llvm_wide_scan_start(tgi_llvm_kernel *k, tgi_llvm_wide_scan *w,
                              LLVMValueRef first, LLVMValueRef end)
{
    LLVMValueRef values[TGI_LLVM_MAX_CARRIED];
    tgi_llvm_loop loop;
    w->first = first;
    initial_values(k, values);
    tgi_llvm_loop_begin(k, &loop, first, end, k->e->lanes, NULL, 0);
    store_values(k, w, loop.index, values);
    tgi_llvm_loop_end(k, &loop, NULL);
}

void tgi_llvm_wide_scan_step(tgi_llvm_kernel *k, const tgi_llvm_wide_scan *w)
{
    LLVMValueRef row = k->index[k->schedule->inner];
    LLVMValueRef column = k->index[k->schedule->vector_axis];
    LLVMValueRef values[TGI_LLVM_MAX_CARRIED];
    for (unsigned i = 0; i < w->n; i++) {
        values[i] = LLVMBuildLoad2(k->b, tgi_llvm_type(k->e, w->dtypes[i]),
                                   address_of(k, w, i, column), "");
        LLVMSetAlignment(values[i],
                         (unsigned)tgi_dtype_bytes((int)w->dtypes[i]));
    }
    emit_scan_step(k, 0, row, values);
    k->index[k->schedule->inner] = row;
    store_values(k, w, column, values);
}

/* SPDX-License-Identifier: MIT */
/*
 * llvm_pairwise.c - pairwise combination of blocks (reduce_tree.h): a binary
 * counter with one partial result for each bit of the number of blocks. The
 * k-blocks of a MATMUL in a COLUMNS kernel are added in ascending order
 * instead, and have one partial result.
 */
#include "llvm/reduce/llvm_pairwise.h"
#include "schedule/schedule.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/reduce/llvm_reduce.h"

#include <string.h>

/* True if blocks are added in ascending order. */
static bool is_ascending(const tgi_llvm_kernel *k, uint32_t number)
{
    const tgi_reduction *reduction = &k->loops->reductions.data[number];
    return reduction->op == TGI_OP_MATMUL && k->loops->vectors == TGI_COLUMNS;
}

static LLVMTypeRef part_type(const tgi_llvm_kernel *k, uint32_t reduction)
{
    return tgi_llvm_type(k->e, k->loops->reductions.data[reduction].dtype);
}

/* Of an element: arrays of vectors are not aligned to more. */
static unsigned alignment(const tgi_llvm_kernel *k, uint32_t reduction)
{
    return (unsigned)tgi_dtype_bytes(
        k->loops->reductions.data[reduction].dtype);
}

void tgi_llvm_pairwise_begin(tgi_llvm_kernel *k, tgi_llvm_pairwise *pairwise,
                             const tgi_phase_schedule *phase)
{
    pairwise->phase = phase;
    for (unsigned i = 0; i < phase->n_reductions; i++) {
        const uint32_t number = phase->reductions[i];
        if (!tgi_reduction_is_arg(&k->loops->reductions.data[number]))
            pairwise->parts[i] = tgi_llvm_stack_array(
                k, part_type(k, number),
                is_ascending(k, number) ? 1 : TGI_PAIRWISE_LEVELS);
    }
}

static LLVMValueRef part_at(tgi_llvm_kernel *k,
                            const tgi_llvm_pairwise *pairwise, unsigned i,
                            LLVMValueRef level)
{
    return LLVMBuildGEP2(k->b, part_type(k, pairwise->phase->reductions[i]),
                         pairwise->parts[i], &level, 1, "");
}

static LLVMValueRef load_part(tgi_llvm_kernel *k,
                              const tgi_llvm_pairwise *pairwise, unsigned i,
                              LLVMValueRef level)
{
    LLVMValueRef part =
        LLVMBuildLoad2(k->b, part_type(k, pairwise->phase->reductions[i]),
                       part_at(k, pairwise, i, level), "");
    LLVMSetAlignment(part, alignment(k, pairwise->phase->reductions[i]));
    return part;
}

static void store_part(tgi_llvm_kernel *k, const tgi_llvm_pairwise *pairwise,
                       unsigned i, LLVMValueRef level, LLVMValueRef part)
{
    LLVMSetAlignment(LLVMBuildStore(k->b, part, part_at(k, pairwise, i, level)),
                     alignment(k, pairwise->phase->reductions[i]));
}

/* The reductions that are combined pairwise: their indices in the phase. */
static unsigned find_pairwise(const tgi_llvm_kernel *k,
                              const tgi_llvm_pairwise *pairwise, unsigned *out)
{
    unsigned n = 0;
    for (unsigned i = 0; i < pairwise->phase->n_reductions; i++)
        if (!tgi_reduction_is_arg(
                &k->loops->reductions.data[pairwise->phase->reductions[i]]) &&
            !is_ascending(k, pairwise->phase->reductions[i]))
            out[n++] = i;
    return n;
}

static void push_ascending(tgi_llvm_kernel *k, tgi_llvm_pairwise *pairwise,
                           unsigned i, LLVMValueRef block,
                           LLVMValueRef n_blocks)
{
    LLVMValueRef zero = tgi_llvm_const_i64(k->program, 0);
    LLVMValueRef is_later = LLVMBuildICmp(k->b, LLVMIntNE, n_blocks, zero, "");
    tgi_llvm_branch branch;
    tgi_llvm_branch_begin(k, &branch, is_later);
    LLVMValueRef sum =
        tgi_llvm_reduce_combine(k, pairwise->phase->reductions[i],
                                load_part(k, pairwise, i, zero), block);
    tgi_llvm_branch_end(k, &branch);
    sum = tgi_llvm_branch_value(k, &branch, sum, block);
    store_part(k, pairwise, i, zero, sum);
}

/* llvm.cttz or llvm.ctlz: trailing or leading zero bits. */
static LLVMValueRef count_zeros(tgi_llvm_kernel *k, const char *name,
                                LLVMValueRef bits)
{
    const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMTypeRef i64 = k->program->i64;
    LLVMValueRef operands[] = {bits, LLVMConstNull(k->program->bit)};
    return LLVMBuildCall2(
        k->b, LLVMIntrinsicGetType(k->e->context, id, &i64, 1),
        LLVMGetIntrinsicDeclaration(k->e->module, id, &i64, 1), operands, 2,
        "");
}

void tgi_llvm_pairwise_push(tgi_llvm_kernel *k, tgi_llvm_pairwise *pairwise,
                            const LLVMValueRef *blocks, LLVMValueRef n_blocks)
{
    unsigned indices[TGI_MAX_PHASE_REDUCTIONS];
    const unsigned n = find_pairwise(k, pairwise, indices);
    LLVMValueRef values[TGI_MAX_PHASE_REDUCTIONS];
    for (unsigned i = 0; i < pairwise->phase->n_reductions; i++)
        if (is_ascending(k, pairwise->phase->reductions[i]))
            push_ascending(k, pairwise, i, blocks[i], n_blocks);
    if (n == 0)
        return;

    for (unsigned i = 0; i < n; i++)
        values[i] = blocks[indices[i]];
    LLVMValueRef top =
        count_zeros(k, "llvm.cttz", LLVMBuildNot(k->b, n_blocks, ""));
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, tgi_llvm_const_i64(k->program, 0), top, 1,
                        values, n);
    for (unsigned i = 0; i < n; i++)
        values[i] = tgi_llvm_reduce_combine(
            k, pairwise->phase->reductions[indices[i]],
            load_part(k, pairwise, indices[i], loop.index), loop.carried[i]);
    tgi_llvm_loop_end(k, &loop, values);
    for (unsigned i = 0; i < n; i++)
        store_part(k, pairwise, indices[i], top, loop.carried[i]);
}

void tgi_llvm_pairwise_total(tgi_llvm_kernel *k, tgi_llvm_pairwise *pairwise,
                             LLVMValueRef n_blocks, LLVMValueRef *out_totals)
{
    unsigned indices[TGI_MAX_PHASE_REDUCTIONS];
    const unsigned n = find_pairwise(k, pairwise, indices);
    LLVMValueRef values[TGI_MAX_PHASE_REDUCTIONS];
    LLVMValueRef zero = tgi_llvm_const_i64(k->program, 0);
    LLVMValueRef one = tgi_llvm_const_i64(k->program, 1);
    for (unsigned i = 0; i < pairwise->phase->n_reductions; i++)
        if (is_ascending(k, pairwise->phase->reductions[i]))
            out_totals[i] = load_part(k, pairwise, i, zero);
    if (n == 0)
        return;

    /* From the last part to the first: upwards through the levels whose bit is
       set in n_blocks. */
    LLVMValueRef level = count_zeros(k, "llvm.cttz", n_blocks);
    for (unsigned i = 0; i < n; i++)
        values[i] = load_part(k, pairwise, indices[i], level);
    LLVMValueRef end = LLVMBuildSub(k->b, tgi_llvm_const_i64(k->program, 64),
                                    count_zeros(k, "llvm.ctlz", n_blocks), "");
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, tgi_llvm_add(k->program, level, one), end, 1,
                        values, n);
    LLVMValueRef bit = LLVMBuildAnd(
        k->b, LLVMBuildLShr(k->b, n_blocks, loop.index, ""), one, "");
    tgi_llvm_branch branch;
    tgi_llvm_branch_begin(k, &branch,
                          LLVMBuildICmp(k->b, LLVMIntNE, bit, zero, ""));
    for (unsigned i = 0; i < n; i++)
        values[i] = tgi_llvm_reduce_combine(
            k, pairwise->phase->reductions[indices[i]],
            load_part(k, pairwise, indices[i], loop.index), loop.carried[i]);
    tgi_llvm_branch_end(k, &branch);
    for (unsigned i = 0; i < n; i++)
        values[i] =
            tgi_llvm_branch_value(k, &branch, values[i], loop.carried[i]);
    tgi_llvm_loop_end(k, &loop, values);
    for (unsigned i = 0; i < n; i++)
        out_totals[indices[i]] = loop.carried[i];
}

void tgi_llvm_pairwise_reduce(tgi_llvm_kernel *k, unsigned phase,
                              LLVMValueRef from, LLVMValueRef to,
                              LLVMValueRef *out_totals)
{
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    tgi_llvm_pairwise pairwise;
    tgi_llvm_loop loop;
    tgi_llvm_pairwise_begin(k, &pairwise, p);
    tgi_llvm_loop_begin(k, &loop, from, to, 1, NULL, 0);
    k->index[k->schedule->inner] = loop.index;
    tgi_llvm_body_emit(k, phase);
    for (unsigned i = 0; i < p->n_reductions; i++)
        out_totals[i] = tgi_llvm_value_of(
            k, k->loops->reductions.data[p->reductions[i]].value);
    tgi_llvm_pairwise_push(k, &pairwise, out_totals, loop.index);
    tgi_llvm_loop_end(k, &loop, NULL);
    k->index[k->schedule->inner] = NULL;
    tgi_llvm_pairwise_total(k, &pairwise, to, out_totals);
}

/* SPDX-License-Identifier: MIT */
/*
 * llvm_flow.c - loops, branches and index arithmetic. Only a few LLVM passes
 * run, so trivial operations are folded here.
 */
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_program.h"

#include <assert.h>

/* -- Index arithmetic ------------------------------------------------------ */

LLVMValueRef tgi_llvm_const_i64(const tgi_llvm_program *program, int64_t n)
{
    return LLVMConstInt(program->i64, (uint64_t)n, true);
}

bool tgi_llvm_is_const_i64(LLVMValueRef value, int64_t *out_n)
{
    if (!LLVMIsAConstantInt(value))
        return false;
    *out_n = LLVMConstIntGetSExtValue(value);
    return true;
}

LLVMValueRef tgi_llvm_add(const tgi_llvm_program *program, LLVMValueRef a,
                          LLVMValueRef b)
{
    int64_t n;
    if (tgi_llvm_is_const_i64(a, &n) && n == 0)
        return b;
    if (tgi_llvm_is_const_i64(b, &n) && n == 0)
        return a;
    return LLVMBuildAdd(program->emitter.builder, a, b, "");
}

LLVMValueRef tgi_llvm_mul(const tgi_llvm_program *program, LLVMValueRef a,
                          LLVMValueRef b)
{
    int64_t n;
    if (tgi_llvm_is_const_i64(a, &n) && (n == 0 || n == 1))
        return n ? b : a;
    if (tgi_llvm_is_const_i64(b, &n) && (n == 0 || n == 1))
        return n ? a : b;
    return LLVMBuildMul(program->emitter.builder, a, b, "");
}

LLVMValueRef tgi_llvm_min(const tgi_llvm_program *program, LLVMValueRef a,
                          LLVMValueRef b)
{
    LLVMBuilderRef builder = program->emitter.builder;
    return LLVMBuildSelect(
        builder, LLVMBuildICmp(builder, LLVMIntSLT, a, b, ""), a, b, "");
}

LLVMValueRef tgi_llvm_ceil_div(const tgi_llvm_program *program, LLVMValueRef a,
                               int64_t b)
{
    assert(b > 0);
    if (b == 1)
        return a;
    LLVMValueRef sum =
        tgi_llvm_add(program, a, tgi_llvm_const_i64(program, b - 1));
    if (b & (b - 1))
        return LLVMBuildUDiv(program->emitter.builder, sum,
                             tgi_llvm_const_i64(program, b), "");
    return LLVMBuildLShr(
        program->emitter.builder, sum,
        tgi_llvm_const_i64(program, __builtin_ctzll((uint64_t)b)), "");
}

LLVMValueRef tgi_llvm_round_down(tgi_llvm_kernel *k, LLVMValueRef from,
                                 LLVMValueRef to, int64_t size)
{
    LLVMValueRef n = LLVMBuildSub(k->b, to, from, "");
    n = LLVMBuildAnd(k->b, n, tgi_llvm_const_i64(k->program, -size), "");
    return tgi_llvm_add(k->program, from, n);
}

bool tgi_llvm_are_equal_consts(LLVMValueRef a, LLVMValueRef b)
{
    int64_t m, n;
    return tgi_llvm_is_const_i64(a, &m) && tgi_llvm_is_const_i64(b, &n) &&
           m == n;
}

/* -- Blocks ---------------------------------------------------------------- */

LLVMBasicBlockRef tgi_llvm_block_append(tgi_llvm_kernel *k, const char *name)
{
    return LLVMAppendBasicBlockInContext(k->e->context, k->function, name);
}

/* LLVM would continue with the debug location of the terminator. */
static void position_before_terminator(LLVMBuilderRef b,
                                       LLVMBasicBlockRef block)
{
    LLVMMetadataRef location = LLVMGetCurrentDebugLocation2(b);
    LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(block));
    LLVMSetCurrentDebugLocation2(b, location);
}

LLVMBasicBlockRef tgi_llvm_position_at_entry(tgi_llvm_kernel *k)
{
    LLVMBasicBlockRef block = LLVMGetInsertBlock(k->b);
    position_before_terminator(k->b, k->entry);
    return block;
}

void tgi_llvm_position_restore(tgi_llvm_kernel *k, LLVMBasicBlockRef block)
{
    if (block == k->entry)
        position_before_terminator(k->b, block);
    else
        LLVMPositionBuilderAtEnd(k->b, block);
}

LLVMValueRef tgi_llvm_stack_array(tgi_llvm_kernel *k, LLVMTypeRef type,
                                  unsigned n)
{
    LLVMBasicBlockRef block = tgi_llvm_position_at_entry(k);
    LLVMValueRef array = LLVMBuildAlloca(k->b, LLVMArrayType2(type, n), "");
    LLVMSetAlignment(array, tgi_llvm_vector_bits(k) / 8);
    tgi_llvm_position_restore(k, block);
    return array;
}

/* -- Loops ----------------------------------------------------------------- */

static LLVMValueRef less_than(const tgi_llvm_kernel *k, LLVMValueRef a,
                              LLVMValueRef b)
{
    return LLVMBuildICmp(k->b, LLVMIntSLT, a, b, "");
}

static bool is_true(LLVMValueRef condition)
{
    int64_t truth;
    return tgi_llvm_is_const_i64(condition, &truth) && truth;
}

/* True if the body is known to run exactly once. */
static bool runs_once(LLVMValueRef start, LLVMValueRef end, int64_t step)
{
    int64_t first, last;
    return tgi_llvm_is_const_i64(start, &first) &&
           tgi_llvm_is_const_i64(end, &last) && first < last &&
           last - first <= step;
}

/* `is_any`: whether the body runs at all; NULL: it does. A body that runs once
   needs no blocks: LLVM spends a fifth of its time on loops. */
static void open_loop(tgi_llvm_kernel *k, tgi_llvm_loop *loop,
                      LLVMValueRef start, LLVMValueRef end, int64_t step,
                      LLVMValueRef is_any)
{
    loop->end = end;
    loop->step = step;
    loop->n_carried = 0;
    loop->runs_once = runs_once(start, end, step);
    if (loop->runs_once) {
        loop->index = start;
        return;
    }
    loop->before = LLVMGetInsertBlock(k->b);
    loop->body = tgi_llvm_block_append(k, "loop");
    loop->after = tgi_llvm_block_append(k, "after");
    loop->is_unconditional = !is_any || is_true(is_any);
    if (loop->is_unconditional)
        LLVMBuildBr(k->b, loop->body);
    else
        LLVMBuildCondBr(k->b, is_any, loop->body, loop->after);

    LLVMPositionBuilderAtEnd(k->b, loop->body);
    loop->index = LLVMBuildPhi(k->b, k->program->i64, "");
    LLVMAddIncoming(loop->index, &start, &loop->before, 1);
}

void tgi_llvm_loop_begin(tgi_llvm_kernel *k, tgi_llvm_loop *loop,
                         LLVMValueRef start, LLVMValueRef end, int64_t step,
                         const LLVMValueRef *initial, unsigned n_carried)
{
    assert(n_carried <= TGI_LLVM_MAX_CARRIED);
    open_loop(k, loop, start, end, step, less_than(k, start, end));
    loop->n_carried = n_carried;
    for (unsigned i = 0; i < n_carried; i++) {
        loop->initial[i] = loop->carried[i] = initial[i];
        if (loop->runs_once)
            continue;
        loop->carried[i] = LLVMBuildPhi(k->b, LLVMTypeOf(initial[i]), "");
        LLVMAddIncoming(loop->carried[i], &loop->initial[i], &loop->before, 1);
    }
}

void tgi_llvm_loop_begin_nonempty(tgi_llvm_kernel *k, tgi_llvm_loop *loop,
                                  LLVMValueRef start, LLVMValueRef end,
                                  int64_t step)
{
    open_loop(k, loop, start, end, step, NULL);
}

void tgi_llvm_loop_end(tgi_llvm_kernel *k, tgi_llvm_loop *loop,
                       const LLVMValueRef *next)
{
    if (loop->runs_once) {
        for (unsigned i = 0; i < loop->n_carried; i++)
            loop->carried[i] = next[i];
        return;
    }
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(k->b);
    LLVMValueRef index = LLVMBuildAdd(
        k->b, loop->index, tgi_llvm_const_i64(k->program, loop->step), "");
    LLVMBuildCondBr(k->b, less_than(k, index, loop->end), loop->body,
                    loop->after);
    LLVMAddIncoming(loop->index, &index, &latch, 1);

    LLVMPositionBuilderAtEnd(k->b, loop->after);
    LLVMBasicBlockRef from[] = {latch, loop->before};
    for (unsigned i = 0; i < loop->n_carried; i++) {
        LLVMValueRef values[] = {next[i], loop->initial[i]};
        LLVMAddIncoming(loop->carried[i], values, from, 1);
        loop->carried[i] = LLVMBuildPhi(k->b, LLVMTypeOf(next[i]), "");
        LLVMAddIncoming(loop->carried[i], values, from,
                        loop->is_unconditional ? 1 : 2);
    }
}

/* -- Branches -------------------------------------------------------------- */

void tgi_llvm_branch_begin(tgi_llvm_kernel *k, tgi_llvm_branch *branch,
                           LLVMValueRef condition)
{
    branch->is_unconditional = is_true(condition);
    if (branch->is_unconditional)
        return;
    branch->before = LLVMGetInsertBlock(k->b);
    branch->inside = tgi_llvm_block_append(k, "then");
    branch->after = tgi_llvm_block_append(k, "after");
    LLVMBuildCondBr(k->b, condition, branch->inside, branch->after);
    LLVMPositionBuilderAtEnd(k->b, branch->inside);
}

void tgi_llvm_jump_is_unlikely(LLVMValueRef jump)
{
    static const char kind[] = "prof", name[] = "branch_weights";
    enum { LIKELY_WEIGHT = 1 << 20 };
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(jump));
    LLVMTypeRef i32 = LLVMInt32TypeInContext(context);
    LLVMMetadataRef weights[] = {
        LLVMMDStringInContext2(context, name, sizeof(name) - 1),
        LLVMValueAsMetadata(LLVMConstInt(i32, 1, false)),
        LLVMValueAsMetadata(LLVMConstInt(i32, LIKELY_WEIGHT, false))};
    LLVMSetMetadata(
        jump, LLVMGetMDKindIDInContext(context, kind, sizeof(kind) - 1),
        LLVMMetadataAsValue(context,
                            LLVMMDNodeInContext2(context, weights, 3)));
}

void tgi_llvm_branch_is_unlikely(const tgi_llvm_branch *branch)
{
    if (!branch->is_unconditional)
        tgi_llvm_jump_is_unlikely(LLVMGetBasicBlockTerminator(branch->before));
}

void tgi_llvm_call_is_cold(const tgi_llvm_program *program, LLVMValueRef call)
{
    static const char cold[] = "cold";
    LLVMAddCallSiteAttribute(
        call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
        LLVMCreateEnumAttribute(
            program->emitter.context,
            LLVMGetEnumAttributeKindForName(cold, sizeof(cold) - 1), 0));
}

void tgi_llvm_branch_end(tgi_llvm_kernel *k, tgi_llvm_branch *branch)
{
    if (branch->is_unconditional)
        return;
    branch->inside = LLVMGetInsertBlock(k->b);
    LLVMBuildBr(k->b, branch->after);
    LLVMPositionBuilderAtEnd(k->b, branch->after);
}

LLVMValueRef tgi_llvm_branch_value(tgi_llvm_kernel *k,
                                   const tgi_llvm_branch *branch,
                                   LLVMValueRef inside, LLVMValueRef outside)
{
    if (branch->is_unconditional)
        return inside;
    LLVMValueRef phi = LLVMBuildPhi(k->b, LLVMTypeOf(inside), "");
    LLVMAddIncoming(phi, &inside, (LLVMBasicBlockRef[]){branch->inside}, 1);
    LLVMAddIncoming(phi, &outside, (LLVMBasicBlockRef[]){branch->before}, 1);
    return phi;
}

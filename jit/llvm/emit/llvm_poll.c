/* SPDX-License-Identifier: MIT */
/* llvm_poll.c - see llvm_poll.h. */
#include "llvm/emit/llvm_poll.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_program.h"
#include "schedule/schedule.h"

LLVMValueRef tgi_llvm_poll_call(const tgi_llvm_program *program,
                                LLVMValueRef hook, LLVMValueRef frame,
                                LLVMValueRef thread, LLVMValueRef begin,
                                LLVMValueRef end, LLVMValueRef item_cost)
{
    LLVMTypeRef i64 = program->i64;
    LLVMTypeRef parameters[] = {program->pointer, i64, i64, i64, i64};
    LLVMTypeRef type = LLVMFunctionType(i64, parameters, 5, false);
    LLVMValueRef arguments[] = {frame, thread, begin, end, item_cost};
    return LLVMBuildCall2(program->emitter.builder, type, hook, arguments, 5,
                          "");
}

void tgi_llvm_poll_frame(const tgi_llvm_program *program, LLVMValueRef function,
                         LLVMValueRef frame, LLVMValueRef thread)
{
    if (!program->has_polls)
        return;
    LLVMBuilderRef b = program->emitter.builder;
    LLVMContextRef context = program->emitter.context;
    LLVMBasicBlockRef poll =
        LLVMAppendBasicBlockInContext(context, function, "poll");
    LLVMBasicBlockRef next =
        LLVMAppendBasicBlockInContext(context, function, "polled");
    LLVMValueRef hook = tgi_llvm_frame_load(program, frame, TGI_FRAME_POLL);
    LLVMValueRef zero = tgi_llvm_const_i64(program, 0);
    LLVMBuildCondBr(b, LLVMBuildIsNotNull(b, hook, ""), poll, next);
    LLVMPositionBuilderAtEnd(b, poll);
    tgi_llvm_poll_call(program, hook, frame, thread, zero, zero, zero);
    LLVMBuildBr(b, next);
    LLVMPositionBuilderAtEnd(b, next);
}

void tgi_llvm_poll(tgi_llvm_kernel *k)
{
    tgi_llvm_poll_frame(k->program, k->function, k->frame, k->thread);
}

void tgi_llvm_poll_every(tgi_llvm_kernel *k, LLVMValueRef number, int64_t step,
                         int64_t n)
{
    if (!k->program->has_polls)
        return;
    tgi_llvm_branch branch;
    LLVMValueRef rest = LLVMBuildAnd(
        k->b, number, tgi_llvm_const_i64(k->program, n - 1), "");
    tgi_llvm_branch_begin(k, &branch,
                          LLVMBuildICmp(k->b, LLVMIntULT, rest,
                                        tgi_llvm_const_i64(k->program, step),
                                        ""));
    tgi_llvm_branch_is_unlikely(&branch);
    tgi_llvm_poll(k);
    tgi_llvm_branch_end(k, &branch);
}

bool tgi_llvm_has_long_rows(const tgi_llvm_kernel *k)
{
    const int inner = k->schedule->inner;
    const tgi_dim extent = k->loops->extent[inner];
    return !k->loops->is_straightline && !k->schedule->item_extent[inner] &&
           !k->schedule->split_block &&
           !(tgi_dim_is_known(extent) && extent <= TGI_LLVM_POLLED_ELEMENTS);
}

/* SPDX-License-Identifier: MIT */
/* llvm_cancel.c - see llvm_cancel.h. */
#include "llvm/emit/llvm_cancel.h"

#include "codegen/entry_abi.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_program.h"

tgi_llvm_cancel tgi_llvm_cancel_load(const tgi_llvm_program *program,
                                     LLVMValueRef frame)
{
    return (tgi_llvm_cancel){
        .word = tgi_llvm_frame_load(program, frame, TGI_FRAME_CANCEL_WORD),
        .seen = tgi_llvm_frame_load(program, frame, TGI_FRAME_CANCEL_SEEN)};
}

static LLVMValueRef must_end(const tgi_llvm_program *program,
                             LLVMValueRef frame, LLVMValueRef how)
{
    LLVMTypeRef parameters[] = {program->pointer, program->i64};
    LLVMTypeRef type = LLVMFunctionType(program->i32, parameters, 2, false);
    LLVMValueRef arguments[] = {
        frame, how ? how : tgi_llvm_const_i64(program, TGI_CANCEL_ALONE)};
    LLVMValueRef call = LLVMBuildCall2(
        program->emitter.builder, type,
        tgi_llvm_frame_load(program, frame, TGI_FRAME_MUST_END), arguments, 2,
        "");
    tgi_llvm_call_is_cold(program, call);
    return LLVMBuildICmp(program->emitter.builder, LLVMIntNE, call,
                         LLVMConstNull(program->i32), "");
}

void tgi_llvm_cancel_emit(const tgi_llvm_program *program,
                          LLVMValueRef function, LLVMValueRef frame,
                          tgi_llvm_cancel cancel, LLVMValueRef how,
                          LLVMBasicBlockRef target)
{
    LLVMBuilderRef b = program->emitter.builder;
    LLVMContextRef context = program->emitter.context;
    LLVMBasicBlockRef ask =
        LLVMAppendBasicBlockInContext(context, function, "must_end");
    LLVMBasicBlockRef next =
        LLVMAppendBasicBlockInContext(context, function, "next");
    LLVMValueRef now = LLVMBuildLoad2(b, program->i64, cancel.word, "");
    LLVMSetOrdering(now, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(now, 8);
    tgi_llvm_jump_is_unlikely(LLVMBuildCondBr(
        b, LLVMBuildICmp(b, LLVMIntNE, now, cancel.seen, ""), ask, next));
    LLVMPositionBuilderAtEnd(b, ask);
    LLVMBuildCondBr(b, must_end(program, frame, how), target, next);
    LLVMPositionBuilderAtEnd(b, next);
}

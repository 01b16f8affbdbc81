/* SPDX-License-Identifier: MIT */
/* llvm_stack.c - unbounded stacks of loops, which the frame grows. */
#include "llvm/emit/llvm_stack.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_program.h"

LLVMValueRef tgi_llvm_stack_is_full(const tgi_llvm_program *program,
                                    LLVMValueRef frame,
                                    const tgi_control_flow *loop,
                                    LLVMValueRef n_slices)
{
    LLVMBuilderRef b = program->emitter.builder;
    LLVMValueRef at =
        tgi_llvm_const_i64(program, tgi_stack_set_id_index(loop->stack_set));
    LLVMValueRef capacity = LLVMBuildLoad2(
        b, program->i64,
        LLVMBuildGEP2(b, program->i64,
                      tgi_llvm_frame_load(program, frame, TGI_FRAME_CAPACITY),
                      &at, 1, ""),
        "");
    return LLVMBuildICmp(b, LLVMIntSGE, n_slices, capacity, "");
}

LLVMValueRef tgi_llvm_stack_grow(const tgi_llvm_program *program,
                                 LLVMValueRef frame,
                                 const tgi_control_flow *loop,
                                 LLVMValueRef n_slices)
{
    LLVMTypeRef parameters[] = {program->pointer, program->i64, program->i64};
    LLVMTypeRef type = LLVMFunctionType(program->i32, parameters, 3, false);
    LLVMValueRef arguments[] = {
        frame,
        tgi_llvm_const_i64(program, tgi_stack_set_id_index(loop->stack_set)),
        n_slices};
    LLVMValueRef call = LLVMBuildCall2(
        program->emitter.builder, type,
        tgi_llvm_frame_load(program, frame, TGI_FRAME_GROW), arguments, 3, "");
    tgi_llvm_call_is_cold(program, call);
    return call;
}

/* SPDX-License-Identifier: MIT */
/*
 * llvm_check.c - checks in kernels. Failures are rare: a loop only tests
 * whether any lane failed; an out-of-line function then records the failure
 * under a lock.
 */
#include "llvm/emit/llvm_check.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/emit/llvm_target.h"

#include <stdint.h>

/* The value of failed_check while one thread holds the lock. */
#define LOCKED INT64_MIN

/* -- Recording a failure --------------------------------------------------- */

/*
 * void tg_check_failed(frame, number, position, index): keeps the failure with
 * the lowest number, and of these the one with the lowest position.
 */
void tgi_llvm_check_init(tgi_llvm_program *program)
{
    LLVMContextRef context = program->emitter.context;
    LLVMBuilderRef b = program->emitter.builder;
    LLVMTypeRef i64 = program->i64;
    LLVMTypeRef parameters[] = {program->pointer, i64, i64, i64};
    LLVMTypeRef type =
        LLVMFunctionType(program->void_type, parameters, 4, false);
    LLVMValueRef function =
        LLVMAddFunction(program->emitter.module, "tg_check_failed", type);
    LLVMSetLinkage(function, LLVMInternalLinkage);
    LLVMBasicBlockRef entry =
        LLVMAppendBasicBlockInContext(context, function, "");
    LLVMBasicBlockRef wait =
        LLVMAppendBasicBlockInContext(context, function, "wait");
    LLVMBasicBlockRef compare =
        LLVMAppendBasicBlockInContext(context, function, "compare");
    LLVMValueRef frame = LLVMGetParam(function, 0);
    LLVMValueRef number = LLVMGetParam(function, 1);
    LLVMValueRef position = LLVMGetParam(function, 2);
    LLVMValueRef locked = tgi_llvm_const_i64(program, LOCKED);

    LLVMPositionBuilderAtEnd(b, entry);
    LLVMValueRef check =
        tgi_llvm_frame_address(program, frame, TGI_FRAME_FAILED_CHECK);
    LLVMValueRef where =
        tgi_llvm_frame_address(program, frame, TGI_FRAME_FAILED_POSITION);
    LLVMValueRef which =
        tgi_llvm_frame_address(program, frame, TGI_FRAME_FAILED_INDEX);
    LLVMBuildBr(b, wait);

    LLVMPositionBuilderAtEnd(b, wait);
    LLVMValueRef old =
        LLVMBuildAtomicRMW(b, LLVMAtomicRMWBinOpXchg, check, locked,
                           LLVMAtomicOrderingSequentiallyConsistent, false);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, old, locked, ""), wait,
                    compare);

    LLVMPositionBuilderAtEnd(b, compare);
    LLVMValueRef own =
        LLVMBuildAdd(b, number, tgi_llvm_const_i64(program, 1), "");
    LLVMValueRef old_position = LLVMBuildLoad2(b, i64, where, "");
    LLVMValueRef is_none =
        LLVMBuildICmp(b, LLVMIntEQ, old, tgi_llvm_const_i64(program, 0), "");
    LLVMValueRef is_lower = LLVMBuildICmp(b, LLVMIntSLT, own, old, "");
    LLVMValueRef is_earlier = LLVMBuildAnd(
        b, LLVMBuildICmp(b, LLVMIntEQ, own, old, ""),
        LLVMBuildICmp(b, LLVMIntSLT, position, old_position, ""), "");
    LLVMValueRef is_first =
        LLVMBuildOr(b, is_none, LLVMBuildOr(b, is_lower, is_earlier, ""), "");
    LLVMBuildStore(b, LLVMBuildSelect(b, is_first, position, old_position, ""),
                   where);
    LLVMBuildStore(b,
                   LLVMBuildSelect(b, is_first, LLVMGetParam(function, 3),
                                   LLVMBuildLoad2(b, i64, which, ""), ""),
                   which);
    LLVMValueRef release =
        LLVMBuildStore(b, LLVMBuildSelect(b, is_first, own, old, ""), check);
    LLVMSetOrdering(release, LLVMAtomicOrderingRelease);
    LLVMSetAlignment(release, 8);
    LLVMBuildRetVoid(b);
    tgi_llvm_target_set_function(program->target, function,
                                 TGI_LLVM_ENTRY_BITS);
    program->check_handler = function;
}

void tgi_llvm_failed_check_record(const tgi_llvm_program *program,
                                  LLVMValueRef frame, uint32_t check)
{
    LLVMBuildStore(
        program->emitter.builder,
        tgi_llvm_const_i64(program, (int64_t)check + 1),
        tgi_llvm_frame_address(program, frame, TGI_FRAME_FAILED_CHECK));
}

/* -- Host steps ------------------------------------------------------------ */

LLVMValueRef tgi_llvm_host_call_emit(const tgi_llvm_program *program,
                                     LLVMValueRef frame, uint32_t number)
{
    LLVMTypeRef parameters[] = {program->pointer, program->i64};
    LLVMTypeRef type = LLVMFunctionType(program->i32, parameters, 2, false);
    LLVMValueRef arguments[] = {frame, tgi_llvm_const_i64(program, number)};
    return LLVMBuildCall2(program->emitter.builder, type,
                          tgi_llvm_frame_load(program, frame, TGI_FRAME_HOST),
                          arguments, 2, "");
}

void tgi_llvm_failed_host_record(const tgi_llvm_program *program,
                                 LLVMValueRef frame, uint32_t number)
{
    LLVMBuildStore(
        program->emitter.builder,
        tgi_llvm_const_i64(program, -1 - (int64_t)number),
        tgi_llvm_frame_address(program, frame, TGI_FRAME_FAILED_CHECK));
}

/* -- Checks ---------------------------------------------------------------- */

/* Where a check has failed. */
typedef struct failure {
    LLVMValueRef position, index; /* i64 */
} failure;

/* An integer of a dtype as i64. */
static LLVMValueRef extend(tgi_llvm_kernel *k, LLVMValueRef x, int dtype)
{
    return LLVMBuildIntCast2(k->b, x, k->program->i64,
                             tgi_dtype_is(dtype, TGI_CLASS_SINT), "");
}

/* The failure at the lowest position among the lanes in `mask`. */
static failure find_lowest(tgi_llvm_kernel *k, const tgi_loop_check *check,
                           LLVMValueRef mask)
{
    LLVMValueRef position = tgi_llvm_value_of(k, check->position);
    LLVMValueRef index = tgi_llvm_value_of(k, check->index);
    const int dtype = tgi_kernel_dtype(k->loops, check->index);
    if (k->e->lanes == 1)
        return (failure){position, extend(k, index, dtype)};
    LLVMTypeRef i64 = k->program->i64;
    failure lowest = {tgi_llvm_const_i64(k->program, INT64_MAX),
                      tgi_llvm_const_i64(k->program, 0)};
    for (unsigned i = 0; i < k->e->lanes; i++) {
        LLVMValueRef lane = LLVMConstInt(i64, i, false);
        LLVMValueRef here = LLVMBuildExtractElement(k->b, position, lane, "");
        LLVMValueRef bad = LLVMBuildExtractElement(k->b, index, lane, "");
        LLVMValueRef is_lower = LLVMBuildExtractElement(k->b, mask, lane, "");
        is_lower = LLVMBuildAnd(
            k->b, is_lower,
            LLVMBuildICmp(k->b, LLVMIntSLT, here, lowest.position, ""), "");
        lowest.position =
            LLVMBuildSelect(k->b, is_lower, here, lowest.position, "");
        lowest.index = LLVMBuildSelect(k->b, is_lower, extend(k, bad, dtype),
                                       lowest.index, "");
    }
    return lowest;
}

void tgi_llvm_check_emit(tgi_llvm_kernel *k, const tgi_loop_check *check)
{
    LLVMValueRef failed =
        LLVMBuildNot(k->b, tgi_llvm_mask_of(k, check->value), "");
    if (k->mask && k->e->lanes > 1)
        failed = LLVMBuildAnd(k->b, failed, k->mask, "");
    LLVMValueRef any = failed;
    if (k->e->lanes > 1) {
        LLVMTypeRef bits = LLVMIntTypeInContext(k->e->context, k->e->lanes);
        any = LLVMBuildICmp(k->b, LLVMIntNE,
                            LLVMBuildBitCast(k->b, failed, bits, ""),
                            LLVMConstNull(bits), "");
    }
    tgi_llvm_branch branch;
    tgi_llvm_branch_begin(k, &branch, any);
    tgi_llvm_branch_is_unlikely(&branch);
    const failure first = find_lowest(k, check, failed);
    LLVMValueRef arguments[] = {k->frame,
                                tgi_llvm_const_i64(k->program, check->number),
                                first.position, first.index};
    LLVMBuildCall2(k->b, LLVMGlobalGetValueType(k->program->check_handler),
                   k->program->check_handler, arguments, 4, "");
    tgi_llvm_branch_end(k, &branch);
}

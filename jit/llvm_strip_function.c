/* SPDX-License-Identifier: MIT */
/*
 * llvm_strip_function.c - ops that a program has often, as functions over
 * whole strips. Such a one is compiled once, and for a strip the call is
 * nothing. So a long chain of ops costs little more to compile than its
 * different ones.
 */
#include "llvm_strips.h"

#include <stdio.h>

LLVMTypeRef tgi_llvm_strip_function_type(const tgi_llvm_program *program,
                                         const tgi_inst *inst)
{
    LLVMTypeRef parameters[5];
    unsigned n = 0;
    while (n < inst->n_operands + 1u)
        parameters[n++] = program->pointer;
    parameters[n++] = program->i64;
    return LLVMFunctionType(program->nothing, parameters, n, false);
}

static LLVMValueRef address(tgi_llvm_kernel *k, tg_dtype dtype, unsigned param,
                            LLVMValueRef index)
{
    return LLVMBuildGEP2(k->b, tgi_llvm_element_type(k->e, dtype),
                         LLVMGetParam(k->function, param), &index, 1, "");
}

static void define(tgi_llvm_kernel *k, const tgi_inst *inst)
{
    const unsigned n = inst->n_operands;
    const tg_dtype dtype = inst->type;
    const unsigned bytes = (unsigned)tgi_dtype_bytes((int)dtype);
    k->entry = tgi_llvm_block(k, "entry");
    LLVMPositionBuilderAtEnd(k->b, k->entry);

    tgi_llvm_loop loop;
    tgi_llvm_loop_enter(k, &loop, tgi_llvm_number(k->program, 0),
                        LLVMGetParam(k->function, n + 1), k->e->lanes);
    tgi_emitted in[3] = {NULL};
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef value =
            LLVMBuildLoad2(k->b, tgi_llvm_type(k->e, dtype),
                           address(k, dtype, i, loop.index), "");
        LLVMSetAlignment(value, bytes);
        in[i] = value;
    }
    LLVMValueRef result =
        tgi_emit_recipe_of(inst->op, dtype)(&k->e->base, in);
    LLVMSetAlignment(
        LLVMBuildStore(k->b, result, address(k, dtype, n, loop.index)),
        bytes);
    tgi_llvm_loop_end(k, &loop, NULL);
    LLVMBuildRetVoid(k->b);
}

LLVMValueRef tgi_llvm_strip_function(tgi_llvm_kernel *k, const tgi_inst *inst,
                                     unsigned lanes)
{
    char name[64];
    snprintf(name, sizeof(name), "tg_strip_%s_%s_%u",
             tgi_op_table[inst->op].name, tgi_dtype_table[inst->type].name,
             lanes);
    LLVMValueRef function = LLVMGetNamedFunction(k->e->module, name);
    if (function)
        return function;
    function = LLVMAddFunction(
        k->e->module, name, tgi_llvm_strip_function_type(k->program, inst));
    LLVMSetLinkage(function, LLVMInternalLinkage);
    tgi_llvm_target_mark(k->program->target, function);

    LLVMBasicBlockRef block = LLVMGetInsertBlock(k->b);
    const unsigned before = k->e->lanes;
    k->e->lanes = lanes;
    tgi_llvm_kernel inner = {
        .program = k->program, .e = k->e, .b = k->b, .function = function};
    define(&inner, inst);
    k->e->lanes = before;
    LLVMPositionBuilderAtEnd(k->b, block);
    return function;
}

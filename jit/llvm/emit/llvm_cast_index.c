/* SPDX-License-Identifier: MIT */
/* llvm_cast_index.c - see llvm_cast_index.h. */
#include "llvm/emit/llvm_cast_index.h"
#include "llvm/emit/llvm_convert.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_program.h"

static uint32_t number_of(const tgi_llvm_kernel *k, const tgi_inst *inst)
{
    return (uint32_t)(inst - k->loops->insts.data);
}

static bool is_operand(const tgi_kernel_loops *loops, uint32_t number)
{
    for (uint32_t i = 1; i < loops->insts.n; i++) {
        const tgi_inst *user = &loops->insts.data[i];
        if (user->kind == TGI_INST_CARRIED && user->number == number)
            return true;
        for (unsigned j = 0; j < user->n_operands; j++)
            if (user->operands[j] == number)
                return true;
    }
    return false;
}

static bool is_output(const tgi_kernel_loops *loops, uint32_t number)
{
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].value == number)
            return true;
    for (size_t i = 0; i < loops->reductions.n; i++)
        if (loops->reductions.data[i].value == number ||
            loops->reductions.data[i].other == number)
            return true;
    for (size_t i = 0; i < loops->checks.n; i++) {
        const tgi_loop_check *check = &loops->checks.data[i];
        if (check->value == number || check->position == number ||
            check->index == number)
            return true;
    }
    return false;
}

/* How many accesses it is the index of; 0 if it is also a shift. */
static size_t count_indexed(const tgi_kernel_loops *loops, uint32_t number)
{
    size_t n = 0;
    for (size_t i = 0; i < loops->accesses.n; i++) {
        if (loops->accesses.data[i].shift == number)
            return 0;
        n += loops->accesses.data[i].index == number;
    }
    return n;
}

bool tgi_llvm_is_cast_index(const tgi_llvm_kernel *k, const tgi_inst *inst)
{
    const uint32_t number = number_of(k, inst);
    return inst->op == TGI_OP_CAST && inst->dtype == TG_I64 &&
           (inst->type == TG_F32 || inst->type == TG_F64) &&
           count_indexed(k->loops, number) > 0 &&
           !is_operand(k->loops, number) && !is_output(k->loops, number);
}

/* An access with this index has fewer than 2^31 elements, so the index has
   fewer than 32 bits. */
static bool is_small(const tgi_llvm_kernel *k, uint32_t number)
{
    for (size_t i = 0; i < k->loops->accesses.n; i++) {
        const tgi_access *access = &k->loops->accesses.data[i];
        const tgi_dim count =
            tgi_loops_buffer(k->program->loops, access->buffer)->count;
        if (access->index == number &&
            !tgi_stride_is_zero(access->index_stride) &&
            tgi_dim_is_known(count) && count <= INT32_MAX)
            return true;
    }
    return false;
}

LLVMValueRef tgi_llvm_cast_index(tgi_llvm_kernel *k, const tgi_inst *inst,
                                 LLVMValueRef x)
{
    const tg_dtype to = is_small(k, number_of(k, inst)) ? TG_I32 : TG_I64;
    /* One instruction of x86; what it makes 0 besides NaN would be truncated to
       0. */
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(x));
    LLVMValueRef is_positive = LLVMBuildFCmp(k->b, LLVMRealOGT, x, zero, "");
    x = LLVMBuildSelect(k->b, is_positive, x, zero, "");
    LLVMValueRef index = tgi_llvm_convert(k->e, inst->type, to, x);
    return to == TG_I64 ? index : tgi_llvm_convert(k->e, to, TG_I64, index);
}

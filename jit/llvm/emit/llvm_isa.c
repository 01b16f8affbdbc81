/* SPDX-License-Identifier: MIT */
/* llvm_isa.c - see llvm_isa.h. */
#include "llvm/emit/llvm_isa.h"

#include <string.h>

const tgi_llvm_isa *tgi_llvm_isa_of(tgi_isa isa, bool has_vnni)
{
    const tgi_llvm_isa *found = tgi_llvm_x86_isa(isa, has_vnni);
    return found ? found : tgi_llvm_aarch64_isa(isa);
}

LLVMValueRef tgi_llvm_isa_call(LLVMBuilderRef builder, const char *name,
                               LLVMValueRef *operands, unsigned n)
{
    LLVMModuleRef module = LLVMGetGlobalParent(
        LLVMGetBasicBlockParent(LLVMGetInsertBlock(builder)));
    const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(module, id, NULL, 0);
    return LLVMBuildCall2(builder, LLVMGlobalGetValueType(function), function,
                          operands, n, "");
}

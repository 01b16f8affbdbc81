/* SPDX-License-Identifier: MIT */
/* llvm_describe.c - version and host of LLVM, as text. */
#include "llvm/llvm_describe.h"

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <stdio.h>

void tgi_llvm_describe(char *buf, size_t n)
{
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);

    /* The caller disposes of these strings. */
    char *triple = LLVMGetDefaultTargetTriple();
    char *cpu = LLVMGetHostCPUName();
    char *features = LLVMGetHostCPUFeatures();

    snprintf(buf, n, "LLVM %u.%u.%u, %s, %s, %s", major, minor, patch, triple,
             cpu, features);

    LLVMDisposeMessage(features);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(triple);
}

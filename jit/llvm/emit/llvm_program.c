/* SPDX-License-Identifier: MIT */
/* llvm_program.c - failures of a compile. */
#include "llvm/emit/llvm_program.h"

bool tgi_llvm_fail(tgi_llvm_program *program, const char *why)
{
    if (!program->failure)
        program->failure = why;
    return false;
}

bool tgi_llvm_fail_memory(tgi_llvm_program *program)
{
    program->is_out_of_memory = true;
    return tgi_llvm_fail(program, "out of memory");
}

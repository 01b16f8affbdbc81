/* SPDX-License-Identifier: MIT */
/*
 * llvm_compile.h - from a finished module to the bytes of an object file.
 */
#ifndef TGI_LLVM_COMPILE_H
#define TGI_LLVM_COMPILE_H

#include "llvm/llvm_target.h"

typedef struct tgi_llvm_compiled {
    LLVMMemoryBufferRef object;
    /* For dumps, NULL if not wanted: text of the module before and after
       passes, and assembly. */
    char *ir_before;
    char *ir_after;
    LLVMMemoryBufferRef assembly;
    double passes_time; /* milliseconds of verifier and passes */
} tgi_llvm_compiled;

enum {
    TGI_LLVM_VERIFY = 1,  /* refuse a module that is not well-formed */
    TGI_LLVM_WANT_IR = 2, /* ir_before, ir_after */
    TGI_LLVM_WANT_ASSEMBLY = 4,
    TGI_LLVM_INSTRUMENT = 8, /* see llvm_instrument.h */
    TGI_LLVM_WANT_TEXT = TGI_LLVM_WANT_IR | TGI_LLVM_WANT_ASSEMBLY
};

/*
 * Compiles a module whose functions were all marked for the target, which must
 * be this thread's. The module is no good for anything after it but disposing
 * of. False if LLVM refuses; then `message` says why, cut at n bytes, and only
 * texts may be there. Deinit either way.
 */
bool tgi_llvm_compile(const tgi_llvm_target *target, LLVMModuleRef module,
                      unsigned flags, tgi_llvm_compiled *out_compiled,
                      char *message, size_t n);

/* Runs passes, named as `opt` takes them; false, and why, if LLVM refuses. */
bool tgi_llvm_run_passes(const tgi_llvm_target *target, LLVMModuleRef module,
                         const char *names, char *message, size_t n);

/* What the clock says; it starts anywhere. */
double tgi_llvm_clock_ms(void);

void tgi_llvm_compiled_deinit(tgi_llvm_compiled *compiled);

#endif /* TGI_LLVM_COMPILE_H */

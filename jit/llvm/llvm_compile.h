/* SPDX-License-Identifier: MIT */
/*
 * llvm_compile.h - compiles a finished module to an object file.
 */
#ifndef TGI_LLVM_COMPILE_H
#define TGI_LLVM_COMPILE_H

#include "llvm/emit/llvm_target.h"

typedef struct tgi_llvm_compiled {
    LLVMMemoryBufferRef object;
    /* For dumps: the module as text, before and after passes, and assembly;
       NULL if not requested. */
    char *ir_before;
    char *ir_after;
    LLVMMemoryBufferRef assembly;
    double passes_time; /* ms, of verifier and passes */
} tgi_llvm_compiled;

enum {
    TGI_LLVM_VERIFY = 1,  /* fail on malformed modules */
    TGI_LLVM_WANT_IR = 2, /* ir_before, ir_after */
    TGI_LLVM_WANT_ASSEMBLY = 4,
    TGI_LLVM_INSTRUMENT = 8, /* see llvm_instrument.h */
    TGI_LLVM_HAS_LINES = 16, /* assembly names the lines of debug information */
    TGI_LLVM_WANT_TEXT = TGI_LLVM_WANT_IR | TGI_LLVM_WANT_ASSEMBLY
};

/*
 * Compiles a module, each of whose functions had tgi_llvm_target_set_function,
 * for a target of this thread. Afterwards the module can only be disposed of.
 * On failure, returns false, writes the reason to `message` (truncated to n
 * bytes) and leaves `object` NULL; dump texts may be set. Deinit either way.
 */
bool tgi_llvm_compile(const tgi_llvm_target *target, LLVMModuleRef module,
                      unsigned flags, tgi_llvm_compiled *out_compiled,
                      char *message, size_t n);

/* Runs passes, named as for `opt -passes`. On failure, returns false and writes
   the reason to `message`. */
bool tgi_llvm_run_passes(const tgi_llvm_target *target, LLVMModuleRef module,
                         const char *names, char *message, size_t n);

/* Milliseconds of the monotonic clock, whose origin is arbitrary. */
double tgi_llvm_clock_ms(void);

void tgi_llvm_compiled_deinit(tgi_llvm_compiled *compiled);

#endif /* TGI_LLVM_COMPILE_H */

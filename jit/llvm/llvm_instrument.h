/* SPDX-License-Identifier: MIT */
/*
 * llvm_instrument.h - code that AddressSanitizer watches: loads and stores ask
 * the shadow memory first, and arrays on the stack have red zones, but for
 * those of which LLVM proves that nobody goes beyond their ends.
 *
 * For tests alone: it is several times slower, and only works in a process
 * that has the sanitizer's run time.
 */
#ifndef TGI_LLVM_INSTRUMENT_H
#define TGI_LLVM_INSTRUMENT_H

#include "llvm/llvm_target.h"

/* Instruments all functions of a module; false, and why, if that cannot be. */
bool tgi_llvm_instrument(const tgi_llvm_target *target, LLVMModuleRef module,
                         char *message, size_t n);

#endif /* TGI_LLVM_INSTRUMENT_H */

/* SPDX-License-Identifier: MIT */
/*
 * llvm_instrument.h - AddressSanitizer instrumentation of compiled code. Loads
 * and stores check the shadow memory; stack arrays have red zones unless LLVM
 * proves their accesses in bounds.
 *
 * For tests only: code is several times slower, and needs a process that has
 * the sanitizer's run-time library.
 */
#ifndef TGI_LLVM_INSTRUMENT_H
#define TGI_LLVM_INSTRUMENT_H

#include "llvm/emit/llvm_target.h"

/* Instruments all functions of a module. On failure, returns false and writes
   the reason to `message`, truncated to n bytes. */
bool tgi_llvm_instrument(const tgi_llvm_target *target, LLVMModuleRef module,
                         char *message, size_t n);

#endif /* TGI_LLVM_INSTRUMENT_H */

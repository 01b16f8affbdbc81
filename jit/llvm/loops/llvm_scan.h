/* SPDX-License-Identifier: MIT */
/* llvm_scan.h - steps along the inner axis, in order, with the values that each
   leaves for the next. */
#ifndef TGI_LLVM_SCAN_H
#define TGI_LLVM_SCAN_H

#include "llvm/emit/llvm_flow.h"

/* Steps from … to - 1 of a phase, with values in registers. */
void tgi_llvm_scan_emit(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef from,
                        LLVMValueRef to);

/* -- Row order ------------------------------------------------------------- */

/* The values of many columns, on the stack. */
typedef struct tgi_llvm_wide_scan {
    LLVMValueRef first; /* column */
    unsigned n;
    tg_dtype dtypes[TGI_LLVM_MAX_CARRIED];
    LLVMValueRef arrays[TGI_LLVM_MAX_CARRIED];
} tgi_llvm_wide_scan;

/* Allocates the arrays, of as many columns as the schedule says. */
void tgi_llvm_wide_scan_init(tgi_llvm_kernel *k, tgi_llvm_wide_scan *w);
/* Sets the values before the first step of columns first … end - 1, and up to
   a whole vector of the current lanes. */
void tgi_llvm_wide_scan_start(tgi_llvm_kernel *k, tgi_llvm_wide_scan *w,
                              LLVMValueRef first, LLVMValueRef end);
/* The current step of the columns in the current lanes. */
void tgi_llvm_wide_scan_step(tgi_llvm_kernel *k, const tgi_llvm_wide_scan *w);

#endif /* TGI_LLVM_SCAN_H */

/* SPDX-License-Identifier: MIT */
/* llvm_interchange.h - a loop along an outer axis inside the vector loop. */
#ifndef TGI_LLVM_INTERCHANGE_H
#define TGI_LLVM_INTERCHANGE_H

#include "llvm/emit/llvm_kernel_state.h"

/* The body of a vector loop (tgi_llvm_body_fn): hoisted insts, then a loop
   along the interchanged axis of the schedule, with the others and the
   stores. */
void tgi_llvm_interchanged_body_emit(tgi_llvm_kernel *k, unsigned phase,
                                     void *user);

#endif /* TGI_LLVM_INTERCHANGE_H */

/* SPDX-License-Identifier: MIT */
/*
 * llvm_straightline.h - a straight-line group: consecutive straight-line
 * kernels, or a loop of them, emitted into the entry.
 *
 *   llvm_straightline.c       kernels
 *   llvm_straightline_loop.c  loops and branches around them
 *   llvm_store_forwarding.c   stored elements as SSA values
 */
#ifndef TGI_LLVM_STRAIGHTLINE_H
#define TGI_LLVM_STRAIGHTLINE_H

#include "llvm/emit/llvm_store_forwarding.h"

/* -- llvm_straightline.c --------------------------------------------------- */

/* Begins a group of steps first … end - 1 in the current block; NULL after
   tgi_llvm_fail. */
tgi_llvm_straightline *tgi_llvm_straightline_begin(tgi_llvm_kernel *entry,
                                                   size_t first, size_t end);
/* Emits a kernel; false after tgi_llvm_fail. */
bool tgi_llvm_straightline_kernel_emit(tgi_llvm_straightline *group,
                                       const tgi_kernel_loops *loops);
void tgi_llvm_straightline_end(tgi_llvm_straightline *group);

/* -- llvm_straightline_loop.c ---------------------------------------------- */

/* Emits the straight-line loop that begins at step `at`; returns the step after
   it. */
size_t tgi_llvm_straightline_loop_emit(tgi_llvm_kernel *n, size_t at);

#endif /* TGI_LLVM_STRAIGHTLINE_H */

/* SPDX-License-Identifier: MIT */
/*
 * llvm_straightline.h - a stretch of straight-line code in the entry: between
 * llvm_straightline.c, which emits kernels, and llvm_straightline_loop.c, which emits loops
 * and branches around them.
 */
#ifndef TGI_LLVM_STRAIGHTLINE_H
#define TGI_LLVM_STRAIGHTLINE_H

#include "llvm/llvm_entry.h"
#include "llvm/llvm_store_forwarding.h"

/* What was loaded before a loop. */
typedef struct tgi_llvm_hoisted_load {
    uint32_t buffer;
    unsigned lanes;
    int64_t first;
    LLVMValueRef value;
} tgi_llvm_hoisted_load;

enum { TGI_LLVM_MAX_HOISTED_LOADS = 64 };

struct tgi_llvm_straightline {
    tgi_llvm_program *program;
    LLVMValueRef function, frame, table, thread;
    LLVMBasicBlockRef entry;        /* addresses are loaded here */
    LLVMValueRef *buffers;          /* by buffer: its address */
    tgi_llvm_forwarded **forwarded; /* by buffer: its elements; NULL: none */
    bool *is_stored;                /* by buffer: something is stored to it */
    bool *is_value;    /* by buffer: carried by a loop, not in memory */
    bool hoists_loads; /* what is not stored to: before the loop */
    unsigned n_hoisted;
    tgi_llvm_hoisted_load hoisted[TGI_LLVM_MAX_HOISTED_LOADS];
};

/* -- llvm_straightline.c ----------------------------------------------------------- */

/* Begins in the block where the builder stands, for steps first … end - 1;
   NULL after tgi_llvm_fail. */
tgi_llvm_straightline *tgi_llvm_straightline_begin(tgi_llvm_entry *entry,
                                                   size_t first, size_t end);
/* Emits all of a kernel; false after tgi_llvm_fail. */
bool tgi_llvm_straightline_kernel_emit(tgi_llvm_straightline *straightline,
                                       const tgi_kernel_loops *loops);
void tgi_llvm_straightline_end(tgi_llvm_straightline *straightline);

/* -- llvm_straightline_loop.c ------------------------------------------------------ */

/* The straightline loop that begins at step `at`; gives the step after it. */
size_t tgi_llvm_straightline_loop_emit(tgi_llvm_entry *n, size_t at);

#endif /* TGI_LLVM_STRAIGHTLINE_H */

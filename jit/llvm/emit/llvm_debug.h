/* SPDX-License-Identifier: MIT */
/*
 * llvm_debug.h - debug information: the line of the user's program that traced
 * an operation becomes the location of the code emitted for it.
 *
 * It is emitted on request only. Without it `program->debug` is NULL and these
 * functions do nothing. It does not change the code.
 *
 * The builder has a current location, which every instruction gets. A function
 * begins with the line that causes most of its work; loops and addresses have
 * it. Insts, stores and reductions set their own and restore the one before.
 */
#ifndef TGI_LLVM_DEBUG_H
#define TGI_LLVM_DEBUG_H

#include "llvm/emit/llvm_kernel_state.h"

/* Creates program->debug. Relative file names are relative to `directory`.
   False, with a recorded failure, when out of memory. */
bool tgi_llvm_debug_init(tgi_llvm_program *program, const char *directory);
/* Completes the debug information of the module, after all functions. */
void tgi_llvm_debug_finish(tgi_llvm_program *program);
void tgi_llvm_debug_deinit(tgi_llvm_program *program);

/* The sites of inlined code, by discriminator of .loc directives, from 1. The
   caller frees the array. False, with a recorded failure, when out of
   memory. */
bool tgi_llvm_debug_inlined_sites(tgi_llvm_program *program,
                                  const tgi_site_chain ***out_sites,
                                  size_t *out_n);

/* -- Functions ------------------------------------------------------------- */

/* The function and location of the code under construction. */
typedef struct tgi_llvm_debug_place {
    LLVMMetadataRef scope, location;
} tgi_llvm_debug_place;

/* Code is emitted to `function` from now on, at first for `site`; NULL: its
   code has no lines. Returns the place before. */
tgi_llvm_debug_place tgi_llvm_debug_enter(tgi_llvm_program *program,
                                          LLVMValueRef function,
                                          const tgi_site_chain *site);
void tgi_llvm_debug_leave(tgi_llvm_program *program,
                          tgi_llvm_debug_place before);

/*
 * As tgi_llvm_debug_enter, for a function that several kernels may call. Its
 * code has lines only if all its calls are of the same line. Else the frame of
 * its caller has the line.
 */
tgi_llvm_debug_place tgi_llvm_debug_enter_shared(tgi_llvm_kernel *k,
                                                 LLVMValueRef function);
/* To be called before each call of such a function is emitted. */
void tgi_llvm_debug_call(tgi_llvm_kernel *k, LLVMValueRef function);

/* -- Locations ------------------------------------------------------------- */

/* Fills k->sites: by inst, the line of its code. A load has that of its first
   user. */
void tgi_llvm_debug_find_sites(tgi_llvm_kernel *k);

/* Sets the location of code emitted from now on, unless it is NULL.
   Returns the one before, for tgi_llvm_debug_restore. */
LLVMMetadataRef tgi_llvm_debug_set(tgi_llvm_program *program,
                                   const tgi_site_chain *site);
/* The code of a phase outside insts: of its reduction, or its first store. */
LLVMMetadataRef tgi_llvm_debug_set_phase(tgi_llvm_kernel *k, unsigned phase);
LLVMMetadataRef tgi_llvm_debug_set_inst(tgi_llvm_kernel *k, uint32_t number);
LLVMMetadataRef tgi_llvm_debug_set_store(tgi_llvm_kernel *k,
                                         const tgi_loop_store *store);
LLVMMetadataRef tgi_llvm_debug_set_reduction(tgi_llvm_kernel *k,
                                             uint32_t number);
void tgi_llvm_debug_restore(tgi_llvm_program *program, LLVMMetadataRef before);

#endif /* TGI_LLVM_DEBUG_H */

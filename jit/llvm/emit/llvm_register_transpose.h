/* SPDX-License-Identifier: MIT */
/* llvm_register_transpose.h - copies that transpose in registers. */
#ifndef TGI_LLVM_REGISTER_TRANSPOSE_H
#define TGI_LLVM_REGISTER_TRANSPOSE_H

#include "llvm/emit/llvm_kernel_state.h"

/* Lines of elements: element e of line l is at start + l * line + e, or - e if
   the lines are reversed. */
typedef struct tgi_llvm_line_array {
    LLVMValueRef start, line;
    bool is_reversed;
} tgi_llvm_line_array;

/* to[e][l] = from[l][e], for all l < n_lines and e < n_elements. */
typedef struct tgi_llvm_register_transpose {
    tgi_llvm_kernel *k;
    LLVMTypeRef element;
    unsigned bytes; /* of an element */
    tgi_llvm_line_array from, to;
    LLVMValueRef n_lines, n_elements;
    unsigned prefetch_distance; /* elements of a line; 0: no prefetch */
} tgi_llvm_register_transpose;

/* `lines_first`: the inner loop runs along elements; else along lines. */
void tgi_llvm_register_transpose_emit(const tgi_llvm_register_transpose *t,
                                      bool lines_first);

/* Copies n columns that an access reads and that are contiguous in memory, of
   n_rows rows from k->index on, into rows of `width` elements. */
void tgi_llvm_transpose_columns(tgi_llvm_kernel *k, const tgi_access *access,
                                LLVMValueRef to, unsigned width, LLVMValueRef n,
                                LLVMValueRef n_rows);

#endif /* TGI_LLVM_REGISTER_TRANSPOSE_H */

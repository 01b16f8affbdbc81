/* SPDX-License-Identifier: MIT */
/* llvm_describe.h - version and host of LLVM, as text. */
#ifndef TGI_LLVM_DESCRIBE_H
#define TGI_LLVM_DESCRIBE_H

#include <stddef.h>

/* "LLVM 19.1.7, TRIPLE, CPU, +fma,…" into `buf`, truncated to n bytes. */
void tgi_llvm_describe(char *buf, size_t n);

#endif /* TGI_LLVM_DESCRIBE_H */

/* SPDX-License-Identifier: MIT */
/*
 * jit.h - the one door from the front to the code generator.
 *
 * LLVM is behind it, in the module libtgjit-llvm, which is opened at the
 * first call that needs it and stays open for the life of the process.
 * Whatever stands on this side works without LLVM.
 */
#ifndef TGI_JIT_H
#define TGI_JIT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Says what the code generator is: LLVM's version, the target triple, the
 * host's CPU and its features, as one line in `buf` (at most `n` bytes with
 * the ending NUL, cut if longer). False if there is none; `buf` then holds
 * the reason. Thread-safe.
 */
bool tgi_jit_describe(char *buf, size_t n);

#endif /* TGI_JIT_H */

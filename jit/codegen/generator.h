/* SPDX-License-Identifier: MIT */
/*
 * generator.h - the state of the code generator, a plugin (plugin.h) that is
 * opened on the first compile and stays open for the life of the process.
 */
#ifndef TGI_GENERATOR_H
#define TGI_GENERATOR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Describes the code generator: LLVM's version, the target triple, the host's
 * CPU and its features, as one line in `buf` (at most `n` bytes with the
 * ending NUL, truncated if longer). False if there is none; `buf` then holds
 * the reason. Thread-safe.
 */
bool tgi_jit_describe(char *buf, size_t n);

/* True if an earlier compile found no code generator. */
bool tgi_jit_is_unavailable(void);

/* True while the process exits: nothing more is compiled. */
bool tgi_jit_is_exiting(void);

/* Makes the calling thread, if it calls exit(), wait for compiles under way on
   other threads. */
void tgi_jit_wait_at_exit(void);

#endif /* TGI_GENERATOR_H */

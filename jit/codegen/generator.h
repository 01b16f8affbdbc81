/* SPDX-License-Identifier: MIT */
/*
 * generator.h - the state of the code generator, a plugin (plugin.h) that the
 * first compile loads and that is never unloaded. All functions are
 * thread-safe.
 */
#ifndef TGI_GENERATOR_H
#define TGI_GENERATOR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Describes the code generator in one line: LLVM's version, the target triple,
 * the host's CPU and features. Writes at most n bytes including the NUL to
 * `buf`. Loads the plugin; if that fails, returns false with the reason in
 * `buf`.
 */
bool tgi_jit_describe(char *buf, size_t n);

/* True if the plugin could not be loaded. */
bool tgi_jit_is_unavailable(void);

/* True while the process exits: compiles are rejected. */
bool tgi_jit_is_exiting(void);

/* If the calling thread later calls exit(), it first waits for compiles on
   other threads. */
void tgi_jit_wait_at_exit(void);

#endif /* TGI_GENERATOR_H */

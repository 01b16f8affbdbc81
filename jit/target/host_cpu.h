/* SPDX-License-Identifier: MIT */
/*
 * host_cpu.h - the identity of the host CPU, without LLVM, for cache keys, and
 * what LLVM does not say about it.
 */
#ifndef TGI_HOST_CPU_H
#define TGI_HOST_CPU_H

#include <stdbool.h>

/* A text that differs between CPUs that may need different code. Static.
   Thread-safe. */
const char *tgi_host_cpu(void);

/* True if rep stosb stores whole cache lines (ERMS). Thread-safe. */
bool tgi_host_has_string_stores(void);

#endif /* TGI_HOST_CPU_H */

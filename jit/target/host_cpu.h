/* SPDX-License-Identifier: MIT */
/*
 * host_cpu.h - the identity of the host CPU, without LLVM, for cache keys.
 */
#ifndef TGI_HOST_CPU_H
#define TGI_HOST_CPU_H

/* A text that differs between CPUs that may need different code. Static.
   Thread-safe. */
const char *tgi_host_cpu(void);

#endif /* TGI_HOST_CPU_H */

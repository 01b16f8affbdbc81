/* SPDX-License-Identifier: MIT */
/*
 * host_cpu.h - which processor this is, without LLVM: for keys of caches.
 */
#ifndef TGI_HOST_CPU_H
#define TGI_HOST_CPU_H

/* A text that is different for processors that may need different code. */
const char *tgi_host_cpu(void);

#endif /* TGI_HOST_CPU_H */

/* SPDX-License-Identifier: MIT */
/*
 * initial_exec_tls.h - the initial-exec TLS model: a shared library accesses
 * such variables without calling __tls_get_addr. Use it for a few bytes only:
 * libraries loaded by dlopen share a small static TLS reserve.
 */
#ifndef TGI_INITIAL_EXEC_TLS_H
#define TGI_INITIAL_EXEC_TLS_H

#include <limits.h> /* defines __GLIBC__ */

#ifdef __GLIBC__
#define TGI_INITIAL_EXEC_TLS __attribute__((tls_model("initial-exec")))
#else
#define TGI_INITIAL_EXEC_TLS
#endif

#endif /* TGI_INITIAL_EXEC_TLS_H */

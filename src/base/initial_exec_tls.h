/* SPDX-License-Identifier: MIT */
/*
 * initial_exec_tls.h - thread-local memory that code of a shared library reaches
 * without a call. For a few bytes only: where the library is opened at run
 * time, all that ask for this share a small reserve of the C library.
 */
#ifndef TGI_INITIAL_EXEC_TLS_H
#define TGI_INITIAL_EXEC_TLS_H

#include <limits.h> /* says which C library it is */

#ifdef __GLIBC__
#define TGI_INITIAL_EXEC_TLS __attribute__((tls_model("initial-exec")))
#else
#define TGI_INITIAL_EXEC_TLS
#endif

#endif /* TGI_INITIAL_EXEC_TLS_H */

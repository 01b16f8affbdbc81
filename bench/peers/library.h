/* SPDX-License-Identifier: MIT */
/*
 * library.h - other libraries to compare with. They are opened at run time, so
 * that no build needs them and none sees the names of another: two have a
 * cblas_sgemm. What is called of them is declared where it is used.
 */
#ifndef BENCH_PEERS_LIBRARY_H
#define BENCH_PEERS_LIBRARY_H

#include <stddef.h>

#include "backend.h"

/* Each is called once, before its kernels. False, with the reason, if the
   library is not installed. */
bool openblas_open(reason *out_why);
bool blis_open(reason *out_why);
bool onednn_open(reason *out_why);
bool libxsmm_open(reason *out_why);

/* A function of a library, and where its address goes. */
typedef struct library_function {
    const char *name;
    void *out_address; /* of a pointer to such a function */
} library_function;

/* Opens the library, for good, and finds its functions; NULL ends them. */
bool library_open(const char *file, const library_function *functions,
                  reason *out_why);

#endif /* BENCH_PEERS_LIBRARY_H */

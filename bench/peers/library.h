/* SPDX-License-Identifier: MIT */
/*
 * library.h - other libraries to compare with. They are loaded at run time, so
 * that no build needs them and their symbols do not clash (two define
 * cblas_sgemm). Their functions are declared where they are used.
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

/* A function of a library, and the pointer that receives its address. */
typedef struct library_function {
    const char *name;
    void *out_address; /* points to a function pointer */
} library_function;

/* Loads a library permanently and resolves functions, up to one named NULL. */
bool library_open(const char *file, const library_function *functions,
                  reason *out_why);

#endif /* BENCH_PEERS_LIBRARY_H */

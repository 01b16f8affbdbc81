/* SPDX-License-Identifier: MIT */
/*
 * system_faults.h - calls of the system that fail on request. The program is
 * linked with --wrap for each of them, so that the library's own calls come
 * here; those of libc, LLVM and the test do not.
 */
#ifndef TGI_TEST_SYSTEM_FAULTS_H
#define TGI_TEST_SYSTEM_FAULTS_H

#include <stdbool.h>

/* Each has its __wrap_ function in system_faults.c. */
#define SYSTEM_CALLS(X) \
    X(open) X(openat) X(read) X(pread) X(write) X(renameat) X(mmap) \
    X(mprotect) X(pthread_create) X(fsync) X(fstat) X(mkdir) X(ftruncate)

typedef enum system_call {
#define NUMBER(name) SYSTEM_##name,
    SYSTEM_CALLS(NUMBER)
#undef NUMBER
    SYSTEM_N_CALLS
} system_call;

extern const char *const system_call_names[SYSTEM_N_CALLS];

/* How a call fails. */
typedef enum system_fault {
    FAULT_ERROR,       /* as a full or broken system would */
    FAULT_ERROR_EVER,  /* the same, and all later ones of this kind too */
    FAULT_INTERRUPTED, /* read, pread, write, open: EINTR, once */
    FAULT_SHORT,       /* read, pread, write: half of the bytes, from then on */
    N_FAULTS
} system_fault;

/* Call n (from 0) of this kind fails from now on; n < 0: none. Returns how many
   there have been since the last such request. */
long system_fault_inject(system_call call, long n, system_fault fault);

#endif /* TGI_TEST_SYSTEM_FAULTS_H */

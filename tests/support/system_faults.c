/* SPDX-License-Identifier: MIT */
/*
 * system_faults.c - see system_faults.h.
 */
#include "support/system_faults.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>

const char *const system_call_names[SYSTEM_N_CALLS] = {
#define NAME(name) #name,
    SYSTEM_CALLS(NAME)
#undef NAME
};

static atomic_int which = -1, how;
static atomic_long n_calls, failing;

long system_fault_inject(system_call call, long n, system_fault fault)
{
    atomic_store(&which, -1);
    const long n_before = atomic_exchange(&n_calls, 0);
    atomic_store(&failing, n);
    atomic_store(&how, (int)fault);
    atomic_store(&which, (int)call);
    return n_before;
}

/* Counts a call: the fault that it has; N_FAULTS: none. */
static system_fault fault_of(system_call call)
{
    if (atomic_load(&which) != (int)call)
        return N_FAULTS;
    const long n = atomic_fetch_add(&n_calls, 1), at = atomic_load(&failing);
    const system_fault fault = (system_fault)atomic_load(&how);
    const bool lasts = fault == FAULT_ERROR_EVER || fault == FAULT_SHORT;
    return at >= 0 && (n == at || (lasts && n > at)) ? fault : N_FAULTS;
}

/* True if the call fails, with errno set. */
static bool fails(system_call call, int reason)
{
    const system_fault fault = fault_of(call);
    if (fault == N_FAULTS || fault == FAULT_SHORT)
        return false;
    errno = fault == FAULT_INTERRUPTED ? EINTR : reason;
    return true;
}

/* The same for a transfer, which may be shortened instead. */
static bool transfer_fails(system_call call, int reason, size_t *n)
{
    const system_fault fault = fault_of(call);
    if (fault == FAULT_SHORT)
        *n = *n > 1 ? *n / 2 : *n;
    if (fault == N_FAULTS || fault == FAULT_SHORT)
        return false;
    errno = fault == FAULT_INTERRUPTED ? EINTR : reason;
    return true;
}

#define WRAPPED(type, name, ...) \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__)

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = va_arg(args, mode_t); /* garbage if not passed */
    va_end(args);
    return fails(SYSTEM_open, EMFILE) ? -1 : __real_open(path, flags, mode);
}

int __real_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = va_arg(args, mode_t);
    va_end(args);
    return fails(SYSTEM_openat, ENFILE)
               ? -1
               : __real_openat(folder, path, flags, mode);
}

WRAPPED(ssize_t, read, int file, void *to, size_t n)
{
    return transfer_fails(SYSTEM_read, EIO, &n) ? -1 : __real_read(file, to, n);
}

WRAPPED(ssize_t, pread, int file, void *to, size_t n, off_t at)
{
    return transfer_fails(SYSTEM_pread, EIO, &n)
               ? -1
               : __real_pread(file, to, n, at);
}

WRAPPED(ssize_t, write, int file, const void *from, size_t n)
{
    return transfer_fails(SYSTEM_write, ENOSPC, &n)
               ? -1
               : __real_write(file, from, n);
}

WRAPPED(int, renameat, int from, const char *old, int to, const char *name)
{
    return fails(SYSTEM_renameat, EACCES)
               ? -1
               : __real_renameat(from, old, to, name);
}

WRAPPED(void *, mmap, void *address, size_t n, int access, int flags, int file,
        off_t at)
{
    return fails(SYSTEM_mmap, ENOMEM)
               ? MAP_FAILED
               : __real_mmap(address, n, access, flags, file, at);
}

WRAPPED(int, mprotect, void *address, size_t n, int access)
{
    return fails(SYSTEM_mprotect, EACCES)
               ? -1
               : __real_mprotect(address, n, access);
}

WRAPPED(int, pthread_create, pthread_t *thread, const pthread_attr_t *how_to,
        void *(*function)(void *), void *user)
{
    return fails(SYSTEM_pthread_create, EAGAIN)
               ? EAGAIN
               : __real_pthread_create(thread, how_to, function, user);
}

WRAPPED(int, fsync, int file)
{
    return fails(SYSTEM_fsync, EIO) ? -1 : __real_fsync(file);
}

WRAPPED(int, fstat, int file, struct stat *out)
{
    return fails(SYSTEM_fstat, EIO) ? -1 : __real_fstat(file, out);
}

WRAPPED(int, mkdir, const char *path, mode_t mode)
{
    return fails(SYSTEM_mkdir, EROFS) ? -1 : __real_mkdir(path, mode);
}

WRAPPED(int, ftruncate, int file, off_t n)
{
    return fails(SYSTEM_ftruncate, ENOSPC) ? -1 : __real_ftruncate(file, n);
}

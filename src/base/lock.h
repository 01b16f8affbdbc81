/* SPDX-License-Identifier: MIT */
/*
 * lock.h - the lock of a variable group: a futex-based mutex that detects
 * recursive acquisition. An uncontended acquire needs no system call, and an
 * uncontended release no atomic exchange. A thread that has waited for a
 * millisecond is next: other threads can no longer overtake it.
 */
#ifndef TGI_LOCK_H
#define TGI_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct tgi_lock {
    _Atomic uint32_t state;     /* 0 free, 1 held, 2 free for late threads */
    _Atomic uint32_t n_blocked; /* threads that wait for the lock */
    _Atomic uint32_t n_late;    /* those that have waited for long */
    _Atomic uintptr_t owner;    /* identifies the owning thread; 0: none */
} tgi_lock;

/* False, without blocking, if the calling thread already holds the lock. */
bool tgi_lock_acquire(tgi_lock *lock);
void tgi_lock_release(tgi_lock *lock);
/* The calling thread, as `owner` has it. */
uintptr_t tgi_lock_self(void);
/* True if the calling thread holds the lock. */
bool tgi_lock_is_owned(const tgi_lock *lock);

#endif /* TGI_LOCK_H */

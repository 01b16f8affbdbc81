/* SPDX-License-Identifier: MIT */
/*
 * lock.h - the lock of a variable group: a few nanoseconds when free, sleeps
 * when not, and knows its owner, so that a thread which would wait for itself
 * gets an answer instead.
 */
#ifndef TGI_LOCK_H
#define TGI_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct tgi_lock {
    _Atomic uint32_t state; /* 0 free, 1 held, 2 held and waited for */
    _Atomic uintptr_t owner; /* of the thread that holds it, else 0 */
} tgi_lock;

/* False, without waiting, if the calling thread holds it already. */
bool tgi_lock_acquire(tgi_lock *lock);
void tgi_lock_release(tgi_lock *lock);
bool tgi_lock_is_owned(const tgi_lock *lock);

#endif /* TGI_LOCK_H */

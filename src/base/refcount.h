/* SPDX-License-Identifier: MIT */
/*
 * refcount.h - atomic reference counts.
 */
#ifndef TGI_REFCOUNT_H
#define TGI_REFCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>

typedef struct tgi_refcount {
    atomic_long n;
} tgi_refcount;

static inline void tgi_refcount_init(tgi_refcount *refs)
{
    atomic_init(&refs->n, 1);
}

static inline void tgi_refcount_inc(tgi_refcount *refs)
{
    atomic_fetch_add_explicit(&refs->n, 1, memory_order_relaxed);
}

/* True if this was the last reference: the caller destroys the object. */
static inline bool tgi_refcount_dec(tgi_refcount *refs)
{
    return atomic_fetch_sub_explicit(&refs->n, 1, memory_order_acq_rel) == 1;
}

/* For an object whose references cannot grow meanwhile. */
static inline long tgi_refcount_get(const tgi_refcount *refs)
{
    return atomic_load_explicit(&refs->n, memory_order_relaxed);
}

/*
 * Adds a reference unless the count has reached 0. For tables of objects that
 * they do not own.
 */
static inline bool tgi_refcount_try_inc(tgi_refcount *refs)
{
    long n = atomic_load_explicit(&refs->n, memory_order_relaxed);
    while (n > 0)
        if (atomic_compare_exchange_weak_explicit(&refs->n, &n, n + 1,
                                                  memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
    return false;
}

#endif /* TGI_REFCOUNT_H */

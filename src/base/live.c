/* SPDX-License-Identifier: MIT */
/*
 * live.c - counters of live objects. They are relaxed atomics, so a count is
 * exact only when no other thread creates or destroys objects.
 */
#include "base/live.h"

#include <stdatomic.h>

#include "tgjit/base.h"

static atomic_long counts[TGI_LIVE_KINDS];

void tgi_live_add(tgi_live_kind kind, int change)
{
    atomic_fetch_add_explicit(&counts[kind], change, memory_order_relaxed);
}

size_t tgi_live_count(tgi_live_kind kind)
{
    return (size_t)atomic_load_explicit(&counts[kind], memory_order_relaxed);
}

size_t tg_live_objects(void)
{
    size_t n = 0;
    for (int kind = 0; kind < TGI_LIVE_KINDS; kind++)
        n += tgi_live_count((tgi_live_kind)kind);
    return n;
}

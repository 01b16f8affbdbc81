/* SPDX-License-Identifier: MIT */
/*
 * profile_mode.h - whether calls are profiled or traced. Process-wide, because
 * compiled code and threads do not belong to a context. A call tests the flag
 * once; compiled code tests a member of its frame (entry_abi.h), which only
 * profiled calls set.
 */
#ifndef TGI_PROFILE_MODE_H
#define TGI_PROFILE_MODE_H

#include <stdatomic.h>
#include <stdbool.h>

enum {
    TGI_PROFILING = 1, /* calls are added to the profile */
    TGI_TRACING = 2    /* events are written to the timeline */
};

/* Bits of the modes that are on. */
extern atomic_uint tgi_profile_mode;

static inline bool tgi_profile_is_on(void)
{
    return __builtin_expect(
        atomic_load_explicit(&tgi_profile_mode, memory_order_relaxed) != 0, 0);
}

static inline bool tgi_profile_mode_has(unsigned mode)
{
    return __builtin_expect(
        (atomic_load_explicit(&tgi_profile_mode, memory_order_relaxed) &
         mode) != 0,
        0);
}

#endif /* TGI_PROFILE_MODE_H */

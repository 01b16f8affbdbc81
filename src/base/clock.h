/* SPDX-License-Identifier: MIT */
/*
 * clock.h - the clock of logs, profiles and timelines.
 */
#ifndef TGI_CLOCK_H
#define TGI_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since an arbitrary start; never goes back. About 20 ns. */
static inline uint64_t tgi_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

#endif /* TGI_CLOCK_H */

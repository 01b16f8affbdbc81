/* SPDX-License-Identifier: MIT */
/*
 * support_random.h - reproducible random numbers, for tests and test programs.
 */
#ifndef TGI_TEST_SUPPORT_RANDOM_H
#define TGI_TEST_SUPPORT_RANDOM_H

#include <stdint.h>

/* splitmix64; any seed is valid. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Uniform in 0 … n - 1. */
static inline int random_below(uint64_t *state, int n)
{
    return (int)(random_next(state) % (uint64_t)n);
}

#endif /* TGI_TEST_SUPPORT_RANDOM_H */

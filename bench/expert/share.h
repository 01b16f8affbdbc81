/* SPDX-License-Identifier: MIT */
/*
 * share.h - the calling thread's share of n items, for loops whose body is
 * selected by a parameter: gcc outlines an OpenMP loop into a function in which
 * that parameter is no longer a constant.
 */
#ifndef BENCH_EXPERT_SHARE_H
#define BENCH_EXPERT_SHARE_H

#include <stdint.h>
#ifdef _OPENMP
#include <omp.h>
#endif

typedef struct share {
    int64_t begin, end;
} share;

static inline share share_of(int64_t n)
{
#ifdef _OPENMP
    const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
#else
    const int64_t team = 1, me = 0;
#endif
    return (share){n * me / team, n * (me + 1) / team};
}

#endif /* BENCH_EXPERT_SHARE_H */

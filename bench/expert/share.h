/* SPDX-License-Identifier: MIT */
/*
 * share.h - which part of n items the calling thread of a team takes. For
 * loops whose body is chosen by a parameter: gcc moves an OpenMP loop into a
 * function of its own, where what was constant is not any more.
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

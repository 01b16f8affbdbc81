/* SPDX-License-Identifier: MIT */
/*
 * inputs.h - memory for tensors, and numbers to fill it with: the same ones in
 * every run.
 */
#ifndef BENCH_INPUTS_H
#define BENCH_INPUTS_H

#include "tgjit.h"

/* Aligned for lines of the cache and, if large, in huge pages: what is timed
   are kernels, not page faults. NULL if there is no memory. Free with free. */
void *memory_create(size_t bytes);

/* Uniform in [low, high), by the position alone. */
void fill_uniform(void *data, tg_dtype dtype, int64_t count, uint64_t seed,
                  double low, double high);

/* Puts NaN, infinities, zeros, denormals and huge numbers among them. */
void fill_harsh(void *data, tg_dtype dtype, int64_t count, uint64_t seed);

#endif /* BENCH_INPUTS_H */

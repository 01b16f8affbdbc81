/* SPDX-License-Identifier: MIT */
/*
 * inputs.h - memory for tensors, and reproducible data to fill it with.
 */
#ifndef BENCH_INPUTS_H
#define BENCH_INPUTS_H

#include "tgjit.h"

/* Aligned to cache lines and, if large, in huge pages, so that page faults are
   not timed. NULL if out of memory. Free with free. */
void *memory_create(size_t bytes);

/* Uniform in [low, high), a function of seed and position. */
void fill_uniform(void *data, tg_dtype dtype, int64_t count, uint64_t seed,
                  double low, double high);

/* Overwrites some elements with NaN, infinities, zeros, denormals and huge
   numbers. */
void fill_harsh(void *data, tg_dtype dtype, int64_t count, uint64_t seed);

#endif /* BENCH_INPUTS_H */

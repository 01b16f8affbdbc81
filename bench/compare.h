/* SPDX-License-Identifier: MIT */
/*
 * compare.h - compares results with the reference.
 */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

#include "backend.h"

/* Bit for bit, except that all NaNs are equal. */
bool compare_bits(const void *got, const void *expected, tg_dtype dtype,
                 int64_t count, reason *out_why);

/* |got - expected| <= absolute + relative * |expected|. */
bool compare_near(const void *got, const void *expected, tg_dtype dtype,
                 int64_t count, double absolute, double relative,
                 reason *out_why);

#endif /* BENCH_COMPARE_H */

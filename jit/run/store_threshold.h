/* SPDX-License-Identifier: MIT */
/*
 * store_threshold.h - the size of a result from which non-temporal stores pay,
 * from measurements that other processes disturb.
 */
#ifndef TGI_STORE_THRESHOLD_H
#define TGI_STORE_THRESHOLD_H

#include <stdint.h>

/*
 * percent[i] is the time of non-temporal stores over that of cached ones, for
 * results of min_bytes << i; n > 0 sizes. Returns the least size that pays
 * clearly, without two sizes in a row above it that do not: a single one is
 * taken for a disturbance. 0: there is no clear difference even at the largest
 * size; INT64_MAX: non-temporal stores are slower there.
 */
int64_t tgi_store_threshold(const double *percent, int n, int64_t min_bytes);

/* The median of n > 0 numbers, which it sorts; the lower one of two. */
double tgi_median_of(double *numbers, int n);

#endif /* TGI_STORE_THRESHOLD_H */

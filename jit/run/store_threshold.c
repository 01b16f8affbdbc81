/* SPDX-License-Identifier: MIT */
/*
 * store_threshold.c - see store_threshold.h. Between the size of L2 and a part
 * of the last-level cache both kinds of stores take the same time within noise,
 * so a size counts only if it gains PAYS_CLEARLY. Measured on Zen 5 (32 MB of
 * L3), medians of several runs: 512 KiB 114 to 126, 1 MiB 100 to 108, 2 MiB 94
 * to 102, 4 MiB 83 to 95, 8 MiB 65 to 69, 64 MiB 79 to 90.
 */
#include "run/store_threshold.h"

enum { PAYS_CLEARLY = 90, PAYS = 97, IS_WORSE = 105, N_FAILURES = 2 };

int64_t tgi_store_threshold(const double *percent, int n, int64_t min_bytes)
{
    if (percent[n - 1] >= IS_WORSE)
        return INT64_MAX;
    if (percent[n - 1] > PAYS)
        return 0;
    int best = n - 1;
    for (int i = n - 2, n_failed = 0; i >= 0 && n_failed < N_FAILURES; i--) {
        n_failed = percent[i] <= PAYS_CLEARLY ? 0 : n_failed + 1;
        if (!n_failed)
            best = i;
    }
    return min_bytes << best;
}

double tgi_median_of(double *numbers, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && numbers[k] < numbers[k - 1]; k--) {
            const double less = numbers[k];
            numbers[k] = numbers[k - 1];
            numbers[k - 1] = less;
        }
    return numbers[(n - 1) / 2];
}

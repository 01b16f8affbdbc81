/* SPDX-License-Identifier: MIT */
/*
 * name_counts.h - counts how often each name was asked for, to number names
 * that recur: dense, dense_1, dense_2.
 */
#ifndef TGI_NAME_COUNTS_H
#define TGI_NAME_COUNTS_H

#include <stdint.h>

#include "base/vec.h"

typedef struct tgi_name_count {
    char *name;
    uint64_t n;
} tgi_name_count;

/* All zero has counted nothing. */
typedef TGI_VEC(tgi_name_count) tgi_name_counts;

/* Sets *out_number to how often `name` was counted before, and counts it;
   false when out of memory. */
bool tgi_name_counts_next(tgi_name_counts *counts, const char *name,
                          uint64_t *out_number);
void tgi_name_counts_deinit(tgi_name_counts *counts);

#endif /* TGI_NAME_COUNTS_H */

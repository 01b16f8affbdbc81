/* SPDX-License-Identifier: MIT */
/*
 * name_counts.c - see name_counts.h.
 */
#include "base/name_counts.h"

#include <string.h>

bool tgi_name_counts_next(tgi_name_counts *counts, const char *name,
                          uint64_t *out_number)
{
    for (size_t i = 0; i < counts->n; i++)
        if (strcmp(counts->data[i].name, name) == 0) {
            *out_number = counts->data[i].n++;
            return true;
        }
    tgi_name_count count = {tgi_strdup(name), 1};
    if (!count.name || !tgi_vec_push(counts, count)) {
        tgi_free(count.name);
        return false;
    }
    *out_number = 0;
    return true;
}

void tgi_name_counts_deinit(tgi_name_counts *counts)
{
    for (size_t i = 0; i < counts->n; i++)
        tgi_free(counts->data[i].name);
    tgi_vec_deinit(counts);
}

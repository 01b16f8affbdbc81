/* SPDX-License-Identifier: MIT */
/*
 * vec.c - growth of arrays: doubling, so that n pushes copy O(n) elements.
 */
#include "base/vec.h"

#include <stdint.h>
#include <string.h>

bool tgi_vec_reserve_bytes(void *data_field, size_t *capacity, size_t count,
                           size_t element_bytes)
{
    if (count <= *capacity)
        return true;
    /* Who reserves first knows how many there will be; who pushes does not. */
    size_t wanted = *capacity * 2;
    if (*capacity == 0 && count == 1)
        wanted = 8;
    if (wanted < count)
        wanted = count;
    if (wanted > PTRDIFF_MAX / element_bytes)
        return false;

    /* The field has the type of a pointer to elements, unknown here: only
       its bytes may be touched. */
    void *data;
    memcpy(&data, data_field, sizeof data);
    data = tgi_realloc(data, wanted * element_bytes);
    if (!data)
        return false;
    memcpy(data_field, &data, sizeof data);
    *capacity = wanted;
    return true;
}

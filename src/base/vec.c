/* SPDX-License-Identifier: MIT */
/*
 * vec.c - dynamic arrays double their capacity, so n pushes copy O(n) elements.
 */
#include "base/vec.h"

#include <stdint.h>
#include <string.h>

bool tgi_vec_reserve_bytes(void *data_field, size_t *capacity, size_t count,
                           size_t element_bytes)
{
    if (count <= *capacity)
        return true;
    /* A first reservation of one element is a push: expect more. A larger one
       is taken as exact. */
    size_t wanted = *capacity * 2;
    if (*capacity == 0 && count == 1)
        wanted = 8;
    if (wanted < count)
        wanted = count;
    if (wanted > PTRDIFF_MAX / element_bytes)
        return false;

    /* The member's pointer type is unknown here, so strict aliasing allows
       access only by memcpy. */
    void *data;
    memcpy(&data, data_field, sizeof data);
    data = tgi_realloc(data, wanted * element_bytes);
    if (!data)
        return false;
    memcpy(data_field, &data, sizeof data);
    *capacity = wanted;
    return true;
}

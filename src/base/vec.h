/* SPDX-License-Identifier: MIT */
/*
 * vec.h - dynamic arrays of any element type:
 *
 *     TGI_VEC(uint32_t) refs = {0};
 *     if (!tgi_vec_push(&refs, ref)) … out of memory …
 *     refs.data[0], refs.n
 *     tgi_vec_deinit(&refs);
 */
#ifndef TGI_VEC_H
#define TGI_VEC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"

#define TGI_VEC(type) \
    struct { \
        type *data; \
        size_t n, capacity; \
    }

/* Ensures a capacity of `count` elements; false when out of memory. */
#define tgi_vec_reserve(vec, count) \
    tgi_vec_reserve_bytes(&(vec)->data, &(vec)->capacity, (count), \
                          sizeof(*(vec)->data))

/* Appends an element; false when out of memory, with the array unchanged. */
#define tgi_vec_push(vec, element) \
    (tgi_vec_reserve(vec, (vec)->n + 1) \
         ? ((vec)->data[(vec)->n++] = (element), true) \
         : false)

#define tgi_vec_deinit(vec) \
    (tgi_free((vec)->data), (vec)->data = NULL, (vec)->n = 0, \
     (vec)->capacity = 0)

/* `data_field` is the address of the member `data`. */
bool tgi_vec_reserve_bytes(void *data_field, size_t *capacity, size_t count,
                           size_t element_bytes);

#endif /* TGI_VEC_H */

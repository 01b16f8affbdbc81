/* SPDX-License-Identifier: MIT */
/*
 * id.h - typed indices. TGI_DEFINE_ID(tgi_x_id) defines a struct type for
 * indices into one list, so that the compiler rejects an index into another:
 *
 *     tgi_x_id tgi_x_id_from(size_t index)
 *     uint32_t tgi_x_id_index(tgi_x_id id)      id must not be none
 *     bool tgi_x_id_is_none(tgi_x_id id)
 *     bool tgi_x_id_equals(tgi_x_id a, tgi_x_id b)
 *     bool tgi_x_id_is_before(tgi_x_id a, tgi_x_id b)     none is before all
 *
 * A zero-initialised id is none, and so are the ids in zeroed memory.
 */
#ifndef TGI_ID_H
#define TGI_ID_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TGI_DEFINE_ID(type) \
    typedef struct type { \
        uint32_t raw; /* index + 1; 0: none */ \
    } type; \
    static inline type type##_from(size_t index) \
    { \
        return (type){(uint32_t)index + 1}; \
    } \
    static inline uint32_t type##_index(type id) \
    { \
        assert(id.raw); \
        return id.raw - 1; \
    } \
    static inline bool type##_is_none(type id) \
    { \
        return id.raw == 0; \
    } \
    static inline bool type##_equals(type a, type b) \
    { \
        return a.raw == b.raw; \
    } \
    static inline bool type##_is_before(type a, type b) \
    { \
        return a.raw < b.raw; \
    } \
    struct type /* takes the semicolon */

#endif /* TGI_ID_H */

/* SPDX-License-Identifier: MIT */
/*
 * ops_random.h - random numbers as part of another operation.
 */
#ifndef TGI_OPS_RANDOM_H
#define TGI_OPS_RANDOM_H

#include "front/trace/trace_state.h"

/* Where the words of a draw begin. */
typedef struct tgi_random_stream {
    tgi_ref key, offset;
} tgi_random_stream;

/* Draws words for every element of the shape from a generator, which is
   advanced, or from a key; false on error. */
bool tgi_random_draw(tgi_operation *o, tg_operand source,
                     int64_t words_per_element, int rank, const int64_t *dims,
                     tgi_random_stream *out);

/* True for f32 and f64; else an error. */
bool tgi_random_check_dtype(tgi_operation *o, tg_dtype dtype);

/* Uniform or normal numbers of a generator, which is advanced, or of a key; 0
   on error. */
tgi_ref tgi_random_numbers(tgi_operation *o, bool is_normal, tg_operand source,
                           tg_dtype dtype, int rank, const int64_t *dims);

#endif /* TGI_OPS_RANDOM_H */

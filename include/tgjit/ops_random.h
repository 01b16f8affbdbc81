/* SPDX-License-Identifier: MIT */
/*
 * ops_random.h - counter-based random numbers (Philox4x32-10). A key identifies
 * a stream of 32-bit words; word w of a stream is a pure function of key and w.
 * A seed therefore yields the same numbers interpreted or compiled, at any
 * thread count, and drawing twice 10 numbers equals drawing 20.
 */
#ifndef TGJIT_OPS_RANDOM_H
#define TGJIT_OPS_RANDOM_H

#include "ops.h"

TG_BEGIN_DECLS

/*
 * Creates a generator: a u64[2] variable {key, next word}, which the functions
 * below advance. It can be passed, captured, read and set like any variable; it
 * is not trainable.
 */
TG_API TG_MUST_CHECK tg_variable *tg_generator_create(tg_context *ctx,
                                                      const char *name,
                                                      uint64_t seed);

/*
 * Consecutive words of the stream `key` (u64 scalar), starting at word `offset`
 * (u64 scalar). A u32 element is one word, a u64 element two, low word first.
 */
TG_API tg_value tg_random_bits_at(tg_dtype dtype, tg_operand key,
                                  tg_operand offset, int rank,
                                  const int64_t *dims, tg_site site);

/*
 * Uniform in [0, 1). `source` is a generator, which is advanced, or a key (u64
 * scalar or plain number), whose stream is read from word 0. An f32 element
 * uses one word, an f64 element two.
 */
TG_API tg_value tg_random_uniform_at(tg_operand source, tg_dtype dtype,
                                     int rank, const int64_t *dims,
                                     tg_site site);

/* Normal with mean 0 and standard deviation 1. An f32 element uses two words,
   an f64 element four. */
TG_API tg_value tg_random_normal_at(tg_operand source, tg_dtype dtype,
                                    int rank, const int64_t *dims,
                                    tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define tg_random_bits(dtype, key, offset, ...) \
    tg_random_bits_at(dtype, TG_IN(key), TG_IN(offset), __VA_ARGS__, TG_HERE)
#define tg_random_uniform(source, dtype, ...) \
    tg_random_uniform_at(TG_IN(source), dtype, __VA_ARGS__, TG_HERE)
#define tg_random_normal(source, dtype, ...) \
    tg_random_normal_at(TG_IN(source), dtype, __VA_ARGS__, TG_HERE)
#else
inline tg_value tg_random_bits(tg_dtype dtype, tg_in key, tg_in offset,
                               tg_dims dims, tg_site site = TG_HERE)
{
    return tg_random_bits_at(dtype, key, offset, (int)dims.size(),
                             dims.begin(), site);
}
inline tg_value tg_random_uniform(tg_in source, tg_dtype dtype, tg_dims dims,
                                  tg_site site = TG_HERE)
{
    return tg_random_uniform_at(source, dtype, (int)dims.size(), dims.begin(),
                                site);
}
inline tg_value tg_random_normal(tg_in source, tg_dtype dtype, tg_dims dims,
                                 tg_site site = TG_HERE)
{
    return tg_random_normal_at(source, dtype, (int)dims.size(), dims.begin(),
                               site);
}
#endif

#endif /* TGJIT_OPS_RANDOM_H */

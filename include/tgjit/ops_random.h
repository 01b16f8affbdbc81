/* SPDX-License-Identifier: MIT */
/*
 * ops_random.h - random numbers, counter-based (Philox4x32-10): a key names a
 * stream of 32-bit words, and word w of a stream is always the same. So one
 * seed gives the same numbers on every back end, at any thread count, and
 * drawing 10 and 10 gives what drawing 20 gives.
 */
#ifndef TGJIT_OPS_RANDOM_H
#define TGJIT_OPS_RANDOM_H

#include "ops.h"

TG_BEGIN_DECLS

/*
 * A generator is a u64[2] variable {key, next word}: the functions below
 * advance it. Saved, set and captured as any variable; not trainable.
 */
TG_API TG_MUST_CHECK tg_variable *tg_generator_create(tg_context *ctx,
                                                      const char *name,
                                                      uint64_t seed);

/*
 * Words of the stream `key` (u64 scalar) from word `offset` (u64 scalar) on,
 * as u32, or u64 made of two words each, the first one low.
 */
TG_API tg_value tg_random_bits_at(tg_dtype dtype, tg_operand key,
                                  tg_operand offset, int rank,
                                  const int64_t *dims, tg_site site);

/*
 * `source` is a generator (a variable: it advances) or a key (u64 scalar or
 * number: stateless, from word 0). Uniform in [0, 1): f32 takes one word an
 * element, f64 two.
 */
TG_API tg_value tg_random_uniform_at(tg_operand source, tg_dtype dtype,
                                     int rank, const int64_t *dims,
                                     tg_site site);

/* Normal with mean 0 and deviation 1: f32 takes two words, f64 four. */
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

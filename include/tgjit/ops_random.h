/* SPDX-License-Identifier: MIT */
/*
 * ops_random.h - counter-based random numbers (Philox4x32-10). A key identifies
 * a stream of 32-bit words; word w of a stream is a pure function of key and w.
 * A seed therefore yields the same numbers interpreted or compiled, at any
 * thread count, and drawing twice 10 numbers equals drawing 20. Not so where an
 * element takes several candidates (truncated normal, gamma): the words of the
 * first candidates of all elements come first.
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

/* -- Other distributions --------------------------------------------------- */

/* Normal, but within two deviations of the mean: the first of 6 normal numbers
   that is; if none is (9e-9), the last one, clamped. */
TG_API tg_value tg_random_truncated_normal_at(tg_operand source,
                                              tg_dtype dtype, int rank,
                                              const int64_t *dims,
                                              tg_site site);

/* Bool, true with probability p: a number, or f32 or f64 values that broadcast
   to the shape. Uses the words of a uniform number of the dtype of p. */
TG_API tg_value tg_random_bernoulli_at(tg_operand source, tg_operand p,
                                       int rank, const int64_t *dims,
                                       tg_site site);

/*
 * Integers low, low + 1, …, high - 1; at most 2^32 different ones. Two words
 * per element; the probabilities differ by less than 2^-32 of themselves.
 */
TG_API tg_value tg_random_integers_at(tg_operand source, tg_dtype dtype,
                                      int64_t low, int64_t high, int rank,
                                      const int64_t *dims, tg_site site);

/* The numbers 0 … n - 1 (i64) in random order. Two words per number. */
TG_API tg_value tg_random_permutation_at(tg_operand source, int64_t n,
                                         tg_site site);

/* A class (i64) for every row of logits, with probability
   softmax(logits, -1). Uses the words of uniform numbers like the logits. */
TG_API tg_value tg_random_categorical_at(tg_operand source, tg_operand logits,
                                         tg_site site);

/*
 * Gamma with shape parameter alpha > 0 (f32 or f64, broadcast to the shape) and
 * scale 1, by the rejection of Marsaglia and Tsang: the first of 8 candidates
 * that is accepted; if none is (less than 1e-10), the last one. NaN for other
 * alpha. No gradient flows to alpha.
 */
TG_API tg_value tg_random_gamma_at(tg_operand source, tg_operand alpha,
                                   int rank, const int64_t *dims,
                                   tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define tg_random_truncated_normal(source, dtype, ...) \
    tg_random_truncated_normal_at(TG_IN(source), dtype, __VA_ARGS__, TG_HERE)
#define tg_random_bernoulli(source, p, ...) \
    tg_random_bernoulli_at(TG_IN(source), TG_IN(p), __VA_ARGS__, TG_HERE)
#define tg_random_integers(source, dtype, low, high, ...) \
    tg_random_integers_at(TG_IN(source), dtype, low, high, __VA_ARGS__, \
                          TG_HERE)
#define tg_random_permutation(source, n) \
    tg_random_permutation_at(TG_IN(source), n, TG_HERE)
#define tg_random_categorical(source, logits) \
    tg_random_categorical_at(TG_IN(source), TG_IN(logits), TG_HERE)
#define tg_random_gamma(source, alpha, ...) \
    tg_random_gamma_at(TG_IN(source), TG_IN(alpha), __VA_ARGS__, TG_HERE)
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
inline tg_value tg_random_truncated_normal(tg_in source, tg_dtype dtype,
                                           tg_dims dims,
                                           tg_site site = TG_HERE)
{
    return tg_random_truncated_normal_at(source, dtype, (int)dims.size(),
                                         dims.begin(), site);
}
inline tg_value tg_random_bernoulli(tg_in source, tg_in p, tg_dims dims,
                                    tg_site site = TG_HERE)
{
    return tg_random_bernoulli_at(source, p, (int)dims.size(), dims.begin(),
                                  site);
}
inline tg_value tg_random_integers(tg_in source, tg_dtype dtype, int64_t low,
                                   int64_t high, tg_dims dims,
                                   tg_site site = TG_HERE)
{
    return tg_random_integers_at(source, dtype, low, high, (int)dims.size(),
                                 dims.begin(), site);
}
inline tg_value tg_random_permutation(tg_in source, int64_t n,
                                      tg_site site = TG_HERE)
{
    return tg_random_permutation_at(source, n, site);
}
inline tg_value tg_random_categorical(tg_in source, tg_in logits,
                                      tg_site site = TG_HERE)
{
    return tg_random_categorical_at(source, logits, site);
}
inline tg_value tg_random_gamma(tg_in source, tg_in alpha, tg_dims dims,
                                tg_site site = TG_HERE)
{
    return tg_random_gamma_at(source, alpha, (int)dims.size(), dims.begin(),
                              site);
}
#endif

#endif /* TGJIT_OPS_RANDOM_H */

/* SPDX-License-Identifier: MIT */
/*
 * control.h - branches and loops inside a compiled function.
 *
 * Branches and loop bodies are callbacks, each traced once in a trace of its
 * own. A callback receives values and returns values. It may also use
 * variables and values of the enclosing callback. Its assignments, prints,
 * asserts and checks take effect each time it runs.
 *
 *     static void halve(tg_trace *t, const tg_value *in, void *user)
 *     {
 *         tg_return(t, tg_mul(in[0], 0.5));
 *     }
 *     static void is_large(tg_trace *t, const tg_value *in, void *user)
 *     {
 *         tg_return(t, tg_gt(in[0], 1.0));
 *     }
 *     ...
 *     tg_while(is_large, halve, NULL, TG_ARGS(x), &x, 1);
 *
 * Every function here writes `n_results` values of the current trace to
 * `out_results`; on failure they are invalid. A plain number as an initial loop
 * value has its C type (tg_scalar selects another); as an argument of a branch
 * it remains a plain number. A plain number that a callback returns is
 * converted to the required dtype, which must be able to hold it.
 */
#ifndef TGJIT_CONTROL_H
#define TGJIT_CONTROL_H

#include "function.h"
#include "value.h"

TG_BEGIN_DECLS

/*
 * Runs `then` if `predicate` (a bool scalar) is true, else `otherwise`. Both
 * receive `args` and return values of the same types.
 */
TG_API void tg_cond_at(tg_operand predicate, tg_callback *then,
                       tg_callback *otherwise, void *user,
                       const tg_operand *args, size_t n_args,
                       tg_value *out_results, size_t n_results, tg_site site);

/*
 * Runs branches[index], where `index` is an integer scalar clamped to the valid
 * range. All branches receive `args` and return values of the same types.
 */
TG_API void tg_switch_at(tg_operand index, tg_callback *const *branches,
                         size_t n_branches, void *user, const tg_operand *args,
                         size_t n_args, tg_value *out_results,
                         size_t n_results, tg_site site);

/*
 * Runs `body` while `test` returns true (a bool scalar). Both receive the loop
 * values; `body` returns the next ones, of the same types. The results are the
 * final loop values.
 */
TG_API void tg_while_at(tg_callback *test, tg_callback *body, void *user,
                        const tg_operand *initial, size_t n_values,
                        tg_value *out_results, size_t n_results, tg_site site);

/* As tg_while_at, but the call fails with TG_ERROR_LIMIT if `test` is still
   true after `max_iterations` iterations. */
TG_API void tg_while_limit_at(int64_t max_iterations, tg_callback *test,
                              tg_callback *body, void *user,
                              const tg_operand *initial, size_t n_values,
                              tg_value *out_results, size_t n_results,
                              tg_site site);

/*
 * Runs `body` `n_iterations` times (an integer scalar; a negative number counts
 * as 0). `body` receives the iteration (i64, from 0), then the loop values, and
 * returns the next loop values.
 */
TG_API void tg_for_at(tg_operand n_iterations, tg_callback *body, void *user,
                      const tg_operand *initial, size_t n_values,
                      tg_value *out_results, size_t n_results, tg_site site);

/* Limits of tg_for_unrolled, per trace: iterations, and nodes of the graph. */
#define TG_MAX_UNROLLED (1 << 20)
#define TG_MAX_UNROLLED_NODES (1 << 22)

/*
 * As tg_for_at, but unrolled while tracing: the callback runs `n_iterations`
 * times and its operations become part of the surrounding graph.
 * TG_ERROR_LIMIT if the unrolled loops of a trace exceed TG_MAX_UNROLLED
 * iterations together (then this body does not run), or if the graph exceeds
 * TG_MAX_UNROLLED_NODES nodes.
 */
TG_API void tg_for_unrolled_at(int64_t n_iterations, tg_callback *body,
                               void *user, const tg_operand *initial,
                               size_t n_values, tg_value *out_results,
                               size_t n_results, tg_site site);

/*
 * Iterates over the first axis of the sequences, which must be equally long.
 * `body` receives the loop values and the current element of each sequence
 * (without that axis). It returns the next loop values, followed by the values
 * to stack. Writes the final loop values to `out_values` and the stacked ones
 * to `out_stacked`, whose element i comes from iteration i.
 */
TG_API void tg_scan_at(tg_callback *body, void *user, const tg_operand *initial,
                       size_t n_values, const tg_operand *sequences,
                       size_t n_sequences, tg_value *out_values,
                       size_t n_out_values, tg_value *out_stacked,
                       size_t n_stacked, tg_site site);

/* As tg_scan_at without loop values: stacks the results of `body`. */
TG_API void tg_map_at(tg_callback *body, void *user,
                      const tg_operand *sequences, size_t n_sequences,
                      tg_value *out_stacked, size_t n_stacked, tg_site site);

/*
 * A list with a fixed capacity, for loops that collect a varying number of
 * values. `items` has `capacity` elements, initially zero; `count` (i64) is the
 * number in use. A loop carries both:
 *
 *     tg_list list = tg_list_create(100, TG_F32, TG_SCALAR);
 *     tg_while(test, body, NULL, TG_ARGS(list.items, list.count), r, 2);
 */
typedef struct tg_list {
    tg_value items, count;
} tg_list;

/* Rebuilds a list from its two values, as carried by a loop. */
static inline tg_list tg_list_of(tg_value items, tg_value count)
{
    tg_list list;
    list.items = items;
    list.count = count;
    return list;
}

/* Returns an empty list for at most `capacity` values of that type. */
TG_API tg_list tg_list_create_at(int64_t capacity, tg_dtype dtype, int rank,
                                 const int64_t *dims, tg_site site);

/* Returns the list with `value` appended. The call fails with TG_ERROR_INDEX
   if the list is full. */
TG_API tg_list tg_list_push_at(tg_list list, tg_operand value, tg_site site);

TG_END_DECLS

#ifndef __cplusplus

/* Example: tg_cond(p, f, g, user, TG_ARGS(x, y), results, n) */
#define tg_cond(predicate, then, otherwise, user, ...) \
    TG_WITH_ARGS(tg_cond_at, __VA_ARGS__) \
    (TG_IN(predicate), then, otherwise, user, __VA_ARGS__, TG_HERE)
#define tg_switch(index, branches, n_branches, user, ...) \
    TG_WITH_ARGS(tg_switch_at, __VA_ARGS__) \
    (TG_IN(index), branches, n_branches, user, __VA_ARGS__, TG_HERE)
#define tg_while(test, body, user, ...) \
    TG_WITH_ARGS(tg_while_at, __VA_ARGS__) \
    (test, body, user, __VA_ARGS__, TG_HERE)
#define tg_while_limit(max_iterations, test, body, user, ...) \
    TG_WITH_ARGS(tg_while_limit_at, __VA_ARGS__) \
    (max_iterations, test, body, user, __VA_ARGS__, TG_HERE)
#define tg_for(n_iterations, body, user, ...) \
    TG_WITH_ARGS(tg_for_at, __VA_ARGS__) \
    (TG_IN(n_iterations), body, user, __VA_ARGS__, TG_HERE)
#define tg_for_unrolled(n_iterations, body, user, ...) \
    TG_WITH_ARGS(tg_for_unrolled_at, __VA_ARGS__) \
    (n_iterations, body, user, __VA_ARGS__, TG_HERE)
/* Example: tg_scan(f, user, TG_ARGS(carry), TG_ARGS(xs), &carry, 1, &ys, 1) */
#define tg_scan(body, user, ...) \
    TG_WITH_ARGS(tg_scan_at, __VA_ARGS__) \
    (body, user, __VA_ARGS__, TG_HERE)
#define tg_map(body, user, ...) \
    TG_WITH_ARGS(tg_map_at, __VA_ARGS__) \
    (body, user, __VA_ARGS__, TG_HERE)
#define tg_list_create(capacity, dtype, ...) \
    tg_list_create_at(capacity, dtype, __VA_ARGS__, TG_HERE)
#define tg_list_push(list, value) \
    tg_list_push_at(list, TG_IN(value), TG_HERE)

#else /* __cplusplus */

inline void tg_cond(tg_in predicate, tg_callback *then, tg_callback *otherwise,
                    void *user, tg_ins args, tg_value *out_results,
                    size_t n_results, tg_site site = TG_HERE)
{
    tg_cond_at(predicate, then, otherwise, user, args.begin(), args.size(),
               out_results, n_results, site);
}
inline void tg_switch(tg_in index, tg_callback *const *branches,
                      size_t n_branches, void *user, tg_ins args,
                      tg_value *out_results, size_t n_results,
                      tg_site site = TG_HERE)
{
    tg_switch_at(index, branches, n_branches, user, args.begin(), args.size(),
                 out_results, n_results, site);
}
inline void tg_while(tg_callback *test, tg_callback *body, void *user,
                     tg_ins initial, tg_value *out_results, size_t n_results,
                     tg_site site = TG_HERE)
{
    tg_while_at(test, body, user, initial.begin(), initial.size(), out_results,
                n_results, site);
}
inline void tg_while_limit(int64_t max_iterations, tg_callback *test,
                           tg_callback *body, void *user, tg_ins initial,
                           tg_value *out_results, size_t n_results,
                           tg_site site = TG_HERE)
{
    tg_while_limit_at(max_iterations, test, body, user, initial.begin(),
                      initial.size(), out_results, n_results, site);
}
inline void tg_for(tg_in n_iterations, tg_callback *body, void *user,
                   tg_ins initial, tg_value *out_results, size_t n_results,
                   tg_site site = TG_HERE)
{
    tg_for_at(n_iterations, body, user, initial.begin(), initial.size(),
              out_results, n_results, site);
}
inline void tg_for_unrolled(int64_t n_iterations, tg_callback *body, void *user,
                            tg_ins initial, tg_value *out_results,
                            size_t n_results, tg_site site = TG_HERE)
{
    tg_for_unrolled_at(n_iterations, body, user, initial.begin(),
                       initial.size(), out_results, n_results, site);
}
inline void tg_scan(tg_callback *body, void *user, tg_ins initial,
                    tg_ins sequences, tg_value *out_values,
                    size_t n_out_values, tg_value *out_stacked,
                    size_t n_stacked, tg_site site = TG_HERE)
{
    tg_scan_at(body, user, initial.begin(), initial.size(), sequences.begin(),
               sequences.size(), out_values, n_out_values, out_stacked,
               n_stacked, site);
}
inline void tg_map(tg_callback *body, void *user, tg_ins sequences,
                   tg_value *out_stacked, size_t n_stacked,
                   tg_site site = TG_HERE)
{
    tg_map_at(body, user, sequences.begin(), sequences.size(), out_stacked,
              n_stacked, site);
}
inline tg_list tg_list_create(int64_t capacity, tg_dtype dtype, tg_dims dims,
                              tg_site site = TG_HERE)
{
    return tg_list_create_at(capacity, dtype, (int)dims.size(), dims.begin(),
                             site);
}
inline tg_list tg_list_push(tg_list list, tg_in value, tg_site site = TG_HERE)
{
    return tg_list_push_at(list, value, site);
}

#endif /* __cplusplus */

#endif /* TGJIT_CONTROL_H */

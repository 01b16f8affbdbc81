/* SPDX-License-Identifier: MIT */
/*
 * control.h - branches and loops inside a compiled function.
 *
 * Branches and bodies are callbacks like those of functions: each is traced
 * once, with a trace of its own, takes values and returns values. It may use
 * values of the callback around it, and variables, as they are; what it does
 * to variables, prints and checks happens only if and as often as it runs.
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
 * All of them write their results, values of the current trace, to an array
 * with room for as many as are asked for; on failure these are invalid.
 * Initial values of loops that are plain numbers have their C type (tg_scalar
 * gives them another); arguments of branches stay plain numbers. A plain number
 * that is returned takes the type it needs, which must hold it.
 */
#ifndef TGJIT_CONTROL_H
#define TGJIT_CONTROL_H

#include "function.h"
#include "value.h"

TG_BEGIN_DECLS

/*
 * Results of `then` if the predicate, a bool scalar, is true, else those of
 * `otherwise`. Both get `args` and return values of the same types.
 */
TG_API void tg_cond_at(tg_operand predicate, tg_callback *then,
                       tg_callback *otherwise, void *user,
                       const tg_operand *args, size_t n_args,
                       tg_value *out_results, size_t n_results, tg_site site);

/*
 * The same for branch `index`, an integer scalar; an index past either end
 * chooses the nearest branch.
 */
TG_API void tg_switch_at(tg_operand index, tg_callback *const *branches,
                         size_t n_branches, void *user, const tg_operand *args,
                         size_t n_args, tg_value *out_results,
                         size_t n_results, tg_site site);

/*
 * As long as `test` returns true (a bool scalar): the loop values become what
 * `body` returns. Both get the loop values. The types of these stay what
 * they are at the beginning. The results are the loop values at the end.
 */
TG_API void tg_while_at(tg_callback *test, tg_callback *body, void *user,
                        const tg_operand *initial, size_t n_values,
                        tg_value *out_results, size_t n_results, tg_site site);

/* The same, but more than `max_iterations` trips are an error: TG_ERROR_LIMIT. */
TG_API void tg_while_limit_at(int64_t max_iterations, tg_callback *test,
                              tg_callback *body, void *user,
                              const tg_operand *initial, size_t n_values,
                              tg_value *out_results, size_t n_results,
                              tg_site site);

/*
 * `trips` times, an integer scalar; none if it is negative. The body gets the
 * number of the trip (i64, from 0 on), then the loop values.
 */
TG_API void tg_for_at(tg_operand trips, tg_callback *body, void *user,
                      const tg_operand *initial, size_t n_values,
                      tg_value *out_results, size_t n_results, tg_site site);

/* The limits of tg_for_unrolled, per trace: iterations, and nodes of the
   graph. */
#define TG_MAX_UNROLLED (1 << 20)
#define TG_MAX_UNROLLED_NODES (1 << 22)

/*
 * The same, for a number known now, without a loop: the callback runs that
 * often, its operations become part of the graph around it. TG_ERROR_LIMIT if
 * all unrolled loops of a trace together have more than TG_MAX_UNROLLED
 * iterations (then the body does not run), or if the graph grows past
 * TG_MAX_UNROLLED_NODES.
 */
TG_API void tg_for_unrolled_at(int64_t trips, tg_callback *body, void *user,
                               const tg_operand *initial, size_t n_values,
                               tg_value *out_results, size_t n_results,
                               tg_site site);

/*
 * Goes along the first axis of the sequences, which are equally long: the body
 * gets the loop values, then the next element of each sequence (without that
 * axis), and returns the next loop values, then what is stacked up. Writes the
 * loop values at the end, and all that was stacked: element i is of step i.
 */
TG_API void tg_scan_at(tg_callback *body, void *user, const tg_operand *initial,
                       size_t n_values, const tg_operand *sequences,
                       size_t n_sequences, tg_value *out_values,
                       size_t n_out_values, tg_value *out_stacked,
                       size_t n_stacked, tg_site site);

/* The same without loop values: what the body returns for each element. */
TG_API void tg_map_at(tg_callback *body, void *user,
                      const tg_operand *sequences, size_t n_sequences,
                      tg_value *out_stacked, size_t n_stacked, tg_site site);

/*
 * A value that grows: what a loop carries may vary in size only up to a
 * maximum, which is declared here. `items` has room for all, zeros at first;
 * `count` (i64) says how many there are. A loop carries both:
 *
 *     tg_list list = tg_list_create(100, TG_F32, TG_SCALAR);
 *     tg_while(test, body, NULL, TG_ARGS(list.items, list.count), r, 2);
 */
typedef struct tg_list {
    tg_value items, count;
} tg_list;

/* The list that a loop has carried as these two. */
static inline tg_list tg_list_of(tg_value items, tg_value count)
{
    tg_list list;
    list.items = items;
    list.count = count;
    return list;
}

/* An empty list for at most `most` values of that type. */
TG_API tg_list tg_list_create_at(int64_t most, tg_dtype dtype, int rank,
                                 const int64_t *dims, tg_site site);

/* The list with one more value; more than its maximum fail the call:
   TG_ERROR_INDEX. */
TG_API tg_list tg_list_push_at(tg_list list, tg_operand value, tg_site site);

TG_END_DECLS

#ifndef __cplusplus

/* tg_cond(p, f, g, user, TG_ARGS(x, y), results, n) and so on. */
#define tg_cond(predicate, then, otherwise, user, ...) \
    tg_cond_at(TG_IN(predicate), then, otherwise, user, __VA_ARGS__, TG_HERE)
#define tg_switch(index, branches, n_branches, user, ...) \
    tg_switch_at(TG_IN(index), branches, n_branches, user, __VA_ARGS__, \
                 TG_HERE)
#define tg_while(test, body, user, ...) \
    tg_while_at(test, body, user, __VA_ARGS__, TG_HERE)
#define tg_while_limit(max_iterations, test, body, user, ...) \
    tg_while_limit_at(max_iterations, test, body, user, __VA_ARGS__, TG_HERE)
#define tg_for(trips, body, user, ...) \
    tg_for_at(TG_IN(trips), body, user, __VA_ARGS__, TG_HERE)
#define tg_for_unrolled(trips, body, user, ...) \
    tg_for_unrolled_at(trips, body, user, __VA_ARGS__, TG_HERE)
/* tg_scan(f, user, TG_ARGS(carry), TG_ARGS(xs), &carry, 1, &ys, 1) */
#define tg_scan(body, user, ...) tg_scan_at(body, user, __VA_ARGS__, TG_HERE)
#define tg_map(body, user, ...) tg_map_at(body, user, __VA_ARGS__, TG_HERE)
#define tg_list_create(most, dtype, ...) \
    tg_list_create_at(most, dtype, __VA_ARGS__, TG_HERE)
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
inline void tg_for(tg_in trips, tg_callback *body, void *user, tg_ins initial,
                   tg_value *out_results, size_t n_results,
                   tg_site site = TG_HERE)
{
    tg_for_at(trips, body, user, initial.begin(), initial.size(), out_results,
              n_results, site);
}
inline void tg_for_unrolled(int64_t trips, tg_callback *body, void *user,
                            tg_ins initial, tg_value *out_results,
                            size_t n_results, tg_site site = TG_HERE)
{
    tg_for_unrolled_at(trips, body, user, initial.begin(), initial.size(),
                       out_results, n_results, site);
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
inline tg_list tg_list_create(int64_t most, tg_dtype dtype, tg_dims dims,
                              tg_site site = TG_HERE)
{
    return tg_list_create_at(most, dtype, (int)dims.size(), dims.begin(),
                             site);
}
inline tg_list tg_list_push(tg_list list, tg_in value, tg_site site = TG_HERE)
{
    return tg_list_push_at(list, value, site);
}

#endif /* __cplusplus */

#endif /* TGJIT_CONTROL_H */

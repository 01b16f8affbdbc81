/* SPDX-License-Identifier: MIT */
/*
 * vmap.h - batches a callback over an axis of its arguments.
 *
 *     static void distance(tg_trace *t, const tg_value *in, void *user)
 *     {
 *         tg_return(t, tg_norm_l2(tg_sub(in[0], in[1]), TG_ALL_AXES));
 *     }
 *     ...
 *     tg_vmap(distance, NULL, TG_ARGS(x, y), &d, 1);
 *
 * computes f32[n] from f32[n,3] and f32[n,3], with the operations of one
 * element, each extended by an axis: the product of a vector with a matrix
 * becomes one of two matrices. The callback is traced once, for one element.
 *
 * It may use values and variables of the enclosing callback, which are the same
 * for all elements; branches, loops, tg_apply, gradients, and tg_vmap. A branch
 * whose predicate depends on the element computes all its cases and selects. A
 * loop runs until the last element is done; elements that are done keep their
 * values. It must not assign, print, assert or call the host, but for host
 * operations such as tg_cholesky (tg_host_op).
 *
 * docs/GRADIENTS.md tells how tg_vmap and gradients combine, docs/NUMERICS.md
 * which bits results have.
 */
#ifndef TGJIT_VMAP_H
#define TGJIT_VMAP_H

#include <limits.h>

#include "function.h"
#include "value.h"

TG_BEGIN_DECLS

/* As an axis: the argument or result is the same for all elements. */
#define TG_UNBATCHED INT_MIN

/*
 * Runs `body` for each index of the batch. Argument i is batched along axis
 * in_axes[i], result i along out_axes[i] of the result; negative axes count
 * from the last. NULL: all along axis 0. At least one argument is batched; all
 * batched extents are equal. A result that is the same for all elements is
 * repeated, unless its axis is TG_UNBATCHED.
 */
TG_API void tg_vmap_at(tg_callback *body, void *user, const int *in_axes,
                       const int *out_axes, const tg_operand *args,
                       size_t n_args, tg_value *out_results, size_t n_results,
                       tg_site site);

TG_END_DECLS

#ifndef __cplusplus

/* Example: tg_vmap(f, user, TG_ARGS(x, y), results, n) */
#define tg_vmap(body, user, ...) \
    TG_WITH_ARGS(tg_vmap_at, __VA_ARGS__) \
    (body, user, NULL, NULL, __VA_ARGS__, TG_HERE)
/* Example: tg_vmap_axes(f, user, (int[]){1, TG_UNBATCHED}, (int[]){0},
                         TG_ARGS(x, y), results, n) */
#define tg_vmap_axes(body, user, in_axes, ...) \
    TG_VMAP_AXES_(body, user, in_axes, __VA_ARGS__)
/* Compound literals contain commas, which macros take as separators. */
#define TG_VMAP_AXES_(...) tg_vmap_at(__VA_ARGS__, TG_HERE)

#else /* __cplusplus */

inline void tg_vmap(tg_callback *body, void *user, tg_ins args,
                    tg_value *out_results, size_t n_results,
                    tg_site site = TG_HERE)
{
    tg_vmap_at(body, user, nullptr, nullptr, args.begin(), args.size(),
               out_results, n_results, site);
}
inline void tg_vmap_axes(tg_callback *body, void *user, const int *in_axes,
                         const int *out_axes, tg_ins args,
                         tg_value *out_results, size_t n_results,
                         tg_site site = TG_HERE)
{
    tg_vmap_at(body, user, in_axes, out_axes, args.begin(), args.size(),
               out_results, n_results, site);
}

#endif /* __cplusplus */

#endif /* TGJIT_VMAP_H */

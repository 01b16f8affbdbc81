/* SPDX-License-Identifier: MIT */
/*
 * ops_arrange.h - values put together, taken apart and moved, composed of the
 * operations of ops.h.
 */
#ifndef TGJIT_OPS_ARRANGE_H
#define TGJIT_OPS_ARRANGE_H

#include "ops.h"

TG_BEGIN_DECLS

/*
 * Class indices (integers) as rows of n_classes elements: 1 at the index, else
 * 0. The result has the axes of `indices`, followed by that of the classes. The
 * row of an index out of range, such as -1, is zero.
 */
TG_API tg_value tg_one_hot_at(tg_operand indices, int64_t n_classes,
                              tg_dtype dtype, tg_site site);

/* Values of one dtype and shape, put together along a new axis; axis -1 makes
   it the last of the result. */
TG_API tg_value tg_stack_at(int axis, const tg_operand *parts, size_t n_parts,
                            tg_site site);

/*
 * The reverse of tg_stack: writes the `n_parts` slices of an axis, without that
 * axis, to out_parts. The extent of the axis must be n_parts; an unknown one is
 * checked at the call. On failure all parts are invalid.
 */
TG_API void tg_unstack_at(tg_operand x, int axis, tg_value *out_parts,
                          size_t n_parts, tg_site site);

/* Moves elements by `shift` positions along an axis; those that leave it at one
   end enter at the other. A negative shift moves towards position 0. */
TG_API tg_value tg_roll_at(tg_operand x, int axis, int64_t shift,
                           tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define tg_one_hot(indices, n_classes, dtype) \
    tg_one_hot_at(TG_IN(indices), n_classes, dtype, TG_HERE)
#define tg_stack(axis, ...) tg_stack_at(axis, TG_ARGS(__VA_ARGS__), TG_HERE)
#define tg_unstack(x, axis, out_parts, n_parts) \
    tg_unstack_at(TG_IN(x), axis, out_parts, n_parts, TG_HERE)
#define tg_roll(x, axis, shift) tg_roll_at(TG_IN(x), axis, shift, TG_HERE)
#else
inline tg_value tg_one_hot(tg_in indices, int64_t n_classes, tg_dtype dtype,
                           tg_site site = TG_HERE)
{
    return tg_one_hot_at(indices, n_classes, dtype, site);
}
inline tg_value tg_stack(int axis, tg_ins parts, tg_site site = TG_HERE)
{
    return tg_stack_at(axis, parts.begin(), parts.size(), site);
}
template <typename... more>
inline tg_value tg_stack(tg_located<int> axis, tg_in first,
                         const more &...others)
{
    return tg_stack(axis.value, {first, tg_in(others)...}, axis.site);
}
inline void tg_unstack(tg_in x, int axis, tg_value *out_parts, size_t n_parts,
                       tg_site site = TG_HERE)
{
    tg_unstack_at(x, axis, out_parts, n_parts, site);
}
inline tg_value tg_roll(tg_in x, int axis, int64_t shift,
                        tg_site site = TG_HERE)
{
    return tg_roll_at(x, axis, shift, site);
}
#endif

#endif /* TGJIT_OPS_ARRANGE_H */

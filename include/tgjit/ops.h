/* SPDX-License-Identifier: MIT */
/*
 * ops.h - the operations of a callback.
 *
 * Shapes broadcast as in NumPy: aligned at the last axis, extents equal or 1.
 * Element types must be equal; plain numbers adapt if they fit (value.h),
 * tensors never do (use tg_cast). Negative axes count from the last. docs/OPS.md has the table.
 *
 * Every tg_x below is a macro over tg_x_at in C and an inline function in
 * C++; both pass on the caller's file and line for messages.
 */
#ifndef TGJIT_OPS_H
#define TGJIT_OPS_H

#include "value.h"

#define TG_DECLARE_OP_1(name) \
    TG_API tg_value tg_##name##_at(tg_operand x, tg_site site);
#define TG_DECLARE_OP_2(name) \
    TG_API tg_value tg_##name##_at(tg_operand a, tg_operand b, tg_site site);
#define TG_DECLARE_OP_3(name) \
    TG_API tg_value tg_##name##_at(tg_operand a, tg_operand b, tg_operand c, \
                                   tg_site site);

/*
 * One list for declarations, C++ overloads and docs: X1, X2 and X3 take the
 * name of an operation with one, two or three operands.
 */
#define TG_ELEMENTWISE_OPS(X1, X2, X3) \
    X1(neg)      /* -x; integers wrap */ \
    X1(abs)      /* magnitude; of the smallest integer: itself */ \
    X1(sign)     /* -1, 0, 1 in x's type; keeps zeros and NaN */ \
    X1(floor)    \
    X1(ceil)     \
    X1(round)    /* halves to even */ \
    X1(trunc)    \
    X1(sqrt)     \
    X1(rsqrt)    /* 1 / sqrt(x) */ \
    X1(cbrt)     \
    X1(exp)      \
    X1(exp2)     \
    X1(expm1)    \
    X1(log)      \
    X1(log2)     \
    X1(log10)    \
    X1(log1p)    \
    X1(sin)      \
    X1(cos)      \
    X1(tan)      \
    X1(asin)     \
    X1(acos)     \
    X1(atan)     \
    X1(sinh)     \
    X1(cosh)     \
    X1(tanh)     \
    X1(asinh)    \
    X1(acosh)    \
    X1(atanh)    \
    X1(erf)      \
    X1(erfc)     /* 1 - erf(x), exact in its tail */ \
    X1(sigmoid)  /* 1 / (1 + exp(-x)) */ \
    X1(silu)     /* x * sigmoid(x) */ \
    X1(softplus) /* log(1 + exp(x)) */ \
    X1(gelu)     /* x/2 * (1 + erf(x / sqrt(2))) */ \
    X1(stop_gradient) /* the value itself; gradients do not pass */ \
    X1(not)      /* bool: logical; integers: all bits */ \
    X1(square)   /* x * x */ \
    X2(add)      \
    X2(sub)      \
    X2(mul)      \
    X2(div)      /* integers: towards zero; x/0 = -1, MIN/-1 = MIN */ \
    X2(rem)      /* integers, sign of a; x%0 = x */ \
    X2(min)      /* NaN if either is; -0 < +0 */ \
    X2(max)      \
    X2(pow)      /* float types */ \
    X2(and)      /* bool and integers */ \
    X2(or)       \
    X2(xor)      \
    X2(shl)      /* by b bits; past the width: 0 */ \
    X2(shr)      /* arithmetic for signed types */ \
    X2(eq)       /* comparisons give bool */ \
    X2(ne)       \
    X2(lt)       \
    X2(le)       \
    X2(gt)       \
    X2(ge)       \
    X2(hypot)    /* sqrt(a*a + b*b) without overflow; float types */ \
    X2(atan2)    /* angle of the point (b, a); float types */ \
    X3(fma)      /* a * b + c with one rounding */ \
    X3(select)   /* a ? b : c, a is bool */ \
    X3(clamp)    /* min(max(a, b), c) */

TG_BEGIN_DECLS

TG_ELEMENTWISE_OPS(TG_DECLARE_OP_1, TG_DECLARE_OP_2, TG_DECLARE_OP_3)

/* -- Types and constants --------------------------------------------------- */

/*
 * Converts elements. Float to integer truncates and saturates, NaN gives 0;
 * integer to integer wraps; anything to bool is x != 0.
 */
TG_API tg_value tg_cast_at(tg_operand x, tg_dtype dtype, tg_site site);

/* A scalar of that type; the number must be representable in it. */
TG_API tg_value tg_scalar_at(tg_dtype dtype, tg_operand number, tg_site site);

/* A constant tensor copied from `data` now. */
TG_API tg_value tg_constant_at(tg_dtype dtype, int rank, const int64_t *dims,
                               const void *data, tg_site site);

/* Counts 0, 1, 2 … along `axis`. */
TG_API tg_value tg_iota_at(tg_dtype dtype, int rank, const int64_t *dims,
                           int axis, tg_site site);

/* Extent of an axis as an i64 scalar, also where known only at the call. */
TG_API tg_value tg_extent_at(tg_operand x, int axis, tg_site site);

/* -- Shapes ---------------------------------------------------------------- */

TG_API tg_value tg_broadcast_at(tg_operand x, int rank, const int64_t *dims,
                                tg_site site);

/* Same elements, other shape; one extent may be -1: what is left over. */
TG_API tg_value tg_reshape_at(tg_operand x, int rank, const int64_t *dims,
                              tg_site site);

/* Axis i of the result is axis perm[i] of x. */
TG_API tg_value tg_transpose_at(tg_operand x, int n_axes, const int *perm,
                                tg_site site);

/* As `stop`: to the end, in the direction of the step. */
#define TG_END INT64_MAX

/*
 * Elements start, start + step … before stop of one axis. Negative start and
 * stop count from the end. Positions out of range are an error.
 */
TG_API tg_value tg_slice_at(tg_operand x, int axis, int64_t start,
                            int64_t stop, int64_t step, tg_site site);

/* Adds `low` and `high` elements of `value` around one axis. */
TG_API tg_value tg_pad_at(tg_operand x, int axis, int64_t low, int64_t high,
                          tg_operand value, tg_site site);

TG_API tg_value tg_concat_at(int axis, const tg_operand *parts, size_t n_parts,
                             tg_site site);

typedef enum tg_gather_mode {
    TG_GATHER_CHECK = 0, /* an index out of range fails the call */
    TG_GATHER_CLAMP = 1, /* … is moved to the nearest valid one */
    TG_GATHER_ZERO = 2   /* … gives zeros */
} tg_gather_mode;

/*
 * Takes slices of `axis` by integer indices: the axis is replaced by the axes
 * of `indices`. Indices are not negative.
 */
TG_API tg_value tg_gather_at(tg_operand x, tg_operand indices, int axis,
                             tg_gather_mode mode, tg_site site);

typedef enum tg_scatter_mode {
    TG_SCATTER_SET = 0, /* of several for one place, the last counts */
    TG_SCATTER_ADD = 1  /* one after the other is added */
} tg_scatter_mode;

typedef enum tg_scatter_range {
    TG_SCATTER_CHECK = 0, /* an index out of range fails the call */
    TG_SCATTER_DROP = 1   /* … and what belongs to it are passed over */
} tg_scatter_range;

/*
 * x with slices of `axis` set to, or plus, those of `updates`, which have the
 * shape of tg_gather(x, indices, axis). Indices are taken in row-major order.
 * Where x is not used afterwards nothing is copied.
 */
TG_API tg_value tg_scatter_at(tg_operand x, tg_operand indices,
                              tg_operand updates, int axis,
                              tg_scatter_mode mode, tg_scatter_range range,
                              tg_site site);

/*
 * `size` elements of one axis, from position `start` on: an integer scalar,
 * which the run decides. It is clamped into 0 … extent - size, so that no
 * start fails.
 */
TG_API tg_value tg_dynamic_slice_at(tg_operand x, int axis, tg_operand start,
                                    int64_t size, tg_site site);

/*
 * x with the elements of `update` in place from position `start` of one axis
 * on, which is clamped in the same way; all other axes are equal. Where x is
 * not used afterwards nothing is copied.
 */
TG_API tg_value tg_dynamic_update_slice_at(tg_operand x, tg_operand update,
                                           int axis, tg_operand start,
                                           tg_site site);

/* -- Reductions ------------------------------------------------------------ */

/* Which axes to reduce; made by TG_ALL_AXES and TG_AXES(…). */
typedef struct tg_axes {
    int8_t n; /* -1: all */
    bool keep;
    int8_t axis[TG_MAX_RANK];
} tg_axes;

/* More than TG_MAX_RANK axes are an error of the operation that takes them. */
TG_API tg_axes tg_axes_of(size_t n, const int *axes);

/* The same axes, kept in the result with extent 1. */
static inline tg_axes tg_keep(tg_axes axes)
{
    axes.keep = true;
    return axes;
}

TG_API tg_value tg_sum_at(tg_operand x, tg_axes axes, tg_site site);
TG_API tg_value tg_prod_at(tg_operand x, tg_axes axes, tg_site site);
/* Of no elements: an error. */
TG_API tg_value tg_reduce_max_at(tg_operand x, tg_axes axes, tg_site site);
TG_API tg_value tg_reduce_min_at(tg_operand x, tg_axes axes, tg_site site);
/* sum / n; float types; of no elements NaN. */
TG_API tg_value tg_mean_at(tg_operand x, tg_axes axes, tg_site site);
/* Of bool. */
TG_API tg_value tg_any_at(tg_operand x, tg_axes axes, tg_site site);
TG_API tg_value tg_all_at(tg_operand x, tg_axes axes, tg_site site);
/* Position (i64) of the first largest or smallest; NaN wins. */
TG_API tg_value tg_argmax_at(tg_operand x, int axis, tg_site site);
TG_API tg_value tg_argmin_at(tg_operand x, int axis, tg_site site);

/* -- Products -------------------------------------------------------------- */

typedef enum tg_matmul_flags {
    TG_MATMUL_PLAIN = 0,
    TG_TRANSPOSE_A = 1,
    TG_TRANSPOSE_B = 2
} tg_matmul_flags;

/*
 * Matrix product over the last two axes; the others broadcast. A vector
 * stands for a row (a) or column (b) and its axis goes from the result.
 */
TG_API tg_value tg_matmul_with_at(tg_operand a, tg_operand b, int flags,
                                  tg_site site);

/* Which axes of a and b go together, pair by pair; none where left out. */
typedef struct tg_dot_axes {
    tg_axes contract_a, contract_b; /* summed over */
    tg_axes batch_a, batch_b;       /* in the result once */
} tg_dot_axes;

/* The axes of the result: those of the batch, the others of a, those of b. */
TG_API tg_value tg_dot_general_at(tg_operand a, tg_operand b, tg_dot_axes axes,
                                  tg_site site);

/*
 * Sums of products by labels, as in NumPy: tg_einsum("bij,bjk->bik", x, y).
 * Every axis has a letter; axes of one letter are equally long and go
 * together, also those of one operand (its diagonal); letters that the result
 * lacks are summed over. '...' stands for any axes, which broadcast. Without
 * "->" the result has the axes of '...' and the letters that stand once, in
 * alphabetical order. Several operands are multiplied from left to right.
 */
TG_API tg_value tg_einsum_at(const char *labels, const tg_operand *operands,
                             size_t n_operands, tg_site site);

/* -- State ----------------------------------------------------------------- */

/* The contents now; a later assignment does not change the value. */
TG_API tg_value tg_read_at(tg_operand variable, tg_site site);

/* Sets the contents and returns them. The value has the variable's dtype and
   its very shape, or is a scalar, which fills it; nothing else broadcasts. */
TG_API tg_value tg_assign_at(tg_operand variable, tg_operand value,
                             tg_site site);
TG_API tg_value tg_assign_add_at(tg_operand variable, tg_operand value,
                                 tg_site site);
TG_API tg_value tg_assign_sub_at(tg_operand variable, tg_operand value,
                                 tg_site site);

TG_END_DECLS

#include "ops_macros.h"

#endif /* TGJIT_OPS_H */

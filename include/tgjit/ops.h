/* SPDX-License-Identifier: MIT */
/*
 * ops.h - the operations. docs/OPS.md lists them all.
 *
 * Shapes broadcast as in NumPy: aligned at the last axis, extents equal or 1.
 * The dtypes of tensors must be equal (use tg_cast); a plain number takes the
 * dtype of the other operand, which must be able to hold it (value.h). Negative
 * axes count from the last.
 *
 * For each tg_x_at declared here, tg_x is a macro in C and an inline function
 * in C++ that passes the caller's file and line for messages.
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
 * The elementwise operations: X1, X2 and X3 receive the names of those with
 * one, two and three operands.
 */
#define TG_ELEMENTWISE_OPS(X1, X2, X3) \
    X1(neg)      /* -x; integers wrap */ \
    X1(abs)      /* magnitude; the smallest integer stays as it is */ \
    X1(sign)     /* -1, 0 or 1 in the dtype of x; keeps zeros and NaN */ \
    X1(floor)    \
    X1(ceil)     \
    X1(round)    /* ties to even */ \
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
    X1(erfc)     /* 1 - erf(x), accurate in its tail */ \
    X1(sigmoid)  /* 1 / (1 + exp(-x)) */ \
    X1(silu)     /* x * sigmoid(x) */ \
    X1(softplus) /* log(1 + exp(x)) */ \
    X1(gelu)     /* x/2 * (1 + erf(x / sqrt(2))) */ \
    X1(log_fast) /* fast forms: up to 4 ulp; see TG_ACCURACY_FAST */ \
    X1(tanh_fast) \
    X1(erf_fast) \
    X1(erfc_fast) \
    X1(sigmoid_fast) \
    X1(silu_fast) \
    X1(gelu_fast) \
    X1(log2_fast) \
    X1(log10_fast) \
    X1(sin_fast) \
    X1(cos_fast) \
    X1(tan_fast) \
    X1(atan_fast) \
    X1(stop_gradient) /* x; gradients do not flow through it */ \
    X1(not)      /* bool: logical; integers: bitwise */ \
    X1(square)   /* x * x */ \
    X1(reciprocal) /* 1 / x; float types */ \
    X1(is_nan)   /* bool; float types */ \
    X1(is_inf)   /* bool: infinite, of either sign; float types */ \
    X1(is_finite) /* bool: neither infinite nor NaN; float types */ \
    X1(signbit)  /* bool: negative, or -0; false for NaN; float types */ \
    X2(add)      \
    X2(sub)      \
    X2(mul)      \
    X2(div)      /* integers: towards zero; x/0 = -1, MIN/-1 = MIN */ \
    X2(rem)      /* integers; sign of a; x%0 = x */ \
    X2(min)      /* NaN if either is; -0 < +0 */ \
    X2(max)      \
    X2(pow)      /* float types */ \
    X2(and)      /* bool and integers */ \
    X2(or)       \
    X2(xor)      \
    X2(shl)      /* by b bits; 0 if b is out of range */ \
    X2(shr)      /* arithmetic for signed types */ \
    X2(eq)       /* comparisons return bool */ \
    X2(ne)       \
    X2(lt)       \
    X2(le)       \
    X2(gt)       \
    X2(ge)       \
    X2(hypot)    /* sqrt(a*a + b*b) without overflow; float types */ \
    X2(atan2)    /* angle of the point (b, a); float types */ \
    X2(atan2_fast) \
    X2(floordiv) /* a / b rounded down; integers: x/0 = -1, MIN/-1 = MIN */ \
    X2(floormod) /* a - b * floordiv(a, b): has the sign of b; see below */ \
    X2(fmod)     /* remainder with the sign of a; float types; see below */ \
    X2(copysign) /* |a| with the sign of b, + for NaN; float types */ \
    X2(nextafter) /* the float next to a in direction b; gradient 0 */ \
    X2(logical_xor) /* (a != 0) != (b != 0), as bool; all types */ \
    X3(fma)      /* a * b + c with one rounding */ \
    X3(select)   /* a ? b : c, a is bool */ \
    X3(clamp)    /* min(max(a, b), c) */

TG_BEGIN_DECLS

TG_ELEMENTWISE_OPS(TG_DECLARE_OP_1, TG_DECLARE_OP_2, TG_DECLARE_OP_3)

/*
 * tg_fmod and tg_floormod of floats are exact while |a / b| < 2^24 (f32) or
 * 2^53 (f64). A remainder of zero is +0, unless a is -0. The sum
 * tg_floordiv(a, b) * b + tg_floormod(a, b) is a, up to the rounding of
 * tg_floormod where it adds b to a tiny remainder.
 */

/* -- Types and constants --------------------------------------------------- */

/*
 * Converts elements. Float to integer truncates and saturates, and maps NaN to
 * 0; integer to integer wraps; a conversion to bool is x != 0.
 */
TG_API tg_value tg_cast_at(tg_operand x, tg_dtype dtype, tg_site site);

/*
 * The same bits as another dtype of the same size; bool is excluded. A NaN
 * gives the bits of the positive quiet NaN without payload, whatever its own
 * (0x7fc00000 in f32): those of computed NaNs are unspecified.
 */
TG_API tg_value tg_bitcast_at(tg_operand x, tg_dtype dtype, tg_site site);

/* A scalar of that dtype, which must be able to hold `number`. */
TG_API tg_value tg_scalar_at(tg_dtype dtype, tg_operand number, tg_site site);

/* A constant tensor; `data` is copied immediately. */
TG_API tg_value tg_constant_at(tg_dtype dtype, int rank, const int64_t *dims,
                               const void *data, tg_site site);

/* 0, 1, 2, … along `axis`. */
TG_API tg_value tg_iota_at(tg_dtype dtype, int rank, const int64_t *dims,
                           int axis, tg_site site);

/* Extent of an axis as an i64 scalar, even if it is unknown until the call. */
TG_API tg_value tg_extent_at(tg_operand x, int axis, tg_site site);

/* -- Shapes ---------------------------------------------------------------- */

TG_API tg_value tg_broadcast_at(tg_operand x, int rank, const int64_t *dims,
                                tg_site site);

/* The same elements in another shape. One extent may be -1; it is inferred. */
TG_API tg_value tg_reshape_at(tg_operand x, int rank, const int64_t *dims,
                              tg_site site);

/* Axis i of the result is axis perm[i] of x. */
TG_API tg_value tg_transpose_at(tg_operand x, int n_axes, const int *perm,
                                tg_site site);

/* As `stop`: up to the end, in the direction of the step. */
#define TG_END INT64_MAX

/*
 * Elements start, start + step, … before stop, along one axis. Negative start
 * and stop count from the end. Positions out of range are an error.
 */
TG_API tg_value tg_slice_at(tg_operand x, int axis, int64_t start,
                            int64_t stop, int64_t step, tg_site site);

/* Adds `low` elements before and `high` elements after those of one axis, all
   equal to `value`. */
TG_API tg_value tg_pad_at(tg_operand x, int axis, int64_t low, int64_t high,
                          tg_operand value, tg_site site);

/*
 * As tg_slice and tg_pad, along the first axes of x in one operation. There is
 * one start and one stop, or one low and one high, per axis; the axes that
 * follow remain whole:
 *
 *     tg_slice_axes(x, TG_DIMS(1, 0), TG_DIMS(3, TG_END))     x[1:3, 0:]
 *     tg_slice_axes_step(x, TG_DIMS(0, -1), TG_DIMS(TG_END, TG_END),
 *                        TG_DIMS(2, -1))                      x[::2, ::-1]
 *     tg_pad_axes(x, TG_DIMS(1, 1), TG_DIMS(1, 1), 0)         a border of zeros
 *
 * `steps` may be NULL, with n_steps 0: all are 1.
 */
TG_API tg_value tg_slice_axes_at(tg_operand x, int n_starts,
                                 const int64_t *starts, int n_stops,
                                 const int64_t *stops, int n_steps,
                                 const int64_t *steps, tg_site site);
TG_API tg_value tg_pad_axes_at(tg_operand x, int n_low, const int64_t *low,
                               int n_high, const int64_t *high,
                               tg_operand value, tg_site site);

TG_API tg_value tg_concat_at(int axis, const tg_operand *parts, size_t n_parts,
                             tg_site site);

typedef enum tg_gather_mode {
    TG_GATHER_CHECK = 0, /* an index out of range fails the call */
    TG_GATHER_CLAMP = 1, /* an index out of range is clamped */
    TG_GATHER_ZERO = 2   /* an index out of range selects zeros */
} tg_gather_mode;

/*
 * Selects slices along `axis` by integer indices. The axes of `indices` replace
 * that axis. A negative index is out of range.
 */
TG_API tg_value tg_gather_at(tg_operand x, tg_operand indices, int axis,
                             tg_gather_mode mode, tg_site site);

typedef enum tg_scatter_mode {
    TG_SCATTER_SET = 0, /* the last update of an element wins */
    TG_SCATTER_ADD = 1, /* updates are added in order */
    TG_SCATTER_MUL = 2, /* an element is multiplied by its updates, in order */
    TG_SCATTER_MAX = 3, /* the largest of an element and its updates */
    TG_SCATTER_MIN = 4  /* the smallest */
} tg_scatter_mode;

typedef enum tg_scatter_range {
    TG_SCATTER_CHECK = 0, /* an index out of range fails the call */
    TG_SCATTER_DROP = 1   /* an update with an index out of range is ignored */
} tg_scatter_range;

/*
 * Returns x with slices along `axis` replaced by, or combined with, those of
 * `updates`, which has the shape of tg_gather(x, indices, axis). Indices are
 * processed in row-major order. x is not copied if it has no later use. The
 * gradient of a maximum or minimum is divided among the elements equal to it.
 */
TG_API tg_value tg_scatter_at(tg_operand x, tg_operand indices,
                              tg_operand updates, int axis,
                              tg_scatter_mode mode, tg_scatter_range range,
                              tg_site site);

/*
 * `size` elements of one axis from position `start`, an integer scalar computed
 * at run time. It is clamped to 0 … extent - size, so no start fails.
 */
TG_API tg_value tg_dynamic_slice_at(tg_operand x, int axis, tg_operand start,
                                    int64_t size, tg_site site);

/*
 * Returns x with `update` written along one axis from position `start`, which
 * is clamped as above. All other axes must be equal. x is not copied if it has
 * no later use.
 */
TG_API tg_value tg_dynamic_update_slice_at(tg_operand x, tg_operand update,
                                           int axis, tg_operand start,
                                           tg_site site);

/*
 * As tg_dynamic_slice and tg_dynamic_update_slice, along the first axes of x:
 * one start, and one size, per axis. Each start is clamped by itself.
 *
 *     tg_dynamic_slice_axes(x, TG_ARGS(row, column), TG_DIMS(2, 3))
 *     tg_dynamic_update_slice_axes(x, update, TG_ARGS(row, column))
 */
TG_API tg_value tg_dynamic_slice_axes_at(tg_operand x,
                                         const tg_operand *starts,
                                         size_t n_starts, int n_sizes,
                                         const int64_t *sizes, tg_site site);
TG_API tg_value tg_dynamic_update_slice_axes_at(tg_operand x,
                                                tg_operand update,
                                                const tg_operand *starts,
                                                size_t n_starts, tg_site site);

/* -- Reductions ------------------------------------------------------------ */

/* A set of axes; see TG_ALL_AXES and TG_AXES(…). */
typedef struct tg_axes {
    int8_t n; /* -1: all */
    bool keep; /* see tg_keep */
    int8_t axis[TG_MAX_RANK];
} tg_axes;

/* If n exceeds TG_MAX_RANK, the operation that receives the axes fails. */
TG_API tg_axes tg_axes_of(size_t n, const int *axes);

/* The same axes, but retained in the result with extent 1. */
static inline tg_axes tg_keep(tg_axes axes)
{
    axes.keep = true;
    return axes;
}

TG_API tg_value tg_sum_at(tg_operand x, tg_axes axes, tg_site site);
TG_API tg_value tg_prod_at(tg_operand x, tg_axes axes, tg_site site);
/* Reducing zero elements is an error. */
TG_API tg_value tg_reduce_max_at(tg_operand x, tg_axes axes, tg_site site);
TG_API tg_value tg_reduce_min_at(tg_operand x, tg_axes axes, tg_site site);
/* sum / n, for float dtypes; NaN for zero elements. */
TG_API tg_value tg_mean_at(tg_operand x, tg_axes axes, tg_site site);
/* x is bool. */
TG_API tg_value tg_any_at(tg_operand x, tg_axes axes, tg_site site);
TG_API tg_value tg_all_at(tg_operand x, tg_axes axes, tg_site site);
/* Position (i64) of the first maximum or minimum; the first NaN wins. */
TG_API tg_value tg_argmax_at(tg_operand x, int axis, tg_site site);
TG_API tg_value tg_argmin_at(tg_operand x, int axis, tg_site site);

/* -- Matrix products ------------------------------------------------------- */

typedef enum tg_matmul_flags {
    TG_MATMUL_PLAIN = 0,
    TG_TRANSPOSE_A = 1,
    TG_TRANSPOSE_B = 2,
    /* Elements are i32 that hold four bytes: unsigned ones in a, signed ones in
       b. A product is the sum of the four products of bytes.
       tg_matmul_integer makes such operands from i8 and u8. */
    TG_MATMUL_BYTES = 4
} tg_matmul_flags;

/*
 * Matrix product over the last two axes; the others broadcast. A vector is
 * treated as a row (a) or a column (b), whose unit axis the result omits.
 */
TG_API tg_value tg_matmul_with_at(tg_operand a, tg_operand b, int flags,
                                  tg_site site);

/* Axes of a and b that are paired, in order; a zero member has no axes. */
typedef struct tg_dot_axes {
    tg_axes contract_a, contract_b; /* summed over */
    tg_axes batch_a, batch_b;       /* in the result once */
} tg_dot_axes;

/* Generalised dot product. The axes of the result are the batch axes, then the
   remaining axes of a, then those of b. */
TG_API tg_value tg_dot_general_at(tg_operand a, tg_operand b, tg_dot_axes axes,
                                  tg_site site);

/*
 * Einstein summation, as in NumPy: tg_einsum("bij,bjk->bik", x, y). Axes with
 * the same letter have equal extents and are paired; within one operand they
 * select its diagonal. Letters absent from the result are summed over. '...'
 * stands for any number of axes, which broadcast. Without "->" the result has
 * the axes of '...', then the letters that occur once, in alphabetical order.
 * Operands are multiplied from left to right.
 */
TG_API tg_value tg_einsum_at(const char *labels, const tg_operand *operands,
                             size_t n_operands, tg_site site);

/* -- State ----------------------------------------------------------------- */

/* The current contents; a later assignment does not change the value. */
TG_API tg_value tg_read_at(tg_operand variable, tg_site site);

/* Sets the contents and returns them. `value` has the dtype of the variable and
   either its exact shape or no axes; no other broadcasting takes place. */
TG_API tg_value tg_assign_at(tg_operand variable, tg_operand value,
                             tg_site site);
TG_API tg_value tg_assign_add_at(tg_operand variable, tg_operand value,
                                 tg_site site);
TG_API tg_value tg_assign_sub_at(tg_operand variable, tg_operand value,
                                 tg_site site);

TG_END_DECLS

#include "ops_macros.h"

#endif /* TGJIT_OPS_H */

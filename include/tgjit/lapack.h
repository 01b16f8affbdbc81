/* SPDX-License-Identifier: MIT */
/*
 * lapack.h - linear algebra of matrices, through LAPACK: operations on the host
 * (docs/LINEAR_ALGEBRA.md). In the library libtgjit-lapack, which is built if
 * LAPACK is installed: pkg-config --cflags --libs tgjit-lapack.
 *
 * Matrices are the last two axes; the axes before them are a batch. f32 and
 * f64; extents may be unknown. All operations have gradients.
 *
 * A matrix without a result, such as a singular one that is to be inverted,
 * fails the call with TG_ERROR_CALLBACK; the message has the operation and the
 * position in the batch.
 */
#ifndef TGJIT_LAPACK_H
#define TGJIT_LAPACK_H

#include "ops.h"

TG_BEGIN_DECLS

/* The lower triangular l with l lᵀ = (a + aᵀ) / 2, which must be positive
   definite. */
TG_API tg_value tg_cholesky_at(tg_operand a, tg_site site);

typedef enum tg_triangular_flags {
    TG_TRIANGULAR_LOWER = 0, /* the elements above the diagonal are ignored */
    TG_TRIANGULAR_UPPER = 1, /* those below are */
    TG_TRIANGULAR_TRANSPOSED = 2, /* of the matrix that is stored */
    TG_TRIANGULAR_UNIT = 4        /* its diagonal is taken as 1 */
} tg_triangular_flags;

/*
 * The x with a x = b: for a triangular a, transposed if the flags say so, and
 * for any. b is […, n, k], or a vector [n] for a matrix without batch axes;
 * batch axes are equal, or 1.
 */
TG_API tg_value tg_triangular_solve_at(tg_operand a, tg_operand b,
                                       unsigned flags, tg_site site);
TG_API tg_value tg_solve_at(tg_operand a, tg_operand b, tg_site site);

/* Without the last two axes. The gradient of a singular matrix exists. */
TG_API tg_value tg_det_at(tg_operand a, tg_site site);

/* det = sign * exp(log_abs); of a singular matrix 0 and -infinity. */
typedef struct tg_slogdet_results {
    tg_value sign, log_abs;
} tg_slogdet_results;

TG_API tg_slogdet_results tg_slogdet_at(tg_operand a, tg_site site);

TG_API tg_value tg_inverse_at(tg_operand a, tg_site site);

/* a = q r for a […, m, n]: q […, m, k] with orthonormal columns, r […, k, n]
   upper triangular, k = min(m, n). */
typedef struct tg_qr_results {
    tg_value q, r;
} tg_qr_results;

/* The gradient needs to know while tracing whether m >= n. */
TG_API tg_qr_results tg_qr_at(tg_operand a, tg_site site);

/* a = u diag(s) vt for a […, m, n]: u […, m, k] with orthonormal columns,
   s […, k] in descending order, vt […, k, n] with orthonormal rows. */
typedef struct tg_svd_results {
    tg_value u, s, vt;
} tg_svd_results;

/* Gradients of u and vt need different singular values, all positive. */
TG_API tg_svd_results tg_svd_at(tg_operand a, tg_site site);

/* (a + aᵀ) / 2 = vectors diag(values) vectorsᵀ: values […, n] in ascending
   order; the columns of vectors […, n, n] are orthonormal. */
typedef struct tg_eigh_results {
    tg_value values, vectors;
} tg_eigh_results;

/* Gradients of vectors need different values. */
TG_API tg_eigh_results tg_eigh_at(tg_operand a, tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define tg_cholesky(a) tg_cholesky_at(TG_IN(a), TG_HERE)
#define tg_triangular_solve(a, b, flags) \
    tg_triangular_solve_at(TG_IN(a), TG_IN(b), flags, TG_HERE)
#define tg_solve(a, b) tg_solve_at(TG_IN(a), TG_IN(b), TG_HERE)
#define tg_det(a) tg_det_at(TG_IN(a), TG_HERE)
#define tg_slogdet(a) tg_slogdet_at(TG_IN(a), TG_HERE)
#define tg_inverse(a) tg_inverse_at(TG_IN(a), TG_HERE)
#define tg_qr(a) tg_qr_at(TG_IN(a), TG_HERE)
#define tg_svd(a) tg_svd_at(TG_IN(a), TG_HERE)
#define tg_eigh(a) tg_eigh_at(TG_IN(a), TG_HERE)
#else
TG_DEFINE_OP_1(cholesky)
inline tg_value tg_triangular_solve(tg_in a, tg_in b, unsigned flags,
                                    tg_site site = TG_HERE)
{
    return tg_triangular_solve_at(a, b, flags, site);
}
TG_DEFINE_OP_2(solve)
TG_DEFINE_OP_1(det)
inline tg_slogdet_results tg_slogdet(tg_in a, tg_site site = TG_HERE)
{
    return tg_slogdet_at(a, site);
}
TG_DEFINE_OP_1(inverse)
inline tg_qr_results tg_qr(tg_in a, tg_site site = TG_HERE)
{
    return tg_qr_at(a, site);
}
inline tg_svd_results tg_svd(tg_in a, tg_site site = TG_HERE)
{
    return tg_svd_at(a, site);
}
inline tg_eigh_results tg_eigh(tg_in a, tg_site site = TG_HERE)
{
    return tg_eigh_at(a, site);
}
#endif

#endif /* TGJIT_LAPACK_H */

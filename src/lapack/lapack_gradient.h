/* SPDX-License-Identifier: MIT */
/*
 * lapack_gradient.h - the gradients of the operations: callbacks that receive
 * the inputs, the results and their gradients.
 */
#ifndef TGI_LAPACK_GRADIENT_H
#define TGI_LAPACK_GRADIENT_H

#include "tgjit/function.h"

/* `user` of triangular_solve: its flags as an integer. */
tg_callback tgi_gradient_cholesky, tgi_gradient_triangular_solve,
    tgi_gradient_solve, tgi_gradient_det, tgi_gradient_slogdet,
    tgi_gradient_inverse, tgi_gradient_cofactors, tgi_gradient_qr,
    tgi_gradient_svd, tgi_gradient_eigh;

/* The cofactors of a matrix, whose transpose is its adjugate: the gradient of
   the determinant. */
tg_value tgi_cofactors(tg_value a);

#endif /* TGI_LAPACK_GRADIENT_H */

/* SPDX-License-Identifier: MIT */
/*
 * lapack_host.h - the host functions behind the operations, for the dtype of
 * their first input. All axes before the last two of a matrix are a batch.
 *
 * Row-major memory is the transpose of what LAPACK expects. Most functions use
 * the factors of the transpose instead of moving elements: the SVD of aᵀ is
 * that of a with u and v exchanged, and its LQ factors are the QR factors of a.
 */
#ifndef TGI_LAPACK_HOST_H
#define TGI_LAPACK_HOST_H

#include "tgjit/host.h"

/* `user` of triangular_solve: its flags as an integer. */
tg_host_function tgi_lapack_cholesky, tgi_lapack_triangular_solve,
    tgi_lapack_solve, tgi_lapack_det, tgi_lapack_slogdet, tgi_lapack_inverse,
    tgi_lapack_cofactors, tgi_lapack_qr, tgi_lapack_svd, tgi_lapack_eigh;

/* -- For lapack_host_type.h ------------------------------------------------ */

/* The matrices of a host call. */
typedef struct tgi_matrices {
    const tg_host_buffer *buffer; /* of the first input */
    int64_t n_matrices;
    int rows, columns;
    int least; /* of rows and columns */
    unsigned flags;
} tgi_matrices;

/* Fails: "the matrix [at position [i, j]] …". */
tg_status tgi_lapack_fail(const tgi_matrices *m, int64_t matrix,
                          const char *format, ...) TG_PRINTF(3, 4);

tg_status tgi_lapack_fail_memory(void);

#endif /* TGI_LAPACK_HOST_H */

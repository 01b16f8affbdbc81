/* SPDX-License-Identifier: MIT */
/*
 * combine.h - combines two arrays element by element, with the bits of the
 * operations add, max and min of the graph.
 */
#ifndef TGI_MPI_COMBINE_H
#define TGI_MPI_COMBINE_H

#include "tgjit/base.h"

/* The operation of a reduction; a mean is a sum that the graph divides. */
typedef enum tgi_mpi_operation {
    TGI_MPI_SUM = 0,
    TGI_MPI_MAX = 1,
    TGI_MPI_MIN = 2
} tgi_mpi_operation;

/* out[i] = a[i] OP b[i]; out may be a or b. The dtype is a number. */
void tgi_mpi_combine(tg_dtype dtype, tgi_mpi_operation operation, void *out,
                     const void *a, const void *b, int64_t count);

#endif /* TGI_MPI_COMBINE_H */

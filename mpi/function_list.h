/* SPDX-License-Identifier: MIT */
/*
 * function_list.h - functions that libtgjit-mpi applies in traces. They belong
 * to the tg_mpi.
 */
#ifndef TGI_MPI_FUNCTION_LIST_H
#define TGI_MPI_FUNCTION_LIST_H

#include "mpi/communicator.h"

/* The function of a callback, created once; NULL and an error on failure. */
tg_function *tgi_mpi_function(tg_mpi *m, tg_callback *callback, void *user);
void tgi_mpi_functions_free(tg_mpi *m);

#endif /* TGI_MPI_FUNCTION_LIST_H */

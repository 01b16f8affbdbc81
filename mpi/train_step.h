/* SPDX-License-Identifier: MIT */
/*
 * train_step.h - the steps of tg_mpi_train_step, which belong to the
 * tg_mpi.
 */
#ifndef TGI_MPI_TRAIN_STEP_H
#define TGI_MPI_TRAIN_STEP_H

#include "mpi/communicator.h"

void tgi_mpi_train_steps_free(tg_mpi *m);

#endif /* TGI_MPI_TRAIN_STEP_H */

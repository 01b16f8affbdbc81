/* SPDX-License-Identifier: MIT */
/*
 * mpi_case.h - the cost of a collective of libtgjit-mpi, beside that of the
 * messages that it sends. This program does not use MPI: TGJIT_BENCH_MPI is a
 * command that starts tests/mpi/overhead on two ranks, which measure what they
 * are asked to. Without it there are no such rows.
 */
#ifndef BENCH_MPI_CASE_H
#define BENCH_MPI_CASE_H

#include "case.h"

extern const case_family mpi_family;

#endif /* BENCH_MPI_CASE_H */

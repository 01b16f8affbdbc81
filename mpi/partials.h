/* SPDX-License-Identifier: MIT */
/*
 * partials.h - operations of a graph that combine what one rank has, and the
 * host calls that combine the rest.
 */
#ifndef TGI_MPI_PARTIALS_H
#define TGI_MPI_PARTIALS_H

#include "mpi/call.h"

/* The value of an operand: a tg_value, variable, tensor or number; invalid and
   an error for anything else. */
tg_value tgi_mpi_value(tg_trace *t, const char *name, tg_operand x,
                       tg_site site);

/* Type of a value, for a host call. */
typedef struct tgi_mpi_type {
    int64_t dims[TG_MAX_RANK];
    tg_host_spec spec; /* its dims are those above */
} tgi_mpi_type;
void tgi_mpi_type_of(tg_value x, tgi_mpi_type *out_type);

/*
 * Combines values[i], one per shard of this rank, up to its partials; returns
 * their number. The sums are never contracted with what computes the values.
 */
size_t tgi_mpi_partials(tg_mpi *m, tg_mpi_reduction reduction,
                        const tg_value *values, tg_value *out_partials,
                        tg_site site);

#endif /* TGI_MPI_PARTIALS_H */

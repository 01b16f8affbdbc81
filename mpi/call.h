/* SPDX-License-Identifier: MIT */
/*
 * call.h - a collective of a graph: the `user` of its host call. It belongs to
 * the tg_mpi, which may hold more than the traces that still exist use.
 */
#ifndef TGI_MPI_CALL_H
#define TGI_MPI_CALL_H

#include "mpi/communicator.h"
#include "tgjit/host.h"

typedef enum tgi_mpi_call_kind {
    TGI_MPI_ALL_REDUCE = 0,
    TGI_MPI_ALL_GATHER = 1,
    TGI_MPI_REDUCE_SCATTER = 2,
    TGI_MPI_BROADCAST = 3,
    TGI_MPI_ALL_TO_ALL = 4,
    TGI_MPI_SHIFT = 5,
    TGI_MPI_BARRIER = 6,
    TGI_MPI_BUCKET = 7
} tgi_mpi_call_kind;

typedef struct tgi_mpi_call {
    struct tgi_mpi_call *next;
    tg_mpi *m;
    tgi_mpi_call_kind kind;
    tg_mpi_reduction reduction;
    int argument;             /* the root or the distance */
    const tgi_shards *shards; /* leaves of the reduction */
    size_t n_partials;        /* of this rank; 1 unless it reduces shards */
    /* Of the latest run. */
    bool is_prepared;
    tg_dtype dtype;
    int rank;
    int64_t dims[TG_MAX_RANK];
    int64_t count; /* elements of an input */
    char text[TGI_MPI_CALL_TEXT];
    tgi_mpi_schedule *schedule; /* NULL: MPI's own collective */
    tgi_mpi_pending pending;
    /* A bucket: its variables, one after the other, and its memory. */
    size_t n_items;
    char *memory; /* the partials, then the result */
    bool is_started;
} tgi_mpi_call;

/* Adds a call to those of m; NULL when out of memory. */
tgi_mpi_call *tgi_mpi_call_create(tg_mpi *m, tgi_mpi_call_kind kind,
                                  tg_mpi_reduction reduction, int argument,
                                  const tgi_shards *shards);
void tgi_mpi_calls_free(tg_mpi *m);

/* The host function of all collectives but buckets. */
tg_host_function tgi_mpi_call_run;

/* The host functions of a bucket. The first reads partial k of item i as input
   i * n_partials + k, the second writes item i as output i. */
tg_host_function tgi_mpi_bucket_start, tgi_mpi_bucket_finish;

/* Elements of a buffer. */
int64_t tgi_mpi_count(const tg_host_buffer *buffer);

/* What an MPI call gets for an operation and a dtype. */
MPI_Datatype tgi_mpi_datatype(tg_dtype dtype);
MPI_Op tgi_mpi_op(tg_mpi_reduction reduction);
tgi_mpi_operation tgi_mpi_operation_of(tg_mpi_reduction reduction);

#endif /* TGI_MPI_CALL_H */

/* SPDX-License-Identifier: MIT */
/*
 * schedule.h - collectives as lists of point-to-point messages and local
 * combinations. A schedule depends on types and sizes only; it is built once
 * and run many times. A transfer is one run, which advances without blocking
 * whenever it is polled, so that it overlaps with computation.
 *
 * Independent of libtgjit, so that it also runs in simulations.
 */
#ifndef TGI_MPI_SCHEDULE_H
#define TGI_MPI_SCHEDULE_H

#include <mpi.h>

#include "mpi/combine.h"
#include "mpi/shards.h"

typedef enum tgi_mpi_space {
    TGI_MPI_IN = 0,  /* a partial of this rank */
    TGI_MPI_OUT = 1, /* the result */
    TGI_MPI_WORK = 2 /* memory of the schedule */
} tgi_mpi_space;

typedef struct tgi_mpi_place {
    tgi_mpi_space space;
    size_t partial; /* of TGI_MPI_IN */
    int64_t offset; /* bytes */
} tgi_mpi_place;

typedef enum tgi_mpi_step_kind {
    TGI_MPI_SEND = 0,    /* starts sending a */
    TGI_MPI_RECEIVE = 1, /* starts receiving out */
    TGI_MPI_WAIT = 2,    /* until all that has been started is complete */
    TGI_MPI_COMBINE = 3, /* out = a OP b */
    TGI_MPI_COPY = 4     /* out = a */
} tgi_mpi_step_kind;

typedef struct tgi_mpi_step {
    tgi_mpi_step_kind kind;
    int peer;
    int64_t count; /* elements */
    tgi_mpi_place out, a, b;
} tgi_mpi_step;

typedef struct tgi_mpi_schedule {
    tg_dtype dtype;
    size_t element_bytes;
    tgi_mpi_operation operation;
    tgi_mpi_step *steps;
    size_t n_steps, capacity;
    size_t max_requests; /* started between two waits */
    int64_t work_bytes;
    bool has_failed; /* out of memory; set by the functions that add steps */
} tgi_mpi_schedule;

/* What a reduction leaves on each rank. */
typedef enum tgi_mpi_result {
    TGI_MPI_EVERYTHING = 0,
    TGI_MPI_OWN_PART = 1 /* part `rank` of n_ranks equal ones */
} tgi_mpi_result;

/*
 * Builds the reduction of the partials of all ranks, arrays of `count`
 * elements, in the order of the tree over shards. NULL when out of memory.
 */
tgi_mpi_schedule *tgi_mpi_schedule_reduction(const tgi_shards *shards,
                                             tg_dtype dtype,
                                             size_t element_bytes,
                                             tgi_mpi_operation operation,
                                             int64_t count,
                                             tgi_mpi_result result);
/* Messages to and from two peers, of `count` elements: x becomes y. */
tgi_mpi_schedule *tgi_mpi_schedule_shift(const tgi_shards *shards,
                                         tg_dtype dtype, size_t element_bytes,
                                         int64_t count, int distance);
void tgi_mpi_schedule_free(tgi_mpi_schedule *schedule);

/* -- Runs ------------------------------------------------------------------ */

typedef struct tgi_mpi_transfer {
    const tgi_mpi_schedule *schedule;
    MPI_Comm comm;
    int tag;
    const void *in[TGI_MPI_MAX_PARTIALS];
    void *out;
    char *work;
    MPI_Request *requests;
    MPI_Status *statuses; /* not read; gcc warns of MPI_STATUSES_IGNORE */
    bool *receives; /* by request */
    size_t n_requests, at;
    bool is_active;
    bool keeps_work; /* a message that could not be cancelled is in it */
} tgi_mpi_transfer;

/* Allocates what runs of the schedule need; false when out of memory. */
bool tgi_mpi_transfer_init(tgi_mpi_transfer *t,
                           const tgi_mpi_schedule *schedule, MPI_Comm comm);
/* Ends a run that cannot complete. */
void tgi_mpi_transfer_cancel(tgi_mpi_transfer *t);
void tgi_mpi_transfer_deinit(tgi_mpi_transfer *t);

/* Starts a run; all memory must stay until it is complete. The messages of a
   collective have a tag of their own. Returns an MPI error code. */
int tgi_mpi_transfer_start(tgi_mpi_transfer *t, int tag);

/* Does what can be done without waiting; is_active is false afterwards if the
   run is complete. Returns an MPI error code. */
int tgi_mpi_transfer_advance(tgi_mpi_transfer *t);

#endif /* TGI_MPI_SCHEDULE_H */

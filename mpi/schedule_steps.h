/* SPDX-License-Identifier: MIT */
/*
 * schedule_steps.h - adds steps to a schedule. Steps of no elements are left
 * out. When out of memory, has_failed is set and nothing is added any more.
 */
#ifndef TGI_MPI_SCHEDULE_STEPS_H
#define TGI_MPI_SCHEDULE_STEPS_H

#include "mpi/schedule.h"

tgi_mpi_schedule *tgi_mpi_schedule_create(tg_dtype dtype, size_t element_bytes,
                                          tgi_mpi_operation operation);
/* The schedule, or NULL, freed, if adding a step has failed. */
tgi_mpi_schedule *tgi_mpi_schedule_finish(tgi_mpi_schedule *s);

void tgi_mpi_add_send(tgi_mpi_schedule *s, int peer, tgi_mpi_place a,
                      int64_t count);
void tgi_mpi_add_receive(tgi_mpi_schedule *s, int peer, tgi_mpi_place out,
                         int64_t count);
void tgi_mpi_add_wait(tgi_mpi_schedule *s);
void tgi_mpi_add_combine(tgi_mpi_schedule *s, tgi_mpi_place out,
                         tgi_mpi_place a, tgi_mpi_place b, int64_t count);
/* Nothing if both are the same place. */
void tgi_mpi_add_copy(tgi_mpi_schedule *s, tgi_mpi_place out, tgi_mpi_place a,
                      int64_t count);

/* Memory for `count` elements. */
tgi_mpi_place tgi_mpi_add_work(tgi_mpi_schedule *s, int64_t count);

/* The place of element `at` of an array. */
static inline tgi_mpi_place tgi_mpi_place_at(const tgi_mpi_schedule *s,
                                             tgi_mpi_place place, int64_t at)
{
    place.offset += at * (int64_t)s->element_bytes;
    return place;
}

static inline tgi_mpi_place tgi_mpi_out(void)
{
    return (tgi_mpi_place){.space = TGI_MPI_OUT};
}

static inline tgi_mpi_place tgi_mpi_in(size_t partial)
{
    return (tgi_mpi_place){.space = TGI_MPI_IN, .partial = partial};
}

#endif /* TGI_MPI_SCHEDULE_STEPS_H */

/* SPDX-License-Identifier: MIT */
/*
 * schedule.c - the list of steps of a collective.
 */
#include "mpi/schedule_steps.h"

#include <stdlib.h>

#include "mpi/message.h"

/* Of separate messages and arrays. */
enum { ALIGN = 64 };

tgi_mpi_schedule *tgi_mpi_schedule_create(tg_dtype dtype, size_t element_bytes,
                                          tgi_mpi_operation operation)
{
    tgi_mpi_schedule *s = calloc(1, sizeof(*s));
    if (s) {
        s->dtype = dtype;
        s->element_bytes = element_bytes;
        s->operation = operation;
    }
    return s;
}

void tgi_mpi_schedule_free(tgi_mpi_schedule *s)
{
    if (s)
        free(s->steps);
    free(s);
}

/* The largest number of requests between two waits. */
static size_t count_requests(const tgi_mpi_schedule *s)
{
    size_t n = 0, most = 0;
    for (size_t i = 0; i < s->n_steps; i++) {
        const tgi_mpi_step *step = &s->steps[i];
        if (step->kind == TGI_MPI_WAIT)
            n = 0;
        else if (step->kind == TGI_MPI_SEND || step->kind == TGI_MPI_RECEIVE)
            n += tgi_mpi_n_messages((size_t)step->count * s->element_bytes);
        most = n > most ? n : most;
    }
    return most;
}

tgi_mpi_schedule *tgi_mpi_schedule_finish(tgi_mpi_schedule *s)
{
    if (s && s->has_failed) {
        tgi_mpi_schedule_free(s);
        return NULL;
    }
    if (s)
        s->max_requests = count_requests(s);
    return s;
}

static void add(tgi_mpi_schedule *s, tgi_mpi_step step)
{
    if (s->n_steps == s->capacity) {
        const size_t capacity = 2 * s->capacity + 8;
        tgi_mpi_step *steps = realloc(s->steps, capacity * sizeof(*steps));
        if (!steps) {
            s->has_failed = true;
            return;
        }
        s->steps = steps;
        s->capacity = capacity;
    }
    s->steps[s->n_steps++] = step;
}

void tgi_mpi_add_send(tgi_mpi_schedule *s, int peer, tgi_mpi_place a,
                      int64_t count)
{
    if (count)
        add(s, (tgi_mpi_step){
                   .kind = TGI_MPI_SEND, .peer = peer, .count = count, .a = a});
}

void tgi_mpi_add_receive(tgi_mpi_schedule *s, int peer, tgi_mpi_place out,
                         int64_t count)
{
    if (count)
        add(s, (tgi_mpi_step){.kind = TGI_MPI_RECEIVE,
                              .peer = peer,
                              .count = count,
                              .out = out});
}

void tgi_mpi_add_wait(tgi_mpi_schedule *s)
{
    add(s, (tgi_mpi_step){.kind = TGI_MPI_WAIT});
}

void tgi_mpi_add_combine(tgi_mpi_schedule *s, tgi_mpi_place out,
                         tgi_mpi_place a, tgi_mpi_place b, int64_t count)
{
    if (count)
        add(s, (tgi_mpi_step){.kind = TGI_MPI_COMBINE,
                              .count = count,
                              .out = out,
                              .a = a,
                              .b = b});
}

void tgi_mpi_add_copy(tgi_mpi_schedule *s, tgi_mpi_place out, tgi_mpi_place a,
                      int64_t count)
{
    if (count && (out.space != a.space || out.offset != a.offset))
        add(s, (tgi_mpi_step){
                   .kind = TGI_MPI_COPY, .count = count, .out = out, .a = a});
}

tgi_mpi_place tgi_mpi_add_work(tgi_mpi_schedule *s, int64_t count)
{
    const tgi_mpi_place place = {.space = TGI_MPI_WORK,
                                 .offset = s->work_bytes};
    const int64_t bytes = count * (int64_t)s->element_bytes;
    s->work_bytes += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return place;
}

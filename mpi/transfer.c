/* SPDX-License-Identifier: MIT */
/*
 * transfer.c - runs of schedules. A run is advanced by whoever polls it; it
 * never blocks.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/message.h"
#include "mpi/schedule.h"

bool tgi_mpi_transfer_init(tgi_mpi_transfer *t,
                           const tgi_mpi_schedule *schedule, MPI_Comm comm)
{
    memset(t, 0, sizeof(*t));
    t->schedule = schedule;
    t->comm = comm;
    t->work = malloc((size_t)schedule->work_bytes + 1);
    t->requests = malloc((schedule->max_requests + 1) * sizeof(*t->requests));
    t->receives = malloc(schedule->max_requests + 1);
    t->statuses = malloc((schedule->max_requests + 1) * sizeof(*t->statuses));
    if (t->work && t->requests && t->receives && t->statuses)
        return true;
    tgi_mpi_transfer_deinit(t);
    return false;
}

void tgi_mpi_transfer_cancel(tgi_mpi_transfer *t)
{
    enum { TRIES = 1000 };
    for (size_t i = 0; t->is_active && i < t->n_requests; i++) {
        MPI_Request *request = &t->requests[i];
        int is_complete = *request == MPI_REQUEST_NULL;
        /* Receives can be cancelled; sends, which only read, are left to
           MPI. */
        if (!is_complete && t->receives[i])
            MPI_Cancel(request);
        for (int n = 0; !is_complete && t->receives[i] && n < TRIES; n++)
            MPI_Test(request, &is_complete, MPI_STATUS_IGNORE);
        if (!is_complete) {
            MPI_Request_free(request);
            t->keeps_work = true;
        }
    }
    t->is_active = false;
}

void tgi_mpi_transfer_deinit(tgi_mpi_transfer *t)
{
    tgi_mpi_transfer_cancel(t);
    if (!t->keeps_work)
        free(t->work);
    free(t->requests);
    free(t->receives);
    free(t->statuses);
    memset(t, 0, sizeof(*t));
}

static char *address_of(const tgi_mpi_transfer *t, tgi_mpi_place place)
{
    if (place.space == TGI_MPI_IN)
        return (char *)(uintptr_t)t->in[place.partial] + place.offset;
    return (place.space == TGI_MPI_OUT ? (char *)t->out : t->work) +
           place.offset;
}

static int start_messages(tgi_mpi_transfer *t, const tgi_mpi_step *step)
{
    const size_t bytes = (size_t)step->count * t->schedule->element_bytes;
    const bool sends = step->kind == TGI_MPI_SEND;
    char *at = address_of(t, sends ? step->a : step->out);
    for (size_t i = 0; i < tgi_mpi_n_messages(bytes); i++) {
        MPI_Request *request = &t->requests[t->n_requests];
        const int n = tgi_mpi_message_bytes(bytes, i);
        const int error = sends ? MPI_Isend(at, n, MPI_BYTE, step->peer, t->tag,
                                            t->comm, request)
                                : MPI_Irecv(at, n, MPI_BYTE, step->peer, t->tag,
                                            t->comm, request);
        if (error != MPI_SUCCESS)
            return error;
        t->receives[t->n_requests++] = !sends;
        at += n;
    }
    return MPI_SUCCESS;
}

static void combine(const tgi_mpi_transfer *t, const tgi_mpi_step *step)
{
    const tgi_mpi_schedule *s = t->schedule;
    if (step->kind == TGI_MPI_COPY)
        memcpy(address_of(t, step->out), address_of(t, step->a),
               (size_t)step->count * s->element_bytes);
    else
        tgi_mpi_combine(s->dtype, s->operation, address_of(t, step->out),
                        address_of(t, step->a), address_of(t, step->b),
                        step->count);
}

int tgi_mpi_transfer_start(tgi_mpi_transfer *t, int tag)
{
    t->tag = tag;
    t->at = 0;
    t->n_requests = 0;
    t->is_active = true;
    return tgi_mpi_transfer_advance(t);
}

int tgi_mpi_transfer_advance(tgi_mpi_transfer *t)
{
    const tgi_mpi_schedule *s = t->schedule;
    while (t->is_active) {
        const tgi_mpi_step *step = &s->steps[t->at];
        const bool is_end = t->at == s->n_steps;
        int error = MPI_SUCCESS, is_complete = 1;
        if (is_end || step->kind == TGI_MPI_WAIT) {
            if (t->n_requests)
                error = MPI_Testall((int)t->n_requests, t->requests,
                                    &is_complete, t->statuses);
            if (error != MPI_SUCCESS || !is_complete)
                return error;
            t->n_requests = 0;
            t->is_active = !is_end;
        } else if (step->kind == TGI_MPI_COMBINE ||
                   step->kind == TGI_MPI_COPY) {
            combine(t, step);
        } else {
            error = start_messages(t, step);
        }
        if (error != MPI_SUCCESS)
            return error;
        t->at++;
    }
    return MPI_SUCCESS;
}

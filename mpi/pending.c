/* SPDX-License-Identifier: MIT */
/*
 * pending.c - collectives in progress, and waits for other ranks. Whoever waits
 * for one advances all.
 */
#include <sched.h>
#include <time.h>

#include "mpi/communicator.h"
#include "mpi/simulated_time.h"
#include "tgjit/host.h"
#include "tgjit/profile.h"

/* A wait that succeeds soon reads neither notes nor the clock. */
enum { POLLS_PER_LOOK = 64, POLLS_BEFORE_YIELD = 2000 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A first call elsewhere of a collective that has been called here without
   one: both do not match. */
static tg_status check_announcements(tg_mpi *m, const char *text)
{
    for (int rank = 0; rank < m->ranks.n_ranks; rank++) {
        const tgi_mpi_announcement *a = &m->announced[rank];
        if (a->number && a->number <= m->number)
            return tgi_mpi_fail(
                m, "collectives do not match: rank %d calls %s, rank %d %s",
                rank, a->text, m->ranks.rank, text);
    }
    return TG_OK;
}

tg_status tgi_mpi_waiting_poll(tg_mpi *m, tgi_mpi_waiting *w, const char *text)
{
    if (++w->n_polls % POLLS_PER_LOOK)
        return TG_OK;
    const tg_status status = tgi_mpi_read_notes(m);
    if (status)
        return status;
    if (w->n_polls == POLLS_PER_LOOK)
        w->since = now();
    if (w->n_polls >= POLLS_BEFORE_YIELD)
        sched_yield();
    if (m->timeout >= 0 && now() - w->since > m->timeout)
        return tgi_mpi_fail(m,
                            "%s: rank %d has waited %g s for the other ranks",
                            text, m->ranks.rank, m->timeout);
    return TG_OK;
}

bool tgi_mpi_may_call(const tg_mpi *m)
{
    return !m->has_one_thread || pthread_equal(m->thread, pthread_self());
}

tg_status tgi_mpi_begin(tg_mpi *m)
{
    /* The others cannot be told here; tg_mpi_report does it. */
    if (!tgi_mpi_may_call(m))
        return tg_host_fail("a collective on a thread other than the one that "
                            "created the tg_mpi; initialise MPI with "
                            "MPI_THREAD_SERIALIZED");
    m->has_failed |= m->fails_at >= 0 && m->fails_at <= m->number + 1;
    if (m->has_failed)
        return tgi_mpi_fail_again(m);
    m->number++;
    return TG_OK;
}

void tgi_mpi_pending_add(tg_mpi *m, tgi_mpi_pending *pending)
{
    tgi_mpi_pending **link = &m->pending;
    while (*link)
        link = &(*link)->next;
    pending->next = NULL;
    pending->begin_ns = tg_timeline_is_on() ? tg_timeline_now() : 0;
    pending->number = m->number;
    pending->is_listed = true;
    *link = pending;
}

static void pending_remove(tg_mpi *m, tgi_mpi_pending *pending)
{
    tgi_mpi_pending **link = &m->pending;
    while (*link && *link != pending)
        link = &(*link)->next;
    if (*link)
        *link = pending->next;
    pending->is_listed = false;
}

static bool is_complete(const tgi_mpi_pending *pending)
{
    return pending->request == MPI_REQUEST_NULL &&
           !pending->transfer.is_active;
}

/* Returns an MPI error code. */
static int advance(tgi_mpi_pending *pending)
{
    int error = MPI_SUCCESS, flag;
    if (pending->request != MPI_REQUEST_NULL)
        error = MPI_Test(&pending->request, &flag, MPI_STATUS_IGNORE);
    else if (pending->transfer.is_active)
        error = tgi_mpi_transfer_advance(&pending->transfer);
    if (pending->begin_ns && is_complete(pending)) {
        tg_timeline_span("collective", pending->text, pending->begin_ns,
                         tg_timeline_now());
        pending->begin_ns = 0;
    }
    return error;
}

tg_status tgi_mpi_poll(tg_mpi *m)
{
    for (tgi_mpi_pending *p = m->pending; p; p = p->next) {
        const int error =
            m->poll_error != MPI_SUCCESS ? m->poll_error : advance(p);
        if (error != MPI_SUCCESS)
            return tgi_mpi_check(m, error, p->text);
    }
    return TG_OK;
}

bool tgi_mpi_poll_quietly(void *mpi)
{
    tg_mpi *m = mpi;
    bool goes_on = false;
    tgi_mpi_enter(&m->left);
    for (tgi_mpi_pending *p = m->pending;
         p && m->poll_error == MPI_SUCCESS; p = p->next) {
        m->poll_error = advance(p);
        goes_on |= !is_complete(p);
    }
    tgi_mpi_leave(&m->left);
    return goes_on && m->poll_error == MPI_SUCCESS;
}

tg_status tgi_mpi_finish(tg_mpi *m, tgi_mpi_pending *pending)
{
    tgi_mpi_waiting w = {0};
    tg_status status = TG_OK;
    while (!status && !(status = tgi_mpi_poll(m)) && !is_complete(pending)) {
        status = tgi_mpi_waiting_poll(m, &w, pending->text);
        if (!status && w.n_polls % POLLS_PER_LOOK == 0)
            status = check_announcements(m, pending->text);
    }
    pending_remove(m, pending);
    if (status)
        tgi_mpi_transfer_cancel(&pending->transfer);
    return status;
}

tg_status tgi_mpi_wait(tg_mpi *m, MPI_Request request, const char *text)
{
    tgi_mpi_pending pending = {.request = request, .text = text};
    tgi_mpi_pending_add(m, &pending);
    return tgi_mpi_finish(m, &pending);
}

int tgi_mpi_tag(const tg_mpi *m)
{
    return (int)(m->number & 0x3fff);
}

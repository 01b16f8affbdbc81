/* SPDX-License-Identifier: MIT */
/*
 * first_call.c - compares a collective across ranks when it is called for the
 * first time, or with other sizes than before. Every rank announces to rank 0
 * what it calls, and rank 0 to every other that it compares. A rank that calls
 * an older collective at this point, and so announces nothing, sees an
 * announcement of its number while it waits (pending.c): a mismatch, too.
 */
#include <stdio.h>
#include <string.h>

#include "mpi/communicator.h"

/* The announcements for this number, at rank 0. */
static tg_status compare_all(tg_mpi *m, const char *text)
{
    tgi_mpi_waiting w = {0};
    for (int rank = 1; rank < m->ranks.n_ranks; rank++) {
        tgi_mpi_announcement *a = &m->announced[rank];
        while (a->number != m->number) {
            const tg_status status = tgi_mpi_waiting_poll(m, &w, text);
            if (status)
                return status;
        }
        if (strcmp(a->text, text) != 0)
            return tgi_mpi_fail(
                m, "collectives do not match: rank 0 calls %s, rank %d %s",
                text, rank, a->text);
        a->number = 0;
    }
    return TG_OK;
}

tg_status tgi_mpi_compare_calls(tg_mpi *m, const char *text)
{
    const int n = m->ranks.n_ranks;
    tg_status status = TG_OK;
    if (m->ranks.rank) {
        tgi_mpi_waiting w = {0};
        status = tgi_mpi_send_note(m, 0, TGI_MPI_NOTE_FIRST_CALL, text);
        while (!status && m->agreed != m->number)
            status = tgi_mpi_waiting_poll(m, &w, text);
        m->announced[0].number = 0;
        return status;
    }
    for (int rank = 1; rank < n && !status; rank++)
        status = tgi_mpi_send_note(m, rank, TGI_MPI_NOTE_FIRST_CALL, text);
    if (!status)
        status = compare_all(m, text);
    for (int rank = 1; rank < n && !status; rank++)
        status = tgi_mpi_send_note(m, rank, TGI_MPI_NOTE_AGREED, text);
    return status;
}

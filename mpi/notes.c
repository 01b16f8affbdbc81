/* SPDX-License-Identifier: MIT */
/*
 * notes.c - failures, and the messages about them. A rank that fails sends a
 * note to all others. They look for notes while they wait, so a failure ends
 * every wait. The status of a failure is that of tg_host_fail, whose message
 * the call that runs the collective reports.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/communicator.h"
#include "tgjit/host.h"

/* Tags of collectives are smaller; every MPI allows 32767. */
enum { NOTE_TAG = 32767 };

/* -- Sending --------------------------------------------------------------- */

typedef struct tgi_mpi_sent {
    struct tgi_mpi_sent *next;
    MPI_Request request;
    tgi_mpi_note note;
} tgi_mpi_sent;

void tgi_mpi_free_sent_notes(tg_mpi *m, bool is_finalised)
{
    tgi_mpi_sent **link = &m->sent;
    while (*link) {
        tgi_mpi_sent *sent = *link;
        int is_complete = is_finalised;
        if (!is_finalised)
            MPI_Test(&sent->request, &is_complete, MPI_STATUS_IGNORE);
        if (is_complete) {
            *link = sent->next;
            free(sent);
        } else {
            link = &sent->next;
        }
    }
}

/* Returns an MPI error code. */
static int send_note(tg_mpi *m, int rank, tgi_mpi_note_kind kind,
                     int64_t number, const char *text)
{
    tgi_mpi_free_sent_notes(m, false);
    tgi_mpi_sent *sent = calloc(1, sizeof(*sent));
    if (!sent)
        return MPI_ERR_NO_MEM;
    sent->note.kind = kind;
    sent->note.number = number;
    snprintf(sent->note.text, sizeof(sent->note.text), "%s", text);
    const int error = MPI_Isend(&sent->note, sizeof(sent->note), MPI_BYTE, rank,
                                NOTE_TAG, m->comm, &sent->request);
    if (error != MPI_SUCCESS) {
        free(sent);
        return error;
    }
    sent->next = m->sent;
    m->sent = sent;
    return MPI_SUCCESS;
}

tg_status tgi_mpi_send_note(tg_mpi *m, int rank, tgi_mpi_note_kind kind,
                            const char *text)
{
    return tgi_mpi_check(m, send_note(m, rank, kind, m->number, text),
                         "a note");
}

/* -- Failures -------------------------------------------------------------- */

tg_status tgi_mpi_fail_again(tg_mpi *m)
{
    return tg_host_fail("%s", m->failure);
}

/* The number of the first collective that is not complete here. */
static int64_t first_open(const tg_mpi *m, int64_t next)
{
    for (const tgi_mpi_pending *p = m->pending; p; p = p->next)
        next = p->number < next ? p->number : next;
    return next;
}

/* After the text has been set: collectives from `number` on fail, everywhere.
   Those before are complete here, so they can complete elsewhere. */
static void announce_failure(tg_mpi *m, int64_t number)
{
    m->has_failed = true;
    for (int rank = 0; rank < m->ranks.n_ranks; rank++)
        if (rank != m->ranks.rank)
            send_note(m, rank, TGI_MPI_NOTE_FAILURE, number, m->failure);
}

tg_status tgi_mpi_fail(tg_mpi *m, const char *format, ...)
{
    if (m->has_failed)
        return tgi_mpi_fail_again(m);
    va_list args;
    va_start(args, format);
    vsnprintf(m->failure, sizeof(m->failure), format, args);
    va_end(args);
    announce_failure(m, first_open(m, m->number));
    return tgi_mpi_fail_again(m);
}

tg_status tgi_mpi_check(tg_mpi *m, int error, const char *text)
{
    char message[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (error == MPI_SUCCESS)
        return TG_OK;
    MPI_Error_string(error, message, &length);
    return tgi_mpi_fail(m, "%s: rank %d: MPI: %s", text, m->ranks.rank,
                        message);
}

tg_status tg_mpi_report(tg_mpi *mpi, tg_status status)
{
    if (!mpi || status == TG_OK || status == TG_END_OF_DATA ||
        mpi->has_failed || !tgi_mpi_may_call(mpi))
        return status;
    /* The record still has the failure. */
    snprintf(mpi->failure, sizeof(mpi->failure), "rank %d has failed: %.700s",
             mpi->ranks.rank, tg_error(NULL));
    announce_failure(mpi, first_open(mpi, mpi->number + 1));
    return status;
}

/* -- Receiving ------------------------------------------------------------- */

static tg_status take_note(tg_mpi *m, int from, const tgi_mpi_note *note)
{
    if (note->kind == TGI_MPI_NOTE_FIRST_CALL) {
        m->announced[from].number = note->number;
        snprintf(m->announced[from].text, sizeof(m->announced[from].text),
                 "%.*s", TGI_MPI_CALL_TEXT - 1, note->text);
        return TG_OK;
    }
    if (note->kind == TGI_MPI_NOTE_AGREED) {
        m->agreed = note->number;
        return TG_OK;
    }
    snprintf(m->failure, sizeof(m->failure), "%s", note->text);
    if (m->fails_at < 0 || note->number < m->fails_at)
        m->fails_at = note->number;
    m->has_failed = m->fails_at <= m->number;
    return m->has_failed ? tgi_mpi_fail_again(m) : TG_OK;
}

tg_status tgi_mpi_read_notes(tg_mpi *m)
{
    for (;;) {
        int is_there = 0;
        MPI_Status status;
        tgi_mpi_note note;
        int error = MPI_Iprobe(MPI_ANY_SOURCE, NOTE_TAG, m->comm, &is_there,
                               &status);
        if (error == MPI_SUCCESS && is_there)
            error = MPI_Recv(&note, sizeof(note), MPI_BYTE, status.MPI_SOURCE,
                             NOTE_TAG, m->comm, MPI_STATUS_IGNORE);
        if (error != MPI_SUCCESS)
            return tgi_mpi_check(m, error, "a note");
        if (!is_there)
            return TG_OK;
        const tg_status failed = take_note(m, status.MPI_SOURCE, &note);
        if (failed)
            return failed;
    }
}

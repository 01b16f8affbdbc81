/* SPDX-License-Identifier: MIT */
/*
 * communicator.h - the state of a tg_mpi: its ranks, the collectives in
 * progress, and the messages by which ranks tell each other of failures.
 */
#ifndef TGI_MPI_COMMUNICATOR_H
#define TGI_MPI_COMMUNICATOR_H

#include <pthread.h>

#include "mpi/schedule.h"
#include "tgjit/mpi.h"

/* A collective as all ranks must call it, such as "all_reduce sum f32[3,4]". */
enum { TGI_MPI_CALL_TEXT = 192, TGI_MPI_FAILURE_TEXT = 768 };

/* The announcement of a first call by another rank (first_call.c). */
typedef struct tgi_mpi_announcement {
    int64_t number; /* of the collective; 0: none */
    char text[TGI_MPI_CALL_TEXT];
} tgi_mpi_announcement;

typedef enum tgi_mpi_note_kind {
    TGI_MPI_NOTE_FIRST_CALL = 0,
    TGI_MPI_NOTE_AGREED = 1, /* from rank 0: the announcements are equal */
    TGI_MPI_NOTE_FAILURE = 2
} tgi_mpi_note_kind;

/* A message beside the collectives. */
typedef struct tgi_mpi_note {
    int64_t kind, number;
    char text[TGI_MPI_FAILURE_TEXT];
} tgi_mpi_note;

struct tg_mpi {
    tg_context *ctx;
    MPI_Comm comm;
    tgi_shards ranks;  /* one shard per rank */
    tgi_shards shards; /* those of a batch */
    tg_mpi_order order;
    double timeout; /* seconds; negative: none */
    size_t bucket_bytes;
    int64_t number;      /* of the latest collective, from 1 */
    int64_t agreed;      /* the latest number that rank 0 has agreed to */
    tgi_mpi_announcement *announced; /* by rank */
    struct tgi_mpi_sent *sent;       /* notes being sent, a list */
    int poll_error;                         /* an MPI error code */
    bool has_failed;
    int64_t fails_at; /* the collective announced to fail; -1: none */
    char failure[TGI_MPI_FAILURE_TEXT];
    double left; /* CPU time (simulated_time.h) */
    /* MPI may only be called by the thread that has created this. */
    bool has_one_thread;
    pthread_t thread;
    struct tgi_mpi_call *calls;      /* all, a list */
    struct tgi_mpi_pending *pending; /* started collectives, a list */
    struct tgi_mpi_function *functions;     /* a list */
    struct tgi_mpi_train_step *train_steps; /* a list */
};

/* A collective in progress: messages of a schedule, or a request of MPI. */
typedef struct tgi_mpi_pending {
    struct tgi_mpi_pending *next;
    tgi_mpi_transfer transfer;
    MPI_Request request; /* or MPI_REQUEST_NULL */
    const char *text;
    int64_t number; /* of the collective */
    uint64_t begin_ns; /* for the timeline; 0: there is none */
    bool is_listed;
} tgi_mpi_pending;

/* True if this thread may call MPI. */
bool tgi_mpi_may_call(const tg_mpi *m);

/* Numbers the next collective; fails if it has been announced to fail, or if
   this thread must not call MPI. */
tg_status tgi_mpi_begin(tg_mpi *m);

/* Adds a started collective to those that polls advance. */
void tgi_mpi_pending_add(tg_mpi *m, tgi_mpi_pending *pending);

/* Advances everything in progress. */
tg_status tgi_mpi_poll(tg_mpi *m);

/* The same from a running call, which polls it (tg_host_poll): an error is
   reported by the next tgi_mpi_poll. */
bool tgi_mpi_poll_quietly(void *mpi);

/* Waits for a collective; the others are advanced, too. */
tg_status tgi_mpi_finish(tg_mpi *m, tgi_mpi_pending *pending);

/* Waits for a request of MPI. */
tg_status tgi_mpi_wait(tg_mpi *m, MPI_Request request, const char *text);

/* The tag of the messages of the latest collective. */
int tgi_mpi_tag(const tg_mpi *m);

/* -- Failures -------------------------------------------------------------- */

/* Records a failure here, tells all other ranks unless they know, and returns
   the status of tg_host_fail. */
tg_status tgi_mpi_fail(tg_mpi *m, const char *format, ...) TG_PRINTF(2, 3);

/* Fails with the failure recorded before. */
tg_status tgi_mpi_fail_again(tg_mpi *m);

/* MPI_SUCCESS, or a failure with its text. */
tg_status tgi_mpi_check(tg_mpi *m, int error, const char *text);

/* Receives the notes that have arrived. Fails if another rank has failed, or is
   at its first call of a collective that is not the first here. */
tg_status tgi_mpi_read_notes(tg_mpi *m);

/* Sends a note about the latest collective to one rank; does not wait. */
tg_status tgi_mpi_send_note(tg_mpi *m, int rank, tgi_mpi_note_kind kind,
                            const char *text);

/* Frees the notes that have been sent. One that a rank that has ended will not
   receive keeps its memory: MPI may read it until MPI_Finalize. */
void tgi_mpi_free_sent_notes(tg_mpi *m, bool is_finalised);

/* -- First calls (first_call.c) -------------------------------------------- */

/* Compares the latest collective with those of the other ranks. */
tg_status tgi_mpi_compare_calls(tg_mpi *m, const char *text);

/* -- Waiting --------------------------------------------------------------- */

/* A wait for other ranks: counts polls, gives way to other processes, and ends
   after the time-out. */
typedef struct tgi_mpi_waiting {
    uint64_t n_polls;
    double since;
} tgi_mpi_waiting;

/* After a poll without success. Fails after the time-out, or if another rank
   has failed. */
tg_status tgi_mpi_waiting_poll(tg_mpi *m, tgi_mpi_waiting *w,
                               const char *text);

#endif /* TGI_MPI_COMMUNICATOR_H */
